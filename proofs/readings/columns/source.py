"""This module compiles conditions and updates to a NumPy function over the arrays of `reading`, directly from the
terms.

Equal terms are computed once. Within a quantifier, arrays have one more axis, for all values of its variables, and what
does not depend on these is computed without it. A sum is checked for overflow unless the caller knows (by `magnitudes`)
that none can.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, free_locals
from fencepost.model.language.tree.types import BOOL, AtomsType, EnumType, MapType, ScalarType, Type
from fencepost.proofs.readings.columns.magnitudes import NAMES

Masks = tuple[np.ndarray, ...]
Run = Callable[..., Masks | None]
"""A `Run` is called as run(rows, *columns). The call returns None if every condition held for every row, and then has
made the updates. If some condition failed, the call changes nothing, and returns the truth of each condition by row."""


class ColumnsError(Exception):
    """This error is about a protocol that cannot be read as columns. The message names the part, and what to do."""


@dataclass(frozen=True)
class Program:
    """A `Program` is a compiled step. ``bind(arrays, domains)`` returns the function for one batch of states."""

    source: str
    bind: Callable[[Mapping[str, np.ndarray], Callable[[ScalarType], int]], Run] = field(repr=False)


@lru_cache(maxsize=4096)
def compile_step(
    conditions: tuple[Term, ...],
    updates: tuple[Update, ...],
    columns: tuple[str, ...],
    constants: tuple[tuple[str, int], ...],
    types: tuple[tuple[str, Type], ...],
    *,
    inside: bool = False,
    checked: bool = True,
) -> Program:
    """Compile a step. ``columns`` names the locals that are columns, which with ``inside`` lie in their domains."""
    emitter = _Emitter(dict(constants), dict(types), inside, checked)
    scope = _Scope({name: f"c{i}" for i, name in enumerate(columns)}, ("len(rows)",))
    held = [emitter.value(c, scope) for c in conditions]
    held += emitter.fits(updates, scope)
    if held:
        emitter.lines.append(f"ok = {' & '.join(held)}")
        emitter.lines.append(f"if count_nonzero(ok) != ok.size: return ({', '.join(held)},)")
    writes = [emitter.write(u, scope) for u in updates]
    body = "\n".join(f"        {line}" for line in [*emitter.lines, *writes, "return None"])
    heads = [f"    {name} = arrays[{variable!r}]" for variable, name in emitter.arrays.items()]
    heads += [f"    {name} = domain(kinds[{i}])" for i, name in enumerate(emitter.domains.values())]
    heads += [f"    {name} = indices(({', '.join(of)},)).reshape({len(of)}, -1)" for of, name in emitter.ranges.items()]
    parameters = ", ".join(["rows", *scope.locals.values()])
    source = "\n".join(["def bind(arrays, domain):", *heads, f"    def run({parameters}):", body, "    return run", ""])
    space: dict[str, Any] = NAMES | {"kinds": tuple(emitter.domains)}
    exec(compile(source, "<columns>", "exec"), space)
    return Program(source, space["bind"])


class _Scope:
    """A `_Scope` is where terms are evaluated, with the rows, and within a quantifier each row and value of its
    variables, on one more axis. ``shape`` is the shape of all arrays there, or to which they are broadcast."""

    def __init__(self, locals_: dict[str, str], shape: tuple[str, ...], outer: "_Scope | None" = None) -> None:
        self.locals, self.shape, self.outer = locals_, shape, outer
        self.values: dict[Any, str] = {}

    def home(self, needed: frozenset[str]) -> "_Scope":
        """Return the outermost scope in which the needed variables have values."""
        return self if self.outer is None or not needed.isdisjoint(self.locals) else self.outer.home(needed)

    @property
    def depth(self) -> int:
        return len(self.shape)


class _Emitter:
    def __init__(self, constants: dict[str, int], types: dict[str, Type], inside: bool, checked: bool) -> None:
        self.constants, self.types, self.inside, self.checked = constants, types, inside, checked
        self.lines: list[str] = []
        self.arrays: dict[str, str] = {}
        self.domains: dict[ScalarType, str] = {}
        self.ranges: dict[tuple[str, ...], str] = {}
        self._quantified: set[str] = set()
        self._names = 0

    def fresh(self, text: str) -> str:
        self._names += 1
        self.lines.append(f"t{self._names} = {text}")
        return f"t{self._names}"

    def array(self, variable: str) -> str:
        return self.arrays.setdefault(variable, f"s{len(self.arrays)}")

    def domain(self, kind: ScalarType) -> str:
        return self.domains.setdefault(kind, f"d{len(self.domains)}")

    def value(self, node: Term, scope: _Scope) -> str:
        """Return the name or literal of a term's value, which is a scalar, or an array that fits the scope's shape. The
        value is computed in the outermost scope that has everything it depends on."""
        home = scope.home(free_locals(node))
        if node not in home.values:
            home.values[node] = self._value(node, home)
        return self._lifted(home.values[node], home, scope)

    def _lifted(self, text: str, home: _Scope, scope: _Scope) -> str:
        if scope is home or not _is_name(text):
            return text
        if ("lifted", text) not in scope.values:
            scope.values["lifted", text] = self.fresh(
                f"{text}[..., {', '.join(['None'] * (scope.depth - home.depth))}]"
            )
        return scope.values["lifted", text]

    def fits(self, updates: tuple[Update, ...], scope: _Scope) -> list[str]:
        """Return the conditions under which a step does not assign outside a map's keys, beyond the bounds."""
        found: dict[str, str] = {}
        for u in updates:
            for key in u.keys:
                text = self.value(key, scope)
                if not self._surely_inside(key, text):
                    found[text] = f"is_inside({text}, {self.domain(key.type)})"  # type: ignore[arg-type]
        return [self.fresh(text) for text in found.values()]

    def write(self, update: Update, scope: _Scope) -> str:
        """Evaluate the new value now, and return the line that stores it, which runs after all values are known."""
        if update.appends:
            raise _no_sequences(update.variable)
        array = self.array(update.variable)
        kind = self.types[update.variable]
        inner = self._each(update.bound, scope) if update.bound else scope
        if not isinstance(kind, MapType):
            return f"{array}[rows] = {self.value(update.value, scope)}"
        keys = [(inner.locals[name], inner) for name, _ in update.bound]
        at = self._index(kind, keys or [self._key(k, scope) for k in update.keys], inner)
        return f"{array}[{at}] = {self.value(update.value, inner)}"

    def _value(self, node: Term, scope: _Scope) -> str:
        if node.op in ("forall", "exists"):
            return self._quantifier(node, scope)
        if node.op == "local":
            if node.data not in scope.locals:
                raise ColumnsError(f"no column is given for {node.data}; there are {', '.join(scope.locals) or 'none'}")
            return scope.locals[node.data]
        if node.op == "const":
            return _literal(node.data)
        if node.op == "constant":
            return _literal(self.constants[node.data])
        if node.op == "state":
            return self._state(node, scope)
        if node.op == "select":
            kind = node.args[0].type
            assert isinstance(kind, MapType)
            if node.args[0].data[1]:
                raise ColumnsError(f"{node.args[0].data[0]}' is read: columns hold one state, not the one after it too")
            at = self._index(kind, [self._key(k, scope) for k in node.args[1:]], scope)
            return self.fresh(f"{self.array(node.args[0].data[0])}.take({at})")
        a = [self.value(x, scope) for x in node.args]
        text = self._operation(node, a)
        return self.fresh(text) if any(map(_is_name, a)) or node.type == BOOL else f"({text})"

    def _operation(self, node: Term, a: list[str]) -> str:
        match node.op:
            case "add" | "sub":
                sign = "+" if node.op == "add" else "-"
                return (
                    f"{'plus' if node.op == 'add' else 'minus'}({a[0]}, {a[1]})"
                    if self.checked
                    else f"{a[0]} {sign} {a[1]}"
                )
            case "some":
                return f"plus({a[0]}, 1)" if self.checked else f"{a[0]} + 1"
            case "monus":
                return f"maximum({a[0]} - {a[1]}, 0)"
            case "eq" | "lt" | "le":
                text = f"{a[0]} {({'eq': '==', 'lt': '<', 'le': '<='})[node.op]} {a[1]}"
                return text if any(map(_is_name, a)) else f"bool_({text})"
            case "and" | "or":
                return (" & " if node.op == "and" else " | ").join(a)
            case "not":
                return f"~{a[0]}"
            case "ite":
                return f"where({', '.join(a)})"
            case "choice":
                raise ColumnsError(
                    f"rule {node.data[0]} is not decided between what it says and its mutations; settle the protocol"
                )
        raise _no_sequences(node.op)

    def _state(self, node: Term, scope: _Scope) -> str:
        name, primed = node.data
        if primed:
            raise ColumnsError(f"{name}' is read: columns hold one state, not the one after it too")
        if isinstance(node.type, MapType):
            raise ColumnsError(f"the map {name} stands as a value; only its entries are values")
        return self.fresh(f"{self.array(name)}.take(rows)")

    def _quantifier(self, node: Term, scope: _Scope) -> str:
        inner = self._each(node.data, scope)
        body = self.value(node.args[0], inner)
        if node.args[0] not in inner.values:  # the body does not depend on the variables
            body = f"broadcast_to({body}, ({', '.join(inner.shape)}))"
        return self.fresh(f"{body}.{'all' if node.op == 'forall' else 'any'}(axis=-1)")

    def _each(self, bound: tuple[tuple[str, ScalarType], ...], scope: _Scope) -> _Scope:
        of = tuple(self.domain(kind) for _, kind in bound)
        every = self.ranges.setdefault(of, f"q{len(self.ranges)}")
        names = {name: f"{every}[{place}]" for place, (name, _) in enumerate(bound)}
        # A truth value that is quantified is one: of a number NumPy's ~ is none.
        names |= {name: self.fresh(f"{names[name]} == 1") for name, kind in bound if kind == BOOL}
        self._quantified.update(names.values())
        return _Scope(names, (*scope.shape, f"{every}.shape[1]"), scope)

    def _key(self, node: Term, scope: _Scope) -> tuple[str, _Scope]:
        home = scope.home(free_locals(node))
        text = self.value(node, home)
        if self._surely_inside(node, text) or (self.inside and _stays_inside(node.type)):
            return text, home
        held = ("key", text)
        if held not in home.values:
            home.values[held] = self.fresh(f"held({text}, {self.domain(node.type)})")  # type: ignore[arg-type]
        return home.values[held], home

    def _surely_inside(self, node: Term, text: str) -> bool:
        named = node.op == "const" and isinstance(node.type, EnumType)
        return named or text in self._quantified or (self.inside and node.op == "local")

    def _index(self, kind: MapType, keys: Sequence[tuple[str, _Scope]], scope: _Scope) -> str:
        text, where = "rows", scope.home(frozenset())
        for place, (sort, (key, home)) in enumerate(zip(kind.keys, keys, strict=True)):
            inner = max(where, home, key=lambda one: one.depth)
            stated = ("index", kind.keys[: place + 1], tuple(keys[: place + 1]))
            if stated not in inner.values:
                row, its = self._lifted(text, where, inner), self._lifted(key, home, inner)
                inner.values[stated] = self.fresh(f"{row} * ({self.domain(sort)} + 1) + {its}")
            text, where = inner.values[stated], inner
        return self._lifted(text, where, scope)


def _is_name(text: str) -> bool:
    """Return whether a text stands for an array or a NumPy scalar, and not for a literal."""
    return text[0] in "tcqr"


def _stays_inside(kind: Type) -> bool:
    """Return whether no value of this type leaves the domain by more than the one number after its last member."""
    return isinstance(kind, AtomsType | EnumType)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return "0" if value is None else f"({value})" if value < 0 else str(value)


def _no_sequences(what: str) -> ColumnsError:
    return ColumnsError(f"{what}: a sequence is not read as columns yet; use the plain reading for this protocol")
