"""Defects of committing offsets: what is flushed, when commit is called, what the final commit does, and what comes of
a flush that failed, took too long or was cut off."""

from fencepost.reference_impl.simulation.defects import CONFORMANCE, NOTHING, PROGRESS, PROMISE, defect, plant
from fencepost.reference_impl.source_commits.runtime.exactly_once import TransactionThread
from fencepost.reference_impl.source_commits.runtime.offset_writer import Flush, OffsetStorageWriter
from fencepost.reference_impl.source_commits.runtime.task import WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import OK, TASK, Committer, OffsetCommit, TaskThread

ONCE_MORE = "what was not committed is polled again by the next instance, and arrives twice"


# src.4: when commit is called
@defect("src.4", PROMISE)
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


@defect("src.4", PROMISE)
class ToldAnyway(Committer):
    """commit is called whatever became of the flush."""

    def finished(self, ok: bool) -> None:
        super().finished(True)


plant("last_polled_told", "src.4", PROMISE, upstream="last-polled")


plant("acknowledged_told", "src.4", PROMISE, upstream="acknowledged-prefix")


plant("previously_acknowledged_told", "src.4", PROMISE, upstream="previous-prefix")


@defect("src.4", PROMISE, mode="proposed-exactly-once")
class ToldOfFailedTransaction(TransactionThread):
    """commit is called with the offsets of a transaction although that has failed."""

    def flush_ended(self, ok: bool) -> None:
        super().flush_ended(ok)
        if not ok:
            self.task.commit_source_task(TASK, self.map, True)


# src.5: what the map says
plant("map_of_snapshot", "src.5", CONFORMANCE, map_of="snapshot")


plant("empty_is_all", "src.5", PROMISE, upstream="empty-is-all")


@defect("src.5", PROMISE, mode="proposed-exactly-once")
class ToldOfAbortedBatch(TransactionThread):
    """commit is called with the offsets of a batch as soon as it is aborted."""

    def dispatched(self) -> None:
        task, was_asked = self.task, self.task.abort_asked and self.task.is_open
        offsets = dict(task.writer.data)
        super().dispatched()
        if was_asked:
            task.commit_source_task(TASK, offsets, True)


plant("first_of_several", "src.5", PROMISE, several=2, stamped="first")


@defect("src.P2", PROMISE, mode="proposed-exactly-once")
class OffsetsWithoutRecords(TransactionThread):
    """Offsets are committed though records of the transaction have failed: the errors of callbacks are forgotten."""

    def commit(self, outcome: str) -> bool:
        if not self.task.producer.in_flight:
            self.task.send_error = False
        return super().commit(outcome)


# src.7
@defect("src.7", CONFORMANCE)
class ExceptionFails(WorkerSourceTask):
    """An exception of commit fails the task."""

    def commit_source_task(self, thread: int, offsets: object, ok: bool) -> None:
        super().commit_source_task(thread, offsets, ok)  # type: ignore[arg-type]
        if not ok:
            self.send_error = True


# src.10: what comes of a flush that failed
@defect("src.10", PROGRESS)
class FailedFlushForgotten(OffsetStorageWriter):
    """What a flush that failed was to write is gone."""

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        return newer


@defect("src.10", CONFORMANCE)
class LateCallbackCounts(OffsetStorageWriter):
    """The callback of a flush that was cancelled ends the one that is under way."""

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
    """The wait for the records in flight has always succeeded."""

    def drained(self, all_acked: bool) -> None:
        super().drained(True)


plant("two_threads", "src.P1", PROMISE, serial=False)


# A flush that failed, took too long or was cut off
@defect("src.10", PROGRESS, partitions=2)
class LastPutBackOnly(OffsetStorageWriter):
    """Of what a failed flush was to write only the last source partition is put back."""

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        return {**dict([*older.items()][-1:]), **newer}


@defect("src.10", PROMISE)
class PolledPutBack(Committer):
    """After a flush that failed the positions of the connector are put back, and not what had been taken."""

    __slots__ = ()

    def finished(self, ok: bool) -> None:
        if not ok:
            for partition, offset in enumerate(self.task.connector.polled):
                self.task.writer.offset(partition, offset)
        super().finished(ok)


@defect("src.10", PROGRESS)
class LateSuccessClears(OffsetStorageWriter):
    """A flush that was cancelled and is written after all removes its source partitions from what is to be written,
    whatever offset these have by then."""

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        if ok and flush is not self.current:
            for partition in flush.entries:
                self.data.pop(partition, None)
        else:
            super().handle_finish_write(flush, ok)


@defect("src.10", PROGRESS)
class TimedOutNotPutBack(Committer):
    """A flush that takes too long is not put back, as its writes are on their way; they may fail yet."""

    __slots__ = ()

    def finish(self, outcome: str) -> bool:
        if outcome != OK and self.begun is not None and self.begun.failed is None:
            self.task.writer.end_flush()
        return super().finish(outcome)


@defect("src.P3", PROGRESS)
class CommitterInterrupted(Committer):
    """The committer is interrupted when its task is asked to stop: what it has taken by then is never written."""

    __slots__ = ()

    def begin(self, outcome: str) -> bool:
        if not self.task.stop_asked:
            return super().begin(outcome)
        self.map = {}
        self.done(False)
        return True


@defect("src.7", PROGRESS)
class CommitterDies(Committer):
    """An exception of commit ends the schedule, as that of a ScheduledExecutorService does: the committer never begins
    again."""

    __slots__ = ("dead",)

    def begin_commit(self) -> None:
        if not getattr(self, "dead", False):
            super().begin_commit()

    def tell(self, outcome: str) -> bool:
        self.dead = outcome != OK
        return super().tell(outcome)


@defect("src.12", PROMISE)
class TimeOutAcknowledges(TaskThread):
    """Records that are in flight when the last wait runs out of time count as acknowledged."""

    __slots__ = ()

    def drained(self, all_acked: bool) -> None:
        for _, tracked in self.task.in_flight.values():
            tracked.ack()
        super().drained(all_acked)


@defect("src.P1", PROMISE)
class LastCommitTakesOver(WorkerSourceTask):
    """The last commit does not wait for the committer to be done."""

    __slots__ = ()

    def acquire(self, thread: OffsetCommit) -> bool:
        if thread.thread == TASK:
            self.holder = None
        return super().acquire(thread)


# Controls
@defect("src.12", NOTHING, ONCE_MORE, harmless=("proposed", "src.12", ""))
class NoFinalCommit(TaskThread):
    """A task that fails ends without a commit, as it does where it has transactions."""

    def leave_loop(self, asked: int) -> None:
        super().leave_loop(asked)
        if not asked:
            self.wait_for("close")


@defect(
    "src.3",
    CONFORMANCE,
    "what is acknowledged may be committed, whoever takes it off the queue while no other thread does",
)
class CommitterUpdates(Committer):
    """The committer takes acknowledged heads off the queues itself before it commits."""

    def begin_commit(self) -> None:
        self.task.update_committable()
        super().begin_commit()
