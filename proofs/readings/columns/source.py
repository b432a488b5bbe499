"""Compiles conditions and updates to a NumPy function over the arrays of `columns.py`, straight from the terms.

Equal terms are computed once. Within a quantifier every row is repeated once for each value of its variables, so that
all arrays stay one-dimensional. A sum is checked for overflow unless the caller knows (`magnitudes.py`) that none
can.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import EnumType, MapType, ScalarType, Type
from fencepost.proofs.readings.columns.arithmetic import NAMES

Masks = tuple[np.ndarray, ...]
Run = Callable[..., Masks | None]
"""run(rows, *columns): None if every condition held for every row, and then the updates are made; otherwise nothing
is changed, and the truth of each condition by row is returned."""


class ColumnsError(Exception):
    """A protocol that can't be read as columns; the message says which part, and what to do."""


@dataclass(frozen=True)
class Program:
    """A compiled step.  ``bind(arrays, domains)``: the function for one batch of states."""

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
    """``columns``: the locals that are given as columns, in order. ``inside``: the caller knows that they lie in
    their domains."""
    emitter = _Emitter(dict(constants), dict(types), inside, checked)
    scope = _Scope("rows", "len(rows)", {name: f"c{i}" for i, name in enumerate(columns)})
    held = [emitter.value(c, scope) for c in conditions]
    held += emitter.fits(updates, scope)
    if held:
        emitter.lines.append(f"ok = {' & '.join(held)}")
        emitter.lines.append(f"if count_nonzero(ok) != ok.size: return ({', '.join(held)},)")
    writes = [emitter.write(u, scope) for u in updates]
    body = "\n".join(f"        {line}" for line in [*emitter.lines, *writes, "return None"])
    heads = [f"    {name} = arrays[{variable!r}]" for variable, name in emitter.arrays.items()]
    heads += [f"    {name} = domain(kinds[{i}])" for i, name in enumerate(emitter.domains.values())]
    parameters = ", ".join(["rows", *scope.locals.values()])
    source = "\n".join(["def bind(arrays, domain):", *heads, f"    def run({parameters}):", body, "    return run", ""])
    space: dict[str, Any] = NAMES | {"kinds": tuple(emitter.domains)}
    exec(compile(source, "<columns>", "exec"), space)
    return Program(source, space["bind"])


class _Scope:
    """Where terms are evaluated: the rows, and within a quantifier each row once for every value of its variables."""

    def __init__(self, rows: str, count: str, columns: dict[str, str]) -> None:
        self.rows, self.count, self.locals = rows, count, columns
        self.values: dict[Any, str] = {}
        self.outer: _Scope | None = None
        self.each = ""


