"""This module is a source task with at-least-once delivery: the steps of its thread and of the committer's."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.connect.commits.config import FLUSHED, Kind
from fencepost.reference_impl.connect.commits.connector import SourceRecord
from fencepost.reference_impl.connect.commits.environment import Environment, Request, Sender
from fencepost.reference_impl.connect.commits.records import Flush, Offsets, SubmittedRecord

# A thread of a task waits before its next operation, until the driver lets it happen, fail, or succeed with its answer
# lost.
#
# `OffsetCommit` has the steps of committing offsets (`WorkerSourceTask.commitOffsets`), on either thread.

OK, FAILED, LOST = "ok", "failed", "lost"
TASK, COMMITTER = 0, 1
IDLE = ""


class OffsetCommit:
    """An `OffsetCommit` is a thread that commits offsets; ``doing`` is the operation that it will do next."""

    __slots__ = ("begun", "doing", "map", "number", "task", "thread")

    task: "WorkerSourceTask"

    def __init__(self, task: Any, thread: int) -> None:
        self.task = task
        self.thread = thread
        self.doing = IDLE
        self.number = -1
        self.map: Offsets = {}
        self.begun: Flush | None = None

    def wait_for(self, operation: str) -> None:
        self.doing = operation
        self.number = self.task.env.waiting_number()

    def step(self, outcome: str = OK) -> bool:
        """Do the next operation with this outcome; return False, with nothing done, if it has to wait."""
        operation: Callable[[str], bool] = getattr(self, self.doing)
        return operation(outcome)

    def close(self, _: str) -> bool:
        """End the task's own thread and close its producer. What the producer has in flight is given up; an open
        transaction stays open until the next instance begins."""
        self.task.end(Kind.INSTANCE_FAILED if self.task.failing else Kind.INSTANCE_STOPPED)
        return True

    def begin_commit(self) -> None:
        self.wait_for("snapshot")

    def done(self, committed: bool) -> None:
        self.task.release(self)
        self.wait_for(IDLE)

    def snapshot(self, outcome: str) -> bool:
        """Take the committable offsets, so that no other thread takes them."""
        task = self.task
        if not task.acquire(self):
            return outcome != OK and self.refused()
        self.map = task.take_committable()
        for partition, offset in self.map.items():
            task.env.emit(
                Kind.SNAPSHOT_TAKEN, instance=task.number, thread=self.thread, partition=partition, offset=offset
            )
        self.wait_for("begin")
        return True

    def begin(self, outcome: str) -> bool:
        """Give the offsets taken to the writer, wait for another flush to end, and begin a flush."""
        task, writer = self.task, self.task.writer
        if outcome == OK and writer.in_progress:
            return False
        for partition, offset in self.map.items():
            writer.offset(partition, offset)
        if writer.in_progress:
            return self.refused()
        number = task.env.next_flush()
        flush = self.begun = writer.begin_flush(number)
        entries = flush.entries if flush is not None else {}
        task.show_flush(self.thread, number, entries)
        if flush is not None:
            if task.env.config.map_of == FLUSHED:
                self.map = entries
            writer.do_flush(task.send_offset)
        self.flush_begun()
        return True

    def flush_begun(self) -> None:
        """Wait until the flush is written, or call the connector at once if there was nothing to flush."""
        self.wait_for("tell" if self.begun is None else "finish")

    def finish(self, outcome: str) -> bool:
        """Wait until all offsets are written, some of them failed, or the wait times out (src.4)."""
        flush, task = self.begun, self.task
        assert flush is not None, "a flush was begun"
        if outcome == OK and flush.failed is None:
            return False
        in_time = outcome == OK or (flush.failed is not None and not task.env.config.late_time_outs)
        ok = in_time and not flush.failed
        if not ok:
            task.writer.cancel_flush()
        task.env.emit(Kind.FLUSH_ENDED, instance=task.number, thread=self.thread, flush=flush.number, outcome=int(ok))
        self.finished(ok)
        return True

    def finished(self, ok: bool) -> None:
        """Call the connector's commit only if the flush succeeded."""
        if ok:
            self.wait_for("tell")
        else:
            self.done(False)

    def tell(self, outcome: str) -> bool:
        """Call the connector's commit; an exception from it is ignored (src.7)."""
        self.task.commit_source_task(self.thread, self.map, outcome == OK)
        self.map = {}
        self.done(True)
        return True

    def refused(self) -> bool:
        """Give up this commit, because another thread's takes too long."""
        self.task.env.emit(Kind.FLUSH_REFUSED, instance=self.task.number, thread=self.thread)
        self.done(False)
        return True


