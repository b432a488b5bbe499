"""Defects of a task that goes on, or is to end, after something was refused or aborted, and of the next one's start."""

from collections.abc import Mapping

from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.connector import Connector
from fencepost.reference_impl.source_offsets.kafka import Brokers
from fencepost.reference_impl.source_offsets.stores.offset_store import Found, OffsetStore
from fencepost.reference_impl.source_offsets.stores.topic_reader import TopicReader
from fencepost.reference_impl.source_offsets.tasks.boundaries import NONE
from fencepost.reference_impl.source_offsets.tasks.instance import Instance
from fencepost.reference_impl.source_offsets.tasks.process import Failed
from fencepost.reference_impl.source_offsets.tasks.runtime import ExactlyOnce, Runtime
from fencepost.reference_impl.task_counts.tasks.producers import FENCED, KafkaError
from fencepost.reference_impl.task_counts.tasks.threads import Script
from fencepost.reference_impl.transactions.errors import ErrorCode


class RetriedFromTheFirst(ExactlyOnce):
    """When the producer does not take a record now, the whole batch is sent again, with what it has taken."""

    def send_batch(self) -> Script:
        batch = list(self.to_send)
        done = yield from super().send_batch()
        if not done:
            self.to_send = batch
        return done


class RefusalForgetsBoundary(ExactlyOnce):
    """What the connector has asked for with a batch is forgotten when a record of that batch is refused for now."""

    def send_batch(self) -> Script:
        done = yield from super().send_batch()
        if not done:
            self.boundary.ask(NONE)
        return done


class LastCommitNotesTheRest(ExactlyOnce):
    """A task that ends in order takes what is left of its batch for sent."""

    def at_end(self) -> Script:
        for record in self.to_send:
            self.sent(record)
        yield from super().at_end()


class AbortForgetsOffsets(ExactlyOnce):
    """With what the connector has aborted its source offsets are forgotten."""

    def abort(self) -> Script:
        was_open = self.open
        yield from super().abort()
        if was_open:
            self.writer.data.clear()


class EmptyCommitFails(ExactlyOnce):
    """A batch of which nothing is left is committed like any other, though no transaction is open: the producer has no
    such call in that state, and the next instance polls the same batch."""

    def commit(self) -> Script:
        if not self.writer.data and not self.open:
            raise self.host.failure(KafkaError(ErrorCode.INVALID_TXN_STATE, "commitTransaction"))
        yield from super().commit()


class NotDueWhileIdle(ExactlyOnce):
    """A task whose source has nothing more does not look at the interval of its open transaction."""

    def is_idle(self) -> bool:
        return not self.source.has_more()


class CopiesWhenRefused(ExactlyOnce):
    """The copies in the worker's topic are made whatever became of the transaction."""

    def flush_and_commit(self, flushing: bool) -> Script:
        try:
            yield from super().flush_and_commit(flushing)
        except Exception:
            self.store.committed(dict(self.writer.flushing))
            raise


class OpensAgainWhenFenced(ExactlyOnce):
    """A task whose commit is refused as it was fenced opens its producer again, and sends its records once more."""

    def commit(self) -> Script:
        records = list(self.records)
        try:
            yield from super().commit()
        except Failed as failure:
            if failure.error not in FENCED:
                raise
            self.producer = type(self.producer)(self.producer.brokers, self.producer.name, self.producer.needed)
            yield from self.host.call("open", self.producer.open)
            self.open, self.records, self.to_send = False, [], records
            self.writer.data = {}


class NullIsNoEntry(TopicReader):
    """A null offset is passed over, and the offset before it stays."""

    def apply(self, partition: int, offset: int) -> None:
        if offset or partition < 0:
            super().apply(partition, offset)


class StopsOneEarly(TopicReader):
    """The end is taken for the position of the last entry."""

    def is_at_end(self) -> bool:
        return self.position >= self.end - 1


class RemembersNulls(TopicReader):
    """As the right one, and it knows which source partitions have a null offset."""

    def __init__(self, brokers: Brokers, topic: int, committed: bool = True) -> None:
        super().__init__(brokers, topic, committed)
        self.nulls: set[int] = set()

    def apply(self, partition: int, offset: int) -> None:
        super().apply(partition, offset)
        (self.nulls.discard if offset else self.nulls.add)(partition)


class FailsOnANull(Instance):
    """A start that is given a null offset, where it has a stored one, fails with it, and so does each one after."""

    def begin(self, store: OffsetStore, found: Mapping[int, Found]) -> Runtime:
        reader = store.readers[self.topic]
        assert isinstance(reader, RemembersNulls), "what this goes with"
        if self.runtime == EXACTLY_ONCE and reader.nulls.intersection(found):
            raise Failed("NullPointerException")
        return super().begin(store, found)


class FencesTheNewCount(Connector):
    """Before a set of fewer tasks starts only as many ids are fenced as it will have."""

    coming = 0

    def configure(self, tasks: int, separate: bool, runtime: int = EXACTLY_ONCE) -> None:
        self.coming = tasks
        super().configure(tasks, separate, runtime)

    def fence(self) -> None:
        before = self.env.tasks
        self.env.tasks = min(before, self.coming)
        super().fence()
        self.env.tasks = before
