"""This module reads the committed part of a data partition: records of transactions, and the markers that end them.

Each record is one event, as if it were a batch of its own, with its own offset and sequence number, which is what the
properties are about. Batches outside of transactions are left out, since nothing ever decides them.

Sources: Kafka's DefaultRecordBatch (sequence numbers wrap to 0), ControlRecordType, EndTxnMarker.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.record_columns import records_of
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL, Segment
from fencepost.proofs.recording.transactions.event_table import Events, events, in_order
from fencepost.proofs.recording.transactions.names import Names, unnamed
from fencepost.properties.transactions.events.kinds import ABORT, COMMIT, Kind

SEQUENCES = 1 << 31
MARKERS = (ABORT, COMMIT)  # control records of other types are raft's
KEY_LENGTH, MARKER_LENGTH = 4, 6  # version and type; version and coordinator epoch


@dataclass(frozen=True)
class LogEvents:
    """A `LogEvents` has the events of one log, and the ascending offsets of records outside of transactions, which are
    no events."""

    events: Events
    outside: np.ndarray


def data_events(committed: Committed, names: Names) -> LogEvents:
    """Return the events of a data partition, in order of offset, starting where the log is complete."""
    number = names.partitions[committed.place]
    tables, outside = [], [np.zeros(0, np.int64)]
    for segment, rows in committed_batches(committed, committed.begins(names.first_offsets.get(committed.place, 0))):
        headers = segment.headers
        in_transaction = headers["attributes"][rows] & TRANSACTIONAL != 0
        control = headers["attributes"][rows] & CONTROL != 0
        data = rows[in_transaction & ~control]
        tables.append(_batches(segment, data, number, names))
        tables.append(marker_events(segment, rows[in_transaction & control], number))
        plain = rows[~in_transaction & ~control]
        counts = headers["last_delta"][plain].astype(np.int64) + 1
        first = headers["base_offset"][plain].astype(np.int64)
        outside.append(np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum()))
    return LogEvents(in_order(tables, "offset"), np.concatenate(outside))


def committed_batches(committed: Committed, first: int = 0) -> Iterator[tuple[Segment, np.ndarray]]:
    """Yield each segment, with the rows of its batches that are committed and not below offset `first`."""
    first = max(first, committed.replica.start)
    for segment in committed.replica.segments:
        fine = (segment.last_offsets < committed.end) & (segment.headers["base_offset"] >= first)
        yield segment, np.flatnonzero(fine)


def _batches(segment: Segment, rows: np.ndarray, number: int, names: Names) -> Events:
    records = records_of(segment, rows)
    headers = segment.headers[records.batch]
    offset = headers["base_offset"].astype(np.int64) + records.delta
    record = unnamed(number, offset)
    if names.closed:
        values = records.numbers()
        ours = values >= 0
        if names.record_key:
            ours &= records.has_key(names.record_key)
        record = np.where(ours, values, record)
    first = headers["base_sequence"].astype(np.int64)
    sequence = np.where(first < 0, first, (first + records.delta) % SEQUENCES)
    return events(
        Kind.batch_appended, headers["max_time"], partition=number, offset=offset, record=record, sequence=sequence,
        producer_id=headers["producer_id"], epoch=headers["epoch"],
    )  # fmt: skip


def marker_events(segment: Segment, rows: np.ndarray, number: int) -> Events:
    records = records_of(segment, rows)
    short = (records.key_length < KEY_LENGTH) | (records.value_length < MARKER_LENGTH)
    for row in records.batch[short][:1]:
        what = f"the control batch at offset {segment.headers['base_offset'][row]} is no marker of a transaction"
        todo = "the file is damaged: copy it again from the node"
        raise RecordingError(what, segment.file, todo, int(segment.positions[row]))
    kind = records.signed(records.key + 2, 2)
    marks = np.isin(kind, MARKERS)
    headers = segment.headers[records.batch[marks]]
    return events(
        Kind.marker_appended, headers["max_time"], partition=number, offset=headers["base_offset"],
        producer_id=headers["producer_id"], epoch=headers["epoch"], outcome=kind[marks],
        coordinator_epoch=records.signed(records.value[marks] + 2, 4),
    )  # fmt: skip
