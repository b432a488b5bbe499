"""The connector's own code: a source task that polls an external system, partition by partition, from where its stored
offsets say.

A record's source offset is the number of records of its partition so far. The last record of each round but the final
one has a null source offset: the task has its partition read again from the beginning, which is the next round; which
round that is the external system knows, as it does which records there are.
"""

from collections.abc import Mapping

from fencepost.reference_impl.source_offsets.config import Config
from fencepost.reference_impl.source_offsets.kafka import Record


class SourceTask:
    """One `SourceTask`, with the source partitions that it has; `rounds` is what the external system says."""

    def __init__(self, config: Config, found: Mapping[int, int], rounds: Mapping[int, int]) -> None:
        self.config = config
        self.next = {p: Record(p, rounds[p], offset + 1) for p, offset in found.items()}
        self.unread = self.look_for_more()  # kept, since every idle task asks after everything that happens
        self.turn = 0  # whose record comes next
        self.batches = 0  # since the connector last asked for an end of the transaction
        self.asked = -1  # what operators of the source have it ask for, with the next batch

    def has_more(self) -> bool:
        """Whether any partition has a record that was not polled."""
        return self.unread

    def look_for_more(self) -> bool:
        """As `has_more`, of what comes next now."""
        return any(record.offset <= self.config.records for record in self.next.values())

    def poll(self) -> list[Record]:
        """The next batch, from all partitions in turn; empty if there is none (null, for Connect)."""
        batch: list[Record] = []
        partitions = list(self.next)
        idle = 0
        while len(batch) < self.config.batch and idle < len(partitions):
            partition = partitions[self.turn % len(partitions)]
            self.turn += 1
            record = self.next[partition]
            if record.offset > self.config.records:
                idle += 1
                continue
            idle = 0
            batch.append(record)
            self.next[partition] = self.following(record)
        self.unread = self.look_for_more()
        return batch

    def following(self, record: Record) -> Record:
        """The record behind this one."""
        if not self.config.stored_offset(record.round, record.offset):
            return Record(record.partition, record.round + 1, 1)
        return Record(record.partition, record.round, record.offset + 1)

    def boundary(self) -> int:
        """Which end of the transaction the connector asks for with the batch that it has returned: 1 commit, 0 abort,
        -1 none. By itself it commits every few batches, and at the end of the source."""
        self.batches += 1
        asked = self.asked
        if asked < 0 and (self.batches >= self.config.own_batches or not self.has_more()):
            asked = 1
        if asked >= 0:
            self.batches, self.asked = 0, -1
        return asked
