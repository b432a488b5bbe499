"""This module computes what the properties of task counts need: the sets and counts of each connector, the claims,
rounds and starts, in order.

Every worker names a set by the offset of its commit record. A `Timeline` answers what came last before a row.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from fencepost.properties.history import related
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import (
    NEVER,
    NONE,
    Groups,
    Values,
    contained,
    first_equal,
    joined,
    last_rows,
    looked_up,
)
from fencepost.properties.history.naming import Words
from fencepost.properties.history.pieces import Columns, ranked
from fencepost.properties.history.timelines import LeastOf, Timeline, expanded, taken
from fencepost.properties.task_counts.events import SUPPORT, TASK_COUNTS, Kind

OK, CONFLICT = 200, 409
NEEDED = {"A": SUPPORT["enabled"], "M": SUPPORT["disabled"], "B": SUPPORT["disabled"]}
"""From the support level in `NEEDED` on, by mode, a leader writes in transactions (618.24; shipped: `preparing`)."""

SETS = frozenset({Kind.set_written, Kind.connector_written, Kind.connector_tombstoned})
declared = partial(related.declared, implied={Kind.set_written: SETS})
"""A set written after its connector was deleted counts as absent, so deletions must be recorded with sets."""


class TaskCountView(EventView):
    """A `TaskCountView` computes lazily what the properties need of one piece. `columns` are sorted by (history, step)
    and hold whole histories.

    `config` is the configuration in the manifest, of which ``mode`` is read (default: shipped).
    """

    def __init__(self, columns: Columns, config: Mapping[str, Any]) -> None:
        super().__init__(columns, config)
        self.mode = str(config.get("mode", "shipped"))

    @cached_property
    def kinds(self) -> np.ndarray:
        """Return the kinds, without sets written while their connector was deleted, which workers ignore."""
        kind, numbers = self.columns["kind"], self.numbers_of("connector")
        there = np.flatnonzero((kind == Kind.connector_written) | (kind == Kind.connector_tombstoned))
        sets = np.flatnonzero(kind == Kind.set_written)
        there, sets = (rows[numbers.of[rows] < numbers.size] for rows in (there, sets))
        last = Timeline(there, numbers.of[there], self.size).before(numbers.of[sets], sets)
        kinds = kind.copy()
        kinds[sets[taken(kind, last) == Kind.connector_tombstoned]] = 0
        return kinds

    def last(self, rows: np.ndarray, columns: tuple[str, ...], *kinds: Kind) -> np.ndarray:
        """Return for each row the last earlier row of these kinds with the same values in these columns, or NONE."""
        return self.timeline(columns, *kinds).before(self.numbers_of(*columns).of[rows], rows)

    def last_like(self, rows: np.ndarray, wanted: Values, among: np.ndarray, values: Values) -> np.ndarray:
        """Return for each row the last earlier row of `among` in its history with the values wanted, or NONE."""
        both = np.concatenate([rows, among])
        stacked = [np.concatenate(pair) for pair in zip(wanted, values, strict=True)]
        number, _ = ranked(joined(self.place[both], *stacked))
        return Timeline(among, number[len(rows) :], self.size).before(number[: len(rows)], rows)

    def last_below(self, rows: np.ndarray, limit: np.ndarray, kind: Kind) -> np.ndarray:
        """Return for each row of a connector the row of this kind with the greatest offset below `limit`, or NONE."""
        numbers, among = self.numbers_of("connector"), self.applying(("connector",), kind)
        offset = np.maximum(self.at("offset", among), 0)
        wide = 2 + max(int(offset.max(initial=0)), int(limit.max(initial=0)))
        key = numbers.of[among] * wide + offset
        order = np.argsort(key, kind="stable")
        place = looked_up(numbers.of[rows] * wide + limit - 1, key[order])
        found = taken(among[order], place)
        same = (found != NONE) & (numbers.of[found] == numbers.of[rows])
        return np.where(same, found, NONE)

    def value(self, column: str, rows: np.ndarray, missing: int = NONE) -> np.ndarray:
        return taken(self.columns[column], rows, missing)

    @cached_property
    def topic(self) -> Groups:
        rows = self.applying(("connector",), Kind.set_written, Kind.count_written, Kind.connector_tombstoned)
        return Groups(rows, self.numbers_of("connector").of[rows], by=self.at("offset", rows))

    @cached_property
    def newest_set(self) -> np.ndarray:
        """Return for each row that names a connector the row of the latest set before it, or NONE."""
        rows = np.flatnonzero(self.numbers_of("connector").of < self.numbers_of("connector").size)
        newest = np.full(self.size, NONE)
        newest[rows] = self.last(rows, ("connector",), Kind.set_written)
        return newest

    @cached_property
    def counts(self) -> Timeline:
        """Return the counts of each connector, in order of row. A tombstone counts as a row of its own."""
        return self.timeline(("connector",), Kind.count_written, Kind.count_tombstoned)

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Return the count at each row of a count record, 0 for a tombstone, and NONE where the row is NONE."""
        tombstone = self.value("kind", rows) == Kind.count_tombstoned
        return np.where(tombstone, 0, self.value("count", rows))

    def latest_count(self, rows: np.ndarray) -> np.ndarray:
        """Return for each row of a connector the row of the latest count before it, or NONE (also for a tombstone)."""
        found = self.last(rows, ("connector",), Kind.count_written, Kind.count_tombstoned)
        return np.where(self.value("kind", found) == Kind.count_tombstoned, NONE, found)

    @cached_property
    def writes(self) -> np.ndarray:
        """Return the rows at which a record that only the leader may write was committed, except those of workers that
        do not write in transactions yet."""
        kind = self.columns["kind"]
        rows = np.flatnonzero((kind >= Kind.connector_written) & (kind <= Kind.count_tombstoned))
        started = self.last(rows, ("node",), Kind.worker_started)
        support = self.value("support", started, missing=SUPPORT["enabled"])
        writes: np.ndarray = rows[(support < 0) | (support >= NEEDED.get(self.mode, SUPPORT["preparing"]))]
        return writes


