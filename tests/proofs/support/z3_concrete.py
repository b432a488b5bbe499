"""Single states through the Z3 reading: the value of a term in a state, and the state after an event.

Every other reading can be held against this one on as many states as there is time for.  A term becomes a formula
over one Z3 constant for each field of the state, once; each state is then only a substitution and a simplification.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import z3
from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, free_locals, subterms
from fencepost.model.language.tree.types import Bounds, OptionType, ScalarType, SeqType, bound_of, has_bound
from fencepost.proofs.readings.solver.finite import scalar_values
from fencepost.proofs.readings.solver.states import UpdatedState, initial_state, map_parts
from fencepost.proofs.readings.solver.terms import Reading, Value, View
from fencepost.proofs.results import Event, State


@dataclass(frozen=True)
class Step:
    """``enabled``: all guards and limits hold.  ``after`` is None if they do not, or if the step leaves the bounds."""

    enabled: bool
    after: State | None


class Concrete:
    """The Z3 reading of a settled protocol within bounds, which also give the constants their values."""

    def __init__(self, spec: Spec, bounds: Bounds) -> None:
        if missing := [name for name in spec.constants if not has_bound(bounds, name)]:
            raise ModelError(f"{spec.name}: the bounds give no value to the constants {', '.join(missing)}; add them")
        self.spec, self.bounds = spec, bounds
        self.reading = Reading(spec, bounds, {name: bound_of(bounds, name) for name in spec.constants})
        self.before = FieldState(self.reading)
        self.later = FieldState(self.reading, "'")
        self._asked: dict[object, tuple[_Formulas, dict[str, Any]]] = {}
        self._steps: dict[str, _Formulas] = {}

    def initial(self) -> State:
        """The initial state."""
        view = initial_state(self.reading)
        return self.before.state(_Formulas(self.reading, self.before.read(view), []).values([]))

    def evaluate(self, terms: Iterable[Term], state: State, after: State | None = None, **parameters: Any) -> list[Any]:
        """The value of each term; ``after`` is the state that primed variables read, ``parameters`` the locals."""
        asked = tuple(terms)
        if asked not in self._asked:
            self._asked[asked] = self._prepare(asked)
        formulas, kinds = self._asked[asked]
        given = self.before.values(state) + self.before.values(state if after is None else after)
        given += [part for name, kind in kinds.items() for part in self.reading.literal(parameters[name], kind)]
        parts = iter(formulas.values(given))
        return [_plain(parts, t.type) for t in asked]

    def _prepare(self, asked: tuple[Term, ...]) -> "tuple[_Formulas, dict[str, ScalarType]]":
        free = {name for term in asked for name in free_locals(term)}
        found = {n.data: n.type for t in asked for n in subterms(t) if n.op == "local" and n.data in free}
        kinds = {name: cast(ScalarType, kind) for name, kind in found.items()}
        names = {name: self.reading.variable(f"{name}?", kind) for name, kind in kinds.items()}
        read = [self.reading.read(t, names, self.before, self.later) for t in asked]
        constants = [*self.before.constants, *self.later.constants, *(p for value in names.values() for p in value)]
        return _Formulas(self.reading, [part for value in read for part in value], constants), kinds

    def step(self, state: State, event: Event) -> Step:
        """What an event does; the event need not be enabled."""
        action = self.spec.actions[event.action]
        if action.name not in self._steps:
            names = {name: self.reading.variable(f"{name}?", kind) for name, kind in action.parameters}
            constants = [*self.before.constants, *(part for value in names.values() for part in value)]
            self._steps[action.name] = _Formulas(self.reading, _step(self, action, names), constants)
        given = self.before.values(state)
        given += [
            part for name, kind in action.parameters for part in self.reading.literal(event.parameters[name], kind)
        ]
        enabled, fits, *parts = self._steps[action.name].values(given)
        return Step(bool(enabled), self.before.state(parts) if enabled and fits else None)


class _Formulas:
    """Formulas over constants, ready for many assignments.  One substitution and one simplification serve all of
    them, so that what they share is worked out once; numerals are unique in a context, so that an answer is
    recognised by its address."""

    def __init__(self, reading: Reading, formulas: list[Any], constants: list[Any]) -> None:
        self.context, self.count = reading.context, len(formulas)
        together = z3.Function("all", *(f.sort() for f in formulas), z3.BoolSort(reading.context))
        self.formula = together(*formulas)
        self.constants = constants
        self._from = (z3.Ast * len(constants))(*(c.as_ast() for c in constants))
        self._known: dict[int, bool | int] = {}
        self._kept: list[Any] = []

    def values(self, given: list[Any]) -> list[bool | int]:
        """The value of each formula where each constant has the value given, in order."""
        to = (z3.Ast * len(given))(*(value.as_ast() for value in given))
        result = z3.Z3_substitute(self.context.ref(), self.formula.as_ast(), len(given), self._from, to)
        simple = z3.simplify(z3.ExprRef(result, self.context))
        addresses = (z3.Z3_get_app_arg(self.context.ref(), simple.as_ast(), i) for i in range(self.count))
        return [
            self._known[a.value] if a.value in self._known else self._learn(simple.arg(i))
            for i, a in enumerate(addresses)
        ]

    def _learn(self, part: Any) -> bool | int:
        assert z3.is_int_value(part) or z3.is_true(part) or z3.is_false(part), f"{part} still depends on the state"
        self._kept.append(part)  # or its address could come to mean another number
        value = part.as_long() if z3.is_int_value(part) else z3.is_true(part)
        return self._known.setdefault(part.as_ast().value, value)


def _step(owner: Concrete, action: Action, names: dict[str, Value]) -> list[Any]:
    """Whether guards and limits hold, whether the step stays within the bounds, and every part of the state after
    it."""
    reading, before = owner.reading, owner.before
    after = UpdatedState(reading, before, action.updates, names)
    conditions = [*(guard.condition for guard in action.guards), *action.limits]
    enabled = reading.both([reading.truth(c, before, None, names) for c in conditions])
    fits = reading.both([part for update in action.updates for part in _within(after, update)])
    return [enabled, fits, *before.read(after)]


def _within(after: UpdatedState, update: Update) -> Iterator[Any]:
    """Every key and value assigned stays in its range, and no sequence grows beyond its bound."""
    reading = after.reading
    keys, kind = map_parts(reading, update.variable)
    for case in reading.instances(update.bound):
        yield from reading.within(reading.read(update.value, {**after.names, **case}, after.before), kind)
    if update.keys:
        for key, key_kind in zip(after.keys_of(update), keys, strict=True):
            yield from reading.within(key, key_kind)
    sequence = reading.spec.types[update.variable]
    if isinstance(sequence, SeqType):
        assert reading.bounds is not None
        yield after.length(update.variable) <= bound_of(reading.bounds, sequence.bound)


class FieldState:
    """A state with a Z3 constant for each entry within the bounds; what lies outside is zero."""

    def __init__(self, reading: Reading, mark: str = "") -> None:
        self.reading = reading
        sequences = [name for name, kind in reading.spec.types.items() if isinstance(kind, SeqType)]
        self.lengths = {name: z3.Int(f"{name}{mark}#", reading.context) for name in sequences}
        self.cells: dict[str, list[tuple[tuple[Any, ...], tuple[Value, ...], Value]]] = {}
        for name in reading.spec.types:
            keys, kind = map_parts(reading, name)
            self.cells[name] = []
            for plain in itertools.product(*self._ranges(name, keys)):
                literal = tuple(reading.literal(p, k) for p, k in zip(plain, keys, strict=True))
                value = reading.variable(f"{name}{mark}{list(plain)}", kind)
                self.cells[name].append((plain, literal, value))
        parts = [part for cells in self.cells.values() for _, _, value in cells for part in value]
        self.constants = [*parts, *self.lengths.values()]

    def _ranges(self, name: str, keys: tuple[ScalarType, ...]) -> list[Any]:
        sequence, bounds = self.reading.spec.types[name], self.reading.bounds
        assert bounds is not None
        if isinstance(sequence, SeqType):
            return [range(1, bound_of(bounds, sequence.bound) + 1)]
        return [scalar_values(kind, bounds) for kind in keys]

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        kinds, kind = map_parts(self.reading, name)
        result = self.reading.zero(kind)
        for _, literal, value in self.cells[name]:
            if all(a.eq(b) for key, other in zip(keys, literal, strict=True) for a, b in zip(key, other, strict=True)):
                return value
            same = [self.reading.equal(k, a, b) for k, a, b in zip(kinds, keys, literal, strict=True)]
            result = self.reading.choose(self.reading.both(same), value, result)
        return result

    def length(self, name: str) -> Any:
        return self.lengths[name]

    def read(self, view: View) -> list[Any]:
        """What another view holds, in the order of ``constants``."""
        cells = [view.entry(name, literal) for name, cells in self.cells.items() for _, literal, _ in cells]
        return [part for value in cells for part in value] + [view.length(name) for name in self.lengths]

    def values(self, state: State) -> list[Any]:
        """Literals for a plain state, in the order of ``constants``."""
        found: list[Any] = []
        for name, cells in self.cells.items():
            kind, held = map_parts(self.reading, name)[1], state[name]
            if name in self.lengths:
                held = {(position,): entry for position, entry in enumerate(held, 1)}
            for plain, _, _ in cells:
                found += self.reading.literal(held.get(plain, _zero(kind)) if plain else held, kind)
        return found + [z3.IntVal(len(state[name]), self.reading.context) for name in self.lengths]

    def state(self, parts: list[Any]) -> State:
        """The plain state of values in the order of ``constants``."""
        values, state = iter(parts), State()
        for name, cells in self.cells.items():
            kind = map_parts(self.reading, name)[1]
            held = {plain: _plain(values, kind) for plain, _, _ in cells}
            if name in self.lengths:
                state[name] = tuple(held.values())
            elif () in held:
                state[name] = held[()]
            else:
                state[name] = {plain: value for plain, value in held.items() if value != _zero(kind)}
        return state | {name: state[name][: next(values)] for name in self.lengths}


def _zero(kind: ScalarType) -> Any:
    return None if isinstance(kind, OptionType) else 0


def _plain(parts: Iterator[Any], kind: Any) -> Any:
    """The next value; an empty Option still has parts that mean nothing."""
    if not isinstance(kind, OptionType):
        return next(parts)
    filled, value = next(parts), _plain(parts, kind.of)
    return value if filled else None
