"""Defects of a start: who is fenced, and who looks whether it may go on (618.6, 618.7, 618.18, 618.19)."""

from fencepost.reference_impl.source_offsets.connector import Connector
from fencepost.reference_impl.source_offsets.stores.offset_store import OffsetStore
from fencepost.reference_impl.source_offsets.tasks.instance import Instance
from fencepost.reference_impl.task_counts.tasks.threads import Script


class OwnId(Instance):
    """Every instance has a transactional id that no other one has: it fences nobody."""

    def transactional_id(self) -> str:
        return f"{super().transactional_id()}-{self.process}"


class NotChecked(Instance):
    """Nobody looks whether there is a newer set."""

    def is_newest(self) -> bool:
        return True


class CheckedFirst(Instance):
    """The look at the newest set comes before initTransactions()."""

    def start_up(self, store: OffsetStore) -> Script:
        if self.runtime == 0:
            yield from self.check()
            yield from self.open_producer()


class NotFenced(Connector):
    """A set starts while producers of the one before it may commit."""

    def fence(self) -> None:
        pass
