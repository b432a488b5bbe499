"""A source task without exactly-once support: records are sent beside any transaction, and their offsets after them.

Only what the offsets topics have to do with it is here: each batch is followed by a flush, and a task that ends in
order has flushed everything. That a crash repeats records is its guarantee (at least once), and not looked at.
(WorkerSourceTask)
"""

from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.kafka import PARTITION_OF, Entry, Record
from fencepost.reference_impl.source_offsets.tasks.runtime import Runtime
from fencepost.reference_impl.task_counts.brokers import OUTPUT_TOPIC
from fencepost.reference_impl.task_counts.tasks.threads import Script


class AtLeastOnce(Runtime):
    """Without exactly-once support."""

    def produce(self, record: Record) -> None:
        self.tell_record(Kind.RECORD_SENT, record)
        self.store.env.brokers.append_beside(OUTPUT_TOPIC, record)

    def at_batch(self) -> Script:
        if self.writer.begin_flush():
            yield from self.store.set(self.writer.flushing, self.send_offset)
            self.store.committed(self.writer.flushed())
        self.host.tell(Kind.COMMIT_CALLED)

    def at_end(self) -> Script:
        yield from self.at_batch()

    def send_offset(self, topic: int, entry: Entry) -> None:
        """One entry of an offsets topic."""
        self.host.tell(Kind.OFFSET_SENT, topic=topic, partition=entry.partition, offset=entry.offset)
        self.store.env.brokers.append_beside(PARTITION_OF[topic], entry)
