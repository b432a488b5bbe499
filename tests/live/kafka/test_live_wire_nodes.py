"""The plug over TCP against three nodes: who coordinates or leads is killed or stands still, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fencepost.reference_impl.live import over_tcp
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from wire_driving import settle, transaction

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

PATIENCE_S = 60.0
TRANSACTION = 1
GROUP = 3  # number of the offsets partition, behind three data partitions


def started(cluster: KafkaCluster) -> Any:
    """A system whose producer is initialised, with a partition on every node."""
    system = over_tcp(
        {"mode": "v2", "clients": 1, "partitions": 3, "groups": 1, "bootstrap": cluster.bootstrap}
        | {"answer_timeout_ms": 1_500}
    )
    system.init(0)
    settle(system)
    system.drain_events()
    return system


def finish(system: Any) -> None:
    """Everything arrives, and clients ask again, until the transaction's end is told without an error."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for number, *_ in system.messages()[:1]:
            system.deliver(number)
        if not system.messages():
            system.advance(31_000)
        ends = [event.error for event in system.drain_events() if event.kind == "end_told"]
        if ends:
            assert ends == [0]
            return
    raise AssertionError(f"not finished in {PATIENCE_S} s: {system.messages()}, unanswered {system.line.unanswered}")


def coordinator(system: Any) -> int:
    """The node that coordinates the transactional id now, asked anew: where nodes come and go leaders move."""
    system.brokers.forget()
    return int(system.brokers.coordinator(TRANSACTION, system.names.transactional_id(0)))


def taken_over(system: Any, lost: int) -> bool:
    """Does another node coordinate, as every node says in the end?  One that is asked may have older metadata."""
    deadline = time.monotonic() + PATIENCE_S
    while coordinator(system) == lost and time.monotonic() < deadline:
        time.sleep(0.1)
    return coordinator(system) != lost


@contextmanager
def without(cluster: KafkaCluster, node: int, how: str) -> Iterator[None]:
    """Within the block the node is killed, or stands still."""
    getattr(cluster, how)(node)
    try:
        yield
    finally:
        cluster.start(node) if how == "kill" else cluster.resume(node)
        cluster.wait_until_ready()


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_commit_past_a_lost_coordinator(three_nodes: KafkaCluster, how: str) -> None:
    """The coordinator goes away with the transaction open: another takes over, and the commit is the client's own."""
    system = started(three_nodes)
    transaction(system, 0, 0, 1, 2, GROUP)
    for partition in (0, 1, 2):
        system.read(0, partition)
    system.drain_events()
    assert system.begin(0)
    for partition in (0, 1, 2, GROUP):
        assert system.send(0, partition)
    settle(system)
    assert system.commit(0)
    lost = coordinator(system)
    with without(three_nodes, lost, how):
        finish(system)
        assert taken_over(system, lost), "another takes over"
        for partition in (0, 1, 2):
            assert [record for _, record in system.read(0, partition)] == [4 + partition]
        assert system.fetch_offset(0, GROUP) == (0, 7)
    assert system.read(1, 0)[-1][1] == 4, "after its return as well"


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_send_past_a_lost_leader(three_nodes: KafkaCluster, how: str) -> None:
    """A partition's leader goes away before the record arrives: it is sent again, to the next leader, and read once."""
    system = started(three_nodes)
    transaction(system, 0, 0)
    place = system.names.places[0]
    system.drain_events()
    assert system.begin(0)
    assert system.send(0, 0)
    with without(three_nodes, system.brokers.leader(place.topic, place.partition), how):
        assert system.commit(0)
        finish(system)
        assert [record for _, record in system.read(0, 0)] == [0, 1]
