"""Defects of the copy in the worker's topic (618.31): when it is made, and what becomes of tombstones."""

from collections.abc import Callable, Mapping
from functools import partial

from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, Entry
from fencepost.reference_impl.source_offsets.stores.offset_store import OffsetStore
from fencepost.reference_impl.source_offsets.tasks.process import Process
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script
from fencepost.reference_impl.transactions.clients.producer import State


class NeverCopied(OffsetStore):
    """Nothing goes to the worker's topic: copies are made as well as can be, and nobody relies on one."""

    def has_copy(self) -> bool:
        return False


class TombstonePrimaryFirst(OffsetStore):
    """Before KAFKA-15018: tombstones are copied as everything else is, afterwards, and nobody waits for it (B35)."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from self.host.call("flush", partial(self.send_all, offsets, send))

    def copy(self, offsets: Mapping[int, int]) -> None:
        super().copy(offsets)
        if self.has_copy():
            for partition, offset in offsets.items():
                if not offset:
                    self.host.tell(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=0)
                    self.env.threads.start(self.host.process, self.copying(partition, 0))


class TombstonesNotCopied(OffsetStore):
    """Only offsets that are there go to the worker's topic."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from self.host.call("flush", partial(self.send_all, offsets, send))


class TombstonesLeftOut(OffsetStore):
    """A null offset is not written at all."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from super().set({partition: offset for partition, offset in offsets.items() if offset}, send)


class FlushNotAwaited(OffsetStore):
    """Since KAFKA-15018: with a tombstone among them, all offsets are sent when the worker's producer has the answer to
    the tombstone, in its thread; the task does not wait for that before it commits. What comes too late is refused by
    the producer, or is in the next transaction. (ConnectorOffsetBackingStore.ChainedOffsetWriteFuture)"""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        if not self.has_copy() or all(offsets.values()):
            yield from super().set(offsets, send)
        else:
            self.env.threads.start(self.host.process, self.in_its_thread(dict(offsets), send))

    def in_its_thread(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        """The worker's producer."""
        for partition, offset in offsets.items():
            if not offset:
                self.host.tell(Kind.COPY_SENT, topic=GLOBAL, partition=partition, offset=0)
                try:
                    yield self.host.operation("copy", partial(self.append_copy, partition, 0))
                except OperationError:
                    return
                self.host.tell(Kind.COPY_TOLD, topic=GLOBAL, partition=partition, offset=0)
        assert isinstance(self.host, Process), "an instance of a task"
        producer = self.host.producer
        if producer is not None and not producer.closed and producer.client.state is State.IN_TRANSACTION:
            self.send_all(offsets, send)