class _Emitter:
    def __init__(self, constants: dict[str, int], types: dict[str, Type], inside: bool, checked: bool) -> None:
        self.constants, self.types, self.inside, self.checked = constants, types, inside, checked
        self.lines: list[str] = []
        self.arrays: dict[str, str] = {}
        self.domains: dict[ScalarType, str] = {}
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
        """The name or literal of a term's value: an array with one entry per row of the scope, or a scalar."""
        if node not in scope.values:
            scope.values[node] = self._value(node, scope)
        return scope.values[node]

    def fits(self, updates: tuple[Update, ...], scope: _Scope) -> list[str]:
        """A step that assigns outside a map's keys lies beyond the bounds: the conditions that it does not."""
        found: dict[str, str] = {}
        for u in updates:
            for key in u.keys:
                text = self.value(key, scope)
                if not self._surely_inside(key, text):
                    found[text] = f"is_inside({text}, {self.domain(key.type)})"  # type: ignore[arg-type]
        return [self.fresh(text) for text in found.values()]

    def write(self, update: Update, scope: _Scope) -> str:
        """Evaluates the new value now and returns the line that stores it, for after all values are known."""
        if update.appends:
            raise _no_sequences(update.variable)
        array = self.array(update.variable)
        if update.bound:
            inner = self._each(update.bound, scope)
            kind = self.types[update.variable]
            assert isinstance(kind, MapType)
            at = self._index(kind, tuple(inner.locals[n] for n, _ in update.bound), inner)
            return f"{array}[{at}] = {self.value(update.value, inner)}"
        if not update.keys:
            return f"{array}[{scope.rows}] = {self.value(update.value, scope)}"
        kind = self.types[update.variable]
        assert isinstance(kind, MapType)
        at = self._index(kind, tuple(self._key(k, scope) for k in update.keys), scope)
        return f"{array}[{at}] = {self.value(update.value, scope)}"

    def _value(self, node: Term, scope: _Scope) -> str:
        if node.op in ("forall", "exists"):
            return self._quantifier(node, scope)
        if node.op == "local":
            return self._local(node.data, scope)
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
            at = self._index(kind, tuple(self._key(k, scope) for k in node.args[1:]), scope)
            return self.fresh(f"{self.array(node.args[0].data[0])}.take({at})")
        a = [self.value(x, scope) for x in node.args]
        return self.fresh(self._operation(node, a))

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
                return text if any(x[0] in "tc" for x in a) else f"bool_({text})"
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
        return self.fresh(f"{self.array(name)}.take({scope.rows})")

    def _local(self, name: str, scope: _Scope) -> str:
        if name not in scope.locals:
            if scope.outer is None:
                raise ColumnsError(f"no column is given for {name}; there are {', '.join(scope.locals) or 'none'}")
            scope.locals[name] = self.fresh(f"repeat({self._local(name, scope.outer)}, {scope.each})")
        return scope.locals[name]

    def _quantifier(self, node: Term, scope: _Scope) -> str:
        inner = self._each(node.data, scope)
        body = self.value(node.args[0], inner)
        shape = f"broadcast_to({body}, {inner.count}).reshape({scope.count}, {inner.each})"
        return self.fresh(f"{shape}.{'all' if node.op == 'forall' else 'any'}(axis=1)")

    def _each(self, bound: tuple[tuple[str, ScalarType], ...], scope: _Scope) -> _Scope:
        each = self.fresh(" * ".join(self.domain(kind) for _, kind in bound))
        inner = _Scope(self.fresh(f"repeat({scope.rows}, {each})"), "", {})
        inner.count, inner.outer, inner.each = f"len({inner.rows})", scope, each
        shape = "".join(f"{self.domain(kind)}, " for _, kind in bound)
        for i, (name, _) in enumerate(bound):
            inner.locals[name] = self.fresh(f"tile(indices(({shape}))[{i}].ravel(), {scope.count})")
            self._quantified.add(inner.locals[name])
        return inner

    def _key(self, node: Term, scope: _Scope) -> str:
        text = self.value(node, scope)
        if self._surely_inside(node, text):
            return text
        held = ("key", text)
        if held not in scope.values:
            scope.values[held] = self.fresh(f"held({text}, {self.domain(node.type)})")  # type: ignore[arg-type]
        return scope.values[held]

    def _surely_inside(self, node: Term, text: str) -> bool:
        named = node.op == "const" and isinstance(node.type, EnumType)
        return named or text in self._quantified or (self.inside and node.op == "local")

    def _index(self, kind: MapType, keys: tuple[str, ...], scope: _Scope) -> str:
        held = ("index", kind.keys, keys)
        if held not in scope.values:
            text = scope.rows
            for sort, key in zip(kind.keys, keys, strict=True):
                text = f"({text}) * ({self.domain(sort)} + 1) + {key}"
            scope.values[held] = self.fresh(text)
        return scope.values[held]


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return "0" if value is None else f"({value})" if value < 0 else str(value)


def _no_sequences(what: str) -> ColumnsError:
    return ColumnsError(f"{what}: a sequence is not read as columns yet; use the plain reading for this protocol")
