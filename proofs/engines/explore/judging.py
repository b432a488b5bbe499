"""This module decides which steps of the core the steps of an instance match, block by block, until none is left
unexplained.

Conditions are compiled when they are first needed, and evaluated only for steps that are still unexplained. Nearly all
steps leave the core unchanged, or match the first step of the core that is tried.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from fencepost.proofs.engines.explore.emit import conditions
from fencepost.proofs.engines.explore.packing import Packing, Words
from fencepost.proofs.readings.ground import Ground, Instance, Node
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Broken = list[tuple[int, int, int]]
"""Each entry has the property, the instance and the first row of forbidden steps."""
Judging = Callable[[int, Words, Rows, Broken], None]
"""A `Judging` is called with an instance's number, a block of states and the rows in which it is taken."""
GROUP = 32
STUTTERS = -1


@dataclass
class Explained:
    """An `Explained` holds how one instance's steps are explained, with the condition under which they stutter, and the
    steps of the core that they may match, in groups compiled together."""

    action: str
    packing: Packing
    stutters: Node
    groups: list[list[tuple[str, Node]]]
    compiled: dict[str | int, Callable[[Words], list[Mask]]] = field(default_factory=dict)

    def moving(self, words: Words, rows: Rows) -> Rows:
        """Return the rows whose steps change the core."""
        if self.stutters.op == "const":
            return rows
        return rows[~self.columns(STUTTERS, [self.stutters], words, rows)[0]]

    def unexplained(self, words: Words, rows: Rows, taken: Callable[[str, str], None]) -> Rows:
        """Return the rows whose steps match none of the core's. ``taken`` is called for the other rows."""
        left = self.moving(words, rows)
        for number, group in enumerate(self.groups):
            if not left.size:
                break
            known = np.zeros(left.size, np.bool_)
            columns = self.columns(number, [node for _, node in group], words, left)
            for (name, _), column in zip(group, columns, strict=True):
                new = column & ~known
                if new.any():
                    taken(name, self.action)
                    known |= new
            left = left[~known]
        return left

    def columns(self, key: str | int, nodes: list[Node], words: Words, rows: Rows) -> list[Mask]:
        """Return the conditions at some rows, compiled once per key."""
        if key not in self.compiled:
            self.compiled[key] = conditions(self.packing, nodes)
        return self.compiled[key](tuple(w.take(rows) for w in words))


class Judge:
    """A `Judge` explains steps by the core's. ``taken[refinement][core action]`` has the actions that it explained."""

    def __init__(self, ground: Ground, packing: Packing) -> None:
        self.ground, self.packing = ground, packing
        self.taken: dict[str, dict[str, set[str]]] = {name: {} for name in ground.refinements}
        self._numbers = {name: number for number, name in enumerate(ground.steps)}
        self._explained: dict[int, list[tuple[str, Explained]]] = {}
        self._lock = threading.Lock()

    def __call__(self, number: int, words: Words, rows: Rows, broken: Broken) -> None:
        for name, explained in self.explained(number):
            taken = self.taken[name]
            left = explained.unexplained(words, rows, lambda core, full, t=taken: t.setdefault(core, set()).add(full))  # type: ignore[misc]
            if left.size:
                broken.append((self._numbers[name], number, int(left[0])))

    def explained(self, number: int) -> list[tuple[str, Explained]]:
        """Return the explanations for the refinements whose core, in some view, the instance's steps may change."""
        found = self._explained.get(number)
        if found is None:
            with self._lock:  # only one thread at a time may use the table of nodes
                found = self._explained[number] = list(self._explain(self.ground.instances[number]))
        return found

    def _explain(self, instance: Instance) -> Iterator[tuple[str, Explained]]:
        table, primed = self.ground.table, self.ground.primed(instance)
        for name, view in ((name, view) for name, views in self.ground.refinements.items() for view in views):
            stutters = view.stutters(table, primed)
            if stutters is not table.true:
                candidates = view.candidates(table, primed, instance.action, instance.enabled)
                yield name, Explained(instance.action, self.packing, stutters, list(_groups(candidates)))


def _groups(candidates: list[tuple[str, Node]]) -> Iterator[list[tuple[str, Node]]]:
    """Yield one, two, four and more of the candidates. Later ones are seldom needed, and then share their parts."""
    rest, size = iter(candidates), 1
    while group := list(itertools.islice(rest, size)):
        yield group
        size = min(2 * size, GROUP)
