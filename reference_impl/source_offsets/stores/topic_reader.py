"""A table of source offsets that follows an offsets topic, and how it is read to the end (618.32).

The end is asked with read_uncommitted, and is behind everything that any transaction has written there; consumed is
with read_committed, at most to the last stable offset. A reader that wants to get to the end waits until what was open
is decided, for as long as that takes. (KafkaBasedLog.readToLogEnd, TopicAdmin.endOffsets)
"""

from fencepost.reference_impl.source_offsets.kafka import PARTITION_OF, Brokers, Entry


class TopicReader:
    """One consumer of one offsets topic; `offsets` has by source partition what the last committed entry says."""

    def __init__(self, brokers: Brokers, topic: int, committed: bool = True) -> None:
        self.brokers = brokers
        self.topic = topic
        self.partition = PARTITION_OF[topic]
        self.committed = committed  # isolation.level
        self.consumer = brokers.new_reader()
        self.offsets: dict[int, int] = {}
        self.entries = 0  # of committed transactions, the sentinel among them
        self.end = 0

    def ask_end(self) -> int:
        """The end from where on nothing was written yet."""
        self.end = self.brokers.log(self.partition).read_limit(committed=False)
        return self.end

    @property
    def position(self) -> int:
        """Where the consumer reads on."""
        return self.consumer.positions.get((self.partition, self.committed), 0)

    def is_at_end(self) -> bool:
        """Whether the consumer is where the end was."""
        return self.position >= self.end

    def may_go_on(self) -> bool:
        """Whether a poll would return anything, or is not needed."""
        return self.is_at_end() or self.brokers.log(self.partition).read_limit(self.committed) > self.position

    def consume(self) -> int:
        """Polls, once: everything up to the last stable offset. Returns the position."""
        for _, record in self.consumer.read(self.brokers.log(self.partition), self.committed):
            content = self.brokers.env.contents[record]
            if isinstance(content, Entry):  # others' offsets are of no interest
                self.apply(*content)
        return self.position

    def apply(self, partition: int, offset: int) -> None:
        """An entry: the newest one of its source partition counts, and a null offset is none."""
        self.entries += 1
        if partition < 0:
            return
        if offset:
            self.offsets[partition] = offset
        else:
            self.offsets.pop(partition, None)
