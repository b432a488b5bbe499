"""This module asks Z3, for each action and property, whether in some state within the bounds the explorer's emitted
functions, or the columns of replay, do anything else than the terms state.

A state is any choice of its fields' numbers, reachable or not, except that unused entries of a sequence are 0. For an
action, with all choices of its parameters, the explorer must take the step exactly where guards, limits and budgets
hold and everything stays within the bounds, and must write the words of the state after. A property must be found
exactly where the terms state it, and one of steps wherever a step is taken. Columns must allow the step exactly where
guards hold and no key leaves its range, and must hold the state after, without ghosts, and raise no error. What is not
asked is in `LEFT_OUT`.
"""

import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

import z3
from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    MapType,
    OptionType,
    ScalarType,
    SeqType,
    bound_of,
    evaluate_bound,
    scalars,
)
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.readings.columns import Columns, ColumnsError, ColumnStates
from fencepost.proofs.readings.columns.source import Program
from fencepost.proofs.readings.equal.fields import LARGEST, BitReading, FieldState, packed
from fencepost.proofs.readings.equal.grids import WIDE
from fencepost.proofs.readings.equal.grids import execute as execute_columns
from fencepost.proofs.readings.equal.machine import Taken, execute
from fencepost.proofs.readings.ground import BoundsError, ground
from fencepost.proofs.readings.ground.layout import highest, raw
from fencepost.proofs.readings.solver.finite import scalar_values
from fencepost.proofs.readings.solver.states import UpdatedState
from fencepost.proofs.readings.solver.terms import Locals, Value, View
from fencepost.proofs.results import Event

SMALL = 15
"""Numbers up to this one, such as those of a text's own conditions, have room under any bounds."""
LITERAL = re.compile(r"\(_ bv(\d+) (\d+)\)")
"""A form of numbers that Z3 prints and Ethos does not read."""
LIMIT = 50_000_000
"""One question has this limit of Z3's resources."""


Kind = Literal["action", "property"]
ReadAs = Literal["packed words", "columns"]
"""The readings that are compared with the Z3 term."""
LEFT_OUT = {
    "packed words of numba": "its source, made of the same ground conditions, is another; tests compare its searches",
    "quantifiers without bounds": "proofs leave them to Z3, and here they are unrolled within the bounds",
    "columns of ghosts, limits, budgets and properties": "replay has none of them",
    "plain Python beyond reachable states": "it is run, not proved, and in no other state",
    "refinements and progress": "they are judged outside of these functions",
    "TLA+": "TLC alone reads it; tests compare its counts of states",
}
"""What no answer is about, with the reason."""


@dataclass(frozen=True)
class Equal:
    """An `Equal` is the answer on one action or property, which ``of`` names. ``verdict`` is violated where a state
    distinguishes the readings, which ``state`` has as field values by name, and unknown where Z3 gave up. ``possible``
    says whether any state within the bounds allows the action."""

    of: str
    kind: Kind
    read_as: ReadAs
    verdict: Literal["holds", "violated", "unknown"]
    seconds: float
    state: Mapping[str, int]
    possible: bool = True


@dataclass(frozen=True)
class Part:
    """A `Part` is the question about one choice of an action's parameters, or about one property. ``differs`` holds in
    the states in which the readings are not the same, so that it holds in none."""

    of: str
    kind: Kind
    read_as: ReadAs
    says: str
    differs: Any


