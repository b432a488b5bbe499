"""This module has the configuration of one source task, and the kinds of its events."""

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Self

from fencepost.reference_impl.simulation import EventLog
from fencepost.reference_impl.simulation.config import Configuration, Natural, OneOf, Positive, split

PROPOSED, EXACTLY_ONCE, SHIPPED, MENDED = "proposed", "proposed-exactly-once", "shipped", "shipped-mended"

AT_LEAST_ONCE = "at-least-once"
TRANSACTIONS = "exactly-once"

TOLD, LOOKED_UP, LAST_POLLED, NEWEST, PREFIX, LAST_PREFIX, EMPTY_IS_ALL = (
    "told", "looked-up", "last-polled", "newest-acknowledged", "acknowledged-prefix", "previous-prefix", "empty-is-all",
)  # fmt: skip
"""These policies name what a connector confirms upstream when commit is called, in this order: the map that it is
given; what it reads from the offsets topic; the last offset that it has polled; the newest that was acknowledged; all
before the first that was not acknowledged; the same as of the previous call; the map, or the last polled offset where
the map is empty."""

FLUSHED, SNAPSHOT = "flushed", "snapshot"

MODES: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    PROPOSED: {},
    EXACTLY_ONCE: {"delivery": TRANSACTIONS},
    SHIPPED: {"argument": False, "upstream": LOOKED_UP, "serial": False},
    MENDED: {"argument": False, "upstream": LOOKED_UP},
    "last-polled": {"argument": False, "upstream": LAST_POLLED},
    "newest-acknowledged": {"argument": False, "upstream": NEWEST},
    "ahead-of-the-flush": {"argument": False, "upstream": PREFIX},
    "previous-snapshot": {"argument": False, "upstream": LAST_PREFIX},
    "first-of-several": {"several": 2, "stamped": "first"},
    "failure-not-acknowledged": {"tolerance": "all", "failures_acknowledged": False},
    "told-by-two-threads": {"serial": False},
    "empty-means-all": {"upstream": EMPTY_IS_ALL},
    "snapshot-only": {"map_of": SNAPSHOT},
    "zombie": {"zombies": True},
})  # fmt: skip
"""This table maps the name of a mode to the keys that differ from `PROPOSED`."""


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """A `Config` is the configuration of one source task. The `mode` sets everything that is not a size of the task,
    and single keys may override it."""

    seed: int = 0
    mode: Annotated[str, OneOf(*MODES)] = PROPOSED
    partitions: Positive = 2  # source partitions
    records: Natural = 6  # in each of them; 0: without end
    outputs: Positive = 2  # partitions that the records of each source partition go to in turn
    batch: Positive = 2  # so many records a poll returns at most
    tolerance: Annotated[str, OneOf("none", "all")] = "none"  # errors.tolerance
    filtered: Natural = 0  # a transformation drops each record whose place is a multiple of this; 0: none
    # Records are delivered with acknowledgements and a committer, or in transactions.
    delivery: Annotated[str, OneOf(AT_LEAST_ONCE, TRANSACTIONS)] = AT_LEAST_ONCE
    argument: bool = True  # commit(map) as proposed; False: commit() as shipped
    # The map has what the successful flush has written, with what earlier flushes failed to write; or what was taken
    # last.
    map_of: Annotated[str, OneOf(FLUSHED, SNAPSHOT)] = FLUSHED
    # One thread commits offsets at a time, from taking them to the end of the call. False is as in Kafka, where what is
    # taken under the task's lock is handed to the writer without it, and the final commit and the committer wait only
    # for each other's flush (WorkerSourceTask.commitOffsets).
    serial: bool = True
    # The wait for a flush may time out just when its callback has run: the flush counts as failed then, although all of
    # it is written and none of it is merged back, as a comment in WorkerSourceTask.java notes.
    late_time_outs: bool = False
    failures_acknowledged: bool = True  # a tolerated failure acknowledges the record (KAFKA-14079)
    zombies: bool = False  # instances may be left behind, and requests of dead ones arrive
    # The connector
    upstream: Annotated[str, OneOf(TOLD, LOOKED_UP, LAST_POLLED, NEWEST, PREFIX, LAST_PREFIX, EMPTY_IS_ALL)] = TOLD
    several: Positive = 1  # so many records are of one thing upstream, which has one source offset
    stamped: Annotated[str, OneOf("last", "first")] = "last"  # from which of them on records carry that
    nulls: Natural = 0  # records whose place is a multiple of this have a null source offset; 0: none
    # A record of a transaction that the connector had aborted is acknowledged later, with metadata, as in Kafka.
    aborted_acknowledged: bool = False

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """Return the checked configuration: the keys of the mode, overridden by those of `config`."""
        mode = config.get("mode", PROPOSED)
        return cls(**split({**MODES.get(mode, {}), **config}, cls)[0])

    def relate(self) -> None:
        if self.upstream in (TOLD, EMPTY_IS_ALL) and not self.argument:
            raise ValueError(f"config upstream={self.upstream!r}: commit() without an argument says nothing of offsets")
        if self.zombies and self.delivery == TRANSACTIONS:
            raise ValueError("config zombies=True: what is fenced by a transactional id is of another protocol")

    @property
    def is_transactional(self) -> bool:
        return self.delivery == TRANSACTIONS

    @property
    def tolerates(self) -> bool:
        return self.tolerance == "all"


# A history of one source task has events as rows of integers, in the order in which things happened.
#
# `partition` is a source partition, `record` is the place of a record in it (from 1), `offset` is a source offset (0:
# none). `output` and `position` are of the topics that records are sent to; `position` of an `offset_written` is that
# in the offsets topic. -1 is the value of a column that does not apply.


class Kind:
    """`Kind` has the kinds of event as integers, which are the codes in column `kind`."""

    # Instances of the task
    INSTANCE_STARTED, RESUMED, STOPPING, INSTANCE_STOPPED, INSTANCE_FAILED, INSTANCE_KILLED = range(1, 7)
    # What becomes of records
    POLLED, FILTERED, SUBMITTED, DROPPED, PRODUCED, ACKNOWLEDGED, GIVEN_UP, SEND_FAILED = range(10, 18)
    # What becomes of offsets
    COMMITTABLE, SNAPSHOT_TAKEN, FLUSH_BEGUN, FLUSH_ENTRY, OFFSET_WRITTEN, FLUSH_ENDED, FLUSH_REFUSED = range(20, 27)
    DRAINED = 27
    # What the connector is notified of them
    TOLD, TOLD_OFFSET, LOOKED_UP, TELLING_FAILED = range(30, 34)
    # The upstream system
    DISCARDED = 40
    # Transactions of an exactly-once task
    TRANSACTION_BEGUN, TRANSACTION_COMMITTED, TRANSACTION_ABORTED = range(50, 53)
    # An auditor reads the committed output and the stored offsets.
    OUTPUT_READ, AUDITED = range(60, 62)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind instance thread partition record offset output position flush entries outcome",
)


class SourceEventLog(EventLog, kinds=Kind, event=Event):
    """A `SourceEventLog` is the event log of one history of a source task."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = SourceEventLog.kind_names
readable = SourceEventLog.readable
