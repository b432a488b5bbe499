"""This module has exactly-once source tasks in Connect's workers, and how the parts of all layers are put together."""

from dataclasses import dataclass, field
from typing import Any

from fencepost.reference_impl.connect.brokers import FENCED, OUTPUT_TOPIC
from fencepost.reference_impl.connect.config import Kind as ConnectKind
from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.connect.offsets.config import Config as SourceConfig
from fencepost.reference_impl.connect.offsets.config import Kind as SourceKind
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, SEPARATE, Entry, Record
from fencepost.reference_impl.connect.offsets.stores import Found
from fencepost.reference_impl.connect.source_task import STOP, SourceTask, TaskFailed
from fencepost.reference_impl.connect.threads import Script
from fencepost.reference_impl.kafka.clients.producer import Producer
from fencepost.reference_impl.kafka.clients.sends import Sends
from fencepost.reference_impl.kafka.log import OffsetsLog
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.systems import group_fencing
from fencepost.reference_impl.systems.end_to_end_kafka import ConnectBrokers, Inputs, Kind, Needs
from fencepost.reference_impl.systems.id_blocks import Parts as IdBlocksParts
from fencepost.reference_impl.systems.source_offsets import Parts as SourceParts
from fencepost.reference_impl.systems.source_offsets_workers import HostTask
from fencepost.reference_impl.systems.task_counts_cluster import Parts as ConnectParts
from fencepost.reference_impl.systems.transactions import Parts as TransactionParts

# These are exactly-once source tasks in Connect's workers. `reference_impl.systems.task_counts` starts them; then they
# run the runtime of `reference_impl.systems.source_offsets`, with its offset stores and boundaries.
#
# A source has any number of records in each partition, from offset 1 on, and all of them are sent to one partition of
# the output. Task t of n has those partitions of its connector that are t modulo n. It begins at the offsets in the
# offsets topics, which it reads to the end when its producer is open and its set is known to be the newest (618.32).
# The first connector has a separate offsets topic, with copies in the worker's one; the other connectors write only to
# the worker's.

ENDLESS = 1 << 30
"""A source partition has this many records, so that it never reaches its last one."""


class Sources:
    """`Sources` has all source partitions, as numbered over all connectors, and how far each has ever been polled."""

    def __init__(self, connectors: int, partitions: int) -> None:
        self.each = partitions
        self.polled = [0] * (connectors * partitions)

    def of_task(self, connector: int, task: int, tasks: int) -> list[int]:
        first = connector * self.each
        return [first + number for number in range(self.each) if number % tasks == task]


