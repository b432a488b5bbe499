"""How large the numbers of a run can get: whether any sum in it can leave int64, found before it starts.

Every value that an action computes is at most ``times`` the largest number before plus ``plus``; what a run of many
steps can reach follows. Where that stays below 2^63, columns need no check of their sums.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.model.language.tree.types import NumberType, OptionType

LIMIT = 2**63


class Growth(NamedTuple):
    """At most ``times`` the largest magnitude before, plus ``plus``."""

    times: int
    plus: int

    def __or__(self, other: object) -> "Growth":
        assert isinstance(other, Growth)
        return Growth(max(self.times, other.times), max(self.plus, other.plus))


NOTHING = Growth(0, 0)


def growth_of(node: Term, constants: Mapping[str, int]) -> Growth:
    """How large a term can be; truth values, members of sorts and of enumerations count as numbers that were there
    before."""
    match node.op:
        case "const":
            return Growth(0, abs(int(node.data or 0)))
        case "constant":
            return Growth(0, abs(constants[node.data]))
        case "add" | "sub" | "monus":
            a, b = (growth_of(x, constants) for x in node.args)
            return Growth(a.times + b.times, a.plus + b.plus)
        case "ite":
            return growth_of(node.args[1], constants) | growth_of(node.args[2], constants)
        case "some":
            inner = growth_of(node.args[0], constants)
            return Growth(inner.times, inner.plus + 1)
    return Growth(1, 0)


def growth_of_step(
    conditions: Iterable[Term], updates: Iterable[Update], constants: Mapping[str, int]
) -> tuple[Growth, Growth]:
    """(the largest sum that is computed, the largest value that is stored)."""
    computed = stored = NOTHING
    updates = tuple(updates)
    for root in (*conditions, *(u.value for u in updates), *(k for u in updates for k in u.keys)):
        for node in subterms(root):
            if node.op in ("add", "sub", "some", "monus"):
                computed |= growth_of(node, constants)
    for u in updates:
        if isinstance(u.value.type, NumberType | OptionType):
            stored |= growth_of(u.value, constants)
    return computed, stored


def stays_small(start: int, steps: int, computed: Growth, stored: Growth) -> bool:
    """Whether no sum can leave int64 in ``steps`` steps from numbers of at most ``start``."""
    largest = start
    for _ in range(steps):
        if computed.times * largest + computed.plus >= LIMIT:
            return False
        grown = max(largest, stored.times * largest + stored.plus)
        if grown == largest:
            return True
        largest = grown
    return computed.times * largest + computed.plus < LIMIT