class Committer(OffsetCommit):
    """A `Committer` is the thread of SourceTaskOffsetCommitter that commits this task's offsets from time to time."""

    __slots__ = ()


class TaskThread(OffsetCommit):
    """A `TaskThread` is the task's own thread: it polls and sends, and at its end commits offsets."""

    __slots__ = ()

    def start(self, outcome: str) -> bool:
        """Read the stored offsets to their end, and start the connector's task."""
        if outcome != OK:
            self.task.end(Kind.INSTANCE_FAILED)
            return True
        self.task.resume()
        self.wait_for("update")
        return True

    def update(self, _: str) -> bool:
        """Begin a round of the loop: take the acknowledged heads off the queues, then choose the next operation."""
        task = self.task
        task.update_committable()
        if task.stop_asked:
            self.leave_loop(1)
        elif task.to_send:
            self.wait_for("send")
        elif task.send_error:
            self.leave_loop(0)
        else:
            self.wait_for("poll")
        return True

    def poll(self, outcome: str) -> bool:
        """Ask the connector for records; a retriable error counts as an empty batch."""
        task = self.task
        if outcome == OK:
            task.to_send.extend(task.connector.poll())
        self.wait_for("send" if task.to_send else "update")
        return True

    def send(self, outcome: str) -> bool:
        """Transform the next record and hand it to the producer, which may refuse it for now, or for good."""
        task = self.task
        record = task.to_send[0]
        if task.is_filtered(record):
            task.filter(task.to_send.popleft())
        elif task.send_error:
            self.leave_loop(0)
            return True
        else:
            task.submit(record, outcome)
            if outcome == FAILED:
                self.wait_for("update")  # the rest of the batch, with this one, is stored
                return True
            task.to_send.popleft()
            if outcome != OK:
                self.leave_loop(0)
                return True
        self.wait_for("send" if task.to_send else "update")
        return True

    def leave_loop(self, asked: int) -> None:
        """Leave the loop, because the task was asked to stop or after an error; the final commit follows."""
        task = self.task
        task.leaving = True
        task.env.emit(Kind.STOPPING, instance=task.number, outcome=asked)
        task.failing = not asked
        self.wait_for("drain")

    def drain(self, outcome: str) -> bool:
        """Wait for a limited time for the records in flight (src.12)."""
        task = self.task
        drained = task.records.all_acked()
        if outcome == OK and not drained:
            return False
        self.drained(drained)
        return True

    def drained(self, all_acked: bool) -> None:
        self.task.env.emit(Kind.DRAINED, instance=self.task.number, outcome=int(all_acked))
        self.task.update_committable()
        self.wait_for("snapshot")

    def done(self, committed: bool) -> None:
        self.task.release(self)
        self.wait_for("close")


# One instance of the task on Connect's at-least-once runtime (WorkerSourceTask.java): what its threads share.


