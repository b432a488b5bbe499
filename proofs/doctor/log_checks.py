"""This module judges the records of the transaction log, as its coordinator should have before it appended them.

Each record is compared with the one before it of its transactional id (TransactionState and TransactionMetadata of
Kafka). The log is compacted: what is judged of a log is what comes after the last record that a cleaner removed, and of
a record before that only its content counts. `seen_from` of a transactional id is the epoch above which all Prepare
records of its producer id were given, and
`dropped` the one up to which they are not stored any more."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from fencepost.proofs.doctor.traces import Broken, Extent, Trace
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.record_columns import Records, records_of
from fencepost.proofs.recording.logs.segments import CONTROL, Segment
from fencepost.proofs.recording.transactions.transaction_log import (
    CLIENT_VERSION,
    FIXED,
    LAST_STATE,
    TIMES,
    VERSION,
    VERSIONS,
    transactional_id_of,
)
from fencepost.properties.transactions.events.kinds import State
from fencepost.properties.transactions.histories.coordination import PREDECESSORS_V2
from fencepost.properties.transactions.histories.view import MAX_EPOCH

EXPIRED, NONE = LAST_STATE + 1, LAST_STATE + 2  # states of the table that no record has
ALL, NOTHING = -1, 1 << 15  # of `seen_from`
TABLE = np.dtype([
    ("producer_id", "i8"), ("epoch", "i2"), ("state", "i1"), ("previous_id", "i8"), ("seen_from", "i4"),
    ("dropped", "i4"), ("place", "i4"), ("offset", "i8"), ("time", "i8"),
])  # fmt: skip
"""The latest record of each transactional id."""
PREPARE = np.dtype([
    ("producer_id", "i8"), ("epoch", "i2"), ("outcome", "i1"), ("version", "i1"), ("place", "i4"), ("offset", "i8"),
    ("time", "i8"), ("row", "i4"), ("over", "i1"),
])  # fmt: skip
VALUE = np.dtype([("version", ">i2"), ("producer_id", ">i8"), ("epoch", ">i2"), ("timeout", ">i4"), ("state", "i1")])
"""What every value begins with, as `FIXED` has it."""
PREPARED = (State.PrepareCommit, State.PrepareAbort)
COMPLETE = (State.CompleteCommit, State.CompleteAbort)
ALLOWED = np.zeros((NONE + 1, LAST_STATE + 1), bool)
for _state, _before in PREDECESSORS_V2.items():
    ALLOWED[[*_before], _state] = True
ALLOWED[EXPIRED, State.Empty] = True
ALLOWED[NONE] = True


class LogLedger:
    """A `LogLedger` has the latest record of each transactional id, in all partitions of the transaction log."""

    def __init__(self) -> None:
        self.logs: dict[Place, PartOfLog] = {}
        self.table = np.zeros(0, TABLE)
        self._rows: dict[bytes, int] = {}
        self.forgot = False  # whether an expired id is not known any more
        self._keys: list[bytes] = []
        self._free: list[int] = []
        self._by_id: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def whole(self) -> bool:
        """Return whether nothing was removed from any of the partitions that were given."""
        return all(log.whole for log in self.logs.values())

    @property
    def about(self) -> dict[str, Any]:
        logs = [(log.number, asdict(log.extent), log.whole) for log in self.logs.values()]
        return {"logs": logs, "forgot": self.forgot, "keys": [key.hex() for key in self._keys]}

    @classmethod
    def of(cls, about: Mapping[str, Any], table: np.ndarray, places: Sequence[Place]) -> Self:
        if table.dtype != TABLE or len(table) != len(about["keys"]):
            raise ValueError("the table of transactional ids is another one")
        ledger = cls()
        ledger.table, ledger.forgot = table, about["forgot"]
        ledger._keys = [bytes.fromhex(key) for key in about["keys"]]
        ledger._rows = {key: row for row, key in enumerate(ledger._keys) if key}
        ledger._free = [row for row, key in enumerate(ledger._keys) if not key]
        for number, extent, whole in about["logs"]:
            ledger.logs[places[number]] = PartOfLog(places[number], number, Extent(**extent), whole)
        return ledger

    def current(self, producer_ids: np.ndarray) -> np.ndarray:
        """Return the row of the transactional id that has each producer id, or -1."""
        order, ids, _ = self._index()
        at = np.minimum(np.searchsorted(ids, producer_ids), max(len(ids) - 1, 0))
        return np.where(ids[at] == producer_ids, order[at], -1) if len(ids) else np.full(len(producer_ids), -1)

    def was_current(self, producer_ids: np.ndarray) -> np.ndarray:
        """Return whether a transactional id had each producer id just before its present one."""
        found: np.ndarray = np.isin(producer_ids, self._index()[2])
        return found

    def _index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._by_id is None:
            order = np.argsort(self.table["producer_id"], kind="stable")
            order = order[self.table["producer_id"][order] >= 0]
            self._by_id = order, self.table["producer_id"][order], self.table["previous_id"]
        return self._by_id

    def name(self, row: int) -> str:
        return transactional_id_of(self._keys[row]) or ""

    def trace(self, row: int) -> Trace:
        """Return the latest record of a transactional id."""
        latest = self.table[row]
        (place,) = (place for place, log in self.logs.items() if log.number == latest["place"])
        return _trace(place, latest)

    def forget_expired(self) -> None:
        """Forget the transactional ids whose latest record removes them."""
        for row in np.flatnonzero(self.table["state"] == EXPIRED).tolist():
            if self._keys[row]:
                del self._rows[self._keys[row]]
                self._keys[row] = b""
                self._free.append(row)
                self.table[row] = _unknown()
                self._by_id, self.forgot = None, True

    def feed(self, place: Place, number: int, segment: Segment) -> tuple[list[Broken], np.ndarray]:
        """Return what is broken, and the Prepare records as `PREPARE`."""
        log = self.logs.setdefault(place, PartOfLog(place, number))
        fresh = np.arange(len(segment.headers))[log.extent.rows(segment)]
        if not len(fresh):
            return [], np.zeros(0, PREPARE)
        trusted, cut = log.extend(segment, fresh)
        if cut:
            self.table["seen_from"][self.table["place"] == number] = NOTHING
        records = records_of(segment, fresh[segment.headers["attributes"][fresh] & CONTROL == 0])
        rows = self._rows_of(segment, records)
        chosen = np.flatnonzero(rows >= 0)
        chosen = chosen[np.argsort(rows[chosen], kind="stable")]
        if not len(chosen):
            return [], np.zeros(0, PREPARE)
        self._by_id = None
        return self._judge(log, segment, records, chosen, rows[chosen], trusted)

    def _rows_of(self, segment: Segment, records: Records) -> np.ndarray:
        lengths, found = np.maximum(records.key_length, 0), np.full(len(records.batch), -1)
        for size in np.unique(lengths).tolist():
            at = np.flatnonzero(lengths == size)
            keys = (
                _bytes_at(records.content, records.key[at], size).view(f"V{size}").ravel().tolist() if size else [b""]
            )
            rows = list(map(self._rows.get, keys))
            if None in rows:
                for key, n in {
                    key: n for n, (key, row) in enumerate(zip(keys, rows, strict=True)) if row is None
                }.items():
                    self._add(segment, int(records.batch[at[n]]), key)
                rows = [self._rows.get(key, -1) for key in keys]
            found[at] = rows
        return found

    def _add(self, segment: Segment, batch: int, key: bytes) -> None:
        """Give a new transactional id a row, unless the key is of an unknown kind, which a broker skips too."""
        try:
            if transactional_id_of(key) is None:
                return
        except (ValueError, IndexError, struct.error) as error:
            raise _strange(segment, batch, str(error)) from None
        if not self._free:
            size = len(self.table)
            self.table = np.concatenate([self.table, np.repeat(_unknown(), max(16, size))])
            self._keys += [b""] * (len(self.table) - size)
            self._free = list(range(len(self.table) - 1, size - 1, -1))
        row = self._free.pop()
        self._rows[key], self._keys[row] = row, key

    def _judge(
        self, log: PartOfLog, segment: Segment, records: Records, chosen: np.ndarray, rows: np.ndarray, trusted: int
    ) -> tuple[list[Broken], np.ndarray]:
        now = _read(segment, records, chosen)
        now["place"] = log.number
        state, same_row = now["state"], np.append(False, rows[1:] == rows[:-1])
        sure = records.batch[chosen] >= trusted
        before = np.append(now[:1], now[:-1])
        before[~same_row] = self.table[rows[~same_row]]
        preceded = np.append(False, sure[:-1])
        preceded[~same_row] = (before["seen_from"][~same_row] < NOTHING) & (before["state"][~same_row] < NONE)
        self._store(log, now, rows, sure)
        sure = sure & preceded
        alive, same_id = state != EXPIRED, now["producer_id"] == before["producer_id"]
        known = sure & alive & (before["state"] < EXPIRED)
        came_from = np.where(sure, before["state"], NONE)
        wrong = alive & ~ALLOWED[came_from, np.where(alive, state, 0)]
        back = known & np.where(same_id, now["epoch"] < before["epoch"], now["epoch"] != 0)
        is_prepare = np.isin(state, PREPARED)
        version = np.zeros(len(now), np.int8)
        version[is_prepare] = _client_versions(records, chosen[is_prepare])
        flat = known & is_prepare & same_id & (now["epoch"] <= before["epoch"]) & (version >= 2) & ~back
        flat &= now["epoch"] != MAX_EPOCH  # it is not raised any further, so that what is broken can be aborted
        twice = wrong & np.isin(came_from, (*PREPARED, *COMPLETE)) & np.isin(state, (*PREPARED, *COMPLETE))
        last = alive & np.isin(state, (State.Ongoing, State.CompleteCommit)) & (now["epoch"] == MAX_EPOCH)
        skipped = known & is_prepare & same_id & (came_from == State.Ongoing)
        skipped &= now["epoch"] - before["epoch"].astype(int) > 1
        broken = []
        for kind, found in (
            ("decided_twice", twice), ("transition", wrong & ~twice), ("epoch_back", back), ("not_bumped", flat),
            ("last_epoch", last), ("skipped", skipped),
        ):  # fmt: skip
            for at in np.flatnonzero(found).tolist():
                first = _trace(log.place, before[at]) if came_from[at] <= LAST_STATE else None
                broken.append(Broken(kind, first, _trace(log.place, now[at]), self.name(int(rows[at]))))
        prepares = np.zeros(int(is_prepare.sum()), PREPARE)
        for name in ("producer_id", "epoch", "place", "offset", "time"):
            prepares[name] = now[name][is_prepare]
        prepares["outcome"], prepares["row"] = state[is_prepare] == State.PrepareCommit, rows[is_prepare]
        prepares["version"] = version[is_prepare]
        return sorted(broken, key=lambda each: each.second.offset), prepares

    def _store(self, log: PartOfLog, now: np.ndarray, rows: np.ndarray, sure: np.ndarray) -> None:
        """Store the last record of each transactional id, and since when all records of its producer id are `sure`."""
        starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        ends = np.append(starts[1:], len(rows)) - 1
        ids, held, latest = now["producer_id"], self.table[rows[ends]], now[ends]
        begins = np.append(True, (rows[1:] != rows[:-1]) | (ids[1:] != ids[:-1]) | (sure[1:] & ~sure[:-1]))
        begin = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))[ends]
        inner = begin > starts  # the run of the present producer id begins within these records
        earlier = np.where(inner, ids[begin - 1], held["producer_id"])
        preceded = np.where(inner, sure[begin - 1], held["seen_from"] < NOTHING)
        same = earlier == latest["producer_id"]
        new = (now["state"][begin] == State.Empty) & (now["epoch"][begin] == 0)
        first = np.where(log.whole | (preceded & ~same) | new, ALL, now["epoch"][begin])
        first = np.where(preceded & same, held["seen_from"], first)
        latest["seen_from"] = np.where(sure[ends], first, NOTHING)
        latest["dropped"] = np.where(same, held["dropped"], -1)
        latest["previous_id"] = np.where(~same & (earlier >= 0), earlier, held["previous_id"])
        self.table[rows[ends]] = latest


class PartOfLog:
    """A `PartOfLog` is one partition of the transaction log. `whole` means that no record of it is missing."""

    def __init__(self, place: Place, number: int, extent: Extent | None = None, whole: bool = True) -> None:
        self.place, self.number, self.extent, self.whole = place, number, extent or Extent(), whole

    def extend(self, segment: Segment, fresh: np.ndarray) -> tuple[int, bool]:
        """Take in batches. Return the one from which on no record is missing, and whether one is before it."""
        headers, missing = segment.headers[fresh], self.extent.holes
        holes, _ = self.extent.extend(headers["base_offset"].astype(np.int64), segment.last_offsets[fresh])
        thin = (headers["count"] <= headers["last_delta"]) & (headers["attributes"] & CONTROL == 0)
        cuts = np.flatnonzero((np.diff(holes, prepend=missing) > 0) | np.append(False, thin[:-1]))
        first = len(fresh) if thin[-1] else int(cuts[-1]) if len(cuts) else 0
        cut = bool(thin[-1] or len(cuts))
        self.whole &= self.extent.begins == 0 and not cut
        return int(fresh[first]) if first < len(fresh) else int(fresh[-1]) + 1, cut


def _unknown() -> np.ndarray:
    row = np.zeros(1, TABLE)
    row["producer_id"] = row["previous_id"] = row["place"] = row["offset"] = row["dropped"] = -1
    row["epoch"], row["state"], row["seen_from"] = -1, NONE, NOTHING
    return row


def _read(segment: Segment, records: Records, chosen: np.ndarray) -> np.ndarray:
    """Return records as rows of `TABLE`. Raise `RecordingError` for one that is not the transaction log's."""
    now = np.repeat(_unknown(), len(chosen))
    headers = segment.headers[records.batch[chosen]]
    now["offset"] = headers["base_offset"].astype(np.int64) + records.delta[chosen]
    now["time"] = headers["max_time"]
    length = records.value_length[chosen]
    alive, known = length >= 0, np.flatnonzero(length >= FIXED.size)
    value = _bytes_at(records.content, records.value[chosen[known]], FIXED.size).view(VALUE).ravel()
    wrong = alive & (length < FIXED.size)
    wrong[known] = ~(np.isin(value["version"], VERSIONS) & (value["state"] >= 0) & (value["state"] <= LAST_STATE))
    for row in np.flatnonzero(wrong)[:1].tolist():
        raise _strange(segment, int(records.batch[chosen[row]]), "its value has an unknown version or state, or is cut")
    now["state"][~alive] = EXPIRED
    for name in ("state", "producer_id", "epoch"):
        now[name][known] = value[name]
    return now


