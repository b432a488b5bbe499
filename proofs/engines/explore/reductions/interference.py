"""This module computes what the instances of actions can do to conditions and to one another, in any state within the
bounds.

The result is read off the ground tree. Which fields an instance reads and writes is computed first. Where the fields of
two instances overlap, the condition under which they interfere may fold to false, or be false for all values of its
fields, if those are few. What cannot be decided in this way counts as interference.
"""

from math import prod

import numpy as np
from fencepost.proofs.readings.ground import Ground, Instance, Node, below, evaluate

FEW = 1 << 12
"""At most this many combinations of values are tried. Sixteen times as many took up to three times as long, and left up
to a tenth fewer states."""
Numbers = frozenset[int]
"""Instances, or fields, are identified by their numbers."""


class Interference:
    """An `Interference` answers which instances affect which conditions. ``taken`` has the instances that the bounds
    allow at all, and ``conjuncts[i]`` what must be true to take instance i. Everything else is computed once for each
    requested node, and creates nodes, so that only one thread at a time may use it."""

    def __init__(self, ground: Ground) -> None:
        self.table, self.instances = ground.table, ground.instances
        self.highs = [field.high for field in ground.layout.fields]
        self.taken = [n for n, i in enumerate(self.instances) if i.enabled is not self.table.false]
        self.conjuncts = [_conjuncts(i.enabled) for i in self.instances]
        self._after = [self.table.substitution(dict(i.updates)) for i in self.instances]
        self._writes = [frozenset(field for field, _ in i.updates) for i in self.instances]
        self._touches = [
            self._writes[n] | self._fields(i.enabled).union(*(self._fields(value) for _, value in i.updates))
            for n, i in enumerate(self.instances)
        ]
        self._known: dict[tuple[int, bool], Numbers] = {}
        self._is_possible: dict[int, bool] = {}

    def makes(self, condition: Node, value: bool) -> Numbers:
        """Return the instances of which a step can change the truth of the condition to ``value``."""
        key = condition.number, value
        if key not in self._known:
            read = self._fields(condition)
            before = self._having(condition, not value)
            self._known[key] = frozenset(
                n for n in self.taken
                if self._writes[n] & read
                and self._possible(self.instances[n].enabled, before, self._having(self._after[n](condition), value))
            )  # fmt: skip
        return self._known[key]

    def spoils(self, number: int) -> Numbers:
        """Return the instances u for which some state allows the instance t of this number, and u, and t after u, but
        not u after t, or where both orders lead to different states."""
        return frozenset(u for u in self.taken if u != number and self._spoils(u, number))

    def _spoils(self, u: int, t: int) -> bool:
        if not (self._writes[u] & self._touches[t] or self._writes[t] & self._touches[u]):
            return False
        first, then = self.instances[u], self.instances[t]
        both = self.table.both((first.enabled, then.enabled, self._after[u](then.enabled)))
        if not self._possible(both):
            return False
        if self._possible(both, self.table.negate(self._after[t](first.enabled))):
            return True
        return any(
            self._possible(both, self._differ(self._value(field, u, t), self._value(field, t, u)))
            for field in self._writes[u] | self._writes[t]
        )

    def _value(self, field: int, first: int, second: int) -> Node:
        later = _written(self.instances[second], field)
        if later is not None:
            return self._after[first](later)
        earlier = _written(self.instances[first], field)
        assert earlier is not None
        return earlier

    def _differ(self, a: Node, b: Node) -> Node:
        table = self.table
        if not a.truth:
            return table.negate(table.eq(a, b))
        return table.some((table.both((a, table.negate(b))), table.both((table.negate(a), b))))

    def _having(self, condition: Node, value: bool) -> Node:
        return condition if value else self.table.negate(condition)

    def _possible(self, *parts: Node) -> bool:
        node = self.table.both(parts)
        if node.op == "const":
            return bool(node.data)
        if node.number not in self._is_possible:
            self._is_possible[node.number] = self._is_true_somewhere(node)
        return self._is_possible[node.number]

    def _is_true_somewhere(self, node: Node) -> bool:
        read = sorted(self._fields(node))
        sizes = [self.highs[field] + 1 for field in read]
        if prod(sizes) > FEW:
            return True
        values: dict[int, object] = dict(zip(read, np.indices(sizes, sparse=True), strict=True))
        return bool(np.any(evaluate([node], values)[0]))  # type: ignore[arg-type]  # indexed by field, as a list is

    def _fields(self, node: Node) -> Numbers:
        return frozenset(n.data for n in below([node]) if n.op == "field")


def _conjuncts(node: Node) -> tuple[Node, ...]:
    parts = node.args if node.op == "and" else (node,)
    return tuple(part for part in parts if part.op != "const")


def _written(instance: Instance, field: int) -> Node | None:
    return next((value for index, value in instance.updates if index == field), None)
