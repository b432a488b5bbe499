"""Kernels about producers of tasks: who may commit, which counts cover them, and whose transactional ids they are."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import (
    NEVER,
    NONE,
    contained,
    joined,
    last_rows,
)
from fencepost.properties.history.timelines import LeastOf, expanded
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import TaskCountView

_CONNECTOR, _PRODUCER = ("connector",), ("producer_id",)


def producers_covered(view: TaskCountView) -> Rows:
    """Transactions committed, against every count that stood since a newer set came."""
    rows, numbers = view.applying(("connector", "task"), Kind.transaction_committed), view.numbers_of(*_CONNECTOR)
    newer = _first_newer(view, rows)
    rows, newer = rows[newer < rows], newer[newer < rows]
    counts, number, task = view.counts, numbers.of[rows], view.columns["task"][rows]
    first, last = counts.place_before(number, newer), counts.place_before(number, rows)
    bad = first == NONE
    least = LeastOf(view.counted(counts.rows))
    bad[~bad] = least.of(first[~bad], last[~bad]) <= task[~bad]
    return found(rows, bad, newer)


def _first_newer(view: TaskCountView, rows: np.ndarray) -> np.ndarray:
    """For rows with a connector and a set: the first row at which a newer set was written; NEVER if none was."""
    sets, numbers = view.applying(_CONNECTOR, Kind.set_written), view.numbers_of(*_CONNECTOR)
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
    """The newest set of each connector that has one at the end, and was not deleted since, against who polls there.

    Failed tasks are restarted, of those whose failure REST shows.  One it does not (`_unnoticed`): Kafka's own workers
    leave such a task where it is.  Nor is a set asked for that compaction has torn (`_is_torn`).
    """
    numbers, newest = view.numbers_of(*_CONNECTOR), _last_of_group(view, Kind.set_written)
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
    """Has a worker begun to read after compaction had left, of a task of the set, only a configuration that stands
    behind the set and waits for one of its own, which never came?

    That worker takes the connector for inconsistent (KafkaConfigBackingStore.processTasksCommitRecord), and assigns
    none of its tasks if it leads, while the Connector, on a worker that has read more, has no change to publish.
    Which worker leads then is not looked at.
    """
    numbers = view.numbers_of(*_CONNECTOR)
    half = view.applying(_CONNECTOR, Kind.task_config_written)
    half = half[(half > newest) & (numbers.of[half] == numbers.of[newest])]
    for kind in (Kind.compacted, Kind.worker_started):
        rows = view.rows_of(kind)
        rows = rows[view.place[rows] == view.place[newest]]
        half = rows[rows > half[0]] if len(half) else half
    return len(half) > 0


def _unnoticed(view: TaskCountView, connector: int, task: int) -> bool:
    """Did a task fail on a worker that others took for gone, after another one ran it, which has stopped it by then or
    since, or is gone itself?

    A worker that fell out of the group writes no FAILED over what another one wrote in a later generation, whatever has
    become of that one (KafkaStatusBackingStore.putSafe).  If the other one has no such task when the first is back and
    is heard, that one still has it, as one that it need not start (WorkerCoordinator.metadata,
    DistributedHerder.startWork).
    """
    kinds = (Kind.task_starting, Kind.task_running, Kind.task_failed, Kind.task_stopped)
    mine = view.applying(("connector", "task"), *kinds)
    mine = mine[(view.numbers_of(*_CONNECTOR).of[mine] == connector) & (view.columns["task"][mine] == task)]
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
    told = bool(np.any(other & (kind == Kind.task_failed)))
    older = mine[(instance == instance[fails]) & (kind == Kind.task_starting)]
    if not stays or told or not len(ends) or not np.any(older < mine[began[-1]]):
        return False
    return not np.any((kind == Kind.task_starting) & (mine > ends.min()))


def _last_of_group(view: TaskCountView, *kinds: Kind) -> np.ndarray:
    """By connector: its last row of these kinds; NONE if it has none."""
    rows, numbers = view.applying(_CONNECTOR, *kinds), view.numbers_of(*_CONNECTOR)
    return last_rows(numbers.of[rows], rows, numbers.size + 1)


def _polling(view: TaskCountView) -> np.ndarray:
    """Rows at which a task began to poll that went on to the end."""
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
