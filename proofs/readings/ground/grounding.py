"""This module grounds a settled protocol and its properties under bounds, as scalar fields, instances of actions, and
ground conditions.

An instance is an action with values for its parameters. An instance may be taken where ``guard`` (what the protocol
states), ``limit`` (what only the exploration states) and ``fits`` (every value stays within its bound) all hold. Where
only ``fits`` fails, the step is cut.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.proofs.readings.ground.effects import effect
from fencepost.proofs.readings.ground.layout import (
    Bounds,
    BoundsError,
    Layout,
    highest,
    lay_out,
    look_up,
    plain,
)
from fencepost.proofs.readings.ground.lowering import Lowering
from fencepost.proofs.readings.ground.nodes import Node, Table
from fencepost.proofs.readings.ground.refining import GroundRefinement, ground_refinements
from fencepost.proofs.results import Event, State


@dataclass(frozen=True)
class Instance:
    """An `Instance` is an action with parameter values. ``updates`` has (field index, value) from the old state."""

    action: str
    parameters: dict[str, Any]
    guard: Node
    limit: Node
    fits: Node
    enabled: Node
    updates: tuple[tuple[int, Node], ...]
    fair: str
    budget: str | None

    @property
    def event(self) -> Event:
        return Event(self.action, self.parameters)


@dataclass(frozen=True)
class Promise:
    """A `Promise` is a progress property for one choice of its parameters. Where ``first`` holds, ``then`` must come to
    hold. ``ceasing`` has the actions that cease eventually."""

    name: str
    parameters: dict[str, Any]
    first: Node
    then: Node
    ceasing: tuple[str, ...] = ()


@dataclass
class Ground:
    """A `Ground` is a protocol within bounds. ``always`` and ``sometimes`` have conditions over fields. ``steps`` has
    conditions over fields and their values after the step, which are fields from ``len(fields)`` on. ``initially`` has
    what step properties demand of the initial state, whose field values are ``initial``. ``refinements`` has, for those
    of the ``steps`` that are refinements, the steps of the core one by one, in each view. ``presences`` has the
    conditions in which dangers are present, and ``lowering`` makes nodes of further terms."""

    spec: Spec
    bounds: dict[str, int]
    layout: Layout
    table: Table
    initial: tuple[int, ...]
    instances: list[Instance]
    always: dict[str, Node] = field(default_factory=dict)
    sometimes: dict[str, Node] = field(default_factory=dict)
    steps: dict[str, Node] = field(default_factory=dict)
    initially: dict[str, Node] = field(default_factory=dict)
    refinements: dict[str, list[GroundRefinement]] = field(default_factory=dict)
    presences: dict[str, Node] = field(default_factory=dict)
    progress: list[Promise] = field(default_factory=list)
    lowering: Lowering | None = field(default=None, repr=False)
    _after: dict[tuple[str, str], Node] = field(default_factory=dict, repr=False)
    _primed: dict[int, Callable[[Node], Node]] = field(default_factory=dict, repr=False)

    def decode(self, values: tuple[int, ...]) -> State:
        return self.layout.decode(values)

    def fields(self) -> list[Node]:
        return [self.table.field(i, f.high, f.truth) for i, f in enumerate(self.layout.fields)]

    def after(self, name: str, instance: Instance) -> Node:
        """Return a step property as a condition on the state before, for the steps of one instance."""
        key = name, str(instance.event)
        if key not in self._after:
            self._after[key] = self.primed(instance)(self.steps[name])
        return self._after[key]

    def primed(self, instance: Instance) -> Callable[[Node], Node]:
        """Return a function that puts conditions on both states of a step of the instance over the state before."""
        known = self._primed.get(id(instance))
        if known is None:
            fields, changed = self.fields(), dict(instance.updates)
            later = {len(fields) + i: changed.get(i) or node for i, node in enumerate(fields)}
            known = self._primed[id(instance)] = self.table.substitution(later)
        return known

    def moves(self, instance: Instance) -> bool:
        """Return whether steps of the instance may change what some refinement maps."""
        primed = self.primed(instance)
        views = (view for views in self.refinements.values() for view in views)
        return any(view.stutters(self.table, primed) is not self.table.true for view in views)


def ground(spec: Spec, properties: Mapping[str, Property], bounds: Bounds) -> Ground:
    """Return everything the explorer needs. Errors: BoundsError for missing bounds, or an axiom that does not hold."""
    layout, table = lay_out(spec, bounds), Table()
    fields = layout.fields
    values = {n: _constant(table, n, kind, bounds, spec) for n, kind in spec.constants.items()}

    def now(index: int) -> Node:
        return table.field(index, fields[index].high, fields[index].truth)

    def then(index: int) -> Node:
        return table.field(index + len(fields), fields[index].high, fields[index].truth)

    lowering = Lowering(layout, table, values, now, then)
    _check_axioms(lowering, spec)
    made = Ground(spec, dict(bounds), layout, table, _initial(layout, table, values), [], lowering=lowering)
    for action in spec.actions.values():
        made.instances.extend(_instances(lowering, action))
    for prop in properties.values():
        _property(made, lowering, prop)
    made.presences = {name: lowering.lower(presence.term, {}) for name, presence in spec.presences.items()}
    return made


def _constant(table: Table, name: str, kind: Any, bounds: Bounds, spec: Spec) -> Node:
    value = look_up(bounds, name, f"{spec.name}: the constant {name}")
    return (table.true if value else table.false) if str(kind) == "Bool" else table.const(value)


def _check_axioms(lowering: Lowering, spec: Spec) -> None:
    for axiom in spec.axioms:
        if lowering.lower(axiom, {}) is not lowering.table.true:
            chosen = ", ".join(f"{n} = {lowering.constants[n].data}" for n in spec.constants)
            raise BoundsError(
                f"{spec.name}: the axiom {axiom!r} does not hold for {chosen}; choose other values in the bounds"
            )


def _initial(layout: Layout, table: Table, constants: Mapping[str, Node]) -> tuple[int, ...]:
    zeros = [table.false if f.truth else table.const(0) for f in layout.fields]
    lowering = Lowering(layout, table, constants, zeros.__getitem__, zeros.__getitem__)
    updates, fits = effect(lowering, layout.spec.initial, {}, zeros)
    if fits is not table.true:
        raise BoundsError(f"{layout.spec.name}: init() leaves the bounds {dict(layout.bounds)}; choose larger ones")
    values = [0] * len(zeros)
    for index, node in updates:
        values[index] = node.data
    return tuple(values)


def _instances(lowering: Lowering, action: Action) -> list[Instance]:
    what = f"{lowering.layout.spec.name}.{action.name}"
    domains = [lowering.domain(kind, f"{what}: parameter {name}") for name, kind in action.parameters]
    names = [name for name, _ in action.parameters]
    made = (
        _instance(lowering, action, dict(zip(names, values, strict=True))) for values in itertools.product(*domains)
    )
    return [instance for instance in made if instance is not None]


def _instance(lowering: Lowering, action: Action, names: dict[str, Node]) -> Instance | None:
    layout, table = lowering.layout, lowering.table
    parts: list[Node] = []
    for item in action.guards:
        parts.append(lowering.lower(item.condition, names))
        if parts[-1] is table.false:
            return None
    current = [table.field(i, f.high, f.truth) for i, f in enumerate(layout.fields)]
    spent: tuple[tuple[int, Node], ...] = ()
    if action.budget is not None:
        index = layout.budgets[action.budget]
        parts.append(table.lt(current[index], table.const(layout.fields[index].high)))
        spent = ((index, table.add(current[index], table.const(1))),)
    guard = table.both(parts)
    if guard is table.false:
        return None
    limit = table.both(lowering.lower(t, names) for t in action.limits)
    updates, fits = effect(lowering, action.updates, names, current)
    enabled = table.both((guard, limit, fits))
    parameters = {name: plain(names[name].data, kind) for name, kind in action.parameters}
    return Instance(
        action.name, parameters, guard, limit, fits, enabled, (*updates, *spent), action.fair, action.budget
    )


def _property(made: Ground, lowering: Lowering, prop: Property) -> None:
    if prop.kind == "step":
        made.steps[prop.name] = lowering.lower(prop.term, {})
        if prop.initially is not None:
            made.initially[prop.name] = lowering.lower(prop.initially, {})
        if isinstance(prop, Refinement):
            made.refinements[prop.name] = ground_refinements(lowering, prop)
    elif prop.role == "witness":
        made.sometimes[prop.name] = lowering.lower(prop.term, {})
    elif prop.role == "progress":
        what = f"{made.spec.name}: progress property {prop.name}"
        domains = [range(highest(kind, made.bounds, what) + 1) for _, kind in prop.parameters]
        for values in itertools.product(*domains):
            kinds = [(name, v, kind) for v, (name, kind) in zip(values, prop.parameters, strict=True)]
            names = {name: lowering.literal(v, kind) for name, v, kind in kinds}
            first, then = (lowering.lower(t, names) for t in prop.terms)
            chosen = {name: plain(v, kind) for name, v, kind in kinds}
            made.progress.append(Promise(prop.name, chosen, first, then, prop.ceasing))
    else:
        made.always[prop.name] = lowering.lower(prop.term, {})