# How a violated property of task counts is reported.

NAMES = {"support": {number: name for name, number in SUPPORT.items()}}
_WORDS = Words(TASK_COUNTS, hidden=("member", "request"), names=NAMES)

saying = _WORDS.saying


# Kernels about how tasks start: from which set, after which checks, in which order.

_CONNECTOR, _INSTANCE, _TASK = ("connector",), ("instance",), ("connector", "task")


def sets_whole(view: TaskCountView) -> Rows:
    """Check that the set from which a task starts was committed before, with each task's configuration."""
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
    """Return whether the configuration of every task was written since the preceding set."""
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
    """Check that a passed check finds a count after the newest set that the worker has read, or at the topic's end (B).

    A set that was compacted away may be one that the worker never read, so no check is judged by it.
    """
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
    """Return whether a newer set of the connector was in the topic when it was compacted for the last time."""
    compacted = view.last_like(rows, (), np.flatnonzero(view.kinds == Kind.compacted), ())
    there = view.timeline(("connector",), Kind.set_written).before(view.numbers_of("connector").of[rows], compacted)
    remaining = np.where(compacted != NONE, there, NONE)
    gone: np.ndarray = view.value("offset", sets) < view.value("offset", remaining)
    return gone


def running_with_count(view: TaskCountView) -> Rows:
    """Check that a task begins to poll only after a count was written while the task's set was the newest."""
    rows, counts = view.applying(_CONNECTOR, Kind.task_running), view.applying(_CONNECTOR, Kind.count_written)
    newest = view.newest_set[counts]
    counts, newest = counts[newest != NONE], newest[newest != NONE]
    first = first_equal(
        view.place, rows, (view.at("connector", rows), view.at("set", rows)),
        counts, (view.at("connector", counts), view.value("offset", newest)),
    )  # fmt: skip
    return found(rows, first > rows, first)


# Kernels about the config topic: who writes to it, which counts stand in it, and what was fenced before.

_TOPIC_CONNECTOR, _ROUND, _REQUEST = ("connector",), ("node", "connector"), ("request",)
_OF_LEADERS = (
    Kind.topic_claimed, Kind.assigned, Kind.leadership_lost, Kind.worker_started, Kind.worker_stopped,
)  # fmt: skip


