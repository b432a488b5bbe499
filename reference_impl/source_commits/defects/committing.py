"""What can be wrong with committing offsets: what is flushed, when commit is called, what the final commit does."""

from fencepost.reference_impl.source_commits.runtime.exactly_once import TransactionThread
from fencepost.reference_impl.source_commits.runtime.offset_writer import Flush, OffsetStorageWriter
from fencepost.reference_impl.source_commits.runtime.task import WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import TASK, Committer, TaskThread


class ToldAtOnce(Committer):
    """commit is called when the flush has begun."""

    def flush_begun(self) -> None:
        if self.begun is not None:
            self.task.commit_source_task(self.thread, self.map, True)
        super().flush_begun()

    def tell(self, outcome: str) -> bool:
        if self.begun is None:
            return super().tell(outcome)
        self.done(True)
        return True


class ToldAnyway(Committer):
    """commit is called whatever became of the flush."""

    def finished(self, ok: bool) -> None:
        super().finished(True)


class EarlierForgotten(OffsetStorageWriter):
    """What a flush that failed was to write is gone."""

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        return newer


class LateCallbackCounts(OffsetStorageWriter):
    """The callback of a flush that was cancelled ends the one that is under way."""

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        if ok:
            self.end_flush()
        else:
            self.cancel_flush()


class DoesNotWait(TaskThread):
    """The final commit of a task that is asked to stop does not wait for the records in flight."""

    def leave_loop(self, asked: int) -> None:
        super().leave_loop(asked)
        if asked:
            self.task.update_committable()
            self.wait_for("snapshot")


class TimeOutIsSuccess(TaskThread):
    """The wait for the records in flight has always succeeded."""

    def drained(self, all_acked: bool) -> None:
        super().drained(True)


class NoFinalCommit(TaskThread):
    """A task that fails ends without a commit, as it does where it has transactions."""

    def leave_loop(self, asked: int) -> None:
        super().leave_loop(asked)
        if not asked:
            self.wait_for("close")


class ExceptionFails(WorkerSourceTask):
    """An exception of commit fails the task."""

    def commit_source_task(self, thread: int, offsets: object, ok: bool) -> None:
        super().commit_source_task(thread, offsets, ok)  # type: ignore[arg-type]
        if not ok:
            self.send_error = True


class CommitterUpdates(Committer):
    """The committer takes acknowledged heads off the queues itself before it commits."""

    def begin_commit(self) -> None:
        self.task.update_committable()
        super().begin_commit()


class ToldOfTheAborted(TransactionThread):
    """commit is called with the offsets of a batch as soon as it is aborted."""

    def dispatched(self) -> None:
        task, was_asked = self.task, self.task.abort_asked and self.task.is_open
        offsets = dict(task.writer.data)
        super().dispatched()
        if was_asked:
            task.commit_source_task(TASK, offsets, True)


class ToldOfTheFailed(TransactionThread):
    """commit is called with the offsets of a transaction although that has failed."""

    def flush_ended(self, ok: bool) -> None:
        super().flush_ended(ok)
        if not ok:
            self.task.commit_source_task(TASK, self.map, True)


class OffsetsFirst(TransactionThread):
    """Offsets are committed though records of the transaction have failed: the errors of callbacks are forgotten."""

    def commit(self, outcome: str) -> bool:
        if not self.task.producer.in_flight:
            self.task.send_error = False
        return super().commit(outcome)
