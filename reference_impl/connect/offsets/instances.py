"""This module has how a task starts and ends, the copying of offsets from one topic to the other, and the connector
that owns the tasks."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from fencepost.reference_impl.connect.brokers import TransactionalProducer, task_transactional_id
from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE, Kind
from fencepost.reference_impl.connect.offsets.environment import Environment, Failed, Process
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, PARTITION_OF, SENTINEL, SEPARATE, Entry, of_producing
from fencepost.reference_impl.connect.offsets.runtime import Runtime, SourceTask
from fencepost.reference_impl.connect.offsets.stores import Found, OffsetStore
from fencepost.reference_impl.connect.threads import OperationError, Script, Wait

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.offsets.environment import Environment


# One run of a task opens its producer, checks whether it is of the newest set, reads its offsets to the end, begins
# with the records after them, and polls until it is stopped, fails, or is killed.
#
# The order matters: initTransactions() returns when the predecessor's open transaction is decided (618.18), so that
# what is then read to the end (618.32) is all that the predecessor will ever have committed.
# `reference_impl.systems.task_counts` is about which tasks may start, and which are fenced. In this module, instances
# of an older set fail after they have opened their producer, and the transactional ids of a set are fenced before the
# next one starts (618.P1). (WorkerTask, AbstractWorkerSourceTask, ExactlyOnceWorkerSourceTask.prepareToInitializeTask)

GROUP, CONNECTOR = "connect", "source"


def transactional_id(task: int) -> str:
    return task_transactional_id(GROUP, CONNECTOR, task)


class Instance(Process):
    """An `Instance` is one instance of a task, started from the newest set at that time."""

    def __init__(self, env: Environment, task: int) -> None:
        super().__init__(env, env.next_instance(), task)
        self.generation = env.generation
        self.runtime = env.runtime
        self.topic = env.topic
        self.partitions = env.partitions_of(task)
        self.source: SourceTask | None = None

    def report(self, kind: int, **columns: int) -> None:
        self.env.emit(kind, task=self.task, instance=self.process, **columns)

    def run(self) -> Script:
        self.report(Kind.INSTANCE_STARTED, generation=self.generation, runtime=self.runtime)
        try:
            store: OffsetStore = self.env.new("store", self.env, self, self.topic, self.runtime)
            yield from self.start_up(store)
            if not self.stopping:
                found = yield from store.get(self.partitions)
            if not self.stopping:
                yield from self.call("run", lambda: None)
                yield from self.begin(store, found).run()
            with suppress(OperationError):
                yield self.operation("stop", lambda: None)
            self.end(Kind.INSTANCE_STOPPED)
        except Failed as failure:
            self.end(Kind.INSTANCE_FAILED, error=failure.error)

    # The start

    def start_up(self, store: OffsetStore) -> Script:
        """Do what precedes reading the offsets."""
        if self.runtime == EXACTLY_ONCE:
            yield from self.open_producer()
            yield from self.check()
        if self.topic and not self.env.merges:
            yield from self.await_content(store)

    def open_producer(self) -> Script:
        """Call initTransactions(), which fences the predecessor and ends its transaction."""
        producer = self.producer = TransactionalProducer(
            self.env.brokers, self.transactional_id(), of_producing(GROUP, CONNECTOR, self.task)
        )

        def act() -> None:
            producer.open()
            self.env.emit(
                Kind.FENCED, task=self.task, producer_id=producer.producer_id, epoch=producer.epoch
            )  # fmt: skip

        yield from self.call("open", act)
        self.report(Kind.PRODUCER_OPENED, producer_id=producer.producer_id, epoch=producer.epoch)

    def transactional_id(self) -> str:
        return transactional_id(self.task)

    def check(self) -> Script:
        """Fail this instance if there is a newer set of tasks or a newer instance of the same task (618.19)."""
        passed = yield from self.call("check", self.is_newest)
        self.report(Kind.INSTANCE_CHECKED, outcome=int(passed))
        if not passed:
            raise Failed("ConnectException: a newer set of tasks, or this task is not assigned to this worker")

    def is_newest(self) -> bool:
        """Return whether this instance is of the newest set and is the one assigned to the worker."""
        return self.generation == self.env.generation and self.env.is_assigned(self)

    def await_content(self, store: OffsetStore) -> Script:
        """Read the separate topic to its end until it has offsets or the sentinel, as in the earlier text (618.45)."""
        reader = store.readers[self.topic]
        while not self.stopping:
            yield from store.read_topic(self.topic)
            if reader.entries:
                return
            yield Wait(lambda: self.stopping or self.env.brokers.log(reader.partition).read_limit(True) > reader.end)

    def begin(self, store: OffsetStore, found: Mapping[int, Found]) -> Runtime:
        """Start the source task with its offsets, and return the runtime that runs it."""
        for partition, place in found.items():
            self.report(Kind.OFFSET_FOUND, topic=place.topic, partition=partition, offset=place.offset)
        self.report(Kind.INSTANCE_RUNNING)
        config, rounds = self.env.config, self.env.brokers.rounds.now
        offsets = {partition: place.offset for partition, place in found.items()}
        self.source = self.env.new("source", config, offsets, {partition: rounds[partition] for partition in found})
        if self.runtime == EXACTLY_ONCE:
            runtime: Runtime = self.env.new("runtime", config, self, self.source, store, self.producer)
        else:
            runtime = self.env.new("plain", config, self, self.source, store)
        return runtime

    # The end

    def end(self, kind: int, error: int = 0) -> None:
        self.close()
        self.env.instances.remove(self)
        self.report(kind, runtime=self.runtime, error=error)

    def kill(self) -> None:
        """Kill the instance's process, with whatever its worker's producer had not sent."""
        self.env.threads.kill(self.process)
        self.env.threads.stalled.discard(self.process)
        self.end(Kind.INSTANCE_KILLED)


# In the migration of the earlier text, the worker that has the Connector fills its separate topic, if that is empty,
# from the worker's global one, in a transaction; with nothing to copy it writes a sentinel (618.30, 618.45).
#
# The text names no transactional id for this, and two workers may do it at once. In the correct variant, owners of one
# Connector have one id, which each opens before it reads the topic, so that an owner that was overtaken is refused. The
# tasks of the old configuration, which go on to commit in the global topic, are fenced before.

FIRST = -2
"""The processes of owners are numbered from here down: -1 is none, and those of tasks are 0 and above."""


class Owner(Process):
    """An `Owner` is one run of the Connector, as far as it concerns the Connector's separate topic."""

    def __init__(self, env: Environment) -> None:
        self.number = env.next_owner()
        super().__init__(env, FIRST - self.number)

    def report(self, kind: int, **columns: int) -> None:
        self.env.emit(kind, owner=self.number, **columns)

    def run(self) -> Script:
        self.report(Kind.OWNER_STARTED)
        try:
            yield from self.migrate()
            self.end(1)
        except Failed:
            self.end(0)

    def transactional_id(self) -> str:
        return "connect-source-owner"

    def migrate(self) -> Script:
        """Read the separate topic, and fill it if it is empty."""
        store: OffsetStore = self.env.new("store", self.env, self, SEPARATE, EXACTLY_ONCE, (GLOBAL, SEPARATE))
        yield from self.open()
        if (yield from self.is_filled(store)):
            return
        yield from self.copy(store)

    def copy(self, store: OffsetStore) -> Script:
        """Copy everything in the global topic to the separate topic, in one transaction."""
        yield from store.read_topic(GLOBAL)
        yield from self.call("migrate", lambda: self.fill(store.readers[GLOBAL].offsets))
        yield from self.call("commit", self.commit)
        yield from store.read_topic(SEPARATE)

    def commit(self) -> None:
        assert self.producer is not None, "opened before"
        self.producer.commit()

    def open(self) -> Script:
        """Call initTransactions(), which fences earlier owners."""
        producer = self.producer = TransactionalProducer(self.env.brokers, self.transactional_id(), ())
        yield from self.call("open", producer.open)

    def is_filled(self, store: OffsetStore) -> Script:
        """Return whether the separate topic has any entry, after reading it to its end."""
        yield from store.read_topic(SEPARATE)
        filled = yield from self.call("look", lambda: bool(store.readers[SEPARATE].entries))
        self.report(Kind.LOOKED, outcome=int(filled))
        return filled

    def fill(self, offsets: Mapping[int, int]) -> None:
        """Send everything in the global topic, or the sentinel, in a new transaction."""
        assert self.producer is not None, "opened before"
        self.producer.begin()
        for entry in [Entry(*each) for each in offsets.items()] or [SENTINEL]:
            self.report_copy(entry)
            self.producer.send(PARTITION_OF[SEPARATE], entry)

    def report_copy(self, entry: Entry) -> None:
        assert self.producer is not None, "opened before"
        self.report(
            Kind.MIGRATED, partition=entry.partition, offset=entry.offset if entry.partition >= 0 else -1,
            producer_id=self.producer.producer_id, epoch=self.producer.epoch,
        )  # fmt: skip

    def end(self, outcome: int) -> None:
        self.close()
        self.report(Kind.OWNER_DONE, outcome=outcome)


