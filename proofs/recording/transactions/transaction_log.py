"""This module reads the records of `__transaction_state`: a transactional id's state after each change, or its expiry.

Sources: TransactionLogKey.json and TransactionLogValue.json of Kafka 4.3 (transaction-coordinator). The key is a
version (0) and the id. The value of version 0 is, in order: producer id (int64), epoch (int16), transaction time-out
(int32, ms), status (int8), partitions (null, or topics with partition numbers), last update and start (int64, ms since
1970). Version 1 has the same fields in their compact forms, then tagged ones: previous producer id (0), next producer
id (1), the client's transaction version (2), next producer epoch (3). Version 1 is written where transaction.version is
1 or higher."""

from __future__ import annotations

import struct
from typing import NamedTuple

from fencepost.proofs.recording.logs.wire_types import (
    Numbered,
    compact_array,
    compact_string,
    numbered_names,
    string,
    tagged_fields,
    unsigned,
)

TOPIC = "__transaction_state"
FIXED = struct.Struct(">hqhib")  # version, producer id, epoch, time-out, status
VERSION, ID, EPOCH, STATE = (0, 2), (2, 8), (10, 2), (16, 1)  # where in it (byte, size)
VERSIONS = (0, 1)
TIMES = struct.Struct(">qq")
LAST_STATE = 5  # CompleteAbort; Dead and PrepareEpochFence are never written
PREVIOUS_ID, NEXT_ID, CLIENT_VERSION, NEXT_EPOCH = range(4)


class TransactionState(NamedTuple):
    """A `TransactionState` is one value. Times are in ms since 1970; -1 stands for no time."""

    producer_id: int
    epoch: int
    timeout_ms: int
    state: int
    partitions: Numbered
    updated_ms: int
    started_ms: int
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_version: int = 0  # the client's transaction.version
    next_epoch: int = -1


def transactional_id_of(key: bytes) -> str | None:
    """Return the transactional id of a key, or None for an unknown version, which a broker skips too."""
    (version,) = struct.unpack_from(">h", key)
    if version != 0:
        return None
    return string(key, 2)[0] or ""


def transaction_state_of(value: bytes) -> TransactionState:
    """Decode a value. Raise ValueError, IndexError or struct.error if the value is malformed."""
    version, producer_id, epoch, timeout_ms, state = FIXED.unpack_from(value)
    if version not in VERSIONS:
        raise ValueError(f"version {version} of a transaction's state is unknown (known: 0 and 1)")
    if not 0 <= state <= LAST_STATE:
        raise ValueError(f"a transaction cannot be recorded in state {state}")
    read = numbered_names if version == 0 else _compact_partitions
    partitions, at = read(value, FIXED.size)
    updated_ms, started_ms = TIMES.unpack_from(value, at)
    found = TransactionState(producer_id, epoch, timeout_ms, state, partitions, updated_ms, started_ms)
    if version == 0:
        return found
    tags = tagged_fields(value, at + TIMES.size)
    return found._replace(
        previous_producer_id=_number(tags.get(PREVIOUS_ID), ">q", -1),
        next_producer_id=_number(tags.get(NEXT_ID), ">q", -1),
        client_version=_number(tags.get(CLIENT_VERSION), ">h", 0),
        next_epoch=_number(tags.get(NEXT_EPOCH), ">h", -1),
    )


def _compact_partitions(value: bytes, at: int) -> tuple[Numbered, int]:
    count, at = unsigned(value, at)
    found = []
    for _ in range(max(0, count - 1)):
        topic, at = compact_string(value, at)
        numbers, at = compact_array(value, at, ">i")
        _, at = _skip_tags(value, at)
        found.append((topic or "", numbers))
    return tuple(found), at


def _skip_tags(value: bytes, at: int) -> tuple[None, int]:
    count, at = unsigned(value, at)
    for _ in range(count):
        _, at = unsigned(value, at)
        size, at = unsigned(value, at)
        at += size
    return None, at


def _number(value: bytes | None, form: str, default: int) -> int:
    if value is None:
        return default
    number: int = struct.unpack(form, value)[0]
    return number
