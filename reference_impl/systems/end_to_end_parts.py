"""Exactly-once source tasks in Connect's workers, and how the parts of all layers are put together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect.brokers import FENCED, OUTPUT_TOPIC, KafkaError
from fencepost.reference_impl.connect.config import Kind as ConnectKind
from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.connect.offsets.config import Config as SourceConfig
from fencepost.reference_impl.connect.offsets.config import Kind as SourceKind
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, SEPARATE, Entry, Record
from fencepost.reference_impl.connect.offsets.stores import Found
from fencepost.reference_impl.connect.source_task import STOP, SourceTask, TaskFailed
from fencepost.reference_impl.connect.threads import Operation, OperationError, Script
from fencepost.reference_impl.kafka.clients.producer import Producer
from fencepost.reference_impl.kafka.clients.sends import Sends
from fencepost.reference_impl.kafka.log import OffsetsLog
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.systems import group_fencing
from fencepost.reference_impl.systems.end_to_end_kafka import ConnectBrokers, Inputs, Kind, Needs
from fencepost.reference_impl.systems.id_blocks import Parts as IdBlocksParts
from fencepost.reference_impl.systems.source_offsets import Parts as SourceParts
from fencepost.reference_impl.systems.task_counts_cluster import Parts as ConnectParts
from fencepost.reference_impl.systems.transactions import Parts as TransactionParts

if TYPE_CHECKING:
    from fencepost.reference_impl.systems.end_to_end_kafka import ConnectBrokers


# Exactly-once source tasks in Connect's workers. `reference_impl.systems.task_counts` starts them; what they do then
# is the runtime of `reference_impl.systems.source_offsets`, with its offset stores and boundaries.
#
# A source has any number of records in each partition, from offset 1 on, and all of them go to one partition of the
# output. Task t of n has those partitions of its connector that are t modulo n. It begins where the offsets topics
# say, which it reads to the end when its producer is open and its set known to be the newest (618.32). The first
# connector has a separate offsets topic, with copies in the worker's one; the others write to that alone.

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


# The pieces of the whole system: those of each layer, any of which a broken implementation replaces.


@dataclass(frozen=True, slots=True)
class CopyingParts(group_fencing.Parts):
    """Those of the group, on brokers that are given."""

    brokers: TransactionParts = field(default_factory=TransactionParts)

    @property
    def below(self) -> TransactionParts:
        return self.brokers


@dataclass(frozen=True, slots=True)
class WholeParts:
    """What puts the layers together."""

    task: type[ResumingTask] = ResumingTask  # where tasks begin, and where their records go
    inputs: type[Inputs] = Inputs  # what of the output the group gets
    brokers: type[ConnectBrokers] = ConnectBrokers  # Kafka as Connect's workers have it


@dataclass(frozen=True, slots=True)
class Parts:
    """One of each layer, and the keys of the layers' configurations without which a defect cannot show."""

    connect: ConnectParts = field(default_factory=ConnectParts)
    transactions: TransactionParts = field(default_factory=TransactionParts)
    group: group_fencing.Parts = field(default_factory=group_fencing.Parts)
    ids: IdBlocksParts = field(default_factory=IdBlocksParts)
    source: SourceParts = field(default_factory=SourceParts)
    whole: WholeParts = field(default_factory=WholeParts)
    needs: Needs = field(default_factory=dict)

    @property
    def of_group(self) -> CopyingParts:
        """The group, its applications, and the brokers: a piece that both layers say something of is what the one that
        has replaced it says."""
        group, below = self.group, self.transactions
        coordinator = group.transactions if below.coordinator is Coordinator else below.coordinator
        offsets = group.offsets if below.offsets_log is OffsetsLog else mixed(group.offsets, below.offsets_log)
        producer = self.of_client(group.producer)
        brokers = TransactionParts(
            producer=below.producer, admin=below.admin, reader=below.reader, coordinator=coordinator,
            leader=below.leader, log=below.log, offsets_leader=group.coordinator, offsets_log=offsets,
        )  # fmt: skip
        fields = {name: getattr(group, name) for name in group_fencing.Parts.__dataclass_fields__}
        return CopyingParts(**{**fields, "producer": producer, "offsets": offsets}, brokers=brokers)

    def of_client(self, client: Any) -> Any:
        """A kind of producer, on what the brokers' clients are."""
        below: Any = self.transactions.producer
        if below is Producer:
            return client
        made = mixed(client, below)
        if client.sends_class is not Sends and below.sends_class is not Sends:
            made.sends_class = mixed(client.sends_class, below.sends_class)
        return made

    def of_connect(self, sources: Sources) -> ConnectParts:
        """The Connect cluster, whose tasks read these sources."""
        fields = {name: getattr(self.connect, name) for name in ConnectParts.__dataclass_fields__}
        resuming = self.whole.task
        task = mixed(resuming, self.connect.task) if self.connect.task is not SourceTask else resuming
        given = {"sources": sources, "source_parts": self.source}
        return ConnectParts(**{**fields, "task": type(task.__name__, (task,), given)})


def mixed(first: Any, second: Any) -> Any:
    """A class that is both, and does first what the first one says."""
    return type(f"{second.__name__}In{first.__name__}", (first, second), {"__slots__": ()})
