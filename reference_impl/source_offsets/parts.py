"""The pieces that a broken implementation replaces; the defaults are the correct ones."""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.reference_impl.source_offsets.connector import Connector
from fencepost.reference_impl.source_offsets.stores.choice import Choice, chosen
from fencepost.reference_impl.source_offsets.stores.offset_store import OffsetStore
from fencepost.reference_impl.source_offsets.stores.topic_reader import TopicReader
from fencepost.reference_impl.source_offsets.tasks.instance import Instance
from fencepost.reference_impl.source_offsets.tasks.owner import Owner
from fencepost.reference_impl.source_offsets.tasks.plain import AtLeastOnce
from fencepost.reference_impl.source_offsets.tasks.runtime import ExactlyOnce
from fencepost.reference_impl.source_offsets.tasks.source import SourceTask


@dataclass(frozen=True, slots=True)
class Parts:
    """One implementation."""

    connector: type[Connector] = Connector  # sets of tasks: what is fenced before the next one starts
    instance: type[Instance] = Instance  # the steps of a task's start
    reader: type[TopicReader] = TopicReader  # reading to the end
    choose: Callable[[str, bool, int], Choice] = chosen  # which topics there are
    store: type[OffsetStore] = OffsetStore  # one topic or two: what is read, what is written
    runtime: type[ExactlyOnce] = ExactlyOnce  # records, offsets and transactions
    plain: type[AtLeastOnce] = AtLeastOnce
    source: type[SourceTask] = SourceTask
    owner: type[Owner] = Owner  # the migration of the earlier text
