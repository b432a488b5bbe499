"""This module is one instance of the task on Connect's exactly-once runtime (ExactlyOnceWorkerSourceTask.java): records
and offsets are in one transaction for each batch, all on the task's own thread.

This runtime tracks no single records, because a transaction is committed when all of its records are acknowledged. The
map of commit(map) is then what the transaction has committed. A batch that the connector has aborted is gone for good:
its offsets are committed all the same, in a transaction of their own, so that the same records are not polled again.
"""

from fencepost.reference_impl.connect.commits.config import Kind
from fencepost.reference_impl.connect.commits.connector import SourceRecord
from fencepost.reference_impl.connect.commits.environment import Environment, Request
from fencepost.reference_impl.connect.commits.records import Offsets
from fencepost.reference_impl.connect.commits.task import FAILED, LOST, OK, TASK, OffsetCommit, Task

Sent = tuple[SourceRecord, int]
"""A `Sent` is a record and its output partition."""


class TransactionThread(OffsetCommit):
    """A `TransactionThread` is the task's thread: it polls, sends and commits in a loop."""

    __slots__ = ("flush_number",)

    task: "ExactlyOnceTask"  # type: ignore[assignment]  # of the base's operations it has none but tell

    def start(self, outcome: str) -> bool:
        """Call initTransactions(), which ends the transaction of the previous instance, then read the offsets."""
        task = self.task
        task.abort_unfinished()
        if outcome != OK:
            task.end(Kind.INSTANCE_FAILED)
            return True
        task.resume()
        self.next_round()
        return True

    def next_round(self) -> None:
        """Poll, or go on with the rest of a batch; if the task is asked to stop, commit what was sent."""
        task = self.task
        if task.stop_asked:
            self.leave_loop(1)
            self.dispatched()
        else:
            self.wait_for("send" if task.to_send else "poll")

    def poll(self, outcome: str) -> bool:
        task = self.task
        if outcome == OK:
            task.to_send.extend(task.connector.poll())
        if task.to_send:
            self.wait_for("send")
        else:
            self.dispatched()
        return True

    def send(self, outcome: str) -> bool:
        """Send the next record in the transaction, unless it is filtered out."""
        task = self.task
        record = task.to_send[0]
        if task.is_filtered(record):
            task.filter(task.to_send.popleft())
        else:
            task.submit(record, outcome)
            if outcome == FAILED:
                self.next_round()
                return True
            task.to_send.popleft()
            if outcome == LOST:
                self.fail()
                return True
        if task.to_send:
            self.wait_for("send")
        else:
            self.dispatched()
        return True

    def dispatched(self) -> None:
        """After a batch was sent, commit it, or abort it if the connector asked for this and commit only its offsets.
        If there is nothing to commit, the connector's commit is called all the same."""
        task = self.task
        if task.abort_asked:
            task.abort_asked = False
            task.abort_batch()
        self.map = {}
        self.wait_for("flush" if task.is_open or task.writer.will_flush() else "tell")

    def flush(self, outcome: str) -> bool:
        task = self.task
        task.begin_transaction()
        self.flush_number = task.env.next_flush()
        begun = task.writer.begin_flush(self.flush_number)
        self.map = begun.entries if begun is not None else {}
        task.show_flush(TASK, self.flush_number, self.map)
        if outcome == OK:
            self.wait_for("commit")
        else:
            self.flush_ended(False)
        return True

    def commit(self, outcome: str) -> bool:
        """Commit the transaction when all of its records are acknowledged; any error fails the task."""
        task = self.task
        waits = task.producer.in_flight and not task.send_error
        if outcome == OK and waits:
            return False
        committed = outcome != FAILED and not task.send_error and not waits
        if committed:
            task.commit_transaction(self.flush_number, self.map)
        self.flush_ended(committed and outcome == OK)
        return True

    def flush_ended(self, ok: bool) -> None:
        """Notify the connector of what was committed, and of nothing else (src.4)."""
        task = self.task
        task.env.emit(Kind.FLUSH_ENDED, instance=task.number, thread=TASK, flush=self.flush_number, outcome=int(ok))
        if ok:
            task.writer.end_flush()
            task.commit_records()
            self.wait_for("tell")
        else:
            task.writer.cancel_flush()
            self.fail()

    def fail(self) -> None:
        """Let the task fail; nothing more is committed."""
        self.leave_loop(0)
        self.wait_for("close")

    def leave_loop(self, asked: int) -> None:
        task = self.task
        task.leaving, task.failing = True, not asked
        task.env.emit(Kind.STOPPING, instance=task.number, outcome=asked)

    def done(self, committed: bool) -> None:
        if self.task.leaving:
            self.wait_for("close")
        else:
            self.next_round()


