"""This module distributes the events of a history of transactions to the transactional ids that they belong to, and
finds what of the partitions the model cannot follow."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fencepost.properties.conformance_spec import Beyond
from fencepost.properties.transactions.events import kinds
from fencepost.properties.transactions.events.kinds import LATE_QUESTION, LATE_RECORD, MOST, OLD_ID, OLD_LEFT, Kind


class Event(NamedTuple):
    """An `Event` is an event of a history, with its row in the piece; readers are no clients, and an append that failed
    has no pair."""

    row: int
    kind: int
    client: int
    txn_id: int
    producer_id: int
    epoch: int
    txn: int
    record: int
    partition: int
    sequence: int
    request: int
    outcome: int
    state: int
    coordinator_epoch: int
    error: int


READ_COLUMNS = Event._fields[1:]


def codes(*those: int) -> frozenset[int]:
    return frozenset(map(int, those))


def _places(columns: Mapping[int, tuple[str, ...]]) -> dict[int, tuple[int, ...]]:
    return {int(kind): tuple(map(Event._fields.index, names)) for kind, names in columns.items()}


RECORD_SENT, LOADED, MARKED = int(Kind.record_sent), int(Kind.coordinator_loaded), int(Kind.marker_appended)
_LEADER_CHANGED, _APPENDED, _ASKED = int(Kind.leader_changed), int(Kind.batch_appended), int(Kind.check_asked)
_SENT, _TAKEN = codes(*kinds.SENT), codes(*kinds.TAKEN)
READS = codes(Kind.record_read, Kind.record_seen, Kind.offset_fetched)
EVERYWHERE = codes(Kind.coordinator_loaded, Kind.offset_fetched)
"""`EVERYWHERE` lists the events that concern every transactional id: a fail-over, and an OffsetFetch of a group, which
depends on what all ids have pending there."""
LEFT_OUT = codes(
    Kind.client_started, Kind.client_stopped, Kind.client_failed, Kind.record_failed, Kind.stable_moved, Kind.fetched
)
"""`LEFT_OUT` lists events that are no evidence about the model's state; the records of a fetch have events of their
own."""
_NAMES = _places({
    Kind.init_sent: ("client",), Kind.txn_begun: ("txn",), Kind.add_sent: ("txn",), Kind.end_sent: ("txn",),
    Kind.record_sent: ("txn", "record", "request"),
    Kind.init_handled: ("producer_id",), Kind.txn_logged: ("producer_id",),
})  # fmt: skip
"""`_NAMES` maps each kind of event to the names in it that belong to the transactional id that it names."""
_NAMED = _places({
    Kind.init_taken: ("client",), Kind.add_taken: ("txn",), Kind.record_acked: ("txn",), Kind.end_told: ("txn",),
    **dict.fromkeys((Kind.batch_appended, Kind.batch_duplicate, Kind.batch_refused), ("request", "record")),
    Kind.check_asked: ("request", "producer_id"), Kind.record_read: ("record",), Kind.record_seen: ("record",),
    Kind.marker_appended: ("producer_id",), Kind.marker_refused: ("producer_id",),
})  # fmt: skip
"""`_NAMED` maps each kind of event that names no transactional id to the names that belong to one."""


class History:
    """A `History` has the events of one history, without those left out, distributed to the transactional ids that they
    belong to.

    That is the id which an event names, or else that of a name in it; an event that names nothing known belongs to the
    lowest id that exists by then. ``sent`` has, by request, the event with which it was sent last; ``records`` the same
    by record; ``taken``, by request, the first answer to an InitProducerId that was taken; ``pending``, by row of each
    OffsetFetch of a group, the ids whose producers have an offset pending there; ``leaders``, by row of each question
    of a leader, how often its partition has had another one.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.sent: dict[int, Event] = {}
        self.records: dict[int, Event] = {}
        self.taken: dict[int, Event] = {}
        self.terms: dict[int, int] = {}
        self.pending: dict[int, set[int]] = {}
        self.leaders: dict[int, int] = {}
        self.ids: dict[int, list[Event]] = {}
        self._known = [dict[int, int]() for _ in Event._fields]  # by column and name, whose it is
        self._deal(events)

    def _deal(self, events: Sequence[Event]) -> None:
        shared, ids, loaded, sent, known = list[Event](), self.ids, 0, self.sent, self._known
        changes = defaultdict[int, int](int)  # how often the leader of each partition has changed
        open_in = defaultdict[int, dict[int, int]](dict)  # by partition and producer id, whose it is
        for event in events:
            kind, owner = event.kind, event.txn_id
            if kind in _SENT:
                sent[event.request] = event
                if kind == RECORD_SENT:
                    self.records[event.record] = event
            if owner >= 0:
                for column in _NAMES.get(kind, ()):
                    known[column][event[column]] = owner
            elif kind in EVERYWHERE:
                if kind == LOADED:
                    loaded += 1
                    self.terms[event.coordinator_epoch] = loaded
                elif event.partition in open_in:
                    self.pending[event.row] = set(open_in[event.partition].values())
                shared.append(event)
                for mine in ids.values():
                    mine.append(event)
                continue
            elif kind == _LEADER_CHANGED:
                changes[event.partition] += 1
                continue
            else:
                owner = self._owner(event, kind)
                if kind == _APPENDED:
                    open_in[event.partition][event.producer_id] = owner
                elif kind == MARKED:
                    open_in[event.partition].pop(event.producer_id, None)
                elif kind == _ASKED:
                    self.leaders[event.row] = changes[event.partition]
            if kind in _TAKEN:
                self.taken.setdefault(event.request, event)
            if owner not in ids:
                ids[owner] = shared.copy()
            ids[owner].append(event)
        self.last_term = min(loaded, MOST["fail_overs"]) + 1
        if not ids:
            ids[0] = shared

    def _owner(self, event: Event, kind: int) -> int:
        for column in _NAMED.get(kind, ()):
            if (owner := self._known[column].get(event[column])) is not None:
                return owner
        return min(self.ids, default=0)

    def term(self, event: Event) -> int:
        """Return the place of the event's coordinator among those that loaded the log; an unknown coordinator's is one
        past the last."""
        return min(self.terms.get(event.coordinator_epoch, self.last_term), self.last_term)


