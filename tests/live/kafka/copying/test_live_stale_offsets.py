"""Where a member begins with a partition that it is given again, if it still has an answer of an earlier generation."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import kafka
import pytest
from copiers import PATIENCE_S, Job
from copy_audit import audit
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from kafka.structs import OffsetAndMetadata

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

BEFORE, BATCH = 2, 5


class Copying:
    """A member as an application would write one with kafka-python."""

    def __init__(self, job: Job, name: str) -> None:
        brokers = job.bootstrap.split(",")
        self.job, self.name, self.place = job, name, kafka.TopicPartition(job.source, 0)
        self.producer = kafka.KafkaProducer(bootstrap_servers=brokers, transactional_id=f"{job.name}-{name}")
        self.consumer = kafka.KafkaConsumer(
            job.source, bootstrap_servers=brokers, client_id=name, group_id=job.name, enable_auto_commit=False,
            isolation_level="read_committed", auto_offset_reset="earliest", heartbeat_interval_ms=300,
        )  # fmt: skip
        self.producer.init_transactions()

    def polled(self) -> list[Any]:
        return self.consumer.poll(timeout_ms=50, max_records=BATCH).get(self.place, [])

    def copy(self, offsets: list[int]) -> None:
        """In a transaction, with what the group has told it of itself."""
        self.producer.begin_transaction()
        for offset in offsets:
            self.producer.send(self.job.target, json.dumps([0, offset, self.name, 1]).encode(), partition=0)
        reported = {self.place: OffsetAndMetadata(offsets[-1] + 1, f"{self.name}/1", -1)}
        self.producer.send_offsets_to_transaction(reported, self.consumer.group_metadata())
        self.producer.commit_transaction()

    def close(self) -> None:
        self.producer.close()
        self.consumer.close()


@pytest.fixture
def members(kafka_groups: KafkaCluster) -> Iterator[tuple[Copying, Copying]]:
    """Of one partition, which the second one is given when both are there."""
    job = Job.create(kafka_groups.bootstrap, "stale-offsets", partitions=1, records=10)
    with ExitStack() as ending:
        both = []
        for name in ("z", "a"):
            both.append(Copying(job, name))
            ending.callback(both[-1].close)
        yield both[0], both[1]


def test_kafka_python_goes_on_from_an_earlier_generation(members: tuple[Copying, Copying]) -> None:
    """A poll is over before the answer to its OffsetFetch has come. The member loses the partition, another one copies
    five records, and leaves; and the answer that came meanwhile is taken for one of the newest generation: the five are
    copied once more, by who is the partition's owner and says so."""
    late, other = members
    job, coordinator = late.job, late.consumer._coordinator
    late.producer.begin_transaction()
    late.producer.send_offsets_to_transaction({late.place: OffsetAndMetadata(BEFORE, "z/0", -1)}, job.name)
    late.producer.commit_transaction()
    deadline = time.monotonic() + PATIENCE_S
    while not coordinator._offset_fetch_futures:
        assert late.consumer.poll(timeout_ms=0) == {} and time.monotonic() < deadline
    first, last = late.consumer.group_metadata(), list[Any]()
    polling = threading.Thread(target=lambda: last.extend(records_of(other.polled, deadline)))
    polling.start()
    while not coordinator.need_rejoin():  # its heartbeats say so, without a poll
        assert time.monotonic() < deadline
        time.sleep(0.02)
    while polling.is_alive():
        assert late.polled() == []
    assert [each.offset for each in last] == [*range(BEFORE, BEFORE + BATCH)]
    other.copy([each.offset for each in last])
    other.consumer.close()
    again = [each.offset for each in records_of(late.polled, deadline)]
    assert job.offsets() == {0: BEFORE + BATCH}
    now = late.consumer.group_metadata()
    assert now.member_id == first.member_id and now.generation_id >= first.generation_id + 2
    late.copy(again)
    found = audit(job.inputs, job.outputs(), job.offsets())
    assert [offset for _, offset in found.twice] == [*range(BEFORE, BEFORE + BATCH)]
    assert {tuple(copy.member for copy in copies) for copies in found.twice.values()} == {("a", "z")}


def records_of(polled: Any, deadline: float) -> list[Any]:
    """The records of the first poll that has some."""
    while time.monotonic() < deadline:
        if records := polled():
            return list(records)
    raise AssertionError("no records")
