"""This module reads the offsets that groups commit from the records of `__consumer_offsets`.

Sources: OffsetCommitKey.json, LegacyOffsetCommitKey.json and OffsetCommitValue.json of Kafka 4.3 (group-coordinator).
The key is its kind (0 and 1: an offset; 2 and above: groups and their members), then group, topic and partition."""

from __future__ import annotations

import struct
from typing import NamedTuple

from fencepost.proofs.recording.logs.wire_types import string

TOPIC = "__consumer_offsets"
OFFSET_KINDS = (0, 1)
NEWEST_VALUE = 4


class OffsetKey(NamedTuple):
    group: str
    topic: str
    partition: int


def offset_key_of(key: bytes) -> OffsetKey | None:
    """Decode a key; None for a record that is about something else. Raise IndexError or struct.error if the key is
    cut."""
    (kind,) = struct.unpack_from(">h", key)
    if kind not in OFFSET_KINDS:
        return None
    group, at = string(key, 2)
    topic, at = string(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    return OffsetKey(group or "", topic or "", partition)


def committed_offset_of(value: bytes) -> int:
    """Return the committed offset, which is the first field in every version of the value."""
    version, offset = struct.unpack_from(">hq", value)
    if not 0 <= version <= NEWEST_VALUE:
        raise ValueError(f"version {version} of a committed offset is unknown (known: 0 to {NEWEST_VALUE})")
    return int(offset)
