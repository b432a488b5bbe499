"""This module turns the assignments of one action into new values of fields, and the condition that they stay within
the bounds.

A value beyond its bound is left as it is. The explorer takes no step where the condition fails, so it is never packed.
"""

import itertools

from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.types import MapType, SeqType
from fencepost.proofs.readings.ground.lowering import Locals, Lowering
from fencepost.proofs.readings.ground.nodes import Node, Table


def effect(
    lowering: Lowering, updates: tuple[Update, ...], names: Locals, current: list[Node]
) -> tuple[tuple[tuple[int, Node], ...], Node]:
    """Return the effect of assignments on the fields ``current``, as (field index, new value) of those that change, and
    the condition that all keys and values stay within their bounds."""
    after, fits = list(current), []
    for update in updates:
        fits.append(_assign(lowering, update, names, after))
    changed = tuple((i, new) for i, (new, old) in enumerate(zip(after, current, strict=True)) if new is not old)
    return changed, lowering.table.both(fits)


def _assign(lowering: Lowering, update: Update, names: Locals, after: list[Node]) -> Node:
    """Carry one assignment into ``after``, and return the condition that it stays within the bounds."""
    table, place = lowering.table, lowering.layout.places[update.variable]
    kind = lowering.layout.spec.types[update.variable]
    if update.bound:
        return _assign_all(lowering, update, names, after)
    value = lowering.lower(update.value, names)
    inside = table.both((table.le(table.const(0), value), table.le(value, table.const(place.highs[-1]))))
    if isinstance(kind, SeqType):
        return table.both((inside, _append(table, place.first, place.sizes[0], value, after)))
    if not isinstance(kind, MapType):
        after[place.first] = value
        return inside
    keys = [lowering.lower(k, names) for k in update.keys]
    for offset, key in enumerate(itertools.product(*map(range, place.sizes))):
        hit = table.both(table.eq(k, table.const(v)) for k, v in zip(keys, key, strict=True))
        old = after[place.first + offset]
        after[place.first + offset] = table.ite(hit, value, old)
    held = [
        table.both((table.le(table.const(0), k), table.lt(k, table.const(n))))
        for k, n in zip(keys, place.sizes, strict=True)
    ]
    return table.both((inside, *held))


def _assign_all(lowering: Lowering, update: Update, names: Locals, after: list[Node]) -> Node:
    table, place = lowering.table, lowering.layout.places[update.variable]
    fits = []
    domains = [lowering.domain(kind, f"a key of {update.variable}") for _, kind in update.bound]
    for offset, key in enumerate(itertools.product(*domains)):
        inner = {**names, **{name: value for (name, _), value in zip(update.bound, key, strict=True)}}
        value = lowering.lower(update.value, inner)
        fits.append(table.both((table.le(table.const(0), value), table.le(value, table.const(place.highs[-1])))))
        after[place.first + offset] = value
    return table.both(fits)


def _append(table: Table, first: int, room: int, value: Node, after: list[Node]) -> Node:
    length = after[first]
    for position in range(room):
        here = table.eq(length, table.const(position))
        after[first + 1 + position] = table.ite(here, value, after[first + 1 + position])
    after[first] = table.add(length, table.const(1))
    return table.lt(length, table.const(room))
