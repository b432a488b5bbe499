"""This module collects the implementations of source commits that are wrong in one way each."""

from collections import deque
from typing import ClassVar
from weakref import WeakKeyDictionary, WeakSet

from fencepost.reference_impl.connect.commits.config import Kind
from fencepost.reference_impl.connect.commits.connector import Connector, SourceRecord
from fencepost.reference_impl.connect.commits.environment import Environment, Request
from fencepost.reference_impl.connect.commits.exactly_once import ExactlyOnceTask, TransactionThread
from fencepost.reference_impl.connect.commits.records import (
    Flush,
    Offsets,
    OffsetStorageWriter,
    SubmittedRecord,
    SubmittedRecords,
)
from fencepost.reference_impl.connect.commits.task import (
    FAILED,
    OK,
    TASK,
    Committer,
    OffsetCommit,
    TaskThread,
    WorkerSourceTask,
)
from fencepost.reference_impl.simulation.defects import (
    CONFORMANCE,
    NOTHING,
    PROGRESS,
    PROMISE,
    by_config,
    defect,
    registry,
)
from fencepost.reference_impl.systems.source_commits import Parts, build

# These are the defects of committing offsets: what is flushed, when commit is called, what the final commit does, and
# what follows a flush that failed, timed out or was interrupted.

ONCE_MORE = "what was not committed is polled again by the next instance, and arrives twice"


# src.4: when commit is called
@defect("src.4", PROMISE)
class ToldAtOnce(Committer):
    """The committer calls commit when the flush has begun, before it has ended."""

    def flush_begun(self) -> None:
        if self.begun is not None:
            self.task.commit_source_task(self.thread, self.map, True)
        super().flush_begun()

    def tell(self, outcome: str) -> bool:
        if self.begun is None:
            return super().tell(outcome)
        self.done(True)
        return True


@defect("src.4", PROMISE)
class ToldAnyway(Committer):
    """The committer calls commit even if the flush has failed."""

    def finished(self, ok: bool) -> None:
        super().finished(True)


by_config("last_polled_told", "src.4", PROMISE, upstream="last-polled")


by_config("acknowledged_told", "src.4", PROMISE, upstream="acknowledged-prefix")


by_config("previously_acknowledged_told", "src.4", PROMISE, upstream="previous-prefix")


@defect("src.4", PROMISE, mode="proposed-exactly-once")
class ToldOfFailedTransaction(TransactionThread):
    """The task calls commit with the offsets of a transaction that has failed."""

    def flush_ended(self, ok: bool) -> None:
        super().flush_ended(ok)
        if not ok:
            self.task.commit_source_task(TASK, self.map, True)


# src.5: the contents of the map
by_config("map_of_snapshot", "src.5", CONFORMANCE, map_of="snapshot")


by_config("empty_is_all", "src.5", PROMISE, upstream="empty-is-all")


@defect("src.5", PROMISE, mode="proposed-exactly-once")
class ToldOfAbortedBatch(TransactionThread):
    """The task calls commit with the offsets of a batch as soon as the batch is aborted."""

    def dispatched(self) -> None:
        task, was_asked = self.task, self.task.abort_asked and self.task.is_open
        offsets = dict(task.writer.data)
        super().dispatched()
        if was_asked:
            task.commit_source_task(TASK, offsets, True)


by_config("first_of_several", "src.5", PROMISE, several=2, stamped="first")


@defect("src.P2", PROMISE, mode="proposed-exactly-once")
class OffsetsWithoutRecords(TransactionThread):
    """The task commits offsets although records of the transaction have failed in their callbacks."""

    def commit(self, outcome: str) -> bool:
        if not self.task.producer.in_flight:
            self.task.send_error = False
        return super().commit(outcome)


# src.7
@defect("src.7", CONFORMANCE)
class ExceptionFails(WorkerSourceTask):
    """An exception thrown by commit fails the task."""

    def commit_source_task(self, thread: int, offsets: object, ok: bool) -> None:
        super().commit_source_task(thread, offsets, ok)  # type: ignore[arg-type]
        if not ok:
            self.send_error = True


# src.10: after a failed flush
@defect("src.10", PROGRESS)
class FailedFlushForgotten(OffsetStorageWriter):
    """The offsets of a failed flush are lost instead of being written by the next flush."""

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        return newer


@defect("src.10", CONFORMANCE)
class LateCallbackCounts(OffsetStorageWriter):
    """The callback of a cancelled flush ends the flush that is in progress."""

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        if ok:
            self.end_flush()
        else:
            self.cancel_flush()