class Readings:
    """A `Readings` has both readings of one protocol within bounds, over the same symbolic state."""

    def __init__(self, spec: Spec, properties: Mapping[str, Property], bounds: Bounds) -> None:
        self.spec, self.bounds = spec, bounds
        self.properties = {n: p for n, p in properties.items() if not isinstance(p, Refinement)}
        self.kernels = Kernels(ground(spec, self.properties, bounds))
        self.layout = self.kernels.ground.layout
        fields = self.layout.fields
        if wide := [f"{f.name} up to {f.high:,}" for f in fields if f.high > LARGEST]:
            raise BoundsError(f"{spec.name}: {wide[0]} is above {LARGEST:,}; choose a smaller bound")
        constants = {name: bound_of(bounds, name) for name in spec.constants}
        largest = max(*(f.high for f in fields), *map(int, bounds.values()), SMALL)
        self.reading = BitReading(spec, bounds, constants, largest)
        self.context = self.reading.context
        widths = [max(f.high.bit_length(), 1) for f in fields]
        variables = [z3.BitVec(_symbol(f.name), n, self.context) for f, n in zip(fields, widths, strict=True)]
        self.numbers = [z3.ZeroExt(self.reading.bits - n, v) for n, v in zip(widths, variables, strict=True)]
        self.within = [z3.ULE(v, f.high) for v, f in zip(variables, fields, strict=True)]
        self.within += self._unused()
        self.before = FieldState(self.reading, self.layout, self.numbers)
        words = packed(self.kernels.packing, self.numbers, self.context)
        self.taken, self.found = execute(self.kernels, words, self.context)
        self.by_event = {
            (i.action, tuple(i.parameters.values())): n for n, i in enumerate(self.kernels.ground.instances)
        }

    def all(self) -> Iterator[tuple[Equal, list[Part]]]:
        """Yield the answers for every action, then for every property that the emitted functions judge, each with the
        parts of its question."""
        for name in self.spec.actions:
            yield from self.of_action(name)
        yield from self.of_properties()

    def of_properties(self) -> Iterator[tuple[Equal, list[Part]]]:
        """Yield the answer on every property that the emitted functions judge."""
        yield from self._answers(self._parts_of_properties())

    def of_action(self, name: str) -> Iterator[tuple[Equal, list[Part]]]:
        """Yield the answer on packed words, and that on columns, unless columns do not hold the protocol."""
        yield from self._answers(self._parts(name), self.spec.actions[name])

    def _parts(self, name: str) -> Iterator[Part]:
        """Yield the questions about an action, those on packed words first."""
        action = self.spec.actions[name]
        ways: list[tuple[ReadAs, Callable[..., Iterator[Any]]]] = [("packed words", self._words)]
        if not self.without_columns:
            ways.append(("columns", self._columns))
        for read_as, differs in ways:
            for parameters, names in self._choices(action):
                says = f"{_event(action, parameters)} in {read_as}"
                yield Part(name, "action", read_as, says, self.reading.either([*differs(action, parameters, names)]))

    def _parts_of_properties(self) -> Iterator[Part]:
        for number, name in enumerate(self.kernels.states):
            yield Part(name, "property", "packed words", name, self._state(number, name))
        for number, name in enumerate(self.kernels.steps):
            for says, differs in self._steps(number, name):
                yield Part(name, "property", "packed words", f"{name} of {says}", differs)

    def statement(self, part: Part) -> str:
        """Return the question about a part as a text in SMT-LIB 2, which is to be refuted."""
        solver = z3.Solver(ctx=self.context)
        solver.add(*self.within, part.differs)
        return f"(set-logic QF_BV)\n{LITERAL.sub(lambda n: f'#b{int(n[1]):0{n[2]}b}', solver.to_smt2())}"

    def _unused(self) -> Iterator[Any]:
        """Yield the conditions that unused entries of a sequence are 0, so that equal states have equal fields."""
        for name, kind in self.spec.types.items():
            if isinstance(kind, SeqType):
                place = self.layout.places[name]
                for position in range(1, place.sizes[0] + 1):
                    used = z3.UGE(self.numbers[place.first], position)
                    yield z3.Or(used, self.numbers[place.first + position] == 0)

    def _answers(self, parts: Iterable[Part], action: Action | None = None) -> Iterator[tuple[Equal, list[Part]]]:
        """Yield the answer on all parts of one action or property in one reading together."""
        for (of, kind, read_as), some in groupby(parts, lambda part: (part.of, part.kind, part.read_as)):
            began, alike = time.perf_counter(), list(some)
            answer, state = self._check(self.reading.either([part.differs for part in alike]))
            verdict: Any = {"unsat": "holds", "sat": "violated"}.get(str(answer), "unknown")
            spent = time.perf_counter() - began
            possible = action is None or action.name in self.possible
            yield Equal(of, kind, read_as, verdict, spent, state, possible), alike

    def _check(self, asked: Any) -> tuple[Any, dict[str, int]]:
        solver = z3.SolverFor("QF_BV", ctx=self.context)
        solver.set("rlimit", LIMIT)
        solver.add(*self.within, asked)
        answer = solver.check()
        if answer != z3.sat:
            return answer, {}
        model = solver.model()
        values = [model.eval(n, model_completion=True).as_long() for n in self.numbers]
        return answer, {f.name: v for f, v in zip(self.layout.fields, values, strict=True)}

    @cached_property
    def possible(self) -> frozenset[str]:
        """Return the actions that some state within the bounds allows, so that their equality says something."""
        found = set()
        for action in self.spec.actions.values():
            allowed = [self.reading.both(list(self._enabled(action, names))) for _, names in self._choices(action)]
            if self._check(self.reading.either(allowed))[0] != z3.unsat:
                found.add(action.name)
        return frozenset(found)

    def _words(self, action: Action, parameters: tuple[Any, ...], names: Locals) -> Iterator[Any]:
        """Yield where an instance is taken without being enabled, or the other way round, or leads to another state."""
        taken = self.taken.get(self.by_event.get((action.name, parameters), -1))
        enabled = self.reading.both(list(self._enabled(action, names)))
        if taken is None:
            yield enabled
            return
        yield z3.Not(taken.where == enabled)
        after, fields = self._after(action, names), self.layout.fields
        words = packed(self.kernels.packing, after, self.context)
        same = [a == b for a, b in zip(taken.words, words, strict=True)]
        same += [z3.ULE(n, f.high) for n, old, f in zip(after, self.numbers, fields, strict=True) if n is not old]
        yield z3.And(enabled, z3.Not(self.reading.both(same)))

    @cached_property
    def columns(self) -> ColumnStates:
        """Return the protocol as columns, of one state. Errors: ColumnsError where columns do not hold it."""
        sorts = {
            part.bound for kind in self.spec.types.values() for part in scalars(kind) if isinstance(part, AtomsType)
        }
        sizes = {**self.bounds, **{bound: evaluate_bound(bound, self.bounds) for bound in sorts}}
        return Columns(self.spec, {n: bound_of(self.bounds, n) for n in self.spec.constants}).initial(1, sizes)

    @cached_property
    def without_columns(self) -> str:
        """Return why columns do not hold the protocol, or ""."""
        try:
            _ = self.columns
        except ColumnsError as error:
            return str(error)
        return ""

    def _columns(self, action: Action, parameters: tuple[Any, ...], names: Locals) -> Iterator[Any]:
        """Yield where columns allow a step that is not allowed, or the other way round, or hold another state after it,
        or raise an error. Replay has its programs know that keys lie inside; both forms are run."""
        given = [
            bool(value) if isinstance(kind, BoolType) else raw(value, kind)
            for value, (_, kind) in zip(parameters, action.parameters, strict=True)
        ]
        allowed = [self.reading.truth(guard.condition, self.before, names=names) for guard in action.guards]
        keys = [part for u in action.updates if u.variable in self._arrays for part in self._keys(u, names)]
        wanted = self.reading.both(allowed + keys)
        after = UpdatedState(self.reading, self.before, action.updates, names)
        for program in self._programs(action.name):
            made = execute_columns(program, self._arrays, given, self.columns.domain, self.context)
            yield from made.faults
            yield z3.Not(made.held == wanted)
            for name in {u.variable for u in action.updates} & self._arrays.keys():
                pairs = zip(made.cells[name], self._cells_of(after, name), strict=True)
                yield z3.And(wanted, z3.Not(self.reading.both([a == b for a, b in pairs])))

    @cached_property
    def _arrays(self) -> dict[str, list[Any]]:
        return {name: self._cells_of(self.before, name) for name in self.columns.columns.types}

    def _programs(self, name: str) -> tuple[Program, Program]:
        columns, action = self.columns.columns, self.spec.actions[name]
        names = [parameter for parameter, _ in action.parameters]
        inside = columns.program([g.condition for g in action.guards], action.updates, names, inside=True)
        return columns.action(name), inside

    def _cells_of(self, view: View, name: str) -> list[Any]:
        """Return the array that holds a variable: its numbers, and zeros in the cells that lie outside the keys."""
        of, found = self.columns.arrays[name], dict[int, Any]()
        kind = self.spec.types[name]
        sizes = [self.columns.domain(k) + 1 for k in kind.keys] if isinstance(kind, MapType) else []
        for (_, keys, value), at in zip(
            self._cells(name), itertools.product(*(range(n - 1) for n in sizes)), strict=True
        ):
            entry, place = view.entry(name, keys or ()), 0
            for key, size in zip(at, sizes, strict=True):
                place = place * size + key
            truth = isinstance(value, BoolType)
            found[place] = entry[0] if truth else z3.SignExt(WIDE - self.reading.bits, self.reading.raw(entry, value))
        zero = z3.BoolVal(False, self.context) if of.dtype == bool else z3.BitVecVal(0, WIDE, self.context)
        return [found.get(place, zero) for place in range(of.size)]

    def _state(self, number: int, name: str) -> Any:
        prop = self.properties[name]
        holds = self.reading.truth(prop.term, self.before)
        wanted = holds if prop.role == "witness" else z3.Not(holds)
        return z3.Not(self.found.get(number, z3.BoolVal(False, self.context)) == wanted)

    def _steps(self, number: int, name: str) -> Iterator[tuple[str, Any]]:
        """Yield each instance that is taken, in words, and where it breaks the property in one reading alone."""
        term = self.properties[name].term
        for action in self.spec.actions.values():
            for parameters, names in self._choices(action):
                taken: Taken | None = self.taken.get(self.by_event.get((action.name, parameters), -1))
                if taken is None:
                    continue
                after = UpdatedState(self.reading, self.before, action.updates, names)
                broken = z3.And(taken.where, z3.Not(self.reading.truth(term, self.before, after)))
                found = taken.broken.get(number, z3.BoolVal(False, self.context))
                yield _event(action, parameters), z3.Not(found == broken)

    def _choices(self, action: Action) -> Iterator[tuple[tuple[Any, ...], Locals]]:
        kinds = [kind for _, kind in action.parameters]
        for values in itertools.product(*(scalar_values(kind, self.bounds) for kind in kinds)):
            literals = [self.reading.literal(v, kind) for v, kind in zip(values, kinds, strict=True)]
            yield values, {n: v for (n, _), v in zip(action.parameters, literals, strict=True)}

    def _enabled(self, action: Action, names: Locals) -> Iterator[Any]:
        for term in (*(g.condition for g in action.guards), *action.limits):
            yield self.reading.truth(term, self.before, names=names)
        if action.budget is not None:
            place = self.layout.budgets[action.budget]
            yield z3.ULT(self.numbers[place], self.layout.fields[place].high)
        for update in action.updates:
            yield from self._fits(update, names)

    def _fits(self, update: Update, names: Locals) -> Iterator[Any]:
        kind, place = self.spec.types[update.variable], self.layout.places[update.variable]
        of: Any = kind.value if isinstance(kind, MapType) else kind.entry if isinstance(kind, SeqType) else kind
        for case in self.reading.instances(update.bound) if update.bound else ({},):
            value = self.reading.read(update.value, {**names, **case}, self.before)
            yield self._inside(value, of)
        yield from self._keys(update, names)
        if update.appends:
            yield self.before.length(update.variable) < place.sizes[0]

    def _keys(self, update: Update, names: Locals) -> Iterator[Any]:
        if update.keys:
            kind = self.spec.types[update.variable]
            assert isinstance(kind, MapType)
            for key, sort in zip(update.keys, kind.keys, strict=True):
                yield self._inside(self.reading.read(key, names, self.before), sort)

    def _inside(self, value: Value, kind: ScalarType) -> Any:
        if isinstance(kind, OptionType):
            return z3.Or(z3.Not(value[0]), self._inside(value[1:], kind.of))
        raw = self.reading.raw(value, kind)
        return z3.And(raw >= 0, raw <= highest(kind, self.bounds, self.spec.name))

    def _after(self, action: Action, names: Locals) -> list[Any]:
        after = UpdatedState(self.reading, self.before, action.updates, names)
        numbers = list(self.numbers)
        for name in {update.variable for update in action.updates}:
            for index, keys, kind in self._cells(name):
                value = (after.length(name),) if keys is None else after.entry(name, keys)
                numbers[index] = self.reading.raw(value, kind)
        if action.budget is not None:
            place = self.layout.budgets[action.budget]
            numbers[place] = numbers[place] + 1
        return numbers

    def _cells(self, name: str) -> Iterator[tuple[int, tuple[Value, ...] | None, Any]]:
        """Yield the fields of a variable, with index, keys (None for a sequence's length), and the content's type."""
        kind, place, reading = self.spec.types[name], self.layout.places[name], self.reading
        if isinstance(kind, MapType):
            choices = itertools.product(*(scalar_values(k, self.bounds) for k in kind.keys))
            for offset, values in enumerate(choices):
                keys = tuple(reading.literal(v, k) for v, k in zip(values, kind.keys, strict=True))
                yield place.first + offset, keys, kind.value
        elif isinstance(kind, SeqType):
            yield place.first, None, kind
            for position in range(1, place.sizes[0] + 1):
                yield place.first + position, ((reading.number(position),),), kind.entry
        else:
            yield place.first, (), kind


def _event(action: Action, parameters: tuple[Any, ...]) -> str:
    return str(Event(action.name, dict(zip((name for name, _ in action.parameters), parameters, strict=True))))


def _symbol(field: str) -> str:
    """Return a name that SMT-LIB neither has to quote nor has for itself."""
    return f"{re.sub(r'[^A-Za-z0-9_]+', '.', field)}$"
