"""Kernels about the config topic: who writes to it, which counts stand in it, and what was fenced before."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE
from fencepost.properties.history.timelines import expanded
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import CONFLICT, TaskCountView

_CONNECTOR, _ROUND, _REQUEST = ("connector",), ("node", "connector"), ("request",)
_OF_LEADERS = (
    Kind.topic_claimed, Kind.assigned, Kind.leadership_lost, Kind.worker_started, Kind.worker_stopped,
)  # fmt: skip


def fenced_before_count(view: TaskCountView) -> Rows:
    """Counts, against whether every id that the count before covers was fenced since the newest set came.

    A count may be written again for a set that has one, with the same value: by a leader that looked for a newer set
    and found none, while another one had led in between and finished its own round. It covers what it covered.
    """
    rows = view.applying(_CONNECTOR, Kind.count_written)
    before, newest = view.latest_count(rows), view.newest_set[rows]
    size, covered = view.value("count", rows), view.value("count", before)
    due = (before != NONE) & ~((covered == 1) & (size == 1)) & ~((before > newest) & (covered == size))
    fenced = view.fine(Kind.id_fenced)
    one, task = expanded(np.where(due, np.minimum(covered, 1 + len(fenced)), 0))
    wanted = (*(view.at(column, rows[one]) for column in _ROUND), task)
    latest = view.last_like(rows[one], wanted, fenced, tuple(view.at(c, fenced) for c in (*_ROUND, "task")))
    bad = np.zeros(len(rows), bool)
    bad[one[latest <= newest[one]]] = True
    return found(rows, bad, before)


def checked_after_fencing(view: TaskCountView) -> Rows:
    """Counts of rounds that fenced, against whether the leader looked for a newer set in between."""
    rows = view.applying(_ROUND, Kind.count_written)
    started = view.last(rows, _ROUND, Kind.round_started)
    rows, started = rows[started != NONE], started[started != NONE]
    request = view.numbers_of(*_REQUEST).of[started]
    fenced, checked = (
        view.timeline(_REQUEST, kind).before(request, rows) for kind in (Kind.id_fenced, Kind.round_checked)
    )
    judged = fenced != NONE
    rows, fenced, checked = rows[judged], fenced[judged], checked[judged]
    return found(rows, (checked < fenced) | (view.value("status", checked) == CONFLICT), fenced)


def writes_by_latest_claimant(view: TaskCountView) -> Rows:
    """Records of the leader, against the latest who claimed the topic."""
    rows = view.writes
    claims = view.rows_of(Kind.topic_claimed)
    if not len(claims):
        return found(rows, np.ones(len(rows), bool), np.full(len(rows), NEVER))
    at = np.searchsorted(claims, rows) - 1
    claim = np.where((at >= 0) & (view.place[claims[at]] == view.place[rows]), claims[at], NONE)
    bad = claim == NONE
    for column in ("node", "producer_id", "epoch"):
        bad |= view.columns[column][rows] != view.columns[column][claim]
    return found(rows, bad, claim)


def writes_while_leading(view: TaskCountView) -> Rows:
    """Records of the leader, against whether it knew by then that it does not lead.

    But for counts: a round goes on, and writes its count if nobody else has claimed the topic by then.
    """
    rows = view.writes[view.columns["node"][view.writes] >= 0]
    rows = rows[view.columns["kind"][rows] < Kind.count_written]
    known = view.last(rows, ("node",), *_OF_LEADERS)
    kind = view.value("kind", known)
    leads = (kind == Kind.topic_claimed) | ((kind == Kind.assigned) & (view.value("count", known) == 1))
    return found(rows, ~leads, known)
