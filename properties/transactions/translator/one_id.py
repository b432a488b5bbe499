"""This module translates the events of a history to rows of the model, for one transactional id at a time.

The content of an event is in three places: in the request that it is about, in itself, and, for a record of the
transaction log, in the request that is behind it. The later one counts.

A history is distributed to its transactional ids first (`history.py`). Then each of them is read forward, with two
looks ahead: the answer from which the request behind a record is known, and what is under way when a request is
answered. A transactional id is followed until something happens that the model leaves out (`Beyond`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice, pairwise

import numpy as np
from fencepost.properties.conformance_spec import Beyond
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import STRANGE, Settings
from fencepost.properties.transactions.events import kinds
from fencepost.properties.transactions.events.driven import RELEASES
from fencepost.properties.transactions.events.kinds import (
    BESIDE,
    COMMIT,
    ERASED,
    FORGOTTEN,
    MOST,
    NONE,
    NOT_AVAILABLE,
    TOO_LARGE,
    TOO_MANY,
    UNREPORTED,
    Kind,
    State,
)
from fencepost.properties.transactions.translator.guessing import Numbering, stand_for
from fencepost.properties.transactions.translator.history import (
    LEFT_OUT,
    LOADED,
    MARKED,
    READ_COLUMNS,
    READS,
    RECORD_SENT,
    Event,
    History,
    Partitions,
    codes,
)

EVERY_ROW = ("row", "kind", "client", "txn", "partition", "number", "next_base")
"""Each row of the model has these columns; those that only some rows have, and the columns of the event, are added to
them."""
WIDTH = len(EVERY_ROW)
ROW, KIND, CLIENT, TXN, PARTITION, NUMBER, NEXT_BASE = range(WIDTH)
Row = list[int]

NOWHERE = -2  # the number of a pair that there is not
SPARE = 4  # epochs that a producer id has left, where the model's last one is not Kafka's

LASTS = (14, 30, 62, 126, 254, 510)
"""`LASTS` lists values for the model's last epoch where a history stays below Kafka's: the smallest that the epochs in
it allow is used."""
TOGETHER = 62
"""Histories have one last epoch up to `TOGETHER`, because few lanes by themselves take nearly as long as many together.
"""
_STATES = codes(*State)
COMPLETE, PREPARES = codes(State.CompleteCommit, State.CompleteAbort), codes(State.PrepareCommit, State.PrepareAbort)
_EMPTY, _ONGOING, _PREPARE_COMMIT = int(State.Empty), int(State.Ongoing), int(State.PrepareCommit)
_INIT_SENT, _END_SENT = int(Kind.init_sent), int(Kind.end_sent)
_INIT_HANDLED, _END_HANDLED = int(Kind.init_handled), int(Kind.end_handled)
_LOGGED, _FAILED = int(Kind.txn_logged), int(Kind.append_failed)
_ADDED = codes(Kind.add_handled, Kind.partition_checked)
_ANSWERS = _ADDED | codes(Kind.init_handled, Kind.end_handled, Kind.batch_refused)
_ENDS = codes(Kind.txn_logged, Kind.append_failed, Kind.id_expired, Kind.coordinator_loaded)
"""`_ENDS` lists the events that end an append which is under way."""
_KEEPS_PAIR = _ADDED | codes(Kind.add_taken, Kind.record_acked, Kind.record_read, Kind.record_seen, Kind.append_failed)
"""`_KEEPS_PAIR` lists the events that have the pair of their request."""
_SOUGHT: Mapping[int, frozenset[int]] = {
    State.Empty: codes(Kind.init_sent), State.Ongoing: codes(Kind.add_sent, Kind.record_sent),
    State.PrepareCommit: codes(Kind.end_sent), State.PrepareAbort: codes(Kind.end_sent),
}  # fmt: skip


class Names(dict[int, int]):
    """`Names` numbers names in the order in which they are first met. Raises `Beyond`."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __missing__(self, name: int) -> int:
        number = self[name] = len(self)
        if number >= MOST[self.what]:
            raise Beyond(TOO_MANY.format(self.what, MOST[self.what]))
        return number


