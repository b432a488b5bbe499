"""A history of transactions, cut into lanes: the events of one transactional id each, as the model has only one.

An event belongs to the id that it names, or else to that of its transaction, record, request, producer id or client.
A fail-over happens in every lane, and so does the reading of a group's offset, which looks at what all have there.
Left out, since they say nothing about the model's state: that an instance starts, stops or fails (`client_started`,
`client_stopped`, `client_failed`), that a send is given up (`record_failed`), where the last stable offset is
(`stable_moved`) and what a fetch covers (`fetched`: its records have events of their own).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.properties.transactions.history.events import COMMIT, Kind

LEFT_OUT = frozenset({
    Kind.client_started, Kind.client_stopped, Kind.client_failed, Kind.record_failed, Kind.stable_moved, Kind.fetched,
})  # fmt: skip
EVERYWHERE = frozenset({Kind.coordinator_loaded, Kind.leader_changed, Kind.offset_fetched})
SENT = frozenset({Kind.init_sent, Kind.add_sent, Kind.record_sent, Kind.end_sent})
TAKEN = frozenset({Kind.init_taken, Kind.fence_told})
_OWNERS: Mapping[int, tuple[str, ...]] = {
    Kind.client_stopped: ("client",), Kind.client_failed: ("client",), Kind.record_failed: ("txn",),
    Kind.init_taken: ("client",), Kind.add_taken: ("txn",), Kind.record_acked: ("txn",), Kind.end_told: ("txn",),
    Kind.batch_appended: ("request", "record"), Kind.batch_duplicate: ("request", "record"),
    Kind.batch_refused: ("request", "record"), Kind.check_asked: ("request", "producer_id"),
    Kind.marker_appended: ("producer_id",), Kind.marker_refused: ("producer_id",),
    Kind.record_read: ("record",), Kind.record_seen: ("record",),
}  # fmt: skip
_NAMES: Mapping[int, tuple[str, ...]] = {
    Kind.client_started: ("client",), Kind.init_sent: ("client", "request", "producer_id"),
    Kind.txn_begun: ("client", "txn", "producer_id"), Kind.add_sent: ("client", "txn", "request", "producer_id"),
    Kind.record_sent: ("client", "txn", "record", "request", "producer_id"),
    Kind.end_sent: ("client", "txn", "request", "producer_id"), Kind.init_handled: ("producer_id",),
    Kind.txn_logged: ("producer_id",),
}  # fmt: skip
"""Whose names belong to the transactional id that an event says."""

Events = Mapping[str, Sequence[int]]
"""The columns of a piece."""


class Request(NamedTuple):
    """What is in a request; -1 where something does not apply.  ``row``: where it was sent."""

    row: int
    kind: int
    txn_id: int
    client: int
    txn: int
    partition: int
    record: int
    producer_id: int
    epoch: int
    commits: bool


@dataclass
class Lane:
    """The rows of one transactional id in one history.  ``others``: the rows of `offset_fetched` at which producers of
    another id have an offset pending there."""

    txn_id: int
    rows: list[int] = field(default_factory=list)
    others: set[int] = field(default_factory=set)


class Cut:
    """The lanes of the history in these rows, at least one.

    ``requests`` by number; ``records``: transaction and partition of each; ``taken``: by number of an InitProducerId,
    the first row in which an answer to it was taken; ``loaded``: the coordinator epochs that came, in order.
    """

    def __init__(self, events: Events, begin: int, end: int) -> None:
        self.requests: dict[int, Request] = {}
        self.records: dict[int, tuple[int, int]] = {}
        self.taken: dict[int, int] = {}
        self.loaded: list[int] = []
        self._events = events
        self._by_id: dict[int, Lane] = {}
        self._owner: dict[tuple[str, int], int] = {}  # transactional id by (column, value)
        self._open: dict[int, set[int]] = {}  # transactional ids with something open, by partition
        self._pending: list[tuple[int, frozenset[int]]] = []  # rows that read a group's offset, and whose is pending
        everywhere = self._deal(begin, end)
        self.lanes = [self._by_id[txn_id] for txn_id in sorted(self._by_id)] or [Lane(0)]
        for lane in self.lanes:
            lane.rows = sorted([*lane.rows, *everywhere])
            lane.others = {row for row, ids in self._pending if ids - {lane.txn_id}}

    def _deal(self, begin: int, end: int) -> list[int]:
        """Each row to its lane; what is left over belongs to every lane."""
        kinds, txn_ids, everywhere = self._events["kind"], self._events["txn_id"], []
        for row in range(begin, end):
            kind, txn_id = kinds[row], txn_ids[row]
            if kind in EVERYWHERE:
                self._note_everywhere(row, kind)
                everywhere.append(row)
                continue
            if txn_id < 0:
                txn_id = self._find(row, kind)
            elif kind in _NAMES:
                for name in _NAMES[kind]:
                    self._owner[name, self._events[name][row]] = txn_id
            self._note(row, kind, txn_id)
            if kind not in LEFT_OUT:
                self._lane(txn_id).rows.append(row)
        return everywhere

    def _lane(self, txn_id: int) -> Lane:
        lane = self._by_id.get(txn_id)
        if lane is None:
            lane = self._by_id[txn_id] = Lane(txn_id)
        return lane

    def _find(self, row: int, kind: int) -> int:
        """Whose event it is; a stranger's goes to the first lane that there is, where it will not fit."""
        for name in _OWNERS.get(kind, ()):
            owner = self._owner.get((name, self._events[name][row]))
            if owner is not None:
                return owner
        return min(self._by_id, default=0)

    def _note_everywhere(self, row: int, kind: int) -> None:
        if kind == Kind.coordinator_loaded:
            self.loaded.append(self._events["coordinator_epoch"][row])
        elif kind == Kind.offset_fetched:
            self._pending.append((row, frozenset(self._open.get(self._events["partition"][row], ()))))

    def _note(self, row: int, kind: int, txn_id: int) -> None:
        e = self._events
        if kind in SENT:
            request = Request(
                row, kind, txn_id, e["client"][row], e["txn"][row], e["partition"][row], e["record"][row],
                e["producer_id"][row], e["epoch"][row], e["outcome"][row] == COMMIT,
            )  # fmt: skip
            self.requests[e["request"][row]] = request
            if kind == Kind.record_sent:
                self.records[request.record] = (request.txn, request.partition)
        elif kind in TAKEN:
            self.taken.setdefault(e["request"][row], row)
        elif kind == Kind.batch_appended:
            self._open.setdefault(e["partition"][row], set()).add(txn_id)
        elif kind == Kind.marker_appended:
            self._open.setdefault(e["partition"][row], set()).discard(txn_id)
