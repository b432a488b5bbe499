"""This module guesses the steps that no event of a driven run reports, and the numbers that name them.

A pair of producer id and epoch is the one number that the model has for it. A producer id has the epochs 0 … last, and
one more that only a fence may carry; so the first id has the numbers 1 … last + 2, and each further id, in the order in
which they appear, the next ones. 0 is no pair.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fencepost.model.language import implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Phase
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.properties.conformance_spec import UNKNOWN, Allowed, Beyond, PlainInterpreter, Row, Seen, State
from fencepost.properties.driving import Event, Made, read, reader_of
from fencepost.properties.history.vocabulary import ABSENT as NO_VALUE
from fencepost.properties.transactions.events import kinds
from fencepost.properties.transactions.events.driven import (
    BY_VARIANT,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    RECORD,
    TXN,
    by_init,
)
from fencepost.properties.transactions.events.driven import ONGOING as MODEL_ONGOING
from fencepost.properties.transactions.events.kinds import quiet
from fencepost.properties.transactions.interface import READERS, Message

EXPIRY_MS = 7 * 24 * 3_600_000
"""Ids expire in days (transactional.id.expiration.ms), if nothing else is configured."""

# Members of the model's enumerations, as a state has them: numbers.

IDLE, ONGOING, PREPARED = range(3)  # Phase
NO_OUTCOME, COMMIT, ABORT = range(3)  # Outcome
ABSENT, OPEN, COMMITTED, ABORTED = range(4)  # Fate
NOTHING, INIT, ADD, END, FENCE = range(5)  # Pending


class Numbering:
    """A `Numbering` numbers the pairs of one history; ``last`` is the largest epoch that is ever handed out (32766 in
    Kafka)."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.ranks: dict[int, int] = {}  # of producer ids

    def number(self, producer_id: int, epoch: int) -> int:
        """Return the pair's number; a producer id that was not seen before gets the next numbers."""
        if producer_id < 0 or epoch < 0:
            return 0
        return self.base(self.ranks.setdefault(producer_id, len(self.ranks))) + epoch

    def next_base(self, producer_id: int) -> int:
        return self.base(self.ranks.get(producer_id, len(self.ranks)) + 1)

    def base(self, rank: int) -> int:
        return 1 + rank * (self.last + 2)

    def rank(self, number: int) -> int:
        return (number - 1) // (self.last + 2)

    def meet(self, producer_id: int, number: int) -> None:
        """Place a producer id that appears for the first time where the model has this number; unseen ids may have been
        in use before it."""
        rank = self.rank(number)
        if producer_id >= 0 and producer_id not in self.ranks and number > 0 and rank not in self.ranks.values():
            self.ranks[producer_id] = rank

    def after_prepare(self, number: int, bumps: bool) -> int:
        """Return the coordinator's number when a Prepare record with this one is in the log: the next id's first, where
        the epochs of this one are used up (v2, ``bumps``)."""
        return number + int(bumps and (number - 1) % (self.last + 2) == self.last + 1)


def stand_for(txn_id: int, clients: Mapping[int, int], txns: Mapping[int, int], numbering: Numbering) -> str:
    """Return what the model's numbers stand for, in words."""
    found = [f"client {number} is {name}" for name, number in clients.items()]
    found += [f"transaction {number} is {name}" for name, number in txns.items()]
    for producer_id, rank in sorted(numbering.ranks.items(), key=lambda pair: pair[1]):
        base = numbering.base(rank)
        found.append(f"numbers {base} to {base + numbering.last + 1} are epochs of producer id {producer_id}")
    return f"in the model of transactional id {txn_id}: {'; '.join(found)}"


# These classes follow the requests of one cluster's clients, which of them are in flight, and which the coordinator has
# not answered.
#
# The driver of the cluster observes all of it: what clients send, and what the network has in flight.

COMPOSITE = frozenset({"settle", "probe", "progress"})
"""`COMPOSITE` lists calls that make many other calls."""
COORDINATED = ("init", "add", "end", "check")
SENT = {"init_sent": "init", "add_sent": "add", "record_sent": "produce", "end_sent": "end"}


class Request(NamedTuple):
    """A `Request` is what is in a request, in the model's terms; -1 and 0 where something does not apply."""

    kind: str
    client: int
    txn: int
    partition: int
    record: int
    number: int
    next_base: int
    named: int
    commit: bool


