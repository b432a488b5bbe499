"""What a producer does with offsets that were refused, in the transaction after the one that it aborts for that."""

from __future__ import annotations

import kafka
import pytest
from cluster import KafkaCluster
from copiers import Job
from kafka.errors import CommitFailedError
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


def test_kafka_python_commits_an_aborted_offset(kafka_groups: KafkaCluster) -> None:
    """The offset of partition 0 is refused, and its transaction aborted; the next one is for partition 1 alone, and
    commits both. Here nothing of partition 0 was ever copied: all that stands before that offset is lost."""
    job = Job.create(kafka_groups.bootstrap, "aborted-offset", partitions=2, records=10)
    producer = kafka.KafkaProducer(bootstrap_servers=job.bootstrap.split(","), transactional_id="aborted-offset")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        stranger = ConsumerGroupMetadata(group_id=job.name, generation_id=1, member_id="nobody")
        with pytest.raises(CommitFailedError):
            producer.send_offsets_to_transaction(_offset(job, 0, 5), stranger)
        producer.abort_transaction()
        assert job.offsets() == {0: 0, 1: 0}
        producer.begin_transaction()
        producer.send_offsets_to_transaction(_offset(job, 1, 7), job.name)
        producer.commit_transaction()
    finally:
        producer.close()
    job.until(lambda: job.offsets()[1] == 7)
    assert job.offsets() == {0: 5, 1: 7}


def _offset(job: Job, partition: int, offset: int) -> dict[kafka.TopicPartition, OffsetAndMetadata]:
    return {kafka.TopicPartition(job.source, partition): OffsetAndMetadata(offset, "", -1)}
