"""One instance of the task on Connect's at-least-once runtime (WorkerSourceTask.java): what its threads share."""

from collections import deque
from collections.abc import Mapping

from fencepost.reference_impl.source_commits.connector import SourceRecord
from fencepost.reference_impl.source_commits.environment import Environment
from fencepost.reference_impl.source_commits.events import Kind
from fencepost.reference_impl.source_commits.kafka import Request, Sender
from fencepost.reference_impl.source_commits.runtime.offset_writer import Flush
from fencepost.reference_impl.source_commits.runtime.submitted_records import (
    EMPTY,
    Offsets,
    SubmittedRecord,
)
from fencepost.reference_impl.source_commits.runtime.threads import (
    COMMITTER,
    IDLE,
    OK,
    TASK,
    OffsetCommit,
)


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
        """It goes on from the stored offsets."""
        stored = list(self.env.topics.stored)
        self.connector.start(stored)
        for partition, offset in enumerate(stored):
            self.env.emit(Kind.RESUMED, instance=self.number, partition=partition, offset=offset)

    def is_filtered(self, record: SourceRecord) -> bool:
        """Whether a transformation drops it."""
        every = self.env.config.filtered
        return bool(every) and record.record % every == 0

    def filter(self, record: SourceRecord) -> None:
        """A transformation has dropped it: commitRecord(record, null), and its offset is not committed."""
        self.show(Kind.FILTERED, record)
        self.connector.commit_record(record)

    def show(self, kind: int, record: SourceRecord) -> None:
        """An event of a record."""
        partition, number, offset = record
        self.env.emit(kind, instance=self.number, partition=partition, record=number, offset=offset)

    def give_up(self, record: SourceRecord) -> None:
        """It will not be sent: commitRecord(record, null)."""
        self.show(Kind.GIVEN_UP, record)
        self.connector.commit_record(record)

    def output_of(self, record: SourceRecord) -> int:
        """Where it goes: records of one source partition go to all output partitions in turn."""
        return (record.partition + record.record) % self.env.config.outputs

    def show_flush(self, thread: int, number: int, entries: Mapping[int, int]) -> None:
        """A flush begins, with these offsets."""
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
        """No thread of it does anything any more."""
        self.running = False
        for thread in (self.thread, self.committer):
            if thread is not None:
                thread.doing = IDLE

    def lose(self) -> None:
        """Nothing that it has sent arrives any more."""
        self.producer.lose()
        self.offsets.lose()

    def release(self, thread: OffsetCommit) -> None:
        """This thread does not commit offsets any more."""

    def receive(self, request: Request, outcome: str) -> None:
        """A request comes to its broker, or does not; its callback runs."""
        raise NotImplementedError(f"{type(self).__name__} must say what its requests do: override receive()")


class WorkerSourceTask(Task):
    """An instance with a committer beside its own thread."""

    __slots__ = ("committable", "holder", "in_flight", "records")

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.records = env.parts.records()
        self.committable = EMPTY
        self.holder: OffsetCommit | None = None  # the thread that commits offsets
        self.in_flight: dict[int, tuple[SourceRecord, SubmittedRecord]] = {}  # by the request's number
        self.committer = env.parts.committer(self, COMMITTER)
        self.thread = env.parts.thread(self, TASK)
        self.thread.wait_for("start")

    # Records

    def submit(self, record: SourceRecord, outcome: str) -> None:
        """Track it, and hand it to the producer."""
        env = self.env
        output = self.output_of(record)
        partition, number, offset = record
        env.emit(Kind.SUBMITTED, instance=self.number, partition=partition, record=number, offset=offset, output=output)
        tracked = self.records.submit(partition, offset)
        if outcome == OK:
            request = Request(
                env.waiting_number(), self.number, output, partition, number, offset, -1, self.record_done
            )
            self.in_flight[request.number] = record, tracked
            self.producer.send(request)
        elif outcome == "failed":
            tracked.drop()
            self.show(Kind.DROPPED, record)
        else:
            env.emit(Kind.SEND_FAILED, instance=self.number, partition=partition, record=number)

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        """The producer's callback (src.1): the connector is told, and then the record counts as acknowledged."""
        record, tracked = self.in_flight.pop(request.number)
        if ok:
            partition, number, offset = record
            self.env.emit(
                Kind.ACKNOWLEDGED, instance=self.number, partition=partition, record=number, offset=offset,
                output=request.lane, position=position,
            )  # fmt: skip
            self.connector.commit_record(record)
            tracked.ack()
        elif self.env.config.tolerates:
            self.give_up(record)
            if self.env.config.failures_acknowledged:
                tracked.ack()
        else:
            self.env.emit(Kind.SEND_FAILED, instance=self.number, partition=record.partition, record=record.record)
            self.send_error = True

    def receive(self, request: Request, outcome: str) -> None:
        env = self.env
        position = -1
        if request.flush < 0:
            if outcome != "failed":
                position = env.topics.append(request.lane, request.partition, request.record)
                env.emit(
                    Kind.PRODUCED, instance=self.number, partition=request.partition, record=request.record,
                    output=request.lane, position=position,
                )  # fmt: skip
        elif outcome != "failed":
            position = env.topics.store(request.partition, request.offset)
            env.emit(
                Kind.OFFSET_WRITTEN, instance=self.number, partition=request.partition, offset=request.offset,
                flush=request.flush, position=position,
            )  # fmt: skip
        if self.running:
            request.done(request, outcome == OK, position)

    # Offsets

    def update_committable(self) -> None:
        """What became committable is added to what nobody has taken yet."""
        newer = self.records.committable_offsets()
        for partition, offset in newer.offsets.items():
            self.env.emit(Kind.COMMITTABLE, instance=self.number, partition=partition, offset=offset)
        self.committable = self.committable.updated_with(newer)

    def take_committable(self) -> Offsets:
        """All of that, and nobody takes it again."""
        taken, self.committable = self.committable, EMPTY
        return taken.offsets

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
