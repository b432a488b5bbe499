"""Judging: which steps of the core the steps of an instance are, block by block, until none is left unexplained.

Conditions are compiled when they are first needed, and asked only of the steps that nothing explained so far: nearly
all of them leave the core alone, or are the first step of the core that is tried.
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
"""(property, instance, first row) of steps that must not be."""
Judging = Callable[[int, Words, Rows, Broken], None]
"""Called with the number of an instance, a block of states and the rows in which the instance is taken."""
GROUP = 32
STUTTERS = -1


@dataclass
class Explained:
    """How one instance's steps are explained: where they stutter, and the steps of the core that they may be, in
    groups compiled together."""

    action: str
    packing: Packing
    stutters: Node
    groups: list[list[tuple[str, Node]]]
    compiled: dict[str | int, Callable[[Words], list[Mask]]] = field(default_factory=dict)

    def moving(self, words: Words, rows: Rows) -> Rows:
        """The rows whose steps change the core."""
        if self.stutters.op == "const":
            return rows
        return rows[~self.columns(STUTTERS, [self.stutters], words, rows)[0]]

    def unexplained(self, words: Words, rows: Rows, taken: Callable[[str, str], None]) -> Rows:
        """Return, of these rows, those whose steps are none of the core's; ``taken`` gets the others."""
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
        """Conditions at some rows, compiled once per key."""
        if key not in self.compiled:
            self.compiled[key] = conditions(self.packing, nodes)
        return self.compiled[key](tuple(w.take(rows) for w in words))


class Judge:
    """A Judging that holds steps against the core.  ``taken[refinement][action of the core]``: the actions whose steps
    were explained by it."""

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
        """Return, by refinement, of those whose core, in some view, the instance's steps may change."""
        found = self._explained.get(number)
        if found is None:
            with self._lock:  # several threads may ask, and a table of nodes is one thread's at a time
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
    """One, two, four, … of them: what comes later is seldom asked for, and then shares its parts."""
    rest, size = iter(candidates), 1
    while group := list(itertools.islice(rest, size)):
        yield group
        size = min(2 * size, GROUP)
