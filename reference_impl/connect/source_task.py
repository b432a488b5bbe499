"""This module has what a worker runs: Connectors, which make the configurations of tasks, and source tasks, with how
they start, poll and end."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect.brokers import (
    FENCED,
    OFFSETS_TOPIC,
    OUTPUT_TOPIC,
    UNKNOWN_TOPIC_OR_PARTITION,
    KafkaError,
    TransactionalProducer,
    missing_topics,
    of_description,
    of_offsets_topic,
    of_task,
    task_transactional_id,
    tolerates_creation_error,
)
from fencepost.reference_impl.connect.config import Kind
from fencepost.reference_impl.connect.config_records import OK
from fencepost.reference_impl.connect.group import CONNECTOR, TaskId
from fencepost.reference_impl.connect.requests import CONFLICT, Request
from fencepost.reference_impl.connect.rounds import ask_for_round
from fencepost.reference_impl.connect.threads import INTERRUPTED, OperationError, Refused, Script, Wait
from fencepost.reference_impl.kafka.errors import error_text

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.herder import Herder


# The Connector is the object that makes the configurations of its tasks, on the worker that owns it.
#
# When it starts, it publishes a set through the leader if its tasks would be configured differently from the newest
# set. In M it also asks for rounds: when it starts with nothing to publish, and after the rebalance that follows a new
# set (618.21). A round that fails fails the Connector, until it is restarted (618.11).

NONE = -1
TASKS_MAX, REVISION = "tasks.max", "revision"


class Connector:
    """A `Connector` is one start of one Connector. If ``stopping`` is true, it ends at its next check."""

    def __init__(self, herder: "Herder", name: str) -> None:
        self.herder = herder
        self.env = herder.env
        self.name = name
        self.stopping = False
        self.failed = False
        self.due = False  # a round has to be asked for
        self.asked_for = NONE  # the newest set when it last asked

    def run(self) -> Script:
        unchanged = yield from self.publish()
        if self.stopping:
            return
        stopped = self.herder.view.state.target_state(self.name) == "STOPPED"
        self.herder.put_status(self.name, NONE, "STOPPED" if stopped else "RUNNING")
        asks = self.env.revision.rounds_by == CONNECTOR and self.herder.enabled
        self.due = self.due or unchanged
        while asks and not self.failed:
            yield Wait(lambda: self.stopping or self.due)
            if self.stopping:
                return
            yield from self.ask()

    def configs(self) -> list[dict[str, str]] | None:
        """Return the result of taskConfigs(), or None for a connector that is deleted or stopped."""
        state = self.herder.view.state
        properties = state.connectors.get(self.name)
        if properties is None or state.target_state(self.name) == "STOPPED":
            return None
        return [{"task": str(task), REVISION: properties[REVISION]} for task in range(int(properties[TASKS_MAX]))]

    def publish(self) -> Script:
        """Have the leader write the set until that succeeds; return True if there was nothing to do."""
        while not self.stopping:
            configs = self.configs()
            if configs is None:
                return False
            if configs == self.current():
                return True
            leader = self.herder.leader
            if (yield from self.herder.forwarded(partial(self.hand_over, configs), lambda: self.stopping)):
                return False
            retry_ms = self.env.now_ms + self.env.config.retry_backoff_ms
            yield Wait(partial(self.may_retry, retry_ms, leader))
        return False

    def hand_over(self, configs: list[dict[str, str]], given_up: Callable[[], bool]) -> Script:
        """Hand the set to the leader, and return whether it was written. This is not known if the caller has
        ``given_up``, the leader has ended, or nothing was heard of it for too long."""
        leader, request = self.herder.leader, self.hand_to_leader(configs)
        if request is None:
            return False
        life, idle = self.env.workers[leader].lives, self.herder.idle_deadline(leader)

        def over() -> bool:
            gone = self.env.workers[leader].lives != life or self.env.now_ms >= idle
            return request.done or given_up() or gone

        yield Wait(over)
        return request.done and not request.error

    def may_retry(self, at_ms: int, leader: int) -> bool:
        """Return whether to retry: after a while, or at once with another leader."""
        return self.stopping or self.env.now_ms >= at_ms or self.herder.leader != leader

    def current(self) -> list[dict[str, str] | None] | None:
        """Return the newest set as the worker knows it, or None if there is none or it is incomplete."""
        state = self.herder.view.state
        if self.name not in state.task_counts or self.name in state.inconsistent:
            return None
        found = [state.task_properties(self.name, task) for task in range(state.tasks(self.name))]
        return [None if properties is None else dict(properties) for properties in found]

    def hand_to_leader(self, configs: list[dict[str, str]]) -> Request | None:
        """Put the set into the leader's queue; return None if the leader cannot be reached."""
        leader = self.env.workers[self.herder.leader].herder if self.herder.leader != NONE else None
        if leader is None:
            return None
        writes, name = leader.writes, self.name
        return leader.submit(lambda request: writes.serve(name, lambda w: w.put_tasks(name, configs), request))

    def rebalanced(self) -> None:
        """Ask for a round after a rebalance, if there is a set that needs fencing (618.21)."""
        state = self.herder.view.state
        if state.needs_fencing(self.name) and state.set_place(self.name) != self.asked_for:
            self.due = True

    def ask(self) -> Script:
        """Ask the leader for a round; if a newer set was committed meanwhile, ask again after a while."""
        self.due = False
        self.asked_for = self.herder.view.state.set_place(self.name)
        reply = yield from ask_for_round(self.herder, self.name, NONE, lambda: self.stopping)
        if reply.status == CONFLICT:
            retry_ms = self.env.now_ms + self.env.config.retry_backoff_ms
            yield Wait(lambda: self.stopping or self.env.now_ms >= retry_ms)
            self.due = True
        elif reply.status not in (0, OK):
            self.failed = True
            self.herder.put_status(self.name, NONE, "FAILED", reply.trace)


