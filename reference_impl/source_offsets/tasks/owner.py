"""The migration of the earlier text: the worker that has the Connector fills its separate topic, if that is empty, from
the worker's global one, in a transaction; with nothing to copy it writes a sentinel (618.30, 618.45).

The text names no transactional id for that, and two workers may be at it at once. As it is right, owners of one
Connector have one id, which each opens before it looks: one that was overtaken is refused. The tasks of the old
configuration, which go on to commit in the global topic, are fenced before.
"""

from collections.abc import Mapping

from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.environment import Environment
from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, PARTITION_OF, SENTINEL, SEPARATE, Entry
from fencepost.reference_impl.source_offsets.stores.offset_store import OffsetStore
from fencepost.reference_impl.source_offsets.tasks.process import Failed, Process
from fencepost.reference_impl.task_counts.tasks.producers import TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.threads import Script

FIRST = -2
"""Processes of owners are numbered from here down: -1 is none, and those of tasks are 0 and above."""


class Owner(Process):
    """One run of the Connector, as far as its separate topic goes."""

    def __init__(self, env: Environment) -> None:
        self.number = env.next_owner()
        super().__init__(env, FIRST - self.number)

    def tell(self, kind: int, **columns: int) -> None:
        """An event of this owner."""
        self.env.emit(kind, owner=self.number, **columns)

    def run(self) -> Script:
        self.tell(Kind.OWNER_STARTED)
        try:
            yield from self.migrate()
            self.end(1)
        except Failed:
            self.end(0)

    def transactional_id(self) -> str:
        """Of all owners of this Connector."""
        return "connect-source-owner"

    def migrate(self) -> Script:
        """Look, and fill the topic if it is empty."""
        store: OffsetStore = self.env.new("store", self.env, self, SEPARATE, EXACTLY_ONCE, (GLOBAL, SEPARATE))
        yield from self.open()
        if (yield from self.is_filled(store)):
            return
        yield from self.copy(store)

    def copy(self, store: OffsetStore) -> Script:
        """All that the global topic has, in a transaction."""
        yield from store.read_topic(GLOBAL)
        yield from self.call("migrate", lambda: self.fill(store.readers[GLOBAL].offsets))
        yield from self.call("commit", self.commit)
        yield from store.read_topic(SEPARATE)

    def commit(self) -> None:
        """What was copied counts from now on."""
        assert self.producer is not None, "opened before"
        self.producer.commit()

    def open(self) -> Script:
        """initTransactions(): owners before this one are fenced."""
        producer = self.producer = TransactionalProducer(self.env.brokers, self.transactional_id(), ())
        yield from self.call("open", producer.open)

    def is_filled(self, store: OffsetStore) -> Script:
        """Whether the separate topic has anything, read to its end."""
        yield from store.read_topic(SEPARATE)
        filled = yield from self.call("look", lambda: bool(store.readers[SEPARATE].entries))
        self.tell(Kind.LOOKED, outcome=int(filled))
        return filled

    def fill(self, offsets: Mapping[int, int]) -> None:
        """All that the global topic has, or the sentinel, in a transaction."""
        assert self.producer is not None, "opened before"
        self.producer.begin()
        for entry in [Entry(*each) for each in offsets.items()] or [SENTINEL]:
            self.tell_copy(entry)
            self.producer.send(PARTITION_OF[SEPARATE], entry)

    def tell_copy(self, entry: Entry) -> None:
        """An entry, or the sentinel, is sent."""
        assert self.producer is not None, "opened before"
        self.tell(
            Kind.MIGRATED, partition=entry.partition, offset=entry.offset if entry.partition >= 0 else -1,
            producer_id=self.producer.producer_id, epoch=self.producer.epoch,
        )  # fmt: skip

    def end(self, outcome: int) -> None:
        """The Connector starts, or has failed."""
        self.close()
        self.tell(Kind.OWNER_DONE, outcome=outcome)
