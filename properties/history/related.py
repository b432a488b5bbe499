"""This module declares history properties: each event of some kinds, the events that are related to it, and when it is
bad.

    POLLED = greatest("set", Kind.task_running, by=("connector",))
    declared(
        "no_zombie_commits", "618.P1", "once a task of a newer set polls, no task of an older set commits",
        each(Kind.transaction_committed, by=("connector",)), POLLED.set > IT.set, saying("…"), explained=POLLED,
    )

One declaration determines which rows of a piece violate the property (`Declared.__call__`, some NumPy passes over all
of its histories at once), within which columns it can be judged on its own, which kinds must be recorded, and whether
the order of steps across nodes must be known. The SQL in `tests/sql` is written from the same declaration.

`IT` is the present event: in a property the one that is judged, in a `where` the one that may be related. Of an event,
`.column` is a column (-1 if there is no such event), `.at` its place in the history, `.missing` whether there is none.
A missing event stands before all others if the last was looked for, and after all if the first was.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER, NONE, Groups, first_rows
from fencepost.properties.history.timelines import taken

Kinds = tuple[IntEnum, ...]
ORDERING = ("<", "<=", ">", ">=")
APPLIED: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "and": operator.and_, "or": operator.or_, "not": operator.invert, "when": np.where,
    "+": partial(np.add, dtype=np.int64), "-": partial(np.subtract, dtype=np.int64),
})  # fmt: skip


class Expression:
    """An `Expression` has a value for each event that is judged, from its columns and from those of the events related
    to it."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> "Operation":  # type: ignore[override]
        return Operation("==", (self, other))

    def __ne__(self, other: object) -> "Operation":  # type: ignore[override]
        return Operation("!=", (self, other))

    def __lt__(self, other: object) -> "Operation":
        return Operation("<", (self, other))

    def __le__(self, other: object) -> "Operation":
        return Operation("<=", (self, other))

    def __gt__(self, other: object) -> "Operation":
        return Operation(">", (self, other))

    def __ge__(self, other: object) -> "Operation":
        return Operation(">=", (self, other))

    def __and__(self, other: "Expression") -> "Operation":
        return Operation("and", (self, other))

    def __or__(self, other: "Expression") -> "Operation":
        return Operation("or", (self, other))

    def __invert__(self) -> "Operation":
        return Operation("not", (self,))

    def __add__(self, other: object) -> "Operation":
        return Operation("+", (self, other))

    def __sub__(self, other: object) -> "Operation":
        return Operation("-", (self, other))

    def __rsub__(self, other: object) -> "Operation":
        return Operation("-", (other, self))


