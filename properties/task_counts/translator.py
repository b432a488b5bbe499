"""This module translates events of Connect clusters to steps of the core of each connector, in driven runs and in
histories, and runs of the model to events.

The core describes one connector, and of the workers only which one leads, which has claimed the config topic and which
is gone. The translated events are therefore sets, counts, rounds, starts and who can commit, without what a worker has
read and without the group, which the history properties judge. The full models refine the cores.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from fencepost.model.language import when
from fencepost.model.task_counts.abstract.as_shipped import Claiming, Lingering
from fencepost.model.task_counts.abstract.core import Instance, Round, Stage, Task
from fencepost.model.task_counts.abstract.cores import ABehindCore, ACore, BCore, MCore, ShippedCore
from fencepost.model.task_counts.abstract.loose import LooseA, LooseB, LooseClaiming, LooseM, LooseShipped
from fencepost.properties.column_ops import FEW
from fencepost.properties.conformance_spec import Beyond, Followed, State
from fencepost.properties.driving import Event, Made, Message
from fencepost.properties.emitted_events import EmittedEvents, Note, Number, Remembered
from fencepost.properties.emitted_events import Row as Emitted
from fencepost.properties.event_mapping import EventMapping, Reader
from fencepost.properties.task_counts.events import BY_VARIANT, MODEL_COLUMNS, OK, SUPPORT, TASK_COUNTS
from fencepost.properties.translation import Row, Tellers

MODELS = {"shipped": LooseShipped, "A": LooseA, "M": LooseM, "B": LooseB, "shipped-claims": LooseClaiming}
ASKS = ("B", "shipped", "shipped-claims")
"""In the texts in `ASKS` the answer to a task's request is a step of the model."""
OF_ALL = frozenset({"assigned", "topic_claimed", "leadership_lost", "worker_stopped", "compacted"})
"""The kinds of event in `OF_ALL` concern every connector; so does a refused write of which it is not known of what."""
WRITES = frozenset({
    "connector_written", "connector_tombstoned", "task_config_written", "set_written", "count_written",
    "count_tombstoned",
})  # fmt: skip
ENDS = ("task_stopped", "task_failed", "task_abandoned")
RAISES = ("producer_opened", "id_fenced")
READ = frozenset({
    *OF_ALL, *WRITES, "worker_started", "round_asked", *(each.kind for table in BY_VARIANT.values() for each in table),
})  # fmt: skip

NOTHING = {**dict.fromkeys(MODEL_COLUMNS, -1), "certain": False}

NO_SET = "a round of a former leader for a connector that has no set since its deletion, which the model does not know"
DELETED = "a start or a round of a set that was deleted meets another round, and the model knows no deletions (618.38)"
COMPACTED = "a start that is behind reads what compaction left, the count of a later set, which the model does not know"
OUTSIDER = "another client writes to the config topic, which the model leaves out (618.34)"
MIXED = "workers differ in support, which the model leaves out (618.33)"
TOO_MANY = f"more than {FEW} tasks of one connector"


