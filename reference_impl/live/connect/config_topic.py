"""This module does to the config topic of a live Connect what no worker does: compaction, and foreign records."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.brokers import Brokers
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import Patience, build, milliseconds, only, reading
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

CLEANING: Mapping[str, object] = {
    "log.cleaner.enable": True, "log.cleaner.backoff.ms": 100, "log.cleaner.dedupe.buffer.size": 4_194_304,
}  # fmt: skip
"""With these settings brokers compact a topic soon after it may be."""
AT_ONCE = {"segment.ms": "1", "min.cleanable.dirty.ratio": "0.001", "max.compaction.lag.ms": "1"}
CHECKPOINT = "cleaner-offset-checkpoint"
NAMED_TOPICS = 9  # the version of Produce
TOPIC, SET, DELETE = i8(2), i8(0), i8(1)
PATIENCE_S, AGAIN_S = 60.0, 2.0


def compact(kafka: KafkaCluster, topic: str) -> int:
    """Have all that stands in the topic compacted, and return the offset up to which it is. The record that begins the
    next segment has a key that no worker reads. Raise WireError."""
    with _asking(kafka) as brokers:
        _alter(brokers, topic, {name: (SET, value) for name, value in AT_ONCE.items()})
        end, again = -1, 0.0
        for _ in Patience(PATIENCE_S):
            rolled = end >= 0 and all((folder / f"{topic}-0" / f"{end:020}.log").exists() for folder in kafka.log_dirs)
            # A broker hears of its settings some time after they are answered; a record before that begins no segment.
            if not rolled and time.monotonic() > again:
                end, again = append(brokers, topic, b"compacted", None), time.monotonic() + AGAIN_S
            elif rolled and all(_cleaned(folder / CHECKPOINT, topic) >= end for folder in kafka.log_dirs):
                _alter(brokers, topic, dict.fromkeys(AT_ONCE, (DELETE, None)))
                return end
    raise WireError(f"{kafka.bootstrap}: topic {topic} was not compacted up to {end} within {PATIENCE_S:.0f} s")


def write(kafka: KafkaCluster, topic: str, key: bytes, value: bytes) -> int:
    """Append a record without a transaction, and return its offset. Raise WireError."""
    with _asking(kafka) as brokers:
        return append(brokers, topic, key, value)


def store(log_dir: Path, topic: str, since: int, stored: Path) -> None:
    """Copy the topic's segments from offset `since` on, before they are compacted."""
    stored.mkdir(exist_ok=True)
    for segment in (log_dir / f"{topic}-0").glob("*.log"):
        if int(segment.stem) >= since:
            shutil.copy(segment, stored)


def uncompacted(log_dir: Path, topic: str, since: int, stored: Path, out: Path) -> Path:
    """Make `out` a broker's log directory in which the topic's segments below offset `since` are those that are
    `stored`."""
    partition = log_dir / f"{topic}-0"
    (out / partition.name).mkdir(parents=True)
    for each in log_dir.iterdir():
        if each != partition:
            (out / each.name).symlink_to(each)
    for each in (*partition.iterdir(), *stored.iterdir()):
        if each.suffix != ".log" or each.parent == stored or int(each.stem) >= since:
            (out / partition.name / each.name).symlink_to(each)
    return out


@contextmanager
def _asking(kafka: KafkaCluster) -> Iterator[Brokers]:
    brokers = Brokers(kafka.bootstrap, PATIENCE_S)
    try:
        yield brokers
    finally:
        brokers.close()


def append(brokers: Brokers, topic: str, key: bytes, value: bytes | None) -> int:
    now = TZAwareMicros.parse(datetime.fromtimestamp(int(time.time()), UTC))
    record = Record(attributes=i8(0), timestamp=now, offset=i64(0), key=key, value=value, headers=())
    batch = NewRecordBatch(
        producer_id=i64(-1), producer_epoch=i16(-1), base_sequence=i32(-1), records=(record,), attributes=i16(0)
    )
    with BytesIO() as buffer:
        write_new_batch(buffer, batch)
        records = buffer.getvalue()
    part = build("produce", NAMED_TOPICS, "PartitionProduceData", index=i32(0), records=records)
    data = build("produce", NAMED_TOPICS, "TopicProduceData", name=topic, partition_data=(part,))
    request = build(
        "produce", NAMED_TOPICS, transactional_id=None, acks=i16(-1), timeout=milliseconds(30_000), topic_data=(data,)
    )
    brokers.refresh(topic)
    answer = brokers.ask(brokers.leader(topic, 0), request)
    with reading(request, answer):
        written = only(only(answer.responses, "topics").partition_responses, "partitions")
    if written.error_code:
        raise WireError(f"{brokers.bootstrap}: topic {topic} takes no record: {error_text(written.error_code)}")
    return int(written.base_offset)


def _alter(brokers: Brokers, topic: str, changes: Mapping[str, tuple[i8, str | None]]) -> None:
    configs = tuple(
        AlterableConfig(name=name, config_operation=operation, value=value)
        for name, (operation, value) in changes.items()
    )
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=configs)
    answer: Any = brokers.ask_any(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False))
    with reading(resource, answer):
        error = int(only(answer.responses, "topics").error_code)
    if error:
        raise WireError(f"{brokers.bootstrap}: topic {topic} takes no other settings: {error_text(error)}")


def _cleaned(checkpoint: Path, topic: str) -> int:
    """Return the offset up to which a broker has compacted the topic."""
    lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
    return next((int(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{topic} 0 ")), -1)