class Task:
    """A `Task` is what both runtimes have in common; ``to_send`` has polled records that are not sent yet."""

    __slots__ = (
        "committer", "connector", "env", "failing", "leaving", "number", "offsets", "producer", "running",
        "send_error", "stop_asked", "thread", "to_send", "writer",
    )  # fmt: skip

    thread: OffsetCommit
    committer: OffsetCommit | None

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.number = env.next_instance()
        self.connector = env.parts.connector(env, self.number)
        self.writer = env.parts.writer()
        self.producer = Sender(env.config.outputs)
        self.offsets = Sender(env.config.partitions)
        self.to_send: deque[SourceRecord] = deque()
        self.running = True
        self.stop_asked = self.leaving = self.failing = self.send_error = False
        self.committer = None
        env.emit(Kind.INSTANCE_STARTED, instance=self.number)

    def resume(self) -> None:
        stored = list(self.env.topics.stored)
        self.connector.start(stored)
        for partition, offset in enumerate(stored):
            self.env.emit(Kind.RESUMED, instance=self.number, partition=partition, offset=offset)

    def is_filtered(self, record: SourceRecord) -> bool:
        every = self.env.config.filtered
        return bool(every) and record.record % every == 0

    def filter(self, record: SourceRecord) -> None:
        """Drop a record that a transformation filters out: commitRecord(record, null), and no offset."""
        self.show(Kind.FILTERED, record)
        self.connector.commit_record(record)

    def show(self, kind: int, record: SourceRecord, **columns: int) -> None:
        partition, number, offset = record
        self.env.emit(kind, instance=self.number, partition=partition, record=number, offset=offset, **columns)

    def send_failed(self, partition: int, record: int) -> None:
        self.env.emit(Kind.SEND_FAILED, instance=self.number, partition=partition, record=record)

    def submit(self, record: SourceRecord, outcome: str) -> None:
        """Hand the record to the producer, which takes it, refuses it (`failed`), or fails (`lost`)."""
        output = self.output_of(record)
        self.show(Kind.SUBMITTED, record, output=output)
        self.track(record)
        if outcome == OK:
            partition, number, offset = record
            self.taken(
                record,
                Request(
                    self.env.waiting_number(), self.number, output, partition, number, offset, -1, self.record_done
                ),
            )
        elif outcome == FAILED:
            self.refused(record)
            self.show(Kind.DROPPED, record)
        else:
            self.send_failed(record.partition, record.record)

    def track(self, record: SourceRecord) -> None:
        """Note that the record is on its way to the producer."""

    def taken(self, record: SourceRecord, request: Request) -> None:
        self.producer.send(request)

    def refused(self, record: SourceRecord) -> None:
        """Note that the producer does not take the record now."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say what becomes of records: override record_done()")

    def stored(self, partition: int, offset: int, flush: int) -> int:
        position = self.env.topics.store(partition, offset)
        self.env.emit(
            Kind.OFFSET_WRITTEN, instance=self.number, partition=partition, offset=offset, flush=flush,
            position=position,
        )  # fmt: skip
        return position

    def produced(self, partition: int, record: int, output: int) -> int:
        position = self.env.topics.append(output, partition, record)
        self.env.emit(
            Kind.PRODUCED, instance=self.number, partition=partition, record=record, output=output, position=position
        )
        return position

    def give_up(self, record: SourceRecord) -> None:
        """Give up a record that will not be sent: commitRecord(record, null) is called."""
        self.show(Kind.GIVEN_UP, record)
        self.connector.commit_record(record)

    def output_of(self, record: SourceRecord) -> int:
        """Return the output partition of a record; those of a source partition take turns."""
        return (record.partition + record.record) % self.env.config.outputs

    def show_flush(self, thread: int, number: int, entries: Mapping[int, int]) -> None:
        emit = self.env.emit
        emit(Kind.FLUSH_BEGUN, instance=self.number, thread=thread, flush=number, entries=len(entries))
        for partition, offset in entries.items():
            emit(Kind.FLUSH_ENTRY, instance=self.number, partition=partition, offset=offset, flush=number)

    def commit_source_task(self, thread: int, offsets: Offsets, ok: bool) -> None:
        """Call the connector's commit: with the map as proposed, whose default is to call the method without it
        (src.6), or as shipped without the map. An exception is logged and ignored (src.7)."""
        env, argument = self.env, self.env.config.argument
        env.emit(Kind.TOLD, instance=self.number, thread=thread, entries=len(offsets) if argument else -1)
        if argument:
            for partition, offset in offsets.items():
                env.emit(Kind.TOLD_OFFSET, instance=self.number, thread=thread, partition=partition, offset=offset)
        if ok:
            self.connector.commit(offsets if argument else None)
        else:
            env.emit(Kind.TELLING_FAILED, instance=self.number, thread=thread)

    def kill(self) -> None:
        """Kill the process. Where requests outlive their process, what was sent may still arrive."""
        self.env.emit(Kind.INSTANCE_KILLED, instance=self.number)
        self.stand_still()
        if not self.env.config.zombies:
            self.lose()

    def end(self, kind: int) -> None:
        """End the instance: its clients are closed, and nothing of it is in flight any more."""
        self.env.emit(kind, instance=self.number)
        self.stand_still()
        self.lose()

    def stand_still(self) -> None:
        self.running = False
        for thread in (self.thread, self.committer):
            if thread is not None:
                thread.doing = IDLE

    def lose(self) -> None:
        self.producer.lose()
        self.offsets.lose()

    def release(self, thread: OffsetCommit) -> None:
        """Note that this thread has stopped committing offsets."""

    def receive(self, request: Request, outcome: str) -> None:
        """Let a request reach its broker, or not, and run its callback."""
        raise NotImplementedError(f"{type(self).__name__} must say what its requests do: override receive()")


class WorkerSourceTask(Task):
    """A `WorkerSourceTask` is an instance with a committer in addition to its own thread."""

    __slots__ = ("committable", "holder", "in_flight", "records", "tracked")

    tracked: SubmittedRecord
    """This is the tracked record of the source record that is being submitted."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.records = env.parts.records()
        self.committable: Offsets = {}
        self.holder: OffsetCommit | None = None  # the thread that commits offsets
        self.in_flight: dict[int, tuple[SourceRecord, SubmittedRecord]] = {}  # by the request's number
        self.committer = env.parts.committer(self, COMMITTER)
        self.thread = env.parts.thread(self, TASK)
        self.thread.wait_for("start")

    # Records

    def track(self, record: SourceRecord) -> None:
        self.tracked = self.records.submit(record.partition, record.offset)

    def taken(self, record: SourceRecord, request: Request) -> None:
        self.in_flight[request.number] = record, self.tracked
        super().taken(record, request)

    def refused(self, record: SourceRecord) -> None:
        self.tracked.drop()

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        """Handle the producer's callback: notify the connector, then acknowledge the record (src.1)."""
        record, tracked = self.in_flight.pop(request.number)
        if ok:
            self.show(Kind.ACKNOWLEDGED, record, output=request.lane, position=position)
            self.connector.commit_record(record)
            tracked.ack()
        elif self.env.config.tolerates:
            self.give_up(record)
            if self.env.config.failures_acknowledged:
                tracked.ack()
        else:
            self.send_failed(record.partition, record.record)
            self.send_error = True

    def receive(self, request: Request, outcome: str) -> None:
        position = -1
        if outcome != FAILED and request.flush < 0:
            position = self.produced(request.partition, request.record, request.lane)
        elif outcome != FAILED:
            position = self.stored(request.partition, request.offset, request.flush)
        if self.running:
            request.done(request, outcome == OK, position)

    # Offsets

    def update_committable(self) -> None:
        """Add what became committable to what no thread has taken yet."""
        newer = self.records.committable_offsets()
        for partition, offset in newer.items():
            self.env.emit(Kind.COMMITTABLE, instance=self.number, partition=partition, offset=offset)
        self.committable = {**self.committable, **newer}

    def take_committable(self) -> Offsets:
        taken, self.committable = self.committable, {}
        return taken

    def send_offset(self, flush: Flush, partition: int, offset: int) -> None:
        def done(_: Request, ok: bool, __: int) -> None:
            flush.written(ok)

        self.offsets.send(
            Request(self.env.waiting_number(), self.number, partition, partition, -1, offset, flush.number, done)
        )

    def acquire(self, thread: OffsetCommit) -> bool:
        """Let this thread commit offsets; return False while the other thread does, if only one may."""
        if self.env.config.serial and self.holder not in (None, thread):
            return False
        self.holder = thread
        return True

    def release(self, thread: OffsetCommit) -> None:
        if self.holder is thread:
            self.holder = None

    def commit_due(self) -> bool:
        """Let the committer begin. Return False if it is still committing, if the task has not started, or if the task
        is asked to stop: the committer is cancelled then, except for a commit under way
        (SourceTaskOffsetCommitter.remove)."""
        committer = self.committer
        if committer is None or committer.doing != IDLE or self.stop_asked or self.thread.doing in ("start", IDLE):
            return False
        committer.begin_commit()
        return True
