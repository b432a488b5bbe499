"""This module translates the events of two-phase commit to steps of the model of one transactional id.

The model has a client for each answer to InitProducerId, since one that is answered twice is answered like two; an
instance is the client of the answer that it takes. A transaction begins with its first record, because brokers do not
hear of one without any. The epochs of all producer ids are one row of numbers, in the order in which the ids appear.

A record of the transaction log names no request. The answer that leaves in the same moment does. If a coordinator that
resigns answers nothing, the request is one of those that were sent and would have written this record.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.model.language import Bool, Int, implies, when
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Outcome, Partition, Phase, Term, Txn
from fencepost.model.two_phase.core import TwoPhase
from fencepost.model.two_phase.mistakes import OlderWriter
from fencepost.properties.conformance_spec import Beyond
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.translation import Row, Tellers, Translator
from fencepost.properties.two_phase.events import TWO_PHASE

UNDECIDED = "an application ends what it has prepared, or found, without asking the store, which the model's does not"
UNREPORTED = "a coordinator resigned, and which request is behind its last record is not observed"
UNNAMED = "an event names what no event before it has"
LARGE = 46
"""The largest epoch of a producer id in the model, where Kafka's is larger, because its maps are as wide."""
ROOM = {"epochs": 96, "fail_overs": 12}
"""No run is followed further than this, because maps over epochs and coordinators are as wide."""
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT = range(4)
OTHERWISE, INIT, INIT_TWO_PHASE, FIND, RETAIN, ADD, OWNER, FOUND, FENCE, COMPLETE, EARLIER = range(11)
"""Why there is a record of the transaction log, or who has sent an EndTxn. ``EARLIER`` is for markers of a producer id
before the one that the partition knows."""
EPOCH, MAPPING_OF_ID, FENCED = 47, 49, 90  # INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED
NOTHING = {"client": -1, "txn": -1, "partition": -1, "number": 0, "to": 0, "own": 0, "term": 0, "error": 0, "cause": 0,
           "keep": False, "asks": False, "repeats": False}  # fmt: skip

Pair = tuple[int, int]


