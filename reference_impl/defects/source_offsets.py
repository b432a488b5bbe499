"""Implementations of source offsets with one thing wrong each, by name."""

from collections.abc import Mapping

from fencepost.reference_impl.connect.brokers import FENCED, KafkaError
from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE, Kind
from fencepost.reference_impl.connect.offsets.environment import Failed
from fencepost.reference_impl.connect.offsets.instances import Connector, Instance
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, Brokers, Entry, Record
from fencepost.reference_impl.connect.offsets.runtime import ABORT, COMMIT, NONE, ExactlyOnce, Interval, Runtime
from fencepost.reference_impl.connect.offsets.stores import Choice, Found, OffsetStore, TopicReader, chosen
from fencepost.reference_impl.connect.threads import OperationError, Script
from fencepost.reference_impl.defects import source_offsets_stores
from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.simulation.defects import (
    CONFORMANCE,
    NOTHING,
    PROGRESS,
    PROMISE,
    defect,
    registry,
)
from fencepost.reference_impl.systems.source_offsets import Parts, build

# Defects of a task at work: what is in a transaction, what is noted when (618.27, 618.28), and how it goes on or ends
# after something was refused or aborted.


# 618.27: one transaction
@defect("618.27", PROMISE)
class OffsetsInAnotherTransaction(ExactlyOnce):
    """The records are committed, and then their offsets (C24)."""

    def flush_and_commit(self, flushing: bool) -> Script:
        if self.open:
            yield from self.end_transaction("commit", COMMIT)
        yield from super().flush_and_commit(flushing)


@defect("618.27", PROMISE)
class OffsetsFirst(ExactlyOnce):
    """An offset is committed before its record is sent."""

    def produce(self, record: Record) -> None:
        if not self.open:
            self.begin_if_needed()
            offset = self.config.stored_offset(record.round, record.offset)
            self.send_offset(self.store.primary, Entry(record.partition, offset))
            self.host.report(Kind.END_SENT, outcome=COMMIT, **self.pair())
            self.producer.commit()
            self.open = False
        super().produce(record)


@defect("618.27", PROMISE, boundary="interval")
class NotedBeforeSent(ExactlyOnce):
    """An offset is noted although the producer has not taken the record."""

    def send(self, record: Record) -> Script:
        self.sent(record)
        return (yield from super().send(record))


@defect("618.27", PROMISE, boundary="interval")
class LastOffsetsLeftOut(ExactlyOnce):
    """A task that ends in order commits its open transaction without the offsets."""

    def at_end(self) -> Script:
        if self.open and self.boundary.at_end() == COMMIT:
            yield from self.end_transaction("commit", COMMIT)


@defect("618.27", PROMISE)
class CommittedWithoutOffsets(ExactlyOnce):
    """The transaction is committed although the offsets could not be sent."""

    def flush_and_commit(self, flushing: bool) -> Script:
        try:
            yield from super().flush_and_commit(flushing)
        except Failed as failure:
            if not self.open or failure.error != OperationError("flush").code:
                raise
            yield from self.end_transaction("commit", COMMIT)


@defect("618.27", PROMISE)
class SentAgainWhenUnsure(ExactlyOnce):
    """A commit that is not answered in time is taken for not done: all of its records are sent again."""

    def commit(self) -> Script:
        records, offsets = list(self.records), dict(self.writer.data)
        try:
            yield from super().commit()
        except Failed as failure:
            if failure.error != OperationError("commit").code:
                raise
            self.writer.data = offsets
            self.open = self.producer.client.state is State.IN_TRANSACTION
            self.records = []
            self.to_send = records


@defect("618.27", PROMISE, boundary="connector")
class AbortIgnored(ExactlyOnce):
    """What the connector wants aborted is committed."""

    def end(self, outcome: int) -> Script:
        yield from super().end(COMMIT if outcome == ABORT else outcome)


class Endless(Interval):
    """An interval without an end."""

    def is_due(self, now_ms: int) -> bool:
        return False


@defect("618.P4", PROGRESS, boundary="interval")
class NeverDue(ExactlyOnce):
    """An interval never ends: its transaction stays open until it times out."""

    def begin(self) -> None:
        self.boundary = Endless(self.config)


# 618.28: batches that are dropped whole
@defect("618.28", PROMISE, filtered=2, batch=1)
class EmptyBatchForgotten(ExactlyOnce):
    """With nothing to commit, `SourceTask.commit` is not called."""

    def commit(self) -> Script:
        if self.open or self.writer.data:
            yield from super().commit()


@defect(
    "618.28",
    NOTHING,
    "a dropped record is dropped again by whoever polls it; whether its offset is stored changes nothing",
    harmless=("text-merged-view", "618.28", "noted"),
    filtered=2,
    batch=1,
)
class FilteredNoted(ExactlyOnce):
    """A record that is dropped leaves its offset as well."""

    def dropped(self, record: Record) -> None:
        self.sent(record)


