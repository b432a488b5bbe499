"""This module lists the dangers that the models of committing offsets leave out, with the reasons."""

from fencepost.model.language import excused, not_of_this, open_hole

TOPIC = (
    *excused("what the offsets topic has acknowledged stays there (acks=all, no unclean election)",
             "unreplicated-tail", "uncovered-log"),
    *not_of_this("the latest offset of a source partition is kept by compaction, and read by its key",
                 "cleaning", "truncation", "slow-reader"),
    *excused("a second copy of a write is in order, as one request at a time is under way to a broker; left-behind has "
             "one that comes out of order", "duplicate"),
    *not_of_this("the offsets topic is asked for its latest values only, whichever node leads its partition",
                 "leader-restart", "partition-away", "broker-restart", "coordinator-fail-over",
                 "overlapping-coordinators"),
)  # fmt: skip
IN_ORDER = open_hole(
    "writes of a source partition arrive in the order in which they were sent, though the producer of offsets is not "
    "idempotent and sends again on another connection: source-commits/late-copy has one that comes after a newer one",
    "late-copy",
)  # fmt: skip
NO_TRANSACTIONS = not_of_this(
    "an at-least-once task has no transactions, and no transactional id", "several-ids", "id-expiry", "end-of-epochs",
    "transaction-version", "producer-expiry", "sequence-wrap", "id-collision", "no-time-out", "isolation-level",
)  # fmt: skip
ONE_STEP = excused(
    "what a thread has taken of the offsets it hands to the writer in the same step; taken-and-put-apart takes that "
    "away", "two-threads",
)  # fmt: skip
CONNECT = (
    *not_of_this("it reads no group's offsets", "several-groups"),
    *not_of_this("no step looks at a clock: time-outs may come at any time", "clock-step"),
    *not_of_this("each task has source partitions and instances of its own", "several-tasks", "several-connectors",
                 "one-task", "empty-set"),
    *not_of_this("no leader of workers takes part", "leader-in-a-call", "worker-without-support"),
    *open_hole("one instance runs at a time: left-behind has another", "zombie", "rebalance", "mixed-clients"),
    *open_hole("stored offsets of a name are not used again by another connector", "deletion", "re-creation"),
    *open_hole("what a worker knows of the offsets topic is what is in it", "memory-without-log"),
)  # fmt: skip
OF_AT_LEAST_ONCE = (*TOPIC, *IN_ORDER, *NO_TRANSACTIONS, *CONNECT, *ONE_STEP)
OF_EXACTLY_ONCE = (
    *TOPIC,
    *CONNECT,
    *excused("a transaction is committed as a whole, or not at all, and a fenced producer commits nothing (txn.P1, "
             "txn.P2, proved of transactions)", "late-copy", "failed-append", "reordering", "id-expiry",
             "end-of-epochs", "transaction-version", "producer-expiry", "sequence-wrap"),
    *not_of_this("a task has one transactional id, and source partitions of its own", "several-ids"),
    *open_hole("two tasks of one transactional id fence one another: task-counts/ids has them", "id-collision"),
    *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none", "no-time-out"),
    *open_hole("the offsets topic is read as it is committed", "isolation-level"),
    *open_hole("the task's thread does all of it", "two-threads"),
)  # fmt: skip
OF_NULL_OFFSETS = (
    *OF_AT_LEAST_ONCE,
    *open_hole("proposed has these, of records that all have an offset", "loss", "lost-answer",
               "failed-append", "time-out", "several-partitions", "two-threads"),
)  # fmt: skip
