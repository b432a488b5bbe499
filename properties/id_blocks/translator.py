"""This module translates events of id blocks, in driven runs and histories, to steps of the model and back.

It reads the calls and events of one cluster as rows of the model: the numbers of requests and of their copies, the
time, how many elections there were, and which brokers lost a permission.

The model has few numbers for requests and reuses them. A request that leaves the network frees its number.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.brokers import Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.lengths import Malformed
from fencepost.model.id_blocks.rejected import FaultyController, Idempotent
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language import when
from fencepost.model.language.tree.types import AtomsType, BoolType, ScalarType, scalar
from fencepost.properties.column_ops import before, dense, numbered, one_of, ordinals, renumbered
from fencepost.properties.conformance_spec import (
    UNKNOWN,
    Beyond,
    Contradiction,
    FalseConjunct,
    PlainInterpreter,
    Row,
    Seen,
    State,
    Take,
)
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.emitted_events import EmittedEvents, Note, Number, Remembered
from fencepost.properties.emitted_events import Row as Emitted
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.id_blocks.events import (
    BACK_OFF_MS,
    BY_VARIANT,
    DRIVEN_COLUMNS,
    GIVEN_UP_MS,
    ID_BLOCKS,
    MODEL_COLUMNS,
    STALE_BROKER_EPOCH,
    UNKNOWN_SERVER_ERROR,
    Kind,
)
from fencepost.properties.id_blocks.interface import Message
from fencepost.properties.nearest import error_text
from fencepost.properties.trace_spec import Conforming, Laid, LaidOut, Settings

MORE_THAN_A_BLOCK = 1_000
SLOTS = 32  # requests and copies in the network at once
SENT, RECORDED, ANSWERED, REFUSED = 1, 2, 3, 4  # members of Stage
NOT_CONTROLLER, CLUSTER_AUTHORIZATION_FAILED = 41, 31
NEEDS_A_REASON = "turn_away"

Memory = tuple[tuple[str, int, int], ...]
"""A `Memory` records since when (ms) a broker's back-off, or its request, lasts."""