@dataclass(frozen=True, eq=False)
class Operation(Expression):
    """An `Operation` applies `name`, one of `APPLIED`, to arguments that are expressions and integers."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Value(Expression):
    """A `Value` is a column of an event, or `at`, its place, or `missing`, whether there is none."""

    event: "Event"
    column: str


@dataclass(frozen=True, eq=False)
class Setting(Expression):
    """A `Setting` is a value from the config of the histories: an attribute of the view, or else a key of the
    config."""

    name: str


def when(condition: Expression, value: object, otherwise: object) -> Operation:
    return Operation("when", (condition, value, otherwise))


@dataclass(frozen=True, eq=False)
class Asked(Expression):
    """An `Asked` is what the method `name` of the view returns for an event, by these columns of it."""

    event: "Event"
    name: str
    columns: tuple[str, ...]


class Event:
    """An `Event` is an event that a property refers to."""

    def __getattr__(self, column: str) -> Value:
        if column.startswith("_"):
            raise AttributeError(column)
        return Value(self, column)


IT = Event()


@dataclass(frozen=True, eq=False)
class Each:
    """An `Each` is the events that are judged: those of some kinds, to which the columns `by` apply, and
    `where` holds."""

    kinds: Kinds
    by: tuple[str, ...]
    where: Expression | None

    def rows(self, view: EventView) -> np.ndarray:
        rows = view.applying(self.by, *self.kinds) if self.by else view.rows_of(*self.kinds)
        return rows if self.where is None else rows[evaluated(self.where, view, {IT: rows})]


def each(*kinds: IntEnum, by: tuple[str, ...] = (), where: Expression | None = None) -> Each:
    return Each(kinds, by, where)


@dataclass(frozen=True, eq=False)
class Related(Event):
    """A `Related` is one event of some kinds, and `where` they hold, that has the same values in the columns `by` as
    the `asking` one: the last or next one, the one before with the greatest value of `column`, or the first of the
    whole history.

    It counts as missing unless `only` holds of it. `along` is the column whose order replaces that of steps. `in_place`
    is whether the order among these events is known wherever they are recorded, since they happen at one node, or
    because the property is the same in whatever order. With `blank`, events to which a column does not apply are alike
    in it; otherwise they have no related event.
    """

    how: str
    kinds: Kinds
    by: tuple[str, ...]
    where: Expression | None = None
    only: Expression | None = None
    asking: Event = IT
    along: str = ""
    in_place: bool = False
    blank: bool = False
    column: str = ""

    @property
    def missing_at(self) -> int:
        return NONE if self.how in ("last", "greatest") else NEVER

    def rows(self, view: EventView, kinds: Kinds, asking: np.ndarray) -> np.ndarray:
        """Return for the asking rows, which are of these kinds, or no row, the row of the related event."""
        if not (self.blank or self.along):
            rows = self._by_number(view, asking)
        else:
            rows = self._by_row(view, tuple(sorted({*kinds, *self.kinds})), asking)
        if self.only is not None:
            there = rows != self.missing_at
            there[there] = evaluated(self.only, view, {IT: rows[there]})
            rows = np.where(there, rows, self.missing_at)
        return rows

    def _by_number(self, view: EventView, asking: np.ndarray) -> np.ndarray:
        numbers = view.numbers_of(*self.by)
        number = numbers.of[asking] if self.asking is IT else taken(numbers.of, asking, numbers.size)
        if self not in view.related:
            view.related[self] = self._of_numbers(view)
        known: Any = view.related[self]
        if self.how == "greatest":
            _, reached = known.greatest(view.columns[self.column])
            return taken(reached, known.place_before(number, asking))
        rows: np.ndarray = (
            known[number] if self.how == "first"
            else known.after(number, asking) if self.how == "next"
            else known.before(number, asking)
        )  # fmt: skip
        return rows

    def _of_numbers(self, view: EventView) -> Any:
        if self.how != "first" and self.where is None:
            return view.timeline(self.by, *self.kinds)
        among = Each(self.kinds, self.by, self.where).rows(view)
        return view.numbers_of(*self.by).first(among) if self.how == "first" else view.timeline_of(self.by, among)

    def _by_row(self, view: EventView, kinds: Kinds, asking: np.ndarray) -> np.ndarray:
        if (self, kinds) not in view.related:
            view.related[self, kinds] = self._of_rows(view, kinds)
        among: np.ndarray
        related: np.ndarray
        among, related = view.related[self, kinds]
        if self.how == "first" and self.asking is IT and len(among) == len(asking):
            return related  # in order of row, of the same rows
        by_row, asking = view.scratch, asking if self.asking is IT else np.where(asking == NEVER, NONE, asking)
        by_row[asking] = self.missing_at
        by_row[among] = related
        by_row[NONE] = self.missing_at
        rows: np.ndarray = by_row[asking]
        return rows

    def _of_rows(self, view: EventView, kinds: Kinds) -> tuple[np.ndarray, np.ndarray]:
        all_chosen = len(kinds) == len(self.kinds) and self.where is None
        if self.how == "first":
            rows, number, size = view.numbered_rows(kinds, self.by, self.blank)
            chosen = slice(None) if all_chosen else self._chosen(view, rows)
            return rows, first_rows(number[chosen], rows[chosen], size)[number]
        groups = view.groups_of(kinds, self.by, self.blank, self.along)
        if all_chosen and self.how == "last":
            return groups.rows, np.where(groups.same, np.append(NONE, groups.rows[:-1])[: len(groups.rows)], NONE)
        of_row = self._chosen(view, groups.rows)
        if self.how == "greatest":
            return groups.rows, taken(groups.rows, self._greatest(view, groups, of_row))
        place = groups.after(of_row) if self.how == "next" else groups.before(of_row)
        return groups.rows, taken(groups.rows, place, self.missing_at)

    def _greatest(self, view: EventView, groups: Groups, of_row: np.ndarray) -> np.ndarray:
        """Return, by place in the groups, the place of the first chosen row with the greatest value before; NONE if
        there is none."""
        values = np.where(of_row, view.at(self.column, groups.rows), np.iinfo(np.int32).min)
        reached = groups.reached(groups.greatest(values))
        place = taken(reached, groups.before(np.ones(len(of_row), bool)))
        return np.where((place != NONE) & np.append(of_row, False)[place], place, NONE)

    def _chosen(self, view: EventView, rows: np.ndarray) -> np.ndarray:
        kind = view.columns["kind"][rows]
        chosen: np.ndarray = kind == self.kinds[0]
        for other in self.kinds[1:]:
            chosen |= kind == other
        if self.where is not None:
            chosen &= evaluated(self.where, view, {IT: rows})
        return chosen


def last(*kinds: IntEnum, by: tuple[str, ...], **options: Any) -> Related:
    """Return the last event of these kinds before the present one."""
    return Related("last", kinds, by, **options)


def following(*kinds: IntEnum, by: tuple[str, ...], **options: Any) -> Related:
    """Return the first event of these kinds after the present one."""
    return Related("next", kinds, by, **options)


def first(*kinds: IntEnum, by: tuple[str, ...], **options: Any) -> Related:
    """Return the first event of these kinds in the history, before or after the present one."""
    return Related("first", kinds, by, **options)


def greatest(column: str, *kinds: IntEnum, by: tuple[str, ...], **options: Any) -> Related:
    """Return, among events of these kinds before the present one, the first with the greatest value of the column,
    which fits into int32."""
    return Related("greatest", kinds, by, column=column, **options)


def evaluated(expression: Any, view: EventView, rows: Mapping[Event, np.ndarray]) -> Any:
    """Return the values of an expression, where the events that it refers to stand at these rows."""
    if isinstance(expression, Operation):
        return APPLIED[expression.name](*(evaluated(arg, view, rows) for arg in expression.args))
    if isinstance(expression, Setting):
        return view.setting(expression.name)
    if isinstance(expression, Asked):
        return getattr(view, expression.name)(rows[expression.event])
    if not isinstance(expression, Value):
        return expression
    at = rows[expression.event]
    if expression.column == "at":
        return at
    if expression.column == "missing":
        return (at == NONE) | (at == NEVER)
    values = view.columns[expression.column]
    return values[at] if expression.event is IT else taken(values, at)


def parts_of(expression: Any) -> Iterator[Any]:
    yield expression
    if isinstance(expression, Operation):
        for arg in expression.args:
            yield from parts_of(arg)


@dataclass(frozen=True, eq=False)
class Declared:
    """A `Declared` is a property as it is declared: `bad` is evaluated for each event for which `given` holds;
    `explained` is the place of the event that explains a violation."""

    each: Each
    bad: Expression
    given: Expression | None
    explained: Expression | None

    @cached_property
    def related(self) -> tuple[Related, ...]:
        """Return the related events that the property refers to, each before those that are related to it."""
        return self._ordered(self.given, self.bad, self.explained)

    @cached_property
    def _judging(self) -> tuple[Related, ...]:
        """Return those of the related events on which it depends whether an event is bad."""
        return self._ordered(self.given, self.bad)

    @staticmethod
    def _ordered(*expressions: Any) -> tuple[Related, ...]:
        ordered: dict[Related, None] = {}

        def add(event: Event) -> None:
            if isinstance(event, Related):
                add(event.asking)
                ordered.setdefault(event)

        for part in chain.from_iterable(map(parts_of, expressions)):
            if isinstance(part, Value):
                add(part.event)
        return tuple(ordered)

    def _parts(self) -> Iterator[Any]:
        for expression in (self.given, self.bad, self.explained):
            yield from parts_of(expression)

    @property
    def key(self) -> tuple[str, ...]:
        """Return the columns within whose values the property can be judged on its own: those in which all related
        events agree."""
        shared = [set(event.by) for event in self.related]
        return ("history", *(name for name in (self.related[0].by if shared else ()) if all(name in s for s in shared)))

    @property
    def kinds(self) -> frozenset[IntEnum]:
        return frozenset((*self.each.kinds, *(kind for event in self.related for kind in event.kinds)))

    @property
    def needs_order(self) -> bool:
        """Return whether the property compares the places of events that may have happened at different nodes."""
        across = {event for event in self.related if not event.along and not event.in_place}
        compared = (part.args for part in self._parts() if isinstance(part, Operation) and part.name in ORDERING)
        places = ({arg.event for arg in args if isinstance(arg, Value) and arg.column == "at"} for args in compared)
        return any(event.how != "first" for event in across) or any(across & events for events in places)

    def __call__(self, view: EventView) -> Rows:
        """Return the rows of a piece that violate the property."""
        rows: dict[Event, np.ndarray] = {IT: self.each.rows(view)}
        for event in self._judging:
            self._relate(event, view, rows)
        if self.given is not None:
            judged = evaluated(self.given, view, rows)
            rows = {event: at[judged] for event, at in rows.items()}
        bad = evaluated(self.bad, view, rows)
        other = np.full(len(rows[IT]), NONE)
        if self.explained is not None and bad.any():
            for event in self.related:
                if event not in rows:
                    self._relate(event, view, rows)
            other = evaluated(self.explained, view, rows)
        return found(rows[IT], bad, other)

    def _relate(self, event: Related, view: EventView, rows: dict[Event, np.ndarray]) -> None:
        kinds = event.asking.kinds if isinstance(event.asking, Related) else self.each.kinds
        rows[event] = event.rows(view, kinds, rows[event.asking])


def declared(
    name: str, rule: str, meaning: str, judged: Each, bad: Expression, describe: Callable[[Any, int, int], str], *,
    explained: Event | Expression | None = None, given: Expression | None = None,
    implied: Mapping[IntEnum, frozenset[IntEnum]] = MappingProxyType({}), needs: frozenset[IntEnum] | None = None,
    **options: Any,
) -> HistoryProperty[Any]:  # fmt: skip
    """Return a history property from its declaration. `implied` has further kinds that must be recorded for a kind to
    have its meaning; `needs` the kinds that must be, where they are not just those that it reads."""
    place = explained.at if isinstance(explained, Event) else explained
    kernel = Declared(judged, bad, given, place)
    derived = kernel.kinds.union(*(implied.get(kind, frozenset()) for kind in kernel.kinds))
    return HistoryProperty(
        name, rule, meaning, kernel.key, kernel, describe, derived if needs is None else needs,
        needs_order=kernel.needs_order, **options,
    )  # fmt: skip
