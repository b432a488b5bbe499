"""A source task, at least once: the steps of its thread and of the committer's, and what they do."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.connect.commits.config import FLUSHED, Kind
from fencepost.reference_impl.connect.commits.connector import SourceRecord
from fencepost.reference_impl.connect.commits.environment import Environment, Request, Sender
from fencepost.reference_impl.connect.commits.records import Flush, Offsets, SubmittedRecord

# The threads of a task: each waits before its next operation, until the driver lets that happen, fail, or succeed
# with its answer lost.
#
# `OffsetCommit` is what committing offsets consists of (`WorkerSourceTask.commitOffsets`), on whichever thread.

OK, FAILED, LOST = "ok", "failed", "lost"
TASK, COMMITTER = 0, 1
IDLE = ""


class OffsetCommit:
    """A thread that commits offsets: snapshot, begin, finish, tell. `doing` is the operation before which it stands."""

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
        """The operation happens, or does not; False, and nothing happens, where it has to wait."""
        operation: Callable[[str], bool] = getattr(self, self.doing)
        return operation(outcome)

    def close(self, _: str) -> bool:
        """The end of a task's own thread: the producer is closed. What it has in flight is given up; a transaction that
        is open stays so until the next instance begins."""
        self.task.end(Kind.INSTANCE_FAILED if self.task.failing else Kind.INSTANCE_STOPPED)
        return True

    def begin_commit(self) -> None:
        self.wait_for("snapshot")

    def done(self, committed: bool) -> None:
        self.task.release(self)
        self.wait_for(IDLE)

    def snapshot(self, outcome: str) -> bool:
        """Take what is committable, so that no thread takes it again."""
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
        """Give that to the writer, wait for another flush to end, and begin one."""
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
        """Wait until it is written, if there is anything."""
        self.wait_for("tell" if self.begun is None else "finish")

    def finish(self, outcome: str) -> bool:
        """Wait until all is written, or some of it failed, or it takes too long (src.4)."""
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
        """Only what was written is told of."""
        if ok:
            self.wait_for("tell")
        else:
            self.done(False)

    def tell(self, outcome: str) -> bool:
        """Call the connector's commit. An exception of it is ignored (src.7)."""
        self.task.commit_source_task(self.thread, self.map, outcome == OK)
        self.map = {}
        self.done(True)
        return True

    def refused(self) -> bool:
        """It gives up, since another one takes too long."""
        self.task.env.emit(Kind.FLUSH_REFUSED, instance=self.task.number, thread=self.thread)
        self.done(False)
        return True


class Committer(OffsetCommit):
    """The thread of SourceTaskOffsetCommitter that this task's offsets are committed by from time to time."""

    __slots__ = ()


class TaskThread(OffsetCommit):
    """The task's own thread (AbstractWorkerSourceTask.execute): polls and sends, and at its end commits offsets."""

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
        """Return what a round of the loop begins with: take acknowledged heads off the queues; then go on."""
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
        """Ask the connector for records; an error of it that can be retried is as if there were none."""
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
        """The loop is over: the final commit follows, in order or after an error."""
        task = self.task
        task.leaving = True
        task.env.emit(Kind.STOPPING, instance=task.number, outcome=asked)
        task.failing = not asked
        self.wait_for("drain")

    def drain(self, outcome: str) -> bool:
        """Wait for the records in flight, but not for long (src.12)."""
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
        """The final commit is over, however it went."""
        self.task.release(self)
        self.wait_for("close")


# One instance of the task on Connect's at-least-once runtime (WorkerSourceTask.java): what its threads share.


