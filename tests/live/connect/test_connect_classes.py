"""What Kafka Connect's own classes do, each put where a cluster brings it by chance. When one of these fails, Kafka is
mended, and the findings have to say so."""

from __future__ import annotations

import pytest
from connect_classes import Classes, Seen, look

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def seen(classes: Classes) -> Seen:
    """The answers of every program, by its name."""
    return look(classes)


def test_a_preparing_leader_reads_uncommitted(seen: Seen) -> None:
    """618.35: it writes in transactions, and goes by what was aborted. Only where the support is enabled
    KafkaConfigBackingStore.setupAndCreateKafkaBasedLog asks for read_committed."""
    assert seen["ConfigTopicReaders"] == {
        "disabled reads": "null", "disabled writes in transactions": "false",
        "preparing reads": "null", "preparing writes in transactions": "true",
        "enabled reads": "read_committed", "enabled writes in transactions": "true",
    }  # fmt: skip


def test_a_round_that_is_over_still_answers(seen: Seen) -> None:
    """618.9, 618.15, 618.P1: a task of set 2 is told that it may start, and nothing was fenced or counted for that set.
    (DistributedHerder.doFenceZombieSourceTasks takes a round that it finds, whatever set it is of.)  Once the round is
    out, the same question begins another."""
    assert seen["RoundThatIsOver"] == {
        "counted": "1 after set 1", "granted": "set 2", "set 2 is counted": "false",
        "rounds": "1", "counts": "1", "rounds when it is out": "2",
    }  # fmt: skip


def test_an_own_offsets_topic_hides_the_workers(seen: Seen) -> None:
    """618.31, 618.P2: a task finds no offset where the topic of its connector has none, whatever the worker's has.
    (ConnectorOffsetBackingStore.get lays one answer over the other, and KafkaOffsetBackingStore.get has a null for each
    partition that is missing.)"""
    assert seen["OffsetsOfBothTopics"] == {
        "in the worker's": "null", "in its own": "{at=18}", "before it had its own": "{at=17}"
    }  # fmt: skip


def test_the_workers_copy_comes_before_the_commit(seen: Seen) -> None:
    """618.31, 618.P2: the worker's topic has an offset whose transaction was aborted after its record was acknowledged.
    (ConnectorOffsetBackingStore.setPrimaryThenSecondary)"""
    assert seen["CopiesBeforeTheCommit"] == {
        "sent": "0", "acknowledged": '[{"at":17}]', "committed by then": "false", "aborted": '[{"at":17}]',
        "its own topic": "0",
    }  # fmt: skip


def test_a_removed_task_is_started_again(seen: Seen) -> None:
    """618.P1, 618.P3, 618.P2: who comes back with a task that the newest set has not is left with it for one rebalance,
    and starts it with its old configuration; the round and the look after it let it pass, and the count does not cover
    it. (What is deleted is, for IncrementalCooperativeAssignor.performTaskAssignment, what it assigned last and is not
    configured any more.) So is a worker that was never away, if the leader is new, or if an
    assignment of the set before was lost, but not if one that revoked the task was."""
    left, revoked = "{w1=[c-1], w2=[]}", "{w1=[], w2=[c-0]}"
    assert seen["RemovedTask"] == {
        "away": "{w2=[c-0]}", "back": left, "revoked": "[]", "next": revoked,
        "leader as it was": revoked, "leader new": left, "assignment lost": left, "revocation lost": revoked,
        "configuration": "{set=1}", "fenced before": "passed", "checked after": "passed", "counts written": "0",
        "restart, not told": "started", "restart, told": "RebalanceNeededException",
        "without configuration": "NullPointerException",
    }  # fmt: skip


def test_what_a_worker_has_of_a_smaller_set(seen: Seen) -> None:
    """618.52: the configuration of a task that is no more stays, and the herder is told of the set when the store has
    it. Where compaction has left no whole set, the count is taken over and the generation is not."""
    assert seen["SetsThatAreRead"] == {
        "before the herder knows": "1 task(s), set 1, {set=1}", "whole": "1 task(s), set 1, {set=1}",
        "compacted": "1 task(s), set 0, {set=1}", "former leader": "PrivilegedWriteException",
    }  # fmt: skip


def test_a_start_of_an_earlier_set_is_refused_after_another_round(seen: Seen) -> None:
    """618.19, 618.43 (H4, H12): generations are compared, not counts; and a round for a set that is not the newest
    writes no count, though its leader has not been told. (618.26: who led before is refused, see above.)"""
    assert seen["LateStart"] == {
        "second look": "org.apache.kafka.connect.errors.ConnectException: Cannot start source task c-0 with "
        "exactly-once support as the connector has already generated a new set of task configs",
        "asked the round": "Failed to perform zombie fencing", "counts of the round": "0",
    }  # fmt: skip


def test_a_start_fences_before_it_looks_again(seen: Seen) -> None:
    """618.40 (H5): so a start that goes on late shuts out the task of the newest set before it finds that set."""
    assert seen["OrderOfAStart"] == {"steps": "[asks for a round, opens its producer, looks again]"}


def test_one_thread_forwards_everything(seen: Seen) -> None:
    """618.9: while the leader has not answered for one connector, new task configurations of another are not sent.
    (DistributedHerder.forwardRequestExecutor)"""
    fence, tasks = "PUT http://leader/connectors/c/fence", "POST http://leader/connectors/other/tasks"
    assert seen["ForwardingThread"] == {
        "threads": "1", "waiting": "1", "sent": f"[{fence}]", "sent in the end": f"[{fence}, {tasks}]"
    }  # fmt: skip


def test_a_flush_of_offsets_waits_without_an_end(seen: Seen) -> None:
    """src.10: of ten waits of 0 ms, each for a write that is not acknowledged, at least one does not end. That is what
    WorkerSourceTask.commitOffsets asks for where its time is over. KafkaOffsetBackingStore's SetCallbackFuture.get
    throws where less than 0 ms are left and calls wait for what is left otherwise; for 0 ms, wait has no time-out."""
    assert seen["FlushThatWaits"] == {"waits without an end": "true", "waits when all are acknowledged": "false"}
