"""The threads of a task: each waits before its next operation, until whoever drives lets that happen, fail, or succeed
with its answer lost.

`OffsetCommit` is what committing offsets consists of (`WorkerSourceTask.commitOffsets`), on whichever thread.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.source_commits.config import FLUSHED
from fencepost.reference_impl.source_commits.events import Kind
from fencepost.reference_impl.source_commits.runtime.offset_writer import Flush
from fencepost.reference_impl.source_commits.runtime.submitted_records import Offsets

if TYPE_CHECKING:
    from fencepost.reference_impl.source_commits.runtime.task import WorkerSourceTask

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
        """It stands before this operation now."""
        self.doing = operation
        self.number = self.task.env.waiting_number()

    def step(self, outcome: str = OK) -> bool:
        """The operation happens, or does not; False, and nothing happens, where it has to wait."""
        operation: Callable[[str], bool] = getattr(self, self.doing)
        return operation(outcome)

    def begin_commit(self) -> None:
        """Offsets are to be committed."""
        self.wait_for("snapshot")

    def done(self, committed: bool) -> None:
        """They are, or they could not be."""
        self.task.release(self)
        self.wait_for(IDLE)

    def snapshot(self, outcome: str) -> bool:
        """Take what is committable, so that nobody takes it again."""
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
        """What a round of the loop begins with: take acknowledged heads off the queues; then go on."""
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
                self.wait_for("update")  # the rest of the batch, with this one, is kept
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
        """The wait is over."""
        self.task.env.emit(Kind.DRAINED, instance=self.task.number, outcome=int(all_acked))
        self.task.update_committable()
        self.wait_for("snapshot")

    def done(self, committed: bool) -> None:
        """The final commit is over, however it went."""
        self.task.release(self)
        self.wait_for("close")

    def close(self, _: str) -> bool:
        """The producer is closed: what it still has in flight is given up."""
        self.task.end(Kind.INSTANCE_FAILED if self.task.failing else Kind.INSTANCE_STOPPED)
        return True
