"""This module holds the emitted functions of one protocol, and what a block of states yields through them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.model.language.properties import Property
from fencepost.proofs.engines.explore.emit import compile_source, conditions
from fencepost.proofs.engines.explore.judging import Broken, Judge, Judging
from fencepost.proofs.engines.explore.packing import Words, pack_fields
from fencepost.proofs.engines.explore.reductions.partial_order import PartialOrder
from fencepost.proofs.engines.explore.reductions.symmetry import Symmetry
from fencepost.proofs.engines.explore.successors import emit_check, emit_expand
from fencepost.proofs.readings.ground import Ground, Instance, Node
from numpy.typing import NDArray

Rows = NDArray[np.int64]


@dataclass
class Tally:
    """A `Tally` counts the expansion of some blocks. ``judge``, if given, gets the steps that change a core."""

    taken: list[int]
    cut: list[int]
    stuck: int
    broken: Broken
    judge: Judging | None = None


class Kernels:
    """A `Kernels` has the emitted functions of a protocol. ``expand(words, out, rows, tally)`` returns how many
    successors it wrote to ``out``, instance by instance. ``rows``, if not None, gets the row of each one's predecessor.
    ``check(words, found)`` calls found(property, row) for the first row that decides a property. ``symmetry`` is set
    for a search that stores one state of each symmetry class, and ``partial_order`` for one that leaves steps out.
    ``follow`` is ``expand`` restricted to the steps that a search takes. ``starts`` has the states in which a search
    begins, with a row for each field and a column for each state. ``expanded`` has small levels, by id, with the
    expansions that the runs through them share (`traces`)."""

    def __init__(self, ground: Ground, alike: Iterable[Property] | None = None, *, partial_order: bool = False) -> None:
        self.ground = ground
        self.packing = pack_fields(ground.spec.name, ground.layout.fields)
        self.starts: NDArray[np.uint64] = np.array(ground.initial, np.uint64)[:, None]
        self.symmetry = None if alike is None else Symmetry(ground, self.packing, alike)
        self.steps = list(ground.steps)
        self.states = [*ground.always, *ground.sometimes]
        self.judge = Judge(ground, self.packing)
        w = ", ".join(f"w{i}" for i in range(self.packing.words))
        self.source = "\n".join((emit_expand(ground, self.packing, w), emit_check(ground, self.packing, w)))
        self.expand: Callable[[Words, Words, Rows | None, Tally], int]
        self.check: Callable[[Words, Callable[[int, int], None]], None]
        self.expand, self.check = compile_source(self.source, "expand", "check")
        self.partial_order = PartialOrder(ground, self.packing, self.expand) if partial_order else None
        self.follow = self.expand if self.partial_order is None else self.partial_order.expand
        self.expanded: dict[int, tuple[Words, Any]] = {}

    @property
    def instances(self) -> list[Instance]:
        return self.ground.instances

    def tally(self, judge: Judging | None = None) -> Tally:
        return Tally([0] * len(self.instances), [0] * len(self.instances), 0, [], judge)

    def stopped(self) -> tuple[list[int], Callable[[Words], list[NDArray[np.bool_]]]]:
        """Return the instances of fair actions that a bound can stop, and a function that gives for each of them the
        column of states in which the protocol allows it but the bounds do not. The function is emitted on demand, since
        only progress needs it."""
        table, owed = self.ground.table, dict[int, Node]()
        for number, instance in enumerate(self.instances):
            blocked = table.both((instance.guard, table.negate(table.both((instance.limit, instance.fits)))))
            if instance.fair and blocked is not table.false:
                owed[number] = blocked
        return list(owed), conditions(self.packing, list(owed.values()))
