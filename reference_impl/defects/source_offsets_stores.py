"""This module has the defects of source offsets in offset stores."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from fencepost.reference_impl.connect.offsets.config import Kind
from fencepost.reference_impl.connect.offsets.environment import Process
from fencepost.reference_impl.connect.offsets.instances import Connector, Instance, Owner
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, PARTITION_OF, SENTINEL, SEPARATE, Brokers, Entry
from fencepost.reference_impl.connect.offsets.stores import NOTHING as NOTHING_THERE
from fencepost.reference_impl.connect.offsets.stores import Found, NullsHide, OffsetStore, TopicReader
from fencepost.reference_impl.connect.threads import OperationError, Script
from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.simulation.defects import NOTHING, PROGRESS, PROMISE, defect


# 618.32, 618.18: reading to the end
@defect("618.32", PROMISE)
class ReadsToTheLastStable(TopicReader):
    """The reader stops at the last stable offset and misses commits behind an open transaction (C22)."""

    def ask_end(self) -> int:
        self.end = self.brokers.log(self.partition).read_limit(committed=True)
        return self.end


@defect("618.32", PROMISE)
class OneLook(TopicReader):
    """The reader stops after one poll, even if that poll has not reached the end."""

    def is_at_end(self) -> bool:
        return self.looked or super().is_at_end()

    looked = False

    def may_go_on(self) -> bool:
        return True

    def consume(self) -> int:
        self.looked = True
        return super().consume()


@defect("618.32", PROMISE)
class ReadsUncommitted(TopicReader):
    """The consumer has the default isolation level and reads the offsets of aborted transactions."""

    def __init__(self, brokers: Brokers, topic: int, committed: bool = True) -> None:
        super().__init__(brokers, topic, committed=False)


class ReadOnce(OffsetStore):
    """The store does not read to the end again once it has done so."""

    known = False

    def read_to_end(self) -> Script:
        if not self.known:
            yield from super().read_to_end()
        self.known = True


@defect("618.18", PROMISE, also=(ReadOnce,))
class ReadsFirst(Instance):
    """The task reads offsets before initTransactions(), while its predecessor may still commit."""

    def start_up(self, store: OffsetStore) -> Script:
        yield from store.read_to_end()
        yield from super().start_up(store)


# 618.31: two topics as one
@defect("618.31", PROMISE, separate=True)
class GlobalPreferred(OffsetStore):
    """The worker's topic takes precedence over the connector's own offsets topic (C26)."""

    def view(self, partition: int) -> Found:
        found = self.readers[GLOBAL].offsets.get(partition, 0) if GLOBAL in self.readers else 0
        return Found(GLOBAL, found) if found else super().view(partition)


@defect("618.31", PROMISE, separate=False)
class AllOrNothing(OffsetStore):
    """The store reads the worker's topic only while the own one is empty: precedence by topic, not partition."""

    def view(self, partition: int) -> Found:
        if self.primary == SEPARATE and self.readers[SEPARATE].offsets:
            found = self.readers[SEPARATE].offsets.get(partition, 0)
            return Found(SEPARATE, found) if found else NOTHING_THERE
        return super().view(partition)


@defect(
    "618.31",
    NOTHING,
    "copies in the worker's topic are made as well as can be; a connector with a topic of its own reads that",
    harmless=("text-merged-view", "618.31", "never_copied"),
    rounds=1,
    separate=True,
)
class NeverCopied(OffsetStore):
    """The store copies no offsets to the worker's topic, where copies are best effort and no worker relies on one."""

    def has_copy(self) -> bool:
        return False


@defect("618.31", PROMISE, rounds=2, separate=True)
class TombstonePrimaryFirst(OffsetStore):
    """The store copies tombstones to the worker's topic after the commit, like other offsets, and does not wait for
    them, as Kafka did before KAFKA-15018 (B35)."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from self.host.call("flush", partial(self.send_all, offsets, send))

    def copy(self, offsets: Mapping[int, int]) -> None:
        super().copy(offsets)
        if self.has_copy():
            for partition, offset in offsets.items():
                if not offset:
                    self.host.report(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=0)
                    self.env.threads.start(self.host.process, self.copying(partition, 0))


@defect("618.31", PROMISE, rounds=2, separate=True)
class TombstonesNotCopied(OffsetStore):
    """The store copies offsets to the worker's topic, but not tombstones."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from self.host.call("flush", partial(self.send_all, offsets, send))


@defect("618.31", PROMISE, rounds=2, separate=True)
class TombstonesLeftOut(OffsetStore):
    """The store does not write a null offset at all."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from super().set({partition: offset for partition, offset in offsets.items() if offset}, send)


@defect("618.27", PROMISE, rounds=2, separate=True)
class FlushNotAwaited(OffsetStore):
    """With a tombstone among them, all offsets are sent in the thread of the worker's producer once it has the answer
    to the tombstone, as since KAFKA-15018. The task does not wait for that before it commits. Offsets that are sent too
    late are refused by the producer, or belong to the next transaction.
    (ConnectorOffsetBackingStore.ChainedOffsetWriteFuture)"""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        if not self.has_copy() or all(offsets.values()):
            yield from super().set(offsets, send)
        else:
            self.env.threads.start(self.host.process, self.in_its_thread(dict(offsets), send))

    def in_its_thread(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        """Write the tombstones first, and then send all offsets in the worker producer's thread."""
        for partition, offset in offsets.items():
            if not offset:
                self.host.report(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=0)
                try:
                    yield self.host.operation("copy", partial(self.append_copy, partition, 0))
                except OperationError:
                    return
                self.host.report(Kind.COPY_TOLD, topic=GLOBAL, partition=partition, offset=0)
        assert isinstance(self.host, Process), "an instance of a task"
        producer = self.host.producer
        if producer is not None and not producer.closed and producer.client.state is State.IN_TRANSACTION:
            self.send_all(offsets, send)


