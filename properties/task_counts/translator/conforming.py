"""From histories of Connect to steps of the model, in columns.

One connector of one history, laid out: each event of it, with what the model calls the things that it speaks of.

A lane is what the core is a model of: one connector, and of the workers who leads, who has claimed the config topic and
who is gone.  `found_counted` stands between the events: whoever waits for a round may be answered from then on.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from fencepost.properties.column_ops import FEW, one_of, renumbered
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.task_counts.events import (
    BY_VARIANT,
    COMPACTED,
    DELETED,
    MODEL_COLUMNS,
    NO_SET,
    OK,
    SUPPORT,
    TASK_COUNTS,
    Compacted,
    Kind,
)
from fencepost.properties.task_counts.translator.driven import MODELS
from fencepost.properties.trace_spec import Conforming, Laid, LaidOut, Settings

FOUND_COUNTED = max(Kind) + 1
"""The code of what stands between events."""
OF_ALL = frozenset({Kind.assigned, Kind.topic_claimed, Kind.leadership_lost, Kind.worker_stopped, Kind.compacted})
"""What happens in the lane of every connector."""
LOOKS = (Kind.task_checked_again, Kind.round_checked)
ENDS = frozenset({Kind.task_stopped, Kind.task_failed, Kind.task_abandoned})
WRITES = frozenset(kind for kind in Kind if Kind.connector_written <= kind <= Kind.count_tombstoned)

OUTSIDER = "somebody else writes to the config topic, which the model leaves out (618.34)"
MIXED = "workers differ in support, which the model leaves out (618.33)"

Events = Mapping[str, Sequence[int]]
"""The columns of a piece, as lists."""


class Instance(NamedTuple):
    """A task's thread: its place in the model, and whose it is."""

    place: int
    node: int
    task: int


Put = tuple[int, int, int, int, int, int, int]
"""An event of a lane: row, kind, worker, task, set, newest and instance."""


class Lane:
    """``events`` grows event by event: each a `Put`.

    ``asks``: in this text the answer to a task's request is a step of the model; ``known``: kinds that mean something
    to it.  ``reason``: why nothing more is laid out, if it is not.

    A connector that was deleted has no set, which the core does not know.  If it comes back, and a round is begun
    before it has a set again, one of no tasks is laid out for it: that is what the round counts.
    """

    def __init__(self, connector: int, *, asks: bool, known: frozenset[int]) -> None:
        self.connector = connector
        self.events: list[Put] = []
        self.reason = ""
        self.places = 0  # so many have been in use at one time
        self.sets: dict[int, int] = {}  # numbers by place in the topic
        self.newest = 0
        self._compacted = Compacted()
        self._deleted = False
        self._empty = False  # the newest is one of no tasks, of a connector that was deleted
        self._owner = -1  # of the topic
        self._asks, self._known = asks, known
        self._free: list[int] = []
        self._instances: dict[int, Instance] = {}
        self._silent: set[int] = set()  # instances that have not asked yet
        self._waiting: set[int] = set()  # that have asked, and were not answered
        self._askers: dict[int, set[int]] = {}  # who may have asked, by request

    def take(self, e: Events, row: int) -> None:
        """One more event of the connector, or of all."""
        kind = e["kind"][row]
        if self.reason:
            return
        if kind not in _STEERING:
            self._add(e, row, kind, e["instance"][row])
            return
        if kind == Kind.set_written and self._deleted:
            return  # nobody takes note of a set of a connector that is deleted
        if kind == Kind.worker_stopped:
            self._stop(row, e["node"][row])
        elif kind == Kind.round_asked:
            self._ask(e["node"][row], e["task"][row], e["request"][row])
        elif kind == Kind.round_answered:
            self._answer(e, row)
        else:
            self._note(e, row, kind)
            if not self.reason:
                self._add(e, row, kind, e["instance"][row])
        if kind in (Kind.round_asked, Kind.count_written):
            for instance in sorted(self._waiting):
                self._put(row, FOUND_COUNTED, -1, 0, 0, self._instances[instance].place)

    def _note(self, e: Events, row: int, kind: int) -> None:
        """What numbers of sets depend on."""
        if kind == Kind.topic_claimed:
            self._owner = e["node"][row]
        elif kind in (Kind.connector_written, Kind.connector_tombstoned):
            self._deleted = kind == Kind.connector_tombstoned
            if self._deleted:
                self._compacted.delete(self.newest)
        elif kind == Kind.set_written:
            self.newest, self._empty = self.newest + 1, False
            self.sets[e["set"][row]] = self.newest
        elif kind == Kind.round_started and e["set"][row] < 0 < self.newest and not self._empty:
            if self._owner != e["node"][row]:
                self.reason = NO_SET
                return
            self.newest, self._empty = self.newest + 1, True
            self._put(row, Kind.set_written, self._owner, 0, self.newest, -1)
        elif kind in LOOKS and self._empty and e["status"][row] == OK and e["set"][row] >= 0:
            self.reason = DELETED
        elif kind == Kind.task_checked_again and e["status"][row] == OK:
            self.reason = COMPACTED if self._compacted.hides_deletion(self._number(kind, e["set"][row])) else ""
        elif kind == Kind.compacted:
            self._compacted.at(self.newest)
        elif kind == Kind.count_written:
            self._compacted.count(self._number(kind, e["set"][row]))
        elif kind == Kind.task_checked and e["status"][row] == OK and not self._asks:  # who asks reads to the end
            self.reason = COMPACTED if self._compacted.hides(self._number(kind, e["set"][row])) else ""

    def _number(self, kind: int, place: int) -> int:
        if self._empty and kind in (Kind.round_started, Kind.count_written):
            return self.newest
        return self.sets.get(place, 0)

    def _add(self, e: Events, row: int, kind: int, instance: int) -> None:
        if kind in self._known or kind not in _CODES:
            place = self._place(e, row, instance) if instance >= 0 else -1
            self._put(row, kind, e["node"][row], max(0, e["task"][row]), self._number(kind, e["set"][row]), place)
        if kind in ENDS and instance in self._instances:
            self._forget(instance)

    def _put(self, row: int, kind: int, worker: int, task: int, number: int, place: int) -> None:
        self.events.append((row, kind, worker, task, number, self.newest, place))

    def _stop(self, row: int, node: int) -> None:
        """A process is gone, with the threads of its tasks, and its round."""
        for instance, found in [(i, f) for i, f in self._instances.items() if f.node == node]:
            self._put(row, Kind.task_stopped, node, found.task, 0, found.place)
            self._forget(instance)
        self._put(row, Kind.round_failed, node, 0, 0, -1)

    def _ask(self, node: int, task: int, request: int) -> None:
        """A thread of the task on that worker asks: which, is not said where several have not asked yet."""
        mine = {i for i, found in self._instances.items() if (found.node, found.task) == (node, task)}
        askers = mine & self._silent or mine
        self._askers[request] = askers
        if self._asks:
            self._waiting |= askers
        if len(askers) == 1:
            self._silent -= askers

    def _answer(self, e: Events, row: int) -> None:
        """The asker takes its answer; the connector's owner may be one who is no thread of a task."""
        askers = self._askers.pop(e["request"][row], set()) & self._instances.keys()
        if len(askers) == 1:
            (asker,) = askers
            self._add(e, row, Kind.round_answered, asker)
            self._waiting.discard(asker)

    def _place(self, e: Events, row: int, instance: int) -> int:
        if instance not in self._instances:
            if not self._free:
                self._free, self.places = [self.places], self.places + 1
            self._instances[instance] = Instance(heappop(self._free), e["node"][row], e["task"][row])
            self._silent.add(instance)
        return self._instances[instance].place

    def _forget(self, instance: int) -> None:
        heappush(self._free, self._instances.pop(instance).place)
        self._waiting.discard(instance)
        self._silent.discard(instance)


