"""The whole system as it should be: what its histories promise, and that they can break it."""

from collections import Counter
from functools import cache
from typing import Any

import pytest
from fencepost.properties.end_to_end.events import END_TO_END
from fencepost.properties.history import VOCABULARIES, Manifest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.reference_impl.kafka.group_environment import Kind as GroupKind
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.systems.end_to_end import simulate
from fencepost.reference_impl.systems.end_to_end_kafka import COLUMNS, KIND_NAMES, Kind

SEEDS = range(12)
SAID = simulate.vocabularies({})


@cache
def histories() -> list[tuple[dict[str, list[Row]], dict[str, int]]]:
    """Some histories."""
    return [simulate(seed, {}) for seed in SEEDS]


def test_the_vocabulary_is_that_of_the_properties() -> None:
    """Rows cross by position."""
    assert COLUMNS[3:] == END_TO_END.names
    assert {name: code for code, name in KIND_NAMES.items()} == {kind.name: int(kind) for kind in END_TO_END.kinds}


def test_the_same_seed_gives_the_same_history() -> None:
    """In every vocabulary."""
    assert simulate(3, {}) == histories()[3]


@pytest.mark.parametrize("protocol", list(SAID))
def test_every_promise_holds(protocol: str) -> None:
    """Of each protocol that is at work, with something to judge."""
    properties, reported = properties_of(protocol), SAID[protocol]
    manifest = Manifest(protocol, tuple(VOCABULARIES[protocol].codes), (), config=reported["config"])
    asked = [
        n for n in properties.names if n not in {**properties.unpromised(manifest), **properties.undecidable(manifest)}
    ]
    rows = [(seed, made[protocol]) for seed, (made, _) in zip(SEEDS, histories(), strict=True)]
    findings, _ = properties.check(columns_of(VOCABULARIES[protocol], rows), asked, reported["config"])
    assert not {name: finding.first for name, finding in findings.items() if finding.violations}


def test_each_source_offset_is_in_the_sink_once() -> None:
    """Counted by hand."""
    for made, _ in histories():
        found = Counter((row[6], row[7]) for row in made["end-to-end"] if row[2] == Kind.SINK_READ)
        assert set(found.values()) == {1}
        owed = {row[6]: row[7] for row in made["end-to-end"] if row[2] == Kind.OWED}
        assert owed
        assert all((partition, offset) in found for partition, upto in owed.items() for offset in range(1, upto + 1))


def test_a_slow_group_copies_to_the_end() -> None:
    """Also what it has not come to yet when everything that is owed is in the sink."""
    made, _ = simulate(7, {"members": 1, "max_poll_records": 1, "think_us": 10_000})
    there = Counter(row[8] for row in made["end-to-end"] if row[2] == Kind.OUTPUT_READ)
    copied = Counter(row[8] for row in made["group-fencing"] if row[2] == GroupKind.OUTPUT_READ)
    offsets = {row[8]: row[9] for row in made["group-fencing"] if row[2] == GroupKind.AUDITED}
    assert there == copied == Counter({partition: max(0, offset) for partition, offset in offsets.items()})


def test_every_fault_strikes() -> None:
    """In a dozen histories."""
    counts: Counter[str] = Counter()
    for _, faults in histories():
        counts.update(faults)
    rare = {"connect_crash", "connect_compact", "ids_pause", "kafka_close", "connect_refuse"}
    expected: dict[str, Any] = {
        "connect": ("stall", "expire", "failed", "lost"),
        "kafka": ("drop", "duplicate", "delay", "fail_over", "new_leader", "move_group", "restart", "expire", "pause"),
        "ids": ("restart", "fail_over", "snapshot"),
    }
    struck = {f"{where}_{fault}" for where, faults in expected.items() for fault in faults}
    assert struck <= counts.keys(), counts
    assert counts.keys() - struck <= {*rare, "kafka_append_failure", "ids_drop", "ids_duplicate", "ids_delay"}
