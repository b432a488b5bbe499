"""This module defines what fencepost needs of exactly-once source tasks, to drive them and to watch them.

The interface is structural: nothing has to be imported or inherited. ``factory(config)`` makes a connector with a
source, slots of tasks, and what they need of Kafka. Their instances run in threads, and a thread runs until its next
*operation* on the outside, where it waits until the driver lets the operation happen, fail, or get lost.

The config keys are ``seed``, ``mode`` (the variant), ``tasks`` (slots), ``partitions`` of the source, ``records`` in
each of them and in each round, ``rounds`` (each but the last ends with a tombstone), ``batch`` (records of one poll),
``separate`` (the connector has an offsets topic of its own), ``boundary`` ("poll", "interval" or "connector"),
``interval_ms`` (of the second), ``filtered`` (one of this many records is dropped by a transformation, the same ones
whenever they are polled; 0: none), ``transaction_timeout_ms``, and ``timeout_check_ms`` (the interval at which brokers
look for transactions that have timed out). A source partition is read by the task whose number is the remainder of the
partition's number divided by the number of tasks.

An implementation has to emit only the events that operators, instances and an auditor observe. Each further kind of the
history vocabulary that it emits is checked against the promises as well, and reveals a violation earlier.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, NamedTuple, Protocol

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.roles import Between, Count, Index, InFlight, OneOf
from fencepost.properties.source_offsets.events import WITH_TOMBSTONES

Thread = tuple[int, str, int, int]
"""A `Thread` is (number, operation, task, instance), or for the earlier text's migration -1 and the owner."""

OPERATIONS = (
    "open", "check", "ask_end", "read", "run", "poll", "send", "flush", "commit", "abort", "copy", "stop",
    "look", "migrate",
)  # fmt: skip
"""Threads wait for the operations in `OPERATIONS`. An instance opens its producer (initTransactions); checks whether it
is of the newest set; asks for the end of one offsets topic; consumes the topic as far as it is stable, again and again
until it reaches that end; starts its `SourceTask` with the offsets that it has found; polls a batch; sends one record
of it, or has it dropped; sends the source offsets of its transaction; commits it; aborts it for the connector; copies
one source offset to the worker's topic, in a thread of its own; ends. The owner of the Connector looks whether the
separate topic is empty, and fills it."""

AT_WORK = frozenset({"poll", "send", "flush", "commit"})
"""A running instance repeats the operations in `AT_WORK`, with copies and aborts where there are some."""

OUTCOMES = ("ok", "failed", "lost")
"""With "ok" the operation happens, with "failed" it does not happen and its thread gets an error, and with "lost" it
happens but its thread gets an error all the same."""


def _remark(thread: Thread) -> str:
    return f"{thread[1]} of instance {thread[3]} of task {thread[2]}"


_FIELDS = (None, Index("tasks"), None)
Number = Annotated[int, InFlight(_FIELDS, _remark)]
Waiting = Annotated[Thread, InFlight(_FIELDS, _remark)]
Task = Annotated[int, Index("tasks")]
Ms = Annotated[int, OneOf(100, 500, 2_000)]
Outcome = Annotated[str, OneOf("ok", "ok", "ok", "ok", "failed", "lost")]

SIZES: dict[str, Between | OneOf] = {
    "tasks": Between(1, 3),
    "partitions": Between(1, 3),
    "records": OneOf(8, 20, 4, 20, 60, 20),
    "rounds": OneOf(1, 1, 1, 2),
    "batch": Between(1, 3),
    "separate": OneOf(True, False),
    "boundary": OneOf("poll", "interval", "connector"),
    "filtered": OneOf(0, 0, 3),
    "interval_ms": OneOf(100, 400),
    "transaction_timeout_ms": OneOf(2_000, 400),
    "timeout_check_ms": OneOf(50),
}

SIZES_OF = {name: {"rounds": OneOf(2)} for name in WITH_TOMBSTONES}
"""The variants about tombstones have two rounds."""

DANGERS = {
    "step failed": ("loss",), "step lost": ("lost-answer",), "stall*": ("zombie",), "kill": ("client-crash",),
    "fail_over": ("coordinator-fail-over",), "change_leader": ("broker-restart",), "advance": ("time-out",),
    "configure": ("rebalance",), "downgrade": ("worker-without-support",), "restart": ("zombie",),
}  # fmt: skip