class Pairs(dict[tuple[int, int], tuple[int, int]], Numbering):
    """`Pairs` has the number of each pair, and the first number of the producer id after it; ``short`` is whether
    Kafka's last epoch is larger. Raises `Beyond`."""

    def __init__(self, last: int, short: bool) -> None:
        Numbering.__init__(self, last)
        self.short = short

    def __missing__(self, pair: tuple[int, int]) -> tuple[int, int]:
        producer_id, epoch = pair
        if self.short and epoch + SPARE > self.last:
            raise Beyond(TOO_LARGE.format(self.last - SPARE))
        number = NOWHERE if producer_id >= 0 and epoch > self.last + 1 else self.number(producer_id, epoch)
        if number > MOST["pairs"]:
            raise Beyond(TOO_MANY.format("pairs", MOST["pairs"]))
        found = number, self.next_base(producer_id)
        if producer_id in self.ranks:
            self[pair] = found
        return found


class Numbers:
    """`Numbers` has the model's numbers in the lane of one transactional id."""

    def __init__(self, txn_id: int, last: int, short: bool) -> None:
        self.txn_id = txn_id
        self.clients, self.txns, self.pairs = Names("clients"), Names("transactions"), Pairs(last, short)

    def stand_for(self) -> str:
        return stand_for(self.txn_id, self.clients, self.txns, self.pairs)


class Requests(dict[int, tuple[int, int, int, int, int, Event | None]]):
    """`Requests` has the content of each request: client, transaction, partition, number and the first number of the
    next producer id; and the event with which it was sent, None where there is none."""

    def __init__(self, sent: Mapping[int, Event], clients: Names, txns: Names, pairs: Pairs) -> None:
        super().__init__({-1: NOTHING})
        self.sent, self.clients, self.txns, self.pairs = sent, clients, txns, pairs

    def __missing__(self, request: int) -> tuple[int, int, int, int, int, Event | None]:
        sent = self.sent.get(request)
        if sent is None:
            return NOTHING
        client = self.clients[sent.client] if sent.client >= 0 else -1
        txn = self.txns[sent.txn] if sent.txn >= 0 else -1
        found = self[request] = client, txn, sent.partition, *self.pairs[sent.producer_id, sent.epoch], sent
        return found


NOTHING = -1, -1, -1, 0, 0, None


