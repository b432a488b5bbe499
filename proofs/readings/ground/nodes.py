"""This module has ground nodes, which are what remains of a rule once bounds are chosen, in a hash-consed graph over
scalar fields.

The operations are const, field, add, sub, monus, eq, le, and, or, not, and ite (of numbers only). ``lt`` is written
with ``le``, and a truth value's ite with and/or, so that equal conditions are one object. Every node carries its range.
A comparison that ranges decide is folded, which removes most range checks and most instances of actions before any
state is visited.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any


class Node:
    """A `Node` has ``low <= value <= high`` in every state, and ``truth`` for truth values (0 or 1). Nodes are made
    only by a Table, and are compared with ``is``."""

    __slots__ = ("args", "data", "high", "low", "number", "op", "truth")

    def __init__(
        self, op: str, args: tuple["Node", ...], data: int, low: int, high: int, truth: bool, number: int
    ) -> None:
        self.op, self.args, self.data, self.low, self.high = op, args, data, low, high
        self.truth, self.number = truth, number

    def __repr__(self) -> str:
        if self.op in ("const", "field"):
            return f"{'#' if self.op == 'field' else ''}{self.data}"
        return f"{self.op}({', '.join(map(repr, self.args))})"


class Table:
    """A `Table` has all nodes of one grounding, each distinct one made once, and folded as it is made."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], Node] = {}
        self.false = self._make("const", (), 0, 0, 0, truth=True)
        self.true = self._make("const", (), 1, 1, 1, truth=True)

    def _make(self, op: str, args: tuple[Node, ...], data: int, low: int, high: int, *, truth: bool) -> Node:
        key = (op, data, truth, *[a.number for a in args])
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = Node(op, args, data, low, high, truth, len(self._nodes))
        return found

    def const(self, value: int) -> Node:
        return self._make("const", (), value, value, value, truth=False)

    def field(self, index: int, high: int, truth: bool) -> Node:
        if high == 0:
            return self.false if truth else self.const(0)
        return self._make("field", (), index, 0, high, truth=truth)

    def add(self, a: Node, b: Node) -> Node:
        if a.op == "const":
            a, b = b, a
        if b.op == "const":
            if a.op == "const":
                return self.const(a.data + b.data)
            if b.data == 0:
                return a
            if a.op == "add" and a.args[1].op == "const":
                return self.add(a.args[0], self.const(a.args[1].data + b.data))
        elif a.number > b.number:
            a, b = b, a
        return self._make("add", (a, b), 0, a.low + b.low, a.high + b.high, truth=False)

    def sub(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.const(0)
        if b.op == "const":
            return self.add(a, self.const(-b.data))
        return self._make("sub", (a, b), 0, a.low - b.high, a.high - b.low, truth=False)

    def monus(self, a: Node, b: Node) -> Node:
        """Subtract, but stop at 0."""
        if a.low >= b.high:
            return self.sub(a, b)
        if a is b or a.high <= b.low:
            return self.const(0)
        return self._make("monus", (a, b), 0, max(0, a.low - b.high), max(0, a.high - b.low), truth=False)

    def eq(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.true
        if a.high < b.low or b.high < a.low:
            return self.false
        if a.op == "const" or (b.op != "const" and a.number > b.number):
            a, b = b, a
        if b.op == "const":
            if a.op == "const":
                return self.true if a.data == b.data else self.false
            if a.truth:
                return a if b.data else self.negate(a)
            if a.op == "add" and a.args[1].op == "const":
                return self.eq(a.args[0], self.const(b.data - a.args[1].data))
            pushed = self._push(a, lambda branch: self.eq(branch, b))
            if pushed is not None:
                return pushed
        return self._make("eq", (a, b), 0, 0, 1, truth=True)

    def le(self, a: Node, b: Node) -> Node:
        if a is b or a.high <= b.low:
            return self.true
        if a.low > b.high:
            return self.false
        if a.op == "const":
            return self.negate(self.le(b, self.const(a.data - 1)))
        if b.op == "const":
            if b.data == a.low:
                return self.eq(a, b)
            if b.data == a.high - 1:
                return self.negate(self.eq(a, self.const(a.high)))
            if a.op == "add" and a.args[1].op == "const":
                return self.le(a.args[0], self.const(b.data - a.args[1].data))
            pushed = self._push(a, lambda branch: self.le(branch, b))
            if pushed is not None:
                return pushed
        return self._make("le", (a, b), 0, 0, 1, truth=True)

    def lt(self, a: Node, b: Node) -> Node:
        return self.negate(self.le(b, a))

    def _push(self, a: Node, compare: Callable[[Node], Node]) -> Node | None:
        """Move a comparison into an ite both of whose branches decide it, so that constant chains are conditions."""
        if a.op != "ite":
            return None
        then, other = compare(a.args[1]), compare(a.args[2])
        if then.op == "const" and other.op == "const":
            return self.ite(a.args[0], then, other)
        return None

    def negate(self, a: Node) -> Node:
        if a.op == "const":
            return self.false if a.data else self.true
        return a.args[0] if a.op == "not" else self._make("not", (a,), 0, 0, 1, truth=True)

    def both(self, parts: Iterable[Node]) -> Node:
        return self._join("and", parts, self.true, self.false)

    def some(self, parts: Iterable[Node]) -> Node:
        return self._join("or", parts, self.false, self.true)

    def _join(self, op: str, parts: Iterable[Node], unit: Node, end: Node) -> Node:
        flat: dict[int, Node] = {}
        for part in parts:
            for item in part.args if part.op == op else (part,):
                if item is end:
                    return end
                if item is not unit:
                    flat[item.number] = item
        known: dict[int, int] = {}
        for item in flat.values():
            if item.op == "not" and item.args[0].number in flat:
                return end
            # x == 1 and x == 2 exclude one another; seen here, an instance of an action is dropped before the search.
            fixed = op == "and" and item.op == "eq" and item.args[1].op == "const"
            if fixed and known.setdefault(item.args[0].number, item.args[1].data) != item.args[1].data:
                return end
        if len(flat) <= 1:
            return next(iter(flat.values()), unit)
        return self._make(op, tuple(flat[n] for n in sorted(flat)), 0, 0, 1, truth=True)

    def ite(self, test: Node, then: Node, other: Node) -> Node:
        if test.op == "const":
            return then if test.data else other
        if then is other:
            return then
        if test.op == "not":
            return self.ite(test.args[0], other, then)
        if then.op == "ite" and then.args[0] is test:
            then = then.args[1]
        if other.op == "ite" and other.args[0] is test:
            other = other.args[2]
        if then.truth:
            return self.some((self.both((test, then)), self.both((self.negate(test), other))))
        low, high = min(then.low, other.low), max(then.high, other.high)
        return self._make("ite", (test, then, other), 0, low, high, truth=False)

    def rebuild(self, node: Node, args: Sequence[Node]) -> Node:
        """Return the node's operation on other arguments, folded anew."""
        match node.op:
            case "add":
                return self.add(args[0], args[1])
            case "sub":
                return self.sub(args[0], args[1])
            case "monus":
                return self.monus(args[0], args[1])
            case "eq":
                return self.eq(args[0], args[1])
            case "le":
                return self.le(args[0], args[1])
            case "not":
                return self.negate(args[0])
            case "and":
                return self.both(args)
            case "or":
                return self.some(args)
            case "ite":
                return self.ite(args[0], args[1], args[2])
        return node

    def substitution(self, fields: dict[int, Node]) -> Callable[[Node], Node]:
        """Return a function that replaces some fields, by index. What several nodes share is replaced once."""
        done: dict[int, Node] = {}

        def visit(node: Node) -> Node:
            found = done.get(node.number)
            if found is None:
                if node.op == "field":
                    found = fields.get(node.data, node)
                else:
                    found = self.rebuild(node, [visit(a) for a in node.args]) if node.args else node
                done[node.number] = found
            return found

        return visit


def below(roots: Iterable[Node]) -> list[Node]:
    """Return every distinct node at or below the roots, arguments first."""
    seen: set[int] = set()
    order: list[Node] = []

    def visit(node: Node) -> None:
        if node.number not in seen:
            seen.add(node.number)
            for a in node.args:
                visit(a)
            order.append(node)

    for root in roots:
        visit(root)
    return order


def evaluate(roots: Iterable[Node], values: Sequence[Any]) -> list[Any]:
    """Return the values of the roots in one state, given by field index. Tests compare columns with these values.

    For many states at once, ``values`` are integer arrays of one length, and so are the results, except for constants.
    """
    roots = list(roots)
    got: dict[int, Any] = {}
    for node in below(roots):
        a = [got[x.number] for x in node.args]
        match node.op:  # a truth value is 0 or 1, whether it is one or an array of them
            case "const":
                result = node.data
            case "field":
                result = values[node.data]
            case "add":
                result = a[0] + a[1]
            case "sub":
                result = a[0] - a[1]
            case "monus":
                result = (a[0] - a[1]) * (a[0] > a[1])
            case "eq":
                result = (a[0] == a[1]) * 1
            case "le":
                result = (a[0] <= a[1]) * 1
            case "not":
                result = 1 - a[0]
            case "and":
                result = prod(a)
            case "or":
                result = 1 - prod(1 - x for x in a)
            case _:
                result = a[0] * a[1] + (1 - a[0]) * a[2]
        got[node.number] = result
    return [got[r.number] for r in roots]
