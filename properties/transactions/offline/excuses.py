"""What histories of v1, and of v1 with verification, break by design: the steps of the model that allow it, and exactly
which violations each of them excuses.

Below v2 an epoch serves many transactions, and nothing tells a request that comes late from one of the next
transaction.  Four steps of the model take such a request:

- `append`, of a record whose transaction is over at the coordinator: what becomes of this record is excused;
- `end`, by an EndTxn of another transaction than the one that is open: what becomes of the open one is excused;
- `add_partition`, of a transaction that is over: it opens one that no producer ends, and its owner may be fenced for
  what is open;
- `mark_late`, of a marker that the coordinator does not wait for: what becomes of the transactions that it closes on
  that partition is excused.

They are read off the events of a lane as these are laid out for the model.  Whoever asks sees to it that the model
follows the lane, and so takes these steps (`proofs/traces/predicted.py`).  A violation is one of certain records or
transactions; it is excused where all of them are, by steps that come no later than the event that shows it.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import chain

import numpy as np
from fencepost.properties.conforming import Excuse
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind, State
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.late import JOINED, MARKED, OPENED, STOLEN, UNVERIFIED
from fencepost.properties.transactions.offline.laying_out import Layout

PREPARES = (State.PrepareCommit, State.PrepareAbort)
COMPLETES = (State.CompleteCommit, State.CompleteAbort)
READ = (Kind.batch_appended, Kind.marker_appended, Kind.txn_logged)


class Steps:
    """The steps in one lane that something is excused for.  ``found``: by what they excuse, the row of the first of
    them, and which it is."""

    def __init__(self, *, verifies: bool) -> None:
        self.verifies = verifies
        self.found: dict[tuple[str, int], tuple[int, Excuse]] = {}
        self.over: set[int] = set()  # transactions that the coordinator has prepared the end of
        self.open: dict[int, set[int]] = {}  # what it has open: partitions by transaction
        self.due: tuple[int, ...] = ()  # producer id, epoch, outcome of the markers that it waits for
        self.parts: set[int] = set()  # and where to
        self.there: dict[tuple[int, int], set[int]] = {}  # by partition and producer id: transactions open there

    def note(self, row: int, excuse: Excuse, subjects: Iterable[tuple[str, int]]) -> None:
        for one in subjects:
            self.found.setdefault(one, (row, excuse))

    def add(self, row: int, txn: int, partition: int, client: int) -> None:
        """A partition is added to the transaction that is open."""
        if txn in self.over:
            self.note(row, OPENED, [("client", client)])
        self.open.setdefault(txn, set()).add(partition)

    def prepare(self, row: int, due: tuple[int, ...], ended_by: int) -> None:
        """The end of what is open is in the log.  ``ended_by``: the transaction of the EndTxn; -1 for a fence."""
        if ended_by >= 0:
            self.note(row, STOLEN, [("txn", txn) for txn in self.open if txn != ended_by])
        self.over |= self.open.keys()
        self.due, self.parts, self.open = due, set(chain(*self.open.values())), {}

    def complete(self) -> None:
        """No marker is waited for any more."""
        self.due, self.parts = (), set()

    def append(self, row: int, txn: int, record: int, partition: int, producer_id: int) -> None:
        joins = partition in self.parts or any(partition in parts for parts in self.open.values())
        if txn in self.over and (joins or not self.verifies):
            self.note(row, JOINED if joins else UNVERIFIED, [("record", record)])
        self.there.setdefault((partition, producer_id), set()).add(txn)

    def mark(self, row: int, partition: int, marker: tuple[int, ...]) -> None:
        closed = self.there.pop((partition, marker[0]), set())
        if marker != self.due or partition not in self.parts:
            self.note(row, MARKED, [("txn", txn) for txn in closed])


def _steps(layout: Layout) -> list[Steps]:
    """Of each lane, as far as it can be followed."""
    found = [Steps(verifies=layout.verifies) for _ in layout.cut.keys]
    e, behind = layout.cut.e, dict(zip(layout.asked[1].at.tolist(), layout.asked[1].sent.tolist(), strict=True))
    events = np.flatnonzero(layout.kept & np.isin(layout.kind, READ))
    for at in events.tolist():
        lane, row, sent = found[layout.lane[at]], int(layout.row[at]), behind.get(at, -1)
        kind, state, partition = (int(e[name][row]) for name in ("kind", "state", "partition"))
        pair = int(e["producer_id"][row]), int(e["epoch"][row])
        if kind == Kind.batch_appended:
            if (sent := int(layout.recorded[at])) >= 0 and e["txn"][sent] >= 0:
                lane.append(row, int(e["txn"][sent]), int(e["record"][row]), partition, pair[0])
        elif kind == Kind.marker_appended:
            lane.mark(row, partition, (*pair, int(e["outcome"][row])))
        elif state in COMPLETES:
            lane.complete()
        elif state in PREPARES:
            ended_by = int(e["txn"][sent]) if sent >= 0 and e["kind"][sent] == Kind.end_sent else -1
            lane.prepare(row, (*pair, COMMIT if state == State.PrepareCommit else ABORT), ended_by)
        elif state == State.Ongoing and sent >= 0:
            lane.add(row, *(int(e[name][sent]) for name in ("txn", "partition", "client")))
    return found


class Violations:
    """Which steps of a piece excuse which violations; `view` is made of the same columns as the layout."""

    def __init__(self, view: TransactionView, layout: Layout) -> None:
        self.view, self.c = view, view.columns
        self.steps: dict[tuple[int, str, int], tuple[int, Excuse]] = {}
        for history, lane in zip(layout.cut.of_history.tolist(), _steps(layout), strict=True):
            for (what, number), found in lane.found.items():
                self.steps.setdefault((history, what, number), found)

    def excuse(self, name: str, at: int, other: int) -> Excuse | None:
        """The step that excuses the violation of this property in this row, which the other row explains (-1: none).
        Nothing excuses a property of which none is said below."""
        said: Callable[[int, int], Excuse | None] | None = getattr(self, f"_{name}", None)
        return said(at, other) if said is not None else None

    def _step(self, what: str, number: int, before: int) -> Excuse | None:
        row, excuse = self.steps.get((int(self.view.place[before]), what, number), (before, None))
        return excuse if row <= before else None

    def _of_record(self, row: int, before: int) -> Excuse | None:
        """It came late."""
        return self._step("record", int(self.c["record"][row]), before)

    def _of_fate(self, row: int, before: int) -> Excuse | None:
        """It came late, or its transaction was decided by what came late."""
        return self._of_record(row, before) or self._step("txn", self._txn(row), before)

    def _txn(self, row: int) -> int:
        """Of the record in this row."""
        sent = int(self.view.sent_at(np.array([row]))[0])
        return -1 if sent == NEVER else int(self.c["txn"][sent])

    @cached_property
    def _closed(self) -> dict[int, list[int]]:
        """By marker, the batches that it closes."""
        closed: dict[int, list[int]] = {}
        batches = self.view.rows_of(Kind.batch_appended)
        for batch, marker in zip(batches.tolist(), self.view.decided[batches].tolist(), strict=True):
            if marker != NEVER:
                closed.setdefault(marker, []).append(batch)
        return closed

    # What is read, or lies there

    def _read(self, at: int, other: int) -> Excuse | None:
        return self._of_fate(at, at)

    _aborts_unread = _open_unread = _reads_as_decided = _group_offsets_stable = _read

    def _fenced_appends_unread(self, at: int, other: int) -> Excuse | None:
        return self._of_record(at, at)

    _none_hanging = _fenced_appends_unread

    def _commits_kept(self, at: int, other: int) -> Excuse | None:
        return self._of_fate(other, at)

    def _transactions_whole(self, at: int, other: int) -> Excuse | None:
        """Each time that something of the transaction was read: either that is why, or why this one is missing."""
        reads, txn = self.view.rows_of(Kind.record_read), self.view.owner(np.array([other]))
        rows = reads[self.view.owner(reads) == txn].tolist()
        found = [self._of_record(row, row) or self._of_fate(other, row) for row in rows]
        return found[0] if found and all(found) else None

    def _offsets(self, at: int, other: int) -> Excuse | None:
        """Of the older one that is there, or of the younger one that is not."""
        older = self._of_fate(at, at) if self.c["record"][at] >= 0 else None
        return older or (self._of_fate(other, at) if other >= 0 else None)

    _group_offsets_kept = _group_offsets_forward = _offsets

    def _completed_after_markers(self, at: int, other: int) -> Excuse | None:
        return self._of_record(other, at)

    def _one_epoch_while_open(self, at: int, other: int) -> Excuse | None:
        return self._of_record(other, at)

    def _lone_client_never_fenced(self, at: int, other: int) -> Excuse | None:
        return self._step("client", int(self.c["client"][at]), at)

    # What markers decide: each transaction of which that is wrong

    def _decided(self, at: int, is_wrong: Callable[[int, int], bool]) -> Excuse | None:
        """``is_wrong``: of a batch that this marker closes, and the number of its transaction."""
        batches = self._closed.get(at, [])
        owners = self.view.owner(np.array(batches, np.int64)).tolist()
        wrong = [batch for batch, owner in zip(batches, owners, strict=True) if is_wrong(batch, owner)]
        found = [self._of_fate(batch, at) or self._of_others(batch, at) for batch in wrong]
        return found[0] if found and all(found) else None

    def _of_others(self, batch: int, at: int) -> Excuse | None:
        """All records of the same transaction came late that were decided otherwise before."""
        owner, outcome = self.view.owner(np.array([batch]))[0], self.c["outcome"]
        others = [b for b, m in self._batches.get(int(owner), ()) if m < at and outcome[m] != outcome[at]]
        found = [self._of_record(one, at) for one in others]
        return found[0] if found and all(found) else None

    @cached_property
    def _batches(self) -> dict[int, list[tuple[int, int]]]:
        """By the number of a transaction, its batches, each with the marker that closes it."""
        found: dict[int, list[tuple[int, int]]] = {}
        for marker, batches in self._closed.items():
            for batch, owner in zip(batches, self.view.owner(np.array(batches, np.int64)).tolist(), strict=True):
                found.setdefault(owner, []).append((batch, marker))
        return found

    def _markers_as_decided(self, at: int, other: int) -> Excuse | None:
        asked = self.view.commit_asked
        known = self.view.numbers_of("txn").size
        return self._decided(at, lambda _, owner: bool(owner < known and asked[owner] > at))

    def _markers_as_told(self, at: int, other: int) -> Excuse | None:
        told = self.view.abort_told if self.c["outcome"][at] == COMMIT else self.view.commit_told
        return self._decided(at, lambda _, owner: bool(told[owner] != NEVER))

    def _transactions_share_fate(self, at: int, other: int) -> Excuse | None:
        outcome = self.c["outcome"]
        return self._decided(at, lambda _, owner: outcome[self._first[owner]] != outcome[at])

    @cached_property
    def _first(self) -> dict[int, int]:
        """By the number of a transaction, the first marker that decided a record of it."""
        found: dict[int, int] = {}
        for marker, batches in sorted(self._closed.items()):
            for owner in self.view.owner(np.array(batches, np.int64)).tolist():
                found.setdefault(owner, marker)
        return found
