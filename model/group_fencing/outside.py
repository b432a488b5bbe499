"""This module lists the dangers that the models of group fencing leave out, with the reasons."""

from fencepost.model.language import excused, kafka_excludes, not_of_this, open_hole

TRANSACTIONS = (
    *excused(
        "each member's transactions take the steps of their interface, and a group is in the way of none that they "
        "take by themselves (does as fated, follows transactions); does as fated of transactions/core-v2-fated, "
        "core-v2-overlapping-fated and core-v2-timed-out-fated proves with these dangers that v2 keeps that interface, "
        "and group-fencing/shipped-over-core-v2 has the core of v2 in the place of a member's transactions",
        "duplicate", "loss", "lost-answer", "broker-restart", "overlapping-coordinators",
    ),
    *excused(
        "by name alone: models of transactions that have them keep txn.P1, txn.P2 and txn.P5 (v2, v2-expiring, "
        "core-versions, parked-v2, idempotence), and none of these is held against the interface",
        "id-expiry", "end-of-epochs", "transaction-version", "producer-expiry", "leader-restart", "sequence-wrap",
    ),
)  # fmt: skip
COORDINATORS = (
    *excused(
        "a coordinator that takes over knows what its log says: of offsets (txn.P9, proved of transactional-offsets), "
        "of generations, members and assignments, which are in the log before they are answered",
        "coordinator-fail-over",
    ),
    *kafka_excludes(
        "the coordinator of groups answers from what is replicated alone",
        "CoordinatorRuntime.scheduleReadOperation: lastCommittedOffset", "uncovered-log",
    ),
    *excused(
        "what a coordinator's log has acknowledged stays there (acks=all, no unclean election)", "unreplicated-tail",
    ),
    *open_hole(
        "an append of the group's coordinator succeeds at once; those of the transaction coordinator may stay in doubt "
        "(transactions/core-v2-timed-out-fated)", "failed-append",
    ),
    *open_hole(
        "a marker comes in the end, and says what was decided: offsets-marker-dropped has KAFKA-20734",
        "partition-away",
    ),
)  # fmt: skip
INPUTS = (
    *excused("inputs stay where they are until they are processed", "truncation"),
    *not_of_this("a group's offsets and inputs are read by number, and compaction keeps the last offset", "cleaning"),
    *not_of_this("a position is a number: fetching inputs late or in pieces changes none", "slow-reader"),
    *not_of_this("another group has its own offsets", "several-groups"),
    *not_of_this("no step looks at a clock: time-outs may come at any time", "clock-step"),
)  # fmt: skip
NOT_CONNECT = not_of_this(
    "brokers know of no workers, connectors or tasks", "leader-in-a-call", "worker-without-support", "empty-set",
    "one-task", "several-tasks", "several-connectors", "deletion", "re-creation", "id-collision",
)  # fmt: skip
STEPS = (
    *open_hole("what the group's coordinator knows is what its log says: KAFKA-20845 had it go back behind that",
               "memory-without-log"),
    *open_hole("every transaction has a time-out (447.10): one that takes part in a two-phase commit has none",
               "no-time-out"),
    *open_hole("inputs are there, or are not: end-to-end has readers that are given what is not committed",
               "isolation-level"),
    *open_hole("a member takes one step at a time: those of the new protocol have a thread in the background",
               "two-threads"),
)  # fmt: skip
ALIKE = open_hole("members are of one kind: the variants of upgrade have two", "mixed-clients")
OF_THE_CORES = (*TRANSACTIONS, *COORDINATORS, *INPUTS, *NOT_CONNECT, *ALIKE, *STEPS)
