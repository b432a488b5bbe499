"""This module is the plain reading, which compiles a protocol to ordinary Python functions on dicts.

Single replays, counterexample paths and the agreement machines use the plain reading. Without bounds, numbers and sorts
are unlimited and only quantifiers over them are refused. With bounds, a step that leaves them is cut (None), as in
every other reading.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, negation
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    Type,
    bound_of,
    evaluate_bound,
)
from fencepost.proofs.readings.sparse import python_name
from fencepost.proofs.results import Event, State


class PlainError(Exception):
    """This error means that the plain reading lacks a quantifier's bound or a constant's value."""


class _Compiled(dict[str, Callable[..., Any]]):
    def __init__(self, compiled: Callable[[str], Callable[..., Any]]) -> None:
        super().__init__()
        self._compiled = compiled

    def __missing__(self, name: str) -> Callable[..., Any]:
        function = self[name] = self._compiled(name)
        return function


class Plain:
    """A `Plain` is a settled protocol that can be run. ``constants`` has the value of each constant, and ``bounds`` the
    sizes of sorts and ranges, or None.

    With ``ghosts=False``, the updates of ghost variables are left out, which no rule reads.
    """

    def __init__(
        self, spec: Spec, constants: dict[str, int], bounds: Bounds | None = None, *, ghosts: bool = True
    ) -> None:
        if missing := [name for name in spec.constants if name not in constants]:
            raise PlainError(f"{spec.name}: no value for {', '.join(missing)}; give each constant of the protocol one")
        self.spec, self.constants, self.bounds, self.ghosts = spec, constants, bounds, ghosts
        self._namespace: dict[str, Any] = {"C": constants, "at": _at, "latest": _latest, "chain": itertools.chain}
        self._domains: dict[ScalarType, range | tuple[Any, ...]] = {}
        self._guards: Mapping[str, Callable[..., bool]] = _Compiled(
            lambda name: self._compile(self._guard_source(spec.actions[name]))
        )
        self._steps: Mapping[str, Callable[..., State | None]] = _Compiled(
            lambda name: self._compile(self._step_source(spec.actions[name]))
        )
        self._events: dict[str, tuple[Event, ...]] = {}
        self._fields: dict[str, Callable[[Any], bool]] | None = None

    def initial(self) -> State:
        state: State = {name: zero_value(kind) for name, kind in self.spec.types.items()}
        if self.spec.initial:
            state = self._compile(self._update_source(self.spec.initial, ""))(state)
        return state

    def enabled(self, state: State, event: Event) -> bool:
        """Return whether all guards hold (and, under bounds, all limits)."""
        return bool(self._guards[event.action](state, *event.parameters.values()))

    def step(self, state: State, event: Event) -> State | None:
        """Return the state after an event, which is not checked to be enabled, or None if it lies beyond the bounds."""
        after = self._steps[event.action](state, *event.parameters.values())
        return after if self.bounds is None or (after is not None and self.within(after)) else None

    def events(self, action: str) -> tuple[Event, ...]:
        """Return every parameter choice of one action, under bounds."""
        if action not in self._events:
            parameters = self.spec.actions[action].parameters
            choices = itertools.product(*(self.domain(kind) for _, kind in parameters))
            names = [name for name, _ in parameters]
            self._events[action] = tuple(Event(action, dict(zip(names, values, strict=True))) for values in choices)
        return self._events[action]

    def successors(self, state: State) -> Iterator[tuple[Event, State | None]]:
        """Yield every enabled event with the state after it (None where it is cut)."""
        for name in self.spec.actions:
            for event in self.events(name):
                if self.enabled(state, event):
                    yield event, self.step(state, event)

    def holds(self, item: Property | Term, state: State, after: State | None = None, **parameters: int) -> bool:
        """Return the value of a property, or of any Bool term, in a state. A step property needs the state after."""
        return bool(self.evaluate(item.term if isinstance(item, Property) else item, state, after, **parameters))

    def evaluate(self, root: Term, state: State, after: State | None = None, **parameters: Any) -> Any:
        """Return the value of a term. ``parameters`` has its locals that it does not bind."""
        names = "".join(f", {python_name(n)}" for n in parameters)
        return self._cached(root, f"lambda S, T{names}: {{}}")(state, after, *parameters.values())

    def function(self, source: str, names: dict[str, Any]) -> Any:
        """Compile Python source that is made of ``text``. ``names`` has what else it refers to."""
        return eval(source, self._namespace | names)

    def loops(self, node: Term) -> str:
        """Return a quantifier's variables as the loops of a comprehension."""
        return self._loops(node.data)

    def places(self, variables: Sequence[tuple[str, ScalarType]], term: Term) -> str:
        """Return the loops of a comprehension over all choices, which include those for which a term is not zero."""
        return self._loops(variables)

    def _loops(self, variables: Sequence[tuple[str, ScalarType]]) -> str:
        return " ".join(f"for {python_name(n)} in {self._range(k)}" for n, k in variables)

    def domain(self, kind: ScalarType) -> range | tuple[Any, ...]:
        """Return all values of a scalar type under the bounds. Errors: PlainError if there is no bound."""
        if kind not in self._domains:
            self._domains[kind] = self._domain(kind)
        return self._domains[kind]

    def _domain(self, kind: ScalarType) -> range | tuple[Any, ...]:
        if isinstance(kind, BoolType):
            return (False, True)
        if isinstance(kind, EnumType):
            return range(len(kind.members))
        if isinstance(kind, OptionType):
            return (None, *self.domain(kind.of))
        if self.bounds is None:
            raise PlainError(f"{self.spec.name}: a quantifier runs over {kind}, which has no bound here; give bounds")
        if isinstance(kind, AtomsType):
            return range(self.bounds[kind.bound])
        if kind.upto is None:
            raise PlainError(f"{self.spec.name}: {kind} has no largest value; name one with upto=")
        return range(evaluate_bound(kind.upto, self.bounds) + 1)

    def within(self, state: State) -> bool:
        if self._fields is None:
            self._fields = {name: self._fits(kind) for name, kind in self.spec.types.items()}
        return all(fits(state[name]) for name, fits in self._fields.items())

    def _fits(self, kind: Type) -> Callable[[Any], bool]:
        """Return the function that says whether a value is of a type under the bounds."""
        if isinstance(kind, MapType):
            value, parts, known = self._fits(kind.value), [self._fits(part) for part in kind.keys], set[Any]()

            def all_known(keys: Iterable[Any]) -> bool:
                if all(all(fits(part) for fits, part in zip(parts, key, strict=True)) for key in keys):
                    known.update(keys)
                    return True
                return False

            return lambda entries: (
                all(map(value, entries.values())) and (known.issuperset(entries) or all_known(entries.keys()))
            )
        if isinstance(kind, SeqType):
            assert self.bounds is not None
            most, entry = bound_of(self.bounds, kind.bound), self._fits(kind.entry)
            return lambda entries: len(entries) <= most and all(map(entry, entries))
        return self.domain(kind).__contains__

    def _compile(self, source: str) -> Any:
        scope: dict[str, Any] = {}
        exec(source, self._namespace, scope)
        return scope["function"]

    def _cached(self, root: Term, shape: str) -> Any:
        key = f"f{id(root)} {shape}"  # one term may be compiled with different parameters
        if key not in self._namespace:
            self._namespace[key] = eval(shape.format(self.text(root)), self._namespace)
        return self._namespace[key]

    def _guard_source(self, action: Action) -> str:
        conditions = [g.condition for g in action.guards] + list(action.limits if self.bounds is not None else ())
        names = "".join(f", {n}_" for n, _ in action.parameters)
        return f"def function(S{names}):\n    return {' and '.join(map(self.text, conditions)) or 'True'}\n"

    def _step_source(self, action: Action) -> str:
        return self._update_source(action.updates, "".join(f", {n}_" for n, _ in action.parameters))

    def _update_source(self, updates: tuple[Update, ...], names: str) -> str:
        remaining = [u for u in updates if self.ghosts or u.variable not in self.spec.ghosts]
        lines = [f"def function(S{names}):", "    N = dict(S)"]
        copied: set[str] = set()
        for u in remaining:
            kind, name = self.spec.types[u.variable], repr(u.variable)
            if u.bound:
                assert isinstance(kind, MapType)
                keys = f"({', '.join(f'{python_name(n)}' for n, _ in u.bound)},)"
                loops = self.places(u.bound, u.value)
                zero = zero_value(kind.value)
                lines.append(
                    f"    N[{name}] = {{k: v for k, v in (({keys}, {self.text(u.value)}) {loops}) if v != {zero!r}}}"
                )
            elif u.keys:
                assert isinstance(kind, MapType)
                if u.variable not in copied:
                    copied.add(u.variable)
                    lines.append(f"    N[{name}] = dict(N[{name}])")
                lines.append(f"    k, v = ({', '.join(map(self.text, u.keys))},), {self.text(u.value)}")
                lines.extend(self._cut_outside(kind.keys))
                lines.append(f"    if v != {zero_value(kind.value)!r}: N[{name}][k] = v")
                lines.append(f"    else: N[{name}].pop(k, None)")
            elif u.appends:
                lines.append(f"    N[{name}] = (*S[{name}], {self.text(u.value)})")
            else:
                lines.append(f"    N[{name}] = {self.text(u.value)}")
        return "\n".join([*lines, "    return N", ""])

    def _cut_outside(self, keys: tuple[ScalarType, ...]) -> Iterator[str]:
        """Yield lines by which, under bounds, an assignment at a key past its range cuts the step, even one of zero."""
        for i, kind in enumerate(keys):
            if self.bounds is not None and isinstance(kind, NumberType):
                yield f"    if k[{i}] not in {self._range(kind)}: return None"

    def _range(self, kind: ScalarType) -> str:
        domain = self.domain(kind)
        return repr(domain)

    def text(self, node: Term) -> str:
        """Return a term as a Python expression of S and T, the states before and after a step, and of its locals."""
        a = [self.text(x) for x in node.args if node.op not in ("forall", "exists", "latest")]
        match node.op:
            case "const":
                return repr(node.data)
            case "local":
                return python_name(node.data)
            case "constant":
                return repr(self.constants[node.data])
            case "state":
                name, primed = node.data
                return f"{'T' if primed else 'S'}[{name!r}]"
            case "select":
                kind = node.args[0].type
                assert isinstance(kind, MapType)
                return f"{a[0]}.get(({', '.join(a[1:])},), {zero_value(kind.value)!r})"
            case "length":
                return f"len({a[0]})"
            case "at":
                kind = node.args[0].type
                assert isinstance(kind, SeqType)
                return f"at({a[0]}, {a[1]}, {zero_value(kind.entry)!r})"
            case "latest":
                sequence, upto, body = node.args
                test = f"lambda {python_name(node.data[0])}: {self.text(body)}"
                return f"latest({self.text(sequence)}, {self.text(upto)}, {test})"
            case "add" | "sub":
                return f"({a[0]} {'+' if node.op == 'add' else '-'} {a[1]})"
            case "monus":
                return f"max({a[0]} - {a[1]}, 0)"
            case "eq" | "lt" | "le":
                return f"({a[0]} {({'eq': '==', 'lt': '<', 'le': '<='})[node.op]} {a[1]})"
            case "and" | "or":
                return f"({f' {node.op} '.join(a)})"
            case "not":
                return f"(not {a[0]})"
            case "ite":
                return f"({a[1]} if {a[0]} else {a[2]})"
            case "some":
                return a[0]
            case "forall" | "exists":
                body, every = node.args[0], node.op == "forall"
                loops = self.places(node.data, negation(body) if every else body)
                return f"{'all' if every else 'any'}({self.text(body)} {loops})"
        raise PlainError(f"the plain reading has no {node.op!r}; settle the protocol first")


def _at(sequence: tuple[Any, ...], position: int, zero: Any) -> Any:
    return sequence[position - 1] if 1 <= position <= len(sequence) else zero


def _latest(sequence: tuple[Any, ...], upto: int, body: Callable[[Any], bool]) -> int:
    return max((i + 1 for i, entry in enumerate(sequence[:upto]) if body(entry)), default=0)


def zero_value(kind: Type) -> Any:
    """Return the value of a variable before anything is assigned."""
    match kind:
        case BoolType():
            return False
        case NumberType() | AtomsType() | EnumType():
            return 0
        case MapType():
            return {}
        case SeqType():
            return ()
    return None


def freeze(state: State) -> tuple[Any, ...]:
    return tuple(tuple(sorted(v.items())) if isinstance(v, dict) else v for v in state.values())
