"""This module builds the formulas of SMT-LIB 2, of which equal ones are one object, and prints them.

A formula that occurs more than once is printed once, in a ``let`` of the innermost scope that binds all its variables.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from fencepost.model.language.checks.errors import ModelError

Bound = tuple[tuple[str, str], ...]
"""These are the variables of a quantifier, each with its sort."""
Kind = Literal["builtin", "function", "variable", "forall", "exists"]
BOOL, INT = "Bool", "Int"
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """A `Formula` applies what ``head`` names to its arguments, or quantifies its one argument. ``free`` has the
    variables that nothing in it binds, and ``binds`` those that some quantifier in it does."""

    kind: Kind
    head: str
    args: tuple["Formula", ...]
    sort: str
    bound: Bound = ()
    free: frozenset[str] = NONE
    binds: frozenset[str] = NONE


@dataclass
class Formulas:
    """A `Formulas` makes formulas. Only those that one `Formulas` made can be compared with ``is``."""

    made: dict[object, Formula] = field(default_factory=dict)

    def _make(self, kind: Kind, head: str, args: tuple[Formula, ...], sort: str, bound: Bound = ()) -> Formula:
        key = (kind, head, args, sort, bound)
        found = self.made.get(key)
        if found is None:
            names = frozenset(name for name, _ in bound)
            free = NONE.union(*(a.free for a in args)) - names if kind != "variable" else frozenset((head,))
            found = self.made[key] = Formula(kind, head, args, sort, bound, free, names.union(*(a.binds for a in args)))
        return found

    def variable(self, name: str, sort: str) -> Formula:
        return self._make("variable", name, (), sort)

    def function(self, name: str, args: Iterable[Formula], sort: str) -> Formula:
        """Return what an uninterpreted function, or a constant, has at the arguments."""
        return self._make("function", name, tuple(args), sort)

    def builtin(self, name: str, *args: Formula, sort: str = BOOL) -> Formula:
        return self._make("builtin", name, args, sort)

    def truth(self, value: bool) -> Formula:
        return self.builtin("true" if value else "false")

    def number(self, value: int) -> Formula:
        if value < 0:
            return self.builtin("-", self.number(-value), sort=INT)
        return self.builtin(str(value), sort=INT)

    def all_of(self, parts: list[Formula]) -> Formula:
        return parts[0] if len(parts) == 1 else self.builtin("and", *parts) if parts else self.truth(True)

    def some_of(self, parts: list[Formula]) -> Formula:
        return parts[0] if len(parts) == 1 else self.builtin("or", *parts) if parts else self.truth(False)

    def negated(self, of: Formula) -> Formula:
        return self.builtin("not", of)

    def implies(self, premise: Formula, then: Formula) -> Formula:
        return self.builtin("=>", premise, then)

    def same(self, a: Formula, b: Formula) -> Formula:
        return self.builtin("=", a, b)

    def choice(self, test: Formula, then: Formula, other: Formula) -> Formula:
        return then if then is other else self.builtin("ite", test, then, other, sort=then.sort)

    def quantified(self, universal: bool, bound: Bound, body: Formula) -> Formula:
        return self._make("forall" if universal else "exists", "", (body,), BOOL, bound)


def printed(root: Formula) -> str:
    """Return the text of a formula."""
    return _Printing().scope(root, NONE)


class _Printing:
    def __init__(self) -> None:
        self.names: dict[Formula, str] = {}
        self.number = 0

    def scope(self, root: Formula, bound: frozenset[str]) -> str:
        """Return the text of what a scope contains. Names are given to what occurs in it twice and reads no variable of
        a scope within."""
        times: dict[Formula, int] = {}
        order: list[Formula] = []
        waiting: list[tuple[Formula, bool]] = [(root, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                order.append(node)
                continue
            times[node] = times.get(node, 0) + 1
            if times[node] == 1 and node not in self.names:
                waiting.append((node, True))
                waiting.extend((a, False) for a in reversed(node.args))
        own = [n for n in order if times[n] > 1 and n.args and n.free <= bound]
        opened = []
        for node in own:  # arguments come first
            text = self.text(node, bound)
            self.number += 1
            self.names[node] = f"?{self.number}"
            opened.append(f"(let (({self.names[node]} {text})) ")
        text = "".join(opened) + self.text(root, bound) + ")" * len(opened)
        for node in own:  # another scope may bind variables of the same names
            del self.names[node]
        return text

    def text(self, node: Formula, bound: frozenset[str]) -> str:
        if node in self.names:
            return self.names[node]
        if node.bound:
            inside = self.scope(node.args[0], bound.union(name for name, _ in node.bound))
            return f"({node.kind} ({' '.join(f'({name} {sort})' for name, sort in node.bound)}) {inside})"
        if not node.args:
            return node.head
        return f"({node.head} {' '.join(self.text(a, bound) for a in node.args)})"


def declarations(formulas: Iterable[Formula]) -> Iterator[str]:
    """Yield the declarations of sorts and functions in the order of their first use. Errors: ModelError if two
    functions have one name."""
    sorts: dict[str, None] = {}
    functions: dict[str, tuple[tuple[str, ...], str]] = {}
    seen: set[Formula] = set()
    waiting = list(formulas)[::-1]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        named = [sort for _, sort in node.bound]
        if node.kind == "function":
            signature = tuple(a.sort for a in node.args), node.sort
            if functions.setdefault(node.head, signature) != signature:
                raise ModelError(f"two things are called {node.head!r}, which SMT-LIB cannot tell apart")
            named += [*signature[0], node.sort]
        sorts |= dict.fromkeys(sort for sort in named if sort not in (BOOL, INT))
        waiting.extend(node.args[::-1])
    yield from (f"(declare-sort {name} 0)" for name in sorts)
    yield from (f"(declare-fun {name} ({' '.join(of)}) {sort})" for name, (of, sort) in functions.items())