class Connector:
    """A `Connector` translates the events of one connector. Its sets are numbered from 1 in the order of the topic, and
    ``sets`` has the number by offset in the topic.

    A deleted connector has no set, a state that the core does not have. If the connector comes back and a round begins
    before it has a set again, an empty set is inserted before the round (``_empty``), because that is what the round
    counts. The core also does not describe a start that reads what compaction has left of the topic: `Beyond` is raised
    where such a start is possible.
    """

    def __init__(self, number: int, variant: str) -> None:
        self.number, self.asks = number, variant in ASKS
        self.kinds = frozenset(observation.kind for observation in BY_VARIANT[variant])
        self.tellers = Tellers(self, "_")
        self.sets: dict[int, int] = {}
        self.newest = 0
        self._sizes: dict[int, int] = {}  # tasks by set
        self._is_deleted = self._empty = False
        self._owner = -1  # of the topic
        self._counted = set[int]()  # sets
        self._compacted_at = self._deleted = self._gone = 0  # newest sets: when compacted, deleted, made anew since
        self._threads: dict[int, tuple[int, int]] = {}  # worker and task by instance
        self._silent = set[int]()  # instances that have not asked yet
        self._waiting = set[int]()  # that have asked, and were not answered
        self._askers: dict[int, set[int]] = {}  # who may have asked, by request
        self._rounds: dict[int, int] = {}  # by worker, the request of its latest round

    def _row(self, kind: str, **columns: int) -> Row:
        return {**NOTHING, "kind": kind, "connector": self.number, "newest": self.newest, **columns}

    def as_it_is(self, event: Any, instance: int = -1) -> Sequence[Row]:
        kind, task, count = event.kind, event.task, event.count
        if kind not in self.kinds:
            return ()
        if instance >= 0 and instance not in self._threads:
            self._threads[instance] = event.node, task
            self._silent.add(instance)
        if kind in ENDS:
            self._forget(instance)
        return ({
            "kind": kind, "connector": self.number, "worker": event.node, "task": task if task > 0 else 0,
            "instance": instance, "set": self._number(event), "newest": self.newest, "count": count if count > 0 else 0,
            "status": event.status, "error": event.error, "certain": False,
        },)  # fmt: skip

    def _number(self, event: Any) -> int:
        if self._empty and event.kind in ("round_started", "count_written"):
            return self.newest
        return self.sets.get(event.set, 0)

    def _forget(self, instance: int) -> None:
        self._threads.pop(instance, None)
        self._waiting.discard(instance)
        self._silent.discard(instance)

    def _topic_claimed(self, event: Any) -> Iterable[Row]:
        self._owner = event.node
        return self.as_it_is(event)

    def _connector_written(self, event: Any) -> Iterable[Row]:
        self._is_deleted = False
        return self.as_it_is(event)

    def _connector_tombstoned(self, event: Any) -> Iterable[Row]:
        self._is_deleted, self._deleted = True, self.newest
        return self.as_it_is(event)

    def _compacted(self, event: Any) -> Iterable[Row]:
        self._compacted_at, self._gone = self.newest, self._deleted
        return self.as_it_is(event)

    def _set_written(self, event: Any) -> Iterable[Row]:
        """Ignore a set that is written while its connector is deleted."""
        if self._is_deleted:
            return ()
        self.newest, self._empty = self.newest + 1, False
        self.sets[event.set] = self.newest
        self._sizes[self.newest] = event.count
        return self.as_it_is(event)

    def _round_started(self, event: Any) -> Iterable[Row]:
        self._rounds[event.node] = event.request
        if not event.set < 0 < self.newest or self._empty:
            return self.as_it_is(event)
        if self._owner != event.node:
            raise Beyond(NO_SET)
        self.newest, self._empty = self.newest + 1, True
        return self._row("set_written", worker=self._owner, set=self.newest, count=0), *self.as_it_is(event)

    def _round_failed(self, event: Any) -> Iterable[Row]:
        """Drop the failure of a round that a newer round of the same worker has overtaken. A round that fences nothing
        can begin and write while an older one of its worker fences; in the model the older one ends then."""
        overtaken = self._rounds.get(event.node, event.request) != event.request
        return () if overtaken else self.as_it_is(event)

    def _round_checked(self, event: Any) -> Iterable[Row]:
        self._meets_no_deletion(event)
        return self.as_it_is(event)

    def _meets_no_deletion(self, event: Any) -> None:
        if self._empty and event.status == OK and event.set >= 0:
            raise Beyond(DELETED)

    def _task_checked(self, event: Any) -> Iterable[Row]:
        """Raise `Beyond` where a worker that has read no further than this set may pass it because of a later set's
        count. A task that asks for a round reads to the end."""
        number = self._number(event)
        if event.status == OK and not self.asks and number < self._compacted_at and number not in self._counted:
            raise Beyond(COMPACTED)
        return self.as_it_is(event, event.instance)

    def _task_checked_again(self, event: Any) -> Iterable[Row]:
        """Raise `Beyond` where a worker that has read no further than this set may take it for the newest, because the
        connector was created again and compaction has removed its deletion and the sets before it."""
        self._meets_no_deletion(event)
        if event.status == OK and 0 < self._number(event) < self._gone:
            raise Beyond(COMPACTED)
        return self.as_it_is(event, event.instance)

    def _task_starting(self, event: Any) -> Iterable[Row]:
        """Start a task that its set does not have by the latest set that has it, and let it be claimed then, where the
        model has that step."""
        (row,) = self.as_it_is(event, event.instance)
        having = [number for number, size in self._sizes.items() if event.task < size]
        if "task_claimed" not in self.kinds or not having or event.task < self._sizes.get(row["set"], event.task + 1):
            return (row,)
        return {**row, "set": max(having)}, self._row("task_claimed", worker=event.node, instance=event.instance)

    def _count_written(self, event: Any) -> Iterable[Row]:
        self._counted.add(self._number(event))
        return *self.as_it_is(event), *self._found()

    def _found(self) -> Iterable[Row]:
        """Return the rows by which each waiting task may be answered from now on, if the newest set is counted."""
        return [self._row("found_counted", instance=instance) for instance in sorted(self._waiting)]

    def _worker_stopped(self, event: Any) -> Iterable[Row]:
        """Return the rows by which a process ends together with the threads of its tasks and its round."""
        gone = {instance: task for instance, (node, task) in self._threads.items() if node == event.node}
        for instance in gone:
            self._forget(instance)
        stopped = (self._row("task_stopped", worker=event.node, task=gone[k], instance=k) for k in gone)
        return *stopped, self._row("round_failed", worker=event.node)

    def _round_asked(self, event: Any) -> Iterable[Row]:
        """Note the thread of the task that asks, which is unknown if several threads have not asked yet."""
        mine = {instance for instance, whose in self._threads.items() if whose == (event.node, event.task)}
        askers = mine & self._silent or mine
        self._askers[event.request] = askers
        if self.asks:
            self._waiting |= askers
        if len(askers) == 1:
            self._silent -= askers
        return self._found()

    def _round_answered(self, event: Any) -> Iterable[Row]:
        """Return the row of the asker's answer, unless the connector's owner asked, which is no thread of a task."""
        askers = self._askers.pop(event.request, set()) & self._threads.keys()
        if len(askers) != 1:
            return ()
        (asker,) = askers
        self._waiting.discard(asker)
        return self.as_it_is(event, asker)


