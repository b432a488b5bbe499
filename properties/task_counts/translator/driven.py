"""From calls and events of a driven Connect cluster to steps of the model.

What each call on the plug lets happen, seen or unseen.

A driver decides every operation, so that what is not shown can only have happened in the call that let it happen.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.specs import without_limits
from fencepost.model.language.tree.types import unlimited
from fencepost.model.task_counts.abstract.loose import LooseA, LooseB, LooseM, LooseShipped
from fencepost.properties.conformance_spec import UNKNOWN, Allowed, Beyond, Followed, PlainInterpreter, State, Take
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.task_counts.events import BY_VARIANT, DELETED, MODEL_COLUMNS, NO_SET, OK, Compacted
from fencepost.properties.task_counts.interface import OPERATIONS

NOTHING = Allowed()
CALLS = {
    **{f"step {operation}": NOTHING for operation in OPERATIONS},
    **dict.fromkeys(
        ("configure", "delete", "stop_connector", "restart_connector", "restart_task", "stall", "resume", "crash",
         "restart_worker", "expire", "set_support", "write_foreign", "compact", "advance", "run", "work", "get_on",
         "finish", "do", "set_fencing"),
        NOTHING,
    ),
}  # fmt: skip


# How the calls and events of one cluster are read as rows of the core of its first connector.
#
# The core is of one connector, so that what happens to others passes by.  Places for threads of tasks are used again
# when a thread has ended.

CONNECTOR = 0
PLACES = 48
"""For threads of tasks at one time: more than most programs need."""
TIME_OUT_MS = 10_000
"""A transaction is not aborted for being slow before so much time has passed (shipped: a minute)."""
NEEDED = frozenset({
    "topic_claimed", "set_written", "round_started", "id_fenced", "count_written", "task_starting", "producer_opened",
    "task_running",
})  # fmt: skip
"""What an implementation has to show to be followed."""
ENDS = frozenset({"task_stopped", "task_failed", "task_abandoned"})
OF_ALL = frozenset({"assigned", "topic_claimed", "leadership_lost", "worker_stopped"})
LOOKS = ("task_checked_again", "round_checked")
OUTSIDE = {"write_foreign": "somebody else writes to the config topic", "set_support": "workers differ in support"}


class TaskCountsInterpreter(PlainInterpreter):
    """Reads one cluster.  ``asks``: in this text the answer to a task's request is a step of the model.

    A connector that was deleted has no set, which the core does not know.  If it comes back, and a round is begun
    before it has a set again, one of no tasks is read before it (``empty``): that is what the round counts.
    """

    columns = MODEL_COLUMNS

    def __init__(self, asks: bool) -> None:
        self.asks = asks
        self.places: dict[int, int] = {}  # of instances
        self.nodes: dict[int, int] = {}  # of instances
        self.tasks: dict[int, int] = {}
        self.sets: dict[int, int] = {}  # by place in the topic
        self.owner, self.empty = -1, False  # of the topic; is the newest set one of a connector that was deleted?
        self.compacted = Compacted()
        self.waiting: set[int] = set()  # instances that have asked and were not answered
        self.ended: list[int] = []
        self.doubtful: set[int] = set()  # tasks whose ids may have been fenced
        self.open: set[int] = set()  # instances with a transaction under way
        self.late: set[int] = set()  # those of which it may have timed out

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Take note of what a call does by itself."""
        if made.call.name in OUTSIDE:
            raise Beyond(OUTSIDE[made.call.name])
        call = made.call
        if call.name == "finish" or (call.name == "advance" and call.get("ms") >= TIME_OUT_MS):
            self.late |= self.open
        if made.message is not None and call.get("outcome") == "lost" and call.kind in ("fence", "open_producer"):
            task = made.message[4]
            self.doubtful.update([task] if task >= 0 else range(PLACES))

    def said(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """What was shown, each with what it says."""
        if absent := sorted(NEEDED - observed):
            raise Beyond(f"it does not show {', '.join(absent)}")
        for event in made.events:
            kind = read(event, "kind")
            if kind == "compacted":
                self.compacted.at(len(self.sets))
            if read(event, "connector", -1) != CONNECTOR and kind not in OF_ALL:
                continue
            if kind == "worker_stopped":
                yield from ((event, stopped) for stopped in self._gone(read(event, "node")))
                continue
            if kind == "topic_claimed":
                self.owner = read(event, "node")
            elif kind == "set_written":
                self.empty = False
            elif kind == "round_started" and read(event, "set", -1) < 0 and self.sets and not self.empty:
                if self.owner != read(event, "node"):
                    raise Beyond(NO_SET)
                self.empty = True
                place = -2 - len(self.sets)  # no place in the topic
                yield event, {"kind": "set_written", "node": self.owner, "set": place, "count": 0}
            elif kind in LOOKS and self.empty and read(event, "status", -1) == OK and read(event, "set", -1) >= 0:
                raise Beyond(DELETED)
            elif kind == "count_written":
                self.compacted.count(self.sets.get(read(event, "set", -1), 0))
            elif kind == "task_checked" and read(event, "status", -1) == OK and not self.asks:
                self.compacted.require(self.sets.get(read(event, "set", -1), 0))
            if kind == "round_asked":
                self._asks(event)
            elif kind == "round_answered" and self._instance(event) < 0:
                continue  # the connector's owner asked
            elif kind not in IGNORED:
                yield event, event
            if kind in ("round_asked", "count_written"):
                yield from ((event, found) for found in self._found())

    def _gone(self, node: int) -> Iterator[Event]:
        """A process, with the threads of its tasks, and its round."""
        for instance in [i for i, n in self.nodes.items() if n == node and i in self.places]:
            yield {"kind": "task_stopped", "instance": instance, "task": self.tasks[instance], "node": node}
        yield {"kind": "round_failed", "node": node}

    def _asks(self, event: Event) -> None:
        instance = self._instance(event)
        if self.asks and instance >= 0:
            self.waiting.add(instance)

    def _instance(self, event: Event) -> int:
        """The newest thread of the task on that worker; -1 if there is none."""
        mine = (read(event, "node"), read(event, "task", -1))
        return max((i for i in self.places if (self.nodes[i], self.tasks[i]) == mine), default=-1)

    def _found(self) -> Iterator[Event]:
        """Whoever waits may be answered, if the latest set is counted."""
        for instance in sorted(self.waiting & set(self.places)):
            yield {"kind": "found_counted", "instance": instance}

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        """What an event says."""
        kind = read(event, "kind")
        row: dict[str, Any] = dict.fromkeys(MODEL_COLUMNS, UNKNOWN)
        for column, name in (("worker", "node"), ("task", "task"), ("count", "count"), ("status", "status")):
            value = read(event, name, -1)
            row[column] = value if value >= 0 else UNKNOWN
        row["error"] = read(event, "error", 0)
        row["set"] = self._number(kind, read(event, "set", -1))
        row["newest"] = len(self.sets)
        instance = read(event, "instance", -1)
        if kind == "round_answered":
            instance = self._instance(event)
            self.waiting.discard(instance)
        if instance >= 0:
            row["instance"] = self._place(instance, event)
            row["certain"] = self.tasks[instance] not in self.doubtful and instance not in self.late
            (self.open.add if kind == "records_sent" else self.open.discard)(instance)
        if kind in ENDS and instance in self.places:
            self.ended.append(instance)
        if kind == "producer_opened":
            self.doubtful.discard(self.tasks[instance])
        return row

    def _number(self, kind: str, place: int) -> Any:
        if kind == "set_written":
            self.sets.setdefault(place, len(self.sets) + 1)
        if self.empty and kind in ("round_started", "count_written"):
            return len(self.sets)
        return self.sets.get(place, 0 if place >= 0 else UNKNOWN)

    def _place(self, instance: int, event: Event) -> int:
        if instance not in self.places:
            used = set(self.places.values())
            free = next((p for p in range(PLACES) if p not in used), None)
            if free is None:
                raise Beyond(f"more than {PLACES} threads of tasks at one time")
            self.places[instance] = free
            self.nodes[instance], self.tasks[instance] = read(event, "node", -1), read(event, "task", -1)
        return self.places[instance]

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """Places of threads that have ended are free."""
        for instance in self.ended:
            self.places.pop(instance, None)
            self.waiting.discard(instance)
        self.ended = []
        return states, []


IGNORED = frozenset({
    "asked", "connector_written", "connector_tombstoned", "task_config_written", "task_assigned", "task_revoked",
    "task_left_running", "count_tombstoned", "claim_failed",
})  # fmt: skip


# The core of one connector, as it is followed through a cluster under way.
#
# What is followed is the core of each text, which the full models refine: sets, counts, rounds, starts and who can
# commit, without what a worker has read and without the group.

MODELS = {"shipped": LooseShipped, "A": LooseA, "M": LooseM, "B": LooseB}


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    """The model of a cluster."""
    return _followed(variant, config["workers"], max(3, config["max_tasks"]))


@lru_cache(maxsize=256)
def _followed(variant: str, workers: int, tasks: int) -> Followed:
    spec = without_limits(settle(MODELS[variant].spec))
    return Followed(
        variant=variant,
        spec=spec,
        constants={},
        bounds=unlimited(spec.types, {"workers": workers, "instances": PLACES, "tasks": tasks}),
        columns=MODEL_COLUMNS,
        observations=BY_VARIANT[variant],
        calls=CALLS,
        interpreter=partial(TaskCountsInterpreter, variant in ("B", "shipped")),
    )