# src.12, and the two threads
@defect("src.12", CONFORMANCE, ONCE_MORE)
class FinalCommitDoesNotWait(TaskThread):
    """The final commit of a task that is asked to stop does not wait for the records in flight."""

    def leave_loop(self, asked: int) -> None:
        super().leave_loop(asked)
        if asked:
            self.task.update_committable()
            self.wait_for("snapshot")


@defect("src.12", CONFORMANCE, ONCE_MORE)
class TimeOutIsSuccess(TaskThread):
    """The wait for the records in flight counts as successful even when it has timed out."""

    def drained(self, all_acked: bool) -> None:
        super().drained(True)


by_config("two_threads", "src.P1", PROMISE, serial=False)


# After a flush that failed, timed out or was interrupted
@defect("src.10", PROGRESS, partitions=2)
class LastPutBackOnly(OffsetStorageWriter):
    """After a failed flush only the offset of the last source partition is put back."""

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        return {**dict([*older.items()][-1:]), **newer}


@defect("src.10", PROMISE)
class PolledPutBack(Committer):
    """After a failed flush the connector's current positions are put back, instead of the offsets of the flush."""

    def finished(self, ok: bool) -> None:
        if not ok:
            for partition, offset in enumerate(self.task.connector.polled):
                self.task.writer.offset(partition, offset)
        super().finished(ok)


@defect("src.10", PROGRESS)
class LateSuccessClears(OffsetStorageWriter):
    """A cancelled flush that is written late removes its partitions' pending offsets, even newer ones."""

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        if ok and flush is not self.current:
            for partition in flush.entries:
                self.data.pop(partition, None)
        else:
            super().handle_finish_write(flush, ok)


@defect("src.10", PROGRESS)
class TimedOutNotPutBack(Committer):
    """The offsets of a flush that times out are not put back, although its writes may still fail."""

    def finish(self, outcome: str) -> bool:
        if outcome != OK and self.begun is not None and self.begun.failed is None:
            self.task.writer.end_flush()
        return super().finish(outcome)


@defect("src.P3", PROGRESS)
class CommitterInterrupted(Committer):
    """A request to stop the task interrupts the committer, whose taken offsets are never written."""

    def begin(self, outcome: str) -> bool:
        if not self.task.stop_asked:
            return super().begin(outcome)
        self.map = {}
        self.done(False)
        return True


@defect("src.7", PROGRESS)
class CommitterDies(Committer):
    """An exception of commit ends the committer's schedule, as in a ScheduledExecutorService."""

    __slots__ = ("dead",)

    def begin_commit(self) -> None:
        if not getattr(self, "dead", False):
            super().begin_commit()

    def tell(self, outcome: str) -> bool:
        self.dead = outcome != OK
        return super().tell(outcome)


@defect("src.12", PROMISE)
class TimeOutAcknowledges(TaskThread):
    """Records that are still in flight when the final wait times out count as acknowledged."""

    def drained(self, all_acked: bool) -> None:
        for _, tracked in self.task.in_flight.values():
            tracked.ack()
        super().drained(all_acked)


@defect("src.P1", PROMISE)
class LastCommitTakesOver(WorkerSourceTask):
    """The final commit does not wait until the committer has finished."""

    def acquire(self, thread: OffsetCommit) -> bool:
        if thread.thread == TASK:
            self.holder = None
        return super().acquire(thread)


# Controls
@defect("src.12", NOTHING, ONCE_MORE, harmless=("proposed", "src.12", ""))
class NoFinalCommit(TaskThread):
    """A task that fails ends without a final commit, as tasks with transactions do."""

    def leave_loop(self, asked: int) -> None:
        super().leave_loop(asked)
        if not asked:
            self.wait_for("close")


@defect(
    "src.3",
    CONFORMANCE,
    "what is acknowledged may be committed, whichever thread takes it off the queue while no other thread does",
)
class CommitterUpdates(Committer):
    """The committer removes acknowledged records from the heads of the queues itself before it commits."""

    def begin_commit(self) -> None:
        self.task.update_committable()
        super().begin_commit()


# These are the defects of tracked records: what is committable, what counts as an acknowledgement, how a task goes on
# after a refused record, an error or an abort, and what the instance after a failed one does.