# A source task's thread does the steps of its start, then polls until it stops or fails.
#
# The steps of each revision, and their order, are in group.py; each is a method of this class that lets the start go on
# (None), or ends it (618.14 to 618.20, 618.44). Every poll is a transaction of its own: records and their offsets, then
# the commit. A task that was asked to stop checks for that between two operations, as Kafka's does; one that its worker
# has left running no longer checks, except that as shipped its producer is closed. (WorkerTask,
# AbstractWorkerSourceTask, ExactlyOnceWorkerSourceTask)

ABANDON, STOP = "abandon", "stop"  # how a step ends a start, without failing it


class TaskFailed(Refused):
    """A `TaskFailed` is raised when the start, or a poll, has failed; its message becomes the trace of the status."""

    def __init__(self, trace: str, error: int = NONE) -> None:
        super().__init__(trace)
        self.error = error


def never() -> bool:
    return False


class SourceTask:
    """A `SourceTask` is one start of one task: an instance. ``set`` and ``generation`` are those it starts from; its
    events have the set of its configuration, which is the same one unless a removed task is started (618.52)."""

    def __init__(self, herder: "Herder", name: str, task: int) -> None:
        self.herder = herder
        self.env = herder.env
        self.id: TaskId = (name, task)
        self.instance = herder.env.next_instance()
        self.set = self.configured_by = NONE
        self.generation = NONE
        self.producer: TransactionalProducer | None = None
        self.stopping = False
        self.left_running = False
        self.ended = False
        self.failed = False
        self.polls = 0
        self.start_from_newest_set()

    def start_from_newest_set(self) -> None:
        """Start this instance from the newest set that the worker knows now (gen0, 618.19)."""
        state = self.herder.view.state
        self.set = self.configured_by = state.set_place(self.id[0])
        self.generation = state.generation(self.id[0])
        if self.herder.starts_removed_tasks:
            self.configured_by = state.configured.get(self.id[0], {}).get(self.id[1], self.set)

    def must_stop(self) -> bool:
        """Return whether the task has been asked to stop, and its worker still waits for that."""
        return self.stopping and not self.left_running

    # The thread

    def run(self) -> Script:
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

    def steps(self) -> tuple[str, ...]:
        return self.env.revision.steps

    def start_up(self) -> Script:
        """Do the steps of the start, and return None if the task may poll."""
        for step in self.steps():
            ending = yield from getattr(self, step)()
            if ending is not None:
                return ending
            if self.must_stop():
                return STOP
        return None

    # The steps of the start

    def look(self) -> Script:
        """In revision A, check the worker's own view; without a count record, wait for a rebalance (618.14)."""
        may_run = self.may_start()
        self.emit(Kind.TASK_CHECKED, status=OK if may_run else CONFLICT)
        if not may_run:
            self.herder.warnings.append(f"task {self.id}: no task count record after the latest set: not started")
            return ABANDON
        yield from ()
        return None

    def await_count(self) -> Script:
        """In revision M, wait until the worker has read a count record after the set (618.44)."""
        yield Wait(lambda: self.stopping or self.may_start())
        if self.stopping:
            return STOP
        self.start_from_newest_set()
        may_run = self.id[1] < self.herder.view.state.tasks(self.id[0])  # a newer, smaller set may have come meanwhile
        self.emit(Kind.TASK_CHECKED, status=OK if may_run else CONFLICT)
        return None if may_run else ABANDON

    def ask(self) -> Script:
        """Ask the leader for a round, as in revision B and as shipped; any failure fails the task (618.15, 618.11)."""
        reply = yield from ask_for_round(self.herder, *self.id, lambda: self.stopping)
        if not reply.status:
            return STOP
        if reply.status != OK:
            raise TaskFailed(reply.trace)
        return None

    def check_before(self) -> Script:
        """In revision B, read to the end; without a count record after the set, give up (618.16)."""
        may_run = yield from self.attempt("check_before", self.look_again)
        return None if may_run else ABANDON

    def look_again(self) -> bool:
        self.herder.view.read_to_end()
        may_run = self.may_start()
        self.emit(Kind.TASK_CHECKED, status=OK if may_run else CONFLICT)
        return may_run

    def may_start(self) -> bool:
        return self.herder.view.state.may_run(self.id[0])

    def open_producer(self) -> Script:
        """Call initTransactions() under the task's id, which fences the producer that held it (618.18)."""
        if self.producer is None:
            name = task_transactional_id(self.env.config.group_id, *self.id)
            self.producer = TransactionalProducer(
                self.env.brokers, name, of_task(self.env.config.group_id, *self.id)
            )  # fmt: skip
        if self.left_running and self.env.revision.cancels:
            self.producer.close()
        yield from self.attempt("open_producer", self.open)

    def open(self) -> None:
        assert self.producer is not None, "made just before"
        self.producer.open()
        self.emit(Kind.PRODUCER_OPENED)

    def create_offsets_topic(self) -> Script:
        """If a separate offsets topic is used, create it. What the worker tolerates for its own topics is ignored, and
        any other error fails the task (618.17). Where workers create no topics it has to exist (618.54)."""
        if self.env.config.offsets_topic and self.env.config.creates_internal_topics:
            yield from self.attempt("create_topic", self.create)
        elif self.env.config.offsets_topic:
            yield from self.attempt("describe_topic", self.find)
        return None

    def create(self) -> None:
        brokers, topic = self.env.brokers, self.env.config.offsets_topic
        error = brokers.acls.error(of_offsets_topic(topic)) or brokers.create_topic(topic, *self.topic_sizes())
        if not tolerates_creation_error(error):
            raise TaskFailed(f"ConnectException: offsets topic {topic} cannot be created: {error_text(error)}", error)

    def find(self) -> None:
        """Find the topic, which is not created, as the connector's admin; no error is tolerated.
        (KafkaTopicBasedBackingStore.topicInitializer, TopicAdmin.describeTopics)"""
        brokers, topic = self.env.brokers, self.env.config.offsets_topic
        error = brokers.acls.error(of_description(topic))
        if error:
            raise TaskFailed(f"ConnectException: not authorized to describe topic {topic}: {error_text(error)}", error)
        if topic not in brokers.topics:
            raise TaskFailed(missing_topics([topic]), UNKNOWN_TOPIC_OR_PARTITION)

    def topic_sizes(self) -> tuple[int, int]:
        """Return the number of partitions and the replication factor of a separate offsets topic: they are the
        worker's, whatever the connector's configuration has (618.48)."""
        return self.env.config.offset_partitions, self.env.config.offset_replication

    def check_after(self) -> Script:
        """Read to the end, and go on only if the set started from is still the newest (618.19, 618.20)."""
        passed = yield from self.attempt("check_after", self.check_generation)
        if passed:
            return None
        if self.mismatch_fails():
            raise TaskFailed(
                f"ConnectException: task {self.id} was started from generation {self.generation}, which is not the "
                f"newest any more, or is not assigned to this worker"
            )
        return ABANDON

    def mismatch_fails(self) -> bool:
        return self.env.revision.mismatch_fails

    def check_generation(self) -> bool:
        """Return whether the set is still the newest and, as shipped, the task is still assigned."""
        self.herder.view.read_to_end()
        owned = self.id in self.herder.owned_tasks or not self.env.revision.checks_ownership
        passed = owned and not self.is_overtaken()
        self.emit(Kind.TASK_CHECKED_AGAIN, status=OK if passed else CONFLICT)
        return passed

    def is_overtaken(self) -> bool:
        """Return whether the newest generation differs from the one started from (618.19)."""
        return self.herder.view.state.generation(self.id[0]) != self.generation

    # Polling

    def poll_until_stopped(self) -> Script:
        """Run one transaction for every poll: records, their offsets, and the commit (618.20)."""
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
        """Commit the transaction: records and offsets become visible together."""
        assert self.producer is not None, "something was sent"
        pair = self.producer.producer_id, self.producer.epoch
        try:
            self.producer.commit()
        except KafkaError as error:
            self.refused(error)
        self.emit(Kind.TRANSACTION_COMMITTED, pair=pair)

    def refused(self, error: KafkaError) -> None:
        if error.code in FENCED:
            self.emit(Kind.TRANSACTION_REFUSED, error=error.code)
        raise TaskFailed(str(error), error.code) from error

    def poll_plainly(self) -> Script:
        """Run without exactly-once support: send records without transactions, and offsets after them."""
        looks = self.must_stop
        while True:
            sent = yield from self.attempt("poll", self.send_plainly, looks)
            if sent is INTERRUPTED and (yield from self.stop()):
                return
            looks = never if sent is INTERRUPTED else self.must_stop

    def send_plainly(self) -> None:
        self.polls += 1
        self.env.brokers.append_plainly(OUTPUT_TOPIC, (*self.id, self.instance, self.polls))
        self.emit(Kind.RECORDS_SENT)
        self.env.brokers.append_plainly(OFFSETS_TOPIC, (*self.id, self.instance, self.polls))
        self.emit(Kind.TRANSACTION_COMMITTED)

    # Ends, and what every operation needs

    def stop(self) -> Script:
        """Stop as asked; return False if the stop fails: the task polls on."""
        try:
            yield self.herder.operation("stop", lambda: self.end(Kind.TASK_STOPPED), *self.id)
        except OperationError:
            return self.ended
        return True

    def leave_running(self) -> None:
        """Leave a task running that did not stop in time; as shipped, close its producer (618.23)."""
        self.left_running = True
        self.emit(Kind.TASK_LEFT_RUNNING)
        if self.env.revision.cancels and self.producer is not None:
            self.producer.close()

    def fail(self, failure: TaskFailed) -> None:
        """Fail the task with a trace in its status; a task that is being stopped only logs the failure."""
        self.failed = True
        if self.stopping:
            self.end(Kind.TASK_STOPPED, error=failure.error)
        else:
            self.end(Kind.TASK_FAILED, "FAILED", str(failure), failure.error)

    def end(self, kind: int, state: str = "", trace: str = "", error: int = 0) -> None:
        """End the thread; an open transaction stays open."""
        self.ended = True
        self.emit(kind, error=error)
        if self.producer is not None:
            self.producer.close()
        if state:
            self.put_status(state, trace)

    def put_status(self, state: str, trace: str = "") -> None:
        """Write the status, unless the worker no longer counts this instance as the task's."""
        if not self.left_running:
            self.herder.put_status(*self.id, state, trace)

    def attempt(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        try:
            return (yield self.herder.operation(name, act, *self.id, interrupted))
        except OperationError as error:
            raise TaskFailed(f"TimeoutException: {error}", error.code) from error
        except KafkaError as error:
            raise TaskFailed(str(error), error.code) from error

    def emit(self, kind: int, status: int = NONE, error: int = 0, pair: tuple[int, int] | None = None) -> None:
        name, task = self.id
        producer_id, epoch = pair or (
            (NONE, NONE) if self.producer is None else (self.producer.producer_id, self.producer.epoch)
        )
        self.env.emit(
            kind, node=self.herder.node, connector=self.env.numbers[name], task=task, instance=self.instance,
            set=self.configured_by, producer_id=producer_id, epoch=epoch, status=status, error=error,
        )  # fmt: skip