class Connectors:
    """`Connectors` translates the events of one cluster, of the connectors in ``followed`` or all."""

    def __init__(self, variant: str, followed: Collection[int] = ()) -> None:
        self.variant, self.followed = variant, followed
        self.connectors: dict[int, Connector] = {}
        self.beyond: dict[int, Beyond] = {}  # by connector, why it is not followed any more
        self.epochs: dict[int, list[tuple[int, int]]] = {}  # by producer id: places and epochs, in order
        self.events = 0

    def translate(self, events: Sequence[Any]) -> Iterator[tuple[int, Row]]:
        """Yield the rows of these events, of each connector up to the event from which it is not followed any more."""
        for number in sorted(self.followed or [n for n in {event.connector for event in events} if n >= 0] or [0]):
            if number not in self.connectors:
                self.connectors[number] = Connector(number, self.variant)
        connectors, beyond = self.connectors, self.beyond
        for place, event in enumerate(events, self.events):
            if event.kind in RAISES and event.error == 0:
                self.epochs.setdefault(event.producer_id, []).append((place, event.epoch))
        for place, event in enumerate(events):
            kind = event.kind
            if kind in WRITES and event.node < 0:
                raise Beyond(OUTSIDER)
            if kind == "worker_started" and event.support != SUPPORT["enabled"]:
                raise Beyond(MIXED)
            if event.task > FEW or event.count > FEW:
                raise Beyond(TOO_MANY)
            certain = kind == "transaction_refused" and self._is_fenced(event, self.events + place)
            unnamed = kind == "write_refused" and event.connector < 0
            for number in connectors if unnamed or kind in OF_ALL else (event.connector,):
                if number not in connectors or number in beyond:
                    continue
                try:
                    teller = (connector := connectors[number]).tellers[kind]
                    for row in connector.as_it_is(event, event.instance) if teller is None else teller(event):
                        yield place, {**row, "certain": True} if certain else row
                except Beyond as reason:
                    beyond[number] = reason
        self.events += len(events)
        if beyond:
            raise beyond[min(beyond)]

    def _is_fenced(self, event: Any, place: int) -> bool:
        """Return whether the producer was observed to be fenced, or could only have been fenced by what is observed.

        A fence whose answer is lost, and a transaction that took too long, raise an epoch that no client is observed to
        have been given, so the next observed epoch is then not the next one.
        """
        raised = (each for each in self.epochs.get(event.producer_id, ()) if each[1] > event.epoch)
        at, epoch = next(raised, (place, event.epoch))
        return at < place or epoch == event.epoch + 1