class Requests:
    """`Requests` maps numbers of requests to their content. ``current`` has the InitProducerId to which a client still
    takes the answer; ``records`` the (transaction, partition) of each record."""

    def __init__(self, numbering: Numbering) -> None:
        self.numbering = numbering
        self.sent: dict[int, Request] = {}
        self.current: dict[int, int] = {}
        self.records: dict[int, tuple[int, int]] = {}
        self.flying: Counter[tuple[str, int]] = Counter()
        self.flew: Counter[tuple[str, int]] = Counter()  # the same before the last call
        self.messages: tuple[Message, ...] = ()  # the same, one by one
        self.new: list[int] = []  # sent in the last call
        self.answered: set[tuple[str, int]] = set()  # in the last call
        self.unanswered: set[tuple[str, int]] = set()  # arrived at the coordinator
        self.waited: set[tuple[str, int]] = set()  # the same, before the last call

    def note(self, event: Event) -> None:
        kind = SENT.get(read(event, "kind"))
        if kind is None:
            return
        number, pair = read(event, "request"), (read(event, "producer_id", -1), read(event, "epoch", -1))
        client, txn, record = read(event, "client"), read(event, "txn", -1), read(event, "record", -1)
        own = self.numbering.number(*pair)
        self.new.append(number)
        self.sent[number] = Request(
            kind, client, txn, read(event, "partition", -1), record, own, self.numbering.next_base(pair[0]),
            own if kind == "init" else 0, read(event, "outcome", -1) == 1,
        )  # fmt: skip
        if kind == "init":
            self.current[client] = number
        if record >= 0:
            self.records[record] = (txn, read(event, "partition"))

    def about(self, *kinds: str) -> list[int]:
        """Return the numbers of requests of these kinds that may have reached the coordinator in a call that delivers
        many: they were in flight or unanswered before it, or were sent in it."""
        before = {
            n for kind, n in (*self.flew, *self.waited) if kind in (*kinds, "produce" if "check" in kinds else "")
        }
        new = [
            n for n in self.new if self.sent[n].kind in kinds or ("check" in kinds and self.sent[n].kind == "produce")
        ]
        return sorted({*(n for n in before if n in self.sent), *new})

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        name, message = made.call.name, made.message
        flying = self.flying if tuple(messages) == self.messages else Counter([(m[1], m[4]) for m in messages])
        new = () if flying is self.flying else [key for key, count in flying.items() if count > self.flying[key]]
        self.answered = {(kind.removesuffix("_answer"), n) for kind, n in new if kind.endswith("_answer")}
        self.flew, self.flying, self.waited, self.new = self.flying, flying, set(self.unanswered), []
        self.messages = tuple(messages)
        if name == "deliver" and message is not None and message[1] in COORDINATED:
            if (message[1], message[4]) not in self.answered:
                self.unanswered.add((message[1], message[4]))
        elif name in ("fail_over", *COMPOSITE):
            self.unanswered.clear()
        else:
            self.unanswered -= self.answered

    def waiting(self) -> tuple[str, int] | None:
        """Return the request that is answered by the end of the append that is under way."""
        return min(self.waited, default=None)

    def others_wait(self, delivered: bool) -> bool:
        """Return whether a request is being written to the log; with ``delivered`` the call delivers another one."""
        return bool(self.waited if delivered else self.waited - self.answered)


# An event of a driven cluster belongs to the transactional id that it names, or else to that of its transaction,
# record, request, client or producer id.

NAMES = ("txn", "record", "request", "client", "producer_id")
"""`NAMES` lists the columns with names that belong to one transactional id; the first ones are more certain."""
OF_ALL = frozenset({"coordinator_loaded", "leader_changed", "stable_moved", "fetched", "offset_fetched"})
"""`OF_ALL` lists the kinds of event that concern every transactional id."""
ALL = -1
_NAMED = reader_of(dict.fromkeys(("txn_id", *NAMES), NO_VALUE))


class Owners:
    """`Owners` learns from the events of one cluster, in their order, which transactional id owns a name. ``unknown``
    is the answer where nothing is known."""

    def __init__(self, unknown: int = 0) -> None:
        self.unknown = unknown
        self._known: dict[str, dict[int, int]] = {name: {} for name in NAMES}

    def of_event(self, event: Event) -> int:
        """Return the transactional id that an event belongs to; `ALL` if it concerns every one."""
        kind, owner, *values = _NAMED(event)
        if kind in OF_ALL:
            return ALL
        if owner < 0:
            for known, value in zip(self._known.values(), values, strict=True):
                if value >= 0 and (found := known.get(value, -1)) >= 0:
                    return found
            return self.unknown
        for (name, known), value in zip(self._known.items(), values, strict=True):
            if value >= 0 and (name != "client" or value < READERS):
                known.setdefault(value, owner)
        return int(owner)

    def of_message(self, message: Message) -> int:
        """Return the transactional id that a message belongs to; `ALL` if that is not known, as for a marker."""
        return ALL if message[1].startswith("marker") else self._known["request"].get(message[4], ALL)

    def among(self, messages: Sequence[Message], txn_id: int) -> list[Message]:
        known = self._known["request"]
        return [m for m in messages if known.get(m[4], ALL) in (ALL, txn_id) or m[1].startswith("marker")]