# The connector has sets of tasks, one after another, each of which starts when the transactional ids of the previous
# set are fenced (618.7, 618.P1), and the runs of the Connector that fill its separate topic in the earlier text.
#
# Instances of an older set are left behind, as a stalled worker still has them; a set that runs without this feature is
# stopped in order, because it cannot be fenced.

STEPS_MAX = 10_000
"""An orderly stop of an instance takes at most this many steps."""


class Connector:
    """A `Connector` is one connector, with its tasks' instances and its owners."""

    def __init__(self, env: "Environment") -> None:
        self.env = env
        self.owners: list[Owner] = []

    def configure(self, tasks: int, separate: bool, runtime: int = EXACTLY_ONCE) -> None:
        env = self.env
        if runtime != EXACTLY_ONCE or env.runtime != EXACTLY_ONCE:
            self.stop_all()
        if env.runtime == EXACTLY_ONCE:
            self.fence()
        env.generation = env.next_generation()
        env.assigned.clear()
        env.tasks, env.separate, env.runtime = tasks, separate, runtime
        env.emit(
            Kind.CONFIGURED, generation=env.generation, count=tasks, topic=env.topic, runtime=runtime
        )  # fmt: skip
        if env.topic == SEPARATE and not env.merges:
            self.start_owner()
        for task in range(tasks):
            self.start(task)

    def fence(self) -> None:
        """Fence the transactional ids of the previous set with an admin client."""
        for task in range(self.env.tasks):
            fenced = self.env.brokers.fence(transactional_id(task))
            self.env.emit(Kind.FENCED, task=task, producer_id=fenced.producer_id, epoch=fenced.epoch)

    def start(self, task: int) -> None:
        instance: Instance = self.env.new("instance", self.env, task)
        self.env.instances.append(instance)
        self.env.assigned[task] = instance
        instance.start()
        self.env.threads.settle()

    def stop_all(self) -> None:
        """Stop all instances in order, one after another; stalled instances are killed."""
        for instance in list(self.env.instances):
            if instance.process in self.env.threads.stalled:
                instance.kill()
                continue
            instance.stopping = True
            self.env.threads.settle()
            for _ in range(STEPS_MAX):
                if instance.ended:
                    break
                waiting = [each[0] for each in self.env.threads.waiting() if each[2] == instance.process]
                if not waiting:
                    instance.kill()
                    break
                self.env.threads.step(waiting[0], "ok")
            else:
                raise RuntimeError(f"instance {instance.process} does not stop: {self.env.threads.waiting()}")

    # The Connector itself

    def start_owner(self) -> None:
        owner: Owner = self.env.new("owner", self.env)
        self.owners.append(owner)
        owner.start()
        self.env.threads.settle()