# After something was refused or aborted, and when nothing is left to be read
@defect("618.P2", PROMISE, batch=3)
class RetriedFromTheFirst(ExactlyOnce):
    """When the producer does not take a record now, the whole batch is sent again, with what it has taken."""

    def send_batch(self) -> Script:
        batch = list(self.to_send)
        done = yield from super().send_batch()
        if not done:
            self.to_send = batch
        return done


@defect("618.P5", PROGRESS, boundary="connector")
class RefusalForgetsBoundary(ExactlyOnce):
    """What the connector has asked for with a batch is forgotten when a record of that batch is refused for now."""

    def send_batch(self) -> Script:
        done = yield from super().send_batch()
        if not done:
            self.boundary.ask(NONE)
        return done


@defect("618.P2", PROMISE)
class LastCommitNotesTheRest(ExactlyOnce):
    """A task that ends in order takes what is left of its batch for sent."""

    def at_end(self) -> Script:
        for record in self.to_send:
            self.sent(record)
        yield from super().at_end()


@defect("618.27", PROGRESS, boundary="connector")
class AbortForgetsOffsets(ExactlyOnce):
    """With what the connector has aborted its source offsets are forgotten."""

    def abort(self) -> Script:
        was_open = self.open
        yield from super().abort()
        if was_open:
            self.writer.data.clear()


@defect("618.28", PROGRESS, filtered=2, batch=1)
class EmptyCommitFails(ExactlyOnce):
    """A batch of which nothing is left is committed like any other, though no transaction is open: the producer has no
    such call in that state, and the next instance polls the same batch."""

    def commit(self) -> Script:
        if not self.writer.data and not self.open:
            raise self.host.failure(KafkaError(ErrorCode.INVALID_TXN_STATE, "commitTransaction"))
        yield from super().commit()


@defect("618.P5", PROGRESS, boundary="interval")
class NotDueWhileIdle(ExactlyOnce):
    """A task whose source has nothing more does not look at the interval of its open transaction."""

    def is_idle(self) -> bool:
        return not self.source.has_more()


@defect("618.31", PROMISE, separate=True)
class CopiesWhenRefused(ExactlyOnce):
    """The copies in the worker's topic are made whatever became of the transaction."""

    def flush_and_commit(self, flushing: bool) -> Script:
        try:
            yield from super().flush_and_commit(flushing)
        except Exception:
            self.store.committed(dict(self.writer.flushing))
            raise


@defect("618.P1", PROMISE)
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


@defect("618.31", PROMISE, mode="shipped", rounds=2)
class NullIsNoEntry(TopicReader):
    """A null offset is passed over, and the offset before it stays."""

    def apply(self, partition: int, offset: int) -> None:
        if offset or partition < 0:
            super().apply(partition, offset)


class RemembersNulls(TopicReader):
    """As the right one, and it knows which source partitions have a null offset."""

    def __init__(self, brokers: Brokers, topic: int, committed: bool = True) -> None:
        super().__init__(brokers, topic, committed)
        self.nulls: set[int] = set()

    def apply(self, partition: int, offset: int) -> None:
        super().apply(partition, offset)
        (self.nulls.discard if offset else self.nulls.add)(partition)


@defect("618.P5", PROGRESS, also=(RemembersNulls,), mode="shipped", rounds=2)
class FailsOnANull(Instance):
    """A start that is given a null offset, where it has a stored one, fails with it, and so does each one after."""

    def begin(self, store: OffsetStore, found: Mapping[int, Found]) -> Runtime:
        reader = store.readers[self.topic]
        assert isinstance(reader, RemembersNulls), "what this goes with"
        if self.runtime == EXACTLY_ONCE and reader.nulls.intersection(found):
            raise Failed("NullPointerException")
        return super().begin(store, found)


@defect("618.32", PROMISE)
class StopsOneEarly(TopicReader):
    """The end is taken for the position of the last entry."""

    def is_at_end(self) -> bool:
        return self.position >= self.end - 1


@defect("618.P1", PROMISE)
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


# Defects of the interface: which offsets topics a connector has.


@defect("618.29", CONFORMANCE, interface=True, part="choose")
def named_with_the_feature(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A topic that is named is used with exactly-once support only."""
    return chosen(named, same_cluster, runtime) if runtime == EXACTLY_ONCE else Choice(GLOBAL, False)


@defect("618.29", CONFORMANCE, interface=True, part="choose")
def named_only(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A producer that writes to another cluster has the worker's topic, if no other is named."""
    return chosen(named, same_cluster or not named, runtime)


# What the defect of each can show, as `breaks` says: PROMISE, a record is in the output
# twice or never, or a restart would resume elsewhere than the output ends; PROGRESS, something stays undone for ever,
# though faults have stopped.

REGISTRY = registry(Parts, build, __name__, source_offsets_stores)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
