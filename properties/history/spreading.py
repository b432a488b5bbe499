"""This module distributes a history that is larger than a worker's memory, so that each part can be judged by itself.

A property names its links: the columns in which events must be equal to affect one another. Events that are equal in
all columns of one link stay together, and so do those that are connected by others: a read has its record in common
with the send, and the send its transaction with the client's answer. For a declared property (`related`) the links
follow from the declaration; for others `Spread` states them where their `key` and the kinds that they need do not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fencepost.properties.history.checking import HistoryProperty
    from fencepost.properties.history.related import Declared


@dataclass(frozen=True)
class Link:
    """Events of one history that are equal in all of a `Link`'s columns stay together; with `blank` those to which they
    do not apply, too. `kinds` are the events that it connects; empty: all."""

    columns: tuple[str, ...]
    blank: bool = False
    kinds: frozenset[IntEnum] = frozenset()

    def __str__(self) -> str:
        return " and ".join(self.columns).replace("_", " ")


@dataclass(frozen=True)
class Spread:
    """A `Spread` is how the events of a history are distributed for a property.

    `kinds` are those that it reads, be they needed or not; empty: all. `links` connect events; without any, every event
    is judged by itself. `everywhere` has kinds of which every part has all events, which are not judged. With `whole`,
    all events of the kinds are needed in one place; with `ends`, the last event of each other kind too. `somewhere` are
    the histories for which something is found in some part, by number, where that matters in all of them: their kernels
    find the numbers in the config, under the name of the function.
    """

    kinds: frozenset[IntEnum] = frozenset()
    links: tuple[Link, ...] = ()
    everywhere: frozenset[IntEnum] = frozenset()
    whole: bool = False
    ends: bool = False
    somewhere: Callable[[Any], np.ndarray] | None = None

    @property
    def text(self) -> str:
        """Return by what events are connected, as `record or txn`."""
        if self.whole:
            return "all events of their kinds"
        return " or ".join(map(str, self.links)) or "each event by itself"


BY_ITSELF, IN_ONE_PLACE = Spread(), Spread(whole=True)


def by(*names: str, blank: bool = False) -> tuple[Link, ...]:
    return tuple(Link((name,), blank) for name in names)


def spread_of(item: "HistoryProperty[Any]") -> Spread:
    from fencepost.properties.history.related import Declared

    if item.spread is not None:
        return item.spread
    if isinstance(item.kernel, Declared):
        return of_declared(item.kernel, item.needs)
    kinds = item.needs.union(*item.needs_in.values())
    if item.key == ("history",):
        return Spread(kinds, whole=True)
    return Spread(kinds, (Link(item.key[1:], blank=True),))


def of_declared(kernel: "Declared", needs: frozenset[IntEnum]) -> Spread:
    """Return how a declared property is distributed: related events are found by equal columns, or, where it names
    none, in all of the history."""
    from fencepost.properties.history.related import IT

    kinds = kernel.kinds | needs
    anywhere = [event for event in kernel.related if not event.by]
    everywhere = frozenset(kind for event in anywhere for kind in event.kinds)
    asked = {event.asking for event in kernel.related}
    if everywhere & {*kernel.each.kinds} or any(event in asked for event in anywhere):
        return Spread(kinds, whole=True)
    links: dict[tuple[str, ...], Link] = {}
    for event in kernel.related:
        asking = kernel.each.kinds if event.asking is IT else getattr(event.asking, "kinds", ())
        known = links.get(event.by, Link(event.by))
        of_kinds = known.kinds | {*event.kinds, *asking}
        links[event.by] = Link(event.by, known.blank or event.blank, of_kinds)
    return Spread(kinds, _least([link for names, link in links.items() if names]), everywhere)


def _least(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return one of the columns that all links have in common, or else each, except for those that another one
    implies."""
    if not links:
        return ()
    if shared := tuple(name for name in links[0].columns if all(name in link.columns for link in links)):
        return (Link(shared, any(link.blank for link in links)),)
    found = []
    for link in links:
        if not any({*other.columns} < {*link.columns} for other in links):
            implied = [other for other in links if {*link.columns} <= {*other.columns}]
            kinds = frozenset[IntEnum]().union(*(other.kinds for other in implied))
            found.append(Link(link.columns, any(other.blank for other in implied), kinds))
    return tuple(found)
