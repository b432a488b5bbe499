"""One candidate state, one event: which states come after it, and if none, what was in the way."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.model.language.protocol import Action
from fencepost.model.language.types import AtomsType, BoolType, ScalarType
from fencepost.properties.id_blocks.calls import AFTERWARDS, BACK_OFF_MS, GIVEN_UP_MS
from fencepost.properties.id_blocks.observations import COLUMNS
from fencepost.properties.id_blocks.plug import read
from fencepost.properties.id_blocks.programs import Made

from ..plain import freeze
from ..results import Event, State
from .failures import Disagreed, Evidence, FalseConjunct
from .readings import SLOTS, Conjunct, Observed, Reading
from .words import UNKNOWN, false_parts, with_values

Row = Mapping[str, Any]
"""The columns of one event, known or guessed; `UNKNOWN` where nobody saw them."""

REASONS = 3  # conditions told of further candidates, beside those of the first
SENT, ANSWERED, REFUSED = 1, 3, 4  # members of Stage
NOT_CONTROLLER, CLUSTER_AUTHORIZATION_FAILED = 41, 31


class Candidate(NamedTuple):
    """A state that the model may be in.  ``since``: when (ms) a broker's back-off, or its request, began, as far as
    they last."""

    state: State
    since: tuple[tuple[str, int, int], ...]
    done: bool  # the one thing that this call must do has happened

    def key(self) -> tuple[Any, ...]:
        return freeze(self.state), self.since, self.done


class Applied(NamedTuple):
    """A candidate after an event, and the model's steps that led to it."""

    candidate: Candidate
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Obstacle:
    """How far a step came: the more parts it got through, the nearer it is."""

    passed: int
    conjuncts: tuple[FalseConjunct, ...]