# Each call of the interface allows these steps, observed or not.
#
# A driver knows what it does itself: a fail-over happens in ``fail_over`` and nowhere else. No implementation emits
# four kinds, because nothing leaves the coordinator then: that it has begun to write what a request asked for
# (``init_begun``, ``add_begun``, ``end_begun``, ``check_begun``).

BEGUN = {"init": "init_begun", "add": "add_begun", "end": "end_begun", "check": "check_begun"}
HANDLED = {"init": "init_handled", "add": "add_handled", "end": "end_handled", "check": "partition_checked"}
WRITTEN = ("batch_appended", "batch_duplicate", "batch_refused")
CALLS = {
    **{
        f"deliver {kind}": Allowed(once=(BEGUN[kind], HANDLED[kind]), must=True)
        for kind in ("init", "add", "end", "check")
    },
    "deliver produce": Allowed(once=("check_asked", *WRITTEN), must=True),
    "deliver marker": Allowed(once=("marker_appended", "marker_refused"), must=True),
    "deliver check_answer": Allowed(once=WRITTEN),
    **{f"deliver {kind}_answer": Allowed() for kind in ("init", "add", "produce", "end", "marker")},
    **dict.fromkeys(
        ("drop", "init", "begin", "send", "commit", "abort", "restart_client", "fence", "change_leader", "read",
         "fetch_offset", "in_pieces", "leave", "come_back",
         "elect_unclean"),
        Allowed(),
    ),
    "log_append": Allowed(once=("txn_logged", "append_failed", "id_expired"), must=True),
    "fail_over": Allowed(once=("coordinator_loaded",), often=("txn_logged", "id_expired"), must=True),
    "advance": Allowed(often=("timed_out",)),
    "expire": Allowed(often=("timed_out",)),
    "forget": Allowed(often=("timed_out",)),
    **dict.fromkeys(COMPOSITE, Allowed()),  # followed where everything is observed
}  # fmt: skip


def _may_begin(s, e):
    return quiet(s) & ~e.busy


_BEGINNINGS = (
    Observation(
        "init_begun",
        (
            *by_init("fence_first", lambda s, e: (s.phase == Phase.ONGOING) & (s.pending == Pending.NOTHING)),
            # A retry that names the epoch before is written to the log as well; to the model it is nothing new.
            *by_init(
                "ask_for_epoch",
                lambda s, e: (
                    (s.phase == Phase.IDLE)
                    & (s.pending == Pending.NOTHING)
                    & ~(~s.unknown & (e.named != 0) & (e.named == s.remembers) & (e.named != s.live()))
                ),
            ),
        ),
        before=lambda s, e: (
            _may_begin(s, e)
            & implies(
                s.phase == Phase.IDLE, s.unknown | (e.named == 0) | (e.named == s.live()) | (e.named == s.remembers)
            )
        ),
        rule="txn.5",
    ),
    Observation("add_begun", (Do("ask_to_add_partition", RECORD),), before=_may_begin, rule="txn.5"),
    Observation("check_begun", (Do("ask_to_verify", RECORD),), before=_may_begin, rule="txn.5"),
    Observation("end_begun", (Do("ask_to_end", TXN),), before=_may_begin, rule="txn.5"),
)

OBSERVED_AND_HIDDEN = {variant: (*kinds, *_BEGINNINGS) for variant, kinds in BY_VARIANT.items()}
"""`OBSERVED_AND_HIDDEN` is `observations.BY_VARIANT` with the four kinds that no implementation emits."""


# What an implementation does not emit is filled in from a state of the model: the pending transition decides what is
# written to the log next, and the requests of clients are known.

