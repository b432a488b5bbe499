"""This module translates calls and events of a driven run to steps of the model, with the answers in flight.

With each state that the model may be in it stores the answers under way, the markers of each Prepare, and since when a
transaction is open.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

from fencepost.model.language import Protocol
from fencepost.model.language.derived.mutations import settled
from fencepost.model.language.observations import Observation
from fencepost.model.language.tree.types import AtomsType, BoolType, Bounds, ScalarType
from fencepost.model.transactions.detailed.expiry import ExpiringV1, ExpiringVerified
from fencepost.model.transactions.detailed.releases import ExpiringOf400
from fencepost.properties.conformance_spec import UNKNOWN, Allowed, Beyond, FalseConjunct, Followed, Row, State, Take
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.nearest import error_text
from fencepost.properties.transactions.events.driven import COLUMNS, COMPLETE_ABORT, COMPLETE_COMMIT
from fencepost.properties.transactions.events.kinds import OLD_LEFT, TRANSACTIONS
from fencepost.properties.transactions.interface import Message
from fencepost.properties.transactions.translator import guessing
from fencepost.properties.transactions.translator.guessing import (
    ABORTED,
    ADD,
    ALL,
    BEGUN,
    CALLS,
    COMMIT,
    COMMITTED,
    COMPOSITE,
    EXPIRY_MS,
    HANDLED,
    NOTHING,
    OBSERVED_AND_HIDDEN,
    ONGOING,
    OPEN,
    PREPARED,
    WRITTEN,
    Choosing,
)

ROUNDS = 8  # Prepare records whose markers may still be in flight

Answer = tuple[str, int, int, int]
"""An `Answer` is (kind of request, its number, error, number of the pair in it)."""
Round = tuple[int, int, bool, int]
"""A `Round` is (number of the call, epoch, commits, coordinator epoch)."""


class Memory(NamedTuple):
    """A `Memory` is what is stored with one state of the model.

    ``awaited`` has the partitions whose marker the coordinator has no answer for; ``asked_ms`` is when the pending
    partition was asked for; ``open_ms`` when the open transaction began, which is when its first partition was asked
    for and not when that was logged; ``free_ms`` since when no transition is pending. -1 if there is none.
    """

    answers: tuple[Answer, ...] = ()
    rounds: tuple[Round, ...] = ()
    awaited: tuple[int, ...] = ()
    asked_ms: int = -1
    open_ms: int = -1
    free_ms: int = -1

    def with_answer(self, answer: Answer) -> "Memory":
        return self._replace(answers=tuple(sorted({*self.answers, answer})))

    def having_heard(self, partition: int) -> "Memory":
        return self._replace(awaited=tuple(p for p in self.awaited if p != partition))

    def without(self, flying: Collection[tuple[str, int]]) -> "Memory":
        return self._replace(answers=tuple(a for a in self.answers if a[:2] in flying))

    def round_of(self, call: int) -> Round | None:
        return next((r for r in reversed(self.rounds) if r[0] <= call), None)


NOTHING_REMEMBERED = Memory()


def after_step(memory: Memory, before: State, state: State, call: int, time_ms: tuple[int, int]) -> Memory:
    """Return what a step of the coordinator changes in the memory; ``time_ms`` is when the call began, and when it
    returned."""
    prepared = state["phase"] == PREPARED
    if prepared and (before["phase"] != PREPARED or before["term"] != state["term"]):
        sent = (call, state["marker_epoch"], state["outcome"] == COMMIT, state["term"])
        parts = tuple(sorted(p for (p,) in state["parts"]))
        memory = memory._replace(rounds=(*memory.rounds, sent)[-ROUNDS:], awaited=parts)
    if state["pending"] == ADD and before["pending"] != ADD:
        memory = memory._replace(asked_ms=time_ms[0])
    if state["phase"] != ONGOING:
        return memory._replace(open_ms=-1, free_ms=-1)
    if before["phase"] != ONGOING:
        memory = memory._replace(open_ms=time_ms[0] if memory.asked_ms < 0 else memory.asked_ms, asked_ms=-1)
    if state["pending"] != NOTHING:
        return memory._replace(free_ms=-1)
    return memory if memory.free_ms >= 0 else memory._replace(free_ms=time_ms[1])


def numbers(row: Row) -> tuple[int, int]:
    return row["error"], 0 if row["error"] else row["number"]


# The calls and events of one cluster are read as rows of the model here: which request an event answers, the numbers of
# pairs, the time, and what explains codes to be tried again.

HOUR_MS, CHECKED_MS = 3_600_000, 10_000
"""The coordinator looks for transactions whose time is up every ``CHECKED_MS`` (shipped: 10 s)."""

LATE_RECORD = "a record comes late, and others of its transaction in the same partition came in time"
DEAD = 6  # state of a record with which an id is forgotten
ROOM_FOR = (("client", "clients"), ("txn", "transactions"), ("number", "epochs"))
ANSWERED = {"init_taken": "init", "fence_told": "init", "end_told": "end", "add_taken": "add"}
ASKED = {**{kind: name for name, kind in BEGUN.items()}, **{kind: name for name, kind in HANDLED.items()}}
READ = frozenset({"fetched", "record_read", "record_seen", "offset_fetched"})
FOLLOWED_BLINDLY = frozenset(
    {"txn_logged", "append_failed", "timed_out", "batch_appended", "marker_appended", "id_expired"}
)
"""The system must emit these kinds of event for a call that does many things to be followed."""

NOT_THERE: Mapping[str, Any] = dict.fromkeys(COLUMNS, False) | {
    "client": -1, "txn": -1, "partition": -1, "number": 0, "next_base": 0, "named": 0, "to": 0, "logged": -1, "term": 0,
    "error": 0, "counts": True, "by_owner": True, "request": -1, "hidden": False,
}  # fmt: skip


class TransactionsInterpreter(Choosing):
    """A `TransactionsInterpreter` reads one cluster. ``bounds`` is how much of everything the reading of the model has
    room for. ``taken`` maps the kind of event with which an answer is taken to the kind of request;
    ``answered_rightly`` is the rule that this is about."""

    taken, answered_rightly = ANSWERED, "txn.P5"

    # Calls

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Note what a call does by itself. Raises `Beyond`."""
        made, messages = self._projected(made, messages)
        self.made, self.calls = made, self.calls + 1
        name = made.call.name
        passes_hours = name == "expire" or (name == "advance" and made.call.get("ms") >= HOUR_MS)
        passes_hours |= name == "forget" and self.now_ms + _waited_ms(made) >= EXPIRY_MS
        self.forgets |= passes_hours or name == "forget"
        expires = passes_hours or (self.expiration_ms < EXPIRY_MS and name in (*COMPOSITE, "advance", "forget"))
        self._note_away(made)
        self.began_ms, self.now_ms = self.now_ms, self.now_ms + _waited_ms(made)
        if expires and "id_expired" not in self.observed:
            raise Beyond("transactional ids may expire, and that is not shown")
        if name == "elect_unclean":
            raise Beyond("what an unclean election loses the model has")
        if name == "newcomers":
            raise Beyond("there is no room for so many newcomers")
        self.fail_overs += name == "fail_over"
        if self.fail_overs > self.bounds["fail_overs"]:
            raise Beyond("there is no room for so many fail-overs")
        self.faults += name == "fail_over" or (name == "log_append" and not made.call.get("ok"))
        self.dying |= expires
        self.dying &= name != "fail_over"
        self.leaders[made.call.get("partition", -1)] += name == "change_leader"
        self.requests.called(made, messages)
        for message in messages:
            if message[1] == "marker" and message[4] not in self.marker_calls:
                self.marker_calls[message[4]] = self.calls

    def is_idle(self, made: Made, messages: Sequence[Message]) -> bool:
        """Return whether a call did nothing: the messages in flight are the same, and there was nothing to log, or the
        client's state did not allow the call."""
        own = messages if self.ids == 1 else self.owners.among(messages, self.txn_id)
        return made.call.name in self.idle and made.call.get("ok", True) and tuple(own) == self.requests.messages

    def _projected(self, made: Made, messages: Sequence[Message]) -> tuple[Made, Sequence[Message]]:
        """Return a call, and the messages in flight after it, without those of other transactional ids."""
        self.own, self.is_foreign = made.events, False
        if self.ids == 1:
            return made, messages
        if made.message is not None:
            self.is_foreign = self.owners.of_message(made.message) not in (ALL, self.txn_id)
        owned = [(self.owners.of_event(event), event) for event in made.events]
        self.own = tuple([event for owner, event in owned if owner in (ALL, self.txn_id)])
        made = replace(made, message=None) if self.is_foreign else made
        return made, self.owners.among(messages, self.txn_id)

    def _note_away(self, made: Made) -> None:
        if made.call.name == "leave":
            self.away.add(made.call.get("partition"))
        elif made.call.name == "come_back":
            self.away.discard(made.call.get("partition"))
            self.leaders[made.call.get("partition")] += 1

    def allows(self, made: Made, allowed: Allowed) -> Allowed:
        """Return the steps that a call allows. There are none where a call is about another transactional id, or a
        message goes to a partition that is away. With several ids only an event reveals whose append ends, or whose
        marker it is."""
        if self.is_foreign or self._is_lost(made):
            return Allowed()
        shared = self.ids > 1 and (made.call.name == "log_append" or made.call.kind == "marker")
        if not shared or any(read(event, "kind") in allowed.once for event in self.own):
            return allowed
        return Allowed() if self.observed.issuperset(allowed.once) else replace(allowed, must=False)

    def _is_lost(self, made: Made) -> bool:
        target = "" if made.message is None or made.call.name != "deliver" else made.message[3]
        return target.startswith("partition-") and int(target.rpartition("-")[2]) in self.away

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Yield the events of this transactional id. Raises `Beyond`."""
        self.observed = observed
        if self.is_composite() and not observed >= FOLLOWED_BLINDLY:
            raise Beyond(f"{made.call.name} does much that is not shown")
        return ((event, event) for event in self.own)

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """Return the columns that are known of an event which the system did not emit."""
        made = self.made or made
        row = {**dict.fromkeys(NOT_THERE, UNKNOWN), "hidden": True, "durable": False, "late": False, "by_owner": True,
               "of_init": False, **self._circumstances()}  # fmt: skip
        if made.call.name == "fail_over":
            row["durable"] = made.call.get("durable")
        if made.message is None or made.call.name != "deliver":
            return row
        number = made.message[4]
        row["request"] = number
        if made.call.kind == "marker":
            row["partition"] = int(made.message[3].rpartition("-")[2])
        elif number in self.requests.sent:
            row |= self._of_request(number)
        return row

    def _circumstances(self) -> dict[str, Any]:
        assert self.made is not None
        delivered = self.made.call.name == "deliver" and not self.is_foreign
        busy = self.is_composite() or self.dying or self.requests.others_wait(delivered)
        return {"away": self.faults > 0, "busy": busy, "others": self.ids > 1}

    # Events

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        kind = read(event, "kind")
        self.requests.note(event)
        row = {**NOT_THERE, **self._circumstances(), **self._columns(event, kind, states)}
        if kind == "batch_appended":
            self._require_room(event, row, states)
        if kind == "marker_appended":
            self._require_own(row, states)
        if kind == "record_read" and not self.bumps and "batch_appended" not in self.observed:
            self._require_seen(row, states)
        self.dying &= kind != "id_expired" and not (kind == "append_failed" and row["logged"] == DEAD)
        if kind == "check_asked":
            self.questions[row["txn"], row["partition"]] = self.leaders[row["partition"]]
        for column, bound in ROOM_FOR:
            if row[column] >= self.bounds[bound]:
                raise Beyond(f"there is no room for so many {bound.replace('_', '-')}")
        return row

    def _columns(self, event: Event, kind: str, states: Sequence[State]) -> dict[str, Any]:
        row: dict[str, Any] = {}
        number, record = read(event, "request", -1), read(event, "record", -1)
        if number in self.requests.sent:
            row |= self._of_request(number)
        if record in self.requests.records:
            row["txn"], row["partition"] = self.requests.records[record]
        for column in ("client", "txn", "partition"):
            if (value := read(event, column, -1)) >= 0 and not (column == "client" and kind in READ):
                row[column] = value
        row |= {"logged": read(event, "state", -1), "error": read(event, "error", 0),
                "reads": record >= 0 if self.ids == 1 else record in self.requests.records}  # fmt: skip
        row["term"] = max(read(event, "coordinator_epoch", -1), 0)
        if (outcome := read(event, "outcome", -1)) >= 0:
            row["commit"] = outcome == 1
        return row | self._pair(event, kind, row, states)

    def _pair(self, event: Event, kind: str, row: Row, states: Sequence[State]) -> dict[str, Any]:
        pair = (read(event, "producer_id", -1), read(event, "epoch", -1))
        if kind == "append_failed" or pair[0] < 0:
            reported = kind in ANSWERED or kind in HANDLED.values() or kind == "init_sent"
            return {"number": 0} if reported and kind not in ("add_handled", "partition_checked", "add_taken") else {}
        if kind in ANSWERED and states:
            self.numbering.meet(pair[0], _expected(kind, row, states[0]))
        number = self.numbering.number(*pair)
        to = self.numbering.after_prepare(number, self.bumps)
        return {"number": number, "next_base": self.numbering.next_base(pair[0]), "to": to}

    def _require_room(self, event: Event, row: Row, states: Sequence[State]) -> None:
        """Raise `Beyond` where the model cannot represent a late record. The model has one record for a transaction's
        in a partition, and one memory for all producer ids there."""
        record, key = read(event, "record"), (row["txn"], row["partition"])
        again = record in self.appended and row["partition"] < self.data
        self.appended.add(record)
        fenced = all(row["number"] < s["known"].get((row["partition"],), 0) < row["next_base"] for s in states)
        if fenced and not again and self.forgets:
            raise Beyond("a partition may have forgotten a producer, and takes what comes late")
        if self.bumps or again or fenced:
            return
        if all(s["fate"].get(key, 0) in (COMMITTED, ABORTED) for s in states):
            raise Beyond(LATE_RECORD)
        if all(row["next_base"] <= s["known"].get((row["partition"],), 0) for s in states):
            raise Beyond("a record of an old producer id comes late")

    def _require_own(self, row: Row, states: Sequence[State]) -> None:
        """Raise `Beyond` where a record of an older producer id is open in the partition: a marker ends what its own
        producer id has open, but in the model everything that is open."""
        rank = self.numbering.rank(row["number"])
        for s in states:
            there = (key[0] for key, fate in s["fate"].items() if key[1] == row["partition"] and fate == OPEN)
            if any(self.numbering.rank(s["number"].get((txn,), 0)) < rank for txn in there):
                raise Beyond(OLD_LEFT)

    def _require_seen(self, row: Row, states: Sequence[State]) -> None:
        key = (row["txn"], row["partition"])
        several = sum(place == key for place in self.requests.records.values()) > 1
        if several and all(s["fate"].get(key, 0) != COMMITTED for s in states):
            raise Beyond(LATE_RECORD)

    # What is not in the model

    def barred(self, memory: Memory, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return why an event cannot happen now: it is too early, or the answer is another one."""
        memory = memory or NOTHING_REMEMBERED
        if kind in ANSWERED:
            return self._as_answered(memory, kind, row)
        if kind == "timed_out" and not 0 <= memory.open_ms < self.now_ms - self.timeout_ms:
            since = f"since the transaction was opened, at {memory.open_ms} of {self.now_ms}"
            return (FalseConjunct(kind, "txn.18", f"{self.timeout_ms} ms have passed {since}"),)
        early = kind == "txn_logged" and row["logged"] in (COMPLETE_COMMIT, COMPLETE_ABORT) and memory.awaited
        if early and "marker_acked" in self.observed:
            words = f"every marker is acknowledged: those of partitions {', '.join(map(str, memory.awaited))} are not"
            return (FalseConjunct("complete", "txn.10", words),)
        if row["hidden"] and not self.is_composite() and not self._fits(memory, kind, row):
            return (FalseConjunct(kind, "", "the messages in flight say so: they don't"),)
        return ()

    def _as_answered(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return why an answer cannot be taken now; ``memory`` has the answers in flight."""
        known = sorted({a[2:] for a in memory.answers if a[:2] == (self.taken[kind], row["request"])})
        error, number = numbers(row)
        if not known or any(self.is_same(kind, error, e) and number in (n, n or number) for e, n in known):
            return ()
        answers = ", ".join(_in_words(*answer) for answer in known)
        words = f"the answer is one that this request may have had: {answers}; it is {_in_words(error, number)}"
        return (FalseConjunct(kind, self.answered_rightly, words),)

    def is_same(self, kind: str, reported: int, answered: int) -> bool:
        return reported == answered

    def _fits(self, memory: Memory, kind: str, row: Row) -> bool:
        answered, number = self.requests.answered, row["request"]
        if kind in ASKED:
            return (kind in HANDLED.values()) == ((ASKED[kind], number) in answered)
        if kind in WRITTEN or kind == "check_asked":
            return (kind != "check_asked") == (("produce", number) in answered)
        if kind.startswith("marker_"):
            sent = memory.round_of(self.marker_calls.get(number, self.calls))
            return sent is None or sent[1:] == (row["number"], row["commit"], row["term"])
        return True

    def remember(self, memory: Memory, kind: str, row: Row, before: State, state: State) -> Memory:
        """Store answers that leave, markers that leave, and how long a transaction is open."""
        memory = after_step(memory or NOTHING_REMEMBERED, before, state, self.calls, (self.began_ms, self.now_ms))
        if kind == "marker_acked":
            return memory.having_heard(row["partition"])
        if kind in HANDLED.values():
            return memory.with_answer((ASKED[kind], row["request"], *numbers(row)))
        if row["hidden"] and kind in ("txn_logged", "append_failed") and (asked := self.requests.waiting()) is not None:
            error, number = (15, 0) if kind == "append_failed" else guessing.answer(row, before, state)
            if asked in self.requests.answered:
                return memory.with_answer((*asked, error, number if asked[0] == "init" or self.bumps else 0))
        if kind in ANSWERED and memory.answers and not self.is_composite():
            flying = {(k.removesuffix("_answer"), n) for k, n in self.requests.flying if k.endswith("_answer")}
            return memory.without(flying)
        return memory

    # When a call returns

    def overdue(self, made: Made, memory: Memory) -> tuple[FalseConjunct, ...]:
        """Return a false condition if a transaction should have been aborted by now."""
        memory = memory or NOTHING_REMEMBERED
        began = max(memory.open_ms, memory.free_ms)
        if made.call.name not in ("advance", "expire", "forget") or min(memory.open_ms, memory.free_ms) < 0:
            return ()
        if self.now_ms - began <= self.timeout_ms + 2 * CHECKED_MS:
            return ()
        return (
            FalseConjunct("time_out", "txn.18", f"the transaction is aborted: it is open for {self.now_ms - began} ms"),
        )

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """Note which leader asked; the network forgets nothing."""
        if made.call.name == "deliver" and made.call.kind == "produce" and made.message is not None:
            request = self.requests.sent.get(made.message[4])
            if request is not None and ("produce", made.message[4]) not in self.requests.answered:
                self.questions[request.txn, request.partition] = self.leaders[request.partition]
        return states, []

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        """Return values worth trying for a parameter, for coverage."""
        if isinstance(kind, BoolType):
            return (False, True)
        if isinstance(kind, AtomsType):
            used = {"clients": "asking", "transactions": "begun"}.get(kind.bound)
            if used is None:
                return range(1)
            latest = max((key[0] for key in state[used]), default=0)
            return range(latest, latest + 1)
        return (state["term"],) if str(kind) == "Term" else range(state["epoch"], state["epoch"] + 2)


def _in_words(error: int, number: int) -> str:
    return f"{error_text(error)} with {number}" if number else error_text(error)


def _waited_ms(made: Made) -> int:
    if made.call.name == "advance":
        return int(made.call.get("ms"))
    if made.call.name in ("expire", "forget"):
        return int(made.result)
    return int(getattr(made.result, "waited_ms", 0))


def _expected(kind: str, row: Row, state: State) -> int:
    if kind == "end_told":
        return int(state["follows"].get((row["txn"],), 0))
    return int(state["answered"].get((row["client"],), 0))


# This is the model of one transactional id, as it is followed through a running cluster.

MODELS = {"v1": ExpiringV1, "v1-verified": ExpiringVerified, "v2": ExpiringOf400}

ROOM = {"clients": 64, "transactions": 96, "epochs": 512, "fail_overs": 12}
"""`ROOM` is more than most programs need; one that needs more is not followed to the end."""
LAST = {"v1": 62, "v1-verified": 62, "v2": 94}
"""`LAST` is the model's last epoch by variant. No program reaches the last of Kafka's epochs, but some reach another
producer id, whose numbers begin after fewer here."""

IGNORED = frozenset({
    "client_started", "client_stopped", "client_failed", "record_failed", "leader_changed", "stable_moved", "fetched",
})  # fmt: skip


DEFAULTS = {
    "partitions": 1, "groups": 0, "max_epoch": 32767, "transaction_timeout_ms": 60_000, "ids": 1, "txn_id": 0,
    "expiration_ms": EXPIRY_MS,
}  # fmt: skip
"""`DEFAULTS` has the default of each key of a cluster's configuration."""


def each_id(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a configuration for each transactional id of a cluster, because the model has one id only."""
    return [{**config, "txn_id": txn_id} for txn_id in range(config.get("ids", 1))]


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    """Return the model of a cluster, as far as one transactional id is concerned."""
    return _followed(variant, tuple((key, config.get(key, default)) for key, default in DEFAULTS.items()))


@lru_cache(maxsize=256)
def _followed(variant: str, given: tuple[tuple[str, int], ...]) -> Followed:
    config: dict[str, Any] = {"mode": variant, **dict(given)}
    last = min(config["max_epoch"] - 1, LAST[variant])
    config |= {"last": last, "cut": last < config["max_epoch"] - 1}
    bounds = {**ROOM, "partitions": config["partitions"] + config["groups"]}
    return read_by(TransactionsInterpreter, MODELS, config, bounds, OBSERVED_AND_HIDDEN, CALLS)


def read_by(
    interpreter: type[TransactionsInterpreter],
    models: Mapping[str, type[Protocol]],
    config: Mapping[str, Any],
    bounds: Bounds,
    observations: Mapping[str, tuple[Observation, ...]],
    calls: Mapping[str, Allowed],
) -> Followed:
    """Return how a cluster is followed with this interpreter; ``models`` and ``observations`` are by variant, which is
    the config's mode."""
    variant = config["mode"]
    return Followed(
        variant, settled(models[variant]), {"last": config["last"]}, bounds, COLUMNS, observations[variant], calls,
        partial(interpreter, config, bounds), ignored=IGNORED, errors=TRANSACTIONS.errors,
    )  # fmt: skip
