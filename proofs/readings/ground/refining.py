"""This module grounds a refinement, with every step of the core, for each choice of its parameters, as conditions on a
step of the larger protocol.

For one instance of the larger protocol most of these conditions fold away. A variable that the instance does not touch
is unchanged, and one that it sets to what the core sets it to is right. What is left of a step of the core indicates
how near it is.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fencepost.model.language.derived.refinements import CoreStep, Refinement
from fencepost.model.language.tracing.mappings import Bound
from fencepost.proofs.readings.ground.lowering import Lowering
from fencepost.proofs.readings.ground.nodes import Node, Table

Primed = Callable[[Node], Node]
"""A `Primed` turns a condition on the states before and after a step of one instance into one on the state before."""


@dataclass(frozen=True)
class GroundStep:
    """A `GroundStep` is a step of the core, with its guard and what each variable must be afterwards, in any order."""

    action: str
    guard: Node
    effects: list[Node]

    def taken(self, table: Table, primed: Primed) -> Node | None:
        """Return where an instance is this step of the core, or None if it never is."""
        parts = [self.guard]
        for place, effect in enumerate(self.effects):
            parts.append(primed(effect))
            if parts[-1] is table.false:  # the next instance will mostly fail here as well
                self.effects.insert(0, self.effects.pop(place))
                return None
        taken = table.both(parts)
        return None if taken is table.false else taken


@dataclass(frozen=True)
class GroundRefinement:
    """A `GroundRefinement` is a refinement in one view. ``unchanged`` has, for each variable of the core, the condition
    that it does not change. ``hints`` names the core's actions to try first."""

    unchanged: tuple[Node, ...]
    steps: tuple[GroundStep, ...]
    actions: tuple[str, ...]
    hints: dict[str, tuple[str, ...]]

    def stutters(self, table: Table, primed: Primed) -> Node:
        """Return where an instance leaves the core's variables as they are."""
        return table.both(map(primed, self.unchanged))

    def candidates(self, table: Table, primed: Primed, action: str, given: Node) -> list[tuple[str, Node]]:
        """Return the steps of the core that an instance of ``action``, taken where ``given`` holds, may be, by action.
        The likeliest come first, which are those that are hinted at or have its name, with the fewest conditions left.
        """
        hints, found, known = self.hints.get(action, (action,)), [], Known(table, given)
        for place, step in enumerate(self.steps):
            taken = step.taken(table, primed)
            if taken is not None and not known.excludes(taken):
                left = len(taken.args) if taken.op == "and" else 1
                found.append(((step.action not in hints, left, place), (step.action, taken)))
        return [candidate for _, candidate in sorted(found, key=lambda item: item[0])]


class Known:
    """A `Known` has facts that a condition states directly, by which most contradictions are found."""

    def __init__(self, table: Table, condition: Node) -> None:
        parts = _parts(condition)
        self._against = {table.negate(part).number for part in parts}
        self._values = {part.args[0].number: part.args[1].data for part in parts if _fixes(part)}

    def excludes(self, other: Node) -> bool:
        """Return whether another condition can never hold where the known one does, or False if that is not obvious."""
        return any(
            part.number in self._against
            or (_fixes(part) and self._values.get(part.args[0].number, part.args[1].data) != part.args[1].data)
            for part in _parts(other)
        )


def _parts(condition: Node) -> tuple[Node, ...]:
    return condition.args if condition.op == "and" else (condition,)


def _fixes(part: Node) -> bool:
    return part.op == "eq" and part.args[1].op == "const"


def ground_refinements(lowering: Lowering, item: Refinement) -> list[GroundRefinement]:
    """Return the core's steps under the larger protocol's bounds, once for each choice of a view's parameters."""
    found = []
    for seen in _choices(lowering, item, item.each, "the view"):
        unchanged = tuple(lowering.lower(term, seen) for term in item.unchanged.values())
        steps = tuple(g for s in item.steps.values() for g in _instances(lowering, item, s, seen))
        found.append(GroundRefinement(unchanged, steps, tuple(item.steps), item.hints))
    return found


def _choices(lowering: Lowering, item: Refinement, parameters: Bound, of: str) -> Iterator[dict[str, Node]]:
    what = f"{of} of {item.core.name}, which {lowering.layout.spec.name} refines"
    domains = [lowering.domain(kind, f"{what}: parameter {name.split('.')[0]}") for name, kind in parameters]
    for values in itertools.product(*domains):
        yield dict(zip((name for name, _ in parameters), values, strict=True))


def _instances(lowering: Lowering, item: Refinement, step: CoreStep, seen: dict[str, Node]) -> list[GroundStep]:
    found = []
    for chosen in _choices(lowering, item, step.parameters, step.action.name):
        names = seen | chosen
        guard = lowering.table.both(lowering.lower(g, names) for g in step.guards)
        if guard is not lowering.table.false:
            effects = [lowering.lower(e, names) for e in step.effects.values()]
            found.append(GroundStep(step.action.name, guard, effects))
    return found
