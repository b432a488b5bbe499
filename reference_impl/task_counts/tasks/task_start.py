"""The start of a source task, step by step (618.14 to 618.20, 618.44).

The steps of each revision, and their order, are in revisions.py; each is a method here that lets the start go on
(None), or ends it. (AbstractWorkerSourceTask, ExactlyOnceWorkerSourceTask)
"""

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.asking import ask_for_round
from fencepost.reference_impl.task_counts.herder.endpoint import CONFLICT
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.permissions import (
    of_offsets_topic,
    of_task,
    task_transactional_id,
    tolerates_creation_error,
)
from fencepost.reference_impl.task_counts.tasks.producers import TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.task_base import TaskBase, TaskFailed
from fencepost.reference_impl.task_counts.tasks.threads import Script, Wait

ABANDON, STOP = "abandon", "stop"  # how a step ends a start, without failing it


class TaskStart(TaskBase):
    """What comes before polling."""

    def steps(self) -> tuple[str, ...]:
        """The start-up, in order."""
        return self.env.revision.steps

    def start_up(self) -> Script:
        """Step by step; None if the task may poll."""
        for step in self.steps():
            ending = yield from getattr(self, step)()
            if ending is not None:
                return ending
            if self.must_stop():
                return STOP
        return None

    # The steps

    def look(self) -> Script:
        """A: on the worker's own view; without a count record after the set wait for the next rebalance (618.14)."""
        may_run = self.may_start()
        self.emit(Kind.TASK_CHECKED, status=OK if may_run else CONFLICT)
        if not may_run:
            self.herder.warnings.append(f"task {self.id}: no task count record after the latest set: not started")
            return ABANDON
        yield from ()
        return None

    def await_count(self) -> Script:
        """M: the same, but the task starts as soon as the record is read (618.44)."""
        yield Wait(lambda: self.stopping or self.may_start())
        if self.stopping:
            return STOP
        self.start_from_newest_set()
        may_run = self.id[1] < self.herder.view.state.tasks(self.id[0])  # a newer, smaller set may have come meanwhile
        self.emit(Kind.TASK_CHECKED, status=OK if may_run else CONFLICT)
        return None if may_run else ABANDON

    def ask(self) -> Script:
        """B, shipped: a round, by the leader; any failure fails the task (618.15, 618.11)."""
        reply = yield from ask_for_round(self.herder, *self.id, lambda: self.stopping)
        if not reply.status:
            return STOP
        if reply.status != OK:
            raise TaskFailed(reply.trace)
        return None

    def check_before(self) -> Script:
        """B: read to the end; without a count record after the latest set the start is abandoned (618.16)."""
        may_run = yield from self.attempt("check_before", self.look_again)
        return None if may_run else ABANDON

    def look_again(self) -> bool:
        """Read to the end, and whether a count record stands after the latest set."""
        self.herder.view.read_to_end()
        may_run = self.may_start()
        self.emit(Kind.TASK_CHECKED, status=OK if may_run else CONFLICT)
        return may_run

    def may_start(self) -> bool:
        """618.2."""
        return self.herder.view.state.may_run(self.id[0])

    def open_producer(self) -> Script:
        """initTransactions() under the task's id: whoever held it is fenced (618.18)."""
        if self.producer is None:
            name = task_transactional_id(self.env.config.group_id, *self.id)
            self.producer = TransactionalProducer(
                self.env.brokers, name, of_task(self.env.config.group_id, *self.id)
            )  # fmt: skip
        if self.left_running and self.env.revision.cancels:
            self.producer.close()
        yield from self.attempt("open_producer", self.open)

    def open(self) -> None:
        """The call itself."""
        assert self.producer is not None, "made just before"
        self.producer.open()
        self.emit(Kind.PRODUCER_OPENED)

    def create_offsets_topic(self) -> Script:
        """If a separate offsets topic is used, create it; what the worker tolerates for its own topics is ignored, any
        other error fails the task (618.17)."""
        if self.env.config.offsets_topic:
            yield from self.attempt("create_topic", self.create)
        return None

    def create(self) -> None:
        """The call itself, as the connector's admin."""
        brokers, topic = self.env.brokers, self.env.config.offsets_topic
        error = brokers.acls.error(of_offsets_topic(topic)) or brokers.create_topic(topic)
        if not tolerates_creation_error(error):
            raise TaskFailed(f"ConnectException: offsets topic {topic} cannot be created: error {error}", error)

    def check_after(self) -> Script:
        """Read to the end once more: no newer set than the one started from (618.19, 618.20)."""
        passed = yield from self.attempt("check_after", self.check_generation)
        if passed:
            return None
        if self.env.revision.mismatch_fails:
            raise TaskFailed(
                f"ConnectException: task {self.id} was started from generation {self.generation}, which is not the "
                f"newest any more, or is not assigned to this worker"
            )
        return ABANDON

    def check_generation(self) -> bool:
        """Whether the set started from is still the newest; as shipped, also whether the task is still assigned."""
        self.herder.view.read_to_end()
        owned = self.id in self.herder.owned_tasks or not self.env.revision.checks_ownership
        passed = owned and not self.is_overtaken()
        self.emit(Kind.TASK_CHECKED_AGAIN, status=OK if passed else CONFLICT)
        return passed

    def is_overtaken(self) -> bool:
        """Generations compared, as this worker counts them (618.19)."""
        return self.herder.view.state.generation(self.id[0]) != self.generation
