"""This module finds where a term can be anything but zero, so that a quantifier, or an assignment to a whole map, over
far more values than there are entries visits the entries alone.

`loops` takes a term and the variables that it ranges over, and returns the loops of a comprehension, as Python source.
The loops visit every choice of values for which the term is not the zero value of its type (for a Bool, every choice
for which it is true), and usually some others, so that the term still has to be evaluated:

    begun[t] and owner[t] = c          for (t_,) in S['begun'] if 0 <= t_ < 96
    fate[t, p] = OPEN or t = latest    the entries of fate; and the one value of t, with every p

The loops rely on maps having no entry where they are zero, as the plain reading leaves them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod

from fencepost.model.language.tree.terms import Term, free_locals, subterms
from fencepost.model.language.tree.types import BoolType, OptionType, ScalarType

FEW = 8
"""This many choices are visited one by one, since finding their places would take as long."""
ENTRIES = 16
"""A map is assumed to have this many entries when the shortest of several loops is chosen."""

Domain = Callable[[ScalarType], range | tuple[object, ...]]


@dataclass(frozen=True)
class Places:
    """A `Places` has loops that bind some of the variables. ``count`` estimates the number of their iterations."""

    loops: tuple[str, ...] = ()
    bound: frozenset[str] = frozenset()
    count: int = 1

    def and_in(self, other: "Places") -> "Places":
        """Return the places that are in both, or only the first ones if both bind one variable."""
        if self.bound & other.bound:
            return self
        return Places((*self.loops, *other.loops), self.bound | other.bound, self.count * other.count)


Support = tuple[Places, ...] | None
"""A `Support` has the places outside of which a term is zero, or is None if that is unknown."""


def python_name(local: str) -> str:
    return local.replace(".", "_") + "_"


class Sparse:
    """A `Sparse` makes the loops of one comprehension. ``text`` gives a term as a Python expression, and ``domain`` all
    values of a type. The source refers to ``chain`` of itertools."""

    def __init__(self, variables: Mapping[str, ScalarType], text: Callable[[Term], str], domain: Domain) -> None:
        self.variables, self.text, self.domain = dict(variables), text, domain
        self._bound = set(variables)  # names bound here or inside, which no place may depend on

    def loops(self, term: Term) -> str:
        """Return the loops of a comprehension over all choices for which the term may be anything but zero."""
        self._bound.update(name for node in subterms(term) for name in _binds(node))
        everything, found = self._choices(self.variables), self._support(term)
        if found is None or (found and (everything <= FEW or sum(map(self._cost, found)) >= everything)):
            return self._in_full(Places())
        if len(found) == 1:
            return self._in_full(found[0])
        each = f"({', '.join(map(python_name, self.variables))},)"
        return f"for {each} in chain({', '.join(f'({each} {self._in_full(places)})' for places in found)})"

    def _choices(self, variables: Iterable[str]) -> int:
        return prod(len(self.domain(self.variables[v])) for v in variables)

    def _cost(self, places: Places) -> int:
        return places.count * self._choices(self.variables.keys() - places.bound)

    def _in_full(self, places: Places) -> str:
        rest = [(python_name(v), self.domain(kind)) for v, kind in self.variables.items() if v not in places.bound]
        return " ".join([*places.loops, *(f"for {name} in {values!r}" for name, values in rest)])

    def _support(self, term: Term, positive: bool = True) -> Support:
        """Return where a term is not zero, or, with ``positive=False``, where a Bool is false."""
        match term.op:
            case "const":
                return () if _is_zero(term) == positive else None
            case "not":
                return self._support(term.args[0], not positive)
            case "and" | "or" if (term.op == "and") == positive:
                return self._all(self._support(part, positive) for part in term.args)
            case "and" | "or":
                return self._any(self._support(part, positive) for part in term.args)
            case "ite":
                test, then, other = term.args
                first = self._all((self._support(test), self._support(then, positive)))
                return self._any((first, self._all((self._support(test, False), self._support(other, positive)))))
            case "exists" | "forall" if (term.op == "exists") == positive:
                return self._support(term.args[0], positive)
            case "select" if positive:
                return self._entries(*term.args)
            case "eq":
                return self._equal(*term.args) if positive else self._other_than(*term.args)
        return None

    def _all(self, supports: Iterable[Support]) -> Support:
        known = [support for support in supports if support is not None]
        if () in known:
            return ()
        alone = sorted((support[0] for support in known if len(support) == 1), key=self._cost)
        joined = [tuple(reduce(Places.and_in, alone, places) for places in support) for support in known]
        return min(joined, key=lambda support: sum(map(self._cost, support)), default=None)

    @staticmethod
    def _any(supports: Iterable[Support]) -> Support:
        found: dict[Places, None] = {}
        for support in supports:
            if support is None:
                return None
            found.update(dict.fromkeys(support))
        return tuple(found)

    def _entries(self, mapping: Term, *keys: Term) -> Support:
        if mapping.op != "state":
            return None
        parts: list[str] = []
        tests: list[str] = []
        bound: set[str] = set()
        for key in keys:
            is_new = key.op == "local" and key.data in self.variables and key.data not in bound
            parts.append(python_name(key.data) if is_new else "_")
            if is_new:
                bound.add(key.data)
                tests.extend(self._tests(key.data))
        loop = " if ".join([f"for ({', '.join(parts)},) in {self.text(mapping)}", *tests])
        return (Places((loop,), frozenset(bound), ENTRIES),) if bound else None

    def _tests(self, variable: str) -> Iterator[str]:
        """Yield tests that a value is one of its type's, since a map may have entries elsewhere."""
        kind, name = self.variables[variable], python_name(variable)
        values = self.domain(kind)
        if isinstance(values, range):
            yield f"{values.start} <= {name} < {values.stop}"
        elif not isinstance(kind, BoolType):
            yield f"{name} in {values!r}"

    def _equal(self, one: Term, other: Term) -> Support:
        for a, b in ((one, other), (other, one)):
            if b.op == "const" and isinstance(b.type, BoolType):
                return self._support(a, bool(b.data))
            if a.op == "local" and a.data in self.variables and self._is_a_value(b, self.variables[a.data]):
                loop = " if ".join([f"for {python_name(a.data)} in ({self.text(b)},)", *self._tests(a.data)])
                return (Places((loop,), frozenset([a.data])),)
            if b.op == "const" and not _is_zero(b):
                return self._support(a)
        return None

    def _is_a_value(self, term: Term, kind: ScalarType) -> bool:
        optional = isinstance(term.type, OptionType) or isinstance(kind, OptionType)
        return not optional and not free_locals(term) & self._bound

    def _other_than(self, one: Term, other: Term) -> Support:
        for a, b in ((one, other), (other, one)):
            if b.op == "const" and isinstance(b.type, BoolType):
                return self._support(a, not b.data)
            if b.op == "const" and _is_zero(b):
                return self._support(a)
        return None


def _is_zero(constant: Term) -> bool:
    return constant.data is None if isinstance(constant.type, OptionType) else not constant.data


def _binds(node: Term) -> Iterable[str]:
    if node.op in ("forall", "exists"):
        return [name for name, _ in node.data]
    return node.data[:1] if node.op == "latest" else ()
