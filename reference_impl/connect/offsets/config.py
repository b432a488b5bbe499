"""This module has the configuration of one connector's source tasks, the variants of the protocol, and the kinds of
events."""

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Self

from fencepost.reference_impl.kafka.environment import MODES as TRANSACTION_MODES
from fencepost.reference_impl.simulation import EventLog
from fencepost.reference_impl.simulation.config import Configuration, Natural, OneOf, Positive, split

# These tables have the keys that belong to a `mode`, which is the name of a variant.
#
# `text-merged-view` is the later text of KIP-618 and `migration-sentinel` the earlier one, each without mistakes. Those
# that begin with `shipped` are Kafka as released, by what operators do with the connector's offsets topic, and the two
# that end with `alone` are halves of a repair: `stores.py`. The other variants are mistakes: what they do is in
# `defects`, under the name in `DEFECT_OF`, and the keys under which they have an effect are in `CONFIGS`.

RIGHT = ("text-merged-view", "migration-sentinel")
TOMBSTONES = {"rounds": 2, "separate": True}
SWITCHED_ON = {"separate": False}  # until an operator gives the connector a topic of its own

CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "migration-sentinel": SWITCHED_ON,
    "migration-race": SWITCHED_ON,
    "stale-topic": {"downgrades": True},
    "tombstone-primary-first": TOMBSTONES,
    "late-copies": TOMBSTONES,
    "copied": SWITCHED_ON,
    "up-to-the-last-stable": {},
    "separate-transactions": {},
    "shipped": {"given": False},
    "shipped-own-topic-from-the-start": {},
    "shipped-own-topic-later": SWITCHED_ON,
    "shipped-own-topic-taken": {"separate": True, "taken": True},
    "falls-back-alone": {"separate": True},
    "copies-when-committed-alone": SWITCHED_ON,
})  # fmt: skip

SEPARATE_BY_MODE: Mapping[str, bool] = MappingProxyType({"shipped": False, "shipped-own-topic-from-the-start": True})
"""These modes fix whether the connector has an offsets topic of its own when it is created."""

DEFECT_OF: Mapping[str, str] = MappingProxyType({
    "migration-race": "owners_not_fenced",
    "tombstone-primary-first": "tombstone_primary_first",
    "copied": "copied_by_tasks",
    "up-to-the-last-stable": "reads_to_the_last_stable",
    "separate-transactions": "offsets_in_another_transaction",
})  # fmt: skip
"""This table maps a mode that is a mistake to the defect that it has. `stale-topic` has no defect, because it is about
what an operator does; nor has `late-copies`, for which tombstones, and copies that reach the worker's topic late, are
enough."""

MODES = ("text-merged-view", *CONFIGS)
MIGRATING = ("migration-sentinel", "migration-race")
"""These are the modes of the earlier text, in which only the separate topic is read."""


