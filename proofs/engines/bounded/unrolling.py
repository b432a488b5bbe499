"""The steps of a protocol from its initial state, one circuit for all paths of a length.

At each depth exactly one instance of an action is taken.  Of paths that differ only in the names of interchangeable
elements, or in the order of neighbours that do not touch each other's entries, only the first in the order of
instances is kept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.types import AtomsType, Bounds, OptionType, SeqType, bound_of
from fencepost.proofs.engines.bounded.cases import CaseReading, CaseState, Keys, Value
from fencepost.proofs.engines.bounded.circuit import FALSE, TRUE, Circuit, Model
from fencepost.proofs.engines.bounded.independence import Touched, independent, touches
from fencepost.proofs.results import Event, State, Trace


@dataclass(frozen=True)
class Instance:
    """An action with values for its parameters; ``number`` is its place in the order of instances."""

    number: int
    action: Action
    names: Mapping[str, Value]

    @cached_property
    def event(self) -> Event:
        return Event(self.action.name, {name: _known(value) for name, value in self.names.items()})

    @cached_property
    def touches(self) -> tuple[Touched, Touched]:
        return touches(self.action, self.event.parameters)


Taken = tuple[Instance, int]
"""An instance and the literal that it is the one taken at some depth."""


class Unrolling:
    """``states[d]`` is the state after ``d`` steps, and ``taken[d]`` what may lead from it to the next."""

    def __init__(self, reading: CaseReading, interchangeable: list[AtomsType]) -> None:
        self.spec: Spec = reading.spec
        self.bounds: Bounds = reading.bounds
        self.reading = reading
        self.circuit: Circuit = reading.circuit
        choices = ((a, names) for a in self.spec.actions.values() for names in reading.instances(a.parameters))
        self.instances = [Instance(number, action, names) for number, (action, names) in enumerate(choices)]
        self.states: list[CaseState] = [reading.initial()]
        self.taken: list[list[Taken]] = []
        budgets = {a.budget for a in self.spec.actions.values() if a.budget is not None}
        self._spent: dict[str, Value] = {budget: {0: TRUE} for budget in sorted(budgets)}
        self._used = {sort: [FALSE] * self.bounds[sort.bound] for sort in interchangeable}
        self._swappable: dict[tuple[int, int], bool] = {}

    @property
    def depth(self) -> int:
        return len(self.taken)

    def unroll(self) -> None:
        """One more step: one instance is taken, and the state after it is the next one."""
        now = self.states[-1]
        steps = list(self._possible(now))
        self.taken.append([(instance, literal) for instance, literal, _ in steps])
        self.circuit.one_of([literal for _, literal in self.taken[-1]])
        self.states.append(self._merge(now, [(literal, after) for _, literal, after in steps]))
        self._spend()
        self._use_in_order()
        # Not the last step: a property of steps may hold of it in one order only.
        if self.depth > 2:
            self._swap_nothing(*self.taken[-3:-1])

    def _possible(self, now: CaseState) -> Iterator[tuple[Instance, int, CaseState]]:
        """Instances that some path can take here, each with its literal and the state it leads to."""
        reading, circuit = self.reading, self.circuit
        for instance in self.instances:
            action = instance.action
            conditions = [*(guard.condition for guard in action.guards), *action.limits]
            allowed = [reading.truth(c, now, None, instance.names) for c in conditions]
            if action.budget is not None:
                allowed.append(-self._spent[action.budget].get(bound_of(self.bounds, action.budget), FALSE))
            if circuit.both(allowed) != FALSE:
                after, fits = reading.after(now, action.updates, instance.names)
                enabled = circuit.both([*allowed, fits])
                if enabled != FALSE:
                    literal = circuit.fresh()
                    circuit.clause(-literal, enabled)
                    yield instance, literal, after

    def _merge(self, now: CaseState, steps: list[tuple[int, CaseState]]) -> CaseState:
        """Each entry as the instance taken leaves it."""
        merged: CaseState = {}
        for name, entries in now.items():
            writers = [(literal, after[name]) for literal, after in steps if after[name] is not entries]
            merged[name] = entries
            if writers:
                merged[name] = {keys: self._entry(value, keys, writers) for keys, value in entries.items()}
        return merged

    def _entry(self, value: Value, keys: Keys, writers: list[tuple[int, dict[Keys, Value]]]) -> Value:
        changes = [(literal, after[keys]) for literal, after in writers if after[keys] is not value]
        if not changes:
            return value
        kept = -self.circuit.either([literal for literal, _ in changes])
        merged = self.reading.merge([(kept, value), *changes])
        if not isinstance(merged, int):
            # Follows from the rest, but only over the whole past: without it Z3 takes three times as long.
            self.circuit.at_most_one(list(merged.values()))
            self.circuit.clause(*merged.values())
        return merged

    def _spend(self) -> None:
        for budget, cases in self._spent.items():
            spends = self.circuit.either([x for instance, x in self.taken[-1] if instance.action.budget == budget])
            self._spent[budget] = self.reading.choose(spends, {n + 1: x for n, x in cases.items()}, cases)

    def _use_in_order(self) -> None:
        """An element is a parameter for the first time only after the one before it was, or in the same step."""
        for sort, used in self._used.items():
            uses: list[list[int]] = [[] for _ in used]
            for instance, literal in self.taken[-1]:
                kinds = dict(instance.action.parameters)
                mine = [value for name, value in instance.event.parameters.items() if kinds[name] == sort]
                for place, element in enumerate(mine):
                    uses[element].append(literal)
                    if element > 0 and element - 1 not in mine[:place]:
                        self.circuit.clause(-literal, used[element - 1])
            self._used[sort] = [self.circuit.either((before, *now)) for before, now in zip(used, uses, strict=True)]

    def _swap_nothing(self, earlier: list[Taken], later: list[Taken]) -> None:
        """Neighbours that could as well be swapped come in the order of instances."""
        for one, first in earlier:
            for other, second in later:
                if other.number < one.number and self._commute(one, other):
                    self.circuit.clause(-first, -second)

    def _commute(self, one: Instance, other: Instance) -> bool:
        key = (one.number, other.number)
        if key not in self._swappable:
            self._swappable[key] = independent(one.touches, other.touches)
        return self._swappable[key]

    # Reading a path back

    def trace(self, model: Model) -> Trace:
        """The path that a model takes."""
        events = tuple(next(instance.event for instance, x in steps if model[x]) for steps in self.taken)
        return Trace(tuple(self._state(state, model) for state in self.states), events)

    def _state(self, state: CaseState, model: Model) -> State:
        plain: State = {}
        for name, entries in state.items():
            values = {keys: _value(value, model) for keys, value in entries.items()}
            if isinstance(self.spec.types[name], SeqType):
                plain[name] = tuple(values[position,] for position in range(1, values[()] + 1))
            elif () in values:
                plain[name] = values[()]
            else:
                zeros = {
                    keys: None if isinstance(self.reading.entry_type(name, keys), OptionType) else 0 for keys in values
                }
                plain[name] = {keys: value for keys, value in values.items() if value != zeros[keys]}
        return plain


def _value(value: Value, model: Model) -> Any:
    return model[value] if isinstance(value, int) else next(plain for plain, literal in value.items() if model[literal])


def _known(value: Value) -> Any:
    """The only case of a parameter."""
    return value == TRUE if isinstance(value, int) else next(iter(value))
