"""Parts of how histories are laid out: names, causes, and events that are followed no further.

Members of the model's enumerations, as a state has them: numbers.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from fencepost.properties.by_key import Cut
from fencepost.properties.column_ops import PLACES, Lanes, Said, before, dense, first_seen, one_of
from fencepost.properties.transactions.events.kinds import (
    BESIDE,
    CONCURRENT,
    LATE_QUESTION,
    LATE_RECORD,
    MOST,
    NONE,
    NOT_AVAILABLE,
    OLD_ID,
    OLD_LEFT,
    SENT,
    TAKEN,
    Kind,
    State,
)
from fencepost.properties.transactions.events.kinds import COMMIT as OUTCOME_COMMIT

if TYPE_CHECKING:
    from fencepost.properties.transactions.translator.laying_out import Layout


IDLE, ONGOING, PREPARED = range(3)  # Phase
NO_OUTCOME, COMMIT, ABORT = range(3)  # Outcome
ABSENT, OPEN, COMMITTED, ABORTED = range(4)  # Fate
NOTHING, INIT, ADD, END, FENCE = range(5)  # Pending


# The model's numbers for pairs of producer id and epoch in the lanes of a piece, and for coordinators.
#
# Producer ids get numbers in the order in which they appear in their lane, coordinators in that in which they loaded
# the log: one that went away before has done nothing.

NOWHERE = -2  # the number of a pair that there is not
SPARE = 4  # epochs that a producer id has left, where the model's last one is not Kafka's


class Numbers:
    """Numbers for pairs of producer id and epoch (`guessing.py` says which), named in ``said``; ``last`` and
    ``epochs`` are by lane and by pair."""

    def __init__(self, lane: np.ndarray, said: Sequence[Said], epochs: Sequence[np.ndarray], last: np.ndarray) -> None:
        at = np.concatenate([one.at for one in said])
        ids, epoch = np.concatenate([one.values for one in said]), np.concatenate(list(epochs))
        named = np.concatenate([one.at * PLACES + one.place for one in said])
        lanes = lane[at]
        step = last[lanes] + 2
        pair = (ids >= 0) & (epoch >= 0)
        self.too_large = pair & (epoch > last[lanes] + 1)
        born = pair & ~self.too_large
        rank, first = np.full(len(ids), -1), np.full(len(ids), -1)
        there = np.flatnonzero(ids >= 0)
        rank[there], first[there] = first_seen(lanes[there], ids[there], np.where(born, named, -1)[there])
        starts = np.sort(np.unique(first[born & (first == named)]))
        per_lane = np.searchsorted(starts, np.searchsorted(lane, np.arange(len(last))) * PLACES)
        by_then = np.searchsorted(starts, named, side="right") - per_lane[lanes]
        known = (rank >= 0) & (first <= named)
        number = np.where(self.too_large, NOWHERE, np.where(born, 1 + rank * step + epoch, 0))
        next_base = 1 + (np.where(known, rank, by_then) + 1) * step
        cuts = np.cumsum([len(one.values) for one in said])[:-1]
        self.numbers, self.next_bases = np.split(number, cuts), np.split(next_base, cuts)
        self.epochs, self.all, self.at = epoch, number, at
        self._ids, self._rank, self._lanes, self._named, self._born = ids, rank, lanes, named, born

    def of_lane(self, lane: int, upto: int) -> dict[int, int]:
        """Producer id by rank, of those in a lane that are named before event ``upto``."""
        chosen = (self._lanes == lane) & self._born & (self._named < upto * PLACES)
        return dict(sorted(zip(self._rank[chosen].tolist(), self._ids[chosen].tolist(), strict=True)))


def terms(cut: Cut) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of the piece the place of its coordinator among those that loaded the log, a stranger's is one too
    many; and of each history one more than any coordinator's."""
    epoch = cut.e["coordinator_epoch"]
    loaded = np.flatnonzero(cut.e["kind"] == Kind.coordinator_loaded)
    first = np.searchsorted(loaded, np.searchsorted(cut.history, np.arange(cut.histories + 1)))
    last_term = np.minimum(np.diff(first), MOST["fail_overs"]) + 1
    code, count = dense(cut.history, epoch)
    table = np.full(count, np.iinfo(np.int64).max)
    table[code[loaded]] = 1 + np.arange(len(loaded)) - first[cut.history[loaded]]
    return np.where(epoch <= 0, 0, np.minimum(table[code], last_term[cut.history])), last_term


