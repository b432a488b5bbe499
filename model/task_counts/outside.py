"""This module lists the dangers that several models of task counts leave out for the same reason, with the reason."""

from fencepost.model.language import excused, not_of_this, open_hole

BROKERS = excused(
    "the brokers keep txn.P1: once an id is fenced (618.12), nothing of an older epoch commits; core-late-commits has "
    "brokers that do not, and the protocol transactions says which ones do",
    "coordinator-fail-over", "overlapping-coordinators", "uncovered-log", "failed-append", "id-expiry",
    "end-of-epochs", "transaction-version", "partition-away", "producer-expiry", "leader-restart", "broker-restart",
    "several-partitions", "several-records", "sequence-wrap",
)  # fmt: skip
TOPIC = excused(
    "what the config topic has acknowledged stays there, in order (acks=all, no unclean election)",
    "unreplicated-tail", "truncation",
)  # fmt: skip
NOT_OF_CONNECT = (
    *not_of_this("source tasks are in no consumer group, and the workers are one group", "several-groups"),
    *not_of_this("no step looks at a clock", "clock-step"),
    *not_of_this("the config topic has one partition, and the order in which ids are fenced is free", "reordering"),
)  # fmt: skip
READS = excused("reading to the end finds all that was written before it began (618.32)", "slow-reader")
COMPACTION = open_hole("the topic is read whole; what compaction leaves of it is explored in config-topic", "cleaning")
OTHERS = open_hole("one connector: several that share a leader are proved in connectors", "several-connectors")
OWN_IDS = open_hole("ids do not collide: in names-may-collide they do", "id-collision")
TO_STAY = open_hole("the connector is never deleted: that is proved in deletion", "deletion", "re-creation")
STEPS = (
    *open_hole("what a worker knows is what it has read of the config topic", "memory-without-log"),
    *open_hole("every transaction has a time-out: one that takes part in a two-phase commit has none", "no-time-out"),
    *open_hole("the config topic is read as it is committed: a worker without the feature on has the default level",
               "isolation-level"),
    *open_hole("a step is one of a whole worker, which has a thread of the herder and others", "two-threads"),
)  # fmt: skip
ENABLED = open_hole(
    "every worker has the feature on: the part exactly-once-upgrade has workers that do not",
    "worker-without-support", "mixed-clients",
)  # fmt: skip
OF_THE_CORES = (*BROKERS, *STEPS, *TOPIC, *NOT_OF_CONNECT, *COMPACTION, *OTHERS, *OWN_IDS, *TO_STAY, *ENABLED)

NO_ROUNDS_BY_PARTS = open_hole(
    "a round that fences and writes its count is one step, as far as it may fail or meet anything: the cores have more",
    "late-copy", "duplicate", "loss", "lost-answer", "time-out",
)  # fmt: skip