class ResumingTask(HostTask):
    """A `ResumingTask` is one start of one task."""

    sources: Sources
    """The cluster sets this for all of its tasks."""
    brokers: ConnectBrokers

    runtime: Any = None
    tasks = 1  # of its set
    asked = False  # for the commit of what is open

    @property
    def connector(self) -> int:
        return self.env.numbers[self.id[0]]

    def start_from_newest_set(self) -> None:
        """Start from the newest set, which also determines the task's source partitions."""
        super().start_from_newest_set()
        self.tasks = max(self.herder.view.state.tasks(self.id[0]), self.id[1] + 1)

    def start_up(self) -> Script:
        """Do the other steps of the start, and then read to the end of the offsets topics."""
        ending = yield from super().start_up()
        if ending is not None:
            return ending
        mine = self.sources.of_task(self.connector, self.id[1], self.tasks)
        store = self.new_store()
        found: dict[int, Found] = yield from store.get(mine)
        if self.must_stop():
            return STOP
        for partition, there in found.items():
            self.emit_end(Kind.RESUMED, partition, there.offset)
        self.runtime = self.new_runtime(store, {partition: there.offset for partition, there in found.items()})
        return None

    def new_store(self) -> Any:
        return self.new("store", self, self, GLOBAL if self.connector else SEPARATE, EXACTLY_ONCE)

    def new_runtime(self, store: Any, found: dict[int, int]) -> Any:
        """Return the loop of the task. The round of each of its records is the instance that has read it, because a
        source has no end and so no other rounds."""
        whole, connector = self.brokers.env.whole, self.connector
        config = SourceConfig(
            records=ENDLESS, batch=whole.batch, boundary=whole.boundaries[connector % len(whole.boundaries)],
            interval_ms=whole.interval_ms,
        )  # fmt: skip
        source = self.pieces.source(config, found, dict.fromkeys(found, self.instance))
        assert self.producer is not None, "it was opened"
        runtime = self.pieces.runtime(config, self, source, store, self.producer)
        write = runtime.write

        def to_its_output(partition: int, content: Record | Entry) -> None:
            write(self.output_of(content.partition) if partition == OUTPUT_TOPIC else partition, content)

        runtime.write = to_its_output  # type: ignore[method-assign]
        return runtime

    def output_of(self, partition: int) -> int:
        """Return the partition that the records of a source partition go to, whichever task reads it."""
        whole = self.brokers.env.whole
        return whole.input_partitions[partition % whole.inputs]

    def end(self, kind: int, state: str = "", trace: str = "", error: int = 0) -> None:
        """Give up what is in a transaction whose commit was not asked for, and end the task."""
        if not self.ended and self.runtime is not None and not self.asked:
            for record in self.runtime.records:
                self.emit_end(Kind.GIVEN_UP, record.partition, record.offset)
        super().end(kind, state, trace, error)

    def poll_until_stopped(self) -> Script:
        yield from self.runtime.run()
        while not (yield from self.stop()):
            pass

    def polled(self, partition: int, offset: int) -> None:
        self.sources.polled[partition] = max(self.sources.polled[partition], offset)
        self.emit_end(Kind.POLLED, partition, offset)

    def failure(self, error: Exception) -> TaskFailed:
        code = getattr(error, "code", 0)
        if code in FENCED:
            self.emit(ConnectKind.TRANSACTION_REFUSED, error=code)
        return super().failure(error)

    def report(self, kind: int, **columns: int) -> None:
        if kind == SourceKind.POLLED:
            self.polled(columns["partition"], columns["offset"])
        elif kind == SourceKind.END_SENT and columns["outcome"]:
            self.asked = True
            self.emit(ConnectKind.RECORDS_SENT)
        elif kind == SourceKind.END_TOLD and columns["outcome"] and not columns.get("error"):
            self.asked = False
            self.emit(ConnectKind.TRANSACTION_COMMITTED)

    def emit_end(self, kind: int, partition: int, offset: int) -> None:
        self.brokers.env.ends.emit(
            kind, client=self.instance, connector=self.connector, task=self.id[1], partition=partition, offset=offset
        )


# The pieces of the whole system are those of each layer; a broken implementation may replace any of them.


@dataclass(frozen=True, slots=True)
class CopyingParts(group_fencing.Parts):
    """`CopyingParts` are the parts of the group, on given brokers."""

    brokers: TransactionParts = field(default_factory=TransactionParts)

    @property
    def below(self) -> TransactionParts:
        return self.brokers


@dataclass(frozen=True, slots=True)
class WholeParts:
    """`WholeParts` are the parts that connect the layers."""

    task: type[ResumingTask] = ResumingTask  # where tasks begin, and where their records go
    inputs: type[Inputs] = Inputs  # what of the output the group gets
    brokers: type[ConnectBrokers] = ConnectBrokers  # Kafka as Connect's workers have it


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the parts of each layer, and the configuration keys that a defect needs."""

    connect: ConnectParts = field(default_factory=ConnectParts)
    transactions: TransactionParts = field(default_factory=TransactionParts)
    group: group_fencing.Parts = field(default_factory=group_fencing.Parts)
    ids: IdBlocksParts = field(default_factory=IdBlocksParts)
    source: SourceParts = field(default_factory=SourceParts)
    whole: WholeParts = field(default_factory=WholeParts)
    needs: Needs = field(default_factory=dict)

    @property
    def of_group(self) -> CopyingParts:
        """Return the parts of the group, its applications, and the brokers. A part that is in both layers is taken from
        the layer that has replaced it."""
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
        below: Any = self.transactions.producer
        if below is Producer:
            return client
        made = mixed(client, below)
        if client.sends_class is not Sends and below.sends_class is not Sends:
            made.sends_class = mixed(client.sends_class, below.sends_class)
        return made

    def of_connect(self, sources: Sources) -> ConnectParts:
        fields = {name: getattr(self.connect, name) for name in ConnectParts.__dataclass_fields__}
        resuming = self.whole.task
        task = mixed(resuming, self.connect.task) if self.connect.task is not SourceTask else resuming
        given = {"sources": sources, "pieces": self.source}
        return ConnectParts(**{**fields, "task": type(task.__name__, (task,), given)})


def mixed(first: Any, second: Any) -> Any:
    """Return a class that is derived from both; the first one takes precedence."""
    return type(f"{second.__name__}In{first.__name__}", (first, second), {"__slots__": ()})
