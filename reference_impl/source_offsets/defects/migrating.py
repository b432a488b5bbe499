"""Defects of the earlier text's migration (618.30, 618.45)."""

from collections.abc import Mapping
from functools import partial

from fencepost.reference_impl.source_offsets.connector import Connector
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, PARTITION_OF, SENTINEL, SEPARATE, Entry
from fencepost.reference_impl.source_offsets.stores.offset_store import OffsetStore
from fencepost.reference_impl.source_offsets.tasks.instance import Instance
from fencepost.reference_impl.source_offsets.tasks.owner import Owner
from fencepost.reference_impl.task_counts.tasks.threads import Script


class OwnersNotFenced(Owner):
    """As the text has it: no transactional id is named, so that owners do not fence one another (H8)."""

    def transactional_id(self) -> str:
        return f"{super().transactional_id()}-{self.number}"


class LooksFirst(Owner):
    """Whether the topic is empty is looked at before initTransactions(), and not again: another owner may fill it, and
    tasks go on from there, before this one has fenced the other (C25)."""

    def migrate(self) -> Script:
        store: OffsetStore = self.env.new("store", self.env, self, SEPARATE, 0, (GLOBAL, SEPARATE))
        if (yield from self.is_filled(store)):
            return
        yield from self.open()
        yield from self.copy(store)


class FilledAnyway(Owner):
    """Nobody looks whether the topic is empty."""

    def is_filled(self, store: OffsetStore) -> Script:
        yield from ()
        return False


class NoSentinel(Owner):
    """With nothing to copy nothing is written."""

    def fill(self, offsets: Mapping[int, int]) -> None:
        if offsets:
            super().fill(offsets)
        else:
            assert self.producer is not None, "opened before"
            self.producer.begin()


class InPieces(Owner):
    """Every offset is copied in a transaction of its own."""

    def copy(self, store: OffsetStore) -> Script:
        yield from store.read_topic(GLOBAL)
        for entry in [Entry(*each) for each in store.readers[GLOBAL].offsets.items()] or [SENTINEL]:
            yield from self.call("migrate", partial(self.copy_one, entry))
        yield from store.read_topic(SEPARATE)

    def copy_one(self, entry: Entry) -> None:
        """One of them."""
        assert self.producer is not None, "opened before"
        self.producer.begin()
        self.tell_copy(entry)
        self.producer.send(PARTITION_OF[SEPARATE], entry)
        self.producer.commit()


class DoNotWait(Instance):
    """Tasks start although their topic has neither offsets nor the sentinel."""

    def await_content(self, store: OffsetStore) -> Script:
        yield from ()


class CopiedBeforeFenced(Connector):
    """As the order of the text has it: the Connector fills its topic before the tasks of the old configuration are
    fenced, which go on in the global one; what fences them is that their successors open their producers."""

    def fence(self) -> None:
        pass