def fenced_before_count(view: TaskCountView) -> Rows:
    """Check that every id that the preceding count covers was fenced between the newest set and the new count.

    A count may be written again, with the same value, for a set that has one: by a leader that found no newer set,
    while another leader finished its own round in between. The second count covers what the first one covered.
    """
    rows = view.applying(_TOPIC_CONNECTOR, Kind.count_written)
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
    """Check that the leader of a round that fenced looked for a newer set between the fencing and the count."""
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
    """Check that each record that only the leader may write comes from the latest worker that claimed the topic."""
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
    """Check that no worker writes a leader's record after it knew that it does not lead.

    Counts are excepted: a round goes on and writes its count if no other leader has claimed the topic by then.
    """
    rows = view.writes[view.columns["node"][view.writes] >= 0]
    rows = rows[view.columns["kind"][rows] < Kind.count_written]
    known = view.last(rows, ("node",), *_OF_LEADERS)
    kind = view.value("kind", known)
    leads = (kind == Kind.topic_claimed) | ((kind == Kind.assigned) & (view.value("count", known) == 1))
    return found(rows, ~leads, known)


# Kernels about producers of tasks: who may commit, which counts cover them, and whose transactional ids they are.

_COMMITS_CONNECTOR, _PRODUCER = ("connector",), ("producer_id",)


def producers_covered(view: TaskCountView) -> Rows:
    """Check that each committed transaction of a task of an older set is covered by every count that was in effect
    since a newer set was written."""
    rows, numbers = (
        view.applying(("connector", "task"), Kind.transaction_committed),
        view.numbers_of(*_COMMITS_CONNECTOR),
    )
    newer = _first_newer(view, rows)
    rows, newer = rows[newer < rows], newer[newer < rows]
    counts, number, task = view.counts, numbers.of[rows], view.columns["task"][rows]
    first, last = counts.place_before(number, newer), counts.place_before(number, rows)
    bad = first == NONE
    least = LeastOf(view.counted(counts.rows))
    bad[~bad] = least.of(first[~bad], last[~bad]) <= task[~bad]
    return found(rows, bad, newer)


def _first_newer(view: TaskCountView, rows: np.ndarray) -> np.ndarray:
    """Return for each row with a connector and a set the first row at which a newer set was written, or NEVER."""
    sets, numbers = view.applying(_COMMITS_CONNECTOR, Kind.set_written), view.numbers_of(*_COMMITS_CONNECTOR)
    if not len(sets):
        return np.full(len(rows), NEVER)
    order = np.lexsort((view.at("offset", sets), numbers.of[sets]))
    sets, width = sets[order], view.size + 1
    lifted = numbers.of[sets] * width + sets  # the least of a group's later rows is its own, whatever comes after
    least = np.minimum.accumulate(lifted[::-1])[::-1]
    wide = 1 + max(int(view.at("offset", sets).max()), int(view.at("set", rows).max(initial=0)), 0)
    key = numbers.of[sets] * (wide + 1) + np.maximum(view.at("offset", sets), 0)
    wanted = numbers.of[rows] * (wide + 1) + np.maximum(view.at("set", rows), -1)
    place = np.searchsorted(key, wanted, side="right")
    there = place < len(key)
    there[there] &= numbers.of[sets][place[there]] == numbers.of[rows][there]
    newer = np.full(len(rows), NEVER)
    newer[there] = least[place[there]] % width
    return newer


def newest_set_polls(view: TaskCountView) -> Rows:
    """Check that every task of the newest set polls at the end, for each connector that has a set and still exists.

    Failed tasks are restarted if REST reports their failure. An unreported failure (`_unnoticed`) is excused, because
    Kafka's own workers leave such a task as it is. A set that compaction has torn (`_is_torn`) is not judged.
    """
    numbers, newest = view.numbers_of(*_COMMITS_CONNECTOR), _last_of_group(view, Kind.set_written)
    known = _last_of_group(view, Kind.connector_written) != NONE
    asked = known & (newest > _last_of_group(view, Kind.connector_tombstoned))
    half = np.flatnonzero(asked & (_last_of_group(view, Kind.task_config_written) > newest))  # few: each is looked at
    asked[half] = [not _is_torn(view, int(row)) for row in newest[half]]
    newest = newest[asked]
    polling = _polling(view)
    one, task = expanded(np.minimum(view.at("count", newest), 1 + len(polling)))
    rows = newest[one]
    pairs = [
        (view.place[rows], view.place[polling]),
        (numbers.of[rows], numbers.of[polling]),
        (task, view.at("task", polling)),
        (view.at("offset", rows), view.at("set", polling)),
    ]
    wanted, there = np.split(joined(*(np.concatenate(pair) for pair in pairs)), [len(rows)])
    missing = np.flatnonzero(~contained(wanted, there))
    bad = np.zeros(len(newest), bool)
    bad[[one[m] for m in missing if not _unnoticed(view, int(numbers.of[rows[m]]), int(task[m]))]] = True
    return found(newest, bad, np.full(len(newest), NEVER))


