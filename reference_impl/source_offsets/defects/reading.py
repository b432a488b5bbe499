"""Defects of reading: to where, what, and when (618.18, 618.32), and how two topics are one (618.31)."""

from collections.abc import Iterable

from fencepost.reference_impl.source_offsets.kafka import GLOBAL, PARTITION_OF, SEPARATE, Brokers, Entry
from fencepost.reference_impl.source_offsets.stores.offset_store import NOTHING, Found, OffsetStore
from fencepost.reference_impl.source_offsets.stores.released import NullsHide
from fencepost.reference_impl.source_offsets.stores.topic_reader import TopicReader
from fencepost.reference_impl.source_offsets.tasks.instance import Instance
from fencepost.reference_impl.source_offsets.tasks.process import Process
from fencepost.reference_impl.task_counts.tasks.threads import Script


class ToTheLastStable(TopicReader):
    """The end is asked with read_committed as well: what is committed behind an open transaction is not read (C22)."""

    def ask_end(self) -> int:
        self.end = self.brokers.log(self.partition).read_limit(committed=True)
        return self.end


class Uncommitted(TopicReader):
    """The consumer has the default isolation level, and reads the offsets of transactions that were aborted."""

    def __init__(self, brokers: Brokers, topic: int, committed: bool = True) -> None:
        super().__init__(brokers, topic, committed=False)


class OneLook(TopicReader):
    """One poll is taken for the end, wherever it got to."""

    def is_at_end(self) -> bool:
        return self.looked or super().is_at_end()

    looked = False

    def may_go_on(self) -> bool:
        return True

    def consume(self) -> int:
        self.looked = True
        return super().consume()


class ReadsFirst(Instance):
    """Offsets are read before initTransactions(), while the predecessor may still commit."""

    def start_up(self, store: OffsetStore) -> Script:
        yield from store.read_to_end()
        yield from super().start_up(store)


class ReadOnce(OffsetStore):
    """What was read once is not read again."""

    known = False

    def read_to_end(self) -> Script:
        if not self.known:
            yield from super().read_to_end()
        self.known = True


class GlobalPreferred(OffsetStore):
    """The worker's topic has precedence (C26)."""

    def view(self, partition: int) -> Found:
        found = self.readers[GLOBAL].offsets.get(partition, 0) if GLOBAL in self.readers else 0
        return Found(GLOBAL, found) if found else super().view(partition)


class AllOrNothing(OffsetStore):
    """The worker's topic is asked only while the own one has nothing at all: precedence by topic, not by partition."""

    def view(self, partition: int) -> Found:
        if self.primary == SEPARATE and self.readers[SEPARATE].offsets:
            found = self.readers[SEPARATE].offsets.get(partition, 0)
            return Found(SEPARATE, found) if found else NOTHING
        return super().view(partition)


class CopiedByTasks(NullsHide):
    """The rejected alternative (618.39): whoever finds the own topic empty copies all that the worker's one has, and
    relies on the own one alone. Two tasks may be at it at once, and have different transactional ids."""

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
        """What is copied once is not copied back."""
        return False
