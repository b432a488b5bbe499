"""Defects of an old release of Kafka Connect that later ones do not have, by hand and in programs as they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from connect_probe import Probe
from driven_connect import EMPTY, OPEN, LiveSearch
from fencepost.properties.source_offsets.scenarios.cluster import SIZE, SMALL
from fencepost.reference_impl.live.connect.driven import end
from fencepost.reference_impl.live.connect.install import BROKERS, OLD_CONNECT, Installed

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900), pytest.mark.nightly]
RELEASE = OLD_CONNECT
SLOW_TO_STOP = 1
"""A connector is drawn so that its two tasks are in transactions that do not end when it gets one task."""
Driving = Callable[..., LiveSearch]


@pytest.fixture(scope="module", params=[OLD_CONNECT, BROKERS])
def driving(request: Any, cache: Path, installed: Callable[[str], Installed]) -> Iterator[Driving]:
    """A search of a variant on the old release, in which this finding ends a program, and on one without it."""
    installed(request.param), installed(BROKERS)

    def search(of: str, finding: str) -> LiveSearch:
        protocol, _, variant = of.partition("/")
        return LiveSearch(protocol, variant, {"cache": cache, "release": request.param}, {finding})

    yield search
    end()


def found(search: LiveSearch, finding: str) -> bool:
    """Whether the finding ended the program, on the old release, and nothing did on the other."""
    assert (search.failures, search.undecided, search.examples) == ([], [], 1)
    return dict(search.known) == ({finding: 1} if search.config["release"] == OLD_CONNECT else {})


def test_drawn_programs_find_that_a_round_fails(driving: Driving) -> None:
    """618.P4, KAFKA-16570: a task fails, and nothing went wrong."""
    search = driving("task-counts/shipped", OPEN)
    search.drive(lambda machine: machine.begin(SLOW_TO_STOP))
    assert found(search, OPEN)


@pytest.mark.parametrize("steps", [8, 12])
def test_drawn_programs_find_that_an_abort_is_left(driving: Driving, steps: int) -> None:
    """KAFKA-14799: the batch after the abort is left out of the output (618.P2), or, where the connector has that one
    committed, its task fails, and nothing went wrong (618.P5)."""
    search = driving("source-offsets/shipped", EMPTY)
    config = {**SIZE, **SMALL, "seed": 0, "tasks": 1, "partitions": 1, "boundary": "connector", "empty": True}

    def play(machine: Any) -> None:
        machine.begin({**config, "transaction_timeout_ms": 2_000})
        machine.asked_for(0, False, steps)

    search.drive(play)
    assert found(search, EMPTY)


def test_a_round_fails_over_an_open_transaction(probe: Probe) -> None:
    """618.12, KAFKA-16570: a worker is removed from its group while a transaction of a task of it is open, and the
    connector gets fewer tasks. The round that fences that task fails, as the transaction is being aborted, and so do
    the tasks that have asked."""
    cluster = probe.cluster
    boundary = {"transaction__boundary": "interval", "transaction__boundary__interval__ms": 600_000}
    tasks = probe.spread(**boundary)
    leader = cluster.leads()
    away = next(each for each in tasks.values() if each.worker not in (leader, probe.owner()))
    probe.hold_polls(lambda call: call.instance == away.name)
    record = f"{away.task}:1"
    probe.polls().answer(records=record)
    cluster.wait_for("record of an open transaction", lambda: record in dict(probe.read(probe.name, committed=False)))
    cluster.pause(away.worker)
    begun = probe.ask(2, leader, **boundary)
    cluster.wait_for("newer set", lambda: probe.sets_and_counts()[-1] == "set of 2")
    probe.put_out(away.worker)

    def ends() -> str:
        states = [probe.state(task, leader)[0] for task in range(2)]
        started = any(probe.seen.since(begun, call="start", connector=probe.name, task=0))
        return "failed" if "FAILED" in states else "started" * started

    assert cluster.wait_for("end of the round", ends) == "failed"
    assert probe.times(leader, "ConcurrentTransactionsException")
    probe.shows(probe.keys, [])


def test_an_abort_without_records_is_left_for_the_next_batch(probe: Probe) -> None:
    """618.28, KAFKA-14799: a connector that defines its transactions has one aborted with a poll that gives no records.
    That is left for the next batch, and its task fails."""
    probe.configure(1, transaction__boundary="connector", exactly__once__support="required")
    probe.hold_polls()
    first = probe.polls()
    first.answer(records="0:1")
    probe.polls(since=first.line + 1).answer(boundary="abort")
    probe.polls(since=first.line + 1).answer(records="0:1", boundary="commit")

    def ends() -> str:
        state, trace = probe.state(0)
        committed = any(probe.seen.since(call="commitRecord", connector=probe.name, record="0:2"))
        return trace if state == "FAILED" else "committed" * committed

    assert "IllegalStateException" in probe.cluster.wait_for("end of the batch", ends)