# Which records and questions the model of transactions cannot follow in the partitions of a lane.

_TOUCHED = (Kind.batch_appended, Kind.marker_appended, Kind.record_read, Kind.offset_fetched)


def unfollowed(layout: "Layout") -> None:
    """Notes where partitions come to what the model cannot follow."""
    kinds = (Kind.batch_appended, Kind.marker_appended, Kind.check_asked, Kind.partition_checked, Kind.txn_logged)
    events = layout.at(*kinds)
    added = (layout.kind[events] == Kind.txn_logged) & (layout.e("state", events) == State.Ongoing)
    events = events[added | (layout.kind[events] != Kind.txn_logged)]
    if layout.bumps:
        events = _in_doubt(layout, events)
    v = {name: layout.values[name][events].tolist() for name in ("txn", "partition", "number", "next_base")}
    records = np.where(layout.e("sequence", events) >= 0, layout.e("record", events), -1).tolist()
    kind, lanes = layout.kind[events].tolist(), layout.lane[events].tolist()
    asks, errors = (layout.sent[events] >= 0).tolist(), layout.e("error", events).tolist()
    partitions, lane, beside = Partitions(), -1, list[int]()
    for i, at in enumerate(events.tolist()):
        if lanes[i] != lane:
            partitions, lane = Partitions(bumps=layout.bumps, verifies=layout.verifies), lanes[i]
        place = v["txn"][i], v["partition"][i]
        pair = v["number"][i], v["next_base"][i]
        reason = ""
        if kind[i] == Kind.batch_appended:
            reason = partitions.append(*place, *pair, records[i])
            if partitions.is_beside:
                beside.append(at)
        elif kind[i] == Kind.marker_appended:
            reason = partitions.mark(place[1], *pair)
        elif kind[i] == Kind.txn_logged:
            reason = partitions.add(*place)
        elif asks[i] and kind[i] == Kind.check_asked:
            partitions.ask(*place)
        elif asks[i] and errors[i] == NONE:
            partitions.cleared.add(place)
        if reason:
            layout.stops.add([at], 4, reason)
    if beside:
        _lay_beside(layout, np.array(beside))


def _lay_beside(layout: "Layout", beside: np.ndarray) -> None:
    """A further record that comes late changes nothing in the model, which has one that stands for all of them there.
    So it is held against what lets it in alone, what is read of it is not held against the fate of that one, and a
    group's offset is unstable while it is open."""
    layout.kinds[beside] = BESIDE
    lanes = np.unique(layout.lane[beside])
    events = np.flatnonzero(np.isin(layout.lane, lanes) & np.isin(layout.kind, _TOUCHED))
    late, open_there, is_beside = set[tuple[int, int]](), set[tuple[int, int]](), set(beside.tolist())
    e = {name: layout.e(name, events).tolist() for name in ("record", "partition")}
    partition = layout.values["partition"]
    for at, record, where in zip(events.tolist(), e["record"], e["partition"], strict=True):
        lane, kind = int(layout.lane[at]), layout.kind[at]
        if at in is_beside:
            late.add((lane, record))
            open_there.add((lane, int(partition[at])))
        elif kind == Kind.marker_appended:
            open_there.discard((lane, where))
        elif kind == Kind.record_read and (lane, record) in late:
            layout.kinds[at] = Kind.record_seen
        elif kind == Kind.offset_fetched:
            layout.values["others"][at] |= (lane, where) in open_there
            layout.values["reads"][at] &= (lane, record) not in late


