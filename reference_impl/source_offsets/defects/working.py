"""Defects of a task at work: what is in a transaction, and what is noted when (618.27, 618.28)."""

from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.kafka import Entry, Record
from fencepost.reference_impl.source_offsets.tasks.boundaries import ABORT, COMMIT, Interval
from fencepost.reference_impl.source_offsets.tasks.process import Failed
from fencepost.reference_impl.source_offsets.tasks.runtime import ExactlyOnce
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script
from fencepost.reference_impl.transactions.clients.producer import State


class OffsetsInAnotherTransaction(ExactlyOnce):
    """The records are committed, and then their offsets (C24)."""

    def flush_and_commit(self, flushing: bool) -> Script:
        if self.open:
            yield from self.end_transaction("commit", COMMIT)
        yield from super().flush_and_commit(flushing)


class OffsetsFirst(ExactlyOnce):
    """An offset is committed before its record is sent."""

    def produce(self, record: Record) -> None:
        if not self.open:
            self.begin_if_needed()
            offset = self.config.stored_offset(record.round, record.offset)
            self.send_offset(self.store.primary, Entry(record.partition, offset))
            self.host.tell(Kind.END_SENT, outcome=COMMIT, **self.pair())
            self.producer.commit()
            self.open = False
        super().produce(record)


class NotedBeforeSent(ExactlyOnce):
    """An offset is noted although the producer has not taken the record."""

    def send(self, record: Record) -> Script:
        self.sent(record)
        return (yield from super().send(record))


class FilteredNoted(ExactlyOnce):
    """A record that is dropped leaves its offset as well."""

    def dropped(self, record: Record) -> None:
        self.sent(record)


class EmptyBatchForgotten(ExactlyOnce):
    """With nothing to commit, `SourceTask.commit` is not called."""

    def commit(self) -> Script:
        if self.open or self.writer.data:
            yield from super().commit()


class AbortIgnored(ExactlyOnce):
    """What the connector wants aborted is committed."""

    def end(self, outcome: int) -> Script:
        yield from super().end(COMMIT if outcome == ABORT else outcome)


class LastOffsetsLeftOut(ExactlyOnce):
    """A task that ends in order commits its open transaction without the offsets."""

    def at_end(self) -> Script:
        if self.open and self.boundary.at_end() == COMMIT:
            yield from self.end_transaction("commit", COMMIT)


class CommittedWithoutOffsets(ExactlyOnce):
    """The transaction is committed although the offsets could not be sent."""

    def flush_and_commit(self, flushing: bool) -> Script:
        try:
            yield from super().flush_and_commit(flushing)
        except Failed as failure:
            if not self.open or failure.error != OperationError("flush").code:
                raise
            yield from self.end_transaction("commit", COMMIT)


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


class Endless(Interval):
    """An interval without an end."""

    def is_due(self, now_ms: int) -> bool:
        return False


class NeverDue(ExactlyOnce):
    """An interval never ends: its transaction stays open until it times out."""

    def begin(self) -> None:
        self.boundary = Endless(self.config)