class Task:
    """What both runtimes have. `to_send` is what was polled and is not sent yet."""

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
        """A transformation has dropped it: commitRecord(record, null), and its offset is not committed."""
        self.show(Kind.FILTERED, record)
        self.connector.commit_record(record)

    def show(self, kind: int, record: SourceRecord, **columns: int) -> None:
        partition, number, offset = record
        self.env.emit(kind, instance=self.number, partition=partition, record=number, offset=offset, **columns)

    def send_failed(self, partition: int, record: int) -> None:
        self.env.emit(Kind.SEND_FAILED, instance=self.number, partition=partition, record=record)

    def submit(self, record: SourceRecord, outcome: str) -> None:
        """Hand it to the producer, which takes it, refuses it (`failed`), or fails (`lost`)."""
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
        """It is on its way to the producer."""

    def taken(self, record: SourceRecord, request: Request) -> None:
        self.producer.send(request)

    def refused(self, record: SourceRecord) -> None:
        """The producer does not take it now."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say what becomes of records: override record_done()")

    def stored(self, partition: int, offset: int, flush: int) -> int:
        """A source offset comes to its broker; its position."""
        position = self.env.topics.store(partition, offset)
        self.env.emit(
            Kind.OFFSET_WRITTEN, instance=self.number, partition=partition, offset=offset, flush=flush,
            position=position,
        )  # fmt: skip
        return position

    def produced(self, partition: int, record: int, output: int) -> int:
        """A record comes to its broker; its position."""
        position = self.env.topics.append(output, partition, record)
        self.env.emit(
            Kind.PRODUCED, instance=self.number, partition=partition, record=record, output=output, position=position
        )
        return position

    def give_up(self, record: SourceRecord) -> None:
        """It will not be sent: commitRecord(record, null)."""
        self.show(Kind.GIVEN_UP, record)
        self.connector.commit_record(record)

    def output_of(self, record: SourceRecord) -> int:
        """Return where it goes: records of one source partition go to all output partitions in turn."""
        return (record.partition + record.record) % self.env.config.outputs

    def show_flush(self, thread: int, number: int, entries: Mapping[int, int]) -> None:
        emit = self.env.emit
        emit(Kind.FLUSH_BEGUN, instance=self.number, thread=thread, flush=number, entries=len(entries))
        for partition, offset in entries.items():
            emit(Kind.FLUSH_ENTRY, instance=self.number, partition=partition, offset=offset, flush=number)

    def commit_source_task(self, thread: int, offsets: Offsets, ok: bool) -> None:
        """Call commit of the connector: with the map as proposed, whose default is to call the one without (src.6), or
        as shipped without it. An exception is logged and ignored (src.7)."""
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
        """The process is gone. What was sent may arrive yet where requests outlive their process."""
        self.env.emit(Kind.INSTANCE_KILLED, instance=self.number)
        self.stand_still()
        if not self.env.config.zombies:
            self.lose()

    def end(self, kind: int) -> None:
        """It has ended; its clients are closed, and nothing of it is in flight any more."""
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
        """This thread does not commit offsets any more."""

    def receive(self, request: Request, outcome: str) -> None:
        """A request comes to its broker, or does not; its callback runs."""
        raise NotImplementedError(f"{type(self).__name__} must say what its requests do: override receive()")


class WorkerSourceTask(Task):
    """An instance with a committer in addition to its own thread."""

    __slots__ = ("committable", "holder", "in_flight", "records", "tracked")

    tracked: SubmittedRecord
    """That of the record that is being submitted."""

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
        """The producer's callback (src.1): the connector is told, and then the record counts as acknowledged."""
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
        """What became committable is added to what no thread has taken yet."""
        newer = self.records.committable_offsets()
        for partition, offset in newer.items():
            self.env.emit(Kind.COMMITTABLE, instance=self.number, partition=partition, offset=offset)
        self.committable = {**self.committable, **newer}

    def take_committable(self) -> Offsets:
        taken, self.committable = self.committable, {}
        return taken

    def send_offset(self, flush: Flush, partition: int, offset: int) -> None:
        """Hand an offset to the producer of the offsets topic."""

        def done(_: Request, ok: bool, __: int) -> None:
            flush.written(ok)

        self.offsets.send(
            Request(self.env.waiting_number(), self.number, partition, partition, -1, offset, flush.number, done)
        )

    def acquire(self, thread: OffsetCommit) -> bool:
        """Let this thread commit offsets; False while the other does, where only one may."""
        if self.env.config.serial and self.holder not in (None, thread):
            return False
        self.holder = thread
        return True

    def release(self, thread: OffsetCommit) -> None:
        if self.holder is thread:
            self.holder = None

    def commit_due(self) -> bool:
        """The committer begins; False where it is still at it, the task is not started, or is asked to stop: the
        committer is cancelled then, but for what it is at (SourceTaskOffsetCommitter.remove)."""
        committer = self.committer
        if committer is None or committer.doing != IDLE or self.stop_asked or self.thread.doing in ("start", IDLE):
            return False
        committer.begin_commit()
        return True