class Partitions:
    """`Partitions` decides whether the next record or question can be followed.

    The model has one record for all of a transaction's in a partition, and one memory for all producer ids there. A
    further record that arrives late changes nothing in the model. So only the condition that lets it in is compared,
    reads of it are not compared with the fate of the model's record, and a group's offset is unstable while it is open.
    """

    def __init__(self, *, bumps: bool = False, verifies: bool = False) -> None:
        self.bumps, self.verifies = bumps, verifies
        self.late: set[int] = set()  # further records that came late
        self.late_in: set[int] = set()  # partitions where such a one is open
        self.besides: dict[int, int] = {}  # partitions where such a one is open, with the first number of the next id
        self.known: dict[int, int] = {}
        self.open: dict[int, dict[int, int]] = {}  # by partition and transaction: the first number of the next id
        self.over: set[tuple[int, int]] = set()  # transactions by partition, where they were open and are no more
        self.records: set[int] = set()
        self.questions: set[tuple[int, int]] = set()  # transactions by partition of which a leader has asked
        self.asked: dict[int, set[int]] = defaultdict(set)  # by partition, those after which no marker came
        self.cleared: set[tuple[int, int]] = set()  # by transaction and partition: the coordinator has answered yes

    def ask(self, txn: int, partition: int) -> None:
        self.questions.add((txn, partition))
        self.asked[partition].add(txn)
        self.cleared.discard((txn, partition))

    def add(self, txn: int, partition: int) -> None:
        """Note that the coordinator adds a partition. Raises `Beyond`."""
        if self.bumps and (txn, partition) in self.questions and txn not in self.asked[partition]:
            raise Beyond(LATE_QUESTION)

    def append(self, txn: int, partition: int, number: int, next_base: int, record: int) -> bool:
        """Return whether this is a further record that arrives late; ``record`` is -1 if it may be written twice.
        Raises `Beyond`."""
        if self.bumps:
            return False
        known, again = self.known.get(partition, 0), record in self.records
        if record >= 0:
            self.records.add(record)
        if again or number < known < next_base:
            return False  # it can be followed, if only to be found wrong
        if next_base <= known:
            raise Beyond(OLD_ID)
        if (txn, partition) in self.over:
            self.besides[partition] = next_base
            return True
        cleared = txn in self.asked[partition] and (txn, partition) in self.cleared
        if self.verifies and partition in self.besides and not (cleared or self.open.get(partition)):
            raise Beyond(LATE_RECORD)
        self.known[partition] = number
        self.open.setdefault(partition, {})[txn] = next_base
        return False

    def mark(self, partition: int, number: int, next_base: int) -> None:
        """Note that a marker is written. Raises `Beyond`."""
        self.asked.pop(partition, None)
        if self.bumps:
            return
        self.late_in.discard(partition)
        if next_base <= self.known.get(partition, 0):
            return  # of an earlier producer id
        left = [*self.open.get(partition, {}).values(), self.besides.get(partition, next_base)]
        if any(later <= number for later in left):
            raise Beyond(OLD_LEFT)
        self.known[partition] = number
        self.besides.pop(partition, None)
        self.over |= {(txn, partition) for txn in self.open.pop(partition, ())}