class OneId:
    """A `OneId` is one transactional id of one history.

    ``last`` is the model's last epoch, ``real`` Kafka's. ``rows`` has its rows, one behind the other, as far as it can
    be followed; ``stopped`` is why no further, if that leaves it undecided; ``events`` has those followed; ``values``
    what only some rows have, by column and place among the rows; ``behind``, by place among the events, the request
    behind a record of the transaction log.
    """

    def __init__(
        self, history: History, txn_id: int, last: int, real: int, *, bumps: bool, verifies: bool = False
    ) -> None:
        self.history, self.txn_id, self.events = history, txn_id, history.ids[txn_id]
        self.last, self.bumps = last, bumps
        self.numbers = numbers = Numbers(txn_id, last, last < real)
        self.clients, self.txns, self.pairs = numbers.clients, numbers.txns, numbers.pairs
        self.partitions = Partitions(bumps=bumps, verifies=verifies)
        self.requests = Requests(history.sent, self.clients, self.txns, self.pairs)
        self.places: dict[int, tuple[int, int]] = {}  # by record, its transaction and partition
        self.rows: list[int] = []
        self.values: dict[str, dict[int, int]] = defaultdict(dict)
        self.behind: dict[int, Event] = {}
        self.stopped = ""
        self.asking: dict[int, int] = {}  # by client, the InitProducerId to which it takes the answer
        self.asked: dict[tuple[int, int], int] = {}  # by transaction and partition: then, when its leader asked last
        self.loaded = 0
        self.failed = False  # an append failed after the last answer that reported a failure
        self.away = False  # an append failed, or a coordinator went away
        self.logged = self.emptied = 0  # the pair in the last record of the log, and the one that a forgetting id named
        self.erased = self.expired = False
        self._look_ahead()
        self._follow()

    # Whose request is behind a record of the transaction log

    def _look_ahead(self) -> None:
        """Find the answers that belong to records of the transaction log. A coordinator has one transition of an id
        under way at a time, and answers the request for it when the record is durable, or could not be written. One
        that resigns answers none: then the request is sought among those that were sent."""
        self.ends: list[int] = []
        self.answers: dict[int, Event] = {}  # by the place of a record, the answer from which its request is known
        self.given: dict[int, Event] = {}  # by request, the answer to an InitProducerId that its client took
        taken, record, end = self.history.taken, None, -1
        for at, event in enumerate(self.events):
            kind = event.kind
            if kind in _ENDS:
                record, end = event, at
                self.ends.append(at)
            elif kind in _ANSWERS:
                if record is not None and end not in self.answers and _fits(record, event):
                    self.answers[end] = event
                its = taken.get(event.request) if kind == _INIT_HANDLED else None
                if its is not None and event.row < its.row and _says(event) == _says(its):
                    self.given[event.request] = event
        self.next_end = 0  # of these, the one after the present event

    def _request_behind(self, at: int, event: Event) -> Event | None:
        """Return the request behind a record, None where it is not known. Raises `Beyond`."""
        answer = self.answers.get(at)
        if answer is not None or event.kind == _FAILED:
            return None if answer is None else self.history.sent.get(answer.request)
        if at == len(self.events) - 1:
            raise Beyond("")  # the history ends before the answer
        found = self._sought(event)
        if event.state != _ONGOING:
            return found[-1] if found else None
        there = self._added(self._completed(at), at)
        places = {(sent.txn, sent.partition): sent for sent in found if sent.partition not in there}
        if self.bumps:  # a leader has asked
            places = {place: sent for place, sent in places.items() if place in self.asked}
        if len(places) > 1:
            places = self._seen_later(at, places)
        if len(places) > 1:
            raise Beyond(UNREPORTED)
        return next(iter(places.values()), None)

    def _sought(self, event: Event) -> list[Event]:
        state, bumped = event.state, int(self.bumps)
        kinds, pair = _SOUGHT.get(state, frozenset[int]()), (event.producer_id, event.epoch)
        if state not in (_EMPTY, _ONGOING):
            pair = event.producer_id, event.epoch - bumped
        found = [
            sent for sent in self.history.sent.values()
            if sent.row < event.row and sent.kind in kinds and sent.txn_id == event.txn_id
            and (state == _EMPTY or (sent.producer_id, sent.epoch) == pair)
            and (state in (_EMPTY, _ONGOING) or (sent.outcome == COMMIT) == (state == _PREPARE_COMMIT))
        ]  # fmt: skip
        return sorted(found)

    def _seen_later(self, at: int, places: Mapping[tuple[int, int], Event]) -> dict[tuple[int, int], Event]:
        """Return the partitions that may be the one added here: they get a marker when the transaction ends, and are
        not added by a record of their own before that."""
        prepared = [later for later in range(at + 1, len(self.events)) if _is_logged(self.events[later], PREPARES)]
        if not prepared:
            return dict(places)
        answers = (self.answers[later] for later in range(at + 1, prepared[0]) if later in self.answers)
        added = {sent.partition for a in answers if (sent := self.history.sent.get(a.request)) is not None}
        after = self.events[prepared[0] : prepared[1] if len(prepared) > 1 else None]
        marked = {event.partition for event in after if event.kind == MARKED}
        left = {place: sent for place, sent in places.items() if place[1] in marked - added} or dict(places)
        if len({partition for _, partition in left}) == 1:  # of several transactions: nothing depends on which it was
            last = max(left.values())
            left = {(last.txn, last.partition): last}
        return left

    def _completed(self, at: int) -> int:
        return next((place for place in range(at - 1, -1, -1) if _is_logged(self.events[place], COMPLETE)), 0)

    def _added(self, since: int, until: int) -> set[int]:
        ongoing = (at for at in range(since, until) if _is_logged(self.events[at], (_ONGOING,)))
        return {self.behind.get(at, self.events[at]).partition for at in ongoing}

    # Content of events

    def _follow(self) -> None:
        rows, requests, clients, txns, pairs = self.rows, self.requests, self.clients, self.txns, self.pairs
        places, handlers, most, at = self.places, _HANDLERS, MOST["partitions"], -1
        try:
            for at, event in enumerate(self.events):
                row, kind, client, _, producer_id, epoch, txn, record, partition, _, request, _, _, _, _ = event
                its_client, its_txn, its_partition, number, next_base, sent = requests[request]
                if record >= 0 and (place := places.get(record) or self._place(record)) is not None:
                    its_txn, its_partition = place
                if client >= 0:
                    its_client = clients[client]
                if txn >= 0:
                    its_txn = txns[txn]
                if partition >= 0:
                    its_partition = partition
                    if partition >= most:
                        raise Beyond(TOO_MANY.format("partitions", most))
                if producer_id >= 0:
                    number, next_base = pairs[producer_id, epoch]
                elif kind not in _KEEPS_PAIR:
                    number = 0
                stated = [row, kind, its_client, its_txn, its_partition, number, next_base]
                if (handler := handlers.get(kind)) is not None:
                    handler(self, at, event, stated, sent)
                rows += stated
        except Beyond as reason:
            self.stopped, self.events = str(reason), self.events[:at]
            for values in self.values.values():
                values.pop(len(rows) // WIDTH, None)

    def _place(self, record: int) -> tuple[int, int] | None:
        sent = self.history.records.get(record)
        if sent is None or sent.txn not in self.txns:
            return None
        return self.places.setdefault(record, (self.txns[sent.txn], sent.partition))

    def say(self, column: str, value: int) -> None:
        if value:
            self.values[column][len(self.rows) // WIDTH] = value

    def _say_term(self, event: Event) -> None:
        if event.coordinator_epoch > 0:
            self.say("term", self.history.term(event))

    # Clients

    def init_sent(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self.asking[event.client] = event.request

    def init_taken(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self.asking[event.client] = -1

    fence_told = init_taken

    def waits(self, sent: Event) -> bool:
        """Return whether the client still takes the answer to this InitProducerId."""
        return bool(self.asking.get(sent.client, -1) == sent.request)

    # The coordinator

    def _end_after(self, at: int) -> int:
        """Return the place of the event at which what may be under way then ends; -1 if there is none."""
        ends = self.ends
        while self.next_end < len(ends) and ends[self.next_end] <= at:
            self.next_end += 1
        return ends[self.next_end] if self.next_end < len(ends) else -1

    def _under_way(self, end: int, event: Event) -> bool:
        """Return whether a record may be on its way to the log: one that ends later, and was asked for before."""
        if end < 0 or self.events[end].kind not in (_LOGGED, _FAILED):
            return True
        answer = self.answers.get(end)
        sent = None if answer is None else self.history.sent.get(answer.request)
        return bool(sent is None or sent.row < event.row)

    def _handled(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        if event.error == NONE:
            return
        end = self._end_after(at)
        self.say("busy", self._under_way(end, event))
        if event.error == NOT_AVAILABLE:
            self.say("away", self.failed)
            self.failed = False
        else:
            self.say("away", end < 0 or self.events[end].kind == LOADED)

    add_handled = _handled

    def init_handled(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self._handled(at, event, row, sent)
        named = self._of_init(sent)
        if event.error == kinds.FENCED and named == self.emptied != 0:
            raise Beyond(FORGOTTEN)

    def _of_init(self, sent: Event | None) -> int:
        if sent is None or sent.kind != _INIT_SENT:
            return 0
        named = self.requests[sent.request][3]
        self.say("named", named)
        self.say("counts", self.waits(sent))
        return named

    def end_handled(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self._handled(at, event, row, sent)
        if self.erased and event.error in (kinds.INVALID_STATE, kinds.FENCED):
            raise Beyond(ERASED)

    def partition_checked(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self._handled(at, event, row, sent)
        if sent is not None and event.error == NONE:
            self.partitions.cleared.add((row[TXN], row[PARTITION]))

    def txn_logged(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        state, named = event.state, 0
        self._say_term(event)
        if state not in _STATES:
            row[KIND] = STRANGE
        if state not in COMPLETE:
            named = self._cause(at, event, row, sent)
        number = row[NUMBER]
        self.erased = state == _EMPTY and number == self.logged
        self.logged = number
        if state == _EMPTY:
            self.emptied, self.expired = named if self.expired else 0, False
        elif state == _ONGOING:
            self.partitions.add(row[TXN], row[PARTITION])

    def append_failed(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self.failed = self.away = True
        self._cause(at, event, row, sent)

    def _cause(self, at: int, event: Event, row: Row, sent: Event | None) -> int:
        """Fill in the request behind a record, with what it names where it is an InitProducerId."""
        behind = self._request_behind(at, event)
        if behind is None:
            return self._of_init(sent)
        self.behind[at] = behind
        client, txn, partition, *_ = self.requests[behind.request]
        row[CLIENT : PARTITION + 1] = client if client >= 0 else row[CLIENT], txn if txn >= 0 else row[TXN], partition
        self.say("by_owner", behind.kind == _END_SENT)
        self.say("of_init", behind.kind == _INIT_SENT)
        self.say("late", self._is_late(at, event, behind))
        return self._of_init(behind)

    def _is_late(self, at: int, event: Event, behind: Event) -> bool:
        """Return whether no client takes this answer to an InitProducerId.

        That is so if the client has asked again, or another copy of the request is answered too and that answer is
        taken. A record to which no answer belongs is of a further copy, if the client takes an answer that left before:
        a coordinator resigned when the record was there, and the earlier answer still counts.
        """
        answer, given = self.answers.get(at), self.given.get(behind.request)
        if answer is None:
            return behind.kind == _INIT_SENT and given is not None and given.row < event.row
        return (given is not None and given is not answer) or (behind.kind == _INIT_SENT and not self.waits(behind))

    def id_expired(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self.expired = True

    def coordinator_loaded(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self._say_term(event)
        self.away, self.loaded = True, self.loaded + 1
        if self.loaded > MOST["fail_overs"]:
            raise Beyond(TOO_MANY.format("fail-overs", MOST["fail_overs"]))

    # Partitions

    def check_asked(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        if sent is None:
            return
        place, changes = (sent.txn, sent.partition), self.history.leaders.get(event.row, 0)
        self.say("fresh", sent.kind == RECORD_SENT and self.asked.get(place, -1) != changes)
        self.asked[place] = changes
        self.partitions.ask(row[TXN], row[PARTITION])

    def batch_refused(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self.say("away", self.away or self._under_way(self._end_after(at), event))

    def batch_appended(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        record = event.record if event.sequence >= 0 else -1
        if self.partitions.append(row[TXN], row[PARTITION], row[NUMBER], row[NEXT_BASE], record):
            row[KIND] = BESIDE
            self.partitions.late.add(event.record)
            self.partitions.late_in.add(row[PARTITION])

    def marker_refused(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self._say_term(event)

    def marker_appended(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        self._say_term(event)
        self.partitions.mark(row[PARTITION], row[NUMBER], row[NEXT_BASE])

    def record_read(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        if event.record in self.partitions.late:
            row[KIND] = int(Kind.record_seen)

    def offset_fetched(self, at: int, event: Event, row: Row, sent: Event | None) -> None:
        record = self.history.records.get(event.record)
        is_mine = record is None or record.txn < 0 or record.txn in self.txns
        owners = self.history.pending.get(event.row, ())
        late = event.partition in self.partitions.late_in
        self.say("reads", event.record >= 0 and is_mine and event.record not in self.partitions.late)
        self.say("others", late or any(owner != self.txn_id for owner in owners))


_HANDLERS: Mapping[int, Callable[..., None]] = {
    int(kind): getattr(OneId, kind.name) for kind in Kind if hasattr(OneId, kind.name)
}
"""`_HANDLERS` maps kinds of event to functions that add further columns."""


def _says(answer: Event) -> tuple[int, int, int]:
    return answer.error, answer.producer_id, answer.epoch


def _is_logged(event: Event, states: Iterable[int]) -> bool:
    return event.kind == _LOGGED and event.state in states


def _fits(record: Event, answer: Event) -> bool:
    kind, error, state = answer.kind, answer.error, record.state
    if record.kind == _FAILED:
        if state in (_EMPTY, _ONGOING):
            return error == NOT_AVAILABLE and (kind == _INIT_HANDLED if state == _EMPTY else kind in _ADDED)
        return error == NOT_AVAILABLE and kind in (_INIT_HANDLED, _END_HANDLED)
    if record.kind != _LOGGED:
        return False
    if state in (_EMPTY, _ONGOING):
        same = (answer.producer_id, answer.epoch) == (record.producer_id, record.epoch)
        return error == NONE and same and (kind == _INIT_HANDLED if state == _EMPTY else kind in _ADDED)
    if state not in PREPARES:
        return False
    commits = state == _PREPARE_COMMIT
    if kind == _INIT_HANDLED:
        return error == kinds.CONCURRENT and not commits
    return kind == _END_HANDLED and error == NONE and (answer.outcome == COMMIT) == commits


def followed_ids(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> Iterator[tuple[int, OneId]]:
    """Yield each transactional id of a piece, with the number of its history."""
    starts, real = starts_of(columns["history"]), dict(settings)["last"]
    lasts = _lasts(real, np.maximum.reduceat(columns["epoch"], starts)) if len(starts) else starts
    made = partial(tuple.__new__, Event)  # `_make`, in half the time
    at = np.flatnonzero(~np.isin(columns["kind"], list(LEFT_OUT)))
    cuts = np.searchsorted(at, [*starts.tolist(), len(columns["kind"])]).tolist()
    read = {name: columns[name][at] for name in READ_COLUMNS}
    read["client"] = np.where(np.isin(read["kind"], list(READS)), -1, read["client"])
    read["producer_id"] = np.where(read["kind"] == Kind.append_failed, -1, read["producer_id"])
    events = map(made, zip(*(column.tolist() for column in (at, *read.values())), strict=True))
    for (begin, end), start, last in zip(pairwise(cuts), starts.tolist(), lasts.tolist(), strict=True):
        history = History(list(islice(events, end - begin)))
        for txn_id in sorted(history.ids):
            one = OneId(
                history, txn_id, last, real, bumps=variant in RELEASES.values(), verifies=variant == "v1-verified"
            )
            yield int(columns["history"][start]), one


def _lasts(real: int, tops: np.ndarray) -> np.ndarray:
    fitting = np.searchsorted(np.array(LASTS) - SPARE, tops)
    lasts = np.append(LASTS, LASTS[-1])[fitting]
    found: np.ndarray = np.minimum(real, np.maximum(lasts, lasts[lasts <= TOGETHER].max(initial=0)))
    return found
