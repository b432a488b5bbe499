"""Three nodes, transaction.version 2: coordinators die amid transactions, and so does a partition's only replica."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import ABORT, COMMIT, PARTITIONS
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.connection import NoAnswer, find_brokers
from kio.schema.errors import ErrorCode
from routed import RoutedAsker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

SEED = 890
TRANSACTIONS = 60
KILLS = 4


def test_three_nodes_go_on_without_a_paused_or_killed_one(three_nodes: KafkaCluster) -> None:
    """The others are ready without the active controller's node, paused or killed, and have it back afterwards."""
    leader = three_nodes.active_controller()
    three_nodes.pause(leader)
    three_nodes.wait_until_ready()
    assert three_nodes.active_controller() != leader
    three_nodes.resume(leader)
    three_nodes.wait_until_ready()
    leader = three_nodes.active_controller()
    three_nodes.kill(leader)
    three_nodes.wait_until_ready()
    three_nodes.start(leader)
    three_nodes.wait_until_ready()
    assert {broker.id for broker in find_brokers(three_nodes.bootstrap)} == {1, 2, 3}


def test_nothing_is_lost_or_doubled_when_coordinators_die(three_nodes: KafkaCluster) -> None:
    """txn.P2, txn.P4, txn.P6, txn.19: of every transaction all records and offsets are read, once, or none.

    One producer repeats each request until it has a final answer. Four times the coordinator's node gets SIGKILL:
    before EndTxn, while it is on its way, and right after its answer.
    """
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    ask = RoutedAsker(three_nodes, "coordinator-dies")
    ask.prepare()
    producer, epoch = ask.patiently(ask.init)
    kills = dict(
        zip(chance.sample(range(5, TRANSACTIONS - 5), KILLS), ("before", "during", "after", "during"), strict=True)
    )
    expected: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
    offset = -1
    for number in range(TRANSACTIONS):
        when = kills.get(number)
        written = dict.fromkeys(chance.sample(range(PARTITIONS), 2), f"{producer}/{epoch}/0")
        for partition in written:
            answer = ask.patiently(ask.produce, producer, epoch, 0, partition=partition)
            assert not isinstance(answer, ErrorCode), f"transaction {number}: {answer!r}"
        assert ask.patiently(ask.commit_offset, producer, epoch, number) == ErrorCode.none
        committed = chance.random() < 0.6
        victim = ask.coordinator() if when else 0
        if when == "before":
            three_nodes.kill(victim)
        if when == "during":
            _kill_during(ask, victim, producer, epoch, committed)
        ended = ask.patiently(ask.end, producer, epoch, committed)
        if when == "after":
            three_nodes.kill(victim)
        assert ended == (producer, epoch + 1), f"transaction {number}: {ended!r}"
        if committed:
            offset = number
            for partition, text in written.items():
                expected[partition].append(text)
        producer, epoch = ended
        if when:
            ask.patiently(ask.described)  # there is another coordinator before this one comes back
            three_nodes.start(victim)
            three_nodes.wait_until_ready()
    assert ask.patiently(ask.settled)[1] == epoch
    assert {partition: ask.patiently(ask.read, partition) for partition in expected} == expected
    assert ask.patiently(ask.offset) == offset
    assert epoch == TRANSACTIONS


@pytest.mark.parametrize("first", [COMMIT, ABORT], ids=["commit", "abort"])
def test_a_partition_without_leader_loses_its_marker(three_nodes: KafkaCluster, first: bool) -> None:
    """A defect of Kafka (KAFKA-20734), against txn.10: what has no leader is taken for deleted, and completed.

    When its partition comes back the record lies in an open transaction, which the producer's next one joins, and
    whose end decides both: a commit that was acknowledged is aborted (txn.P4), and what its owner aborted is read as
    committed (txn.P3). When this fails Kafka is mended, and `KAFKA.md` has to say so.
    """
    ask, lonely = _lonely(three_nodes, f"no-leader-{first}")
    assert ask.patiently(ask.init) == ("A", 0)
    assert ask.patiently(ask.produce, "A", 0, 0) == 0
    with _away(three_nodes, lonely):
        ask.until(lambda: ask.patiently(ask.leader, 0) == -1)
        assert ask.patiently(ask.end, "A", 0, first) == ("A", 1)
        assert ask.patiently(ask.settled) == (_complete(first), 1)  # and no marker can have been written
    assert ask.patiently(ask.log, 0, committed=True) == ([], 0, [])
    assert ask.patiently(ask.producers, 0) == [("A", 0, 0, 0)]
    assert ask.patiently(ask.produce, "A", 1, 0) == 1
    assert ask.patiently(ask.end, "A", 1, not first) == ("A", 2)
    ask.until(lambda: ask.log(0, committed=True)[1] == 3)
    marker = "ABORT" if first == COMMIT else "COMMIT"
    assert ask.log(0)[0] == ["A/0/0", "A/1/0", marker]
    assert ask.read(0) == ([] if first == COMMIT else ["A/0/0", "A/1/0"])


@pytest.mark.nightly
def test_in_4_0_the_marker_waits_for_the_partition(jars_of: Callable[[str], Path], tmp_path: Path) -> None:
    """txn.10 as Kafka 4.0 keeps it: a partition without a leader is parked, and gets its marker when it is back."""
    with KafkaCluster(jars_of("4.0.0"), tmp_path) as cluster:
        ask, lonely = _lonely(cluster, "parked")
        assert ask.patiently(ask.init) == ("A", 0)
        assert ask.patiently(ask.produce, "A", 0, 0) == 0
        with _away(cluster, lonely):
            ask.until(lambda: ask.patiently(ask.leader, 0) == -1)
            assert ask.patiently(ask.end, "A", 0, COMMIT) == ("A", 1)
            assert ask.patiently(ask.described)[0] == "PrepareCommit"
        assert ask.patiently(ask.settled) == ("CompleteCommit", 1)
        assert ask.patiently(ask.read, 0) == ["A/0/0"]


def _lonely(cluster: KafkaCluster, name: str) -> tuple[RoutedAsker, int]:
    """A topic whose one replica is on another node than the transaction's coordinator, and that node."""
    seeker = RoutedAsker(cluster, name)
    seeker.patiently(seeker.coordinator)
    lonely = next(number for number in cluster.nodes if number != seeker.coordinator())
    ask = RoutedAsker(cluster, name, replicas=(lonely,))
    ask.prepare()
    return ask, lonely


@contextmanager
def _away(cluster: KafkaCluster, number: int) -> Iterator[None]:
    """A node is down; where another release answers otherwise, too, it is back afterwards."""
    cluster.kill(number)
    cluster.wait_until_ready()
    try:
        yield
    finally:
        cluster.start(number)
        cluster.wait_until_ready()


def _complete(committed: bool) -> str:
    return "CompleteCommit" if committed else "CompleteAbort"


def _kill_during(ask: RoutedAsker, victim: int, producer: str, epoch: int, committed: bool) -> None:
    """Kill the coordinator's node while EndTxn is on its way: it may be carried out, or not."""
    other = RoutedAsker(ask.cluster, ask.name, names=ask.names)
    other.patiently(other.described)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(other.end, producer, epoch, committed)
        ask.cluster.kill(victim)
        assert isinstance(asked.exception(), NoAnswer | None)