class ExactlyOnceTask(Task):
    """An `ExactlyOnceTask` is an instance with a transactional producer. ``sent`` has the records in the open
    transaction, ``appended`` those that have reached their brokers, and ``acked`` those that commitRecord has yet to be
    called for."""

    __slots__ = ("abort_asked", "acked", "appended", "is_open", "sent")

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.is_open = self.abort_asked = False
        self.sent: list[SourceRecord] = []
        self.appended: list[Sent] = []
        self.acked: list[Sent] = []
        self.thread = env.parts.transaction_thread(self, TASK)
        self.thread.wait_for("start")

    def submit(self, record: SourceRecord, outcome: str) -> None:
        self.begin_transaction()
        super().submit(record, outcome)

    def taken(self, record: SourceRecord, request: Request) -> None:
        self.sent.append(record)
        super().taken(record, request)
        self.writer.offset(record.partition, record.offset)

    def receive(self, request: Request, outcome: str) -> None:
        if outcome != FAILED:
            record = SourceRecord(request.partition, request.record, request.offset)
            self.appended.append((record, request.lane))
        request.done(request, outcome == OK, -1)

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        """Handle the producer's callback: a record that failed fails its transaction, whatever errors.tolerance is."""
        if ok:
            self.acked.append((SourceRecord(request.partition, request.record, request.offset), request.lane))
        else:
            self.send_failed(request.partition, request.record)
            self.send_error = True

    # Transactions

    def begin_transaction(self) -> None:
        if not self.is_open:
            self.is_open = True
            self.env.unfinished = self
            self.env.emit(Kind.TRANSACTION_BEGUN, instance=self.number)

    def commit_transaction(self, flush: int, offsets: Offsets) -> None:
        """Commit the transaction: its records and its offsets become visible."""
        self.env.emit(Kind.TRANSACTION_COMMITTED, instance=self.number)
        for (partition, record, _), output in self.appended:
            self.produced(partition, record, output)
        for partition, offset in offsets.items():
            self.stored(partition, offset, flush)
        self.forget_transaction()

    def forget_transaction(self) -> None:
        self.is_open = False
        self.sent, self.appended = [], []
        self.env.unfinished = None

    def commit_records(self) -> None:
        """Call commitRecord for each record that was committed, in the order of acknowledgement."""
        acked, self.acked = self.acked, []
        for record, output in acked:
            self.show(Kind.ACKNOWLEDGED, record, output=output)
            self.connector.commit_record(record)

    def abort_batch(self) -> None:
        """Abort the transaction because the connector asked for it; its records are given up and will never be sent."""
        if not self.is_open:
            return
        self.producer.lose()
        self.send_error = False
        self.env.emit(Kind.TRANSACTION_ABORTED, instance=self.number, outcome=1)
        if not self.env.config.aborted_acknowledged:
            self.acked = []
            for record in self.sent:
                self.give_up(record)
        self.forget_transaction()

    def abort_unfinished(self) -> None:
        """Abort the transaction that an earlier instance has left open, as initialising its transactional id does."""
        left = self.env.unfinished
        if left is not None:
            self.env.emit(Kind.TRANSACTION_ABORTED, instance=left.number, outcome=0)
            left.forget_transaction()

    def ask_for_abort(self) -> bool:
        self.abort_asked = self.running and not self.leaving
        return self.abort_asked