MAPPING = EventMapping(
    TASK_COUNTS,
    models=MODELS,
    columns=MODEL_COLUMNS,
    observations=BY_VARIANT,
    names={"instance": ENDS},
    given=lambda variant, config: {},
    translator=lambda variant, given: Connectors(variant),
    row_kinds=("found_counted", "task_claimed"),
    read=READ,
    lanes="connector",
    numbered=("set",),
)


# Of driven runs, the first connector is followed.

PLACES = 48
"""The model has `PLACES` places for threads of tasks at one time, which is more than most programs need."""
TIME_OUT_MS = 10_000
"""A transaction is not aborted for being slow before `TIME_OUT_MS` have passed (shipped: a minute)."""
NEEDED = frozenset({
    "topic_claimed", "set_written", "round_started", "id_fenced", "count_written", "task_starting", "producer_opened",
    "task_running",
})  # fmt: skip
"""An implementation has to emit these kinds of event to be followed."""
OUTSIDE = {"write_foreign": "another client writes to the config topic", "set_support": "workers differ in support"}


class ClusterReader(Reader):
    """A `ClusterReader` reads one driven cluster, whose driver knows which ids may have been fenced unobserved."""

    def __init__(self, variant: str, sizes: Mapping[str, int]) -> None:
        super().__init__(MAPPING, NEEDED, sizes, variant)
        self.translator = Connectors(variant, followed=(0,))
        self.doubtful = set[int]()  # tasks whose ids may have been fenced
        self.open = set[int]()  # instances with a transaction under way
        self.late = set[int]()  # those of which it may have timed out

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        call = made.call
        if call.name in OUTSIDE:
            raise Beyond(OUTSIDE[call.name])
        if call.name == "finish" or (call.name == "advance" and call.get("ms") >= TIME_OUT_MS):
            self.late |= self.open
        if made.message is not None and call.get("outcome") == "lost" and call.kind in ("fence", "open_producer"):
            task = made.message[4]
            self.doubtful.update([task] if task >= 0 else range(PLACES))

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        row, kind, instance = super().row_of_event(event, states), event["kind"], event.get("instance", -1)
        row["certain"] = row["task"] not in self.doubtful and instance not in self.late
        (self.open.add if kind == "records_sent" else self.open.discard)(instance)
        if kind == "producer_opened":
            self.doubtful.discard(row["task"])
        return row


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    return _followed(variant, config["workers"], max(3, config["max_tasks"]))


@lru_cache(maxsize=256)
def _followed(variant: str, workers: int, tasks: int) -> Followed:
    followed = MAPPING.followed(variant, (("workers", workers), ("instances", PLACES), ("tasks", tasks)))
    return replace(followed, interpreter=partial(ClusterReader, variant, followed.bounds))


# These rows of a history stand for the steps of the cores of one connector.
#
# Every instance is on a worker of its own. Events that are no step of a core, and may happen at any time, are emitted
# where they matter: when a task begins to poll, every instance that can commit then does so.

CONFLICT, FENCED = 409, 47
LEADERS_ID = 0
"""`LEADERS_ID` is the leaders' producer id, and each task's producer id is one more than its number."""

_offset = {"connector": 0, "offset": Number("offset")}
_last = Remembered("offset", at=0)
_claim = {"producer_id": LEADERS_ID, "epoch": Remembered("claim", at="w")}


def _set(of):
    return Remembered("set", at=of)


def _newest(s, p):
    return s.generation


_round = {"node": "w", "connector": 0, "request": Remembered("request", at="w")}
_fencing = _set(lambda s, p: s.fencing[p.w])


def _task(k):
    return {
        "node": k, "connector": 0, "task": lambda s, p: s.task[getattr(p, k)], "instance": Remembered("instance", at=k),
        "set": _set(lambda s, p: s.of[getattr(p, k)]), "producer_id": lambda s, p: s.task[getattr(p, k)] + 1,
        "epoch": Remembered("own", at=k),
    }  # fmt: skip


_mine = _task("k")