def _in_doubt(layout: "Layout", events: np.ndarray) -> np.ndarray:
    """Those of the events that are of a lane in which a partition is added after a marker has ended its question."""
    kind = layout.kind[events]
    asks = (kind == Kind.check_asked) & (layout.sent[events] >= 0)
    asked, added = events[asks], events[kind == Kind.txn_logged]
    marked = events[kind == Kind.marker_appended]
    v, lane = layout.values, layout.lane
    partition, _ = dense(lane, v["partition"])
    question, _ = dense(partition, v["txn"])
    mark = before(partition[marked], marked, partition[added], added)
    ask = before(question[asked], asked, question[added], added)
    late = (mark >= 0) & (ask >= 0)
    late[late] = marked[mark[late]] > asked[ask[late]]
    return events[np.isin(lane[events], lane[added[late]])]


class Partitions:
    """What of the partitions of a lane decides whether the next record or question can be followed."""

    def __init__(self, *, bumps: bool = False, verifies: bool = False) -> None:
        self.bumps, self.verifies = bumps, verifies
        self.is_beside = False  # the record that was appended last is one more of its transaction, and late
        self.besides: dict[int, int] = {}  # partitions where such a one is open: the first number of the next id
        self.known: dict[int, int] = {}
        self.open: dict[int, dict[int, int]] = {}  # by partition and transaction: the first number of the next id
        self.over: set[tuple[int, int]] = set()  # transactions by partition, where they were open and are no more
        self.records: set[int] = set()
        self.asked: dict[tuple[int, int], bool] = {}  # by transaction and partition: has no marker come since?

        self.cleared: set[tuple[int, int]] = set()  # by transaction and partition: the coordinator has said yes

    def ask(self, txn: int, partition: int) -> None:
        """A leader asks."""
        self.asked[txn, partition] = True
        self.cleared.discard((txn, partition))

    def add(self, txn: int, partition: int) -> str:
        """The coordinator adds a partition.  Why it cannot be followed, or nothing."""
        return LATE_QUESTION if self.bumps and not self.asked.get((txn, partition), True) else ""

    def append(self, txn: int, partition: int, number: int, next_base: int, record: int) -> str:
        """``record``: -1 if it may be written twice.  Why it cannot be followed, or nothing."""
        known, again, self.is_beside = self.known.get(partition, 0), record in self.records, False
        if record >= 0:
            self.records.add(record)
        if self.bumps or again or number < known < next_base:
            return ""  # it can be followed, if only to be found wrong
        if next_base <= known:
            return OLD_ID
        if (txn, partition) in self.over:
            self.is_beside = True
            self.besides[partition] = next_base
            return ""
        cleared = self.asked.get((txn, partition), False) and (txn, partition) in self.cleared
        if self.verifies and partition in self.besides and not (cleared or self.open.get(partition)):
            return LATE_RECORD
        self.known[partition] = number
        self.open.setdefault(partition, {})[txn] = next_base
        return ""

    def mark(self, partition: int, number: int, next_base: int) -> str:
        """A marker is written.  Why it cannot be followed, or nothing."""
        if next_base <= self.known.get(partition, 0):
            return ""  # of an earlier producer id
        left = [*self.open.get(partition, {}).values(), self.besides.get(partition, next_base)]
        if any(later <= number for later in left):
            return OLD_LEFT
        self.known[partition] = number
        self.besides.pop(partition, None)
        self.asked.update((key, False) for key in self.asked if key[1] == partition)
        self.over |= {(txn, partition) for txn in self.open.pop(partition, ())}
        return ""


# Which request is behind each record of the transaction log, by the answer that follows it.
#
# A coordinator has one transition of an id under way at a time, and answers the request for it when the record is
# durable, or could not be written.  One that resigns answers none: then the request is sought among those that were
# sent.

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
    commits = e["outcome"][answer] == OUTCOME_COMMIT
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
            sent = sent[(e["outcome"][sent] == OUTCOME_COMMIT) == (state == State.PrepareCommit)]
        found: list[int] = sent.tolist()
        return found