class System(Protocol):
    """A `System` is a connector that does nothing by itself: nothing happens between two calls."""

    def threads(self) -> Sequence[Thread]:
        """Return the threads that wait for an operation, oldest first, without those that are stalled."""

    def step(self, number: Number, outcome: Outcome = "ok") -> None:
        """Let the thread's operation end in one of `OUTCOMES`, and let the thread run to its next operation."""

    def configure(self, tasks: Annotated[int, Count("tasks")], separate: bool) -> bool:
        """Configure the connector anew: running instances are left behind, their transactional ids are fenced, and a
        set of that many tasks starts, with its offsets in the separate topic or in the worker's. Return False, and let
        nothing happen, if the connector cannot be configured now."""

    def restart(self, task: Task) -> bool:
        """Start a new instance of a task, whatever became of its predecessor, which is left behind if it runs. Return
        False if the newest set has no such task."""

    def stop(self, task: Task) -> bool:
        """Ask the newest instance of a task to stop, which it does at its next step, and return False if none runs."""

    def kill(self, task: Task) -> bool:
        """Kill the process of the newest instance of a task, and return False if none runs."""

    def stall(self, task: Task) -> bool:
        """Stall the newest instance of a task, and return False if none runs or it is stalled already."""

    def resume(self, task: Task) -> bool:
        """Let all stalled instances of a task go on without news of the time between; return False if none stalls."""

    def ask_boundary(self, task: Task, commit: bool) -> bool:
        """Let the connector ask that the transaction of the newest instance of a task ends with its batch, and return
        False if none runs or the connector does not define the boundaries."""

    def downgrade(self, hard: bool) -> bool:
        """Stop all instances in order, switch the feature off or replace the software by an older one (``hard``), and
        start the set again. Return False if that is so already, or the variant has no downgrade."""

    def upgrade(self) -> bool:
        """Stop all instances in order, and start them again with the feature on. Return False if it is on."""

    def delete_topic(self) -> bool:
        """Delete the separate topic, which is created anew when it is used, and return False while instances use it."""

    def start_owner(self) -> bool:
        """Give the Connector to another worker, which has to prepare its separate topic first, and leave the previous
        owner behind. Return False if nothing is migrated."""

    def stall_owner(self) -> bool:
        """Stall the newest owner, and return False if there is none or it is stalled already."""

    def resume_owners(self) -> bool:
        """Let all stalled owners go on, and return False if there is none."""

    def fail_over(self) -> None:
        """Let another broker coordinate transactions."""

    def change_leader(self, topic: Annotated[int, OneOf(0, 1, 2)]) -> None:
        """Let another broker lead an offsets topic, or (2) the output."""

    def advance(self, ms: Ms) -> None:
        """Let virtual milliseconds pass, so that intervals end and transactions time out."""

    def audit(self) -> Any:
        """Let an auditor read the committed output and, if no transaction is open, ask where a restart resumes."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""


class Resting(NamedTuple):
    """A `Resting` is what a connector at rest has come to, as plain data that a live one gives too. ``polls`` has the
    tasks that poll, and ``found`` for each source partition with which offset the instance began that reads it now."""

    polls: frozenset[int]
    found: Mapping[int, int]


def at_rest(system: System, events: Iterable[Event]) -> Resting:
    """Return what the connector has come to, after all its events."""
    polls = {thread[3]: thread[2] for thread in system.threads() if thread[1] in AT_WORK}
    found = [event for event in events if read(event, "kind") == "offset_found" and read(event, "instance") in polls]
    return Resting(frozenset(polls.values()), {read(event, "partition"): read(event, "offset") for event in found})


# This context judges what no single event of a driven connector reveals: that its living tasks go on without a restart,
# and where tombstones let the copies in the worker's topic break promises in a correct connector as well.

EXACTLY_ONCE = FIRST = 0
GETTING_ON = "get_on"
"""In the call `GETTING_ON` the instances that live go on by themselves."""
HARMLESS = frozenset({"walk", "go", "step", "ask_boundary", "audit", GETTING_ON})
"""The calls in `HARMLESS` are no reason for an instance to fail, where no operation of theirs fails or gets lost."""
ENDS = frozenset({"instance_stopped", "instance_failed", "instance_killed"})


@dataclass
class Newest:
    """A `Newest` is the newest set of tasks. ``instances`` has by task the newest instance that lives, ``started`` the
    instances whose start was observed, and ``running`` those that have begun to run."""

    generation: int
    count: int
    runtime: int
    instances: dict[int, int] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    running: set[int] = field(default_factory=set)


class Tombstones:
    """`Tombstones` tracks which tombstones and copies in the worker's topic do harm, by the number of the call.

    A null offset goes to the worker's topic first, outside the transaction, and a copy of an offset after it. So an old
    copy may come after a tombstone (late-copies), and a tombstone may be there whose transaction is never committed.
    Then the worker's topic lacks what the combined view takes from it, in every implementation.
    """

    def __init__(self) -> None:
        self.reported = defaultdict[int, int](int)  # by partition, how many
        self.under_way = defaultdict[tuple[int, int, int], list[int]](list)  # copies, and how many there were
        self.undecided: dict[int, int] = {}  # by instance, since which call it has an undecided one
        self.harmful: list[tuple[int, float]] = []  # from one call up to another

    def watch(self, call: int, event: Event) -> None:
        kind, instance = read(event, "kind"), read(event, "instance", -1)
        partition, offset = read(event, "partition", -1), read(event, "offset", -1)
        if kind == "copy_sent" and offset > 0:
            self.under_way[instance, partition, offset].append(self.reported[partition])
        elif kind == "copy_told" and offset > 0:
            before = self.under_way[instance, partition, offset]
            if before and before.pop(0) < self.reported[partition]:
                self.harmful.append((call, inf))
        elif kind == "copy_told" and not read(event, "error", 0):
            self.reported[partition] += 1
            self.undecided.setdefault(instance, call)
        elif kind == "end_told" and read(event, "outcome") == 1 and not read(event, "error", 0):
            since = self.undecided.pop(instance, call)
            self.harmful += [(since, call)] if since < call else []

    def did_harm(self, call: int) -> bool:
        return any(since <= call <= until for since, until in self.harmful) or any(
            since <= call for since in self.undecided.values()
        )


class GettingOn(AtRest):
    """`GettingOn` tracks the newest set of a run and its tombstones."""

    excusable = frozenset({"618.P2", "618.P4", "618.P5"})

    def __init__(self, config: Any, expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.newest = Newest(FIRST, int(config.get("tasks", 1)), EXACTLY_ONCE)
        self.tombstones = Tombstones()
        self.calls_made = 0
        self.still = config.get("boundary") != "interval"  # nothing has gone wrong; intervals may outlast a transaction

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        self.calls_made += 1
        self.still = self.still and made.call.name in HARMLESS and made.call.get("outcome", "ok") == "ok"
        for event in events:
            self.note(event)
            if self.still and read(event, "kind") == "instance_failed":
                words = f"task {read(event, 'task')} fails, and nothing went wrong"
                yield Broken("618.P5", words, event=event), frozenset()
            self.tombstones.watch(self.calls_made, event)
        if made.call.name == GETTING_ON:
            yield from self.judged(events)

    def note(self, event: Event) -> None:
        newest, kind = self.newest, read(event, "kind")
        task, instance = read(event, "task", -1), read(event, "instance", -1)
        if kind == "configured":
            count, runtime = read(event, "count"), read(event, "runtime")
            self.newest = Newest(read(event, "generation"), count, runtime)
        elif kind == "instance_started" and read(event, "generation") == newest.generation:
            newest.instances[task] = instance
            newest.started.add(task)
        elif kind == "instance_running":
            newest.running.add(instance)
            if newest.generation == FIRST and task not in newest.started:  # it was there before any call
                newest.instances[task] = instance
        elif kind in ENDS and newest.instances.get(task) == instance:
            del newest.instances[task]

    def judged(self, events: Sequence[Event]) -> Iterable[tuple[Broken, Concerned]]:
        """Yield violations of 618.P5: exactly what a living task has read, after finding its offsets, is stored."""
        newest, last_round = self.newest, int(self.config.get("rounds", 1)) - 1
        if newest.runtime != EXACTLY_ONCE:
            return
        for event in events:
            if read(event, "kind") != "audited":
                continue
            partition, where = read(event, "partition"), (read(event, "round"), read(event, "offset"))
            instance = newest.instances.get(partition % newest.count)
            if instance in newest.running and where != (last_round, self.config["records"]):
                text = (
                    f"faults are over, and instance {instance} runs and has had no error, but a restart would "
                    f"resume source partition {partition} from {where[1]} of round {where[0]}, which has more"
                )
                yield Broken("618.P5", text, event=event), frozenset()

    def excuses(self, call: int, concerned: Concerned) -> bool:
        return self.tombstones.did_harm(call)

    def why(self, call: int, concerned: Concerned) -> str:
        return "618.31: a copy came late, or a tombstone stands beside a transaction that is not committed"
