"""This module reads events from the coordinators' own topics: the transaction log, and offsets that groups commit.

The offsets that a group commits in one request are in one batch, and are one record of its owner and one event. The
sequence number of such a batch is no evidence (Kafka 4 writes 0 in all of them, and checks none) and is left out. In
Kafka several groups share an offsets partition. In a history each group has an offsets partition of its own, and a
marker is one event in each group with an open transaction of its producer id."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.record_columns import Records, records_of
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL, Segment
from fencepost.proofs.recording.transactions.event_table import Events, events, joined, table_of
from fencepost.proofs.recording.transactions.group_offsets import committed_offset_of, offset_key_of
from fencepost.proofs.recording.transactions.names import Names, unnamed
from fencepost.proofs.recording.transactions.partition_events import committed_batches, marker_events
from fencepost.proofs.recording.transactions.transaction_log import (
    EPOCH,
    FIXED,
    ID,
    LAST_STATE,
    STATE,
    VERSION,
    VERSIONS,
    TransactionState,
    transaction_state_of,
    transactional_id_of,
)
from fencepost.properties.transactions.events.kinds import Kind, State

Row = dict[str, int]
COMMITS = ("kind", "time_us", "partition", "offset", "producer_id", "epoch", "record", "outcome", "coordinator_epoch")
ABSENT, OTHER, UNKNOWN = -1, -1, -2
PREPARED = (State.PrepareCommit, State.PrepareAbort)
SPEAKING = (State.Ongoing, State.PrepareCommit)  # the client's version; the coordinator may abort with its own


@dataclass(frozen=True)
class Logged:
    """A `Logged` has the events of a partition of the transaction log, its clients' versions, and who is about to be
    completed."""

    events: Events
    client_versions: frozenset[int]
    producer_ids: frozenset[int]
    unfinished: tuple[int, ...]  # numbers of transactional ids whose last record is a Prepare
    skipped: int  # records of an unknown kind


def logged_events(committed: Committed, names: Names) -> Logged:
    """Return every change of a transactional id, in order of offset, starting where the log is complete. The
    coordinator's epoch is the log's leader epoch."""
    numbers: dict[bytes, int] = {}
    tables, versions, skipped = [], set[int](), 0
    for segment, batches in committed_batches(committed, committed.begins()):
        records = records_of(segment, batches[segment.headers["attributes"][batches] & CONTROL == 0])
        found = np.array([_number_of(segment, records, row, names, numbers) for row in range(len(records.batch))], int)
        skipped += int((found == UNKNOWN).sum())
        rows = np.flatnonzero(found >= 0)
        alive = records.value_length[rows] >= 0
        tables.append(_changes(segment, records, rows, found[rows], alive))
        speaking = rows[alive][np.isin(tables[-1]["state"][alive], SPEAKING)]
        versions |= {_decoded(segment, records, row).client_version for row in speaking.tolist()}
    table = joined(tables)
    last = dict(zip(table["txn_id"].tolist(), table["state"].tolist(), strict=True))
    unfinished = tuple(number for number, state in last.items() if state in PREPARED)
    producer_ids = frozenset(np.unique(table["producer_id"]).tolist())
    return Logged(table, frozenset(versions), producer_ids - {ABSENT}, unfinished, skipped)


def _number_of(segment: Segment, records: Records, row: int, names: Names, numbers: dict[bytes, int]) -> int:
    """Return the number of the transactional id of a record: OTHER if it is left out, UNKNOWN if its kind is
    unknown."""
    key = records.key_of(row)
    if key not in numbers:
        try:
            name = transactional_id_of(key)
        except (ValueError, IndexError, struct.error) as error:
            raise _strange(segment, int(records.batch[row]), "transaction log", str(error)) from None
        number = names.transactional_id(name) if name is not None else UNKNOWN
        numbers[key] = OTHER if number is None else number
    return numbers[key]


def _changes(segment: Segment, records: Records, rows: np.ndarray, numbers: np.ndarray, alive: np.ndarray) -> Events:
    """Return records of the transaction log as events. A null value is an expiry; any other begins with FIXED's
    fields."""
    values, headers = records.value[rows], segment.headers[records.batch[rows]]
    known = alive & (records.value_length[rows] >= FIXED.size)
    version, state = (
        np.where(known, records.signed(np.where(known, values + at, 0), size), ABSENT) for at, size in (VERSION, STATE)
    )
    fine = known & np.isin(version, VERSIONS) & (state >= 0) & (state <= LAST_STATE)
    for row in rows[alive & ~fine][:1]:
        _decoded(segment, records, int(row))  # says why not
    pair = (np.where(alive, records.signed(np.where(alive, values + at, 0), size), ABSENT) for at, size in (ID, EPOCH))
    kind = np.where(alive, Kind.txn_logged, Kind.id_expired)
    table = events(
        Kind.txn_logged, headers["max_time"], txn_id=numbers, state=state,
        coordinator_epoch=np.where(alive, headers["leader_epoch"], ABSENT),
        **dict(zip(("producer_id", "epoch"), pair, strict=True)),
    )  # fmt: skip
    return table | {"kind": kind.astype(table["kind"].dtype)}


def _decoded(segment: Segment, records: Records, row: int) -> TransactionState:
    try:
        return transaction_state_of(records.value_of(row) or b"")
    except (ValueError, IndexError, struct.error) as error:
        raise _strange(segment, int(records.batch[row]), "transaction log", str(error)) from None


def offset_events(committed: Committed, names: Names, producer_ids: frozenset[int]) -> Events:
    """Return offsets committed in transactions, and their markers, in order of offset, starting where the log is
    complete. `producer_ids` are those of the recorded transaction log; markers of other programs are left out."""
    rows: list[Row] = []
    pending: dict[int, set[int]] = defaultdict(set)
    for segment, batches in committed_batches(committed, committed.begins()):
        attributes = segment.headers["attributes"][batches]
        in_transaction = attributes & TRANSACTIONAL != 0
        commits = _commits(segment, batches[in_transaction & (attributes & CONTROL == 0)], names)
        markers = marker_events(segment, batches[in_transaction & (attributes & CONTROL != 0)], 0)
        for event in sorted([*commits, *_rows(markers)], key=lambda event: event["offset"]):
            owner = event["producer_id"]
            if event["kind"] == Kind.batch_appended:
                pending[owner].add(event["partition"])
                rows.append(event)
                continue
            groups = pending.pop(owner, set())
            if not groups and (owner in producer_ids or not names.closed):
                groups = {names.offsets_partition(committed.place.partition)}
            rows += [event | {"partition": group} for group in sorted(groups)]
    return table_of(rows, COMMITS)


def _commits(segment: Segment, batches: np.ndarray, names: Names) -> list[Row]:
    records = records_of(segment, batches)
    found = []
    for row in np.unique(records.batch, return_index=True)[1].tolist():
        batch = int(records.batch[row])
        header = segment.headers[batch]
        try:
            commit = _commit(records, row, names, int(header["base_offset"]))
        except (ValueError, IndexError, struct.error) as error:
            raise _strange(segment, batch, "log of groups' offsets", str(error)) from None
        if commit is not None:
            pair = {"producer_id": int(header["producer_id"]), "epoch": int(header["epoch"])}
            found.append(commit | pair | {"time_us": int(header["max_time"]) * 1000})
    return found


def _commit(records: Records, row: int, names: Names, offset: int) -> Row | None:
    key, value = offset_key_of(records.key_of(row)), records.value_of(row)
    group = names.group(key.group) if key is not None else None
    if group is None or value is None:
        return None
    fields = committed_offset_of(value)
    record = fields if names.closed else int(unnamed(group, np.array(offset)))
    return {"kind": Kind.batch_appended, "partition": group, "offset": offset, "record": record}


def _rows(table: Events) -> list[Row]:
    names = list(table)
    return [
        dict(zip(names, values, strict=True))
        for values in zip(*(column.tolist() for column in table.values()), strict=True)
    ]


def _strange(segment: Segment, batch: int, log: str, error: str) -> RecordingError:
    what = f"the batch at offset {segment.headers['base_offset'][batch]} is not the {log}'s: {error}"
    todo = "the file is another topic's, or of a Kafka that is newer than 4.3"
    return RecordingError(what, segment.file, todo, int(segment.positions[batch]))
