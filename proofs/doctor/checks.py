"""This module finds what logs of partitions and of the transaction log break, piece by piece and in flat memory.

    checks = Checks()
    for place, segment in …: broken += checks.feed(place, segment)    # partitions first, then the transaction log
    broken += checks.settle()                                         # the transaction log was read to its end
    broken += checks.settle(last=True)                                # nothing more comes: what is open stays open

`KINDS` has what can be found, each kind with the rules that it breaks. `partition_checks` judges each partition by
itself, `log_checks` the transaction log, and this module the two against each other. A marker can be read before the
Prepare record that it follows, but not after the transaction log has been read to its end once more; so a marker is
judged in `settle`, and a transaction is hanging if its coordinator has no such transaction at one `settle`, and the
partitions that are read after it do not end it.

Memory: an entry for each producer of a partition, until `FORGET` batches later; for each transactional id its latest
record; and Prepare records until their transaction is over. Nothing is stored of single records."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from zipfile import BadZipFile

import msgspec
import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor.log_checks import PREPARE, LogLedger
from fencepost.proofs.doctor.partition_checks import ENTRY, MARK, PartitionLedger
from fencepost.proofs.doctor.source import Active
from fencepost.proofs.doctor.traces import Broken, Trace
from fencepost.proofs.doctor.unmarked import Suspect, spans
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import Segment
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.proofs.recording.transactions.transaction_log import TOPIC as TRANSACTION_LOG
from fencepost.properties.transactions.events.kinds import COMMIT, State
from fencepost.properties.transactions.histories.view import MAX_EPOCH

VERSION = 2  # of what `save` returns
REPORTED = 127  # an open transaction that was reported as hanging
NOT_CHECKED = "this is no state of `Checks`, or of another version: begin anew"


class Rule(NamedTuple):
    """A `Rule` has the numbers of the rules and promises (model/rules.py) that a kind breaks, and what it finds."""

    rules: tuple[str, ...]
    finds: str


KINDS: Mapping[str, Rule] = MappingProxyType({
    "duplicate": Rule(("txn.14", "txn.P6"), "a batch with the sequence numbers of one of its producer's last five"),
    "gap": Rule(("txn.13",), "a batch whose sequence number does not follow on, or a new epoch that is not begun at 0"),
    "fenced": Rule(("txn.12", "txn.P1"), "a batch of a lower producer epoch than the one before it"),
    "old_marker": Rule(("txn.12",), "a marker of a lower producer epoch than what was before it"),
    "joined": Rule(("txn.16",), "a batch of a newer epoch in a transaction that is still open in an older one"),
    "coordinator_epoch": Rule(("txn.11",), "a marker of an older coordinator than the marker before it"),
    "last_epoch": Rule(("txn.4",), "a transaction, or the end of one, under epoch 32767, which is never handed out"),
    "skipped": Rule(("txn.18",), "a Prepare record whose epoch is two or more above that of its open transaction"),
    "late_marker": Rule(("txn.23", "txn.P3", "txn.P5"), "a marker of version 2 that ends the transaction after it"),
    "marker_without": Rule(("txn.8", "txn.P5"), "a commit marker without a Prepare record of its epoch"),
    "abort_without": Rule(("txn.8",), "an abort marker without a Prepare record of its epoch; an operator's is such"),
    "unmarked": Rule(("txn.10", "txn.P5"), "a decision of version 1 without a marker, with what the next one decides"),
    "both_outcomes": Rule(("txn.8", "txn.P2"), "a marker with the other outcome than the Prepare record of its epoch"),
    "hanging": Rule(("txn.P10",), "an open transaction that its coordinator has not, or has ended"),
    "decided_twice": Rule(("txn.8", "txn.P5"), "a transaction that is decided, or completed, in both ways"),
    "transition": Rule(("txn.8",), "a state in the transaction log that cannot follow the one before it"),
    "epoch_back": Rule(("txn.P7",), "an epoch in the transaction log below the one before, or another id not at 0"),
    "not_bumped": Rule(("txn.9",), "a Prepare record of transaction version 2 whose epoch is not above the one before"),
})  # fmt: skip


class Checks:
    """A `Checks` judges pieces of logs as they come, in order of offset for each partition; what it was given already
    it passes over. `complete` means that all partitions of the transaction log are given, and `transactions` counts
    Prepare records. With `suspecting` it collects what `unmarked` is to look at. `patience` is for how many further
    `settle` a marker may wait for its Prepare record. An open transaction may wait for its marker once more, since an
    answer may have been under way for as long."""

    def __init__(self, *, complete: bool = True, patience: int = 1, suspecting: bool = False) -> None:
        self.complete, self.patience, self.turn, self.transactions = complete, patience, 0, 0
        self.suspecting = suspecting
        self._partitions: dict[Place, PartitionLedger] = {}
        self._log = LogLedger()
        self._numbers: dict[Place, int] = {}
        self._marks: list[np.ndarray] = []
        self._prepares: list[np.ndarray] = []
        self.suspects: list[Suspect] = []

    @property
    def partitions(self) -> Set[Place]:
        """Return the partitions, without those of the transaction log, of which anything was given."""
        return self._partitions.keys()

    def next_offset(self, place: Place) -> int:
        """Return the offset after the last batch that was given, or -1."""
        found = self._log.logs if place.topic == TRANSACTION_LOG else self._partitions
        return found[place].extent.next_offset if place in found else -1

    def feed(self, place: Place, segment: Segment) -> list[Broken]:
        """Return what this piece of a partition, or of the transaction log, breaks. Raise `RecordingError` for a
        piece that is malformed."""
        if place.topic == TRANSACTION_LOG:
            broken, prepares = self._log.feed(place, self._number(place), segment)
            if len(prepares):
                self._prepares.append(prepares)
                self.transactions += len(prepares)
            return broken
        if place not in self._partitions:
            self._partitions[place] = PartitionLedger(place, self._number(place), place.topic != OFFSETS)
        broken, marks = self._partitions[place].feed(segment, self.turn)
        if len(marks):
            self._marks.append(marks)
        return broken

    def take(self, place: Place, ledger: PartitionLedger, marks: Sequence[np.ndarray]) -> None:
        """Take what was judged of a partition elsewhere, of which nothing was given before."""
        if ledger.extent.begins < 0:
            return
        ledger.number = self._number(place)
        self._partitions[place] = ledger
        for each in marks:
            self._marks.append(each.copy())
            self._marks[-1]["place"] = ledger.number

    def markers(self, place: Place, producer_id: int) -> int:
        """Return how many markers of a producer a partition has, as far as it was read without a gap."""
        entries = self._partitions[place].entries
        return int(entries["marks"][np.searchsorted(entries["producer_id"], producer_id)])

    def forget(self, place: Place) -> None:
        """Forget what was given of a partition, as its topic was made anew; it begins with what is given next."""
        self._partitions.pop(place, None)

    def _number(self, place: Place) -> int:
        return self._numbers.setdefault(place, len(self._numbers))

    @property
    def _places(self) -> list[Place]:
        return list(self._numbers)

    def settle(self, *, last: bool = False, unread: Collection[Place] = ()) -> list[Broken]:
        """Return what markers and open transactions break, after partitions and then the transaction log were read to
        their ends, except for the partitions `unread`. With `last`, nothing more will come."""
        if not self._log.logs:
            self._marks.clear()
            return []
        marks, prepares = _joined(self._marks, MARK), _joined(self._prepares, PREPARE)
        _, number = np.unique(np.concatenate([prepares["producer_id"], marks["producer_id"]]), return_inverse=True)
        key = number.astype(np.int64) << 16 | np.concatenate([prepares["epoch"], marks["epoch"]]).view(np.uint16)
        order = np.argsort(key[: len(prepares)] << 1 | prepares["outcome"], kind="stable")
        prepares, of_prepare, of_mark = prepares[order], key[: len(prepares)][order], key[len(prepares) :]
        outcomes = of_prepare << 1 | prepares["outcome"]
        own = _found(outcomes, of_mark << 1 | marks["outcome"])
        other = _found(outcomes, of_mark << 1 | 1 - marks["outcome"])
        open_ = marks["open_from"] >= 0
        late = (own >= 0) & open_ & (marks["open_epoch"] >= marks["epoch"]) & (marks["epoch"] != MAX_EPOCH)
        late[late] &= prepares["version"][own[late]] >= 2
        without = (own < 0) & self._has_prepares(marks)
        waits = without & (marks["waited"] < self.patience) & (not last)
        broken = [Broken("late_marker", self._prepare(prepares[own[at]]), self._mark(marks[at])) for at in _rows(late)]
        for at in _rows(without & ~waits):
            first = self._prepare(prepares[other[at]]) if other[at] >= 0 else None
            kind = "marker_without" if marks["outcome"][at] == COMMIT else "abort_without"
            broken.append(Broken("both_outcomes" if first else kind, first, self._mark(marks[at])))
        if self.suspecting and not last:
            self.suspects += self._suspected(marks[open_ & ~late], prepares)
        marks = marks[waits]
        marks["waited"] += 1
        self._marks = [marks] if len(marks) else []
        self._prepares = [self._unfinished(prepares, of_prepare)]
        broken += self._hanging(last, unread)
        self._log.forget_expired()
        self.turn += 1
        return broken

    def _suspected(self, marks: np.ndarray, prepares: np.ndarray) -> list[Suspect]:
        """Return what `unmarked` is to look at: transactions over one of version 1 and another, or open after one. The
        other is of version 2 where it is a fence's, or of a time-out."""
        older = prepares[prepares["version"] < 2]
        if not len(older):
            return []
        found, decided, at_ms = [], older["producer_id"], older["time"].astype(np.int64)
        marks = marks[marks["zero_time"] >= 0]
        span = marks["producer_id"], marks["open_time"], marks["time"]
        over_any = spans(*span, prepares["producer_id"], prepares["time"].astype(np.int64)) > 1
        for each in _rows(over_any & (spans(*span, decided, at_ms) > 0)):
            one = marks[each]
            found.append(Suspect(int(one["open_time"]), self._mark(one), int(one["zero_time"]), int(one["zero_epoch"])))
        for place, ledger in self._partitions.items():
            mine = ledger.entries[(ledger.entries["open_from"] >= 0) & (ledger.entries["zero_time"] >= 0)]
            forever = np.full(len(mine), np.iinfo(np.int64).max)
            for each in _rows(spans(mine["producer_id"], mine["open_time"], forever, decided, at_ms) > 0):
                one = mine[each]
                batch = Trace(place, int(one["open_from"]), int(one["open_time"]), int(one["producer_id"]),
                              int(one["data_epoch"]), -1, "data")  # fmt: skip
                found.append(Suspect(int(one["open_time"]), batch, int(one["zero_time"]), int(one["zero_epoch"])))
        return found

    def _has_prepares(self, marks: np.ndarray) -> np.ndarray:
        """Return whether the Prepare record of a marker, if there was one, must have been given and is stored: all
        records of its transactional id are, from before that epoch on; or its transaction was opened since the
        partition is read."""
        log = self._log
        row = log.current(marks["producer_id"])
        latest = log.table[np.maximum(row, 0)]
        stored = (row < 0) | (latest["dropped"] < marks["epoch"])
        known: np.ndarray = (row >= 0) & (latest["seen_from"] < marks["epoch"])
        known |= (row < 0) & (self.complete and log.whole and not log.forgot) & ~log.was_current(marks["producer_id"])
        known |= marks["fresh"] & self.complete
        known &= stored
        return known

    def _unfinished(self, prepares: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Return the Prepare records whose markers may still come, and the newest of each producer id."""
        latest = np.append(key[1:] >> 16 != key[:-1] >> 16, True)[: len(key)]
        newest = key >= np.repeat(key[latest], np.diff(np.append(-1, np.flatnonzero(latest))))
        newest &= self._log.current(prepares["producer_id"]) >= 0
        row = prepares["row"]
        over = (self._log.table["offset"][row] != prepares["offset"]) | (
            self._log.table["place"][row] != prepares["place"]
        )
        prepares["over"] += over & (prepares["over"] < REPORTED)
        again = np.append(key[1:] == key[:-1], False)[: len(key)]
        again[:-1] &= prepares["outcome"][1:] == prepares["outcome"][:-1]
        stored = newest | (prepares["over"] <= 1 + self.patience)
        gone = prepares[~stored]
        gone = gone[self._log.table["producer_id"][gone["row"]] == gone["producer_id"]]
        np.maximum.at(self._log.table["dropped"], gone["row"], gone["epoch"])
        rest: np.ndarray = prepares[stored & ~again]
        return rest

    def _hanging(self, last: bool, unread: Collection[Place]) -> list[Broken]:
        broken, log = [], self._log
        for place, ledger in self._partitions.items():
            rows = np.flatnonzero(ledger.entries["open_from"] >= 0)
            if place in unread:
                ledger.begun = self.turn + 1  # what is read of it then may be old
            if not len(rows) or place in unread:
                continue
            opened = ledger.entries[rows]
            at = log.current(opened["producer_id"])
            latest, known = log.table[np.maximum(at, 0)], at >= 0
            idle = known & ~np.isin(latest["state"], (State.Ongoing, State.PrepareCommit, State.PrepareAbort))
            idle |= known & (latest["state"] == State.Ongoing) & (latest["epoch"] > opened["data_epoch"])
            idle |= ~known & self.complete  # the cleaner leaves the newest record of every id
            suspect = np.where(idle, np.minimum(opened["suspect"] + 1, REPORTED), 0)
            due = idle & (opened["suspect"] < REPORTED)
            due &= (suspect > self.patience + 1) if not last else (opened["suspect"] > 0)
            ledger.entries["suspect"][rows] = np.where(due | (idle & (opened["suspect"] == REPORTED)), REPORTED,
                                                       np.minimum(suspect, REPORTED - 1))  # fmt: skip
            for each in _rows(due):
                one = opened[each]
                second = Trace(place, int(one["open_from"]), int(one["open_time"]), int(one["producer_id"]),
                               int(one["data_epoch"]), -1, "data")  # fmt: skip
                first = log.trace(int(at[each])) if known[each] else None
                broken.append(Broken("hanging", first, second, log.name(int(at[each])) if known[each] else ""))
        return broken

    def _mark(self, mark: np.void) -> Trace:
        what = "commit" if mark["outcome"] == COMMIT else "abort"
        return Trace(self._places[mark["place"]], int(mark["offset"]), int(mark["time"]), int(mark["producer_id"]),
                     int(mark["epoch"]), -1, what)  # fmt: skip

    def _prepare(self, prepare: np.void) -> Trace:
        what = State.PrepareCommit.name if prepare["outcome"] == COMMIT else State.PrepareAbort.name
        return Trace(self._places[prepare["place"]], int(prepare["offset"]), int(prepare["time"]),
                     int(prepare["producer_id"]), int(prepare["epoch"]), -1, what)  # fmt: skip

    def open(self) -> list[Active]:
        """Return the producers with an open transaction, by partition."""
        return [
            Active(place, int(e["producer_id"]), int(e["data_epoch"]), int(e["sequence"]), int(e["data_time"]),
                   int(e["coordinator"]), int(e["open_from"]))
            for place, ledger in self._partitions.items() for e in ledger.entries[ledger.entries["open_from"] >= 0]
        ]  # fmt: skip

    def save(self) -> bytes:
        """Return all of it, as arrays of NumPy and JSON, without pickle."""
        about = {
            "version": VERSION, "complete": self.complete, "patience": self.patience, "turn": self.turn,
            "transactions": self.transactions,
            "places": self._places, "partitions": {str(self._number(place)): ledger.about
                                                   for place, ledger in self._partitions.items()},
            "log": self._log.about,
        }  # fmt: skip
        arrays = {f"partition-{self._number(place)}": each.entries for place, each in self._partitions.items()}
        arrays |= {"marks": _joined(self._marks, MARK), "prepares": _joined(self._prepares, PREPARE)}
        arrays |= {"table": self._log.table, "about": np.frombuffer(msgspec.json.encode(about), np.uint8)}
        out = io.BytesIO()
        np.savez(out, allow_pickle=False, **arrays)
        return out.getvalue()

    @classmethod
    def load(cls, data: bytes) -> Self:
        """Return what `save` was called on. Raise `InputError` for other data."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                about: dict[str, Any] = msgspec.json.decode(arrays["about"].tobytes())
                if about["version"] != VERSION or arrays["marks"].dtype != MARK or arrays["prepares"].dtype != PREPARE:
                    raise InputError(NOT_CHECKED)
                checks = cls(complete=about["complete"], patience=about["patience"])
                checks.turn, checks.transactions = about["turn"], about["transactions"]
                places = [Place(*place) for place in about["places"]]
                checks._numbers = {place: number for number, place in enumerate(places)}
                checks._marks, checks._prepares = [arrays["marks"]], [arrays["prepares"]]
                checks._log = LogLedger.of(about["log"], arrays["table"], places)
                for number, of_place in about["partitions"].items():
                    place, entries = places[int(number)], arrays[f"partition-{number}"]
                    if entries.dtype != ENTRY:
                        raise InputError(NOT_CHECKED)
                    ledger = PartitionLedger(place, int(number), place.topic != OFFSETS)
                    ledger.set(of_place, entries)
                    checks._partitions[place] = ledger
                return checks
        except (OSError, ValueError, LookupError, TypeError, EOFError, BadZipFile, msgspec.DecodeError) as error:
            raise InputError(f"{NOT_CHECKED} ({error})") from None


def _joined(parts: Sequence[np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _rows(chosen: np.ndarray) -> list[int]:
    rows: list[int] = np.flatnonzero(chosen).tolist()
    return rows


def _found(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the last place of each wanted number among sorted `keys`, or -1."""
    at = np.searchsorted(keys, wanted, side="right") - 1
    there = at >= 0
    there[there] = keys[at[there]] == wanted[there]
    return np.where(there, at, -1)
