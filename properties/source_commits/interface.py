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

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties.driving import Event
from fencepost.properties.roles import Between, Index, InFlight, OneOf

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
        """An auditor reads all of the committed output, then the stored offsets, and shows both."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""
