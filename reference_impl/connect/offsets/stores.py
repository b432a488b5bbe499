"""This module reads and writes source offsets, in one topic or in two that act as one store."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE, OLDER_SOFTWARE, Kind
from fencepost.reference_impl.connect.offsets.environment import Environment
from fencepost.reference_impl.connect.offsets.kafka import (
    GLOBAL,
    PARTITION_OF,
    SEPARATE,
    Brokers,
    Entry,
    of_asking_the_end,
    of_reading,
)
from fencepost.reference_impl.connect.threads import Operation, OperationError, Script, Wait

# A host is the thread that a runtime and its stores are part of: an instance of a task here, or a task of a Connect
# worker.


class Host(Protocol):
    """A `Host` is what a runtime and its stores need of the thread that they run in."""

    @property
    def process(self) -> int:
        """Return the process that the thread runs in, by the number that its threads have."""

    def operation(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Operation:
        """Return an operation that happens outside the thread, when the driver lets it."""

    def call(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        """Do an operation whose failure is the task's."""

    def failure(self, error: Exception) -> Exception:
        """Return the task's failure for an error of an operation."""

    def report(self, kind: int, **columns: int) -> None:
        """Report an event of the task."""

    def must_stop(self) -> bool:
        """Return whether the task was asked to stop."""

    def now_ms(self) -> int:
        """Return the time in milliseconds."""


# A reader follows an offsets topic and has a table of its source offsets; it reads the topic to the end (618.32).
#
# The end is asked for with read_uncommitted, and is after everything that any transaction has written there. Consuming
# is done with read_committed, at most to the last stable offset. A reader that has to reach the end waits until what
# was open is decided, for as long as that takes. (KafkaBasedLog.readToLogEnd, TopicAdmin.endOffsets)


class TopicReader:
    """A `TopicReader` consumes one offsets topic; ``offsets`` has the last committed offset by source partition."""

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
        """Ask for the end of the topic with read_uncommitted: nothing is written from there on yet."""
        self.end = self.brokers.log(self.partition).read_limit(committed=False)
        return self.end

    @property
    def position(self) -> int:
        return self.consumer.positions.get((self.partition, self.committed), 0)

    def is_at_end(self) -> bool:
        return self.position >= self.end

    def may_go_on(self) -> bool:
        """Return whether a poll would return anything, or is not needed."""
        return self.is_at_end() or self.brokers.log(self.partition).read_limit(self.committed) > self.position

    def consume(self) -> int:
        """Poll once, up to the last stable offset, and return the position."""
        for _, record in self.consumer.read(self.brokers.log(self.partition), self.committed):
            content = self.brokers.env.contents[record]
            if isinstance(content, Entry):  # others' offsets are of no interest
                self.apply(*content)
        return self.position

    def apply(self, partition: int, offset: int) -> None:
        """Apply an entry: the newest entry of its source partition counts, and a null offset removes the offset."""
        self.entries += 1
        if partition < 0:
            return
        if offset:
            self.offsets[partition] = offset
        else:
            self.offsets.pop(partition, None)


# A source task has these offsets topics (618.29): the one that offsets.storage.topic names, on the cluster that its
# producer targets. If that is not set, with exactly-once support it is a topic of the worker's name on that cluster,
# which is the worker's own only if the clusters are the same; without support it is the worker's topic. Software from
# before this feature has no other. (Worker.offsetStoreForExactlyOnceSourceTask, offsetStoreForRegularSourceTask)

WORKERS = "connect-offsets"
"""This is the worker's offset.storage.topic."""


class Choice(NamedTuple):
    """A `Choice` is the topic to write to and read first, and whether the worker's topic is used as well."""

    primary: int
    with_worker: bool


def chosen(named: str, same_cluster: bool, runtime: int) -> Choice:
    """Return the choice of offsets topics. ``named`` is the connector's offsets.storage.topic, empty for none;
    ``same_cluster`` means that its producer targets the worker's cluster."""
    if runtime == OLDER_SOFTWARE or (runtime != EXACTLY_ONCE and not named):
        return Choice(GLOBAL, False)
    if (named or WORKERS) == WORKERS and same_cluster:
        return Choice(GLOBAL, False)
    return Choice(SEPARATE, True)


