"""This module has Connect workers whose source tasks run with this runtime. `reference_impl.systems.task_counts`
decides which tasks may start; a task that starts reads its offsets to the end, polls, and writes records and offsets in
its transactions.

    system = build({"support": "enabled"}, connected({"partitions": 3, "records": 1_000}))

This call makes a cluster with two histories: its own, and in `system.env.brokers.log_of_tasks` that of the first
connector's source tasks.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fencepost.reference_impl.connect.brokers import FENCED, OUTPUT_TOPIC, KafkaError
from fencepost.reference_impl.connect.config import Kind as ConnectKind
from fencepost.reference_impl.connect.config_records import OK
from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE, Config, Kind, SourceEventLog
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, SEPARATE, Brokers, Record
from fencepost.reference_impl.connect.offsets.runtime import SourceTask as Source
from fencepost.reference_impl.connect.offsets.stores import Found, OffsetStore
from fencepost.reference_impl.connect.source_task import STOP, SourceTask, TaskFailed
from fencepost.reference_impl.connect.threads import Operation, OperationError, Script
from fencepost.reference_impl.systems import task_counts_cluster
from fencepost.reference_impl.systems.source_offsets import Parts

NONE = -1
EMITTED_AS = {
    ConnectKind.TASK_RUNNING: Kind.INSTANCE_RUNNING, ConnectKind.TASK_STOPPED: Kind.INSTANCE_STOPPED,
    ConnectKind.TASK_ABANDONED: Kind.INSTANCE_STOPPED, ConnectKind.TASK_FAILED: Kind.INSTANCE_FAILED,
}  # fmt: skip


class ConnectBrokers(Brokers):
    """A `ConnectBrokers` is the Kafka of such a cluster; ``log`` is the history of its source tasks."""

    options: Config
    """These are the options of the source and its connector, which `connected` sets."""

    def __init__(self, config: Any) -> None:
        options = replace(
            self.options, seed=config.seed, transactions=config.transactions,
            transaction_timeout_ms=config.transaction_timeout_ms,
        )  # fmt: skip
        super().__init__(options, self.hear_of)
        self.log_of_tasks = SourceEventLog(self.env.kernel)
        self.auditor = self.new_reader()

    def hear_of(self, kind: int, **columns: int) -> None:
        self.log_of_tasks.emit(kind, **columns)

    def audit(self) -> list[tuple[int, int, int]]:
        found = []
        for position, number in self.auditor.read(self.log(OUTPUT_TOPIC), True):
            record = self.env.contents[number]
            if not isinstance(record, Record):  # of another connector
                continue
            self.hear_of(
                Kind.OUTPUT_READ, position=position, partition=record.partition, round=record.round,
                offset=record.offset,
            )  # fmt: skip
            found.append((record.partition, record.round, record.offset))
        return found


class HostTask(SourceTask):
    """A `HostTask` is one start of one task in which a runtime and a store of source offsets work: the task is their
    host, and has what they need to know of their surroundings."""

    pieces: Parts
    """These are the parts of the runtime, set when the cluster is made."""

    merges = True  # both offsets topics are read as one

    @property
    def brokers(self) -> Any:
        return self.env.brokers

    @property
    def threads(self) -> Any:
        return self.env.threads

    @property
    def process(self) -> int:
        return self.herder.node

    def new(self, part: str, *arguments: Any) -> Any:
        return getattr(self.pieces, part)(*arguments)

    def operation(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Operation:
        return self.herder.operation(name, act, *self.id, interrupted)

    def call(self, name: str, act: Callable[[], Any], interrupted: Callable[[], bool] | None = None) -> Script:
        try:
            return (yield self.operation(name, act, interrupted))
        except (OperationError, KafkaError) as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> TaskFailed:
        return TaskFailed(str(error), getattr(error, "code", 0))

    def now_ms(self) -> int:
        return self.env.now_ms


class RuntimeTask(HostTask):
    """A `RuntimeTask` is a task that writes to both histories."""

    brokers: ConnectBrokers
    store: OffsetStore
    found: Mapping[int, Found]

    def report(self, kind: int, **columns: int) -> None:
        """Emit an event of this task for source tasks, and the corresponding one of the cluster."""
        if self.env.numbers[self.id[0]] == 0:
            self.brokers.hear_of(kind, task=self.id[1], instance=self.instance, **columns)
        if kind == Kind.END_TOLD:
            pair = columns["producer_id"], columns["epoch"]
            error = columns.get("error", 0)
            if error in FENCED:
                super().emit(ConnectKind.TRANSACTION_REFUSED, error=error, pair=pair)
            elif not error:
                super().emit(ConnectKind.TRANSACTION_COMMITTED, pair=pair)
        elif kind == Kind.TXN_BEGUN:
            super().emit(ConnectKind.RECORDS_SENT)

    def emit(self, kind: int, status: int = NONE, error: int = 0, pair: tuple[int, int] | None = None) -> None:
        """Emit an event of this task for the cluster, and the corresponding one of source tasks."""
        super().emit(kind, status, error, pair)
        if kind == ConnectKind.TASK_STARTING:
            self.report(Kind.INSTANCE_STARTED, generation=self.generation, runtime=EXACTLY_ONCE)
        elif kind == ConnectKind.PRODUCER_OPENED and self.producer is not None:
            self.report(Kind.PRODUCER_OPENED, producer_id=self.producer.producer_id, epoch=self.producer.epoch)
        elif kind == ConnectKind.TASK_CHECKED_AGAIN:
            self.report(Kind.INSTANCE_CHECKED, outcome=int(status == OK))
        elif kind in EMITTED_AS:
            more = {} if kind == ConnectKind.TASK_RUNNING else {"runtime": EXACTLY_ONCE}
            self.report(EMITTED_AS[kind], error=error, **more)

    # Start and work

    def start_up(self) -> Script:
        ending = yield from super().start_up()
        if ending is not None or self.env.numbers[self.id[0]] != 0:
            return ending
        options = self.brokers.options
        self.store = OffsetStore(self, self, SEPARATE if options.separate else GLOBAL)  # type: ignore[arg-type]
        tasks = max(self.herder.view.state.tasks(self.id[0]), self.id[1] + 1)
        self.found = yield from self.store.get(range(self.id[1], options.partitions, tasks))
        return STOP if self.must_stop() else None

    def poll_until_stopped(self) -> Script:
        if self.env.numbers[self.id[0]] != 0:
            yield from super().poll_until_stopped()
            return
        rounds = self.brokers.rounds.now
        for partition, place in self.found.items():
            self.report(Kind.OFFSET_FOUND, topic=place.topic, partition=partition, offset=place.offset)
        offsets = {partition: place.offset for partition, place in self.found.items()}
        source: Source = self.pieces.source(self.brokers.options, offsets, {p: rounds[p] for p in offsets})
        yield from self.pieces.runtime(self.brokers.options, self, source, self.store, self.producer).run()  # type: ignore[arg-type]
        while not (yield from self.stop()):
            pass


def connected(options: Mapping[str, Any], pieces: Parts | None = None) -> task_counts_cluster.Parts:
    """Return the parts of a cluster whose first connector reads the source of these options."""
    brokers = type("OfThisSource", (ConnectBrokers,), {"options": Config.parse(options)})
    task = type("OfThisRuntime", (RuntimeTask,), {"pieces": pieces or Parts()})
    return task_counts_cluster.Parts(task=task, brokers=brokers)
