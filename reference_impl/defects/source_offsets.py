"""This module collects the implementations of source offsets that are wrong in one way each, by name."""

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

# These are the defects of a running task: the contents of a transaction, which offsets are stored when (618.27,
# 618.28), and how the task goes on or ends after a refusal or an abort.


# 618.27: one transaction
@defect("618.27", PROMISE)
class OffsetsInAnotherTransaction(ExactlyOnce):
    """The task commits the records first, and their offsets in another transaction (C24)."""

    def flush_and_commit(self, flushing: bool) -> Script:
        if self.open:
            yield from self.end_transaction("commit", COMMIT)
        yield from super().flush_and_commit(flushing)


@defect("618.27", PROMISE)
class OffsetsFirst(ExactlyOnce):
    """The task commits an offset before it sends the record."""

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
    """The task stores an offset for the commit although the producer has not taken the record."""

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
    """The task commits the transaction although the offsets could not be sent."""

    def flush_and_commit(self, flushing: bool) -> Script:
        try:
            yield from super().flush_and_commit(flushing)
        except Failed as failure:
            if not self.open or failure.error != OperationError("flush").code:
                raise
            yield from self.end_transaction("commit", COMMIT)


@defect("618.27", PROMISE)
class SentAgainWhenUnsure(ExactlyOnce):
    """The task takes a commit that times out for a failed one and sends all of its records again."""

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
    """The task commits a batch that the connector wants aborted."""

    def end(self, outcome: int) -> Script:
        yield from super().end(COMMIT if outcome == ABORT else outcome)


class Endless(Interval):
    """This interval boundary never ends."""

    def is_due(self, now_ms: int) -> bool:
        return False


@defect("618.P4", PROGRESS, boundary="interval")
class NeverDue(ExactlyOnce):
    """The interval never ends, so its transaction stays open until it times out."""

    def begin(self) -> None:
        self.boundary = Endless(self.config)


# 618.28: batches that are dropped whole
@defect("618.28", PROMISE, filtered=2, batch=1)
class EmptyBatchForgotten(ExactlyOnce):
    """The task does not call `SourceTask.commit` when there is nothing to commit."""

    def commit(self) -> Script:
        if self.open or self.writer.data:
            yield from super().commit()


@defect(
    "618.28",
    NOTHING,
    "a dropped record is dropped again by each task that polls it; whether its offset is stored changes nothing",
    harmless=("text-merged-view", "618.28", "noted"),
    filtered=2,
    batch=1,
)
class FilteredNoted(ExactlyOnce):
    """The task stores the offset of a record that was dropped, too."""

    def dropped(self, record: Record) -> None:
        self.sent(record)


# After a refusal or an abort, and when nothing is left to read
@defect("618.P2", PROMISE, batch=3)
class RetriedFromTheFirst(ExactlyOnce):
    """When a record is refused for now, the task sends the whole batch again, with what was taken."""

    def send_batch(self) -> Script:
        batch = list(self.to_send)
        done = yield from super().send_batch()
        if not done:
            self.to_send = batch
        return done


@defect("618.P5", PROGRESS, boundary="connector")
class RefusalForgetsBoundary(ExactlyOnce):
    """A record that is refused for now makes the task forget the boundary requested with its batch."""

    def send_batch(self) -> Script:
        done = yield from super().send_batch()
        if not done:
            self.boundary.ask(NONE)
        return done


@defect("618.P2", PROMISE)
class LastCommitNotesTheRest(ExactlyOnce):
    """A task that ends in order takes the unsent rest of its batch for sent."""

    def at_end(self) -> Script:
        for record in self.to_send:
            self.sent(record)
        yield from super().at_end()


@defect("618.27", PROGRESS, boundary="connector")
class AbortForgetsOffsets(ExactlyOnce):
    """When the connector aborts a transaction, the task loses the source offsets as well."""

    def abort(self) -> Script:
        was_open = self.open
        yield from super().abort()
        if was_open:
            self.writer.data.clear()


@defect("618.28", PROGRESS, filtered=2, batch=1)
class EmptyCommitFails(ExactlyOnce):
    """A batch whose records are all dropped is committed although no transaction is open. The producer cannot commit in
    that state, so the task fails, and the next instance polls the same batch."""

    def commit(self) -> Script:
        if not self.writer.data and not self.open:
            raise self.host.failure(KafkaError(ErrorCode.INVALID_TXN_STATE, "commitTransaction"))
        yield from super().commit()


@defect("618.P5", PROGRESS, boundary="interval")
class NotDueWhileIdle(ExactlyOnce):
    """A task whose source has no more records does not check the interval of its open transaction."""

    def is_idle(self) -> bool:
        return not self.source.has_more()


@defect("618.31", PROMISE, separate=True)
class CopiesWhenRefused(ExactlyOnce):
    """The task copies the offsets to the worker's topic even if the transaction has failed."""

    def flush_and_commit(self, flushing: bool) -> Script:
        try:
            yield from super().flush_and_commit(flushing)
        except Exception:
            self.store.committed(dict(self.writer.flushing))
            raise


@defect("618.P1", PROMISE)
class OpensAgainWhenFenced(ExactlyOnce):
    """A task whose commit is refused because it was fenced opens its producer again and sends its records again."""

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
    """The reader skips a null offset, so the offset before it stays valid."""

    def apply(self, partition: int, offset: int) -> None:
        if offset or partition < 0:
            super().apply(partition, offset)


class RemembersNulls(TopicReader):
    """This reader works correctly, and also remembers which source partitions have a null offset."""

    def __init__(self, brokers: Brokers, topic: int, committed: bool = True) -> None:
        super().__init__(brokers, topic, committed)
        self.nulls: set[int] = set()

    def apply(self, partition: int, offset: int) -> None:
        super().apply(partition, offset)
        (self.nulls.discard if offset else self.nulls.add)(partition)


@defect("618.P5", PROGRESS, also=(RemembersNulls,), mode="shipped", rounds=2)
class FailsOnANull(Instance):
    """A task fails at its start when a stored offset is null, and so does each later instance."""

    def begin(self, store: OffsetStore, found: Mapping[int, Found]) -> Runtime:
        reader = store.readers[self.topic]
        assert isinstance(reader, RemembersNulls), "what this goes with"
        if self.runtime == EXACTLY_ONCE and reader.nulls.intersection(found):
            raise Failed("NullPointerException")
        return super().begin(store, found)


@defect("618.32", PROMISE)
class StopsOneEarly(TopicReader):
    """The reader takes the position of the last entry for the end of the topic."""

    def is_at_end(self) -> bool:
        return self.position >= self.end - 1


@defect("618.P1", PROMISE)
class FencesTheNewCount(Connector):
    """Before a set of fewer tasks starts, only as many ids are fenced as the new set has tasks."""

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
    """A connector's own offsets topic is used only with exactly-once support."""
    return chosen(named, same_cluster, runtime) if runtime == EXACTLY_ONCE else Choice(GLOBAL, False)


@defect("618.29", CONFORMANCE, interface=True, part="choose")
def named_only(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A producer that writes to another cluster uses the worker's offsets topic if the connector names no other."""
    return chosen(named, same_cluster or not named, runtime)


# The kind of damage that each defect does is in `breaks`: with PROMISE a record is in the output twice or never, or a
# restart would not resume where the output ends, and with PROGRESS something stays undone for ever, though faults have
# stopped.

REGISTRY = registry(Parts, build, __name__, source_offsets_stores)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