# src.1: the calls of commitRecord
@defect("src.1", CONFORMANCE)
class AcknowledgedTwice(WorkerSourceTask):
    """The task calls commitRecord twice for every fourth record."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        super().record_done(request, ok, position)
        if ok and request.record % 4 == 0:
            self.env.emit(
                Kind.ACKNOWLEDGED, instance=self.number, partition=request.partition, record=request.record,
                offset=request.offset, output=request.lane, position=position,
            )  # fmt: skip


@defect("src.1", CONFORMANCE, tolerance="all")
class FailureHasMetadata(WorkerSourceTask):
    """The task calls commitRecord with metadata although the record was given up."""

    def give_up(self, record: SourceRecord) -> None:
        self.show(Kind.ACKNOWLEDGED, record)
        self.connector.commit_record(record)


by_config(
    "aborted_acknowledged",
    "src.1",
    CONFORMANCE,
    why="Kafka does so: records of a transaction that the connector had aborted are acknowledged with the next",
    mode="proposed-exactly-once",
    aborted_acknowledged=True,
)


by_config("newest_callback_told", "src.1", PROMISE, upstream="newest-acknowledged")


# src.2, src.3: what is committable
@defect("src.2", PROGRESS)
class OneQueue(SubmittedRecords):
    """All source partitions share one queue, of which only the last acknowledged head's offset is committed."""

    __slots__ = ("all",)

    def __init__(self) -> None:
        super().__init__()
        self.all: deque[SubmittedRecord] = deque()

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        record = super().submit(partition, offset)
        self.all.append(record)
        return record

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        self.all.remove(record)
        return super().remove_last_occurrence(record)

    def committable_offsets(self) -> Offsets:
        offsets: Offsets = {}
        while self.all and self.all[0].acked:
            head = self.all.popleft()
            self.queues[head.partition].popleft()
            offsets = {head.partition: head.offset}
        return offsets


class AcknowledgesTwice(WorkerSourceTask):
    """The callback acknowledges each record twice."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        tracked = self.in_flight[request.number][1]
        super().record_done(request, ok, position)
        if tracked.acked:
            tracked.ack()


class Uncounted(SubmittedRecord):
    """The record does not remember that it was acknowledged before."""

    __slots__ = ()

    def ack(self) -> None:
        self.acked = True
        self.records.message_acked()


@defect("src.2", CONFORMANCE, also=(AcknowledgesTwice,))
class AcknowledgementsCountedTwice(SubmittedRecords):
    """A record that is acknowledged twice counts as two acknowledged records."""

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        record = super().submit(partition, offset)
        record.__class__ = Uncounted
        return record

    def all_acked(self) -> bool:
        return self.unacked <= 0


@defect("src.3", PROMISE)
class NewestCommittable(SubmittedRecords):
    """The newest acknowledged record is committable, even if records before it are still in flight."""

    def committable_offsets(self) -> Offsets:
        newest = {p: [r.offset for r in queue if r.acked] for p, queue in self.queues.items()}
        return {**super().committable_offsets(), **{p: acked[-1] for p, acked in newest.items() if acked}}


@defect("src.3", CONFORMANCE, "what is tracked only grows")
class HeadsLeft(SubmittedRecords):
    """Acknowledged records at the heads of the queues are read but not removed."""

    def committable_offsets(self) -> Offsets:
        offsets: dict[int, int] = {}
        for partition, queue in self.queues.items():
            for record in queue:
                if not record.acked:
                    break
                offsets[partition] = record.offset
        return offsets


# src.11: what counts as an acknowledgement
@defect("src.11", PROMISE)
class DropAcknowledges(SubmittedRecords):
    """A record that the producer has refused for now counts as acknowledged."""

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        record.ack()
        return True


by_config("failure_not_acknowledged", "src.11", PROGRESS, tolerance="all", failures_acknowledged=False)


# A task that goes on
@defect("src.2", PROMISE)
class RefusedGoesLast(TaskThread):
    """A record that was refused for now is sent again after the rest of its batch."""

    def send(self, outcome: str) -> bool:
        task = self.task
        dropped = outcome == FAILED and not task.is_filtered(task.to_send[0]) and not task.send_error
        done = super().send(outcome)
        if dropped:
            task.to_send.rotate(-1)
        return done


@defect("src.P2", PROMISE)
class RestOfBatchDropped(TaskThread):
    """When a record is refused for now, that record is sent again but the rest of its batch is dropped."""

    def send(self, outcome: str) -> bool:
        task = self.task
        dropped = outcome == FAILED and not task.is_filtered(task.to_send[0]) and not task.send_error
        done = super().send(outcome)
        if dropped:
            task.to_send = deque([task.to_send[0]])
        return done


@defect("src.P4", PROGRESS)
class NeverTriedAgain(TaskThread):
    """After a record is refused for now, only a request to stop wakes the task."""

    __slots__ = ("waits",)

    def send(self, outcome: str) -> bool:
        before = self.task.to_send[0]
        done = super().send(outcome)
        self.waits = outcome == FAILED and bool(self.task.to_send) and self.task.to_send[0] is before
        return done

    def update(self, outcome: str) -> bool:
        if getattr(self, "waits", False) and not self.task.stop_asked:
            return False
        return super().update(outcome)


@defect("src.P4", PROGRESS)
class PollErrorIsTheLast(TaskThread):
    """After a retriable error of poll the task continues its loop, but never polls again."""

    __slots__ = ("gave_up",)

    def poll(self, outcome: str) -> bool:
        self.gave_up = outcome != OK
        return super().poll(outcome)

    def update(self, outcome: str) -> bool:
        done = super().update(outcome)
        if self.doing == "poll" and getattr(self, "gave_up", False):
            self.wait_for("update")
        return done


@defect("src.P4", PROGRESS)
class StillRegistered(TaskThread):
    """A task that has failed stays in its worker's table, so the next one of its name is refused for ever ("Task
    already exists in this worker")."""

    table: ClassVar[WeakSet[Environment]] = WeakSet()

    def start(self, outcome: str) -> bool:
        if self.task.env in self.table:
            self.task.end(Kind.INSTANCE_FAILED)
            return True
        return super().start(outcome)

    def close(self, outcome: str) -> bool:
        if self.task.failing:
            self.table.add(self.task.env)
        return super().close(outcome)