def lanes_of(e: Events, begin: int, end: int, *, asks: bool, known: frozenset[int]) -> tuple[list[Lane], str]:
    """The lanes of the history in these rows, and why it cannot be followed to its end, or nothing."""
    connectors = sorted({connector for connector in e["connector"][begin:end] if connector >= 0})
    lanes = {c: Lane(c, asks=asks, known=known) for c in connectors or [0]}
    for row in range(begin, end):
        kind, connector = e["kind"][row], e["connector"][row]
        if kind in WRITES and e["node"][row] < 0:
            return list(lanes.values()), OUTSIDER
        if kind == Kind.worker_started and e["support"][row] != SUPPORT["enabled"]:
            return list(lanes.values()), MIXED
        if kind in OF_ALL or kind not in _CODES:
            for lane in lanes.values():
                lane.take(e, row)
        elif connector >= 0:
            lanes[connector].take(e, row)
    return list(lanes.values()), next((lane.reason for lane in lanes.values() if lane.reason), "")


_CODES = frozenset(int(kind) for kind in Kind)
_STEERING = frozenset({
    Kind.worker_stopped, Kind.round_asked, Kind.round_answered, Kind.count_written, Kind.topic_claimed,
    Kind.connector_written, Kind.connector_tombstoned, Kind.set_written, Kind.round_started, Kind.task_checked_again,
    Kind.round_checked, Kind.compacted, Kind.task_checked,
})  # fmt: skip
"""Kinds that say something of sets or of rounds; of all others a lane only takes down what they say."""
_RAISES = (Kind.producer_opened, Kind.id_fenced)
RAISED = (*_RAISES, Kind.transaction_refused)
"""What tells of the epochs of producers."""


