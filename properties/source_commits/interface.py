"""The plug: what fencepost needs of the runtime of a source task, to drive it and to watch it.

Structural: nothing has to be imported or inherited.  ``factory(config)`` makes one source task, a topic for its
offsets, topics for its records, and an upstream system with ``records`` in each of ``partitions`` source partitions.
Threads of the task, and what they have sent, wait for the driver, who lets each operation happen, fail, or succeed with
its answer lost.

Config keys: ``seed``; ``mode`` (the variant); ``partitions`` and ``records`` of the source; ``outputs`` (the records of
a source partition go to several of them in turn, and are acknowledged in any order between these); ``batch`` (so many
records a poll returns at most); ``tolerance`` ("none" or "all": errors.tolerance); ``filtered`` (a transformation drops
each record whose place in its partition is a multiple of this; 0: none).

Of the events only what tasks, topics, upstream and an auditor show is needed; every further kind of the history
vocabulary that an implementation emits is held against the promises as well.
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
"""(number, operation, instance, thread, partition): -1 where it does not apply."""

OPERATIONS = (
    "start", "update", "poll", "send", "drain", "snapshot", "begin", "finish", "tell", "close", "flush", "commit",
    "record", "offset",
)  # fmt: skip
"""What waits.

Of the task's thread: it reads its stored offsets (start), takes what became committable off the queues (update), polls,
sends the next record of what it has polled (send), and at its end waits for records in flight (drain), commits offsets
and ends (close).  Of each thread that commits offsets: it takes what is committable (snapshot), begins a flush, which
waits for another one (begin), waits for what it has written (finish), calls commit (tell).  Of a task with
transactions, instead: it sends offsets into the transaction (flush), ends that, which waits for its records (commit),
calls commit (tell).  Of what was sent: the oldest record to each output (record), and of each source partition the
oldest offset to the offsets topic (offset).
"""

OUTCOMES = ("ok", "failed", "lost")
"""It happens; does not, and who asked for it gets an error; happens, and who asked for it gets an error all the same.

What waits for something else (drain, begin, finish, commit) fails by a time-out; commit (tell) by an exception of the
connector; ``send`` is refused at once with an error that may be retried (failed) or not (lost).
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
"""Which dangers it is to make a call."""


class System(Protocol):
    """A source task that does nothing by itself: nothing happens between two calls."""

    def threads(self) -> Sequence[Thread]:
        """What waits, oldest first."""

    def step(self, number: Number, outcome: Outcome = "ok") -> bool:
        """The operation happens, or does not, as one of `OUTCOMES` says, and its thread goes on to the next; False, and
        nothing happens, where it has to wait for something else."""

    def commit_due(self) -> bool:
        """offset.flush.interval.ms is over: the committer begins to commit offsets; False where it is still at it, or
        no task runs that has one."""

    def start(self) -> bool:
        """Another instance of the task is started; False while there is one (it may be left behind in mode zombie)."""

    def stop(self) -> bool:
        """The instance is asked to stop; False where none runs, or it is stopping."""

    def kill(self) -> bool:
        """Its process is gone, and what it has in flight is lost (but in mode zombie, where that may arrive yet); False
        where there is none."""

    def abort(self) -> bool:
        """The connector asks for its transaction to be aborted when the batch is sent; False where it has none."""

    def audit(self) -> Any:
        """An auditor reads all of the committed output, then the stored offsets, and reveals both."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""


# What a driven task must have come to, which no recording reveals enough to judge: that it has read all there is when
# faults are over, and that one which ends in order, with a last commit that succeeds, leaves nothing over.

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
"""The thread of the last commit."""


class Ending:
    """What is known of one instance: ``polled``: records with their source offsets, by source partition, in order;
    ``left``: what its last commit must cover, once it is asked to stop; ``reported``: that commit has succeeded."""

    def __init__(self) -> None:
        self.polled = defaultdict[int, list[tuple[int, int]]](list)
        self.done: dict[tuple[int, int], str] = {}
        self.left: dict[int, int] = {}
        self.reported = False

    def committable(self) -> dict[int, int]:
        """By source partition, the offset of the last acknowledged record before which none is in flight (src.3)."""
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
    """Of a run: its instances, and what is stored."""

    further = (EVERYTHING_POLLED,)

    def __init__(self, config: Any, expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.instances = defaultdict[int, Ending](Ending)
        self.stored = defaultdict[int, int](int)

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Once an instance is asked to stop, all that was acknowledged by then, and behind nothing in flight, is in
        its last commit: where that has succeeded, it is stored when the instance is over (src.P3, src.12)."""
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
