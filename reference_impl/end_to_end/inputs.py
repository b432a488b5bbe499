"""The group's input: the partitions that source tasks write to, as far as they are committed.

A consumer's offset counts the records that it gets, from 0: what stands between them in the log, markers and aborted
records, has none. So the offsets of a partition are dense, as the events of the group have them.
"""

from fencepost.reference_impl.end_to_end.environment import Copied
from fencepost.reference_impl.end_to_end.events import Kind
from fencepost.reference_impl.end_to_end.kafka import Kafka
from fencepost.reference_impl.source_offsets.kafka import Record
from fencepost.reference_impl.transactions.clients.roles import ReaderRole

READER = 1
"""The number of the reader of the input; the sink's auditor is 0."""


class Inputs:
    """`found` has the records of each partition, in order."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.env = kafka.env
        self.reader: ReaderRole = kafka.brokers._reader(READER)
        self.partitions = self.env.whole.input_partitions
        self.found: list[list[Record]] = [[] for _ in self.partitions]

    def end(self, partition: int) -> int:
        """Read on, and say how far."""
        log = self.kafka.brokers.leaders[self.partitions[partition]].log
        found = self.found[partition]
        contents: dict[int, Record] = self.env.contents  # type: ignore[assignment]
        for _, number in self.reader.read(log, True):
            record = contents[number]
            connector = self.env.connector_of(record.partition)
            self.env.ends.emit(
                Kind.OUTPUT_READ, client=record.round, connector=connector, partition=record.partition,
                offset=record.offset, topic=partition, position=len(found),
            )  # fmt: skip
            found.append(record)
        return len(found)

    def place(self, partition: int, offset: int) -> Copied:
        """The record there, which goes on with its copy."""
        place = Copied(partition, offset)
        place.source = self.found[partition][offset]
        return place