class BlocksInterpreter(PlainInterpreter):
    """A `BlocksInterpreter` reads a cluster whose controllers make blocks of ``size``, or of a size that is set."""

    def __init__(self, brokers: int, size: int) -> None:
        self.brokers = brokers
        self.configured_size = self.size = size
        self.now_ms = 0
        self.elections = 0
        self.moves = 0
        self.denied: set[int] = set()
        self.numbers: dict[int, int] = {}  # of requests: the implementation's to the model's
        self.held: Counter[int] = Counter()  # requests and copies that reached a controller and are not answered

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        call = made.call
        if call.name == "settle":
            raise Beyond("settle does much in one call")
        if call.name == "advance":
            self.now_ms += call.get("ms")
        self.elections += call.name == "fail_over"
        self.moves += call.name == "migrate" and made.result is True
        if call.name in ("fail_over", "migrate") and made.result is not False:
            self.held.clear()
            self.size = self.configured_size
        if call.name == "set_block_size":
            self.size = call.get("size")
        if call.name == "deliver" and call.kind == "request" and made.message is not None:
            self.held[made.message[3]] += 1
        if call.name == "set_cluster_action":
            (self.denied.discard if call.get("allowed") else self.denied.add)(call.get("broker"))

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Yield each observed event with the events that follow from it: an error answer also means that the request
        was refused, and a result that the id was given."""
        for event in made.events:
            if read(event, "kind") == "answer_sent" and read(event, "error", 0) and "request_refused" not in observed:
                refused = {n: read(event, n, -1) for n in ("broker", "request", "error")}
                yield event, refused | {"kind": "request_refused"}
            yield event, event
        if made.call.name == "init_producer_id":
            error, producer_id = made.result
            kind = "id_refused" if error else "id_handed_out"
            text = [read(e, "producer_id") for e in made.events if read(e, "kind") == "id_handed_out"]
            if text not in ([], [] if error else [producer_id]):
                words = f"the event says what the client got: it says {', '.join(map(str, text))}"
                raise Contradiction(FalseConjunct(kind, "730.P1", words), kind)
            if not any(read(e, "kind") == kind for e in made.events):
                event = {"kind": kind, "broker": made.call.index("brokers"), "producer_id": producer_id, "error": error}
                yield event, event

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """Return the columns that are known of an event which the system did not emit."""
        row: dict[str, Any] = dict.fromkeys(DRIVEN_COLUMNS, UNKNOWN)
        if made.call.name not in ("advance", "commit", "fail_over", "snapshot", "migrate", "set_block_size"):
            row["broker"] = made.call.index("brokers")
        if made.message is not None and made.message[3] in self.numbers:
            row["request"] = self.numbers[made.message[3]]
        row["controller"], row["size"] = self.elections, self.size
        row["by_controller"] = made.call.name == "zk_step" and made.call.index("brokers") < 0
        return row

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        row = {name: read(event, name, -1) for name in ("broker", "first", "length", "producer_id")}
        kind, number = read(event, "kind"), read(event, "request", -1)
        row |= {"error": read(event, "error", 0), "request": number, "slot": UNKNOWN, "asker": UNKNOWN}
        row |= {
            "controller": self.elections,
            "size": self.size,
            "by_controller": kind.startswith("zk_") and row["broker"] < 0,
        }
        if number < 0:
            return row
        if kind == "request_sent" and number not in self.numbers:
            self.numbers[number] = self._free(*states)
        if kind == "answer_sent":
            self.held[number] -= 1
        if number not in self.numbers:
            raise Contradiction(FalseConjunct(kind, "730.19", f"request {number} is under way, and was not sent"))
        return row | {"request": self.numbers[number]}

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """Yield the row with every column that is a matter of choice chosen, in every way."""
        needs, direct = seen.columns, seen.kind.startswith("zk_") and not row["by_controller"]
        choose_broker = row["broker"] is UNKNOWN and "broker" in needs
        brokers = range(self.brokers) if choose_broker else (row["broker"],)
        choose_request = row["request"] is UNKNOWN and needs & {"request", "slot"} and not direct
        requests = sorted(self.numbers.values()) if choose_request else (row["request"],)
        for broker, request in itertools.product(brokers, requests):
            full = {**row, "broker": broker, "request": request}
            if "slot" not in needs:
                yield full
            elif direct:
                yield full | {"request": 0, "slot": 0, "asker": 0}
            else:
                for slot in self._slots(state, seen, request):
                    yield full | {"slot": slot, "asker": state["asker"].get((request,)) or 0}

    def _slots(self, state: State, seen: Seen, request: int) -> list[int]:
        """Return the slots that an event about the request may concern. A controller may act on a copy of a request,
        and an answer is to the request or to a copy."""
        stages = state["stage"]
        if seen.kind == "block_committed":
            return [r for (r,), stage in sorted(stages.items()) if stage == RECORDED]
        if "repeat" not in seen.actions:
            copies = [r for (r,) in stages if state["original"].get((r,), 0) == request and r != request]
            return [request, *sorted(copies)]
        if stages.get((request,), 0) == SENT:
            return [request]
        return [self._free(state)]

    def _free(self, *states: State) -> int:
        used = {r for state in states for (r,) in state["stage"]} | set(self.numbers.values())
        free = next((r for r in range(SLOTS) if r not in used), None)
        if free is None:
            raise RuntimeError(
                f"more than {SLOTS} requests and copies are under way at once; let the driver deliver some"
            )
        return free

    def barred(self, memory: Memory, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return a false conjunct if a back-off ends too early."""
        began = next((t for what, b, t in memory if (what, b) == ("back-off", row["broker"])), None)
        if kind != "backoff_over" or began is None or self.now_ms - began >= BACK_OFF_MS[0]:
            return ()
        return (FalseConjunct("end_back_off", "730.5", f"{BACK_OFF_MS[0]} ms have passed: {self.now_ms - began}"),)

    def uncalled_for(self, action: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return a false conjunct if a request is turned away for a reason that the driver did not give."""
        excused = {
            CLUSTER_AUTHORIZATION_FAILED: row["broker"] in self.denied,
            NOT_CONTROLLER: self.elections + self.moves > 0,
        }
        if action != NEEDS_A_REASON or excused.get(row["error"], False):
            return ()
        return (FalseConjunct(action, "730.5", f"there is a reason for {error_text(row['error'])}: none was given"),)

    def remember(self, memory: Memory, kind: str, row: Row, before: State, state: State) -> Memory:
        """Return since when back-offs and requests last."""
        if "backing_off" not in state:
            return ()
        old = {(what, b): t for what, b, t in memory}
        now = [("back-off", b) for (b,) in state["backing_off"]] + [("request", b) for (b,) in state["outstanding"]]
        same = {("request", b): before["outstanding"].get((b,)) == r for (b,), r in state["outstanding"].items()}
        return tuple(sorted((*k, old[k] if k in old and same.get(k, True) else self.now_ms) for k in now))

    def asked(self, made: Made) -> str:
        """Return the name of the check after a call, which is a separate one for a client that got no id."""
        name: str = made.call.name
        return "refused" if name == "init_producer_id" and made.result[0] else name

    def overdue(self, made: Made, memory: Memory) -> tuple[FalseConjunct, ...]:
        if self.asked(made) == "refused":
            return self._overdue(memory, "back-off", made.call.index("brokers"), BACK_OFF_MS[1])
        if made.call.name == "advance":
            return tuple(f for b in range(self.brokers) for f in self._overdue(memory, "request", b, GIVEN_UP_MS))
        return ()

    def _overdue(self, memory: Memory, what: str, broker: int, limit: int) -> tuple[FalseConjunct, ...]:
        began = next((t for w, b, t in memory if (w, b) == (what, broker)), self.now_ms)
        if self.now_ms - began < limit:
            return ()
        text = f"the {what} of broker {broker} ends within {limit} ms: it has lasted {self.now_ms - began}"
        return (FalseConjunct("end_back_off" if what == "back-off" else "time_out", "730.5", text),)

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        if isinstance(kind, BoolType):
            return (False, True)
        if not isinstance(kind, AtomsType):
            return (self.size, 0, MORE_THAN_A_BLOCK)  # of ids in a block
        if kind.bound == "brokers":
            return range(self.brokers)
        if kind.bound == "controllers":
            return range(max(0, self.elections - 1), self.elections + 1)
        return [*sorted(r for (r,) in state["stage"])[:3], self._free(state)]

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """Remove messages and controllers that no longer exist, and requests that no event will name any more."""
        taken: list[str] = []
        gone = self._gone(made, messages)
        if gone is not None:
            requests, stages = gone
            taken = ["lose"] * len(_in_stages(states[0], requests, stages))
            states = [_lose(state, requests, stages, take) for state in states]
        flying = {m[3] for m in messages} | {n for n, count in self.held.items() if count > 0}
        for number in [n for n in self.numbers if n not in flying]:
            request = self.numbers[number]
            states = [_forget(state, request, take) for state in states]
            if not any((request,) in state["stage"] for state in states):
                del self.numbers[number]
                taken.append("forget")
        return states, taken

    def _gone(self, made: Made, messages: Sequence[Message]) -> tuple[set[int], tuple[int, ...]] | None:
        """Return the requests that a call took off the network, and the stages in which it did so."""
        message = made.message
        if made.call.name == "drop" and message is not None:
            number = self.numbers.get(message[3])
            if number is None or any(m[1] == message[1] and m[3] == message[3] for m in messages):
                return None  # another copy is still in flight
            return {number}, (SENT,) if message[1] == "request" else (ANSWERED, REFUSED)
        if made.call.name in ("fail_over", "migrate") and made.result is not False:
            flying = {m[3] for m in messages if m[1] == "request"}
            return {n for number, n in self.numbers.items() if number not in flying}, (SENT,)
        return None


def _in_stages(state: State, requests: set[int], stages: tuple[int, ...]) -> list[int]:
    at = sorted(state["stage"].items() if "stage" in state else ())
    return [slot for (slot,), stage in at if stage in stages and state["original"].get((slot,), 0) in requests]


def _lose(state: State, requests: set[int], stages: tuple[int, ...], take: Take) -> State:
    for slot in _in_stages(state, requests, stages):
        after = take(state, "lose", {"r": slot})
        assert after is not None
        state = after
    return state


def _forget(state: State, request: int, take: Take) -> State:
    copies = sorted(r for (r,) in state["stage"] if state["original"].get((r,), 0) == request and r != request)
    for slot in (*copies, request):
        state = take(state, "forget", {"r": slot}) or state
    return state


# These columns of an id-blocks history are computed, not stored, for many histories at once. `events.py` has their
# meaning.

DEALT_WITH = (Kind.block_recorded, Kind.request_refused, Kind.zk_written)
ANSWERS = (Kind.answer_sent, Kind.answer_taken, Kind.answer_refused, Kind.answer_failed)
FROM_ZOOKEEPER = (Kind.zk_read, Kind.zk_written, Kind.zk_conflict)


def computed_columns(
    columns: Mapping[str, np.ndarray], history: np.ndarray, starts: np.ndarray
) -> dict[str, np.ndarray]:
    """Return `slot`, `asker`, `controller` and `by_controller` of each event. `history` numbers the histories 0, 1, …

    `starts` are the rows at which they begin. `columns` are sorted by (history, step).
    """
    kind, broker, request = columns["kind"], columns["broker"].astype(np.int64), columns["request"]
    named, (key, keys) = request >= 0, dense(history, request)
    elected = kind == Kind.controller_elected
    elections = np.cumsum(elected)
    asker_of, asker = np.full(keys, -1), np.full(len(kind), -1)
    sent, written = kind == Kind.request_sent, (kind == Kind.zk_written) & named
    asker_of[key[sent]] = broker[sent]
    asker[written] = asker_of[key[written]]
    return {
        "slot": _slots(columns, history, key, named),
        "asker": asker,
        "controller": elections - (elections[starts] - elected[starts])[history],
        "by_controller": one_of(kind, FROM_ZOOKEEPER) & (broker < 0),
    }


def _slots(columns: Mapping[str, np.ndarray], history: np.ndarray, key: np.ndarray, named: np.ndarray) -> np.ndarray:
    """Return the slot of each event. A repeated processing of a request gets a number above all requests', and an
    answer gets the number of the latest processing before it with the same content."""
    dealt = np.flatnonzero(one_of(columns["kind"], DEALT_WITH) & named)
    answers = np.flatnonzero(one_of(columns["kind"], ANSWERS) & named)
    slot = columns["request"].astype(np.int64)
    again = dealt[ordinals(key[dealt]) > 0]
    slot[again] = int(slot.max(initial=-1)) + 1 + ordinals(history[again])
    rows = np.concatenate((dealt, answers))
    keys, _ = dense(key[rows], *(columns[name][rows] for name in ("first", "error")))
    found = before(keys[: len(dealt)], dealt, keys[len(dealt) :], answers)
    slot[answers] = np.where(found >= 0, np.append(slot[dealt], -1)[found], -1)
    return slot


# Histories of id blocks are checked against the model with every event, each history in one lane.

VARIANTS = {"kraft": Kraft, "zookeeper": Zookeeper, "bridge": Bridge}
MODEL_OF_MODE = {"kraft": "kraft", "zookeeper": "bridge", "bridge": "bridge"}
LONG_MAX = 2**63 - 1
MOST_BLOCKS = 2**31  # a history has no more steps


def variant_of(manifest: Manifest) -> str:
    """Return the model for the mode in the configuration. Raise `HistoryError` if there is none."""
    mode = str(manifest.config.get("mode", "kraft"))
    if mode not in MODEL_OF_MODE:
        raise HistoryError(f"no model for mode {mode!r}")
    variant = MODEL_OF_MODE[mode]
    if variant == "bridge" and manifest.config.get("inter_broker_protocol", "2.8-IV1") != "2.8-IV1":
        raise HistoryError(
            "the model of the bridge starts with every broker on ZooKeeper; here some start with the RPC"
        )
    return variant


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """Return ``size``, the ids in a block, and ``ids``, how many ids there are from 0 on. The configuration has
    `block_size` (required) and `max_id`.

    ZooKeeper looks at the last id of the present block and KRaft at the first id of the next one, so that on ZooKeeper
    one id more can be given (730.16). Raise `HistoryError` if the configuration is incomplete.
    """
    if not isinstance(config.get("block_size"), int) or config["block_size"] < 1:
        raise HistoryError("the manifest's config does not say block_size: how many ids a block has is not known")
    size, max_id = config["block_size"], int(config.get("max_id", LONG_MAX))
    if variant == "bridge" and (max_id + 1) % size == 0 and max_id // size < MOST_BLOCKS:
        raise HistoryError(
            f"max_id {max_id} is the last id of a block of {size}, which ZooKeeper grants, and KRaft and the brokers "
            "refuse; the bridge has one end of ids for all: simulate with another max_id"
        )
    return ("size", size), ("ids", max_id + 1 if variant == "zookeeper" else max_id)


def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    """Return the rows of a piece (all columns, whole histories, sorted) as one part."""
    starts = starts_of(columns["history"])
    lengths = np.diff(np.append(starts, len(columns["history"])))
    history = np.repeat(np.arange(len(starts)), lengths)
    compact = {**columns, "request": _requests(columns["request"], history, int(lengths.max(initial=0)))}
    compact["broker"] = renumbered(columns["broker"])
    values = {name: compact[name] for name in MODEL_COLUMNS if name in compact} | computed_columns(
        compact, history, starts
    )
    rows = np.arange(len(history))
    return LaidOut((Laid(rows, history, columns["kind"], values, _sizes(values), dict(settings)),), {})


def _sizes(values: Mapping[str, np.ndarray]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, declared in MODEL_COLUMNS.items():
        kind = scalar(declared)
        if isinstance(kind, AtomsType):
            sizes[kind.bound] = max(sizes.get(kind.bound, 1), int(values[name].max(initial=0)) + 1)
    return sizes


def _requests(request: np.ndarray, history: np.ndarray, longest: int) -> np.ndarray:
    """Return request numbers below the longest history's length, of which only equality matters."""
    if request.max(initial=0) <= longest:
        return request
    return numbered(request[:, None], history, np.zeros(len(request), bool))[:, 0]


CONFORMING = Conforming(ID_BLOCKS, VARIANTS, MODEL_COLUMNS, BY_VARIANT, variant_of, settings_of, lay_out)


# These rows of a history stand for the steps of the models of id blocks.
#
# A request that a controller loses is refused by the next one.

NO_CONTROLLER = 41
NODE = 0

_request = Remembered("request", at=lambda s, p: s.original[p.r])
_first, _length = {"first": lambda s, p: s.first[p.r]}, {"length": lambda s, p: s.length(p.r)}
_later = {"first": lambda s, p, t: t.first[p.r], "length": lambda s, p, t: t.length(p.r)}
_answer = {"broker": "b", "request": _request, "grant": Remembered("grant", at="r"), **_first, **_length}


def _asker(s, p):
    return s.asker[p.r]


def _of_record(name):
    return Remembered(name, at=lambda s, p: s.committed)


def _wrapped(s, p):
    """Return the broker's next id, which starts again at 0 past the last id."""
    return when(s.cursor[p.b] + 1 == s.ids, 0, s.cursor[p.b])


def _code(s, p):
    return when(s.registered[p.b] != s.asker_epoch[p.r], STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR)


def _refused(broker, error, at="r", **further):
    columns = {
        "broker": broker,
        "request": Remembered("request", at=lambda s, p: s.original[getattr(p, at)]),
        "error": error,
    }
    return (
        Emitted("request_refused", node=NODE, **columns, **further),
        Emitted("answer_sent", node=NODE, **columns, **further),
        Note("error", at=at, value=error, **further),
    )  # fmt: skip


_lost = {"each": {"q": Request}, "when": lambda s, p: s.stage[p.q] == Stage.RECORDED}

HANDED_OUT = {"hand_out": [Emitted("id_handed_out", broker="b", producer_id=lambda s, p: s.cursor[p.b])]}

RPC = {
    **HANDED_OUT,
    "ask": [
        Emitted("request_sent", broker="b", broker_epoch=lambda s, p: s.epoch[p.b], request=Number("request", at="r")),
        Note("grant", at="r", value=-1),
    ],
    "repeat": [Note("grant", at="copy", value=-1)],
    "take": [Emitted("answer_taken", **_answer)],
    "reject": [Emitted("answer_refused", **_answer)],
    "fail": [Emitted("answer_failed", broker="b", request=_request, error=Remembered("error", at="r"))],
    "time_out": [Emitted("request_timed_out", broker="b", request=_request)],
    "time_out_early": [Emitted("request_timed_out", broker="b", request=_request)],
    "end_back_off": [Emitted("backoff_over", broker="b")],
    "install": [
        Emitted("block_installed", broker="b", first=lambda s, p, t: t.cursor[p.b],
            length=lambda s, p, t: t.end[p.b] - t.cursor[p.b]),
    ],
    "restart": [Emitted("broker_started", broker="b", broker_epoch=lambda s, p, t: t.epoch[p.b])],
}  # fmt: skip

KRAFT = {
    **RPC,
    "allocate": [
        Emitted("block_recorded", node=NODE, broker="b", broker_epoch=lambda s, p: s.asker_epoch[p.r], request=_request,
            grant=Number("grant", at="r"), first=lambda s, p, t: t.first[p.r], length=lambda s, p, t: t.length(p.r)),
        Note("record", at=lambda s, p, t: t.first[p.r], value=Remembered("grant", at="r")),
        Note("for", at=lambda s, p, t: t.first[p.r], value="b"),
        Note("of epoch", at=lambda s, p, t: t.first[p.r], value=lambda s, p: s.asker_epoch[p.r]),
    ],
    "commit": [
        Emitted("block_committed", broker=_of_record("for"), broker_epoch=_of_record("of epoch"),
            grant=_of_record("record"), first=lambda s, p: s.committed,
            length=lambda s, p, t: t.committed - s.committed),
    ],
    "answer": [
        Emitted("answer_sent", node=NODE, broker=_asker, request=_request, grant=Remembered("grant", at="r"), **_first,
            **_length),
        Note("remembered", at=_asker, value=Remembered("grant", at="r")),
    ],
    "refuse": _refused("b", _code),
    "turn_away": _refused(_asker, NO_CONTROLLER),
    "fail_over": [
        Emitted("controller_elected", node=NODE), *_refused(lambda s, p: s.asker[p.q], NO_CONTROLLER, at="q", **_lost),
    ],
    "take_snapshot": [Emitted("snapshot_taken", node=NODE, first=lambda s, p, t: t.snapshot)],
    # These events are of faulty controllers.
    "answer_again": [
        Emitted("answer_sent", node=NODE, broker="b", request=_request, grant=Remembered("remembered", at="b"),
        **_later),
        Note("grant", at="r", value=Remembered("remembered", at="b")),
    ],
    "grant_overlapping": [Emitted("answer_sent", node=NODE, broker="b", request=_request, **_later)],
    "grant_past_the_end": [Emitted("answer_sent", node=NODE, broker="b", request=_request, **_later)],
    # These events are of brokers with several threads.
    "swap": RPC["install"],
}  # fmt: skip

ZOOKEEPER = {
    **HANDED_OUT,
    "restart": [Emitted("broker_started", broker="b")],
    "read": [Emitted("zk_read", broker="b", first=lambda s, p: s.next_in_node())],
    "write": [Emitted("zk_written", broker="b", first=lambda s, p, t: t.cursor[p.b], length=lambda s, p: s.size)],
    "conflict": [Emitted("zk_conflict", broker="b")],
}

BRIDGE = {
    **ZOOKEEPER,
    **KRAFT,
    "controller_read": [Emitted("zk_read", first=lambda s, p: s.next_in_node())],
    "controller_write": [
        Emitted("zk_written", request=_request, **_later),
        Emitted("answer_sent", node=NODE, broker="b", request=_request, **_later),
    ],
    "controller_conflict": [Emitted("zk_conflict")],
    "upgrade": [Emitted("broker_upgraded", broker="b")],
    "move": [Emitted("migrated", first=lambda s, p, t: t.next)],
}  # fmt: skip

WRAPPED = {"hand_out": [Emitted("id_handed_out", broker="b", producer_id=_wrapped)]}


def _config(bounds):
    return {"block_size": bounds["size"], "max_id": bounds["ids"]}


def _of_node(bounds):
    """Return the configuration for ZooKeeper mode, which gives the last id as well."""
    return {**_config(bounds), "max_id": bounds["ids"] - 1}


def _of_one_controller(bounds):
    if bounds["controllers"] > 1:
        raise HistoryError("histories of the bridge have one controller at a time: leave controllers=1")
    return _config(bounds)


STARTED = {"restart": "register"}
_TWICE = {"answers_disjoint": "the controller gives the same ids in several answers, and brokers are to make sure"}
EMITTED = {
    Bridge: EmittedEvents(
        "bridge",
        BRIDGE,
        STARTED,
        never=("fail_over", "write_unseen"),
        config=_of_one_controller,
        bounds={"size": 2, "ids": 4},
    ),
    Malformed: EmittedEvents("kraft", {**KRAFT, **WRAPPED}, STARTED, config=_config, undecidable=_TWICE),
    FaultyController: EmittedEvents("kraft", KRAFT, STARTED, config=_config, undecidable=_TWICE),
    Idempotent: EmittedEvents("kraft", KRAFT, STARTED, config=_config, undecidable=_TWICE),
    Kraft: EmittedEvents("kraft", KRAFT, STARTED, config=_config),
    Zookeeper: EmittedEvents("zookeeper", ZOOKEEPER, never=("write_unseen",), config=_of_node),
}
"""`EMITTED` maps each model to the events of its steps. A broker that asks before it is registered reveals nothing that
histories could contain, and neither does a write whose answer the broker does not receive. In the bridge, elections
determine which of several controllers reads."""
