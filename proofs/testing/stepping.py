"""This module applies one event to one candidate state: it returns the states after it, or what prevented it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.model.language.protocol import Action
from fencepost.proofs.results import Event, State
from fencepost.proofs.testing.readings import Conjunct, Observed, Reading, Step
from fencepost.proofs.testing.words import false_parts, with_values
from fencepost.properties.conformance_spec import UNKNOWN, FalseConjunct, Interpreter, Row
from fencepost.properties.driving import Made

REASONS = 3  # conditions reported of further candidates, in addition to those of the first


Holds = Callable[[State, Row], bool]
Conditions = tuple[Holds, list[Holds], Holds]
"""A `Conditions` has the conditions of an observation: before it, of each step, and after it."""


class Candidate(NamedTuple):
    """A `Candidate` is a state that the model may be in. ``memory`` is what the interpreter stores with the state."""

    state: State
    memory: Any
    done: bool  # the one thing that this call must do has happened


class Applied(NamedTuple):
    """An `Applied` is a candidate after an event, and the model's steps that led to it."""

    candidate: Candidate
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Obstacle:
    """An `Obstacle` is how far a step got: the more parts it passed, the nearer it is."""

    passed: int
    conjuncts: tuple[FalseConjunct, ...]


NOT_YET = Obstacle(0, ())
"""This obstacle means that a condition before the event is false, without details."""


class Stepper:
    def __init__(self, reading: Reading, interpreter: Interpreter) -> None:
        self.reading, self.plain, self.interpreter = reading, reading.plain, interpreter
        self._compiled: dict[str, Conditions] = {}

    def apply(self, candidate: Candidate, kind: str, row: Row) -> Iterator[Applied]:
        """Yield every state to which the event may lead."""
        seen = self.reading.observations[kind]
        for full in self.interpreter.choices(candidate.state, seen, row):
            result = self._walk(candidate, seen, full, explaining=False)
            if isinstance(result, Applied):
                yield result

    def apply_chosen(self, candidate: Candidate, kind: str, row: Row) -> Applied | None:
        """Return the state to which the event leads if no value is left to choose, or None."""
        result = self._walk(candidate, self.reading.observations[kind], row, explaining=False)
        return result if isinstance(result, Applied) else None

    def why_not(self, candidates: Sequence[Candidate], asked: Sequence[tuple[str, Row]]) -> tuple[FalseConjunct, ...]:
        """Return the false conditions of the attempt that got furthest, over all candidates."""
        nearest = [
            max(found, key=lambda a: (a.passed, -len(a.conjuncts)))
            for c in candidates
            if (found := self._tried(c, asked))
        ]
        conjuncts = dict.fromkeys(c for attempt in nearest for c in attempt.conjuncts)
        return tuple(conjuncts)[: len(nearest[0].conjuncts) + REASONS] if conjuncts else ()

    def _tried(self, candidate: Candidate, asked: Sequence[tuple[str, Row]]) -> list[Obstacle]:
        results = [
            self._walk(candidate, self.reading.observations[kind], full, explaining=True)
            for kind, row in asked
            for full in self.interpreter.choices(candidate.state, self.reading.observations[kind], row)
        ]
        return [r for r in results if isinstance(r, Obstacle)]

    def _walk(self, candidate: Candidate, seen: Observed, row: Row, explaining: bool) -> Applied | Obstacle:
        """Apply an event to a candidate. With ``explaining``, the result lists in words what prevents the event, which
        takes most of the time."""
        state, passed = candidate.state, 0
        before, when, after = self._conditions(seen)
        if not explaining and not before(state, row):
            return NOT_YET
        false = self._false(seen, seen.before, state, row) if explaining else ()
        false += self.interpreter.barred(candidate.memory, seen.kind, row)
        if false:
            return Obstacle(passed, false)
        actions = []
        for step, is_due in zip(seen.steps, when, strict=True):
            passed += 1
            if not is_due(state, row):
                continue
            if strangers := [column for column, _ in step.members if type(row[column]) is int and row[column] < 0]:
                return Obstacle(passed, self._not_named(step, strangers) if explaining else ())
            action, values = self.plain.spec.actions[step.action], [row[c] for c in step.columns]
            taken = self.plain.taken(step.action, state, values)
            if taken is None:
                return Obstacle(passed, self._barred(action, state, step, values) if explaining else ())
            if false := self.interpreter.uncalled_for(step.action, row):
                return Obstacle(passed, false)
            state = taken
            actions.append(action)
        if not after(state, row):
            return Obstacle(passed + 1, self._false(seen, seen.after, state, row) if explaining else ())
        memory = self.interpreter.remember(candidate.memory, seen.kind, row, candidate.state, state)
        return Applied(Candidate(state, memory, candidate.done), tuple(actions))

    def _conditions(self, seen: Observed) -> Conditions:
        if seen.kind not in self._compiled:
            holding = self.plain.holding
            self._compiled[seen.kind] = holding(seen.before), [holding(s.when) for s in seen.steps], holding(seen.after)
        return self._compiled[seen.kind]

    @staticmethod
    def _known(condition: Conjunct, row: Row) -> bool:
        return all(row[c] is not UNKNOWN for c in condition.columns)

    def _false(
        self, seen: Observed, conditions: Sequence[Conjunct], state: State, row: Row
    ) -> tuple[FalseConjunct, ...]:
        return tuple(
            FalseConjunct(seen.kind, seen.rule, with_values(part, self.plain, state, row, self.reading.followed.errors))
            for c in conditions
            if self._known(c, row) and not c.holds(self.plain, state, row)
            for part in false_parts(c.term, self.plain, state, row)
        )

    def _not_named(self, step: Step, strangers: Sequence[str]) -> tuple[FalseConjunct, ...]:
        return tuple(
            FalseConjunct(step.action, "", f"a {sort} as its {column}, and the event names none")
            for column, sort in step.members
            if column in strangers
        )

    def _barred(self, action: Action, state: State, step: Step, values: Sequence[Any]) -> tuple[FalseConjunct, ...]:
        event = Event(step.action, dict(zip(step.names, values, strict=True)))
        return tuple(
            FalseConjunct(action.name, g.rule or "", with_values(g.condition, self.plain, state, event.parameters))
            for g in action.guards
            if not self.plain.value(g.condition, state, **event.parameters)
        )

    def check(self, made: Made, candidate: Candidate, row: Row) -> tuple[FalseConjunct, ...]:
        """Return the conditions that should hold when the call returns, and do not."""
        name = self.interpreter.asked(made)
        seen = self.reading.checks.get(name)
        if seen is None or not self._false(seen, seen.before, candidate.state, row):
            return self.interpreter.overdue(made, candidate.memory)
        return (FalseConjunct(name, seen.rule, self.reading.followed.says[name]),)
