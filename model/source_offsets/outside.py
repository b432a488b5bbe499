"""This module lists the dangers that the models of source offsets leave out, with the reasons."""

from fencepost.model.language import excused, not_of_this, open_hole

TOPICS = (
    *excused("what an offsets topic or the output has acknowledged stays there (acks=all, no unclean election)",
             "unreplicated-tail", "uncovered-log"),
    *not_of_this("the latest offset of a source partition is kept by compaction, and read by its key",
                 "cleaning", "truncation", "slow-reader"),
    *not_of_this("topics are read to the end, whichever nodes lead their partitions: source-offsets/reading has how",
                 "leader-restart", "partition-away", "broker-restart", "coordinator-fail-over",
                 "overlapping-coordinators"),
)  # fmt: skip
TRANSACTIONS = excused(
    "a transaction is committed as a whole, or not at all, and a fenced producer commits nothing (txn.P1, txn.P2, "
    "proved of transactions)", "failed-append", "reordering", "duplicate", "id-expiry", "end-of-epochs",
    "transaction-version", "producer-expiry", "sequence-wrap",
)  # fmt: skip
CONNECT = (
    *not_of_this("it reads no group's offsets", "several-groups"),
    *not_of_this("no step looks at a clock: boundaries and time-outs may come at any time", "clock-step"),
    *excused("an instance of the newest set has fenced those before it (618.P1, proved of task-counts)",
             "leader-in-a-call", "one-task", "empty-set"),
    *not_of_this("each connector has source partitions and offsets of its own", "several-connectors"),
    *open_hole("all workers have the feature on: source-offsets/stale-topic has others", "worker-without-support",
               "mixed-clients"),
    *open_hole("two tasks of one transactional id fence one another: task-counts/ids has them", "id-collision"),
    *open_hole("stored offsets of a name are not used again by another connector", "deletion", "re-creation"),
)  # fmt: skip
STEPS = (
    *open_hole("what a worker knows of a topic is what it has read there", "memory-without-log"),
    *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none", "no-time-out"),
    *open_hole("topics are read as they are committed (618.32)", "isolation-level"),
    *open_hole("a step is one of a whole process", "two-threads"),
)  # fmt: skip
OF_THE_MENDED = (*STEPS, *TOPICS, *TRANSACTIONS, *CONNECT)
OF_ONE_TOPIC = (
    *OF_THE_MENDED,
    *not_of_this("one topic is read, and what comes to another one late is not looked at", "late-copy"),
)  # fmt: skip
OF_THE_CORE = (
    *OF_THE_MENDED,
    *excused("a copy to the worker's topic arrives before the next instance begins, or never: late-copies has others",
             "late-copy"),
)  # fmt: skip
