"""Histories of source tasks: exact on what was planted, and on the example, which keeps every promise."""

import pytest
from fencepost.properties.history.signs import counted
from fencepost.properties.source_offsets.events import SIGNS
from fencepost.properties.source_offsets.histories import BED, HISTORY, PLANTS, RECORDINGS

NOT_IN_THE_EXAMPLE = {"aborted_as_asked", "tombstones_beside_first", "fills_what_is_empty"}


def test_the_example_keeps_every_promise() -> None:
    """It has about everything in it, but for what only some configurations do."""
    findings, figures = HISTORY.check(BED.bent(""), config=BED.config)
    assert {name for name, found in findings.items() if found.violations} == set()
    assert {name for name, found in findings.items() if not found.judged} == NOT_IN_THE_EXAMPLE
    assert figures["read"] == 20 and figures["starts"] == 8 and figures["failed"] == 4


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_found_by_what_it_breaks_alone(name: str) -> None:
    """To the last violation."""
    findings, _ = HISTORY.check(BED.bent(name), config=BED.config)
    assert {n: found.violations for n, found in findings.items() if found.violations} == PLANTS[name].found


def test_every_property_can_fail() -> None:
    """There is a plant for each."""
    assert {name for plant in PLANTS.values() for name in plant.found} == HISTORY.properties.keys()


def test_what_an_auditor_alone_can_tell() -> None:
    """The promise itself needs nothing but the output and where a restart would resume."""
    seen = set(RECORDINGS["auditor"])
    decided = {name for name, one in HISTORY.properties.items() if {kind.name for kind in one.needs} <= seen}
    assert {"nothing_twice", "in_order", "everything_copied"} <= decided
    assert "read_to_the_end" not in decided


def test_dangers_show_in_the_example() -> None:
    """Each sign counts what is there."""
    counts = counted(SIGNS, BED.bent(""))
    assert counts["client-crash"] == 1
    assert counts["zombie"] == 2 + 3
    assert counts["lost-answer"] == 1
    assert counts["rebalance"] == 1
    assert counts["several-tasks"] == 1