class OneId:
    """A `OneId` translates the events of one transactional id. ``clients`` are the model's clients, by the request and
    the pair that were answered, and by instance; ``found`` has the pair of the transaction that an instance found."""

    def __init__(self, txn_id: int, max_epoch: int) -> None:
        self.txn_id = txn_id
        self.last = min(max_epoch - 1, LARGE)
        self.short = self.last < max_epoch - 1
        self.ranks: dict[int, int] = {}  # of producer ids
        self.requests: dict[int, Any] = {}  # as they were sent
        self.answered = set[int]()  # requests
        self.clients: dict[tuple[int, Pair], int] = {}
        self.taken: dict[int, int] = {}  # by instance
        self.found: dict[int, Pair] = {}  # by instance, until what it found has ended
        self.current: dict[int, int] = {}  # by instance, the transaction that has a record
        self.records: dict[int, tuple[int, int]] = {}  # transaction and partition
        self.known = set[int]()  # transactions
        self.prepared = set[int]()  # transactions
        self.binding = set[int]()  # instances with two-phase commit
        self.completing = set[int]()  # instances that have called completeTransaction() for their transaction
        self.asked: dict[tuple[int, int], int] = {}  # by transaction and partition, of records that have no place yet
        self.ending = -1  # the EndTxn by which the last transaction ended, until it is answered
        self.fencing = False  # the coordinator has begun to abort what is open
        self.newest: dict[int, int] = {}  # by partition, the rank of the newest producer id there
        self.term = 0  # of the coordinator that was loaded last
        self.tellers = Tellers(self, "_")
        self.later: Any = None  # the event after the record of the transaction log that is translated

    def rows(self, event: Any) -> Iterable[Row]:
        teller = self.tellers[event.kind]
        return () if teller is None else teller(event)

    def row(self, event: Any, **columns: Any) -> Row:
        return {**NOTHING, "kind": event.kind, "txn_id": self.txn_id, "error": max(event.error, 0),
                "commit": event.outcome == 1, **columns}  # fmt: skip

    def number(self, producer_id: int, epoch: int) -> int:
        """Return the number of a pair, 0 for none. Raise `Beyond` for an epoch that the model has no room for."""
        if producer_id < 0 or epoch < 0:
            return 0
        if epoch > self.last and self.short:
            raise Beyond(f"an epoch above {self.last}")
        number = 1 + self.ranks.setdefault(producer_id, len(self.ranks)) * (self.last + 2) + epoch
        if number > ROOM["epochs"]:
            raise Beyond(f"more than {ROOM['epochs']} epochs of all producer ids")
        return number

    def own(self, event: Any) -> int:
        return self.number(event.producer_id, event.epoch)

    def next(self, event: Any) -> int:
        return self.number(event.next_producer_id, event.next_epoch)

    # What applications do

    def _init_sent(self, event: Any) -> Iterator[Row]:
        self.requests[event.request] = event
        yield from ()

    def _init_taken(self, event: Any) -> Iterator[Row]:
        if event.error:
            return
        client = self.clients.get((event.request, (event.producer_id, event.epoch)))
        if client is None:
            raise Beyond(UNNAMED)
        self.taken[event.client] = client
        if self.requests[event.request].two_phase == 1:
            self.binding.add(event.client)
        yield self.row(event, client=client, number=self.own(event))

    def _txn_recovered(self, event: Any) -> Iterator[Row]:
        self.found[event.client] = event.producer_id, event.epoch
        yield self.row(event, client=self.client(event), own=self.own(event), number=self.next(event))

    def client(self, event: Any) -> int:
        if event.client not in self.taken:
            raise Beyond(UNNAMED)
        return self.taken[event.client]

    def _record_sent(self, event: Any) -> Iterator[Row]:
        self.requests[event.request] = event
        self.records[event.record] = event.txn, event.partition
        self.known.add(event.txn)
        self.current[event.client] = event.txn
        self.asked[event.txn, event.partition] = event.request
        yield self.row(event, client=self.client(event), txn=event.txn, partition=event.partition,
                       number=self.own(event))  # fmt: skip

    def _txn_begun(self, event: Any) -> Iterator[Row]:
        self.current.pop(event.client, None)
        self.completing.discard(event.client)
        yield from ()

    def _txn_prepared(self, event: Any) -> Iterator[Row]:
        if event.txn in self.known:
            self.prepared.add(event.txn)
            yield self.row(event, txn=event.txn, number=self.own(event))

    def _decision_written(self, event: Any) -> Iterator[Row]:
        txn = self.current.get(event.client)
        if txn is None:
            raise Beyond(UNNAMED)
        yield self.row(event, txn=txn, number=self.own(event))

    def _decision_read(self, event: Any) -> Iterator[Row]:
        """Yield the reading of an instance that has found a transaction; that of another one has no consequence."""
        if event.client in self.found:
            is_its = (event.producer_id, event.epoch) == self.found[event.client]
            yield self.row(event, client=self.client(event), commit=is_its and event.outcome == 1)

    def _complete_called(self, event: Any) -> Iterator[Row]:
        self.completing.add(event.client)
        if event.client in self.found:
            yield self.row(event, client=self.client(event), cause=FOUND)
        elif event.client in self.current:
            yield self.row(event, txn=self.current[event.client], cause=OWNER)

    def _end_sent(self, event: Any) -> Iterator[Row]:
        self.requests[event.request] = event
        bound = event.txn < 0 or event.txn in self.prepared or (event.outcome == 1 and event.client in self.binding)
        if bound and event.client not in self.completing:
            raise Beyond(UNDECIDED)
        if event.txn < 0:
            yield self.row(event, client=self.client(event), number=self.own(event), cause=FOUND)
        elif event.txn in self.known:
            yield self.row(event, txn=event.txn, number=self.own(event), cause=OWNER)

    def _end_taken(self, event: Any) -> Iterator[Row]:
        if event.request < 0 or event.error:
            return
        if event.txn < 0:
            self.found.pop(event.client, None)
            yield self.row(event, client=self.client(event), number=self.next(event), cause=FOUND)
        elif event.txn in self.known:
            yield self.row(event, txn=event.txn, number=self.next(event), cause=OWNER)

    # What the coordinator does

    def _txn_logged(self, event: Any) -> Iterator[Row]:
        """Yield the record with what caused it."""
        later = self.later
        fencing, self.fencing = self.fencing, False
        row = self.row(event, number=self.own(event), own=self.own(event), to=self.next(event) or self.rotated(event),
                       term=event.coordinator_epoch, commit=event.state in (PREPARE_COMMIT, 4))  # fmt: skip
        if event.state == EMPTY:
            yield self.initialized(row, event, later, self.own(event))
        elif event.state == ONGOING and later is not None and later.kind == "init_handled":
            yield self.initialized(row, event, later, self.next(event))
        elif event.state == ONGOING:
            # What is refused next may have been written before, by a coordinator that resigned.
            is_answered = later is not None and later.kind == "partition_checked" and not later.error
            yield row if is_answered else self.added(row, event)
        elif event.state in (PREPARE_COMMIT, PREPARE_ABORT):
            yield {**row, "cause": FENCE} if fencing else self.ended(row, event, later)
        else:
            yield {**row, "cause": COMPLETE}

    def rotated(self, event: Any) -> int:
        """Return the epoch after an end where no client has another one: a new producer id has none yet."""
        if event.next_producer_id >= 0:
            return self.number(event.next_producer_id, 0)
        return self.own(event)

    def initialized(self, row: Row, event: Any, later: Any, given: int) -> Row:
        request = self.requests.get(later.request) if later is not None and later.kind == "init_handled" else None
        request = request or self.unanswered("init_sent")
        pair = (event.producer_id, event.epoch) if event.state == EMPTY else (event.next_producer_id, event.next_epoch)
        client = len(self.clients)
        self.clients[request.request, pair] = client
        asks = request.two_phase == 1
        found = FIND if request.keep == 1 else INIT_TWO_PHASE if asks else INIT
        cause = RETAIN if event.state == ONGOING else found
        return {**row, "client": client, "number": given, "cause": cause, "asks": asks}

    def unanswered(self, kind: str) -> Any:
        """Return the request of a kind that was sent last and was not answered. Raise `Beyond` if there is none."""
        sent = [each for number, each in self.requests.items() if each.kind == kind and number not in self.answered]
        if not sent:
            raise Beyond(UNREPORTED)
        return sent[-1]

    def added(self, row: Row, event: Any) -> Row:
        """Return a record with a partition whose leader is not answered, or that of an unanswered InitProducerId."""
        if event.next_epoch >= 0 and self.own(event) != self.next(event):
            raise Beyond(UNREPORTED)
        pair = event.producer_id, event.epoch
        places = [place for place, request in self.asked.items()
                  if (self.requests[request].producer_id, self.requests[request].epoch) == pair]  # fmt: skip
        if len(places) != 1:
            raise Beyond(UNREPORTED)
        return {**row, "txn": places[0][0], "partition": places[0][1], "cause": ADD}

    def ended(self, row: Row, event: Any, later: Any) -> Row:
        request = self.requests.get(later.request) if later is not None and later.kind == "end_handled" else None
        request = request or self.unanswered("end_sent")
        self.ending = request.request
        if request.txn < 0:
            return {**row, "client": self.client(request), "cause": FOUND}
        return {**row, "txn": request.txn, "cause": OWNER}

    def _init_handled(self, event: Any) -> Iterator[Row]:
        self.answered.add(event.request)
        if not event.error:
            client = self.clients.get((event.request, (event.next_producer_id, event.next_epoch)), -1)
            yield self.row(event, client=client, own=self.own(event), number=self.next(event))

    def _end_handled(self, event: Any) -> Iterator[Row]:
        self.answered.add(event.request)
        request = self.requests.get(event.request)
        if request is None:
            raise Beyond(UNNAMED)
        row = self.row(event, number=self.own(event), own=self.own(request), repeats=event.request != self.ending)
        self.ending = -1
        if request.txn < 0:
            yield {**row, "client": self.client(request), "cause": FOUND}
        elif request.txn in self.known:
            yield {**row, "txn": request.txn, "cause": OWNER}

    def _partition_checked(self, event: Any) -> Iterator[Row]:
        self.answered.add(event.request)
        request = self.requests.get(event.request)
        if request is None:
            raise Beyond(UNNAMED)
        yield self.row(event, txn=request.txn, partition=event.partition, number=self.own(event))

    def _timed_out(self, event: Any) -> Iterator[Row]:
        self.fencing = True
        yield self.row(event, number=self.own(event))

    def _termination_begun(self, event: Any) -> Iterator[Row]:
        self.fencing = True
        yield self.row(event, number=self.own(event), keep=event.keep == 1)

    def _append_failed(self, event: Any) -> Iterator[Row]:
        self.fencing = False
        yield from ()

    def _coordinator_loaded(self, event: Any) -> Iterator[Row]:
        self.fencing = False
        if event.coordinator_epoch > ROOM["fail_overs"]:
            raise Beyond(f"more than {ROOM['fail_overs']} coordinators after the first")
        # A coordinator that another one replaced before it had loaded has no event.
        for term in range(self.term + 1, event.coordinator_epoch + 1):
            yield self.row(event, term=term)
        self.term = event.coordinator_epoch

    def _txn_ended(self, event: Any) -> Iterator[Row]:
        yield self.row(event, number=self.own(event))

    # What partitions do, and readers

    def _batch_appended(self, event: Any) -> Iterator[Row]:
        txn, partition = self.of_record(event)
        self.asked.pop((txn, partition), None)
        row = self.row(event, txn=txn, partition=partition, number=self.own(event))
        self.is_earlier(event)
        yield row

    def of_record(self, event: Any) -> tuple[int, int]:
        if event.record not in self.records:
            raise Beyond(UNNAMED)
        return self.records[event.record]

    def _marker_appended(self, event: Any) -> Iterator[Row]:
        row = self.row(event, partition=event.partition, number=self.own(event), term=event.coordinator_epoch)
        yield {**row, "cause": EARLIER} if self.is_earlier(event) else row

    def is_earlier(self, event: Any) -> bool:
        """Return whether an event in a partition is of a producer id before the newest there. A partition remembers
        each producer id by itself, and the model remembers the newest, under which alone something is open."""
        rank, newest = self.ranks[event.producer_id], self.newest.get(event.partition, 0)
        self.newest[event.partition] = max(rank, newest)
        return rank < newest

    def _record_acked(self, event: Any) -> Iterator[Row]:
        txn, partition = self.of_record(event)
        yield self.row(event, txn=txn, partition=partition)

    _record_read = _record_acked


