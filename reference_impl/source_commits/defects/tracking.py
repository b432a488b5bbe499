"""Defects of records that are tracked: what is committable, and what an acknowledgement is; and of a task that goes on
after a refused record, an error or an abort, and with the instance that follows one that has failed."""

from collections import deque
from typing import ClassVar
from weakref import WeakKeyDictionary, WeakSet

from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, defect, plant
from fencepost.reference_impl.source_commits.connector import SourceRecord
from fencepost.reference_impl.source_commits.environment import Environment
from fencepost.reference_impl.source_commits.events import Kind
from fencepost.reference_impl.source_commits.kafka import Request
from fencepost.reference_impl.source_commits.runtime.exactly_once import ExactlyOnceTask, TransactionThread
from fencepost.reference_impl.source_commits.runtime.offset_writer import OffsetStorageWriter
from fencepost.reference_impl.source_commits.runtime.submitted_records import (
    CommittableOffsets,
    SubmittedRecord,
    SubmittedRecords,
)
from fencepost.reference_impl.source_commits.runtime.task import WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import FAILED, OK, TaskThread


# src.1: what commitRecord says
@defect("src.1", CONFORMANCE)
class AcknowledgedTwice(WorkerSourceTask):
    """commitRecord is called twice for every fourth record."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        super().record_done(request, ok, position)
        if ok and request.record % 4 == 0:
            self.env.emit(
                Kind.ACKNOWLEDGED, instance=self.number, partition=request.partition, record=request.record,
                offset=request.offset, output=request.lane, position=position,
            )  # fmt: skip


@defect("src.1", CONFORMANCE, tolerance="all")
class FailureHasMetadata(WorkerSourceTask):
    """commitRecord has metadata although the record was given up."""

    def give_up(self, record: SourceRecord) -> None:
        self.show(Kind.ACKNOWLEDGED, record)
        self.connector.commit_record(record)


plant(
    "aborted_acknowledged",
    "src.1",
    CONFORMANCE,
    why="Kafka does so: records of a transaction that the connector had aborted are acknowledged with the next",
    mode="proposed-exactly-once",
    aborted_acknowledged=True,
)


plant("newest_callback_told", "src.1", PROMISE, upstream="newest-acknowledged")


# src.2, src.3: what is committable
@defect("src.2", PROGRESS)
class OneQueue(SubmittedRecords):
    """All source partitions share a queue, of which the last acknowledged head's offset is all that is said."""

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

    def committable_offsets(self) -> CommittableOffsets:
        offsets, taken = {}, 0
        while self.all and self.all[0].acked:
            head = self.all.popleft()
            self.queues[head.partition].popleft()
            offsets, taken = {head.partition: head.offset}, taken + 1
        return CommittableOffsets(offsets, taken, len(self.all))


class AcknowledgesTwice(WorkerSourceTask):
    """The callback acknowledges each record twice."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        tracked = self.in_flight[request.number][1]
        super().record_done(request, ok, position)
        if tracked.acked:
            tracked.ack()


class Uncounted(SubmittedRecord):
    """It does not know that it was acknowledged before."""

    __slots__ = ()

    def ack(self) -> None:
        self.acked = True
        self.records.message_acked()


@defect("src.2", CONFORMANCE, also=(AcknowledgesTwice,))
class AcknowledgementsCountedTwice(SubmittedRecords):
    """A record that is acknowledged twice counts as two."""

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        record = super().submit(partition, offset)
        record.__class__ = Uncounted
        return record

    def all_acked(self) -> bool:
        return self.unacked <= 0


@defect("src.3", PROMISE)
class NewestCommittable(SubmittedRecords):
    """The newest acknowledged record is committable, whatever is in flight before it."""

    def committable_offsets(self) -> CommittableOffsets:
        newest = {p: [r.offset for r in queue if r.acked] for p, queue in self.queues.items()}
        found = super().committable_offsets()
        return found._replace(offsets={**found.offsets, **{p: acked[-1] for p, acked in newest.items() if acked}})


@defect("src.3", CONFORMANCE, "what is tracked only grows")
class HeadsLeft(SubmittedRecords):
    """Acknowledged heads are looked at and left where they are."""

    def committable_offsets(self) -> CommittableOffsets:
        offsets: dict[int, int] = {}
        for partition, queue in self.queues.items():
            for record in queue:
                if not record.acked:
                    break
                offsets[partition] = record.offset
        return CommittableOffsets(offsets, len(offsets))


# src.11: what an acknowledgement is
@defect("src.11", PROMISE)
class DropAcknowledges(SubmittedRecords):
    """A record that the producer has refused for now counts as acknowledged."""

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        record.ack()
        return True


plant("failure_not_acknowledged", "src.11", PROGRESS, tolerance="all", failures_acknowledged=False)


# A task that goes on
@defect("src.2", PROMISE)
class RefusedGoesLast(TaskThread):
    """A record that was refused for now is sent again behind the rest of its batch."""

    __slots__ = ()

    def send(self, outcome: str) -> bool:
        task = self.task
        dropped = outcome == FAILED and not task.is_filtered(task.to_send[0]) and not task.send_error
        done = super().send(outcome)
        if dropped:
            task.to_send.rotate(-1)
        return done


@defect("src.P2", PROMISE)
class RestOfBatchDropped(TaskThread):
    """When a record is refused for now, that one is kept, and the rest of its batch is not."""

    __slots__ = ()

    def send(self, outcome: str) -> bool:
        task = self.task
        dropped = outcome == FAILED and not task.is_filtered(task.to_send[0]) and not task.send_error
        done = super().send(outcome)
        if dropped:
            task.to_send = deque([task.to_send[0]])
        return done


@defect("src.P4", PROGRESS)
class NeverTriedAgain(TaskThread):
    """A record that was refused for now is waited for, and nothing wakes the task but a request to stop."""

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
    """After an error of poll that can be retried the task goes round its loop, and never polls again."""

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
    """A task that has failed stays in its worker's table, where the next one of its name is refused, for ever: "Task
    already exists in this worker"."""

    __slots__ = ()

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
    """The source offset of a record is noted though the producer has refused it for now."""

    __slots__ = ()

    def submit(self, record: SourceRecord, outcome: str) -> None:
        super().submit(record, outcome)
        if outcome == FAILED:
            self.writer.offset(record.partition, record.offset)


@defect("src.P3", PROGRESS, mode="proposed-exactly-once")
class AbortForgetsOffsets(ExactlyOnceTask):
    """With a batch that the connector has aborted its source offsets are forgotten."""

    __slots__ = ()

    def abort_batch(self) -> None:
        if self.is_open:
            self.writer.data.clear()
        super().abort_batch()


@defect("src.P2", PROMISE, mode="proposed-exactly-once", partitions=2)
class OneWriterForAll(ExactlyOnceTask):
    """The writer of offsets is the connector's: what an instance that has failed put back is there for the next."""

    __slots__ = ()

    writers: ClassVar[WeakKeyDictionary[Environment, OffsetStorageWriter]] = WeakKeyDictionary()

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.writer = self.writers.setdefault(env, self.writer)

    def kill(self) -> None:
        self.writers.pop(self.env, None)
        super().kill()


@defect("src.P2", PROMISE, mode="proposed-exactly-once")
class CommitsBeforeItsRecords(TransactionThread):
    """The transaction is committed without a wait for its records."""

    __slots__ = ()

    def commit(self, outcome: str) -> bool:
        task = self.task
        if outcome != OK or task.send_error or not task.producer.in_flight:
            return super().commit(outcome)
        task.commit_transaction(self.flush_number, self.map)
        self.flush_ended(True)
        return True