class Stepper:
    """Applies events to candidates.  Knows what the driver did: the time, who was elected how often, who lost a
    permission."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.plain = reading, reading.plain
        self.now_ms = 0
        self.elections = 0
        self.moves = 0
        self.denied: set[int] = set()
        self.numbers: dict[int, int] = {}  # of requests: the implementation's to the model's
        self.held: Counter[int] = Counter()  # requests and copies that reached a controller and are not answered

    def called(self, made: Made) -> None:
        """Take note of what a call does by itself."""
        call = made.call
        if call.name == "advance":
            self.now_ms += call.value
        self.elections += call.name == "fail_over"
        self.moves += call.name == "migrate" and made.result is True
        if call.name in ("fail_over", "migrate") and made.result is not False:
            self.held.clear()
        if call.name == "deliver" and call.kind == "request" and made.message is not None:
            self.held[made.message[3]] += 1
        if call.name == "set_cluster_action":
            (self.denied.discard if call.value else self.denied.add)(call.broker)

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """What is known of an event that nobody showed."""
        row: dict[str, Any] = dict.fromkeys(COLUMNS, UNKNOWN)
        if made.call.name not in ("advance", "commit", "fail_over", "snapshot", "migrate"):
            row["broker"] = made.call.broker
        if made.message is not None and made.message[3] in self.numbers:
            row["request"] = self.numbers[made.message[3]]
        row["controller"] = self.elections
        row["by_controller"] = made.call.name == "zk_step" and made.call.broker < 0
        return row

    def row_of_event(self, event: Any, evidence: Evidence, candidates: Sequence[Candidate]) -> dict[str, Any]:
        """What an event says.  Raises `Disagreed` if it speaks of a request that was never sent."""
        row = {name: read(event, name, -1) for name in ("broker", "first", "length", "producer_id")}
        kind, number = read(event, "kind"), read(event, "request", -1)
        row |= {"error": read(event, "error", 0), "request": number, "slot": UNKNOWN, "asker": UNKNOWN}
        row |= {"controller": self.elections, "by_controller": kind.startswith("zk_") and row["broker"] < 0}
        if number < 0:
            return row
        if kind == "request_sent" and number not in self.numbers:
            self.numbers[number] = self._free(*(c.state for c in candidates))
        if kind == "answer_sent":
            self.held[number] -= 1
        if number not in self.numbers:
            raise Disagreed(
                evidence, (FalseConjunct(kind, "730.19", f"request {number} is under way: nobody sent it"),)
            )
        return row | {"request": self.numbers[number]}

    def apply(self, candidate: Candidate, kind: str, row: Row) -> Iterator[Applied]:
        """Every state to which the event may lead."""
        seen = self.reading.observations[kind]
        for full in self._bindings(candidate.state, seen, row):
            result = self._walk(candidate, seen, full)
            if isinstance(result, Applied):
                yield result

    def why_not(self, candidates: Sequence[Candidate], asked: Sequence[tuple[str, Row]]) -> tuple[FalseConjunct, ...]:
        """The false conditions of the attempt that came furthest; of each candidate, where there are several."""
        nearest = [
            max(found, key=lambda a: (a.passed, -len(a.conjuncts)))
            for c in candidates
            if (found := self._tried(c, asked))
        ]
        conjuncts = dict.fromkeys(c for attempt in nearest for c in attempt.conjuncts)
        return tuple(conjuncts)[: len(nearest[0].conjuncts) + REASONS] if conjuncts else ()

    def _tried(self, candidate: Candidate, asked: Sequence[tuple[str, Row]]) -> list[Obstacle]:
        results = [
            self._walk(candidate, self.reading.observations[kind], full)
            for kind, row in asked
            for full in self._bindings(candidate.state, self.reading.observations[kind], row)
        ]
        return [r for r in results if isinstance(r, Obstacle)]

    def _bindings(self, state: State, seen: Observed, row: Row) -> Iterator[dict[str, Any]]:
        """The row with everything that is a matter of choice chosen, in every way."""
        needs, direct = seen.columns, seen.kind.startswith("zk_") and not row["by_controller"]
        choose_broker = row["broker"] is UNKNOWN and "broker" in needs
        brokers = range(self.reading.brokers) if choose_broker else (row["broker"],)
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

    def _slots(self, state: State, seen: Observed, request: int) -> list[int]:
        stages = state["stage"]
        if not seen.repeats:
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

    def _walk(self, candidate: Candidate, seen: Observed, row: Row) -> Applied | Obstacle:
        state, passed = candidate.state, 0
        false = self._false(seen, seen.before, state, row) + self._too_early(candidate, seen.kind, row)
        if false:
            return Obstacle(passed, false)
        actions = []
        for step in seen.steps:
            passed += 1
            if not all(w.holds(self.plain, state, row) for w in step.when if self._known(w, row)):
                continue
            action = self.plain.spec.actions[step.action]
            event = Event(step.action, {n: row[c] for n, c in zip(step.names, step.columns, strict=True)})
            if not self.plain.enabled(state, event):
                return Obstacle(passed, self._barred(action, state, event))
            if step.action == "turn_away" and (false := self._uncalled_for(row)):
                return Obstacle(passed, false)
            after = self.plain.step(state, event)
            assert after is not None
            state = after
            actions.append(action)
        if false := self._false(seen, seen.after, state, row):
            return Obstacle(passed + 1, false)
        return Applied(Candidate(state, self._since(candidate, state), candidate.done), tuple(actions))

    @staticmethod
    def _known(condition: Conjunct, row: Row) -> bool:
        return all(row[c] is not UNKNOWN for c in condition.columns)

    def _false(
        self, seen: Observed, conditions: Sequence[Conjunct], state: State, row: Row
    ) -> tuple[FalseConjunct, ...]:
        return tuple(
            FalseConjunct(seen.kind, seen.rule, with_values(part, self.plain, state, row))
            for c in conditions
            if self._known(c, row) and not c.holds(self.plain, state, row)
            for part in false_parts(c.term, self.plain, state, row)
        )

    def _barred(self, action: Action, state: State, event: Event) -> tuple[FalseConjunct, ...]:
        return tuple(
            FalseConjunct(action.name, g.rule or "", with_values(g.condition, self.plain, state, event.parameters))
            for g in action.guards
            if not self.plain.value(g.condition, state, **event.parameters)
        )

    def _too_early(self, candidate: Candidate, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        began = next((t for what, b, t in candidate.since if (what, b) == ("back-off", row["broker"])), None)
        if kind != "backoff_over" or began is None or self.now_ms - began >= BACK_OFF_MS[0]:
            return ()
        return (
            FalseConjunct(
                "end_back_off", "730.5", f"{BACK_OFF_MS[0]} ms of back-off have passed: {self.now_ms - began}"
            ),
        )

    def _uncalled_for(self, row: Row) -> tuple[FalseConjunct, ...]:
        """A request may be turned away for a reason that the driver gave, and for no other."""
        excused = {
            CLUSTER_AUTHORIZATION_FAILED: row["broker"] in self.denied,
            NOT_CONTROLLER: self.elections + self.moves > 0,
        }
        if excused.get(row["error"], False):
            return ()
        return (
            FalseConjunct("turn_away", "730.5", f"there is a reason for error {row['error']}: nothing called for it"),
        )

    def _since(self, before: Candidate, state: State) -> tuple[tuple[str, int, int], ...]:
        if "backing_off" not in state:
            return ()
        old = {(what, b): t for what, b, t in before.since}
        now = [("back-off", b) for (b,) in state["backing_off"]] + [("request", b) for (b,) in state["outstanding"]]
        same = {("request", b): before.state["outstanding"].get((b,)) == r for (b,), r in state["outstanding"].items()}
        return tuple(sorted((*k, old[k] if k in old and same.get(k, True) else self.now_ms) for k in now))

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        """Values worth trying for a parameter, for coverage."""
        if isinstance(kind, BoolType):
            return (False, True)
        assert isinstance(kind, AtomsType)
        if kind.bound == "brokers":
            return range(self.reading.brokers)
        if kind.bound == "controllers":
            return range(max(0, self.elections - 1), self.elections + 1)
        return [*sorted(r for (r,) in state["stage"])[:3], self._free(state)]

    def check(self, made: Made, candidate: Candidate, row: Row) -> tuple[FalseConjunct, ...]:
        """What should be so when the call returns, and is not."""
        name = made.call.name
        late: tuple[FalseConjunct, ...] = ()
        if name == "init_producer_id" and made.result[0]:
            name, late = "refused", self._overdue(candidate, "back-off", made.call.broker, BACK_OFF_MS[1])
        elif name == "advance":
            late = tuple(
                f for b in range(self.reading.brokers) for f in self._overdue(candidate, "request", b, GIVEN_UP_MS)
            )
        seen = self.reading.checks.get(name)
        if seen is None or not self._false(seen, seen.before, candidate.state, row):
            return late
        return (FalseConjunct(name, "730.P3" if name == "refused" else "730.7", AFTERWARDS[name]),)

    def _overdue(self, candidate: Candidate, what: str, broker: int, limit: int) -> tuple[FalseConjunct, ...]:
        began = next((t for w, b, t in candidate.since if (w, b) == (what, broker)), self.now_ms)
        if self.now_ms - began < limit:
            return ()
        text = f"the {what} of broker {broker} ends within {limit} ms: it has lasted {self.now_ms - began}"
        return (FalseConjunct("end_back_off" if what == "back-off" else "time_out", "730.5", text),)
