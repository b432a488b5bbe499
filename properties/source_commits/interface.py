"""This module defines what fencepost needs of the runtime of a source task, to drive it and to watch it.

The interface is structural: nothing has to be imported or inherited. ``factory(config)`` makes one source task, a topic
for its offsets, topics for its records, and an upstream system with ``records`` in each of ``partitions`` source
partitions. Threads of the task, and the requests they have sent, wait for the driver, which lets each operation happen,
fail, or succeed with its answer lost.

The config keys are ``seed``; ``mode`` (the variant); ``partitions`` and ``records`` of the source; ``outputs`` (the
records of a source partition go to several of them in turn, and are acknowledged in any order between these); ``batch``
(the most records that a poll returns); ``tolerance`` ("none" or "all": errors.tolerance); ``filtered`` (a
transformation drops each record whose place in its partition is a multiple of this; 0: none).

An implementation has to emit only the events that tasks, topics, upstream and an auditor reveal. Each further kind of
the history vocabulary that it emits is checked against the promises as well.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.history.naming import Words
from fencepost.properties.history.related import Setting, declared, each, following, greatest
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.roles import Between, Index, InFlight, OneOf
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind

Thread = tuple[int, str, int, int, int]
"""A `Thread` is (number, operation, instance, thread, partition), with -1 where a column does not apply."""

OPERATIONS = (
    "start", "update", "poll", "send", "drain", "snapshot", "begin", "finish", "tell", "close", "flush", "commit",
    "record", "offset",
)  # fmt: skip
"""`OPERATIONS` are the operations that wait for the driver.

The task's thread reads its stored offsets (start), takes what became committable off the queues (update), polls (poll),
and sends the next record of what it has polled (send). At its end it waits for records in flight (drain), commits
offsets and ends (close). Each thread that commits offsets takes what is committable (snapshot), begins a flush, which
waits for another flush (begin), waits for what it has written (finish), and calls commit (tell). A task with
transactions instead sends offsets into the transaction (flush), ends the transaction, which waits for its records
(commit), and calls commit (tell). Of the requests sent, the oldest record to each output (record) and the oldest offset
of each source partition to the offsets topic (offset) wait.
"""

OUTCOMES = ("ok", "failed", "lost")
"""With "ok" the operation happens, with "failed" it does not happen and its caller gets an error, and with "lost" it
happens but its caller gets an error all the same.

An operation that waits for something else (drain, begin, finish, commit) fails by a time-out, and commit (tell) by an
exception of the connector. ``send`` is refused at once with an error that may be retried (failed) or not (lost).
"""


def _remark(thread: Thread) -> str:
    _, operation, instance, who, partition = thread
    where = f", source partition {partition}" if partition >= 0 else ""
    return f"{operation} of instance {instance}{'' if who < 0 else f', thread {who}'}{where}"


_WAITING = InFlight((None, None, None, Index("partitions")), _remark)
Number = Annotated[int, _WAITING]
Waiting = Annotated[Thread, _WAITING]
Outcome = Annotated[str, OneOf("ok", "ok", "ok", "ok", "failed", "lost")]

SIZES: dict[str, Between | OneOf] = {
    "partitions": Between(1, 2),
    "outputs": OneOf(2, 1, 2),
    "records": OneOf(12, 6, 40, 100),
    "batch": OneOf(2, 1, 3),
    "tolerance": OneOf("none", "all"),
    "filtered": OneOf(0, 0, 3),
}

DANGERS = {"kill": ("client-crash",), "step": ("time-out",)}


class System(Protocol):
    """A `System` is a source task that does nothing by itself: nothing happens between two calls."""

    def threads(self) -> Sequence[Thread]:
        """Return the operations that wait, oldest first."""

    def step(self, number: Number, outcome: Outcome = "ok") -> bool:
        """Let the operation end in one of `OUTCOMES`, and let its thread go on to the next one. Return False, and let
        nothing happen, if the operation has to wait for something else."""

    def commit_due(self) -> bool:
        """Let offset.flush.interval.ms pass, so that the committer begins to commit offsets. Return False if it still
        commits, or if no task runs that has a committer."""

    def start(self) -> bool:
        """Start another instance of the task, and return False while there is one (mode zombie leaves it behind)."""

    def stop(self) -> bool:
        """Ask the instance to stop, and return False if none runs or it is stopping."""

    def kill(self) -> bool:
        """Kill the instance's process, so that everything it has in flight is lost (except in mode zombie, where it may
        still arrive), and return False if there is none."""

    def abort(self) -> bool:
        """Let the connector have its transaction aborted when the batch is sent, and return False if it has none."""

    def audit(self) -> Any:
        """Let an auditor read all of the committed output and then the stored offsets, and reveal both."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""


