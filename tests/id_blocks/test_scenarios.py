"""Bugs that Apache Kafka had, by their public numbers, in the implementation: with the bug a promise fails, mended it
holds.  In the model: tests/proofs/test_bugs_in_models.py."""

from importlib import import_module
from typing import Any

import pytest
from fencepost.properties.catalogue import Scenario
from fencepost.properties.history.checking import Finding
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.id_blocks.events import ID_BLOCKS as EVENTS
from fencepost.properties.id_blocks.variants import ID_BLOCKS

SCENARIOS = {known.name: known for known in ID_BLOCKS.scenarios}


def test_the_known_bugs() -> None:
    """The three of producer id blocks that broke a promise, or would have if another had not held."""
    assert list(SCENARIOS) == ["KAFKA-15552", "KAFKA-20031", "KAFKA-14694"]


def implementation(known: Scenario, broken: bool) -> dict[str, Finding]:
    """What the history properties find in the script's events."""
    module, _, function = known.script.partition(":")
    events: list[Any] = getattr(import_module(module), function)(known.name, broken)
    assert events
    rows = [(e.step, e.time_us, EVENTS.codes[e.kind], *e[3:]) for e in events]
    columns = columns_of(EVENTS, [(0, rows)])
    findings, _ = properties_of("id-blocks").check(columns, properties_of("id-blocks").names)
    return findings


@pytest.mark.parametrize("name", SCENARIOS)
def test_broken_in_the_implementation(name: str) -> None:
    """The same script gives the same id to two clients."""
    assert implementation(SCENARIOS[name], broken=True)["ids_unique"].violations > 0


@pytest.mark.parametrize("name", SCENARIOS)
def test_mended_in_the_implementation(name: str) -> None:
    """The same deliveries, correct code: at least two ids, and all different."""
    ids = implementation(SCENARIOS[name], broken=False)["ids_unique"]
    assert (ids.violations, ids.judged >= 2) == (0, True)
