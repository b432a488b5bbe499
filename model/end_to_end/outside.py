"""This module has the dangers that the end-to-end models leave out, and why."""

from fencepost.model.language import excused, not_of_this, open_hole

TRANSACTIONS = (
    *excused(
        "the transactions of tasks take the steps of their interface, and end-to-end/abstract-over-core-v2 has, with "
        "these dangers, the core of v2 in the place of one transactional id's: it keeps in step with the interface, "
        "which is in the way of nothing that the core does by itself",
        "duplicate", "lost-answer", "broker-restart", "coordinator-fail-over",
    ),
    *excused(
        "by name alone: with these dangers v2 is proved to do to each producer and each log as Fated does "
        "(transactions/core-v2-overlapping-fated, core-v2-timed-out-fated), which says nothing of several producers of "
        "an id, nor of one transaction in several logs",
        "overlapping-coordinators", "uncovered-log", "failed-append",
    ),
    *excused(
        "by name alone: models of transactions that have them keep txn.P1, txn.P2 and txn.P5 (v2, v2-expiring, "
        "core-versions, parked-v2, idempotence), and none of these is held against the interface",
        "id-expiry", "end-of-epochs", "transaction-version", "producer-expiry", "leader-restart", "sequence-wrap",
    ),
    *open_hole(
        "a marker comes in the end, and says what was decided: offsets-marker-dropped has KAFKA-20734",
        "partition-away",
    ),
    *excused("what a log has acknowledged stays there (acks=all, no unclean election)",
        "unreplicated-tail", "truncation",),
    *not_of_this("readers are given records and offsets by number, and compaction keeps the last offset", "cleaning"),
    *open_hole("what a coordinator knows is what its log says", "memory-without-log"),
    *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none", "no-time-out"),
    *open_hole("a step is one of a whole process", "two-threads"),
)  # fmt: skip
READERS = (
    *not_of_this("a reader of a log is given what counts, in order: when, and in which pieces, changes none",
        "slow-reader",),
    *not_of_this("another group has its own offsets, and its own sink", "several-groups"),
    *not_of_this("no step looks at a clock: time-outs may come at any time", "clock-step"),
    *open_hole("clients are of one kind: the variants of group-fencing/upgrade have two", "mixed-clients"),
    *open_hole("every reader asks for read_committed: end-to-end/read-uncommitted has one that does not",
               "isolation-level"),
)  # fmt: skip
CONNECT = (
    *excused(
        "who may commit is what the interface of Connect says: end-to-end/connect-admits proves with these dangers "
        "that Connect as it shipped keeps it",
        "rebalance", "leader-in-a-call", "empty-set", "one-task", "several-tasks",
    ),
    *open_hole("every worker has the feature on: the part exactly-once-upgrade has workers that do not",
               "worker-without-support"),
    *open_hole("one connector: several that share a leader are proved in connectors", "several-connectors"),
    *open_hole("it is never deleted: that is proved in deletion", "deletion", "re-creation"),
    *open_hole("ids do not collide: in names-may-collide they do", "id-collision"),
)  # fmt: skip
OF_THE_WHOLE = (*TRANSACTIONS, *READERS, *CONNECT)

OF_PRODUCERS = (
    *TRANSACTIONS,
    *excused("a request takes effect once, and while its transaction is open: so it is in the interface",
        "late-copy", "loss",),
    *not_of_this("a client that is gone takes no step", "client-crash", "zombie"),
    *not_of_this("what is in a transaction is in a log, or it is not: how many records does not matter",
                 "several-records", "several-partitions"),
    *not_of_this("readers are no part of it", "slow-reader", "several-groups", "clock-step", "isolation-level"),
    *open_hole("clients are of one kind", "mixed-clients"),
    *not_of_this("Connect takes no part", "rebalance", "leader-in-a-call", "worker-without-support", "empty-set",
                 "one-task", "several-tasks", "several-connectors", "deletion", "re-creation", "id-collision"),
)  # fmt: skip
