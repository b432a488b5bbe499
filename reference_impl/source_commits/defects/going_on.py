"""What can be wrong with a task that goes on: after a record was refused for now, after an error, after an abort, and
with the instance that follows one that has failed."""

from collections import deque
from typing import ClassVar
from weakref import WeakKeyDictionary, WeakSet

from fencepost.reference_impl.source_commits.connector import SourceRecord
from fencepost.reference_impl.source_commits.environment import Environment
from fencepost.reference_impl.source_commits.events import Kind
from fencepost.reference_impl.source_commits.runtime.exactly_once import ExactlyOnceTask, TransactionThread
from fencepost.reference_impl.source_commits.runtime.offset_writer import OffsetStorageWriter
from fencepost.reference_impl.source_commits.runtime.threads import FAILED, OK, TaskThread


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


class RefusedIsNoted(ExactlyOnceTask):
    """The source offset of a record is noted though the producer has refused it for now."""

    __slots__ = ()

    def submit(self, record: SourceRecord, outcome: str) -> None:
        super().submit(record, outcome)
        if outcome == FAILED:
            self.writer.offset(record.partition, record.offset)


class AbortForgetsOffsets(ExactlyOnceTask):
    """With a batch that the connector has aborted its source offsets are forgotten."""

    __slots__ = ()

    def abort_batch(self) -> None:
        if self.is_open:
            self.writer.data.clear()
        super().abort_batch()


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
