"""One run of a task: it opens its producer, looks whether it is of the newest set, reads its offsets to the end, begins
with the record behind them, and polls until it is stopped, fails, or is gone.

The order matters: initTransactions() returns when what the predecessor had open is decided (618.18), so that what is
then read to the end (618.32) is all that it will ever have committed. Who may start here, and who has been fenced, is
what `reference_impl.task_counts` is about; here instances of an older set fail after they have opened their producer,
and the transactional ids of a set are fenced before the next one starts (618.P1).
(WorkerTask, AbstractWorkerSourceTask, ExactlyOnceWorkerSourceTask.prepareToInitializeTask)
"""

from collections.abc import Mapping
from contextlib import suppress

from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.environment import Environment
from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.permissions import of_producing
from fencepost.reference_impl.source_offsets.stores.offset_store import Found, OffsetStore
from fencepost.reference_impl.source_offsets.tasks.process import Failed, Process
from fencepost.reference_impl.source_offsets.tasks.runtime import Runtime
from fencepost.reference_impl.source_offsets.tasks.source import SourceTask
from fencepost.reference_impl.task_counts.permissions import task_transactional_id
from fencepost.reference_impl.task_counts.tasks.producers import TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script, Wait

GROUP, CONNECTOR = "connect", "source"


def transactional_id(task: int) -> str:
    """That of a task (618.6)."""
    return task_transactional_id(GROUP, CONNECTOR, task)


class Instance(Process):
    """One instance, of the newest set as it is now."""

    def __init__(self, env: Environment, task: int) -> None:
        super().__init__(env, env.next_instance(), task)
        self.generation = env.generation
        self.runtime = env.runtime
        self.topic = env.topic
        self.partitions = env.partitions_of(task)
        self.source: SourceTask | None = None

    def tell(self, kind: int, **columns: int) -> None:
        """An event of this instance."""
        self.env.emit(kind, task=self.task, instance=self.process, **columns)

    def run(self) -> Script:
        self.tell(Kind.INSTANCE_STARTED, generation=self.generation, runtime=self.runtime)
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
        """What comes before the offsets."""
        if self.runtime == EXACTLY_ONCE:
            yield from self.open_producer()
            yield from self.check()
        if self.topic and not self.env.merges:
            yield from self.await_content(store)

    def open_producer(self) -> Script:
        """initTransactions(), which fences the predecessor and has its transaction decided."""
        producer = self.producer = TransactionalProducer(
            self.env.brokers, self.transactional_id(), of_producing(GROUP, CONNECTOR, self.task)
        )

        def act() -> None:
            producer.open()
            self.env.emit(
                Kind.FENCED, task=self.task, producer_id=producer.producer_id, epoch=producer.epoch
            )  # fmt: skip

        yield from self.call("open", act)
        self.tell(Kind.PRODUCER_OPENED, producer_id=producer.producer_id, epoch=producer.epoch)

    def transactional_id(self) -> str:
        """That of its task, which one instance after another has."""
        return transactional_id(self.task)

    def check(self) -> Script:
        """A newer set, or a newer instance of the same task: then this one is a late one, and fails (618.19)."""
        passed = yield from self.call("check", self.is_newest)
        self.tell(Kind.INSTANCE_CHECKED, outcome=int(passed))
        if not passed:
            raise Failed("ConnectException: a newer set of tasks, or this task is not assigned to this worker")

    def is_newest(self) -> bool:
        """As the end of the config topic says, and the worker's assignment."""
        return self.generation == self.env.generation and self.env.is_assigned(self)

    def await_content(self, store: OffsetStore) -> Script:
        """The earlier text: reads the separate topic to its end until it has offsets or the sentinel (618.45)."""
        reader = store.readers[self.topic]
        while not self.stopping:
            yield from store.read_topic(self.topic)
            if reader.entries:
                return
            yield Wait(lambda: self.stopping or self.env.brokers.log(reader.partition).read_limit(True) > reader.end)

    def begin(self, store: OffsetStore, found: Mapping[int, Found]) -> Runtime:
        """`SourceTask.start` has its offsets; what runs from here on."""
        for partition, place in found.items():
            self.tell(Kind.OFFSET_FOUND, topic=place.topic, partition=partition, offset=place.offset)
        self.tell(Kind.INSTANCE_RUNNING)
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
        """The thread is over, as this says."""
        self.close()
        self.env.instances.remove(self)
        self.tell(kind, runtime=self.runtime, error=error)

    def kill(self) -> None:
        """Its process is gone, with whatever its worker's producer had not sent."""
        self.env.threads.kill(self.process)
        self.env.threads.stalled.discard(self.process)
        self.end(Kind.INSTANCE_KILLED)
