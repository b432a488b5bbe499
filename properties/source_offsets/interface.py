"""The plug: what fencepost needs of exactly-once source tasks, to drive them and to watch them.

Structural: nothing has to be imported or inherited.  ``factory(config)`` makes a connector with a source, slots of
tasks, and what they need of Kafka.  Their instances run in threads, and a thread runs until its next *operation* on the
outside, where it waits until the driver lets the operation happen, fail, or get lost.

Config keys: ``seed``, ``mode`` (the variant), ``tasks`` (slots), ``partitions`` of the source, ``records`` in each of
them and in each round, ``rounds`` (each but the last ends with a tombstone), ``batch`` (records of one poll),
``separate`` (the connector has an offsets topic of its own), ``boundary`` ("poll", "interval" or "connector"),
``interval_ms`` (of the second), ``filtered`` (of so many records one is dropped by a transformation, the same ones
whenever they are polled; 0: none), ``transaction_timeout_ms``, and ``timeout_check_ms`` (so often brokers look for
transactions that are over).  A source partition is read by the task whose number remains when it is divided by the
number of tasks.

Of the events only what operators, instances and an auditor see is needed; every further kind of the history vocabulary
that an implementation emits is held against the promises as well, and makes a violation show earlier.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties.driving import Event
from fencepost.properties.roles import Between, Count, Index, InFlight, OneOf
from fencepost.properties.source_offsets.variants.driven import WITH_TOMBSTONES

Thread = tuple[int, str, int, int]
"""(number, operation, task, instance): -1 and the owner's number for the migration of the earlier text."""

OPERATIONS = (
    "open", "check", "ask_end", "read", "run", "poll", "send", "flush", "commit", "abort", "copy", "stop",
    "look", "migrate",
)  # fmt: skip
"""What threads wait for: an instance opens its producer (initTransactions); looks whether it is of the newest set; asks
the end of one offsets topic; consumes it as far as it is stable, again and again until it is there; starts its
`SourceTask` with what it has found; polls a batch; sends one record of it, or has it dropped; sends the source offsets
of its transaction; commits it; aborts it for the connector; copies one source offset to the worker's topic, in a thread
of its own; ends.  The owner of the Connector looks whether the separate topic is empty, and fills it."""

OUTCOMES = ("ok", "failed", "lost")
"""The operation happens; does not, and its thread gets an error; happens, and its thread gets an error all the same."""


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
"""Where a variant is about tombstones."""

DANGERS = {
    "step failed": ("loss",), "step lost": ("lost-answer",), "stall*": ("zombie",), "kill": ("client-crash",),
    "fail_over": ("coordinator-fail-over",), "change_leader": ("broker-restart",), "advance": ("time-out",),
    "configure": ("rebalance",), "downgrade": ("worker-without-support",), "restart": ("zombie",),
}  # fmt: skip
"""Which dangers it is to make a call."""


class System(Protocol):
    """A connector that does nothing by itself: nothing happens between two calls."""

    def threads(self) -> Sequence[Thread]:
        """Those that wait for an operation, oldest first; not those that are stalled."""

    def step(self, number: Number, outcome: Outcome = "ok") -> None:
        """The thread's operation happens, or does not, as one of `OUTCOMES` says; the thread runs to its next."""

    def configure(self, tasks: Annotated[int, Count("tasks")], separate: bool) -> bool:
        """The connector is configured anew: instances that run are left behind, their transactional ids are fenced, and
        a set of so many tasks starts, with its offsets in the separate topic or in the worker's.  False, and nothing
        happens, where the connector cannot be configured now."""

    def restart(self, task: Task) -> bool:
        """A new instance of a task starts, whatever became of the one before, which is left behind if it runs.  False
        if the newest set has no such task."""

    def stop(self, task: Task) -> bool:
        """The newest instance of a task is asked to stop, and does so at its next step; False if none runs."""

    def kill(self, task: Task) -> bool:
        """The process of the newest instance of a task is gone; False if none runs."""

    def stall(self, task: Task) -> bool:
        """The newest instance of a task stands still; False if none runs, or it does already."""

    def resume(self, task: Task) -> bool:
        """All stalled instances of a task go on, and know nothing of what happened meanwhile; False if none is."""

    def ask_boundary(self, task: Task, commit: bool) -> bool:
        """The connector asks that the transaction of the newest instance of a task ends with its batch; False if none
        runs, or boundaries are not the connector's."""

    def downgrade(self, hard: bool) -> bool:
        """All instances stop in order; then the feature is off, or the software is from before it (``hard``), and the
        set starts again.  False where that is so already, or the variant has none."""

    def upgrade(self) -> bool:
        """All instances stop in order, and start again with the feature on; False where it is."""

    def delete_topic(self) -> bool:
        """The separate topic is deleted, and created anew when it is used; False while instances use it."""

    def start_owner(self) -> bool:
        """Another worker takes the Connector, which has to see to its separate topic first; the one before is left
        behind.  False where nothing is migrated."""

    def stall_owner(self) -> bool:
        """The newest owner stands still; False if there is none, or it does already."""

    def resume_owners(self) -> bool:
        """All stalled owners go on; False if there is none."""

    def fail_over(self) -> None:
        """Another broker coordinates transactions."""

    def change_leader(self, topic: Annotated[int, OneOf(0, 1, 2)]) -> None:
        """Another broker leads an offsets topic, or (2) the output."""

    def advance(self, ms: Ms) -> None:
        """Virtual milliseconds pass: intervals end, transactions time out."""

    def audit(self) -> Any:
        """An auditor reads the output as far as it is committed, and where no transaction is open asks where a restart
        would resume."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""
