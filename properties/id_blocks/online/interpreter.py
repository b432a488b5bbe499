"""How the calls and events of one cluster are read as rows of the model: the numbers of requests and of their copies,
the time, who was elected how often, and who lost a permission.

The model's numbers of requests are few and used again: what leaves the network frees them.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fencepost.model.language.tree.types import AtomsType, BoolType, ScalarType
from fencepost.properties.agreement import (
    UNKNOWN,
    Allowed,
    Beyond,
    Contradiction,
    FalseConjunct,
    Row,
    Seen,
    State,
    Take,
)
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.id_blocks.driving.interface import Message
from fencepost.properties.id_blocks.observations.calls import BACK_OFF_MS, GIVEN_UP_MS
from fencepost.properties.id_blocks.observations.events import DRIVEN_COLUMNS

MORE_THAN_A_BLOCK = 1_000
SLOTS = 32  # requests and copies in the network at once
SENT, RECORDED, ANSWERED, REFUSED = 1, 2, 3, 4  # members of Stage
NOT_CONTROLLER, CLUSTER_AUTHORIZATION_FAILED = 41, 31
NEEDS_A_REASON = "turn_away"

Memory = tuple[tuple[str, int, int], ...]
"""Since when (ms) a broker's back-off, or its request, lasts."""


class BlocksInterpreter:
    """Reads one cluster of ``brokers``, whose controllers make blocks of ``size`` unless they are told otherwise."""

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
        """Take note of what a call does by itself."""
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

    def allows(self, made: Made, allowed: Allowed) -> Allowed:
        """As the table of calls says."""
        return allowed

    def said(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """What was shown, with what it says: an error answer also that the request was refused, a result that the id
        was given."""
        for event in made.events:
            if read(event, "kind") == "answer_sent" and read(event, "error", 0) and "request_refused" not in observed:
                refused = {n: read(event, n, -1) for n in ("broker", "request", "error")}
                yield event, refused | {"kind": "request_refused"}
            yield event, event
        if made.call.name == "init_producer_id":
            error, producer_id = made.result
            kind = "id_refused" if error else "id_handed_out"
            said = [read(e, "producer_id") for e in made.events if read(e, "kind") == "id_handed_out"]
            if said not in ([], [] if error else [producer_id]):
                words = f"the event says what the client got: it says {', '.join(map(str, said))}"
                raise Contradiction(FalseConjunct(kind, "730.P1", words), kind)
            if not any(read(e, "kind") == kind for e in made.events):
                event = {"kind": kind, "broker": made.call.index("brokers"), "producer_id": producer_id, "error": error}
                yield event, event

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """What is known of an event that nobody showed."""
        row: dict[str, Any] = dict.fromkeys(DRIVEN_COLUMNS, UNKNOWN)
        if made.call.name not in ("advance", "commit", "fail_over", "snapshot", "migrate", "set_block_size"):
            row["broker"] = made.call.index("brokers")
        if made.message is not None and made.message[3] in self.numbers:
            row["request"] = self.numbers[made.message[3]]
        row["controller"], row["size"] = self.elections, self.size
        row["by_controller"] = made.call.name == "zk_step" and made.call.index("brokers") < 0
        return row

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        """What an event says.  Raises `Contradiction` if it speaks of a request that was never sent."""
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
            raise Contradiction(FalseConjunct(kind, "730.19", f"request {number} is under way: nobody sent it"))
        return row | {"request": self.numbers[number]}

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """The row with everything that is a matter of choice chosen, in every way."""
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
        """A controller that acts on a request may act on a copy of it; an answer is to the request or to a copy."""
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
        """A number that stands for no request and no copy in any of these states."""
        used = {r for state in states for (r,) in state["stage"]} | set(self.numbers.values())
        free = next((r for r in range(SLOTS) if r not in used), None)
        if free is None:
            raise RuntimeError(
                f"more than {SLOTS} requests and copies are under way at once; let the driver deliver some"
            )
        return free

    def barred(self, memory: Memory, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """A back-off is not over too early."""
        began = next((t for what, b, t in memory if (what, b) == ("back-off", row["broker"])), None)
        if kind != "backoff_over" or began is None or self.now_ms - began >= BACK_OFF_MS[0]:
            return ()
        words = f"{BACK_OFF_MS[0]} ms of back-off have passed: {self.now_ms - began}"
        return (FalseConjunct("end_back_off", "730.5", words),)

    def uncalled_for(self, action: str, row: Row) -> tuple[FalseConjunct, ...]:
        """A request may be turned away for a reason that the driver gave, and for no other."""
        excused = {
            CLUSTER_AUTHORIZATION_FAILED: row["broker"] in self.denied,
            NOT_CONTROLLER: self.elections + self.moves > 0,
        }
        if action != NEEDS_A_REASON or excused.get(row["error"], False):
            return ()
        return (FalseConjunct(action, "730.5", f"there is a reason for error {row['error']}: nothing called for it"),)

    def remember(self, memory: Memory, kind: str, row: Row, before: State, state: State) -> Memory:
        """Since when back-offs and requests last."""
        if "backing_off" not in state:
            return ()
        old = {(what, b): t for what, b, t in memory}
        now = [("back-off", b) for (b,) in state["backing_off"]] + [("request", b) for (b,) in state["outstanding"]]
        same = {("request", b): before["outstanding"].get((b,)) == r for (b,), r in state["outstanding"].items()}
        return tuple(sorted((*k, old[k] if k in old and same.get(k, True) else self.now_ms) for k in now))

    def asked(self, made: Made) -> str:
        """A client that got no id has a check of its own."""
        name: str = made.call.name
        return "refused" if name == "init_producer_id" and made.result[0] else name

    def overdue(self, made: Made, memory: Memory) -> tuple[FalseConjunct, ...]:
        """Back-offs and requests that have lasted too long."""
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
        """Values worth trying for a parameter, for coverage."""
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
        """Messages that are gone, controllers that are gone, and requests that nobody will speak of any more."""
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
        """Requests that a call took off the network, and the stages in which it did."""
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
