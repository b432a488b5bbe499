"""What the engines say of a variant, and that none of them can be blind without its being seen; how many states it has.

A model that is changed on purpose has its line of the file of graphs made anew (see `pinned_graphs`)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pinned_graphs
import pytest
from fencepost.proofs import variants
from fencepost.proofs.engines import run_engines
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import ProtocolEntry, Variant
from fencepost.properties.id_blocks.variants import ID_BLOCKS

BY_BROKER_ID = ID_BLOCKS.variant("by-broker-id")
BROKEN = ("disjoint_blocks", "no_id_twice")


def by_engine(engine: str) -> dict[str, Result]:
    """The verdicts of one engine on the promises that ids by broker id break."""
    made = variants.judge_other(ID_BLOCKS, BY_BROKER_ID, "smoke")
    return {r.property: r for _, r in made.results if r.engine == engine and r.property in BROKEN}


def test_bounded_checks_find_what_the_search_finds() -> None:
    """As a control: to the depth of the longest run that the explorer tells, and one further."""
    explored, bounded = by_engine("explore"), by_engine("bounded")
    assert set(explored) == set(bounded) == set(BROKEN)
    assert all(r.verdict == "violated" and r.as_expected for r in (*explored.values(), *bounded.values()))
    assert {n: r.evidence["steps"] for n, r in explored.items()} == {n: r.evidence["steps"] for n, r in bounded.items()}


def _blind(
    entry: ProtocolEntry, variant: Variant, bound: Mapping[str, int], depth: int, *explored: Any
) -> list[Result]:
    """A bounded engine that never finds anything."""
    found = run_engines.run_bounded(entry, variant, bound, depth, *explored)
    return [replace(r, verdict="holds", bound={**bound, "depth": depth}, evidence={}) for r in found]


def test_a_bounded_engine_that_finds_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `holds` covers the depth at which the explorer found the violation, so it contradicts that and is told."""
    monkeypatch.setattr(variants, "run_bounded", _blind)
    made = [r for _, r in variants.judge_other(ID_BLOCKS, BY_BROKER_ID, "smoke").results]
    wrong = {r.property for r in made if r.engine == "bounded" and not r.as_expected}
    assert wrong == set(BROKEN)
    assert [line.split(":")[0] for line in run_engines.contradictions(made)] == [
        f"id-blocks/by-broker-id {name}" for name in sorted(BROKEN, key=list(BY_BROKER_ID.asked).index)
    ]


def test_a_bounded_check_that_ends_too_early_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """To a depth at which the explorer found no violation yet, there is no verdict on that promise."""
    steps = {name: r.evidence["steps"] for name, r in by_engine("explore").items()}
    monkeypatch.setattr(variants, "_depth_of_other", lambda *_: min(steps.values()) - 1)
    assert by_engine("bounded") == {}


KEPT = pinned_graphs.kept()


def test_every_variant_is_pinned() -> None:
    """And no other."""
    assert KEPT.keys() == pinned_graphs.variants().keys()


@pytest.mark.nightly
@pytest.mark.parametrize("name", KEPT)
def test_as_many_states_as_ever(name: str) -> None:
    """At every distance, as far as a short search goes; and as many steps."""
    assert pinned_graphs.levels(pinned_graphs.variants()[name]) == KEPT[name]