@defect("src.P2", PROMISE, mode="proposed-exactly-once")
class RefusedIsNoted(ExactlyOnceTask):
    """The source offset of a record is stored for the commit although the producer has refused the record for now."""

    def submit(self, record: SourceRecord, outcome: str) -> None:
        super().submit(record, outcome)
        if outcome == FAILED:
            self.writer.offset(record.partition, record.offset)


@defect("src.P3", PROGRESS, mode="proposed-exactly-once")
class AbortForgetsOffsets(ExactlyOnceTask):
    """When the connector aborts a batch, its source offsets are lost."""

    def abort_batch(self) -> None:
        if self.is_open:
            self.writer.data.clear()
        super().abort_batch()


@defect("src.P2", PROMISE, mode="proposed-exactly-once", partitions=2)
class OneWriterForAll(ExactlyOnceTask):
    """Instances of a connector share one offset writer, with the offsets that a failed one has put back."""

    writers: ClassVar[WeakKeyDictionary[Environment, OffsetStorageWriter]] = WeakKeyDictionary()

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.writer = self.writers.setdefault(env, self.writer)

    def kill(self) -> None:
        self.writers.pop(self.env, None)
        super().kill()


@defect("src.P2", PROMISE, mode="proposed-exactly-once")
class CommitsBeforeItsRecords(TransactionThread):
    """The task commits the transaction without waiting for its records."""

    def commit(self, outcome: str) -> bool:
        task = self.task
        if outcome != OK or task.send_error or not task.producer.in_flight:
            return super().commit(outcome)
        task.commit_transaction(self.flush_number, self.map)
        self.flush_ended(True)
        return True


# Defects of the interface: what `commit` with offsets calls, and which offsets it gets.


@defect("src.6", CONFORMANCE, interface=True)
class DefaultDoesNothing(Connector):
    """The default commit with offsets does not call the one without, so old connectors are not called."""

    def commit(self, offsets: Offsets | None) -> None:
        if offsets is None:
            super().commit(offsets)


@defect("src.9", CONFORMANCE, interface=True)
class WhateverIsStored(WorkerSourceTask):
    """The map that commit gets contains all stored offsets, of any instance."""

    def commit_source_task(self, thread: int, offsets: Offsets, ok: bool) -> None:
        stored = {partition: offset for partition, offset in enumerate(self.env.topics.stored) if offset}
        super().commit_source_task(thread, {**stored, **offsets}, ok)


# The kind of damage that each defect does is in `breaks`: with PROMISE an offset is reported, stored or forgotten
# upstream too early, with CONFORMANCE there is a step that the rules do not have, though nothing is lost by it, and
# with PROGRESS something stays tracked for ever.

REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
