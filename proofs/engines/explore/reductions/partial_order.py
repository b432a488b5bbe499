"""This module reduces a search by partial order. Of the steps that a state allows, the search takes those of a stubborn
set, and leaves out others that could as well be taken later.

The sets are guided by what is asked (Kristensen, Schmidt and Valmari, *Question-guided stubborn set methods for state
properties*, 2006), and by guards conjunct by conjunct (Laarman, Pater, van de Pol and Weber, *Guard-based partial-order
reduction*, 2013). A *goal* is a condition on one state: that an always property does not hold, that a witness is
reached, or that a step which a step property forbids can be taken. The set T of a state has

- for each goal that no level so far has met, instances of which every run to the goal takes one (`_way`);
- for each instance in T that the state does not allow, for one false conjunct, all instances that make it true;
- for each instance t in T that the state allows, all that spoil it (`Interference.spoils`), and for each conjunct of t
  either all instances that make it false or all that make it true again.

The reduction is sound for the following reason. Let u1 … un lead from a state to a goal in the fewest steps, and let t
= uk be the first of them in T, which exists by the first rule. If the state did not allow t, something before t would
have made its false conjunct true, and would be in T by the second rule. So t is allowed at once, and stays allowed
during u1 … u(k-1), because a conjunct that became false and true again before t was taken would have needed both kinds
of instances of the third rule, one of which is in T. None of u1 … u(k-1) spoils t, so that t moves to the front, swap
by swap, and the same goal is reached by the same steps in another order, in the same number. By induction over that
number, the reduced search meets each goal at the same depth as the full one. So verdicts of always, sometimes and step
properties are the same, and runs are shortest ones. (Where T has all steps that the state allows, nothing is left out,
and T need not be complete.) Since each state's set leads towards all open goals, no step can be put off for ever, and
no condition on cycles (the ignoring problem: Valmari; Peled; Bošnački and Holzmann for breadth first) is needed. Steps
that a property observes need no special treatment either. The argument is about distances, so that it also holds for
states up to names (`symmetry`).

The argument does not cover refinements, which are about all steps, nor progress, nor deadlocks. Dangers and actions on
the way are known only for the steps that were taken.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.engines.explore.emit import conditions
from fencepost.proofs.engines.explore.packing import Packing, Words
from fencepost.proofs.engines.explore.reductions.interference import Interference
from fencepost.proofs.readings.ground import Ground, Node
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fencepost.proofs.engines.explore.kernels import Rows, Tally

Mask = NDArray[np.bool_]
Bits = NDArray[np.uint64]
"""A `Bits` has sets of instances, a row for each state and a bit for each instance, or one such row."""
DEAR = np.int64(2**62)
JOINTS = ("and", "or", "not")


class PartialOrder:
    """A `PartialOrder` is the reduction of one search, whose ``expand`` is that of `Kernels`, restricted to the steps
    that are taken. Errors: InputError if a requested property needs all steps, or no property is requested."""

    def __init__(self, ground: Ground, packing: Packing, expand: Callable[..., int]) -> None:
        if ground.refinements:
            name = next(iter(ground.refinements))
            raise InputError(f"{name} is about all steps, of which partial order leaves some out; ask for others")
        self.goals = _goals(ground)
        if not self.goals:
            raise InputError(f"nothing is asked of {ground.spec.name}, so that partial order would leave all steps out")
        self.ground, self.packing, self._expand = ground, packing, expand
        self.interference = Interference(ground)
        self.words = -(-len(ground.instances) // 64)
        self._spoilers: dict[int, Bits] = {}
        self._breaks: dict[int, list[tuple[Bits, Bits]]] = {}
        known = self.interference
        for number in known.taken:
            self._spoilers[number] = self._bits(known.spoils(number))
            parts = known.conjuncts[number]
            self._breaks[number] = [
                (self._bits(known.makes(c, False) - {number}), self._bits(known.makes(c, True) - {number}))
                for c in parts
            ]
        self._open: list[Node] | None = None
        self.ask(self.goals)

    def ask(self, names: Iterable[str]) -> None:
        """Set the properties that are not decided yet."""
        still = [self.goals[name] for name in names if self.goals[name].op != "const"]
        if still == self._open:
            return
        self._open = still
        instances = self.ground.instances
        roots = [*still, *(instances[n].enabled for n in self.interference.taken)]
        self._leaves, self._joints = _parts(roots)
        self._columns = conditions(self.packing, self._leaves)
        self._makes = {
            (leaf.number, value): self._bits(self.interference.makes(leaf, value))
            for leaf in self._leaves for value in (False, True)
        }  # fmt: skip

    def expand(self, words: Words, out: Words, rows: "Rows | None", tally: "Tally") -> int:
        """Expand as `Kernels.expand` does. ``tally`` counts the steps taken, and has what any allowed step breaks."""
        count = words[0].size
        before = np.array(tally.taken)
        of = np.empty(count * len(before), np.int64)
        made = self._expand(words, out, of, tally)
        numbers = np.repeat(np.arange(before.size), np.array(tally.taken) - before)
        found, place = self.chosen(words)
        bits = found[place[of[:made]], numbers >> 6] >> (numbers & 63).astype(np.uint64)
        remaining = (bits & np.uint64(1)).nonzero()[0]
        for column in out:
            column[: remaining.size] = column[remaining]
        if rows is not None:
            rows[: remaining.size] = of[remaining]
        tally.taken[:] = (before + np.bincount(numbers[remaining], minlength=before.size)).tolist()
        return int(remaining.size)

    def chosen(self, words: Words) -> tuple[Bits, NDArray[np.int64]]:
        """Return the sets, and the set of each state, which depends only on which conditions are true."""
        if not self._leaves:  # no condition distinguishes the states
            return self._sets({}, 1), np.zeros(words[0].size, np.int64)
        columns = np.stack(self._columns(words))
        packed = np.ascontiguousarray(np.packbits(columns, axis=0).T)
        _, first, place = np.unique(packed.view((np.void, packed.shape[1])), return_index=True, return_inverse=True)
        truth = {leaf.number: column for leaf, column in zip(self._leaves, columns[:, first], strict=True)}
        return self._sets(truth, first.size), place.reshape(-1)

    def _sets(self, truth: dict[int, Mask], count: int) -> Bits:
        for node in self._joints:
            parts = [truth[a.number] for a in node.args]
            truth[node.number] = ~parts[0] if node.op == "not" else _JOIN[node.op].reduce(parts)
        allowed = np.zeros((count, self.words), np.uint64)
        for n in self.interference.taken:
            enabled = self.ground.instances[n].enabled
            column = np.ones(count, np.bool_) if enabled.op == "const" else truth[enabled.number]
            allowed[:, n >> 6] |= column.astype(np.uint64) << np.uint64(n & 63)
        made = _Sets(np.zeros((count, self.words), np.uint64), allowed, truth)
        every = np.arange(count)
        for goal in self._open or ():
            made.bits |= self._way(goal, True, made, every)
        self._close(made)
        return made.bits

    def _close(self, made: "_Sets") -> None:
        """Add what the second and the third rule demand, until nothing is missing or all allowed steps are in."""
        done = np.zeros_like(made.bits)
        while (new := np.where(made.spared[:, None], made.bits & ~done, 0)).any():
            done = made.bits.copy()
            some = np.bitwise_or.reduce(new, axis=0)
            for n in (n for n in self.interference.taken if int(some[n >> 6]) >> (n & 63) & 1):
                rows = (new[:, n >> 6] & np.uint64(1 << (n & 63))).nonzero()[0]
                allowed = (made.allowed[rows, n >> 6] & np.uint64(1 << (n & 63))).astype(np.bool_)
                if (at := rows[allowed]).size:
                    made.bits[at] |= self._spoilers[n]
                    for makes_false, makes_true in self._breaks[n]:
                        cheaper = made.price(makes_false, at) <= made.price(makes_true, at)
                        made.bits[at] |= np.where(cheaper[:, None], makes_false, makes_true)
                if (at := rows[~allowed]).size:
                    made.bits[at] |= self._way(self.ground.instances[n].enabled, True, made, at)

    def _way(self, node: Node, value: bool, made: "_Sets", at: NDArray[np.int64]) -> Bits:
        """Return, for each state in which the condition does not have the value, instances of which one is taken on
        every run to a state where the condition has it. Of several sets of instances, the one that adds least is
        chosen. For other states, the result is meaningless."""
        if node.op == "not":
            return self._way(node.args[0], not value, made, at)
        if node.op not in JOINTS:
            found = self._makes[node.number, value]
            return np.broadcast_to(found, (at.size, self.words))
        if (node.op == "and") != value:  # no part has the value, and any part suffices
            return reduce(or_, (self._way(a, value, made, at) for a in node.args))
        best, least = np.zeros((at.size, self.words), np.uint64), np.full(at.size, DEAR)
        for part in node.args:
            lacks = made.truth[part.number][at] != value
            if lacks.any():
                found = self._way(part, value, made, at)
                price = np.where(lacks, made.price(found, at), DEAR)
                better = price < least
                best[better], least[better] = found[better], price[better]
        return best

    def _bits(self, numbers: Iterable[int]) -> Bits:
        found = np.zeros(self.words, np.uint64)
        for n in numbers:
            found[n >> 6] |= np.uint64(1 << (n & 63))
        return found


@dataclass
class _Sets:
    """A `_Sets` has, for some states, the sets so far, the allowed instances, and the truth of conditions by node."""

    bits: Bits
    allowed: Bits
    truth: dict[int, Mask]

    @property
    def spared(self) -> Mask:
        spared: Mask = np.logical_or.reduce((self.allowed & ~self.bits) != 0, axis=1)
        return spared

    def price(self, more: Bits, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of adding instances to the sets, which counts allowed steps first, then instances."""
        new = more & ~self.bits[at]
        steps = np.bitwise_count(new & self.allowed[at]).sum(axis=1, dtype=np.int64)
        instances = np.bitwise_count(new).sum(axis=1, dtype=np.int64)
        price: NDArray[np.int64] = (steps << 32) + instances
        return price


_JOIN: dict[str, Any] = {"and": np.logical_and, "or": np.logical_or}


def _parts(roots: Iterable[Node]) -> tuple[list[Node], list[Node]]:
    leaves, joints = dict[int, Node](), dict[int, Node]()

    def visit(node: Node) -> None:
        if node.op in JOINTS and node.number not in joints:
            for part in node.args:
                visit(part)
            joints[node.number] = node
        elif node.op not in (*JOINTS, "const"):
            leaves[node.number] = node

    for root in roots:
        visit(root)
    return list(leaves.values()), list(joints.values())


def _goals(ground: Ground) -> dict[str, Node]:
    table = ground.table
    goals = {name: table.negate(node) for name, node in ground.always.items()} | ground.sometimes
    for name in ground.steps:
        broken = (table.both((i.enabled, table.negate(ground.after(name, i)))) for i in ground.instances)
        goals[name] = table.some(broken)
    return goals