def _bytes_at(content: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    """Return so many bytes at each place, as rows."""
    if not len(at):
        return np.zeros((0, size), np.uint8)
    found: np.ndarray = np.lib.stride_tricks.sliding_window_view(content, size)[at]
    return found


def _client_versions(records: Records, rows: np.ndarray) -> np.ndarray:
    """Return the transaction version of the client, which is among the tagged fields of the value's version 1."""
    content, limit = records.content, len(records.content) - 1
    ends = records.value[rows] + records.value_length[rows]
    found = np.zeros(len(rows), np.int64)
    active = np.flatnonzero(records.signed(records.value[rows] + VERSION[0], VERSION[1]) == 1)
    at = records.value[rows].astype(np.int64) + FIXED.size

    def unsigned(of: np.ndarray) -> np.ndarray:
        """Read a varint of each row, and go on behind it."""
        value, shift, more = np.zeros(len(of), np.int64), 0, np.arange(len(of))
        while len(more) and shift < 64:
            byte = content[np.minimum(at[of[more]], limit)].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            at[of[more]] += 1
            more, shift = more[byte >= 0x80], shift + 7
        return value

    def skip_tags(of: np.ndarray, wanted: int = -1) -> None:
        left = unsigned(of)
        while (left > 0).any():
            of, left = of[left > 0], left[left > 0] - 1
            tag, size = unsigned(of), unsigned(of)
            mine = of[(tag == wanted) & (at[of] + 1 < ends[of])]
            found[mine] = records.signed(at[mine], 2)
            at[of] += size
            inside = at[of] <= ends[of]
            of, left = of[inside], left[inside]

    topics = unsigned(active) - 1
    turn = active[topics > 0]
    left = topics[topics > 0]
    while len(turn):
        for size in (1, 4):  # bytes of the topic's name, then its partitions
            length = unsigned(turn) - 1
            at[turn] += size * np.maximum(length, 0)
        skip_tags(turn)
        left = left - 1
        going = (left > 0) & (at[turn] < ends[turn])
        turn, left = turn[going], left[going]
    at[active] += TIMES.size
    active = active[at[active] < ends[active]]
    skip_tags(active, CLIENT_VERSION)
    return found


def _trace(place: Place, row: np.void) -> Trace:
    return Trace(place, int(row["offset"]), int(row["time"]), int(row["producer_id"]), int(row["epoch"]), -1,
                 State(int(row["state"])).name if row["state"] <= LAST_STATE else "expired")  # fmt: skip


def _strange(segment: Segment, batch: int, error: str) -> RecordingError:
    what = f"the batch at offset {segment.headers['base_offset'][batch]} is not the transaction log's: {error}"
    todo = "name the directories of a Kafka that is not newer than 4.4"
    return RecordingError(what, segment.file, todo, int(segment.positions[batch]))
