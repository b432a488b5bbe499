"""What puts the layers together, with one thing wrong each: where tasks begin, where their records go, what the group
gets, and when a call is done."""

from typing import Any

from fencepost.reference_impl.end_to_end.environment import Copied
from fencepost.reference_impl.end_to_end.events import Kind
from fencepost.reference_impl.end_to_end.inputs import Inputs
from fencepost.reference_impl.end_to_end.kafka import ConnectBrokers
from fencepost.reference_impl.end_to_end.source import ResumingTask, Stores, TaskHost
from fencepost.reference_impl.simulation.defects import PROMISE, defect
from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, SEPARATE
from fencepost.reference_impl.source_offsets.stores.offset_store import Found
from fencepost.reference_impl.task_counts.tasks.producers import KafkaError
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.tasks.threads import Script


@defect("618.32", PROMISE)
class ReadsOffsetsFirst(ResumingTask):
    """A task reads where it begins before it opens its producer: its predecessor may commit after that (618.32)."""

    def start_up(self) -> Script:
        mine = self.sources.of_task(self.connector, self.id[1], self.tasks)
        stores = Stores(self, self.source_parts)
        store = stores.new("store", stores, TaskHost(self), GLOBAL if self.connector else SEPARATE, EXACTLY_ONCE)
        found: dict[int, Found] = yield from store.get(mine)
        ending = yield from SourceTask.start_up(self)
        if ending is not None:
            return ending
        for partition, there in found.items():
            self.tell(Kind.RESUMED, partition, there.offset)
        begun = {partition: there.offset for partition, there in found.items()}
        self.runtime = self.new_runtime(TaskHost(self), store, begun)
        return None


@defect("618.P2", PROMISE)
class OutputOfTheTask(ResumingTask):
    """Records go to the output partition of the task that reads them, not of their source partition (618.P2)."""

    def output_of(self, partition: int) -> int:
        whole = self.brokers.env.whole
        return whole.input_partitions[self.id[1] % whole.inputs]


@defect("618.27", PROMISE)
class RemembersWhatItRead(ResumingTask):
    """A task that is started again on a worker goes on behind what was last read there, committed or not (618.27)."""

    def new_runtime(self, host: TaskHost, store: Any, found: dict[int, int]) -> Any:
        read: dict[int, int] = self.herder.__dict__.setdefault("read_here", {})
        return super().new_runtime(host, store, {p: max(offset, read.get(p, 0)) for p, offset in found.items()})

    def polled(self, partition: int, offset: int) -> None:
        super().polled(partition, offset)
        self.herder.__dict__.setdefault("read_here", {})[partition] = offset


@defect("618.27", PROMISE)
class CommitsWhatIsLeft(ResumingTask):
    """A task that ends commits the records that are in its open transaction, without their offsets (618.27)."""

    def end(self, kind: int, state: str = "", trace: str = "", error: int = 0) -> None:
        left = not self.ended and self.runtime is not None and not self.asked and self.runtime.records
        producer = self.producer
        super().end(kind, state, trace, error)
        if left and producer is not None and not producer.client.error:
            producer.closed = False
            try:
                producer.commit()
            except KafkaError:
                return


@defect("618.31", PROMISE)
class ReadsTheWorkersTopic(ResumingTask):
    """A task begins where the worker's offsets topic says, also where its connector has one of its own (618.31)."""

    def new_runtime(self, host: TaskHost, store: Any, found: dict[int, int]) -> Any:
        there = store.readers[GLOBAL].offsets
        return super().new_runtime(host, store, {p: there.get(p, 0) for p in found})


@defect("447.P1", PROMISE)
class GetsWhatIsOpen(Inputs):
    """The group gets records whose transaction is not decided (447.P1)."""

    def end(self, partition: int) -> int:
        reader: Any = self.reader
        read = reader.read
        reader.read = lambda log, committed: read(log, False)
        try:
            return super().end(partition)
        finally:
            reader.read = read


@defect("447.P1", PROMISE)
class CountsMarkers(Inputs):
    """A place of the input that stands behind a marker is taken for the one before it (447.P1)."""

    def place(self, partition: int, offset: int) -> Copied:
        place = super().place(partition, offset)
        records = self.found[partition]
        before = records[offset - 1] if offset else records[offset]
        if before.round != place.source.round:  # another producer's, so that a marker is in between
            place.source = before
        return place


@defect("618.32", PROMISE)
class DoneWhenDecided(ConnectBrokers):
    """A commit is done when it is decided, and what follows does not wait for its markers (618.32)."""

    def is_complete(self) -> bool:
        return True