# This class has the source offsets of records that were sent, until they are stored (OffsetStorageWriter).
#
# There is one flush at a time: what is to be flushed is set aside, and what is noted meanwhile is for the next flush. A
# flush that fails puts back what it had, except for source partitions with a newer offset.


class OffsetWriter:
    """An `OffsetWriter` has the offset of the newest record of each source partition; 0 is a null offset."""

    def __init__(self) -> None:
        self.data: dict[int, int] = {}
        self.flushing: dict[int, int] = {}

    def offset(self, partition: int, offset: int) -> None:
        self.data[partition] = offset

    def begin_flush(self) -> bool:
        """Set the offsets aside for a flush; return False if there are none."""
        self.flushing, self.data = self.data, {}
        return bool(self.flushing)

    def flushed(self) -> dict[int, int]:
        """End the flush, and return the offsets that it has stored."""
        done, self.flushing = self.flushing, {}
        return done

    def cancel_flush(self) -> None:
        self.data = {**self.flushing, **self.data}
        self.flushing = {}


# A task's source offsets are in the topic that its transactions write to and, if that is the connector's own, also in
# the worker's topic, as a copy that no thread waits for (618.31).
#
# Reading uses a combined view of both topics, in which the connector's own topic has precedence, for each source
# partition by itself. Offsets are written to the own topic, in the task's transaction; when that is committed, the
# worker's producer writes a copy to the worker's topic, outside any transaction. A null offset is written to the
# worker's topic first, and only if that succeeds to the own one: otherwise the old offset in the worker's topic would
# reappear (KAFKA-15018).
#
# This is the text. The released code makes the copies when the broker has acknowledged the entry, before the
# transaction is committed, and its view has nothing of the worker's topic where the own one is asked: see `Released`.
# (ConnectorOffsetBackingStore, KafkaOffsetBackingStore)

NONE = -1


class Found(NamedTuple):
    """A `Found` is the offset that a store has for a source partition, and the topic that it is in; the topic is -1 and
    the offset 0 if there is none."""

    topic: int
    offset: int


NOTHING = Found(NONE, 0)


