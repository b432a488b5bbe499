"""Declared history properties, against a plain reading of the declaration: event by event, in Python."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER, NONE
from fencepost.properties.history.properties_of import in_a_table
from fencepost.properties.history.related import (
    APPLIED,
    IT,
    Asked,
    Declared,
    Event,
    Operation,
    Related,
    Setting,
    Value,
    declared,
    each,
    first,
    following,
    greatest,
    last,
)
from fencepost.properties.task_counts.events import Kind
from fencepost.properties.task_counts.histories.properties import HISTORY as task_counts
from fencepost.properties.task_counts.histories.view import TaskCountView
from fencepost.properties.transactions.histories.promises import DRIVEN
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from fencepost.properties.transactions.histories.view import TransactionView
from random_histories import doctored, noise


class Plain:
    """One declared property on one piece, an event at a time."""

    def __init__(self, kernel: Declared, view: EventView) -> None:
        self.kernel, self.view, self.kinds = kernel, view, view.kinds

    def violations(self) -> tuple[int, set[tuple[int, int]]]:
        """How many events are judged, and the rows that violate it with those that explain them."""
        kernel, judged, bad = self.kernel, 0, set()
        for row in range(self.view.size):
            if not self.among(row, kernel.each.kinds, kernel.each.where):
                continue
            if any(self.view.columns[name][row] < 0 for name in kernel.each.by):
                continue
            if kernel.given is not None and not self.value(kernel.given, row):
                continue
            judged += 1
            if self.value(kernel.bad, row):
                other = NONE if kernel.explained is None else self.value(kernel.explained, row)
                bad.add((row, NONE if other == NEVER else other))
        return judged, bad

    def among(self, row: int, kinds: tuple[Any, ...], where: Any) -> bool:
        return int(self.kinds[row]) in [int(kind) for kind in kinds] and (where is None or bool(self.value(where, row)))

    def value(self, expression: Any, row: int) -> Any:
        """Of an expression, where the event that is looked at stands at this row."""
        match expression:
            case Setting(name):
                return self.view.setting(name)
            case Asked(event, name):
                return bool(getattr(self.view, name)(np.array([self.row_of(event, row)]))[0])
            case Operation("when", (condition, yes, no)):
                return self.value(yes if self.value(condition, row) else no, row)
            case Operation("not", (arg,)):
                return not self.value(arg, row)
            case Operation("+" | "-" as name, (left, right)):
                return {"+": int.__add__, "-": int.__sub__}[name](self.value(left, row), self.value(right, row))
            case Operation(name, args):
                return APPLIED[name](*(self.value(arg, row) for arg in args))
            case Value(event, column):
                at = self.row_of(event, row)
                missing = NONE if event is IT or event.missing_at == NONE else NEVER
                if column == "missing":
                    return at is None
                if at is None:
                    return missing if column == "at" else -1
                return at if column == "at" else int(self.view.columns[column][at])
        return int(expression)

    def row_of(self, event: Event, row: int) -> int | None:
        if not isinstance(event, Related):
            return row
        asking = self.row_of(event.asking, row)
        columns = self.view.columns
        if asking is None or (not event.blank and any(columns[name][asking] < 0 for name in event.by)):
            return None

        def place(at: int) -> tuple[int, int]:
            return (int(columns[event.along][at]) if event.along else 0), at

        found = [at for at in np.flatnonzero(columns["history"] == columns["history"][asking]).tolist()
                 if self.among(at, event.kinds, event.where)
                 and all(columns[name][at] == columns[name][asking] for name in event.by)]  # fmt: skip
        if event.how == "next":
            found = [at for at in found if place(at) > place(asking)]
        elif event.how != "first":
            found = [at for at in found if place(at) < place(asking)]
        if not found:
            return None
        nearest: Mapping[str, Callable[[], int]] = {
            "first": lambda: min(found),
            "next": lambda: min(found, key=place),
            "last": lambda: max(found, key=place),
            "greatest": lambda: max(found, key=lambda at: (columns[event.column][at], -at)),
        }
        at = nearest[event.how]()
        return at if event.only is None or self.value(event.only, at) else None


def views() -> list[tuple[Mapping[str, HistoryProperty[Any]], EventView]]:
    found: list[tuple[Mapping[str, HistoryProperty[Any]], EventView]] = []
    for make in (partial(noise, "task-counts"), partial(doctored, "task-counts")):
        found.append((task_counts.properties, TaskCountView(make(3, 6), {"mode": "B"})))
    for make in (partial(noise, "transactions"), partial(doctored, "transactions")):
        config = {"mode": "v2", "max_epoch": 3, "partitions": 2}
        found.append((transactions.properties, TransactionView(make(3, 6), config)))
        found.append((in_a_table(*DRIVEN), TransactionView(make(4, 6), config)))
    found.append((CORNERS, TaskCountView(doctored("task-counts", 3, 6), {"mode": "B"})))
    found.append((CORNERS, TaskCountView(noise("task-counts", 3, 6), {"mode": "B"})))
    return found


def corner(name: str, event: Related) -> HistoryProperty[Any]:
    """Says something of an event that is related in this way."""
    return declared(
        name, "618.2", "a property", each(Kind.transaction_committed, Kind.count_written, by=("connector",)),
        (event.count > IT.task) | (event.at > IT.at), lambda view, at, other: "", explained=event,
    )  # fmt: skip


CORNERS = in_a_table(*(
    corner(name, event)
    for name, event in {
        "greatest_blank": greatest("offset", Kind.set_written, by=("connector", "node"), blank=True),
        "greatest_along": greatest("count", Kind.set_written, by=("connector",), along="offset", where=IT.node >= 0),
        "greatest_of_all": greatest("offset", Kind.count_written, by=()),
        "next_by_number": following(Kind.task_running, by=("connector",)),
        "next_chosen": following(Kind.task_running, by=("connector",), where=IT.node > 0),
        "last_of_all": last(Kind.topic_claimed, by=()),
        "first_of_all": first(Kind.set_written, by=()),
    }.items()
))  # fmt: skip
"""Ways of being related that no property of a protocol uses yet."""


@pytest.mark.parametrize(("properties", "view"), views())
def test_as_event_by_event(properties: Mapping[str, HistoryProperty[Any]], view: EventView) -> None:
    """The same events are judged, the same violate the property, and the same explain it."""
    count = 0
    for reported in properties.values():
        if isinstance(reported.kernel, Declared):
            rows = reported.kernel(view)
            found = set(zip(rows.at.tolist(), rows.other.tolist(), strict=True))
            assert (rows.judged, found) == Plain(reported.kernel, view).violations(), reported.name
            count += len(found)
    assert count > 10


def test_what_is_derived() -> None:
    """The kinds that must be recorded, the columns that keep events apart, and whether steps must be in order."""
    task, worker = ("connector", "task"), ("node", "connector")
    running, opened = Kind.task_running, Kind.producer_opened

    def reported(related: Related, **options: Any) -> HistoryProperty[Any]:
        return declared("name", "1", "…", each(running), ~related.missing, str, **options)  # type: ignore[arg-type]

    before = reported(last(opened, by=task))
    assert (before.needs, before.key, before.needs_order) == ({running, opened}, ("history", *task), True)
    assert reported(greatest("epoch", opened, by=task)).needs_order
    assert not reported(first(opened, by=task)).needs_order
    assert not reported(last(opened, by=task, in_place=True)).needs_order
    assert not reported(following(opened, by=task, along="offset")).needs_order
    both = last(running, by=worker, asking=last(opened, by=task))
    assert reported(both).key == ("history", "connector")
    implied = {opened: frozenset({Kind.topic_claimed})}
    assert reported(last(opened, by=task), implied=implied).needs == {running, opened, Kind.topic_claimed}
    compared = declared("name", "1", "…", each(running), first(opened, by=task).at > IT.at, str)  # type: ignore[arg-type]
    assert compared.needs_order
