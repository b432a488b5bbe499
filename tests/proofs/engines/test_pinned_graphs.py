"""The graphs of models are those that they were: no guard became looser, and no update another one, unnoticed.

A model that is changed on purpose has its line of the file made anew (see `pinned_graphs`)."""

import pytest
from pinned_graphs import kept, levels, variants

KEPT = kept()


def test_every_variant_is_kept() -> None:
    """And no other."""
    assert KEPT.keys() == variants().keys()


@pytest.mark.nightly
@pytest.mark.parametrize("name", KEPT)
def test_as_many_states_as_ever(name: str) -> None:
    """At every distance, as far as a short search goes; and as many steps."""
    assert levels(variants()[name]) == KEPT[name]