# A driven task must fulfil two conditions that no recording reveals enough to judge: when faults are over it has read
# everything, and an instance that ends in order, with a last commit that succeeds, leaves nothing over.

PARTITION = ("partition",)
POLLED_MOST = greatest("record", Kind.polled, by=PARTITION)

EVERYTHING_POLLED = declared(
    "everything_polled", "src.P4", "once faults stop, a task reads all there is",
    each(Kind.audited, by=PARTITION),
    POLLED_MOST.missing | (POLLED_MOST.record < Setting("records")),
    Words(SOURCE_COMMITS).saying("the last that was polled is", "nothing was polled"), explained=POLLED_MOST,
    given=following(Kind.audited, by=PARTITION).missing, needs_quiet_end=True,
)  # fmt: skip

DONE = frozenset({"acknowledged", "given_up", "filtered"})
TASK = 0


class Ending:
    """An `Ending` is what is known of one instance. ``polled`` has the records with their source offsets, by source
    partition, in order. ``left`` is what its last commit must cover, once it is asked to stop. ``reported`` is whether
    that commit has succeeded."""

    def __init__(self) -> None:
        self.polled = defaultdict[int, list[tuple[int, int]]](list)
        self.done: dict[tuple[int, int], str] = {}
        self.left: dict[int, int] = {}
        self.reported = False

    def committable(self) -> dict[int, int]:
        """Return by source partition the offset of the last acknowledged record with none in flight before (src.3)."""
        found = {}
        for partition, records in self.polled.items():
            for record, offset in records:
                how = self.done.get((partition, record))
                if how is None:
                    break
                if how != "filtered":
                    found[partition] = offset
        return found


class InTheEnd(AtRest):
    """`InTheEnd` tracks the instances of a run and the offsets that are stored."""

    further = (EVERYTHING_POLLED,)

    def __init__(self, config: Any, expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.instances = defaultdict[int, Ending](Ending)
        self.stored = defaultdict[int, int](int)

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Check src.P3 and src.12: once an instance is asked to stop, its last commit includes every record that was
        acknowledged by then and has none in flight before it. Where that commit has succeeded, these records are
        covered by a stored offset when the instance is over."""
        for event in events:
            kind, instance = read(event, "kind"), self.instances[read(event, "instance", -1)]
            partition, offset = read(event, "partition", -1), read(event, "offset", 0)
            if kind == "polled":
                instance.polled[partition].append((read(event, "record"), offset))
            elif kind in DONE:
                instance.done.setdefault((partition, read(event, "record")), kind)
            elif kind == "offset_written":
                self.stored[partition] = offset
            elif kind == "stopping" and read(event, "outcome") == 1:
                instance.left = instance.committable()
            elif kind == "told" and read(event, "thread") == TASK:
                instance.reported = bool(instance.left)
            elif kind == "instance_stopped" and instance.reported:
                for each_partition, must in instance.left.items():
                    if self.stored[each_partition] < must:
                        text = (
                            f"an instance that has ended in order leaves over what was acknowledged up to {must} of "
                            f"source partition {each_partition}: {self.stored[each_partition]} is stored"
                        )
                        yield Broken("src.P3", text, event=event), frozenset()