def _started(of):
    """Return the notes and the event of a round for a set, whose ids to fence begin with 0."""
    return [
        Note("ids", at="w", value=0),
        Note("ids", at="w", value=lambda s, p: p.i + 1, each={"i": Task}, when=lambda s, p, t: t.left[p.w, p.i]),
        Emitted("round_started", node="w", connector=0, request=Number("request", at="w"), set=_set(of),
            count=Remembered("ids", at="w")),
    ]  # fmt: skip


def _runs(s, p, t):
    return t.stage[p.k] == Stage.RUNNING


def _may_commit(s, p, t):
    return _runs(s, p, t) & t.can_commit(p.j)


def _passed(s, p, t):
    return when(_runs(s, p, t), OK, CONFLICT)


def _committing(kind):
    """Emit an event for each instance that can commit after the step, which changes only the one that begins."""
    return Emitted(kind, each={"j": Instance}, when=_may_commit, **_task("j"))


CORE = {
    "elect": [
        Emitted("assigned", node="w", count=1),
        Emitted("topic_claimed", node="w", producer_id=LEADERS_ID, epoch=Number("epoch")),
        Note("claim", at="w", value=Remembered("epoch", at=0)),
    ],
    "depose": [
        Emitted("round_failed", when=lambda s, p: s.round[p.w] != Round.NONE, **_round, set=_fencing),
        Emitted("leadership_lost", node="w", **_claim, error=FENCED),
    ],
    "reconfigure": [
        Emitted("task_config_written", each={"i": Task}, when=lambda s, p: p.i < p.n, node="w", **_offset, task="i",
            **_claim),
        Emitted("set_written", node="w", **_offset, set=_last, count="n", **_claim),
        Note("set", at="g", value=_last),
    ],
    "start_round": _started(_newest),
    "start_round_behind": _started(lambda s, p: s.old),
    "fence": [
        Emitted("id_fenced", **_round, set=_fencing, task="i", producer_id=lambda s, p: p.i + 1, epoch=Number("epoch")),
    ],
    "check_round": [
        Emitted("round_checked", **_round, set=_fencing,
            status=lambda s, p, t: when(t.round[p.w] == Round.CHECKED, OK, CONFLICT)),
    ],
    "write_count": [
        Emitted("count_written", node="w", **_offset, set=_set(_newest), count=lambda s, p, t: t.count, **_claim),
        Note("covered", at=_newest, value=_last),
    ],
    "write_refused": [Emitted("write_refused", node="w", connector=0, error=FENCED)],
    "fail_round": [Emitted("round_failed", **_round, set=_fencing)],
    "assign": [
        Emitted("task_starting", node="k", connector=0, task="i", instance=Number("instance", at="k"), set=_set("g")),
    ],
    "open_producer": [
        Note("own", at="k", value=Number("epoch")),
        Emitted("producer_opened", **_mine),
    ],
    "check_after": [
        Emitted("task_checked_again", **_mine, status=_passed),
        Emitted("task_running", when=_runs, **_mine),
        Emitted("task_abandoned", when=lambda s, p, t: ~_runs(s, p, t), **_mine),
        _committing("records_sent"),
        _committing("transaction_committed"),
    ],
    "stop": [Emitted("task_stopped", **_mine)],
}  # fmt: skip
ASKING = {
    **CORE,
    "answer": [
        Emitted("round_asked", node="k", connector=0, task=_mine["task"], request=Number("request", at="k")),
        Emitted(
            "round_answered",
            node="k",
            connector=0,
            task=_mine["task"],
            request=Remembered("request", at="k"),
            status=OK,
        ),
    ],
    "check_before": [Emitted("task_checked", **_mine, status=OK)],
}
OWN_VIEW = {
    **CORE,
    "check_before": [
        Emitted("topic_read", node="k", offset=Remembered("covered", at=lambda s, p: s.of[p.k], plus=1)),
        Emitted("task_checked", **_mine, status=OK),
    ],
}


def _emitting(mode, rows):
    return EmittedEvents(mode, rows, never=("fence_late",), config=lambda bounds: {})


EMITTED = {
    Lingering: "when a round is over, and still answers, is in no history of a model's steps",
    Claiming: "which tasks a worker claims is in no history",
    ABehindCore: _emitting("A", OWN_VIEW),
    ACore: _emitting("A", OWN_VIEW),
    MCore: _emitting("M", OWN_VIEW),
    BCore: _emitting("B", ASKING),
    ShippedCore: _emitting("shipped", ASKING),
}
