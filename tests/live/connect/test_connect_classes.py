"""What Kafka Connect's own classes do, each put where a cluster brings it by chance. When one of these fails, Kafka is
mended, and the findings have to say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from connect_classes import POM, SOURCES, Seen, compiled, look
from fencepost.reference_impl.live.clusters.jars import fetch_jars, kafka_version
from fencepost.reference_impl.live.connect.install import fetch
from fetched import cache as folder_of
from fetched import or_skip

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def seen(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The answers of every program, by its name."""
    release = kafka_version()
    base = tmp_path_factory.getbasetemp()
    mocks = folder_of(base, "mocks", [POM])
    jars = [or_skip(lambda: fetch(cache, release)), or_skip(lambda: fetch_jars(mocks, POM, release))]
    classes = folder_of(base, f"connect-classes-{release}", (POM, *SOURCES))
    return look(or_skip(lambda: compiled(classes, jars)), jars)


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
    configured any more.)"""
    assert seen["RemovedTask"] == {
        "away": "{w2=[c-0]}", "back": "{w1=[c-1], w2=[]}", "revoked": "[]", "next": "{w1=[c-0], w2=[]}",
        "configuration": "{set=1}", "fenced before": "passed", "checked after": "passed", "counts written": "0",
    }  # fmt: skip


def test_one_thread_forwards_everything(seen: Seen) -> None:
    """618.9: while the leader has not answered for one connector, new task configurations of another are not sent.
    (DistributedHerder.forwardRequestExecutor)"""
    fence, tasks = "PUT http://leader/connectors/c/fence", "POST http://leader/connectors/other/tasks"
    assert seen["ForwardingThread"] == {
        "threads": "1", "waiting": "1", "sent": f"[{fence}]", "sent in the end": f"[{fence}, {tasks}]"
    }  # fmt: skip
