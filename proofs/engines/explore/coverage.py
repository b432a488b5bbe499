"""This module reports the coverage of a refinement, which is the set of the core's actions that explored steps took.

A refinement under which every step leaves the core unchanged holds trivially. Coverage reveals that.
"""

import itertools
from collections.abc import Collection

import numpy as np
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.exploration import Exploration
from fencepost.proofs.engines.explore.graph import blocks
from fencepost.proofs.engines.explore.judging import Broken, Explained, Rows
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.readings.ground import Node


def coverage(exploration: Exploration, name: str, among: Collection[str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return, for each action of the core, the actions whose explored steps took it, as far as they changed the core's
    variables. The tuple is empty for an action that no step took. ``among`` names the actions of the core that are
    worth a second look, if not all are."""
    kernels = exploration.kernels
    actions, known = kernels.ground.refinements[name][0].actions, kernels.judge.taken[name]
    taken = {action: set(known.get(action, ())) for action in actions}
    # The search finds one action of the core for each step, so the missing ones get a second look.
    missing = {action for action, found in taken.items() if not found and (among is None or action in among)}
    for action, found in _Search(exploration, name, missing).run().items():
        taken[action] |= found
    order = list(kernels.ground.spec.actions)
    return {action: tuple(sorted(found, key=order.index)) for action, found in taken.items()}


def unsaid(exploration: Exploration, name: str) -> list[tuple[str, str]]:
    """Return pairs (action, action of the core) of explored steps that match no other step of the core, although the
    refinement names the core steps of that action and this one is not among them."""
    item, spec = exploration.kernels.ground.refinements[name][0], exploration.kernels.ground.spec
    taken = exploration.kernels.judge.taken[name]
    pairs = ((action, core) for action in spec.actions for core in item.actions if action in taken.get(core, ()))
    return [(action, core) for action, core in pairs if core not in item.hints.get(action, (core,))]


class _Search:
    """A `_Search` looks for explored steps that match some actions of the core, until each action is found."""

    def __init__(self, exploration: Exploration, name: str, missing: set[str]) -> None:
        self.exploration, self.missing = exploration, missing
        self.found: dict[str, set[str]] = {}
        self.asked: dict[int, list[tuple[Explained, dict[str, list[Node]]]]] = {}
        judge = exploration.kernels.judge
        for number in (n for n, steps in enumerate(exploration.instances) if steps and missing):
            for refinement, explained in judge.explained(number):
                if refinement == name:
                    self.asked.setdefault(number, []).append((explained, _by_action(explained, missing)))

    def run(self) -> dict[str, set[str]]:
        kernels = self.exploration.kernels
        possible = {action for views in self.asked.values() for _, steps in views for action in steps}
        for _, block in blocks(self.exploration):
            if possible <= self.found.keys():
                break
            room = sets.size(block) * len(kernels.instances)
            out = tuple(np.empty(room, np.uint64) for _ in range(kernels.packing.words))
            kernels.expand(sets.to_words(block), out, None, kernels.tally(self))
        return self.found

    def __call__(self, number: int, words: Words, rows: Rows, _: Broken) -> None:
        for explained, steps in self.asked.get(number, ()):  # empty if only another refinement's core changes
            for action in steps.keys() - self.found.keys():
                moving = explained.moving(words, rows)
                if any(column.any() for column in explained.columns(action, steps[action], words, moving)):
                    self.found[action] = {explained.action}


def _by_action(explained: Explained, missing: set[str]) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for action, node in itertools.chain(*explained.groups):
        if action in missing:
            found.setdefault(action, []).append(node)
    return found
