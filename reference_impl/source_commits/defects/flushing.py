"""What can be wrong with a flush that failed, took too long or was cut off, and with the last commit of a task."""

from fencepost.reference_impl.source_commits.runtime.offset_writer import Flush, OffsetStorageWriter
from fencepost.reference_impl.source_commits.runtime.task import WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import OK, TASK, Committer, OffsetCommit, TaskThread


class PutsBackTheLastOnly(OffsetStorageWriter):
    """Of what a failed flush was to write only the last source partition is put back."""

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        return {**dict([*older.items()][-1:]), **newer}


class PutsBackWhatIsPolled(Committer):
    """After a flush that failed the positions of the connector are put back, and not what had been taken."""

    __slots__ = ()

    def finished(self, ok: bool) -> None:
        if not ok:
            for partition, offset in enumerate(self.task.connector.polled):
                self.task.writer.offset(partition, offset)
        super().finished(ok)


class LateSuccessClears(OffsetStorageWriter):
    """A flush that was cancelled and is written after all removes its source partitions from what is to be written,
    whatever offset these have by then."""

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        if ok and flush is not self.current:
            for partition in flush.entries:
                self.data.pop(partition, None)
        else:
            super().handle_finish_write(flush, ok)


class TimedOutIsOnItsWay(Committer):
    """A flush that takes too long is not put back, as its writes are on their way; they may fail yet."""

    __slots__ = ()

    def finish(self, outcome: str) -> bool:
        if outcome != OK and self.begun is not None and self.begun.failed is None:
            self.task.writer.end_flush()
        return super().finish(outcome)


class InterruptedByTheStop(Committer):
    """The committer is interrupted when its task is asked to stop: what it has taken by then is never written."""

    __slots__ = ()

    def begin(self, outcome: str) -> bool:
        if not self.task.stop_asked:
            return super().begin(outcome)
        self.map = {}
        self.done(False)
        return True


class DiesOfAnException(Committer):
    """An exception of commit ends the schedule, as that of a ScheduledExecutorService does: the committer never begins
    again."""

    __slots__ = ("dead",)

    def begin_commit(self) -> None:
        if not getattr(self, "dead", False):
            super().begin_commit()

    def tell(self, outcome: str) -> bool:
        self.dead = outcome != OK
        return super().tell(outcome)


class TimeOutAcknowledges(TaskThread):
    """Records that are in flight when the last wait runs out of time count as acknowledged."""

    __slots__ = ()

    def drained(self, all_acked: bool) -> None:
        for _, tracked in self.task.in_flight.values():
            tracked.ack()
        super().drained(all_acked)


class LastCommitTakesOver(WorkerSourceTask):
    """The last commit does not wait for the committer to be done."""

    __slots__ = ()

    def acquire(self, thread: OffsetCommit) -> bool:
        if thread.thread == TASK:
            self.holder = None
        return super().acquire(thread)
