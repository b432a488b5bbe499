"""This module judges the batches of one partition, as its leader should have before it appended them.

Each batch is compared with what was before it of the same producer, as ProducerStateManager does (ProducerAppendInfo):
all batches of a piece at once, sorted by producer. What Kafka accepts is accepted: another epoch from sequence number 0
on, numbers that wrap at 2^31 - 1, any number of a producer of which nothing is known any more, a marker that comes
again, markers of transactions without a batch, and batches that a cleaner left without records, which open nothing.
Offsets of groups have no sequence numbers that count."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from fencepost.proofs.doctor.traces import Broken, Extent, Trace
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL, Segment
from fencepost.proofs.recording.transactions.partition_events import marker_events
from fencepost.properties.transactions.events.kinds import COMMIT
from fencepost.properties.transactions.histories.view import MAX_EPOCH

FORGET = 1 << 20
"""So many batches of a partition later a producer without an open transaction is forgotten."""
EXPIRY_MS = 86_400_000
"""A producer that paused for so long may begin at any number: producer.id.expiration.ms, by default."""
DUPLICATES = 5  # ProducerStateEntry.NUM_BATCHES_TO_RETAIN
LAST_SEQUENCE = 2**31 - 1
BATCH = np.dtype([("epoch", "i2"), ("first", "i4"), ("last", "i4"), ("offset", "i8"), ("time", "i8")])
ENTRY = np.dtype([
    ("producer_id", "i8"), ("epoch", "i2"), ("offset", "i8"), ("time", "i8"), ("holes", "i8"), ("batch", "i8"),
    ("data_epoch", "i2"), ("sequence", "i4"), ("data_offset", "i8"), ("data_time", "i8"), ("data_holes", "i8"),
    ("coordinator", "i4"), ("mark_offset", "i8"), ("mark_time", "i8"), ("mark_epoch", "i2"), ("mark_outcome", "i1"),
    ("open_from", "i8"), ("open_time", "i8"), ("open_turn", "i4"), ("suspect", "i1"), ("is_data", "?"),
    ("marks", "i4"), ("zero_time", "i8"), ("zero_epoch", "i2"), ("latest", BATCH, DUPLICATES),
])  # fmt: skip
"""What is known of a producer: its last event, last batch, last marker, open transaction, and last five batches; and
how many markers came, since its first batch if that begins at 0 (`zero_time`, -1 otherwise) and no offset is missing
behind it."""
MARK = np.dtype([
    ("producer_id", "i8"), ("epoch", "i2"), ("outcome", "i1"), ("place", "i4"), ("offset", "i8"), ("time", "i8"),
    ("open_from", "i8"), ("open_time", "i8"), ("open_epoch", "i2"), ("zero_time", "i8"), ("zero_epoch", "i2"),
    ("fresh", "?"), ("waited", "i1"),
])  # fmt: skip
UNKNOWN = np.zeros(1, ENTRY)
for _name in ("epoch", "data_epoch", "coordinator", "mark_epoch", "open_from", "sequence", "offset", "zero_time"):
    UNKNOWN[_name] = -1
UNKNOWN["latest"]["epoch"] = -1


class Batches(NamedTuple):
    """A `Batches` has columns of the batches and markers with a producer, sorted by producer, then by offset."""

    producer_id: np.ndarray
    epoch: np.ndarray
    first: np.ndarray
    last: np.ndarray
    offset: np.ndarray
    time: np.ndarray
    transactional: np.ndarray
    is_marker: np.ndarray
    outcome: np.ndarray
    coordinator: np.ndarray
    holes: np.ndarray
    number: np.ndarray


class PartitionLedger:
    """A `PartitionLedger` has an entry for each producer of a partition, sorted by producer id."""

    def __init__(self, place: Place, number: int, sequenced: bool) -> None:
        self.place, self.number, self.sequenced = place, number, sequenced
        self.extent, self.entries = Extent(), np.zeros(0, ENTRY)
        self.begun = -1  # the turn in which it was first read, or was read again

    @property
    def about(self) -> dict[str, int]:
        return asdict(self.extent) | {"begun": self.begun}

    def set(self, about: dict[str, Any], entries: np.ndarray) -> None:
        self.begun = about.pop("begun")
        self.extent, self.entries = Extent(**about), entries

    def feed(self, segment: Segment, turn: int) -> tuple[list[Broken], np.ndarray]:
        """Return what is broken, and the markers as `MARK`."""
        self.begun = turn if self.extent.begins < 0 else self.begun
        b = self._batches(segment)
        if b is None or not len(b.producer_id):
            return [], np.zeros(0, MARK)
        index = np.arange(len(b.producer_id))
        first = np.append(True, b.producer_id[1:] != b.producer_id[:-1])
        group, starts = np.cumsum(first) - 1, np.flatnonzero(first)
        begin = starts[group]
        before, known = self._entries(b.producer_id[starts], b.number[starts])
        is_data = ~b.is_marker

        def earlier(rows: np.ndarray) -> np.ndarray:
            """Return for each row the last of the chosen rows before it of its producer, or -1."""
            at = np.append(-1, np.maximum.accumulate(np.where(rows, index, -1))[:-1])
            return np.where(at >= begin, at, -1)

        def of(at: np.ndarray, column: np.ndarray, name: str) -> np.ndarray:
            found: np.ndarray = np.where(at >= 0, column[at], before[name][group])
            return found

        event, batch, mark = earlier(np.ones(len(index), bool)), earlier(is_data), earlier(b.is_marker)
        epoch, data_epoch = of(event, b.epoch, "epoch"), of(batch, b.epoch, "data_epoch")
        lower = b.epoch < epoch
        runs = np.cumsum(first | np.append(False, b.is_marker[:-1])) - 1  # from marker to marker
        open_from, open_time, open_turn, opener = self._opened(b, before, group, first, runs, turn)
        was_open = (open_from >= 0) & (opener < index)

        goes_on = data_epoch == b.epoch
        due = np.where(goes_on, (of(batch, b.last, "sequence").astype(np.int64) + 1) & LAST_SEQUENCE, 0)
        wrong = is_data & (b.first >= 0) & ~lower & (b.first != due) & self.sequenced
        since = np.where(goes_on, of(batch, b.holes, "data_holes"), of(event, b.holes, "holes"))
        paused = np.abs(b.time - of(event, b.time, "time")) >= EXPIRY_MS
        whole = (self.extent.begins == 0) & (b.holes == 0) & (b.number < FORGET)
        judged = goes_on | (data_epoch >= 0) | (epoch >= 0) & ((epoch < b.epoch) | whole)
        judged &= (since == b.holes) & ~paused
        broken: list[tuple[int, Broken]] = []

        def say(kind: str, row: int, first: Trace | None) -> None:
            broken.append((int(b.offset[row]), Broken(kind, first, self._trace(b, row))))

        for row in np.flatnonzero(wrong & (goes_on | judged)).tolist():
            copy = self._copy(b, row, before[group[row]], starts[group[row]]) if goes_on[row] else None
            if copy is not None:
                say("duplicate", row, copy)
            elif judged[row]:
                which = (batch, "data") if data_epoch[row] >= 0 else (event, "event")
                say("gap", row, self._before(b, which[0][row], before[group[row]], which[1]))
        for row in np.flatnonzero(lower).tolist():
            kind = "old_marker" if b.is_marker[row] else "fenced"
            say(kind, row, self._before(b, event[row], before[group[row]], "event"))
        joined = is_data & b.transactional & was_open & ~lower & (data_epoch != b.epoch)
        for row in np.flatnonzero(joined).tolist():
            say("joined", row, self._before(b, batch[row], before[group[row]], "data"))
        older = b.is_marker & (b.coordinator < of(mark, b.coordinator, "coordinator"))
        for row in np.flatnonzero(older).tolist():
            say("coordinator_epoch", row, self._before(b, mark[row], before[group[row]], "mark"))
        for row in np.flatnonzero(is_data & b.transactional & (b.epoch == MAX_EPOCH)).tolist():
            say("last_epoch", row, None)

        marks = np.zeros(int(b.is_marker.sum()), MARK)
        for name in ("producer_id", "epoch", "outcome", "offset", "time"):
            marks[name] = getattr(b, name)[b.is_marker]
        marks["place"] = self.number
        marks["open_from"] = np.where(was_open, open_from, -1)[b.is_marker]
        marks["open_time"], marks["open_epoch"] = open_time[b.is_marker], data_epoch[b.is_marker]
        self._count_from_zero(b, before, group, starts)
        for name in ("zero_time", "zero_epoch"):
            marks[name] = before[name][group][b.is_marker]
        marks["fresh"] = (was_open & (open_turn > self.begun))[b.is_marker]
        self._store(b, before, known, starts, group, (batch, mark), (open_from, open_time, open_turn))
        return [each for _, each in sorted(broken, key=lambda pair: pair[0])], marks

    def _batches(self, segment: Segment) -> Batches | None:
        headers = segment.headers
        rows = self.extent.rows(segment)
        fresh = np.arange(len(headers))[rows]
        if not len(fresh):
            return None
        base, last = headers["base_offset"].astype(np.int64), segment.last_offsets
        holes, number = self.extent.extend(base[rows], last[rows])
        attributes, ids = headers["attributes"][rows], headers["producer_id"][rows].astype(np.int64)
        control = attributes & CONTROL != 0
        transactional = attributes & TRANSACTIONAL != 0
        markers = marker_events(segment, fresh[control & transactional], 0)
        at = np.searchsorted(base[rows], markers["offset"])
        is_marker = np.zeros(len(fresh), bool)
        outcome, coordinator = np.full(len(fresh), -1, np.int8), np.full(len(fresh), -1, np.int32)
        is_marker[at], outcome[at], coordinator[at] = True, markers["outcome"], markers["coordinator_epoch"]
        chosen = np.flatnonzero((ids >= 0) & (is_marker | ~control))  # a control batch may have lost its record
        chosen = chosen[np.argsort(ids[chosen], kind="stable")]
        mine = headers[fresh[chosen]]
        first = mine["base_sequence"].astype(np.int64)
        end = np.where(first < 0, first, (first + mine["last_delta"]) & LAST_SEQUENCE)
        return Batches(
            ids[chosen], mine["epoch"].astype(np.int16), first, end, base[rows][chosen],
            mine["max_time"].astype(np.int64), transactional[chosen] & (mine["count"] > 0),
            is_marker[chosen], outcome[chosen], coordinator[chosen], holes[chosen], number[chosen],
        )  # fmt: skip

    def _entries(self, ids: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of these producers, and where they are stored, or -1."""
        at = np.searchsorted(self.entries["producer_id"], ids)
        there = at < len(self.entries)
        there[there] = self.entries["producer_id"][at[there]] == ids[there]
        before = np.repeat(UNKNOWN, len(ids))
        before["producer_id"] = ids
        stored = self.entries[at[there]]
        alive = (number[there] - stored["batch"] < FORGET) | (stored["open_from"] >= 0)
        before[np.flatnonzero(there)[alive]] = stored[alive]
        return before, np.where(there, at, -1)

    def _count_from_zero(self, b: Batches, entries: np.ndarray, group: np.ndarray, starts: np.ndarray) -> None:
        """Count the markers of each producer on, and see whether all is there since its first batch."""
        ends = np.append(starts[1:], len(group)) - 1
        entries["marks"] += np.bincount(group[b.is_marker], minlength=len(starts)).astype(np.int32)
        rows = np.flatnonzero(~b.is_marker)
        rows = rows[np.append(True, group[rows][1:] != group[rows][:-1])] if len(rows) else rows
        rows = rows[entries["data_epoch"][group[rows]] < 0]
        whole = (self.extent.begins == 0) & (b.holes[rows] == 0) & (b.number[rows] < FORGET)
        rows = rows[(b.first[rows] == 0) if self.sequenced else whole]
        new = group[rows]
        entries["zero_time"][new], entries["zero_epoch"][new] = b.time[rows], b.epoch[rows]
        since = entries["holes"].copy()
        since[new] = b.holes[rows]
        entries["zero_time"][since != b.holes[ends]] = -1

    @staticmethod
    def _opened(
        b: Batches, before: np.ndarray, group: np.ndarray, first: np.ndarray, runs: np.ndarray, turn: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return for each row offset, time and turn at which the transaction that it belongs to, or ends, was opened
        (offset -1: none), and the row of that, or -1 for one of an earlier piece."""
        count = int(runs[-1]) + 1
        begins = np.flatnonzero(np.append(True, runs[1:] != runs[:-1]))
        held = before[group[begins]]
        inherited = first[begins] & (held["open_from"] >= 0)
        rows = np.flatnonzero(b.transactional & ~b.is_marker)
        opening = rows[np.append(True, runs[rows][1:] != runs[rows][:-1])] if len(rows) else rows
        opener = np.full(count, -1)
        offset, time, turns = np.full(count, -1), np.zeros(count, np.int64), np.full(count, turn)
        opener[runs[opening]], offset[runs[opening]], time[runs[opening]] = opening, b.offset[opening], b.time[opening]
        opener[inherited] = -1
        for column, name in ((offset, "open_from"), (time, "open_time"), (turns, "open_turn")):
            column[inherited] = held[name][inherited]
        return offset[runs], time[runs], turns[runs], opener[runs]

    def _store(
        self, b: Batches, before: np.ndarray, at: np.ndarray, starts: np.ndarray, group: np.ndarray,
        earlier: tuple[np.ndarray, np.ndarray], opened: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> None:  # fmt: skip
        ends = np.append(starts[1:], len(group)) - 1
        entries = before
        for name, column in (
            ("epoch", b.epoch), ("offset", b.offset), ("time", b.time), ("holes", b.holes), ("batch", b.number),
            ("is_data", ~b.is_marker),
        ):  # fmt: skip
            entries[name] = column[ends]
        last_batch = np.where(b.is_marker[ends], earlier[0][ends], ends)
        last_mark = np.where(b.is_marker[ends], ends, earlier[1][ends])
        for rows, names in (
            (last_batch, (("data_epoch", b.epoch), ("sequence", b.last), ("data_offset", b.offset),
                         ("data_time", b.time), ("data_holes", b.holes))),
            (last_mark, (("coordinator", b.coordinator), ("mark_offset", b.offset), ("mark_time", b.time),
                         ("mark_epoch", b.epoch), ("mark_outcome", b.outcome))),
        ):  # fmt: skip
            there = rows >= 0
            for name, column in names:
                entries[name][there] = column[rows[there]]
        closed = b.is_marker[ends]
        still = np.where(closed, -1, opened[0][ends])
        entries["suspect"][still != entries["open_from"]] = 0
        entries["open_from"], entries["open_time"], entries["open_turn"] = still, opened[1][ends], opened[2][ends]
        self._latest(b, entries["latest"], group, len(starts))
        new = at < 0
        self.entries[at[~new]] = entries[~new]
        if new.any():
            self.entries = np.concatenate([self.entries, entries[new]])
            self.entries = self.entries[np.argsort(self.entries["producer_id"], kind="stable")]
        alive = (self.extent.batches - self.entries["batch"] < FORGET) | (self.entries["open_from"] >= 0)
        if 2 * alive.sum() < len(alive):
            self.entries = self.entries[alive]

    @staticmethod
    def _latest(b: Batches, latest: np.ndarray, group: np.ndarray, groups: int) -> None:
        """Move the last five batches of each producer on, by those that came."""
        rows = np.flatnonzero(~b.is_marker & (b.first >= 0))
        mine = group[rows]
        came = np.bincount(mine, minlength=groups)
        from_end = np.cumsum(came)[mine] - np.arange(len(rows)) - 1
        shifted = np.arange(DUPLICATES) + np.minimum(came, DUPLICATES)[:, None]
        moved = latest[np.arange(groups)[:, None], np.minimum(shifted, DUPLICATES - 1)]
        rows, mine, from_end = (each[from_end < DUPLICATES] for each in (rows, mine, from_end))
        place = DUPLICATES - 1 - from_end
        for name, column in (
            ("epoch", b.epoch), ("first", b.first), ("last", b.last), ("offset", b.offset), ("time", b.time)
        ):  # fmt: skip
            moved[name][mine, place] = column[rows]
        latest[:] = moved

    def _copy(self, b: Batches, row: int, before: np.void, begin: int) -> Trace | None:
        """Return the oldest of the last five batches with the sequence numbers of this one."""
        mine: list[int] = []
        for at in range(row - 1, begin - 1, -1):
            if len(mine) == DUPLICATES:
                break
            if not b.is_marker[at] and b.first[at] >= 0:
                mine.insert(0, at)
        wanted = (int(b.epoch[row]), int(b.first[row]), int(b.last[row]))
        for epoch, first, last, offset, time in before["latest"][len(mine) :].tolist():
            if (epoch, first, last) == wanted:
                return Trace(self.place, offset, time, int(b.producer_id[row]), epoch, first, "data")
        for at in mine:
            if (int(b.epoch[at]), int(b.first[at]), int(b.last[at])) == wanted:
                return self._trace(b, at)
        return None

    def _trace(self, b: Batches, row: int) -> Trace:
        what = ("commit" if b.outcome[row] == COMMIT else "abort") if b.is_marker[row] else "data"
        return Trace(self.place, int(b.offset[row]), int(b.time[row]), int(b.producer_id[row]), int(b.epoch[row]),
                     int(b.first[row]), what)  # fmt: skip

    def _before(self, b: Batches, row: int, entry: np.void, which: str) -> Trace | None:
        """Return the row of this piece, or if it is -1 the last event, batch (data) or marker of an earlier one."""
        if row >= 0:
            return self._trace(b, int(row))
        if which == "event":
            which = "data" if entry["is_data"] else "mark"
        epoch = int(entry[f"{which}_epoch"])
        if epoch < 0:
            return None
        what = "data" if which == "data" else "commit" if entry["mark_outcome"] == COMMIT else "abort"
        sequence = int(entry["latest"][-1]["first"]) if which == "data" and self.sequenced else -1
        return Trace(self.place, int(entry[f"{which}_offset"]), int(entry[f"{which}_time"]),
                     int(entry["producer_id"]), epoch, sequence, what)  # fmt: skip