EXACTLY_ONCE, FEATURE_OFF, OLDER_SOFTWARE = 0, 1, 2
"""Tasks run with this feature, without it, or on older software, which knows only the worker's offsets topic."""
POLL, INTERVAL, CONNECTOR = "poll", "interval", "connector"


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """A `Config` is the configuration of one connector. Times are virtual milliseconds; the defaults are Kafka's."""

    seed: int = 0
    mode: Annotated[str, OneOf(*MODES)] = "text-merged-view"  # the variant
    # The source
    partitions: Positive = 2  # source partitions; task t of n has those of which the number modulo n is t
    records: Positive = 6  # in each of them, and in each round
    rounds: Positive = 1  # the last record of each but the final one has a null source offset: a tombstone is stored
    batch: Positive = 2  # records that one poll returns at most
    filtered: Natural = 0  # of so many records of a partition a transformation drops one; 0: none
    # The connector
    tasks: Positive = 2  # at most
    separate: bool = True  # its offsets go to a topic of its own
    given: bool = True  # operators may give it such a topic later
    taken: bool = False  # they may take that away, which the guarantee of the text excludes
    implicit: bool = False  # since its producer targets another cluster (618.29); else offsets.storage.topic names it
    boundary: Annotated[str, OneOf(POLL, INTERVAL, CONNECTOR)] = POLL  # transaction.boundary
    interval_ms: Positive = 60_000  # transaction.boundary.interval.ms; offset.flush.interval.ms where that is not set
    own_batches: Positive = 2  # a connector that defines the boundaries asks for a commit after so many batches
    # These faults are excluded by the guarantee: operators take the feature, or the separate topic, away and bring it
    # back.
    downgrades: bool = False
    # Kafka
    transaction_timeout_ms: Positive = 60_000  # of the tasks' producers
    timeout_check_ms: Positive = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    # This is the protocol of the brokers' transaction coordinator: Kafka 3.3, which first shipped this feature, had v1.
    transactions: Annotated[str, OneOf(*TRANSACTION_MODES)] = "v1"

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """Return the checked configuration. A variant sets the keys under which it has an effect; a key that is given
        overrides these, except ``separate`` where the variant fixes it."""
        mode = config.get("mode", "")
        whether = {"separate": SEPARATE_BY_MODE[mode]} if mode in SEPARATE_BY_MODE else {}
        return cls(**split({**CONFIGS.get(mode, {}), **config, **whether}, cls)[0])

    def stored_offset(self, round_: int, offset: int) -> int:
        """Return the source offset that this record comes with, or 0 for a null offset."""
        return 0 if offset == self.records and round_ < self.rounds - 1 else offset

    def is_filtered(self, offset: int) -> bool:
        """Return whether a transformation drops the record; the last one of a partition is never dropped."""
        return self.filtered > 0 and offset % self.filtered == 0 and offset != self.records


# A history of one source connector's tasks has events as rows of integers, in the order in which things happened.
#
# -1 is the value of a column that does not apply, and 0 in `error`. A record of the source is identified by
# `partition`, `round` and `offset`, which is the number of records of its source partition up to and including it; an
# `offset` of 0 means none. `topic` 0 is the worker's global offsets topic, and 1 is the connector's separate one.


class Kind:
    """`Kind` has the kinds of event as integers, which are the codes in column `kind`."""

    # Operators, and the fencing of a task's transactional id
    CONFIGURED, TOPIC_DELETED, FENCED = range(1, 4)
    # Instances of tasks
    (
        INSTANCE_STARTED, PRODUCER_OPENED, INSTANCE_CHECKED, INSTANCE_RUNNING, INSTANCE_STOPPED, INSTANCE_FAILED,
        INSTANCE_KILLED, STALLED, RESUMED,
    ) = range(10, 19)  # fmt: skip
    # What they read of the offsets topics
    END_ASKED, END_REACHED, OFFSET_FOUND = range(20, 23)
    # What they poll and write
    (
        POLLED, FILTERED, TXN_BEGUN, RECORD_SENT, BATCH_ENDED, BOUNDARY_ASKED, OFFSET_SENT, END_SENT, END_TOLD,
        GIVEN_UP, COMMIT_CALLED, COPY_SENT, COPY_TOLD,
    ) = range(30, 43)  # fmt: skip
    # What stands in the topics
    ENTRY_APPENDED, TOPIC_MARKED, RECORD_APPENDED, OUTPUT_MARKED = range(50, 54)
    # An auditor reads the committed output, and where a restart would resume.
    OUTPUT_READ, AUDITED = range(60, 62)
    # The migration of the earlier text
    OWNER_STARTED, LOOKED, MIGRATED, OWNER_DONE, OWNER_STALLED, OWNER_RESUMED = range(70, 76)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind task instance generation owner topic position partition round offset producer_id epoch count "
    "runtime outcome error",
)  # fmt: skip


class SourceEventLog(EventLog, kinds=Kind, event=Event):
    """A `SourceEventLog` is the event log of one history of source tasks."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = SourceEventLog.kind_names
readable = SourceEventLog.readable