# 618.39: the rejected alternative
@defect("618.39", PROMISE, separate=False)
class CopiedByTasks(NullsHide):
    """A task that finds its own topic empty copies all offsets of the worker's topic and then relies on its own topic
    alone. This is the rejected alternative (618.39). Two tasks may copy at the same time, and they have different
    transactional ids."""

    def get(self, partitions: Iterable[int]) -> Script:
        yield from self.read_to_end()
        own = self.readers[self.primary]
        if self.primary == SEPARATE and not own.entries and isinstance(self.host, Process):
            producer = self.host.producer
            assert producer is not None, "opened before"

            def copy() -> None:
                producer.begin()
                for entry in self.readers[GLOBAL].offsets.items():
                    producer.send(PARTITION_OF[SEPARATE], Entry(*entry))

            if self.readers[GLOBAL].offsets:
                yield from self.host.call("migrate", copy)
                yield from self.host.call("commit", producer.commit)
                yield from self.read_topic(SEPARATE)
        return {partition: self.view(partition) for partition in partitions}

    def has_copy(self) -> bool:
        """Return False, because the offsets that were copied once are not copied back."""
        return False


# 618.6, 618.7, 618.19: who may write
@defect("618.6", PROMISE)
class OwnId(Instance):
    """Every instance has a transactional id of its own, so it fences no other instance."""

    def transactional_id(self) -> str:
        return f"{super().transactional_id()}-{self.process}"


@defect("618.7", PROMISE)
class NotFenced(Connector):
    """A set starts while producers of the previous set may still commit."""

    def fence(self) -> None:
        pass


@defect("618.19", PROMISE)
class NotChecked(Instance):
    """No worker checks whether there is a newer set."""

    def is_newest(self) -> bool:
        return True


@defect("618.19", PROMISE)
class CheckedFirst(Instance):
    """The check for a newer set comes before initTransactions()."""

    def start_up(self, store: OffsetStore) -> Script:
        if self.runtime == 0:
            yield from self.check()
            yield from self.open_producer()


# 618.30, 618.45: the earlier text
@defect("618.30", PROMISE, mode="migration-sentinel", separate=False)
class OwnersNotFenced(Owner):
    """Owners do not fence one another, since the text of the proposal names no transactional id for them (H8)."""

    def transactional_id(self) -> str:
        return f"{super().transactional_id()}-{self.number}"


@defect("618.30", PROMISE, mode="migration-sentinel", separate=False)
class LooksFirst(Owner):
    """The owner checks whether the topic is empty before initTransactions(), and not again (C25). Another owner may
    fill the topic, and tasks may go on from there, before this owner has fenced the other."""

    def migrate(self) -> Script:
        store: OffsetStore = self.env.new("store", self.env, self, SEPARATE, 0, (GLOBAL, SEPARATE))
        if (yield from self.is_filled(store)):
            return
        yield from self.open()
        yield from self.copy(store)


@defect("618.30", PROMISE, mode="migration-sentinel", separate=False)
class FilledAnyway(Owner):
    """The owner fills the topic without checking whether it is empty."""

    def is_filled(self, store: OffsetStore) -> Script:
        yield from ()
        return False


@defect("618.30", PROMISE, mode="migration-sentinel", separate=False)
class CopiedInPieces(Owner):
    """The owner copies every offset in a transaction of its own."""

    def copy(self, store: OffsetStore) -> Script:
        yield from store.read_topic(GLOBAL)
        for entry in [Entry(*each) for each in store.readers[GLOBAL].offsets.items()] or [SENTINEL]:
            yield from self.call("migrate", partial(self.copy_one, entry))
        yield from store.read_topic(SEPARATE)

    def copy_one(self, entry: Entry) -> None:
        """Copy one offset in a transaction of its own."""
        assert self.producer is not None, "opened before"
        self.producer.begin()
        self.report_copy(entry)
        self.producer.send(PARTITION_OF[SEPARATE], entry)
        self.producer.commit()


@defect("618.30", PROGRESS, mode="migration-sentinel", separate=False)
class NoSentinel(Owner):
    """The owner writes nothing when there are no offsets to copy."""

    def fill(self, offsets: Mapping[int, int]) -> None:
        if offsets:
            super().fill(offsets)
        else:
            assert self.producer is not None, "opened before"
            self.producer.begin()


@defect("618.45", PROMISE, mode="migration-sentinel", separate=False)
class TasksDoNotWait(Instance):
    """Tasks start although their topic has neither offsets nor the sentinel."""

    def await_content(self, store: OffsetStore) -> Script:
        yield from ()


@defect("618.45", PROMISE, mode="migration-sentinel", separate=False)
class CopiedBeforeFenced(Connector):
    """The connector fills its topic before the tasks of the old configuration are fenced, as in the text's order. The
    old tasks go on in the global topic until their successors open their producers and thereby fence them."""

    def fence(self) -> None:
        pass