class OffsetStore:
    """An `OffsetStore` has the offsets of one instance; ``primary`` is the topic that its transactions write to."""

    def __init__(
        self, env: Environment, host: Host, primary: int, runtime: int = EXACTLY_ONCE, topics: tuple[int, ...] = ()
    ) -> None:
        self.env = env
        self.host = host
        self.primary = primary
        self.runtime = runtime
        self.readers = {topic: self.reader(topic) for topic in topics or self.topics()}

    def topics(self) -> tuple[int, ...]:
        """Return the topics that are read; in the earlier text, only the connector's own topic."""
        return (GLOBAL, self.primary) if self.primary and self.env.merges else (self.primary,)

    def reader(self, topic: int) -> TopicReader:
        """Return a reader of a topic; without the feature the worker's topic is read uncommitted."""
        committed = self.runtime == EXACTLY_ONCE or topic == SEPARATE
        reader: TopicReader = self.env.new("reader", self.env.brokers, topic, committed)
        return reader

    # Reading

    def get(self, partitions: Iterable[int]) -> Script:
        """Read to the end now, and return the offsets of these source partitions."""
        yield from self.read_to_end()
        return {partition: self.view(partition) for partition in partitions}

    def read_to_end(self) -> Script:
        for topic in self.readers:
            yield from self.read_topic(topic)

    def read_topic(self, topic: int) -> Script:
        """Read one topic up to the end that it has now. Return False if the host has to stop before that."""
        reader = self.readers[topic]
        yield from self.host.call("ask_end", partial(self.ask_end, reader))
        self.host.report(Kind.END_ASKED, topic=topic, position=reader.end)
        while not reader.is_at_end():
            yield Wait(lambda: reader.may_go_on() or self.host.must_stop())
            if self.host.must_stop():
                return False
            yield from self.host.call("read", partial(self.consume, reader))
        self.host.report(Kind.END_REACHED, topic=topic, position=reader.position)
        return True

    def ask_end(self, reader: TopicReader) -> None:
        self.env.brokers.permit(of_asking_the_end, reader.partition, "listOffsets")
        reader.ask_end()

    def consume(self, reader: TopicReader) -> None:
        self.env.brokers.permit(of_reading, reader.partition, "poll")
        reader.consume()

    def view(self, partition: int) -> Found:
        """Return the combined view's offset of a source partition; the connector's own topic has precedence."""
        for topic in sorted(self.readers, reverse=True):
            if partition in self.readers[topic].offsets:
                return Found(topic, self.readers[topic].offsets[partition])
        return NOTHING

    # Writing

    def has_copy(self) -> bool:
        """Return whether the worker's topic has copies of what is in the connector's own topic."""
        return self.primary == SEPARATE and self.env.merges

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        """Write offsets to the task's topic; `send` writes an entry there, in its transaction if it has one."""
        if self.has_copy():
            for partition, offset in offsets.items():
                if not offset:
                    yield from self.write_second_tombstone(partition)
        yield from self.host.call("flush", partial(self.send_all, offsets, send))

    def send_all(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> None:
        for partition, offset in offsets.items():
            send(self.primary, Entry(partition, offset))

    def write_second_tombstone(self, partition: int) -> Script:
        """Write a null offset to the worker's topic first; if this fails, the flush has failed."""
        self.host.report(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=0)
        yield from self.host.call("copy", partial(self.append_copy, partition, 0))
        self.host.report(Kind.COPY_TOLD, topic=GLOBAL, partition=partition, offset=0)

    def committed(self, offsets: Mapping[int, int]) -> None:
        """Copy these offsets, which are committed now."""
        self.copy(offsets)

    def copy(self, offsets: Mapping[int, int]) -> None:
        """Hand the offsets that are not null to the worker's producer, which sends them later."""
        if self.has_copy():
            for partition, offset in offsets.items():
                if offset:
                    self.host.report(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=offset)
                    self.env.threads.start(self.host.process, self.copying(partition, offset))

    def copying(self, partition: int, offset: int) -> Script:
        error = 0
        try:
            yield self.host.operation("copy", partial(self.append_copy, partition, offset))
        except OperationError as failed:
            error = failed.code
        self.host.report(Kind.COPY_TOLD, topic=GLOBAL, partition=partition, offset=offset, error=error)

    def append_copy(self, partition: int, offset: int) -> None:
        self.env.brokers.append_directly(PARTITION_OF[GLOBAL], Entry(partition, offset))


# This is the store of a connector's offsets as it is released, from Kafka 3.3 to the trunk of August 2026.
#
# The connector's own topic answers for each source partition, with a null where it has no offset, and this answer
# overrides that of the worker's topic: so the worker's offsets are hidden, although the Javadoc of `get` promises a
# fallback. The copy in the worker's topic is made in the callback of the own topic's write, when a broker has
# acknowledged the entry and its transaction is still open. (`ConnectorOffsetBackingStore.get`,
# `.setPrimaryThenSecondary`, `KafkaOffsetBackingStore.get`) Each of the two classes alone is Kafka with the other
# mistake repaired.


class NullsHide(OffsetStore):
    """In the view of `NullsHide`, only the topic that transactions write to counts for every source partition."""

    def view(self, partition: int) -> Found:
        found = self.readers[self.primary].offsets.get(partition, 0)
        return Found(self.primary, found) if found else NOTHING


class CopiedWhenSent(OffsetStore):
    """`CopiedWhenSent` makes the copies when the broker has the entries, whatever becomes of their transaction."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from super().set(offsets, send)
        self.copy(offsets)

    def committed(self, offsets: Mapping[int, int]) -> None:
        """Do nothing, because the copies were made before."""


class Released(NullsHide, CopiedWhenSent):
    """`Released` has both mistakes of Kafka's released code, those of `NullsHide` and `CopiedWhenSent`."""


STORES: Mapping[str, type[OffsetStore]] = MappingProxyType({
    "shipped": Released,
    "shipped-own-topic-from-the-start": Released,
    "shipped-own-topic-later": Released,
    "shipped-own-topic-taken": Released,
    "falls-back-alone": CopiedWhenSent,
    "copies-when-committed-alone": NullsHide,
})  # fmt: skip
"""This table maps a mode to the store that it uses; other modes use `OffsetStore`."""
