"""Which records and questions the model of transactions cannot follow in the partitions of a lane."""

from typing import TYPE_CHECKING

import numpy as np
from fencepost.properties.layouts import before, dense
from fencepost.properties.transactions.history.events import Kind, State
from fencepost.properties.transactions.observations.beyond import BESIDE, LATE_QUESTION, LATE_RECORD, OLD_ID, OLD_LEFT
from fencepost.properties.transactions.observations.codes import NONE

_TOUCHED = (Kind.batch_appended, Kind.marker_appended, Kind.record_read, Kind.offset_fetched)

if TYPE_CHECKING:
    from fencepost.properties.transactions.offline.laying_out import Layout


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