class Ids:
    """An `Ids` translates the events of a system, of one id alone if that is given."""

    def __init__(self, max_epoch: int, only: int | None) -> None:
        self.max_epoch, self.only = max_epoch, only
        self.ids: dict[int, OneId] = {}
        self.loaded: list[Any] = []  # the events of coordinators that took over
        self.of_request: dict[int, int] = {}
        self.of_record: dict[int, int] = {}
        self.of_pair: dict[int, int] = {}  # by producer id
        self.of_client: dict[int, int] = {}

    def translate(self, events: Sequence[Any]) -> Iterator[tuple[int, Row]]:
        owners = [self.owner(event) for event in events]
        for place, event in enumerate(events):
            loads = event.kind == "coordinator_loaded"
            for txn_id in [*self.ids] if loads else [owners[place]]:
                if txn_id < 0 or (self.only is not None and txn_id != self.only):
                    continue
                one = self.ids.get(txn_id)
                if one is None:
                    one = self.ids[txn_id] = OneId(txn_id, self.max_epoch)
                    for before in self.loaded:
                        yield from ((place, row) for row in one.rows(before))
                behind = (e for at, e in enumerate(events[place + 1 :], place + 1)
                          if owners[at] == txn_id or e.kind == "coordinator_loaded")  # fmt: skip
                one.later = next(behind, None) if event.kind == "txn_logged" else None
                if one.later is not None and one.later.kind == "txn_ended":
                    one.later = next(behind, None)
                yield from ((place, row) for row in one.rows(event))
            self.loaded += [event] if loads else []

    def owner(self, event: Any) -> int:
        """Return the transactional id of an event, -1 where it has none."""
        named = (
            (self.of_record, event.record), (self.of_request, event.request), (self.of_pair, event.producer_id),
            (self.of_client, event.client),
        )  # fmt: skip
        txn_id: int = event.txn_id
        if txn_id < 0:
            return next((of[key] for of, key in named if key in of), -1)
        for of, key in (*named, (self.of_pair, event.next_producer_id)):
            if key >= 0:
                of.setdefault(key, txn_id)
        return txn_id


