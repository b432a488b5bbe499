"""This module is a task at work: what it polls, where its transactions end, records and offsets in one transaction, and
the runtime without transactions."""

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.connect.brokers import OUTPUT_TOPIC, KafkaError, TransactionalProducer
from fencepost.reference_impl.connect.offsets.config import CONNECTOR, INTERVAL, Config, Kind
from fencepost.reference_impl.connect.offsets.kafka import PARTITION_OF, Entry, Record, of_writing
from fencepost.reference_impl.connect.offsets.stores import Host, OffsetStore, OffsetWriter
from fencepost.reference_impl.connect.threads import INTERRUPTED, OperationError, Script, Wait

# These classes decide where the transactions of an exactly-once task end: `transaction.boundary`
# (TransactionBoundaryManager).
#
# They are asked after each batch that was sent or dropped, and at the task's orderly end.

NONE, ABORT, COMMIT = -1, 0, 1


class Poll:
    """With the boundary `Poll`, every batch is a transaction."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.asked = NONE

    def begin(self, now_ms: int) -> None:
        """Note that the task begins to poll."""

    def ask(self, outcome: int) -> None:
        """Note what the connector has asked for with its batch: a commit, an abort, or nothing (-1)."""
        self.asked = outcome

    def at_batch(self, now_ms: int) -> int:
        """Return how the transaction ends after a batch: commit (1), abort (0), or not at all (-1)."""
        return COMMIT

    def is_due(self, now_ms: int) -> bool:
        """Return whether the transaction would end now although nothing was polled."""
        return False

    def at_end(self) -> int:
        """Return what ends when the task ends in order, with the values of `at_batch`."""
        return COMMIT


class Interval(Poll):
    """With the boundary `Interval`, a batch ends the transaction if at least the interval has passed since the last one
    ended or, for the first, since the task has begun."""

    last_ms = 0

    def begin(self, now_ms: int) -> None:
        self.last_ms = now_ms

    def is_due(self, now_ms: int) -> bool:
        return now_ms >= self.last_ms + self.config.interval_ms

    def at_batch(self, now_ms: int) -> int:
        if not self.is_due(now_ms):
            return NONE
        self.last_ms = now_ms
        return COMMIT


class Connector(Poll):
    """With the boundary `Connector`, only the connector ends a transaction, by its TransactionContext. What it has not
    asked to commit stays open, and is aborted when the task's successor opens its producer."""

    def at_batch(self, now_ms: int) -> int:
        asked, self.asked = self.asked, NONE
        return asked

    def at_end(self) -> int:
        return self.at_batch(0)


def boundary_of(config: Config) -> Poll:
    return {INTERVAL: Interval, CONNECTOR: Connector}.get(config.boundary, Poll)(config)


# This is the connector's own code: a source task that polls an external system, partition by partition, from its stored
# offsets on.
#
# A record's source offset is the number of records of its partition so far. The last record of each round but the final
# one has a null source offset: the task has its partition read again from the beginning, which is the next round. The
# external system knows the current round, as it knows which records exist.


class SourceTask:
    """A `SourceTask` has the source partitions of one task; ``rounds`` is the current round of each."""

    def __init__(self, config: Config, found: Mapping[int, int], rounds: Mapping[int, int]) -> None:
        self.config = config
        self.next = {p: Record(p, rounds[p], offset + 1) for p, offset in found.items()}
        self.unread = self.look_for_more()  # kept, since every idle task asks after everything that happens
        self.turn = 0  # whose record comes next
        self.batches = 0  # since the connector last asked for an end of the transaction
        self.asked = -1  # what operators of the source have it ask for, with the next batch

    def has_more(self) -> bool:
        return self.unread

    def look_for_more(self) -> bool:
        return any(record.offset <= self.config.records for record in self.next.values())

    def poll(self) -> list[Record]:
        """Return the next batch, from all partitions in turn; it is empty if there is none (null, for Connect)."""
        batch: list[Record] = []
        partitions = list(self.next)
        idle = 0
        while len(batch) < self.config.batch and idle < len(partitions):
            partition = partitions[self.turn % len(partitions)]
            self.turn += 1
            record = self.next[partition]
            if record.offset > self.config.records:
                idle += 1
                continue
            idle = 0
            batch.append(record)
            self.next[partition] = self.following(record)
        self.unread = self.look_for_more()
        return batch

    def following(self, record: Record) -> Record:
        if not self.config.stored_offset(record.round, record.offset):
            return Record(record.partition, record.round + 1, 1)
        return Record(record.partition, record.round, record.offset + 1)

    def boundary(self) -> int:
        """Return which end of the transaction the connector asks for with the batch that it has returned: commit (1),
        abort (0) or none (-1). By itself it commits every few batches, and at the end of the source."""
        self.batches += 1
        asked = self.asked
        if asked < 0 and (self.batches >= self.config.own_batches or not self.has_more()):
            asked = 1
        if asked >= 0:
            self.batches, self.asked = 0, -1
        return asked