CODES = {
    "init_handled": (kinds.NONE, kinds.CONCURRENT, kinds.FENCED),
    "add_handled": (kinds.NONE, kinds.CONCURRENT, kinds.FENCED, kinds.INVALID_MAPPING),
    "end_handled": (kinds.NONE, kinds.CONCURRENT, kinds.FENCED, kinds.INVALID_MAPPING, kinds.INVALID_STATE),
    "partition_checked": (
        kinds.NONE, kinds.CONCURRENT, kinds.FENCED, kinds.INVALID_MAPPING, kinds.ABORTABLE,
    ),
    "marker_refused": (kinds.OLD_EPOCH, kinds.COORDINATOR_FENCED),
}  # fmt: skip
"""`CODES` lists, for each kind, the codes that need no fault, because faults come with calls."""


def whose(state: State) -> dict[str, Any]:
    names = (("client", "of_client"), ("txn", "of_txn"), ("partition", "of_partition"))
    return {column: -1 if state[name] is None else state[name] for column, name in names}


def logged(state: State, last: int, bumps: bool) -> Iterator[dict[str, Any]]:
    """Return the record that is written next, if one is: its state and number, and ``to``."""
    epoch, first = state["epoch"], state["base"]
    reserved = first + last + 1
    outcome = {COMMIT: (PREPARE_COMMIT, COMPLETE_COMMIT), ABORT: (PREPARE_ABORT, COMPLETE_ABORT)}

    def record(kind: int, number: int) -> dict[str, Any]:
        prepared = bumps and kind in (PREPARE_COMMIT, PREPARE_ABORT) and number == reserved
        return {"logged": kind, "number": number, "to": number + int(prepared), "term": state["term"]}

    pending = state["pending"]
    if pending == INIT:
        live = epoch + int(state["ahead"])
        yield record(EMPTY, reserved + 1 if live >= first + last else live + 1)
    elif pending == ADD:
        yield record(MODEL_ONGOING, epoch)
    elif pending == END:
        choice = state["choice"].get((state["of_txn"],), NO_OUTCOME)
        if choice in outcome:
            yield record(outcome[choice][0], epoch + int(bumps))
    elif pending == FENCE:
        yield record(PREPARE_ABORT, min(epoch + 1 + int(bumps), reserved))
    elif state["phase"] == PREPARED:
        yield record(outcome[state["outcome"]][1], epoch)
    elif state["phase"] == IDLE and state["remembers"]:
        yield record(EMPTY, epoch)


def answer(row: Row, before: State, state: State) -> tuple[int, int]:
    """Return the answer to a client when a record is in the log: error and number."""
    if before["pending"] == FENCE:
        return kinds.CONCURRENT, 0
    return kinds.NONE, state["epoch"]


def markers(state: State, partition: int) -> Iterator[dict[str, Any]]:
    """Yield every marker that may arrive at the partition."""
    for p, number, commit, term in sorted(state["markers"]):
        if p == partition:
            yield {"number": number, "commit": commit, "term": term}


def unknown(row: Mapping[str, Any], column: str) -> bool:
    return row[column] is UNKNOWN


# These choices are open when an event is read as a step of the model: which request was behind it, and what was logged
# unobserved.