# The table

CLIENT, TXN, RECORD = {"c": "client"}, {"t": "txn"}, {"t": "txn", "p": "partition"}
MARKER = {"p": "partition", "e": "number", "commit": "commit", "k": "term"}
ENDS = {"marker": "number", "to": "to"}


def _good(s, e):
    return e.error == 0


def _outcome(e):
    return when(e.commit, Outcome.COMMIT, Outcome.ABORT)


def _because(cause):
    """Return the condition that this is the cause of a record, or says who has sent an EndTxn."""
    return lambda s, e: e.cause == cause


def _keeps(e):
    return (e.cause == FIND) | (e.cause == RETAIN)


def _adds(s, e):
    return (e.cause == ADD) & (s.fate[e.txn, e.partition] == Fate.ABSENT)


def _repeats(s, e):
    """Decide whether an EndTxn is answered by which nothing ends now."""
    return (e.error == 0) & e.repeats


def _fenced(e):
    return (e.error == EPOCH) | (e.error == MAPPING_OF_ID) | (e.error == FENCED)


def _may_be_repeated(s, e):
    """Decide whether an EndTxn is that by which the last transaction ended, and no client was initialised since."""
    of_finder = (s.held[e.client] == s.last) & (s.last > 0) & (s.wants[e.client] == s.outcome)
    of_owner = (s.number[e.txn] == s.last) & (s.choice[e.txn] == s.outcome)
    ended = (s.phase == Phase.IDLE) & (s.outcome == _outcome(e))
    return ended & when(e.cause == FOUND, of_finder, of_owner)


