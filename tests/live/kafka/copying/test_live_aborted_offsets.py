"""What a producer does with offsets that were refused, in the transaction after the one that it aborts for that."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import kafka
import pyarrow.parquet as pq
import pytest
from copiers import Job
from copy_recording import record_job
from fencepost.proofs.scale.replay import replay
from fencepost.properties.group_fencing.events import Kind
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from kafka.errors import CommitFailedError
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


def test_kafka_python_commits_an_aborted_offset(kafka_groups: KafkaCluster, tmp_path: Path) -> None:
    """The offset of partition 0 is refused, and its transaction aborted; the next one is for partition 1 alone, and
    commits both. Here nothing of partition 0 was ever copied: all that stands before that offset is lost. Recorded, the
    offset of the transaction that was aborted is taken in the next one."""
    job = Job.create(kafka_groups.bootstrap, "aborted-offset", partitions=2, records=10)
    producer = kafka.KafkaProducer(bootstrap_servers=job.bootstrap.split(","), transactional_id="aborted-offset")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        stranger = ConsumerGroupMetadata(group_id=job.name, generation_id=1, member_id="nobody")
        with pytest.raises(CommitFailedError):
            producer.send_offsets_to_transaction(_offset(job, 0, 5, "alone/1"), stranger)
        producer.abort_transaction()
        assert job.offsets() == {0: 0, 1: 0}
        producer.begin_transaction()
        producer.send_offsets_to_transaction(_offset(job, 1, 7, "alone/2"), job.name)
        producer.commit_transaction()
    finally:
        producer.close()
    job.until(lambda: job.offsets()[1] == 7)
    assert job.offsets() == {0: 5, 1: 7}
    record_job(kafka_groups, job, tmp_path, _lines(), [], job.offsets(), "group-id-only")
    violations = replay(tmp_path / "out", cores=1).violations
    assert {name: found["count"] for name, found in violations.items()} == {"offsets_agree": 2, "everything_copied": 2}
    rows = pq.read_table(tmp_path / "out" / "part-00000.parquet").to_pylist()
    reported = {kind: [row for row in rows if row["kind"] == kind] for kind in (Kind.offset_sent, Kind.offset_taken)}
    places = {kind: [(row["partition"], row["offset"]) for row in of_kind] for kind, of_kind in reported.items()}
    assert places[Kind.offset_sent] == [(0, 5), (1, 7)] and sorted(places[Kind.offset_taken]) == [(0, 5), (1, 7)]
    assert len({row["epoch"] for row in reported[Kind.offset_taken]}) == 1


def _lines() -> list[dict[str, Any]]:
    """What the application would have written down, in order, as if its clock were late."""
    first = {"kind": "offset_sent", "partition": 0, "offset": 5, "generation": 1, "member": "nobody"}
    reported = [
        {"kind": "init_told", "txn": "aborted-offset"}, {"kind": "txn_begun"}, first,
        {"kind": "end_sent", "outcome": 0}, {"kind": "end_told", "outcome": 0},
        {"kind": "txn_begun"}, {"kind": "offset_sent", "partition": 1, "offset": 7},
        {"kind": "end_sent", "outcome": 1}, {"kind": "end_told", "outcome": 1},
    ]  # fmt: skip
    now = time.time_ns() // 1000
    return [{"time_us": now + number, "client": "alone", **line} for number, line in enumerate(reported)]


def _offset(job: Job, partition: int, offset: int, tag: str) -> dict[kafka.TopicPartition, OffsetAndMetadata]:
    return {kafka.TopicPartition(job.source, partition): OffsetAndMetadata(offset, tag, -1)}
