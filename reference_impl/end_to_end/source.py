"""Exactly-once source tasks in Connect's workers. `reference_impl.task_counts` starts them; what they do then is the
runtime of `reference_impl.source_offsets`, with its offset stores and boundaries.

A source has any number of records in each partition, from offset 1 on, and all of them go to one partition of the
output. Task t of n has those partitions of its connector that are t modulo n. It begins where the offsets topics say,
which it reads to the end when its producer is open and its set known to be the newest (618.32). The first connector has
a separate offsets topic, with copies in the worker's one; the others write to that alone.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.end_to_end.events import Kind
from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.config import Config as SourceConfig
from fencepost.reference_impl.source_offsets.events import Kind as SourceKind
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, SEPARATE, Entry, Record
from fencepost.reference_impl.source_offsets.parts import Parts as SourceParts
from fencepost.reference_impl.source_offsets.stores.offset_store import Found
from fencepost.reference_impl.task_counts.brokers import OUTPUT_TOPIC
from fencepost.reference_impl.task_counts.events import Kind as ConnectKind
from fencepost.reference_impl.task_counts.tasks.producers import FENCED, KafkaError
from fencepost.reference_impl.task_counts.tasks.source_task import STOP, SourceTask, TaskFailed
from fencepost.reference_impl.task_counts.tasks.threads import Operation, OperationError, Script

if TYPE_CHECKING:
    from fencepost.reference_impl.end_to_end.kafka import ConnectBrokers

ENDLESS = 1 << 30
"""Records of a source partition: it never has its last."""


class Sources:
    """All sources: their partitions, as numbered over all connectors, and how far each has ever been polled."""

    def __init__(self, connectors: int, partitions: int) -> None:
        self.each = partitions
        self.polled = [0] * (connectors * partitions)

    def of_task(self, connector: int, task: int, tasks: int) -> list[int]:
        """The partitions of a task."""
        first = connector * self.each
        return [first + number for number in range(self.each) if number % tasks == task]


class Stores:
    """What offset stores need of their surroundings."""

    merges = True  # both offsets topics are read as one

    def __init__(self, task: "ResumingTask", parts: SourceParts) -> None:
        self.brokers: Any = task.env.brokers
        self.threads = task.env.threads
        self.parts = parts

    def new(self, part: str, *arguments: Any) -> Any:
        """An object of a replaceable piece."""
        return getattr(self.parts, part)(*arguments)


class TaskHost:
    """The thread of a task, as its runtime and its store know it."""

    def __init__(self, task: "ResumingTask") -> None:
        self.task = task
        self.process = task.herder.node

    def operation(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Operation:
        """Something that happens outside of the thread."""
        return self.task.herder.operation(name, act, *self.task.id, interrupted)

    def call(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        """An operation whose failure is the task's."""
        try:
            return (yield self.operation(name, act, interrupted))
        except (OperationError, KafkaError) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> TaskFailed:
        """The task's failure."""
        code = getattr(error, "code", 0)
        if code in FENCED:
            self.task.emit(ConnectKind.TRANSACTION_REFUSED, error=code)
        return TaskFailed(str(error), code)

    def tell(self, kind: int, **columns: int) -> None:
        """What it does, in the words of the workers and end to end."""
        if kind == SourceKind.POLLED:
            self.task.polled(columns["partition"], columns["offset"])
        elif kind == SourceKind.END_SENT and columns["outcome"]:
            self.task.asked = True
            self.task.emit(ConnectKind.RECORDS_SENT)
        elif kind == SourceKind.END_TOLD and columns["outcome"] and not columns.get("error"):
            self.task.asked = False
            self.task.emit(ConnectKind.TRANSACTION_COMMITTED)

    def must_stop(self) -> bool:
        """Whether the task was asked to stop, and its worker still waits for that."""
        return self.task.must_stop()

    def now_ms(self) -> int:
        """The workers' time."""
        return self.task.env.now_ms


class ResumingTask(SourceTask):
    """One start of one task."""

    sources: Sources
    source_parts: SourceParts
    """Set by the cluster, for all of its tasks."""

    runtime: Any = None
    tasks = 1  # of its set
    asked = False  # for the commit of what is open

    @property
    def brokers(self) -> "ConnectBrokers":
        """Kafka."""
        found: Any = self.env.brokers
        return found  # type: ignore[no-any-return]

    @property
    def connector(self) -> int:
        """The number of its connector."""
        return self.env.numbers[self.id[0]]

    def start_from_newest_set(self) -> None:
        """Its source partitions too are those that this set says, whatever set comes while it starts."""
        super().start_from_newest_set()
        self.tasks = max(self.herder.view.state.tasks(self.id[0]), self.id[1] + 1)

    def start_up(self) -> Script:
        """After everything else: to the end of the offsets topics."""
        ending = yield from super().start_up()
        if ending is not None:
            return ending
        mine = self.sources.of_task(self.connector, self.id[1], self.tasks)
        host, stores = TaskHost(self), Stores(self, self.source_parts)
        topic = GLOBAL if self.connector else SEPARATE
        store = stores.new("store", stores, host, topic, EXACTLY_ONCE)
        found: dict[int, Found] = yield from store.get(mine)
        if self.must_stop():
            return STOP
        for partition, there in found.items():
            self.tell(Kind.RESUMED, partition, there.offset)
        self.runtime = self.new_runtime(host, store, {partition: there.offset for partition, there in found.items()})
        return None

    def new_runtime(self, host: TaskHost, store: Any, found: dict[int, int]) -> Any:
        """The loop of the task. Each of its records says by its round which instance has read it: there is no end of a
        source, and so no other round."""
        whole, connector = self.brokers.env.whole, self.connector
        config = SourceConfig(
            records=ENDLESS, batch=whole.batch, boundary=whole.boundaries[connector % len(whole.boundaries)],
            interval_ms=whole.interval_ms,
        )  # fmt: skip
        source = self.source_parts.source(config, found, dict.fromkeys(found, self.instance))
        assert self.producer is not None, "it was opened"
        runtime = self.source_parts.runtime(config, host, source, store, self.producer)
        write = runtime.write

        def to_its_output(partition: int, content: Record | Entry) -> None:
            write(self.output_of(content.partition) if partition == OUTPUT_TOPIC else partition, content)

        runtime.write = to_its_output  # type: ignore[method-assign]
        return runtime

    def output_of(self, partition: int) -> int:
        """Where the records of a source partition go, whichever task reads it."""
        whole = self.brokers.env.whole
        return whole.input_partitions[partition % whole.inputs]

    def end(self, kind: int, state: str = "", trace: str = "", error: int = 0) -> None:
        """What is in a transaction of which nobody has asked for the commit is given up."""
        if not self.ended and self.runtime is not None and not self.asked:
            for record in self.runtime.records:
                self.tell(Kind.GIVEN_UP, record.partition, record.offset)
        super().end(kind, state, trace, error)

    def poll_until_stopped(self) -> Script:
        yield from self.runtime.run()
        while not (yield from self.stop()):
            pass

    def polled(self, partition: int, offset: int) -> None:
        """A record was read from the source."""
        self.sources.polled[partition] = max(self.sources.polled[partition], offset)
        self.tell(Kind.POLLED, partition, offset)

    def tell(self, kind: int, partition: int, offset: int) -> None:
        """An end-to-end event of this instance."""
        self.brokers.env.ends.emit(
            kind, client=self.instance, connector=self.connector, task=self.id[1], partition=partition, offset=offset
        )