# An exactly-once source task polls, sends what a transformation leaves, and ends transactions at its boundaries, with
# the source offsets in them (618.27, 618.28).
#
# An offset is noted after the producer has accepted the record, so that it is stored if and only if the record is sent;
# a record that is dropped leaves no offset. A commit sets the noted offsets aside, begins a transaction if none is
# open, sends the offsets, and commits. With nothing open and nothing noted there is no transaction, and
# `SourceTask.commit` is called all the same. An abort that the connector asks for drops the records, and then a
# transaction of its own commits their offsets, so that the task does not poll them again. Any error of a commit fails
# the task. (ExactlyOnceWorkerSourceTask, AbstractWorkerSourceTask)


class Runtime:
    """A `Runtime` is the loop of every source task (AbstractWorkerSourceTask)."""

    def __init__(self, config: Config, host: Host, source: SourceTask, store: OffsetStore) -> None:
        self.config = config
        self.host = host
        self.source = source
        self.store = store
        self.writer = OffsetWriter()
        self.to_send: list[Record] = []

    def run(self) -> Script:
        """Run the loop until the task is asked to stop, and then its orderly end."""
        host = self.host
        self.begin()
        while not host.must_stop():
            if not self.to_send:
                if self.is_idle():
                    yield Wait(lambda: host.must_stop() or not self.is_idle())
                    continue
                batch = yield from host.call("poll", self.source.poll, host.must_stop)
                if batch is INTERRUPTED:
                    break
                self.polled(batch)
            if (yield from self.send_batch()):
                host.report(Kind.BATCH_ENDED)
                yield from self.at_batch()
        yield from self.at_end()

    def polled(self, batch: list[Record]) -> None:
        self.to_send = batch
        for record in batch:
            self.report_record(Kind.POLLED, record)

    def send_batch(self) -> Script:
        """Send all of a batch; return False if the rest of it has to be tried again."""
        while self.to_send:
            record = self.to_send[0]
            if self.config.is_filtered(record.offset):
                self.report_record(Kind.FILTERED, record)
                self.dropped(record)
            elif (yield from self.send(record)):
                self.sent(record)
            else:
                return False
            self.to_send.pop(0)
        return True

    def send(self, record: Record) -> Script:
        """Send one record. Return False if the producer did not take it (a RetriableException of send())."""
        accepted: list[Record] = []

        def act() -> None:
            accepted.append(record)
            self.produce(record)

        try:
            yield self.host.operation("send", act)
        except OperationError as error:
            if accepted:  # the producer has it, and will say at the next commit that something went wrong
                raise self.host.failure(error) from error
            return False
        except KafkaError as error:
            raise self.host.failure(error) from error
        return True

    def report_record(self, kind: int, record: Record, **columns: int) -> None:
        partition, round_, offset = record
        self.host.report(kind, partition=partition, round=round_, offset=offset, **columns)

    def begin(self) -> None:
        """Begin polling."""

    def is_idle(self) -> bool:
        """Return whether the source has nothing, and there is nothing else to do."""
        return not self.source.has_more()

    def produce(self, record: Record) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say how a record is sent: override produce()")

    def sent(self, record: Record) -> None:
        self.writer.offset(record.partition, self.config.stored_offset(record.round, record.offset))

    def dropped(self, record: Record) -> None:
        """Handle a record that a transformation has dropped: it leaves no offset."""

    def at_batch(self) -> Script:
        raise NotImplementedError(f"{type(self).__name__} must say what follows a batch: override at_batch()")

    def at_end(self) -> Script:
        raise NotImplementedError(f"{type(self).__name__} must say how a task ends: override at_end()")


