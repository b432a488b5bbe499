"""Three nodes, transaction.version 2: coordinators die amid transactions, and so does a partition's only replica."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import ABORT, COMMIT, PARTITIONS
from cluster import KafkaCluster
from fencepost.reference_impl.wire.connection import NoAnswer, find_brokers
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


def test_a_partition_without_leader_loses_its_marker(three_nodes: KafkaCluster) -> None:
    """A defect of Kafka 4.3.1 (KAFKA-20734), against txn.10: what has no leader is taken for deleted, and completed.

    The record of a commit that was acknowledged is not read when its partition comes back: it lies in an open
    transaction, which the producer's next one joins, and whose abort aborts it. When this fails Kafka is mended, and
    `KAFKA.md` has to say so.
    """
    seeker = RoutedAsker(three_nodes, "no-leader")
    seeker.patiently(seeker.coordinator)
    lonely = next(number for number in three_nodes.nodes if number != seeker.coordinator())
    ask = RoutedAsker(three_nodes, "no-leader", replicas=(lonely,))
    ask.prepare()
    assert ask.patiently(ask.init) == ("A", 0)
    assert ask.patiently(ask.produce, "A", 0, 0) == 0
    three_nodes.kill(lonely)
    three_nodes.wait_until_ready()
    ask.until(lambda: ask.patiently(ask.leader, 0) == -1)
    assert ask.patiently(ask.end, "A", 0, COMMIT) == ("A", 1)
    assert ask.patiently(ask.settled) == ("CompleteCommit", 1)  # and no marker can have been written
    three_nodes.start(lonely)
    three_nodes.wait_until_ready()
    assert ask.patiently(ask.log, 0, committed=True) == ([], 0, [])
    assert ask.patiently(ask.producers, 0) == [("A", 0, 0, 0)]
    assert ask.patiently(ask.produce, "A", 1, 0) == 1
    assert ask.patiently(ask.end, "A", 1, ABORT) == ("A", 2)
    ask.until(lambda: ask.log(0, committed=True)[1] == 3)
    assert ask.log(0, committed=True) == (["A/0/0", "A/1/0", "ABORT"], 3, [("A", 0)])
    assert ask.read(0) == []


def _kill_during(ask: RoutedAsker, victim: int, producer: str, epoch: int, committed: bool) -> None:
    """Kill the coordinator's node while EndTxn is on its way: it may be carried out, or not."""
    other = RoutedAsker(ask.cluster, ask.name, names=ask.names)
    other.patiently(other.described)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(other.end, producer, epoch, committed)
        ask.cluster.kill(victim)
        assert isinstance(asked.exception(), NoAnswer | None)
