"""The configuration of one source connector, its source and its Kafka: keys, defaults, ranges and reasons."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from fencepost.reference_impl.simulation.config import Configuration, Natural, OneOf, Positive, split
from fencepost.reference_impl.source_offsets.variants import CONFIGS, MODES, SEPARATE_BY_MODE
from fencepost.reference_impl.transactions.config import MODES as TRANSACTION_MODES

EXACTLY_ONCE, FEATURE_OFF, OLDER_SOFTWARE = 0, 1, 2
"""What tasks run on: this feature; the same software without it; software from before it, which knows no topic but the
worker's."""
POLL, INTERVAL, CONNECTOR = "poll", "interval", "connector"


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """One connector. Times are virtual milliseconds; the defaults are Kafka's."""

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
    # What operators may do that the guarantee excludes: take the feature, or the separate topic, away and bring it back
    downgrades: bool = False
    # Kafka
    transaction_timeout_ms: Positive = 60_000  # of the tasks' producers
    timeout_check_ms: Positive = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    # The protocol of the brokers' transactional coordinator: Kafka 3.3, which this was shipped in, had v1
    transactions: Annotated[str, OneOf(*TRANSACTION_MODES)] = "v1"

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """As any; a variant brings along what it shows in, which a key that is given outweighs."""
        mode = config.get("mode", "")
        whether = {"separate": SEPARATE_BY_MODE[mode]} if mode in SEPARATE_BY_MODE else {}
        return cls(**split({**CONFIGS.get(mode, {}), **config, **whether}, cls)[0])

    def stored_offset(self, round_: int, offset: int) -> int:
        """The source offset that this record comes with, 0 for a null one."""
        return 0 if offset == self.records and round_ < self.rounds - 1 else offset

    def is_filtered(self, offset: int) -> bool:
        """Whether a transformation drops the record, which it does whenever it is polled. The last one of a partition
        is kept."""
        return self.filtered > 0 and offset % self.filtered == 0 and offset != self.records