def certain(e: Events, rows: Sequence[int]) -> Iterator[int]:
    """Of the rows of one history that are of the kinds in `RAISED`, those at which a producer is refused that was
    seen to be fenced, or could only have been fenced by one that is seen.

    A fence whose answer is lost, and a transaction that took too long, raise an epoch that nobody is seen to have been
    given: the next one seen then is not the next one.
    """
    seen: dict[int, list[tuple[int, int]]] = {}  # by producer id: rows and epochs, in order
    for row in rows:
        if e["kind"][row] in _RAISES and e["error"][row] == 0:
            seen.setdefault(e["producer_id"][row], []).append((row, e["epoch"][row]))
    for row in rows:
        if e["kind"][row] == Kind.transaction_refused:
            epoch = e["epoch"][row]
            later = next((raised for raised in seen.get(e["producer_id"][row], []) if raised[1] > epoch), None)
            if later is not None and (later[0] < row or later[1] == epoch + 1):
                yield row


# Histories of source connectors, held against the core of their text: one lane for each connector (`lanes.py`).
#
# The full models refine the cores, and agreement follows the same: sets, counts, rounds, starts and who can commit,
# without what a worker has read and without the group, of which the history properties tell.

READ = (
    "history", "kind", "node", "connector", "task", "instance", "set", "producer_id", "epoch", "request", "support",
    "status", "error",
)  # fmt: skip
PUT = ("row", "kind", "worker", "task", "set", "newest", "instance")
ASKING = ("B", "shipped")
CLASSES = (4, 8, 16, 64, 256)
"""Lanes are held against the model together with those of the same class: threads of tasks at one time, at most."""
TOO_MANY = f"more than {CLASSES[-1]} threads, or {FEW} tasks, of one connector at one time"


def variant_of(manifest: Manifest) -> str:
    """The text that the config names.  Raises `HistoryError`."""
    mode = str(manifest.config.get("mode", "shipped"))
    if mode not in MODELS:
        raise HistoryError(f"no model for mode {mode!r}")
    return mode


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """None are needed."""
    return ()


@lru_cache
def _known(variant: str) -> frozenset[int]:
    """Codes of the kinds that mean something to the model."""
    observed = {observation.kind for observation in BY_VARIANT[variant]}
    return frozenset(int(kind) for kind in Kind if kind.name in observed)


def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    """The rows of a piece (whole histories, sorted), lane by lane."""
    events: Events = {name: columns[name].tolist() for name in READ}
    starts = starts_of(columns["history"]).tolist()
    fenced = np.zeros(len(columns["kind"]), bool)
    undecided, by_class = dict[int, str](), dict[int, list[Lane]]()
    raised = np.flatnonzero(one_of(columns["kind"], RAISED))
    many = set(columns["history"][np.maximum(columns["task"], columns["count"]) > FEW].tolist())
    for begin, end in pairwise([*starts, len(events["kind"])]):
        lanes, reason = lanes_of(events, begin, end, asks=variant in ASKING, known=_known(variant))
        if events["history"][begin] in many:
            lanes, reason = [], TOO_MANY
        of_producers = raised[slice(*np.searchsorted(raised, (begin, end)))].tolist()
        fenced[list(certain(events, of_producers))] = True
        for lane in lanes:
            size = next((c for c in CLASSES if lane.places <= c), 0)
            reason = reason or ("" if size else TOO_MANY)
            if size and lane.events:
                by_class.setdefault(size, []).append(lane)
        if reason:
            undecided[events["history"][begin]] = reason
    return LaidOut(tuple(_part(columns, fenced, size, lanes) for size, lanes in sorted(by_class.items())), undecided)


def _part(columns: Mapping[str, np.ndarray], fenced: np.ndarray, size: int, lanes: list[Lane]) -> Laid:
    """``fenced``: rows of refused transactions whose producer was fenced in an event that is shown, if at all."""
    lane = np.repeat(np.arange(len(lanes)), [len(one.events) for one in lanes])
    flat = chain.from_iterable(chain.from_iterable(one.events for one in lanes))
    table = np.fromiter(flat, np.int64, len(lane) * len(PUT)).reshape(-1, len(PUT)).T
    values = dict(zip(PUT, table, strict=True))
    values["worker"] = renumbered(values["worker"])
    rows, kinds = values.pop("row"), values.pop("kind")
    own = kinds == columns["kind"][rows]  # what stands between events says nothing else
    said = {name: np.where(own, columns[name][rows], 0) for name in ("count", "status", "error")}
    values |= said | {"count": np.maximum(said["count"], 0), "certain": own & fenced[rows]}
    most = max(int(values["task"].max(initial=0)) + 1, int(values["count"].max(initial=0)))
    sizes = {"instances": size, "tasks": most, "generations": max(one.newest for one in lanes) + 1}
    sizes["workers"] = int(values["worker"].max(initial=0)) + 1
    return Laid(rows, lane, kinds, values, sizes, {}, lambda number: _told(lanes[number]))


def _told(lane: Lane) -> str:
    sets = ", ".join(f"{number} is set {place}" for place, number in sorted(lane.sets.items()))
    return f"in the model of connector {lane.connector}: {sets or 'no set yet'}"


CONFORMING = Conforming(
    TASK_COUNTS, MODELS, MODEL_COLUMNS, BY_VARIANT, variant_of, settings_of, lay_out, {"found_counted": FOUND_COUNTED}
)
