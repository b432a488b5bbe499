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


def counts_are_sizes(view: TaskCountView) -> Rows:
    """Counts, against the size of the set that they stand after in the topic; or 0, if the connector was deleted since.

    A round for a set that was deleted with its connector may still write its size, which covers more than is needed.
    """
    topic = view.topic
    kind = view.columns["kind"][topic.rows]
    before, gone = topic.before(kind == Kind.set_written), topic.before(kind == Kind.connector_tombstoned)
    judged = (kind == Kind.count_written) & (before != NONE)
    rows, sets = topic.rows[judged], topic.rows[before[judged]]
    count = view.columns["count"][rows]
    spared = (gone[judged] > before[judged]) & (count == 0)
    return found(rows, (count != view.columns["count"][sets]) & ~spared, sets)


def counts_of_newest_set(view: TaskCountView) -> Rows:
    """Counts, against the set that the round of their writer was for; that of a deleted connector is none."""
    rows = view.applying(_ROUND, Kind.count_written)
    started = view.last(rows, _ROUND, Kind.round_started)
    rows, started = rows[started != NONE], started[started != NONE]
    newest = view.last(rows, _CONNECTOR, Kind.set_written, Kind.connector_tombstoned)
    deleted = view.value("kind", newest) == Kind.connector_tombstoned
    older = view.value("offset", newest) > view.value("set", started)
    return found(rows, older & ~deleted, newest)


def fenced_before_count(view: TaskCountView) -> Rows:
    """Counts, against whether every id that the count before covers was fenced since the newest set came."""
    rows = view.applying(_CONNECTOR, Kind.count_written)
    before, newest = view.latest_count(rows), view.newest_set[rows]
    size, covered = view.value("count", rows), view.value("count", before)
    due = (before != NONE) & ~((covered == 1) & (size == 1))
    fenced = view.fine(Kind.id_fenced)
    one, task = expanded(np.where(due, np.minimum(covered, 1 + len(fenced)), 0))
    wanted = (*(view.at(column, rows[one]) for column in _ROUND), task)
    latest = view.last_like(rows[one], wanted, fenced, tuple(view.at(c, fenced) for c in (*_ROUND, "task")))
    bad = np.zeros(len(rows), bool)
    bad[one[latest <= newest[one]]] = True
    return found(rows, bad, before)


def rounds_fence_the_count(view: TaskCountView) -> Rows:
    """Rounds that a set needs, against the latest count."""
    rows = view.applying(_CONNECTOR, Kind.round_started)
    newest, count = view.newest_set[rows], view.latest_count(rows)
    judged = newest > count  # a count that stands after the newest set leaves nothing to do
    rows, newest, count = rows[judged], newest[judged], count[judged]
    covered, ids = view.value("count", count, missing=0), view.columns["count"][rows]
    spared = (covered == 1) & (view.value("count", newest) == 1) & (ids == 0)
    return found(rows, (ids != covered) & ~spared, np.where(count == NONE, newest, count))


def fences_of_the_round(view: TaskCountView) -> Rows:
    """Ids fenced, against how many their round is to fence."""
    rows = view.applying(_REQUEST, Kind.id_fenced)
    started, task = view.last(rows, _REQUEST, Kind.round_started), view.columns["task"][rows]
    return found(rows, (task < 0) | (task >= view.value("count", started)), started)


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


def not_reclaimed_since(view: TaskCountView) -> Rows:
    """Counts, against claims of their writer since it looked whether there is a newer set."""
    rows = view.applying(_ROUND, Kind.count_written)
    looked = view.last(rows, _ROUND, Kind.round_started, Kind.round_checked)
    rows, looked = rows[looked != NONE], looked[looked != NONE]
    claimed = view.last(rows, ("node",), Kind.topic_claimed)
    return found(rows, claimed > looked, claimed)


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


def assignments_reach_counts(view: TaskCountView) -> Rows:
    """Assignments, against the counts that their maker had written."""
    rows = view.applying(("node",), Kind.assignment_made)
    count = view.last(rows, ("node",), Kind.count_written)
    rows, count = rows[count != NONE], count[count != NONE]
    return found(rows, view.columns["offset"][rows] <= view.columns["offset"][count], count)


def answers_with_count(view: TaskCountView) -> Rows:
    """Rounds answered with success, against whether a count came to stand after the newest set meanwhile."""
    rows = view.applying(("request",), Kind.round_answered)
    rows = rows[(view.columns["status"][rows] == 200) & (view.columns["connector"][rows] >= 0)]
    asked = view.last(rows, ("request",), Kind.round_asked)
    rows, asked = rows[asked != NONE], asked[asked != NONE]
    count = view.latest_count(rows)  # written since, or standing then
    newest = view.newest_set[asked]
    standing = (count > asked) | (view.latest_count(asked) > newest)
    return found(rows, (newest != NONE) & ~standing, newest)
