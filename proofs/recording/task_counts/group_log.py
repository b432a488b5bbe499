"""This module reads the generations of the workers' group, with each assignment as it was sent, from
`__consumer_offsets`.

Sources: GroupMetadataKey.json and GroupMetadataValue.json of Kafka 4.3 (group-coordinator), of which versions 0 to 3
are written; IncrementalCooperativeConnectProtocol and ConnectProtocol (connect-runtime) for the assignment."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fencepost.proofs.recording.group_fencing.offsets_log import CLASSIC_GROUP
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.logs.wire_types import bytes_of, numbered_names, string
from fencepost.proofs.recording.task_counts.records import Record, records_in, strange

KEY = struct.pack(">h", CLASSIC_GROUP)
COOPERATIVE = 1  # from this version of the protocol on an assignment has what is revoked, and a delay
STATE_TIME, INSTANCE_ID, REBALANCE_TIMEOUT, NEWEST = 2, 3, 1, 3  # versions of the value that add a field; the last
Tasks = dict[str, tuple[int, ...]]


class Assignment(NamedTuple):
    """An `Assignment` has tasks by connector (-1: the connector itself), and the offset of the config topic by which it
    was made."""

    offset: int
    assigned: Tasks
    revoked: Tasks


class Generation(NamedTuple):
    """A `Generation` has the client id of each member, and its assignment, by member id."""

    time_ms: int
    number: int
    leader: str
    members: dict[str, tuple[str, Assignment | None]]


def generations_of(parts: Sequence[Committed], group: str) -> Iterator[Generation]:
    """Yield the generations of a group of Connect workers in order, each once, as it was last written."""
    found: dict[int, Generation] = {}
    for part in parts:
        for record in records_in(part):
            if not record.key.startswith(KEY) or record.value is None:
                continue
            try:
                if string(record.key, len(KEY))[0] == group:
                    generation = _generation(record, record.value)
                    if generation.members:
                        found[generation.number] = generation
            except (ValueError, IndexError, struct.error) as error:
                raise strange(part, record, "log of groups", str(error)) from None
    yield from found.values()


def _generation(record: Record, value: bytes) -> Generation:
    (version,) = struct.unpack_from(">h", value)
    if not 0 <= version <= NEWEST:
        raise ValueError(f"version {version} of a group is unknown (known: 0 to {NEWEST})")
    _, at = string(value, 2)
    (number,) = struct.unpack_from(">i", value, at)
    _, at = string(value, at + 4)  # the protocol's name
    leader, at = string(value, at)
    at += 8 if version >= STATE_TIME else 0
    (count,) = struct.unpack_from(">i", value, at)
    at += 4
    members = {}
    for _ in range(count):
        member, at = string(value, at)
        if version >= INSTANCE_ID:
            _, at = string(value, at)
        client, at = string(value, at)
        _, at = string(value, at)  # the host
        at += 8 if version >= REBALANCE_TIMEOUT else 4  # time-outs
        _, at = bytes_of(value, at)  # the subscription
        assignment, at = bytes_of(value, at)
        members[member or ""] = client or "", assignment_of(assignment) if assignment else None
    return Generation(record.time_ms, number, leader or "", members)


def assignment_of(value: bytes) -> Assignment:
    """Decode an assignment of Connect's protocol, of any version."""
    version, _error = struct.unpack_from(">hh", value)
    _, at = string(value, 4)  # the leader
    _, at = string(value, at)  # its URL
    (offset,) = struct.unpack_from(">q", value, at)
    assigned, at = numbered_names(value, at + 8)
    revoked, _ = numbered_names(value, at) if version >= COOPERATIVE else ((), at)
    return Assignment(offset, dict(assigned), dict(revoked))