class ExactlyOnce(Runtime):
    """An `ExactlyOnce` is the runtime with exactly-once support."""

    def __init__(
        self, config: Config, host: Host, source: SourceTask, store: OffsetStore, producer: TransactionalProducer
    ) -> None:
        super().__init__(config, host, source, store)
        self.producer = producer
        self.boundary = boundary_of(config)
        self.open = False
        self.records: list[Record] = []  # of the open transaction

    def begin(self) -> None:
        self.boundary.begin(self.host.now_ms())

    def is_idle(self) -> bool:
        """Return whether there is nothing to do; an open transaction that is due has to be ended."""
        return not (self.source.has_more() or (self.open and self.boundary.is_due(self.host.now_ms())))

    def polled(self, batch: list[Record]) -> None:
        super().polled(batch)
        asked = self.source.boundary()
        self.boundary.ask(asked)
        if self.config.boundary == "connector" and asked >= 0:
            self.host.report(Kind.BOUNDARY_ASKED, outcome=asked)

    # Transactions

    def begin_if_needed(self) -> None:
        if not self.open:
            self.producer.begin()
            self.open = True
            self.report_txn(Kind.TXN_BEGUN)

    def produce(self, record: Record) -> None:
        self.begin_if_needed()
        self.report_record(Kind.RECORD_SENT, record, **self.pair())
        self.records.append(record)
        self.write(OUTPUT_TOPIC, record)

    def send_offset(self, topic: int, entry: Entry) -> None:
        self.host.report(
            Kind.OFFSET_SENT, topic=topic, partition=entry.partition, offset=entry.offset, **self.pair()
        )  # fmt: skip
        self.write(PARTITION_OF[topic], entry)

    def write(self, partition: int, content: Record | Entry) -> None:
        """Send a record or an entry with the connector's producer. Raise KafkaError if this fails."""
        self.store.env.brokers.permit(of_writing, partition, "send")
        self.producer.send(partition, content)

    def at_batch(self) -> Script:
        yield from self.end(self.boundary.at_batch(self.host.now_ms()))

    def at_end(self) -> Script:
        yield from self.end(self.boundary.at_end())

    def end(self, outcome: int) -> Script:
        if outcome == ABORT:
            yield from self.abort()
        if outcome >= 0:
            yield from self.commit()

    def abort(self) -> Script:
        """Abort the transaction that the connector does not want; the request is ignored if none is open."""
        if self.open:
            yield from self.end_transaction("abort", ABORT)
            self.records = []

    def commit(self) -> Script:
        """Commit records and offsets together, or neither."""
        flushing = self.writer.begin_flush()
        if flushing or self.open:
            try:
                yield from self.flush_and_commit(flushing)
            except Exception:
                self.writer.cancel_flush()
                raise
            self.stored()
        self.commit_source_task()

    def flush_and_commit(self, flushing: bool) -> Script:
        """Send the offsets in the records' transaction, and commit it."""
        try:
            self.begin_if_needed()
        except KafkaError as error:
            raise self.host.failure(error) from error
        if flushing:
            yield from self.store.set(self.writer.flushing, self.send_offset)
        yield from self.end_transaction("commit", COMMIT)

    def stored(self) -> None:
        self.store.committed(self.writer.flushed())
        self.records = []

    def commit_source_task(self) -> None:
        self.host.report(Kind.COMMIT_CALLED)

    def end_transaction(self, name: str, outcome: int) -> Script:
        pair = self.pair()

        def act() -> None:
            self.host.report(Kind.END_SENT, outcome=outcome, **pair)
            if outcome:
                self.producer.commit()
            else:
                self.producer.abort()
                for record in self.records:
                    self.report_record(Kind.GIVEN_UP, record)

        try:
            yield self.host.operation(name, act)
        except KafkaError as error:
            self.host.report(Kind.END_TOLD, outcome=outcome, error=error.code, **pair)
            raise self.host.failure(error) from error
        except OperationError as error:
            raise self.host.failure(error) from error
        self.host.report(Kind.END_TOLD, outcome=outcome, **pair)
        self.open = False

    def pair(self) -> dict[str, int]:
        return {"producer_id": self.producer.producer_id, "epoch": self.producer.epoch}

    def report_txn(self, kind: int, **columns: Any) -> None:
        self.host.report(kind, **self.pair(), **columns)


# A source task without exactly-once support sends records outside any transaction, and their offsets after them.
#
# Only its effect on the offsets topics is implemented: each batch is followed by a flush, and a task that ends in order
# has flushed everything. It guarantees at-least-once delivery, so a crash repeats records, which is not checked.
# (WorkerSourceTask)


class AtLeastOnce(Runtime):
    """An `AtLeastOnce` is the runtime without exactly-once support."""

    def produce(self, record: Record) -> None:
        self.report_record(Kind.RECORD_SENT, record)
        self.store.env.brokers.append_directly(OUTPUT_TOPIC, record)

    def at_batch(self) -> Script:
        if self.writer.begin_flush():
            yield from self.store.set(self.writer.flushing, self.send_offset)
            self.store.committed(self.writer.flushed())
        self.host.report(Kind.COMMIT_CALLED)

    def at_end(self) -> Script:
        yield from self.at_batch()

    def send_offset(self, topic: int, entry: Entry) -> None:
        self.host.report(Kind.OFFSET_SENT, topic=topic, partition=entry.partition, offset=entry.offset)
        self.store.env.brokers.append_directly(PARTITION_OF[topic], entry)
