"""How many states every variant has, as far as a short search goes.

A model that is changed on purpose has its line of the file of graphs made anew (see `pinned_graphs`)."""

import pinned_graphs
import pytest

KEPT = pinned_graphs.kept()


def test_every_variant_is_pinned() -> None:
    """And no other."""
    assert KEPT.keys() == pinned_graphs.variants().keys()


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("name", KEPT)
def test_as_many_states_as_ever(name: str) -> None:
    """At every distance, as far as a short search goes; and as many steps."""
    assert pinned_graphs.levels(pinned_graphs.variants()[name]) == KEPT[name]
