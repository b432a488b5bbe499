"""Where a task's source offsets are: in the topic that its transactions write to, and, if that is the connector's own,
also in the worker's, as a copy that nobody waits for (618.31).

What is read is a combined view of both, in which the connector's own topic has precedence, for each source partition by
itself. What is written goes to the own topic, in the task's transaction; when that is committed, its copy goes to the
worker's topic, by the worker's producer, beside any transaction. A null offset goes to the worker's topic first, and
only if it is there to the own one: else the old offset in the worker's topic would show again (KAFKA-15018).

That is the text. The released code makes the copies when the broker has acknowledged the entry, that is before the
transaction is committed, and its view has nothing of the worker's topic where the own one is asked: see `released`.
(ConnectorOffsetBackingStore, KafkaOffsetBackingStore)
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.environment import Environment
from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.host import Host
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, PARTITION_OF, SEPARATE, Entry
from fencepost.reference_impl.source_offsets.permissions import of_asking_the_end, of_reading
from fencepost.reference_impl.source_offsets.stores.topic_reader import TopicReader
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script, Wait

NONE = -1


class Found(NamedTuple):
    """What a store has for a source partition, and in which topic; -1 and 0: nothing."""

    topic: int
    offset: int


NOTHING = Found(NONE, 0)


class OffsetStore:
    """The offsets of one instance; `primary` is the topic of its transactions."""

    def __init__(
        self, env: Environment, host: Host, primary: int, runtime: int = EXACTLY_ONCE, topics: tuple[int, ...] = ()
    ) -> None:
        self.env = env
        self.host = host
        self.primary = primary
        self.runtime = runtime
        self.readers = {topic: self.reader(topic) for topic in topics or self.topics()}

    def topics(self) -> tuple[int, ...]:
        """Those that are read: in the earlier text the own topic alone, once it is filled."""
        return (GLOBAL, self.primary) if self.primary and self.env.merges else (self.primary,)

    def reader(self, topic: int) -> TopicReader:
        """Without the feature the worker reads its topic with read_uncommitted, which is its consumer's default."""
        committed = self.runtime == EXACTLY_ONCE or topic == SEPARATE
        reader: TopicReader = self.env.new("reader", self.env.brokers, topic, committed)
        return reader

    # Reading

    def get(self, partitions: Iterable[int]) -> Script:
        """What there is of these source partitions, read to the end now."""
        yield from self.read_to_end()
        return {partition: self.view(partition) for partition in partitions}

    def read_to_end(self) -> Script:
        """All topics."""
        for topic in self.readers:
            yield from self.read_topic(topic)

    def read_topic(self, topic: int) -> Script:
        """One topic: its end, and then until there. False if the host gave up before."""
        reader = self.readers[topic]
        yield from self.host.call("ask_end", partial(self.ask_end, reader))
        self.host.tell(Kind.END_ASKED, topic=topic, position=reader.end)
        while not reader.is_at_end():
            yield Wait(lambda: reader.may_go_on() or self.host.must_stop())
            if self.host.must_stop():
                return False
            yield from self.host.call("read", partial(self.consume, reader))
        self.host.tell(Kind.END_REACHED, topic=topic, position=reader.position)
        return True

    def ask_end(self, reader: TopicReader) -> None:
        """As the connector's admin."""
        self.env.brokers.permit(of_asking_the_end, reader.partition, "listOffsets")
        reader.ask_end()

    def consume(self, reader: TopicReader) -> None:
        """As the connector's consumer."""
        self.env.brokers.permit(of_reading, reader.partition, "poll")
        reader.consume()

    def view(self, partition: int) -> Found:
        """The combined view: the connector's own topic has precedence."""
        for topic in sorted(self.readers, reverse=True):
            if partition in self.readers[topic].offsets:
                return Found(topic, self.readers[topic].offsets[partition])
        return NOTHING

    # Writing

    def has_copy(self) -> bool:
        """Whether the worker's topic has copies of what is in the own one."""
        return self.primary == SEPARATE and self.env.merges

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        """Write offsets to the task's topic; `send` writes an entry there, in its transaction if it has one."""
        if self.has_copy():
            for partition, offset in offsets.items():
                if not offset:
                    yield from self.write_tombstone_beside(partition)
        yield from self.host.call("flush", partial(self.send_all, offsets, send))

    def send_all(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> None:
        """All of them."""
        for partition, offset in offsets.items():
            send(self.primary, Entry(partition, offset))

    def write_tombstone_beside(self, partition: int) -> Script:
        """A null offset goes to the worker's topic first; if it does not get there, the flush has failed."""
        self.host.tell(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=0)
        yield from self.host.call("copy", partial(self.append_copy, partition, 0))
        self.host.tell(Kind.COPY_TOLD, topic=GLOBAL, partition=partition, offset=0)

    def committed(self, offsets: Mapping[int, int]) -> None:
        """They count from now on: the copies may be made."""
        self.copy(offsets)

    def copy(self, offsets: Mapping[int, int]) -> None:
        """The worker's producer gets what is not null, and sends it when it comes to that."""
        if self.has_copy():
            for partition, offset in offsets.items():
                if offset:
                    self.host.tell(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=offset)
                    self.env.threads.start(self.host.process, self.copying(partition, offset))

    def copying(self, partition: int, offset: int) -> Script:
        """One entry of the worker's producer; an error is logged."""
        error = 0
        try:
            yield self.host.operation("copy", partial(self.append_copy, partition, offset))
        except OperationError as failed:
            error = failed.code
        self.host.tell(Kind.COPY_TOLD, topic=GLOBAL, partition=partition, offset=offset, error=error)

    def append_copy(self, partition: int, offset: int) -> None:
        """Beside any transaction."""
        self.env.brokers.append_beside(PARTITION_OF[GLOBAL], Entry(partition, offset))