def _is_torn(view: TaskCountView, newest: int) -> bool:
    """Return whether a worker began to read after compaction had left, for a task of the set, only a configuration that
    stands after the set's commit record and waits for a commit record of its own, which never came.

    That worker takes the connector for inconsistent (KafkaConfigBackingStore.processTasksCommitRecord) and assigns none
    of its tasks if it leads, while the Connector, on a worker that has read more, has no change to publish. Which
    worker leads then is not examined.
    """
    numbers = view.numbers_of(*_COMMITS_CONNECTOR)
    half = view.applying(_COMMITS_CONNECTOR, Kind.task_config_written)
    half = half[(half > newest) & (numbers.of[half] == numbers.of[newest])]
    for kind in (Kind.compacted, Kind.worker_started):
        rows = view.rows_of(kind)
        rows = rows[view.place[rows] == view.place[newest]]
        half = rows[rows > half[0]] if len(half) else half
    return len(half) > 0


def _unnoticed(view: TaskCountView, connector: int, task: int) -> bool:
    """Return whether a task failed on a worker that had left the group after another worker ran the task and has
    stopped it by then or since, or is gone itself.

    A worker that fell out of the group does not overwrite with FAILED what another one wrote in a later generation,
    whatever has become of that one (KafkaStatusBackingStore.putSafe). If the other worker has no such task when the
    first one is back in the group, the first one still has the task, as one that it need not start
    (WorkerCoordinator.metadata, DistributedHerder.startWork).
    """
    kinds = (Kind.task_starting, Kind.task_running, Kind.task_failed, Kind.task_stopped)
    mine = view.applying(("connector", "task"), *kinds)
    mine = mine[(view.numbers_of(*_COMMITS_CONNECTOR).of[mine] == connector) & (view.columns["task"][mine] == task)]
    kind, node, instance = (view.columns[name][mine] for name in ("kind", "node", "instance"))
    failed, began = np.flatnonzero(kind == Kind.task_failed), np.flatnonzero(kind == Kind.task_running)
    if not len(failed) or not len(began) or node[began[-1]] == node[failed[-1]]:
        return False
    stopped = view.rows_of(Kind.worker_stopped)
    stopped = stopped[view.place[stopped] == view.place[mine[0]]]
    fails, other = failed[-1], instance == instance[began[-1]]
    ends = stopped[view.columns["node"][stopped] == node[began[-1]]]
    ends = np.concatenate([mine[other & (kind == Kind.task_stopped)], ends[ends > mine[began[-1]]]])
    stays = not np.any(view.columns["node"][stopped[stopped > mine[fails]]] == node[fails])
    reported = bool(np.any(other & (kind == Kind.task_failed)))
    older = mine[(instance == instance[fails]) & (kind == Kind.task_starting)]
    if not stays or reported or not len(ends) or not np.any(older < mine[began[-1]]):
        return False
    return not np.any((kind == Kind.task_starting) & (mine > ends.min()))


def _last_of_group(view: TaskCountView, *kinds: Kind) -> np.ndarray:
    rows, numbers = view.applying(_COMMITS_CONNECTOR, *kinds), view.numbers_of(*_COMMITS_CONNECTOR)
    return last_rows(numbers.of[rows], rows, numbers.size + 1)


def _polling(view: TaskCountView) -> np.ndarray:
    """Return the rows at which a task began to poll that polled until the end of its history."""
    rows = view.applying(("connector", "task"), Kind.task_running)
    over = np.full(len(rows), NEVER)
    for column, kinds in (
        ("instance", (Kind.task_failed, Kind.task_stopped)),  # what is abandoned has never polled
        ("node", (Kind.worker_stopped,)),
    ):
        numbers = view.numbers_of(column)
        over = np.minimum(over, view.timeline((column,), *kinds).after(numbers.of[rows], rows))
    polling: np.ndarray = rows[over == NEVER]
    return polling