class Choosing(PlainInterpreter):
    """A `Choosing` is what is known of one cluster, and yields the rows that this leaves open.

    ``bounds`` is how much of everything the reading of the model has room for. The model has a single transactional id,
    ``txn_id``; where there are others (``ids``), their calls and events are left out. The others have an effect in two
    places: readers get less, which is not in the model, and their pending offsets are a reason for the answer that no
    offset is stable (column ``others``).
    """

    def __init__(self, config: Mapping[str, Any], bounds: Mapping[str, int]) -> None:
        self.bounds, self.asks, self.bumps = bounds, config["mode"] != "v1", config["mode"] == "v2"
        self.data: int = config["partitions"]
        self.timeout_ms: int = config.get("transaction_timeout_ms", 60_000)
        self.expiration_ms: int = config.get("expiration_ms", EXPIRY_MS)
        self.numbering, self.cut = Numbering(config["last"]), bool(config["cut"])
        self.requests = Requests(self.numbering)
        self.began_ms = self.now_ms = self.calls = self.faults = self.fail_overs = 0
        self.dying = False  # it may be under way to the log that the id is forgotten
        self.observed: frozenset[str] = frozenset()
        self.made: Made | None = None
        self.idle = frozenset({"log_append", "init", "begin", "send", "commit", "abort", "fence"})  # where False
        self.txn_id, self.ids, self.owners = config.get("txn_id", 0), config.get("ids", 1), Owners()
        self.own: tuple[Event, ...] = ()  # of the last call
        self.is_foreign = False  # the last call was about another transactional id
        self.away: set[int] = set()  # partitions without a leader
        self.forgets = False  # partitions may have forgotten producers
        self.leaders: Counter[int] = Counter()  # by partition: how often it has changed
        self.questions: dict[tuple[int, int], int] = {}  # of a transaction's record: which leader asked
        self.appended: set[int] = set()
        self.marker_calls: dict[int, int] = {}  # by number of the request: the call that sent it

    def is_composite(self) -> bool:
        assert self.made is not None
        return self.made.call.name in COMPOSITE

    def _of_request(self, number: int) -> dict[str, Any]:
        request: Request = self.requests.sent[number]
        found = {name: getattr(request, name) for name in ("client", "txn", "partition", "number", "next_base", "named",
                                                           "commit")}  # fmt: skip
        fresh = self.questions.get((request.txn, request.partition)) != self.leaders[request.partition]
        counts = self.requests.current.get(request.client) == number
        return {**found, "counts": counts, "fresh": fresh, "late": False, "request": number}

    def _require_epochs(self, state: State) -> None:
        if self.cut and state["epoch"] + 2 >= state["base"] + self.numbering.last:
            raise Beyond("there is no room for so many epochs")

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        kind = seen.kind
        if kind in BEGUN.values():
            yield from self._beginnings(state, kind, row)
        elif kind in ("txn_logged", "append_failed"):
            self._require_epochs(state)
            yield from self._appends(state, kind, {**row, **whose(state)})
        elif not row["hidden"]:
            yield row
        elif kind == "timed_out":
            yield {**row, "number": state["epoch"] + int(state["ahead"])}
        elif kind == "coordinator_loaded":
            yield {**row, "term": state["term"] + 1}
        elif kind.startswith("marker_"):
            for marker in markers(state, row["partition"]):
                after = self.numbering.base(self.numbering.rank(marker["number"]) + 1)
                for error in CODES.get(kind, (0,)):
                    yield {**row, "next_base": after, **marker, "error": error}
        elif kind in CODES:
            for error in CODES[kind]:
                number = state["epoch"] if kind == "init_handled" or (kind == "end_handled" and self.bumps) else 0
                own = row["number"] if kind in ("add_handled", "partition_checked") else number
                yield {**row, "error": error, "number": own}
        else:
            yield row

    def _beginnings(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        if row["request"] in self.requests.sent:
            yield from self._asked_by(state, row["request"], {**row, "busy": self.requests.others_wait(delivered=True)})

    def _asked_by(self, state: State, number: int, row: Row) -> Iterator[Row]:
        """Yield rows for a request that begins; the answer to a copy may be the one that is taken, or not."""
        full = {**row, **self._of_request(number)}
        client = full["client"]
        answered = state["asking"].get((client,), False) and state["answered"].get((client,), 0)
        for late in ((False, True) if full["counts"] else (True,)) if answered else (False,):
            yield {**full, "error": 0, "late": late}

    def _causes(self, state: State, row: Row) -> Iterator[Row]:
        """Yield the requests that may be behind a record whose beginning was not observed."""
        own = {name: row[name] for name in ("number", "next_base", "to")}
        kinds: tuple[str, ...] = {EMPTY: ("init",), MODEL_ONGOING: ("add", "check")}.get(row["logged"], ())
        if row["logged"] in (PREPARE_COMMIT, PREPARE_ABORT):
            kinds = ("end",)
        found = [full for n in self.requests.about(*kinds) for full in self._asked_by(state, n, row)]
        if row["logged"] == PREPARE_ABORT:
            fences = (full for n in self.requests.about("init") for full in self._asked_by(state, n, row))
            found += [{**full, "by_owner": False, "of_init": True} for full in fences]
        yield from ({**full, **own} for full in found or [row])

    def _appends(self, state: State, kind: str, row: dict[str, Any]) -> Iterator[Row]:
        assert self.made is not None
        call = self.made.call
        if not row["hidden"] and self.is_composite() and state["pending"] == NOTHING:
            yield from self._causes(state, row)
        elif not row["hidden"]:
            yield row
        elif kind == "append_failed":
            if call.name == "log_append" and not call.get("ok"):
                yield from ({**row, **record} for record in logged(state, self.numbering.last, self.bumps))
        elif call.get("ok", call.get("durable", True)):
            if state["pending"] == NOTHING and (asked := self.requests.waiting()) is not None and asked[0] == "init":
                row |= self._of_request(asked[1])
            yield from ({**row, **record} for record in logged(state, self.numbering.last, self.bumps))
