"""Which request is behind each record of the transaction log, by the answer that follows it.

A coordinator has one transition of an id under way at a time, and answers the request for it when the record is
durable, or could not be written.  One that resigns answers none: then the request is sought among those that were sent.
"""

from collections.abc import Mapping

import numpy as np
from fencepost.properties.cutting import Cut
from fencepost.properties.layouts import Lanes, dense, one_of
from fencepost.properties.transactions.history.events import COMMIT, Kind, State
from fencepost.properties.transactions.observations.belonging import SENT, TAKEN
from fencepost.properties.transactions.observations.codes import CONCURRENT, NONE, NOT_AVAILABLE

ENDS = (Kind.txn_logged, Kind.append_failed, Kind.id_expired, Kind.coordinator_loaded)
"""What ends an append that is under way."""
HANDLED = (Kind.init_handled, Kind.add_handled, Kind.end_handled, Kind.partition_checked)
_ADDED = (Kind.add_handled, Kind.partition_checked)
_SOUGHT: Mapping[int, tuple[Kind, ...]] = {
    State.Empty: (Kind.init_sent,), State.Ongoing: (Kind.add_sent, Kind.record_sent),
    State.PrepareCommit: (Kind.end_sent,), State.PrepareAbort: (Kind.end_sent,),
}  # fmt: skip


class Causes:
    """By event of a lane.  ``answers``: of a record, the answer that tells whose it is; ``ends``: of an answer, the
    event at which what may be under way then ends; ``given``: the answer to an InitProducerId of this number that its
    client took; -1 where there is none."""

    def __init__(self, cut: Cut, lanes: Lanes) -> None:
        self.cut = cut
        kind = cut.e["kind"][cut.row]
        end = one_of(kind, ENDS)
        self.ends = lanes.next(end)
        answers = np.flatnonzero(one_of(kind, (*HANDLED, Kind.batch_refused)))
        records = lanes.last(end)[answers]
        answers, records = answers[records >= 0], records[records >= 0]
        tells = _tells(cut, records, answers)
        self.answers = np.full(lanes.count, -1)
        self.answers[records[tells][::-1]] = answers[tells][::-1]  # the nearest is written last
        self.given = self._given(kind)

    def _given(self, kind: np.ndarray) -> np.ndarray:
        e, row = self.cut.e, self.cut.row
        code, count = dense(self.cut.lane, e["request"][row])
        handled = np.flatnonzero(kind == Kind.init_handled)
        one, other = row[handled], self.cut.first("request", *TAKEN)[row[handled]]
        same = one < other
        for name in ("error", "producer_id", "epoch"):
            same &= e[name][one] == e[name][other]
        table = np.full(count, -1)
        table[code[handled[same]]] = handled[same]
        found: np.ndarray = table[code]
        return found


def _tells(cut: Cut, records: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Is this the answer that leaves when that record is durable, or failed?"""
    e, record, answer = cut.e, cut.row[records], cut.row[answers]
    kind, error, state = e["kind"][answer], e["error"][answer], e["state"][record]
    empty, ongoing = state == State.Empty, state == State.Ongoing
    init, end, added = kind == Kind.init_handled, kind == Kind.end_handled, one_of(kind, _ADDED)
    failed = (error == NOT_AVAILABLE) & np.select([empty, ongoing], [init, added], init | end)
    same = (e["producer_id"][answer] == e["producer_id"][record]) & (e["epoch"][answer] == e["epoch"][record])
    commits = e["outcome"][answer] == COMMIT
    ended = np.select(
        [state == State.PrepareCommit, state == State.PrepareAbort],
        [end & (error == NONE) & commits, (init & (error == CONCURRENT)) | (end & (error == NONE) & ~commits)],
        False,
    )
    good = np.select([empty, ongoing], [init & (error == NONE) & same, added & (error == NONE) & same], ended)
    logged, failure = e["kind"][record] == Kind.txn_logged, e["kind"][record] == Kind.append_failed
    found: np.ndarray = (logged & good) | (failure & failed)
    return found


class Sought:
    """Requests that may be behind a record that no answer tells of.  ``bumps``: an end has an epoch of its own
    (v2)."""

    def __init__(self, cut: Cut, *, bumps: bool) -> None:
        self.cut, self.bumps = cut, bumps
        rows = np.flatnonzero(one_of(cut.e["kind"], SENT))
        self.sent = rows[cut.last("request", *SENT)[rows] == rows]

    def before(self, row: int) -> list[int]:
        """Rows in which they were sent, the latest last: before this row, for this id, and what the record says."""
        e, state = self.cut.e, int(self.cut.e["state"][row])
        history = self.cut.history[row]
        begin = np.searchsorted(self.sent, np.searchsorted(self.cut.history, history))
        sent = self.sent[begin : np.searchsorted(self.sent, row)]
        sent = sent[(self.cut.owner[sent] == e["txn_id"][row]) & one_of(e["kind"][sent], _SOUGHT.get(state, ()))]
        pid, epoch = e["producer_id"][row], e["epoch"][row]
        if state != State.Empty:
            bumped = state != State.Ongoing and self.bumps
            sent = sent[(e["producer_id"][sent] == pid) & (e["epoch"][sent] == epoch - int(bumped))]
        if state not in (State.Empty, State.Ongoing):
            sent = sent[(e["outcome"][sent] == COMMIT) == (state == State.PrepareCommit)]
        found: list[int] = sent.tolist()
        return found
