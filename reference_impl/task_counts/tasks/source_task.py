"""A source task's thread: its start, then polling, until it stops or fails.

Every poll is a transaction of its own: records and their offsets, then the commit. Below it lie `task_start.py` (the
steps of each revision) and `task_base.py` (what an instance is, how it ends).
"""

from fencepost.reference_impl.task_counts.brokers import OFFSETS_TOPIC, OUTPUT_TOPIC
from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.tasks.producers import FENCED, KafkaError
from fencepost.reference_impl.task_counts.tasks.task_base import TaskFailed
from fencepost.reference_impl.task_counts.tasks.task_start import ABANDON, TaskStart
from fencepost.reference_impl.task_counts.tasks.threads import INTERRUPTED, Script


def never() -> bool:
    """Nothing turns this operation back."""
    return False


class SourceTask(TaskStart):
    """One instance, complete."""

    def run(self) -> Script:
        """The thread."""
        self.emit(Kind.TASK_STARTING)
        try:
            ending = (yield from self.start_up()) if self.herder.enabled else None
            if ending == ABANDON:
                self.end(Kind.TASK_ABANDONED, "UNASSIGNED")
                return
            if ending is None and not self.must_stop():
                self.emit(Kind.TASK_RUNNING)
                self.put_status("RUNNING")
                yield from (self.poll_until_stopped() if self.herder.enabled else self.poll_plainly())
            else:
                while not (yield from self.stop()):
                    pass
        except TaskFailed as failure:
            self.fail(failure)

    # Polling

    def poll_until_stopped(self) -> Script:
        """One transaction for every poll: records, their offsets, and the commit (618.20)."""
        looks = self.must_stop  # a task that does not get to its end polls once more before it looks again
        while True:
            sent = yield from self.attempt("poll", self.send_records, looks)
            if sent is not INTERRUPTED:
                yield from self.attempt("commit", self.commit)
                looks = self.must_stop
            elif (yield from self.stop()):
                return
            else:
                looks = never

    def send_records(self) -> None:
        """What a poll brought, into an open transaction."""
        producer = self.producer
        assert producer is not None, "polls begin after the start"
        self.polls += 1
        try:
            producer.begin()
            producer.send(OUTPUT_TOPIC, (*self.id, self.instance, self.polls))
            producer.send(OFFSETS_TOPIC, (*self.id, self.instance, self.polls))
        except KafkaError as error:
            self.refused(error)
        self.emit(Kind.RECORDS_SENT)

    def commit(self) -> None:
        """Records and offsets become visible together."""
        assert self.producer is not None, "something was sent"
        pair = self.producer.producer_id, self.producer.epoch
        try:
            self.producer.commit()
        except KafkaError as error:
            self.refused(error)
        self.emit(Kind.TRANSACTION_COMMITTED, pair=pair)

    def refused(self, error: KafkaError) -> None:
        """Fenced, or something else that this producer does not get over."""
        if error.code in FENCED:
            self.emit(Kind.TRANSACTION_REFUSED, error=error.code)
        raise TaskFailed(str(error), error.code) from error

    def poll_plainly(self) -> Script:
        """Without exactly-once support: records without transactions, offsets after them."""
        looks = self.must_stop
        while True:
            sent = yield from self.attempt("poll", self.send_plainly, looks)
            if sent is INTERRUPTED and (yield from self.stop()):
                return
            looks = never if sent is INTERRUPTED else self.must_stop

    def send_plainly(self) -> None:
        """Every record is visible at once."""
        self.polls += 1
        self.env.brokers.append_plainly(OUTPUT_TOPIC, (*self.id, self.instance, self.polls))
        self.emit(Kind.RECORDS_SENT)
        self.env.brokers.append_plainly(OFFSETS_TOPIC, (*self.id, self.instance, self.polls))
        self.emit(Kind.TRANSACTION_COMMITTED)
