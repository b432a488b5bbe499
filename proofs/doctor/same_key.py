"""This module finds application duplicates: the same key and value in two committed transactions.

No rule of the protocol forbids these, so this is a question of its own. Records are compared by 64-bit hashes, of
which only so many are in memory at a time: the logs are read once for each `MOST` records. What hashes alike is read
again and compared byte by byte for the pairs that are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from fencepost.proofs.doctor.source import Source
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.record_columns import records_of
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL, Segment
from fencepost.proofs.recording.transactions.partition_events import marker_events
from fencepost.properties.transactions.events.kinds import COMMIT

MOST = 10_000_000
"""So many hashes are in memory at once: some 400 MB while they are sorted."""
ENTRY = np.dtype([("hash", "i8"), ("place", "i4"), ("offset", "i8"), ("txn", "i8")])
"""A record of a committed transaction. `txn` is the number of the transaction's first record in this read."""


class Pair(NamedTuple):
    """A `Pair` is two records with the same key and value, of different committed transactions."""

    first: Place
    first_offset: int
    second: Place
    second_offset: int
    key: bytes


class SameKey(NamedTuple):
    """A `SameKey` is the answer: of so many records of committed transactions, how many repeat an earlier one, and some
    of the pairs."""

    records: int
    repeated: int
    pairs: tuple[Pair, ...]


def same_key(source: Source, places: Sequence[Place], since_ms: int = -1, *, pairs: int = 100) -> SameKey:
    """Return the application duplicates among the committed records of these partitions, with `pairs` of them."""
    high = sum(end - start for start, _, end in map(source.ends, places))
    passes = max(1, -(-high // MOST))
    records, repeated, found = 0, 0, list[Pair]()
    for turn in range(passes):
        parts = [
            part
            for number, place in enumerate(places)
            for part in _committed(source, place, number, since_ms, turn, passes)
        ]
        entries = np.concatenate(parts) if parts else np.zeros(0, ENTRY)
        records += len(entries)
        entries = entries[np.lexsort((entries["offset"], entries["place"], entries["hash"]))]
        again = np.flatnonzero(
            (entries["hash"][1:] == entries["hash"][:-1]) & (_txn(entries)[1:] != _txn(entries)[:-1])
        )
        repeated += len(again)
        for row in again.tolist():
            if len(found) == pairs:
                break
            one, other = entries[row], entries[row + 1]
            first, second = places[one["place"]], places[other["place"]]
            mine = _record(source, first, int(one["offset"]))
            if mine == _record(source, second, int(other["offset"])):
                found.append(Pair(first, int(one["offset"]), second, int(other["offset"]), mine[0]))
            else:
                repeated -= 1
    return SameKey(records, repeated, tuple(found))


def _txn(entries: np.ndarray) -> np.ndarray:
    return entries["txn"]


def _committed(
    source: Source, place: Place, number: int, since_ms: int, turn: int, passes: int
) -> Iterator[np.ndarray]:
    """Yield the entries of a partition's committed transactions whose hash is of this turn."""
    pending: dict[int, list[np.ndarray]] = {}
    for piece in source.segments(place, since_ms):
        attributes = piece.headers["attributes"]
        in_transaction = attributes & TRANSACTIONAL != 0
        data = _entries(piece, np.flatnonzero(in_transaction & (attributes & CONTROL == 0)), number, turn, passes)
        owners = data.pop()
        entries = data[0]
        markers = marker_events(piece, np.flatnonzero(in_transaction & (attributes & CONTROL != 0)), 0)
        bounds = zip(*(markers[name].tolist() for name in ("offset", "producer_id", "outcome")), strict=True)
        taken = np.zeros(len(entries), bool)
        for offset, producer_id, outcome in bounds:
            mine = ~taken & (owners == producer_id) & (entries["offset"] < offset)
            taken |= mine
            whole = [*pending.pop(producer_id, []), entries[mine]]
            if outcome == COMMIT:
                done = np.concatenate(whole)
                done["txn"] = number << 40 | offset
                yield done
        for producer_id in np.unique(owners[~taken]).tolist():
            pending.setdefault(producer_id, []).append(entries[~taken & (owners == producer_id)])


def _entries(piece: Segment, rows: np.ndarray, number: int, turn: int, passes: int) -> list[np.ndarray]:
    records = records_of(piece, rows)
    content = records.content.tobytes() if len(records.batch) < len(records.content) else b""
    key_end, value_end = (
        records.key + np.maximum(records.key_length, 0),
        records.value + np.maximum(records.value_length, 0),
    )
    hashes = np.array([
        hash((content[a:b], content[c:d])) for a, b, c, d in zip(
            records.key.tolist(), key_end.tolist(), records.value.tolist(), value_end.tolist(), strict=True)
    ], np.int64)  # fmt: skip
    entries = np.zeros(len(hashes), ENTRY)
    entries["hash"], entries["place"] = hashes, number
    entries["offset"] = piece.headers["base_offset"][records.batch].astype(np.int64) + records.delta
    mine = hashes % passes == turn
    return [entries[mine], piece.headers["producer_id"][records.batch][mine].astype(np.int64)]


def _record(source: Source, place: Place, offset: int) -> tuple[bytes, bytes | None]:
    for piece in source.segments(place, start=offset):
        rows = np.flatnonzero(piece.last_offsets >= offset)[:1]
        records = records_of(piece, rows)
        at = np.flatnonzero(piece.headers["base_offset"][records.batch].astype(np.int64) + records.delta == offset)
        if len(at):
            return records.key_of(int(at[0])), records.value_of(int(at[0]))
    return b"", None
