"""This module translates calls and events of brokers over the wire to steps of the model.

With each state that a broker seen from outside may be in it stores the answers on their way, and how far the sequence
numbers of each partition have advanced.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from fencepost.model.transactions.detailed.releases import OfAnyRelease
from fencepost.properties.conformance_spec import (
    UNKNOWN,
    Allowed,
    Beyond,
    FalseConjunct,
    Followed,
    PlainInterpreter,
    Row,
    Seen,
    State,
    Take,
)
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.transactions.events import kinds
from fencepost.properties.transactions.events.driven import EMPTY, PREPARE_ABORT, PREPARE_COMMIT
from fencepost.properties.transactions.events.driven import ONGOING as MODEL_ONGOING
from fencepost.properties.transactions.events.wire import BY_VARIANT, COLUMNS, OLD_OR_LATER
from fencepost.properties.transactions.interface import READERS, Message
from fencepost.properties.transactions.translator import guessing
from fencepost.properties.transactions.translator.driven import (
    ANSWERED,
    IGNORED,
    LAST,
    LATE_RECORD,
    MODELS,
    NOT_THERE,
    READ,
    Answer,
    TransactionsInterpreter,
    read_by,
)
from fencepost.properties.transactions.translator.guessing import (
    ABORTED,
    ABSENT,
    CALLS,
    COMMIT,
    COMMITTED,
    COMPOSITE,
    END,
    FENCE,
    IDLE,
    INIT,
    NO_OUTCOME,
    ONGOING,
    PREPARED,
)
from fencepost.properties.transactions.translator.guessing import ONGOING as OPEN

WINDOW = 5  # batches that a leader recognises


class Lane(NamedTuple):
    """A `Lane` is what a partition knows of its producer's records: ``number`` of the pair that wrote last, ``window``
    of its latest sequence numbers."""

    partition: int
    number: int
    window: tuple[int, ...]

    def takes(self, number: int, sequence: int) -> bool:
        return sequence == (self.window[-1] + 1 if number == self.number else 0)

    def has(self, number: int, sequence: int) -> bool:
        """Return whether the record is one of the last five."""
        return number == self.number and sequence in self.window


class Memory(NamedTuple):
    """A `Memory` is stored with one state. ``asked`` has partitions whose leader has asked the coordinator in vain, and
    the lowest sequence number for which it did: until a record is written there, no higher one is. ``open_ms`` is since
    when a transaction is open, where that may time out; else -1."""

    answers: tuple[Answer, ...] = ()
    lanes: tuple[Lane, ...] = ()
    asked: tuple[tuple[int, int], ...] = ()
    open_ms: int = -1

    def lane(self, partition: int) -> Lane | None:
        return next((lane for lane in self.lanes if lane.partition == partition), None)

    def with_answer(self, answer: Answer) -> "Memory":
        return self._replace(answers=tuple(sorted({*self.answers, answer})))

    def asking(self, partition: int, sequence: int) -> "Memory":
        before = dict(self.asked)
        return self._replace(
            asked=tuple(sorted({**before, partition: min(before.get(partition, sequence), sequence)}.items()))
        )

    def is_behind_question(self, partition: int, sequence: int) -> bool:
        return dict(self.asked).get(partition, sequence) < sequence

    def written(self, partition: int, number: int) -> "Memory":
        """Return the memory after a record or a marker was written; of older epochs only the fact that they are older
        counts."""
        return self._replace(
            asked=tuple(entry for entry in self.asked if entry[0] != partition),
            lanes=tuple(x for x in self.lanes if x.partition != partition or x.number >= number),
        )

    def with_record(self, partition: int, number: int, sequence: int) -> "Memory":
        """Return the memory after a record was written; a sequence number that is known already changes nothing."""
        lane = self.lane(partition)
        if sequence < 0 or (lane is not None and lane.has(number, sequence)):
            return self
        before = lane.window if lane is not None and lane.number == number else ()
        new = Lane(partition, number, (*before, sequence)[-WINDOW:])
        return self._replace(lanes=tuple(sorted((*(x for x in self.lanes if x.partition != partition), new))))

    def only(self, requests: Collection[tuple[str, int]]) -> "Memory":
        if all(a[:2] in requests for a in self.answers):
            return self
        return self._replace(answers=tuple(a for a in self.answers if a[:2] in requests))


NOTHING_REMEMBERED = Memory()


# Each call allows a broker that acts by itself to serve what the call delivers, and to go on with what is under way.
#
# With ``collapse`` the proxy that carries requests to the broker repeats a request whose answer only asks for that, so
# that one delivery may be served more than once; with ``timeouts`` transactions may time out at any moment.

SERVED = {
    "init": ("init_given", "init_fenced", "init_refused", "unanswered"),
    "add": ("add_done", "add_refused", "unanswered"),
    "produce": ("record_written", "record_added", "record_refused", "unanswered"),
    "end": ("end_done", "end_refused", "unanswered"),
}
"""`SERVED` maps each kind of request to the ways in which it may be served."""

SERVICE = {kind: request for request, served in SERVED.items() for kind in served if kind != "unanswered"}
"""`SERVICE` maps each way in which a request may be served to the kind of request."""

IN_PASSING = {"init": ("fenced_before",)}
"""`IN_PASSING` lists changes that happen although the answer is that the request has to be tried again, which it then
is."""


def calls(collapse: bool, timeouts: bool) -> Mapping[str, Allowed]:
    """Return what each call allows, by name of the call."""
    uncalled = ("marked", "completed", *(("timed_out",) if timeouts else ()))
    again = IN_PASSING if collapse else {}
    return {
        **{
            f"deliver {kind}": Allowed(served, (*uncalled, *again.get(kind, ())), must=True)
            for kind, served in SERVED.items()
        },
        **{f"deliver {kind}_answer": Allowed(often=uncalled) for kind in SERVED},
        **{name: Allowed(often=uncalled) for name in CALLS if not name.startswith("deliver ")},
    }  # fmt: skip


# Brokers that act by themselves may have served a request in these ways, and may have done these further steps.

RECORD_REFUSALS = (
    kinds.OUT_OF_ORDER, kinds.CONCURRENT, kinds.OLD_EPOCH, kinds.INVALID_MAPPING, kinds.ABORTABLE, OLD_OR_LATER,
)  # fmt: skip
REFUSALS = {
    "init_refused": (kinds.CONCURRENT, kinds.FENCED, kinds.NOT_AVAILABLE),
    "add_refused": (kinds.CONCURRENT, kinds.FENCED, kinds.INVALID_MAPPING, kinds.NOT_AVAILABLE),
    "end_refused": (
        kinds.CONCURRENT, kinds.FENCED, kinds.INVALID_MAPPING, kinds.INVALID_STATE, kinds.NOT_AVAILABLE,
    ),
}  # fmt: skip


# The calls and events of brokers that act by themselves are read as rows of the model here.
#
# Nothing of coordinator and partitions is observed. The answers to clients and the reads narrow the states in which the
# model may be, and each state has the content of the answers that are on their way: so an answer, when it arrives, is
# evidence of what the broker did when the request came.

AWAY = frozenset({kinds.LOADING, kinds.NOT_AVAILABLE, kinds.NOT_COORDINATOR})
FENCING = frozenset({kinds.OLD_EPOCH, kinds.FENCED})
"""`FENCING` has two codes; which of them a partition answers depends on whether the partition or the coordinator found
out, and on the request."""
LATER = frozenset({
    kinds.CONCURRENT, kinds.UNKNOWN_PARTITION, kinds.NOT_LEADER, kinds.NOT_ENOUGH_REPLICAS, *AWAY,
})  # fmt: skip
"""`LATER` lists answers after which a producer sends its record again."""
QUICKER = 100  # virtual milliseconds in a real one, where transactions time out over the wire
TAKEN = {**ANSWERED, "record_acked": "produce", "record_failed": "produce"}


class RemoteInterpreter(TransactionsInterpreter):
    """A `RemoteInterpreter` reads one cluster of brokers."""

    taken, answered_rightly = TAKEN, ""

    def __init__(self, config: Mapping[str, Any], bounds: Mapping[str, int]) -> None:
        super().__init__(config, bounds)
        self.timeouts: bool = config["timeouts"]
        self.idle = frozenset()  # brokers do much that no call reveals
        self.began, self.waited_ms, self.before_ms = time.monotonic(), 0, 0
        self.sequences: dict[int, int] = {}  # by request
        self.arrived: set[int] = set()  # records that were delivered before this call
        self.seen: set[tuple[int, int]] = set()  # (reader, record)
        self.wanted: dict[tuple[str, int], int] = {}  # by client or record: the request to which an answer is taken

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        if not row["hidden"]:
            yield row
        elif seen.kind == "unanswered":
            if not self._is_answered():
                yield row
        elif seen.kind in ("marked", "completed", "timed_out"):
            yield from self._uncalled(state, seen.kind, row)
        elif seen.kind == "fenced_before":
            if row["request"] is not UNKNOWN:
                yield from self._served(state, "init_fenced", row)
        elif row["request"] is not UNKNOWN and SERVICE.get(seen.kind) == self._asked():
            yield from self._served(state, seen.kind, row)

    def _asked(self) -> str:
        assert self.made is not None
        return self.made.call.kind if self.made.call.name == "deliver" else ""

    def _is_answered(self) -> bool:
        assert self.made is not None and self.made.message is not None
        return (self.made.call.kind, self.made.message[4]) in self.requests.answered

    def _uncalled(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        if kind == "timed_out":
            if state["phase"] == ONGOING:
                yield from self._fenced(state, row)
        elif state["phase"] != PREPARED:
            return
        elif kind == "completed":
            yield row
        else:
            commit = state["outcome"] == COMMIT
            marker = {"number": state["marker_epoch"], "commit": commit, "term": state["term"]}
            yield from ({**row, **marker, "partition": p} for (p,) in state["parts"] if (p,) not in state["marked"])

    def _served(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        if kind in REFUSALS:
            number = row["number"] if kind == "add_refused" else 0
            yield from ({**row, "error": error, "number": number} for error in REFUSALS[kind])
        elif kind == "init_given":
            self._require_epochs(state)
            if state["phase"] == IDLE:
                yield from self._given(state, row)
        elif kind == "init_fenced":
            if state["phase"] == ONGOING:
                for asked in self._asked_by(state, row["request"], dict(row)):
                    yield from self._fenced(state, {**asked, "error": kinds.CONCURRENT})
        elif kind == "end_done":
            self._require_epochs(state)
            choice = state["choice"].get((row["txn"],), 0)
            pending = {**state, "pending": END, "of_txn": row["txn"]}
            records = list(guessing.logged(pending, self.numbering.last, self.bumps)) if choice else []
            yield from ({**row, **record, "error": 0} for record in records)
        elif kind == "add_done":
            yield {**row, "error": 0}
        else:
            yield from self._records(state, kind, row)

    def _given(self, state: State, row: Row) -> Iterator[Row]:
        [new] = guessing.logged({**state, "pending": INIT}, self.numbering.last, self.bumps)
        for asked in self._asked_by(state, row["request"], dict(row)):
            yield {**asked, "number": state["epoch"] if asked["named"] == state["remembers"] != 0 else new["number"]}

    def _fenced(self, state: State, row: Row) -> Iterator[Row]:
        self._require_epochs(state)
        [record] = guessing.logged({**state, "pending": FENCE}, self.numbering.last, self.bumps)
        for number in (record["number"], *((state["epoch"] + 1,) if self.bumps else ())):
            yield {**row, **record, "number": number, "to": self.numbering.after_prepare(number, self.bumps)}

    def _records(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        """Yield rows for what a partition does with a record; its sequence number decides, which `barred` examines."""
        fate = state["fate"].get((row["txn"], row["partition"]), ABSENT)
        request = self.requests.sent[row["request"]]
        known = state["known"].get((row["partition"],), 0)
        over = fate in (COMMITTED, ABORTED)
        new = request.record not in self.arrived or row["partition"] >= self.data  # an offset is written once more
        if over and not self.bumps and request.number >= known and new:
            raise Beyond(LATE_RECORD)
        if kind == "record_written":
            if not (self.bumps and over):
                yield {**row, "error": 0}
        elif kind == "record_added":
            yield {**row, "error": kinds.OUT_OF_ORDER}
        else:
            wrong = (kinds.INVALID_STATE,) if self.timeouts else ()
            yield from ({**row, "error": error} for error in (*RECORD_REFUSALS, *wrong))

    # Calls

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        if self.made is not None and self.made.call.name == "deliver" and self.made.message is not None:
            request = self.requests.sent.get(self.made.message[4])
            self.arrived |= {request.record} if request is not None else set()
        self.made, self.calls = made, self.calls + 1
        self.before_ms, self.now_ms = self.now_ms, self._clock_ms(made)
        self.requests.called(made, messages)
        if made.call.name in ("fail_over", "change_leader", "newcomers"):
            raise Beyond(f"{made.call.name} is not followed over the wire")

    def _clock_ms(self, made: Made) -> int:
        """Return the most time that has passed for the brokers, where transactions may time out."""
        if not self.timeouts:
            return 0
        waited = made.call.get("ms") if made.call.name == "advance" else getattr(made.result, "waited_ms", 0)
        self.waited_ms += waited
        return self.waited_ms + int((time.monotonic() - self.began) * 1000 * QUICKER)

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Yield what was observed. Raises `Beyond` where a call delivers in an order that is not observed."""
        self.observed = observed
        others = any(read(event, "kind") not in READ for event in made.events)
        if made.call.name in COMPOSITE and (others or self.requests.flew):
            raise Beyond(f"{made.call.name} does much that is not shown")
        for event in made.events:
            yield event, event
            if read(event, "kind") == "record_seen":
                self.seen.add((read(event, "client"), read(event, "record")))
        for missing in self._missing(made):
            yield missing, missing

    def _missing(self, made: Made) -> Iterator[Event]:
        """Yield the transactions of which a reader at the end of a partition got nothing, although a record of theirs
        went there."""
        call = made.call
        if call.name != "read" or call.get("committed"):
            return
        client = READERS + call.get("reader")
        here = call.get("partition")
        sent = {(t, r) for r, (t, p) in self.requests.records.items() if p == here and r in self.arrived}
        found = {t for t, r in sent if (client, r) in self.seen}
        for txn in sorted({t for t, _ in sent} - found):
            yield {"kind": "nothing_seen", "txn": txn, "partition": here}

    def row_of_call(self, made: Made) -> dict[str, Any]:
        row = {**dict.fromkeys(NOT_THERE, UNKNOWN), "hidden": True, "late": False, "busy": False, "away": True}
        if made.message is None or made.call.name != "deliver" or made.message[4] not in self.requests.sent:
            return row
        return row | self._of_request(made.message[4])

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        if (number := read(event, "request", -1)) >= 0 and (sequence := read(event, "sequence", -1)) >= 0:
            self.sequences[number] = sequence
        row = super().row_of_event(event, states)
        self._note_wanted(event, read(event, "kind"), number)
        return row

    def _note_wanted(self, event: Event, kind: str, number: int) -> None:
        """Note which answers a client takes: it has one request to the coordinator at a time, and a record has one
        request."""
        if kind in ("record_sent", "record_acked", "record_failed"):
            self.wanted["record", read(event, "record")] = number if kind == "record_sent" else -1
        elif kind in ("init_sent", "add_sent", "end_sent"):
            self.wanted["client", read(event, "client")] = number

    def _circumstances(self) -> dict[str, Any]:
        return {"away": True, "busy": False}

    # What is not in the model

    def barred(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return why an event cannot happen now: the answer is another one, or the sequence number."""
        memory = memory or NOTHING_REMEMBERED
        if kind == "record_failed" and self._asked() != "produce_answer":
            return ()  # given up by its producer
        if kind in TAKEN:
            return self._as_answered(memory, kind, row)
        if kind == "timed_out" and not 0 <= memory.open_ms <= self.now_ms - self.timeout_ms:
            return (FalseConjunct(kind, "txn.18", f"{self.timeout_ms} ms have passed since {memory.open_ms}"),)
        if row["hidden"] and SERVICE.get(kind) == "produce":
            return self._in_sequence(memory, kind, row)
        return ()

    def is_same(self, kind: str, reported: int, answered: int) -> bool:
        """Return whether the reported code is the one that was answered, or stands for it."""
        if TAKEN[kind] != "produce":
            return reported == answered or (reported in AWAY and answered in AWAY)
        if answered == OLD_OR_LATER:
            return reported in FENCING | LATER
        if answered in LATER:
            return reported in LATER
        return reported == answered or (reported in FENCING and answered in FENCING)

    def _in_sequence(self, memory: Memory, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return the condition on sequence numbers that is false, if one is: a record that follows on is written, and
        so is, once, one of the last five; any other is not."""
        lane, sequence, number = memory.lane(row["partition"]), self.sequences.get(row["request"], -1), row["number"]
        if sequence < 0 or (lane is None and sequence > 0 and not self.bumps):
            fits, gap = True, sequence >= 0  # an offset, or a producer that the partition does not know
        elif lane is None:
            fits, gap = sequence == 0, sequence != 0
        else:
            fits = lane.takes(number, sequence) or lane.has(number, sequence)
            # In v1 a record may have been forgotten at the end of its transaction.
            gap = not lane.takes(number, sequence) and not (self.bumps and lane.has(number, sequence))
        gap = gap or memory.is_behind_question(row["partition"], sequence)
        if kind == "record_written" and not fits:
            return (FalseConjunct(kind, "txn.13", f"sequence number {sequence} follows on: {lane}"),)
        if kind != "record_written" and row["error"] == kinds.OUT_OF_ORDER and not gap:
            return (FalseConjunct(kind, "txn.14", f"sequence number {sequence} does not follow on: {lane}"),)
        return ()

    def remember(self, memory: Any, kind: str, row: Row, before: State, state: State) -> Any:
        """Store answers that leave, those that have arrived, and sequence numbers."""
        left: Memory = memory or NOTHING_REMEMBERED
        left = left.only(self._on_their_way())
        if self.timeouts and (before["phase"] == ONGOING) != (state["phase"] == ONGOING):
            left = left._replace(open_ms=self.before_ms if state["phase"] == ONGOING else -1)
        if kind not in SERVICE:
            return left.written(row["partition"], row["number"] if self.bumps else 0) if kind == "marked" else left
        sequence = self.sequences.get(row["request"], -1)
        if kind == "record_written":
            left = left.written(row["partition"], 0).with_record(row["partition"], row["number"], sequence)
        elif kind == "record_refused" and self._asks_in_vain(left, row):
            left = left.asking(row["partition"], sequence)
        if not self._is_answered() or row["request"] not in self.wanted.values():
            return left
        number = state["epoch"] if kind == "init_given" or (kind == "end_done" and self.bumps) else 0
        return left.with_answer((SERVICE[kind], row["request"], row["error"], number))

    def _asks_in_vain(self, memory: Memory, row: Row) -> bool:
        """Return whether another record may arrive before the question is forgotten: one of a newer epoch, or (v1) of
        the next transaction."""
        lane = memory.lane(row["partition"])
        newer = lane is not None and row["number"] < lane.number
        return bool(self.asks and (newer if self.bumps else row["error"] != kinds.OUT_OF_ORDER))

    def _on_their_way(self) -> set[tuple[str, int]]:
        assert self.made is not None
        flying = {(kind.removesuffix("_answer"), n) for kind, n in self.requests.flying if kind.endswith("_answer")}
        if self.made.message is not None and self._asked().endswith("_answer"):
            flying.add((self._asked().removesuffix("_answer"), self.made.message[4]))
        wanted = set(self.wanted.values())
        return {(kind, n) for kind, n in flying if n in wanted}

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """Drop what can have no effect any more, so that states that do not differ otherwise are one."""
        return [_without_the_past(state) for state in states], []

    def overdue(self, made: Made, memory: Any) -> tuple[FalseConjunct, ...]:
        """Return nothing, because nothing is due at any time."""
        return ()


def _without_the_past(state: State) -> State:
    """Drop markers of earlier rounds, which no longer arrive, and questions about records that are written."""
    current = state["marker_epoch"] if state["phase"] == PREPARED else 0
    left = dict(state)
    if any(marker[1] != current for marker in state["markers"]):
        left["markers"] = {marker: True for marker in state["markers"] if marker[1] == current}
    for name in ("asked", "cleared"):
        if any(key in state["fate"] for key in state.get(name, ())):
            left[name] = {key: value for key, value in state[name].items() if key not in state["fate"]}
    return left


# This is the model of one transactional id, as it is followed through brokers over the wire, which act by themselves.

REMOTE_MODELS = {**MODELS, "v2": OfAnyRelease}
ROOM = {"clients": 48, "transactions": 64, "epochs": 128, "fail_overs": 0}
"""`ROOM` is more than most programs need; one that needs more is not followed to the end. Coordinators do not change.
"""
DEFAULTS = {"partitions": 1, "groups": 0, "collapse": False, "timeouts": False, "transaction_timeout_ms": 60_000}


def follow_remote(variant: str, config: Mapping[str, Any]) -> Followed:
    """Return the model of a cluster of which only the clients are observed."""
    return _followed(variant, tuple((key, config.get(key, default)) for key, default in DEFAULTS.items()))


@lru_cache(maxsize=64)
def _followed(variant: str, given: tuple[tuple[str, int], ...]) -> Followed:
    config: dict[str, Any] = {"mode": variant, **dict(given), "last": LAST[variant], "cut": True}
    bounds = {**ROOM, "partitions": config["partitions"] + config["groups"]}
    served = calls(bool(config["collapse"]), bool(config["timeouts"]))
    followed = read_by(RemoteInterpreter, REMOTE_MODELS, config, bounds, BY_VARIANT, served)
    return replace(followed, ignored=IGNORED - {"record_failed"}, tired=True)


# A recording leaves open which request is behind a record of the transaction log, because no row names it.

CAUSE_NOT_THERE: Mapping[str, Any] = {
    **NOT_THERE, "further": -1, "more": False, "busy": True, "away": True, "durable": True,
}  # fmt: skip
"""`CAUSE_NOT_THERE` sets ``busy`` and ``away``, because no event of a recording is evidence that a record is on its way
to a log, or that a coordinator is away."""


class Unseen(PlainInterpreter):
    """An `Unseen` tries every cause of an event; ``added`` has transactions and partitions for which an
    AddPartitionsToTxn was sent, where clients do that."""

    columns = COLUMNS

    def __init__(self, *, bumps: bool, added: frozenset[tuple[int, int]]) -> None:
        self.bumps, self.added = bumps, added

    def row_of_event(self, event: Any, states: Sequence[State]) -> dict[str, Any]:
        """Return the columns of an event, which has the form of a row already."""
        return {**CAUSE_NOT_THERE, **event}

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """Yield every cause that a record may have, the likely ones first."""
        if seen.kind != "txn_logged":
            yield row
        elif row["logged"] == EMPTY:
            yield from self._inits(state, row)
        elif row["logged"] == MODEL_ONGOING:
            yield from self._additions(state, row)
        elif row["logged"] in (PREPARE_COMMIT, PREPARE_ABORT):
            yield from self._ends(state, row)
        else:
            yield row

    @staticmethod
    def _inits(state: State, row: Row) -> Iterator[Row]:
        asking = [client for (client,), asks in state["asking"].items() if asks]
        for client in asking:
            named = state["holds"].get((client,), 0) if state["again"].get((client,)) else 0
            yield {**row, "client": client, "named": named, "of_init": True, "by_owner": False}
        for name in ("ready", "dead", "again"):
            for (client,), there in state[name].items():
                if there and client not in asking:
                    late = {"client": client, "late": True, "of_init": True, "by_owner": False}
                    yield {**row, **late, "unlikely": True}

    def _additions(self, state: State, row: Row) -> Iterator[Row]:
        live, ongoing = row["number"], state["phase"] == OPEN
        mine = [txn for (txn,), number in state["number"].items() if number == live]
        there = state["sent"] if self.bumps else dict.fromkeys(self.added, True)
        places = [(t, p) for (t, p), sent in there.items()
                  if sent and t in mine and not (ongoing and state["parts"].get((p,)))]  # fmt: skip
        for txn, partition in places:
            yield {**row, "txn": txn, "partition": partition}
        for txn, partition in places:
            for other, further in places:
                if txn == other and partition < further:
                    yield {**row, "txn": txn, "partition": partition, "further": further, "more": True,
                           "unlikely": True}  # fmt: skip

    def _ends(self, state: State, row: Row) -> Iterator[Row]:
        for (txn,), choice in state["choice"].items():
            if choice != NO_OUTCOME and state["number"].get((txn,), 0) == state["epoch"]:
                yield {**row, "txn": txn, "by_owner": True}
        if row["logged"] == PREPARE_ABORT:
            yield from self._inits(state, row)
            yield {**row, "by_owner": False, "of_init": False, "unlikely": True}