def _is_current(s, e):
    return s.is_current(e.partition, e.number, e.commit) & (e.term == s.term)


def _is_same(s, e):
    return implies(s.begun[e.txn], s.number[e.txn] == e.number)


TABLE = (
    Observation("init_taken", before=lambda s, e: s.given[e.client, e.number] | (s.held[e.client] == e.number),
                rule="txn.2"),
    Observation(
        "txn_recovered",
        before=lambda s, e: (s.held[e.client] == e.number) & (s.found[e.client] == e.own), rule="939.2",
    ),
    Observation(
        "record_sent",
        (Do("begin", {**CLIENT, **TXN, "e": "number"}, when=lambda s, e: ~s.begun[e.txn]),
         Do("send", RECORD, when=lambda s, e: ~s.sent[e.txn, e.partition])),
        before=_is_same, after=lambda s, e: ~s.ready[e.txn], rule="939.12",
    ),
    Observation("txn_prepared", (Do("prepare_transaction", TXN),), before=_is_same, rule="939.11"),
    Observation(
        "decision_written",
        (Do("decide_commit", TXN, when=lambda s, e: e.commit), Do("decide_abort", TXN, when=lambda s, e: ~e.commit)),
        before=_is_same, rule="939.14",
    ),
    Observation("decision_read", (Do("complete_transaction", CLIENT),),
                after=lambda s, e: s.wants[e.client] == _outcome(e), rule="939.15"),
    Observation(
        "complete_called",
        before=lambda s, e: when(
            e.cause == FOUND, s.wants[e.client] == _outcome(e), s.decision[e.txn] == _outcome(e)
        ),
        rule="939.13",
    ),
    Observation(
        "end_sent",
        (Do("commit", TXN, when=lambda s, e: (e.cause == OWNER) & (s.choice[e.txn] == Outcome.NONE) & e.commit),
         Do("abort", TXN, when=lambda s, e: (e.cause == OWNER) & (s.choice[e.txn] == Outcome.NONE))),
        before=lambda s, e: when(
            e.cause == FOUND, (s.wants[e.client] == _outcome(e)) & (s.held[e.client] == e.number), _is_same(s, e)
        ),
        after=lambda s, e: implies(e.cause == OWNER, s.choice[e.txn] == _outcome(e)), rule="939.13",
    ),
    Observation(
        "end_taken",
        (Do("learn", TXN, when=_because(OWNER)),
         Do("learn_completed", CLIENT, when=_because(FOUND))),
        before=lambda s, e: when(e.cause == FOUND, s.next[e.client], s.follows[e.txn]) == e.number, rule="txn.9",
    ),
    Observation(
        "txn_logged",
        (
            Do("initialize", {**CLIENT, "to": "number"}, when=_because(INIT)),
            Do("initialize_two_phase", {**CLIENT, "to": "number"}, when=_because(INIT_TWO_PHASE)),
            Do("restart", CLIENT, when=lambda s, e: _keeps(e) & e.asks),
            Do("restart_without", CLIENT, when=lambda s, e: _keeps(e) & ~e.asks),
            Do("find_completed", {**CLIENT, "to": "number"}, when=_because(FIND)),
            Do("retain", {**CLIENT, "to": "number"}, when=_because(RETAIN)),
            Do("ask", RECORD, when=_adds),
            Do("verify", RECORD, when=_because(ADD)),
            Do("end", {**TXN, **ENDS}, when=_because(OWNER)),
            Do("end_retained", {**CLIENT, **ENDS}, when=_because(FOUND)),
            Do("force_abort", ENDS, when=lambda s, e: (e.cause == FENCE) & s.two_phase),
            Do("take_over", ENDS, when=lambda s, e: (e.cause == FENCE) & (s.phase == Phase.ONGOING)),
            Do("complete", {}, when=_because(COMPLETE)),
        ),
        after=lambda s, e: (s.term == e.term) & when(
            s.phase == Phase.PREPARED,
            (s.marker_epoch == e.number) & (s.epoch == e.to) & (s.outcome == _outcome(e)),
            (s.epoch == e.own) & implies(s.phase == Phase.ONGOING, s.client_epoch() == e.to),
        ),
        rule="939.3",
    ),
    Observation("txn_ended", before=lambda s, e: (s.ended == e.number) & (s.outcome == _outcome(e)), rule="txn.8"),
    Observation(
        "init_handled",
        before=lambda s, e: (s.client_epoch() == e.number) & when(
            s.retained, (s.held[e.client] == e.number) & (s.epoch == e.own), e.own == 0
        ),
        rule="939.2",
    ),
    Observation(
        "end_handled",
        (Do("answer_again", TXN, when=lambda s, e: (e.cause == OWNER) & _repeats(s, e)),
         Do("end_retained_again", CLIENT, when=lambda s, e: (e.cause == FOUND) & _repeats(s, e))),
        before=lambda s, e: implies(_fenced(e), (s.client_epoch() != e.own) & ~_may_be_repeated(s, e)),
        after=lambda s, e: implies(
            e.error == 0, when(e.cause == FOUND, s.next[e.client], s.follows[e.txn]) == e.number
        ),
        rule="939.5",
    ),
    Observation(
        "partition_checked",
        (Do("ask", RECORD, when=lambda s, e: _good(s, e) & (s.fate[e.txn, e.partition] == Fate.ABSENT)),
         Do("verify", RECORD, when=_good)),
        before=lambda s, e: implies(_fenced(e), s.epoch != e.number), rule="txn.6",
    ),
    Observation("timed_out", before=lambda s, e: ~s.two_phase & (s.epoch == e.number), rule="939.1"),
    Observation("termination_begun", before=lambda s, e: ~e.keep & (s.epoch == e.number), rule="939.2"),
    Observation("coordinator_loaded", (Do("fail_over", {}),), after=lambda s, e: s.term == e.term, rule="txn.19"),
    Observation(
        "batch_appended", (Do("append", RECORD, when=lambda s, e: s.fate[e.txn, e.partition] == Fate.ABSENT),),
        before=lambda s, e: (s.number[e.txn] == e.number) & s.sent[e.txn, e.partition],
        after=lambda s, e: s.fate[e.txn, e.partition] == Fate.OPEN, rule="txn.12",
    ),
    Observation(
        "marker_appended",
        (Do("mark", MARKER, when=lambda s, e: (e.cause != EARLIER) & _is_current(s, e)),
         Do("mark_late", MARKER, when=lambda s, e: (e.cause != EARLIER) & ~_is_current(s, e))),
        before=lambda s, e: s.markers[e.partition, e.number, e.commit, e.term], rule="939.4",
    ),
    Observation("record_acked", before=lambda s, e: s.fate[e.txn, e.partition] != Fate.ABSENT, rule="txn.P4"),
    Observation("record_read", before=lambda s, e: s.fate[e.txn, e.partition] == Fate.COMMITTED, rule="txn.17"),
)  # fmt: skip

MODELS = {"retained": TwoPhase, "older-writer": OlderWriter, "not-retained": TwoPhase}
KAFKAS_LAST = 32_767


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the number of partitions, the epochs of a producer id, and the id that is followed, if it is one alone."""
    found = {"max_epoch": config.get("max_epoch", KAFKAS_LAST)}
    found |= {name: config[name] for name in ("partitions", "id") if config.get(name) is not None}
    return found | (ROOM if "id" in found else {})


def _translator(variant: str, given: Mapping[str, int]) -> Translator:
    return Ids(given["max_epoch"], given.get("id"))


MAPPING = EventMapping(
    TWO_PHASE,
    models=MODELS,
    columns={
        "client": Client, "txn": Txn, "partition": Partition, "number": Epoch, "to": Epoch, "own": Epoch,
        "commit": Bool, "keep": Bool, "asks": Bool, "repeats": Bool, "term": Term, "error": Int, "cause": Int,
    },
    observations=dict.fromkeys(MODELS, TABLE),
    names={"client": (), "txn": ()},
    given=_given,
    translator=_translator,
    additional=("max_epoch", "id"),
    lanes="txn_id",
)  # fmt: skip
