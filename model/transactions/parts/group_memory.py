"""This model has the three states of the group coordinator: its memory, the batch that is open, and its log
(CoordinatorRuntime.java).

An operation changes memory, its record is added to the open batch, and the batch is written as one. Most operations,
offset commits among them, change nothing until their record is in the batch and is replayed from there. Some have
changed memory before (`GroupMetadataManager`: a group that goes back to the classic protocol). If a batch can't be
written, its changes of memory are reverted.
"""

from fencepost.model.language import (
    Ghost,
    Option,
    Protocol,
    Set,
    Sort,
    action,
    each,
    either,
    exists,
    fault,
    not_of_this,
    open_hole,
    require,
    when,
)


class Write(Sort, bound="writes"):
    """A `Write` is an operation with one record, which stands for all of its records."""


class GroupMemory(Protocol):
    """One thread runs an operation, adds its record, and makes room in the batch first, one after another."""

    actors = ("coordinator",)

    in_memory: Set[Write]
    in_batch: Set[Write]
    in_log: Set[Write]
    working: Option[Write]  # has changed memory, and its record is to come

    begun: Set[Write]  # each operation is requested once; a repetition is another operation
    given_up: Ghost[Set[Write]]  # operations whose batch could not be written

    outside = (
        *open_hole("one coordinator at a time; the protocol transactions has a deposed one that still answers",
                   "overlapping-coordinators"),
        *open_hole("a record that is written stays: log-covered has a tail that may be lost", "uncovered-log",
                   "unreplicated-tail", "truncation"),
        *open_hole("all records stay; transactional-offsets has compaction", "cleaning"),
        *open_hole("each operation has one record, and a batch of several is written whole", "several-records"),
        *not_of_this(
            "who asks for an operation, how late and how often, is free here: each is one more write", "late-copy",
            "duplicate", "loss", "lost-answer", "reordering", "client-crash", "zombie", "mixed-clients", "time-out",
            "clock-step", "slow-reader",
        ),
        *not_of_this(
            "what an operation is about is not looked at: markers, ids and epochs are in the other models",
            "several-ids", "several-groups", "several-partitions", "id-expiry", "end-of-epochs", "transaction-version",
            "partition-away", "leader-restart", "producer-expiry", "sequence-wrap",
        ),
        *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none",
                   "no-time-out"),
        *open_hole("an operation and its record are of one thread", "two-threads"),
        *open_hole("what a batch has done goes back with that batch alone; group-memory-empty-flush takes back more",
                   "memory-without-log"),
        *not_of_this("records are read by the coordinator that has written them", "isolation-level"),
        *not_of_this(
            "brokers know of no workers, connectors or tasks", "rebalance", "leader-in-a-call",
            "worker-without-support", "empty-set", "one-task", "several-tasks", "several-connectors", "deletion",
            "re-creation", "id-collision",
        ),
    )  # fmt: skip

    def begin(s, w):
        require((s.working == None) & ~s.begun[w])  # noqa: E711
        s.begun[w] = True

    @action
    def replay(s, w: Write):
        """An operation adds its record to the batch before it changes memory."""
        s.begin(w)
        s.in_batch[w] = True
        s.in_memory[w] = True

    @action
    def change(s, w: Write):
        """An operation changes memory before its record is made."""
        s.begin(w)
        s.in_memory[w] = True
        s.working = w

    @action(fair="weak")
    def add(s, w: Write):
        """The record of an operation fits into the open batch, or into a new one."""
        require(s.working == w)
        s.in_batch[w] = True
        s.working = None

    @action(fair="weak")
    def add_large(s, w: Write):
        """The record of an operation is larger than the rest of the batch, or than an empty batch: the previous batch
        is written first (KAFKA-19760). If that batch has no record yet, there is nothing to write; to treat it as a
        failed batch reverts memory to what was written (KAFKA-20845: CoordinatorRuntime.flushCurrentBatch)."""
        require(s.working == w)
        nothing_yet = ~exists(Write, lambda v: s.in_batch[v])
        s.in_memory = each(
            lambda v: either("txn.27", s.in_memory[v], empty_one_fails=when(nothing_yet, s.in_log[v], s.in_memory[v]))
        )
        s.in_log = each(lambda v: s.in_log[v] | s.in_batch[v])
        s.in_batch = each(lambda v: v == w)
        s.working = None

    @action(fair="weak")
    def flush(s):
        """The coordinator writes the batch to the log."""
        require((s.working == None) & exists(Write, lambda v: s.in_batch[v]))  # noqa: E711
        s.in_log = each(lambda v: s.in_log[v] | s.in_batch[v])
        s.in_batch = each(lambda v: False)

    @fault(budget="failed_appends", danger="failed-append")
    def fail(s):
        """The batch can't be written: its changes of memory are reverted, and its operations fail."""
        require((s.working == None) & exists(Write, lambda v: s.in_batch[v]))  # noqa: E711
        s.given_up = each(lambda v: s.given_up[v] | s.in_batch[v])
        s.in_memory = each(
            lambda v: either("txn.27", s.in_memory[v] & ~s.in_batch[v], left_there=s.in_memory[v], all_of_it=False)
        )
        s.in_batch = each(lambda v: False)

    @fault(budget="fail_overs", danger=("coordinator-fail-over", "broker-restart"))
    def fail_over(s):
        """Another coordinator reads the log."""
        s.in_memory = each(lambda v: s.in_log[v])
        s.in_batch = each(lambda v: False)
        s.working = None
