"""The store of a connector's offsets as it is released, from Kafka 3.3 to the trunk of August 2026.

What is asked of the connector's own topic is answered for each source partition, with a null where there is nothing,
and is laid over what the worker's topic has: so that is hidden, though the Javadoc of `get` promises a fallback. The
copy in the worker's topic is made in the callback of the own topic's write, that is when a broker has acknowledged the
entry and its transaction is still open. (`ConnectorOffsetBackingStore.get`, `.setPrimaryThenSecondary`,
`KafkaOffsetBackingStore.get`) Each half by itself is what Kafka would be with the other one mended.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fencepost.reference_impl.source_offsets.kafka import Entry
from fencepost.reference_impl.source_offsets.stores.offset_store import NOTHING, Found, OffsetStore
from fencepost.reference_impl.task_counts.tasks.threads import Script


class NullsHide(OffsetStore):
    """The topic that transactions write to has the last word of every source partition."""

    def view(self, partition: int) -> Found:
        found = self.readers[self.primary].offsets.get(partition, 0)
        return Found(self.primary, found) if found else NOTHING


class CopiedWhenSent(OffsetStore):
    """Copies are made when the broker has the entries, whatever becomes of their transaction."""

    def set(self, offsets: Mapping[int, int], send: Callable[[int, Entry], None]) -> Script:
        yield from super().set(offsets, send)
        self.copy(offsets)

    def committed(self, offsets: Mapping[int, int]) -> None:
        """They were made before."""


class Released(NullsHide, CopiedWhenSent):
    """Both."""


STORES: Mapping[str, type[OffsetStore]] = MappingProxyType({
    "shipped": Released,
    "shipped-own-topic-from-the-start": Released,
    "shipped-own-topic-later": Released,
    "shipped-own-topic-taken": Released,
    "falls-back-alone": CopiedWhenSent,
    "copies-when-committed-alone": NullsHide,
})  # fmt: skip
"""By mode."""
