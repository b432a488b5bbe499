"""This module reads the replicas of each partition, and those in sync, from the cluster's metadata log.

`read_placement(path)` reads `__cluster_metadata-0` in a node's log directory: the latest snapshot, and the records
after it. The result reveals whether a log directory is missing among those given, and whose copies decide what is
committed.

Sources: TopicRecord, PartitionRecord, PartitionChangeRecord, RemoveTopicRecord, FeatureLevelRecord in Kafka 4.3's
common/metadata/*.json."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log import FRAME_VERSION, TOPIC, Batch, read_node
from fencepost.proofs.recording.logs.wire_types import compact_array, compact_string, tagged_fields, unsigned

TOPIC_RECORD, PARTITION_RECORD, PARTITION_CHANGE, REMOVE_TOPIC, FEATURE_LEVEL = 2, 3, 5, 9, 12
IN_SYNC_TAG, REPLICAS_TAG = 0, 2  # of PartitionChangeRecord


class Topic(NamedTuple):
    """A `Topic` is one that was not deleted, with the nodes of each partition's replicas, and those that are in
    sync."""

    id: str
    replicas: dict[int, frozenset[int]]
    in_sync: dict[int, frozenset[int]]


@dataclass
class Placement:
    """A `Placement` has topics by name, and the levels of the finalized features. `last` is how far the metadata log
    goes: (leader epoch, end)."""

    last: tuple[int, int]
    topics: dict[str, Topic] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)

    def replicas(self, topic: str, topic_id: str, partition: int) -> frozenset[int]:
        """Return the nodes that hold the partition. The set is empty if the log knows no topic of that name with that
        id."""
        known = self._topic(topic, topic_id)
        return known.replicas.get(partition, frozenset()) if known is not None else frozenset()

    def in_sync(self, topic: str, topic_id: str, partition: int) -> frozenset[int]:
        """Return the nodes whose replicas of the partition are in sync. The set of nodes is empty if the metadata log
        does not know the topic."""
        known = self._topic(topic, topic_id)
        return known.in_sync.get(partition, frozenset()) if known is not None else frozenset()

    def _topic(self, topic: str, topic_id: str) -> Topic | None:
        known = self.topics.get(topic)
        return None if known is None or (topic_id and known.id != topic_id) else known


def read_placement(log_dir: Path) -> Placement | None:
    """Return the placement in this directory's metadata log, or None if there is no such log, as on a node that is a
    broker only."""
    if not (log_dir / TOPIC).is_dir():
        return None
    log = read_node(log_dir)
    placement, names = Placement(log.last), dict[bytes, str]()
    snapshots = [snapshot for snapshot in log.snapshots if snapshot.end_offset >= log.start]
    covered = log.start
    if snapshots:
        _apply(snapshots[-1].batches, placement, names)
        covered = snapshots[-1].end_offset
    _apply((batch for batch in log.batches if batch.last_offset >= covered), placement, names)
    return placement


def _apply(batches: Iterable[Batch], placement: Placement, names: dict[bytes, str]) -> None:
    for batch in batches:
        try:
            for kind, value, at in _records(batch):
                _apply_record(kind, value, at, placement, names)
        except (ValueError, IndexError, struct.error) as error:
            what = f"the batch at offset {batch.base_offset} is not the metadata log's: {error}"
            raise RecordingError(what, batch.file, "copy the metadata log again", batch.position) from None


def _records(batch: Batch) -> Iterator[tuple[int, bytes, int]]:
    if batch.control:
        return
    for _, _, value in batch.records():
        frame, at = unsigned(value, 0)
        if frame != FRAME_VERSION:
            raise ValueError(f"record frame version {frame}, not {FRAME_VERSION}")
        kind, at = unsigned(value, at)
        _, at = unsigned(value, at)  # fields were only ever added at the end
        yield kind, value, at


def _apply_record(kind: int, value: bytes, at: int, placement: Placement, names: dict[bytes, str]) -> None:
    if kind == TOPIC_RECORD:
        name, at = compact_string(value, at)
        names[value[at : at + 16]] = name or ""
        placement.topics[name or ""] = Topic(_printed(value[at : at + 16]), {}, {})
    elif kind == FEATURE_LEVEL:
        name, at = compact_string(value, at)
        (placement.features[name or ""],) = struct.unpack_from(">h", value, at)
    elif kind == REMOVE_TOPIC:
        placement.topics.pop(names.pop(value[at : at + 16], ""), None)
    elif kind in (PARTITION_RECORD, PARTITION_CHANGE):
        (partition,) = struct.unpack_from(">i", value, at)
        topic = placement.topics.get(names.get(value[at + 4 : at + 20], ""))
        if topic is None:
            return
        if kind == PARTITION_RECORD:
            replicas, at = compact_array(value, at + 20, ">i")
            topic.replicas[partition] = frozenset(replicas)
            topic.in_sync[partition] = frozenset(compact_array(value, at, ">i")[0])
        else:
            changed = tagged_fields(value, at + 20)
            for tag, nodes in ((REPLICAS_TAG, topic.replicas), (IN_SYNC_TAG, topic.in_sync)):
                if tag in changed:
                    nodes[partition] = frozenset(compact_array(changed[tag], 0, ">i")[0])


def _printed(topic_id: bytes) -> str:
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
