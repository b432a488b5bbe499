"""This module measures how far a state is from one in which a condition holds, as a number from 0 (it does hold)
upwards.

A condition is true or false, which gives a search no direction. In this module a comparison of numbers counts by how
much it fails, up to ``FAR``, and any other failure counts as ``FAR``. The parts of a conjunction add up, and the
nearest of alternatives counts (search-based testing calls this branch distance). The distance is 0 exactly where the
condition holds, and only a hint elsewhere.

A distance has two readings, which tests compare: a Python function, and a ground node for the explorer, which computes
the distances of millions of states at once.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping

from fencepost.model.language.properties import Property
from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import AtomsType, EnumType, NumberType
from fencepost.proofs.readings.ground import Lowering, Node
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import State

FAR = 8
Distance = Callable[[State, State | None], int]


def distance(plain: Plain, item: Property) -> Distance:
    """Return the distance to a state (or a step, for a step property) that breaks a promise, or that is a witness."""
    made: Distance = plain.function(f"lambda S, T: {_text(plain, item.term, sought(item))}", {"short": _short})
    return made


def sought(item: Property) -> bool:
    """Return the truth value that a search aims at, which is true for a witness and false for any other property."""
    return item.role == "witness"


def _short(by: int) -> int:
    return min(max(by, 0), FAR)


def _text(plain: Plain, node: Term, wanted: bool) -> str:
    match node.op:
        case "not":
            return _text(plain, node.args[0], not wanted)
        case "and" | "or":
            parts = [_text(plain, a, wanted) for a in node.args]
            return f"({' + '.join(parts)})" if (node.op == "and") == wanted else f"min({', '.join(parts)})"
        case "forall" | "exists":
            body, loops = _text(plain, node.args[0], wanted), plain.loops(node)
            return f"sum({body} {loops})" if (node.op == "forall") == wanted else f"min({body} {loops})"
        case "lt" | "le":
            a, b = map(plain.text, node.args if wanted else reversed(node.args))
            return f"short({a} - {b} + {int((node.op == 'lt') == wanted)})"
        case "eq" if wanted and all(map(_counts, node.args)):
            a, b = map(plain.text, node.args)
            return f"short(abs({a} - {b}))"
        case "eq" if not wanted and (same := _same_place(node)):
            hopeless = " and ".join(f"{plain.text(a)} == {plain.text(b)}" for a, b in same)
            return f"({2 * FAR} if {hopeless} else {FAR} if {plain.text(node)} else 0)"
    return f"({0 if wanted else FAR} if {plain.text(node)} else {FAR if wanted else 0})"


def lower(lowering: Lowering, item: Property) -> Node:
    """Return the distance as a node over fields, for the explorer's columns."""
    return _Lower(lowering).lower(item.term, sought(item), {})


class _Lower:
    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.table = lowering, lowering.table

    def lower(self, node: Term, wanted: bool, names: Mapping[str, Node]) -> Node:
        table, value = self.table, self.lowering.lower
        match node.op:
            case "not":
                return self.lower(node.args[0], not wanted, names)
            case "and" | "or":
                parts = (self.lower(a, wanted, names) for a in node.args)
                return self._sum(parts) if (node.op == "and") == wanted else self._least(parts)
            case "forall" | "exists":
                parts = (self.lower(node.args[0], wanted, inner) for inner in self._instances(node, names))
                return self._sum(parts) if (node.op == "forall") == wanted else self._least(parts)
            case "lt" | "le":
                a, b = (value(x, names) for x in (node.args if wanted else reversed(node.args)))
                return self._short(table.monus(table.add(a, table.const(int((node.op == "lt") == wanted))), b))
            case "eq" if wanted and all(map(_counts, node.args)):
                a, b = (value(x, names) for x in node.args)
                return self._short(table.add(table.monus(a, b), table.monus(b, a)))
            case "eq" if not wanted and (same := _same_place(node)):
                hopeless = table.both(table.eq(value(a, names), value(b, names)) for a, b in same)
                return table.ite(hopeless, table.const(2 * FAR), self._fails(value(node, names), wanted))
        return self._fails(value(node, names), wanted)

    def _fails(self, holds: Node, wanted: bool) -> Node:
        table = self.table
        return table.ite(holds, table.const(0 if wanted else FAR), table.const(FAR if wanted else 0))

    def _short(self, by: Node) -> Node:
        return self._least([by, self.table.const(FAR)])

    def _sum(self, parts: Iterable[Node]) -> Node:
        return functools.reduce(self.table.add, parts, self.table.const(0))

    def _least(self, parts: Iterable[Node]) -> Node:
        return functools.reduce(lambda a, b: self.table.ite(self.table.le(a, b), a, b), parts)

    def _instances(self, node: Term, names: Mapping[str, Node]) -> Iterable[dict[str, Node]]:
        bound = [(name, self.lowering.domain(kind, f"{node.op} over {kind}")) for name, kind in node.data]
        for values in itertools.product(*(domain for _, domain in bound)):
            yield {**names, **dict(zip((name for name, _ in bound), values, strict=True))}


def _counts(node: Term) -> bool:
    """Return whether a term counts as a number. Enumerations do, as their members are mostly declared in order."""
    return isinstance(node.type, NumberType | EnumType) and not isinstance(node.type, AtomsType)


def _same_place(node: Term) -> list[tuple[Term, Term]]:
    """Return the keys of two entries of one map, pairwise. Entries with equal keys cannot be made to differ."""
    a, b = node.args
    if a.op == b.op == "select" and a.args[0] is b.args[0]:
        return list(zip(a.args[1:], b.args[1:], strict=True))
    return []
