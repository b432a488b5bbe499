"""Kernels about how tasks start: from which set, after which checks, in which order."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NONE, first_equal
from fencepost.properties.history.timelines import expanded
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import OK, TaskCountView

_CONNECTOR, _INSTANCE, _TASK = ("connector",), ("instance",), ("connector", "task")


def sets_whole(view: TaskCountView) -> Rows:
    """Starts, against the set that they are from: committed before, and with every one of its tasks."""
    rows, sets = view.applying(_TASK, Kind.task_starting), view.applying(_CONNECTOR, Kind.set_written)
    own = first_equal(
        view.place, rows, (view.at("connector", rows), view.at("set", rows)),
        sets, (view.at("connector", sets), view.at("offset", sets)),
    )  # fmt: skip
    own = np.where(own < rows, own, NONE)
    whole = np.zeros(view.size + 1, bool)  # by row of a set; the last for none
    whole[sets] = _is_whole(view, sets)
    bad = ~whole[own] | (view.columns["task"][rows] >= view.value("count", own))
    return found(rows, bad, own)


def _is_whole(view: TaskCountView, sets: np.ndarray) -> np.ndarray:
    """Whether the configuration of every task was written since the set before it."""
    configs = view.applying(_TASK, Kind.task_config_written)
    before = view.newest_set[sets]
    one, task = expanded(np.minimum(view.at("count", sets), 1 + len(configs)))
    whole = np.ones(len(sets), bool)
    connector = view.numbers_of(*_CONNECTOR).of
    values = (connector[configs], view.at("task", configs))
    latest = view.last_like(sets[one], (connector[sets[one]], task), configs, values)
    whole[one[latest <= before[one]]] = False
    return whole


def checked_with_count(view: TaskCountView) -> Rows:
    """Checks passed, against what stands in the topic, as far as the worker has read it, or to its end (B).  A set that
    was compacted away may be one that the worker never read: nothing is judged by it."""
    rows = view.applying(("connector", "node"), Kind.task_checked)
    rows = rows[view.columns["status"][rows] == OK]
    newest, count = view.newest_set[rows], view.latest_count(rows)
    bad = (newest != NONE) & (count < newest)
    if view.mode in ("A", "M"):
        read = view.value("offset", view.last(rows, ("node",), Kind.topic_read), missing=0)
        newest, count = (view.last_below(rows, read, kind) for kind in (Kind.set_written, Kind.count_written))
        newest = np.where(_may_be_gone(view, rows, newest), NONE, newest)
        bad = (newest != NONE) & (view.value("offset", count) < view.value("offset", newest))
    return found(rows, bad, newest)


def _may_be_gone(view: TaskCountView, rows: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Whether a newer set of the connector stood there when the topic was compacted for the last time."""
    compacted = view.last_like(rows, (), np.flatnonzero(view.kinds == Kind.compacted), ())
    there = view.timeline(("connector",), Kind.set_written).before(view.numbers_of("connector").of[rows], compacted)
    kept = np.where(compacted != NONE, there, NONE)
    gone: np.ndarray = view.value("offset", sets) < view.value("offset", kept)
    return gone


def running_with_count(view: TaskCountView) -> Rows:
    """Tasks that begin to poll, against the counts that stood after their set while it was the newest."""
    rows, counts = view.applying(_CONNECTOR, Kind.task_running), view.applying(_CONNECTOR, Kind.count_written)
    newest = view.newest_set[counts]
    counts, newest = counts[newest != NONE], newest[newest != NONE]
    first = first_equal(
        view.place, rows, (view.at("connector", rows), view.at("set", rows)),
        counts, (view.at("connector", counts), view.value("offset", newest)),
    )  # fmt: skip
    return found(rows, first > rows, first)
