"""How a history that is larger than a worker's memory is dealt out, so that each part can be judged by itself.

A property says in which columns events must be equal to matter to one another: its links.  Events that are equal in all
columns of one of them stay together, and so do those that are connected by others: a read has its record in common with
the send, and the send its transaction with what the client was told.  Of a declared property (`related`) all of that is
read off the declaration; of others `Spread` says it where their `key` and the kinds that they need do not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.properties.history.checking import HistoryProperty
    from fencepost.properties.history.related import Declared, Each, Related

COMMON = ("history", "step", "kind")


@dataclass(frozen=True)
class Link:
    """Events of one history that are equal in all of these columns stay together; `blank`: those to which they do not
    apply, too."""

    columns: tuple[str, ...]
    blank: bool = False

    def __str__(self) -> str:
        return " and ".join(self.columns).replace("_", " ")


@dataclass(frozen=True)
class Spread:
    """How the events of a history are dealt out for a property.

    `kinds`: those that it looks at, be they needed or not; empty: all.  `links`: what holds events together; none:
    every event is judged by itself.  `everywhere`: kinds of which every part has all events, which are not judged.
    `whole`: all events of the kinds are needed in one place; `ends`: with them the last event of each other kind.
    `somewhere`: what a piece has to know of the rest of its history: the name of a set of histories, and what finds it
    in a piece (see `HistoryProperties.knowing`).  `columns`: those that it reads; empty: all that its protocol reads.
    """

    kinds: frozenset[IntEnum] = frozenset()
    links: tuple[Link, ...] = ()
    everywhere: frozenset[IntEnum] = frozenset()
    whole: bool = False
    ends: bool = False
    columns: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """`record or txn`: by what events are held together."""
        if self.whole:
            return "all of its kinds in one piece"
        return " or ".join(map(str, self.links)) or "each event by itself"


BY_ITSELF = Spread()


def by(*names: str, blank: bool = False) -> tuple[Link, ...]:
    """A link of one column for each name."""
    return tuple(Link((name,), blank) for name in names)


def spread_of(item: "HistoryProperty[Any]") -> Spread:
    """How a property is dealt out."""
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
    """What a declaration says: related events are found by equal columns, or, where it names none, in all of the
    history."""
    kinds, columns = kernel.kinds | needs, tuple(sorted({*COMMON, *_read(kernel)}))
    anywhere = [event for event in kernel.related if not event.by]
    everywhere = frozenset(kind for event in anywhere for kind in event.kinds)
    asked = {event.asking for event in kernel.related}
    if everywhere & {*kernel.each.kinds} or any(event in asked for event in anywhere):
        return Spread(kinds, whole=True, columns=columns)
    blank: dict[tuple[str, ...], bool] = {}
    for event in kernel.related:
        if event.by:
            blank[event.by] = blank.get(event.by, False) or event.blank
    return Spread(kinds, _least(blank), everywhere, columns=columns)


def _least(blank: Mapping[tuple[str, ...], bool]) -> tuple[Link, ...]:
    """The columns that all have in common, or else each, but for those that another one implies."""
    every = list(blank)
    if not every:
        return ()
    if shared := tuple(name for name in every[0] if all(name in names for names in every)):
        return (Link(shared, any(blank.values())),)
    return tuple(
        Link(names, blank[names] or any(blank[other] for other in every if {*names} < {*other}))
        for names in every
        if not any({*other} < {*names} for other in every)
    )


def _read(kernel: "Declared") -> Iterator[str]:
    """The columns that the declaration speaks of."""
    yield from _said(kernel.each)
    for event in kernel.related:
        yield from _said(event)
        yield from (event.along, event.column) if event.along and event.column else (event.along or event.column,)
    for expression in (kernel.given, kernel.bad, kernel.explained):
        yield from _values(expression)


def _said(one: "Each | Related") -> Iterator[str]:
    yield from one.by
    yield from _values(one.where)
    yield from _values(getattr(one, "only", None))


def _values(expression: Any) -> Iterator[str]:
    from fencepost.properties.history.related import Value, parts_of

    for part in parts_of(expression):
        if isinstance(part, Value) and part.column not in ("at", "missing"):
            yield part.column
