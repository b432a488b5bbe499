"""The pieces of the whole system: those of each layer, any of which a broken implementation replaces."""

from dataclasses import dataclass, field
from typing import Any

from fencepost.reference_impl.end_to_end.config import Needs
from fencepost.reference_impl.end_to_end.inputs import Inputs
from fencepost.reference_impl.end_to_end.kafka import ConnectBrokers
from fencepost.reference_impl.end_to_end.source import ResumingTask, Sources
from fencepost.reference_impl.group_fencing import parts as copying
from fencepost.reference_impl.id_blocks.system import Parts as IdBlocksParts
from fencepost.reference_impl.source_offsets.parts import Parts as SourceParts
from fencepost.reference_impl.task_counts.parts import Parts as ConnectParts
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.clients.sends import Sends
from fencepost.reference_impl.transactions.system import Parts as TransactionParts


@dataclass(frozen=True, slots=True)
class CopyingParts(copying.Parts):
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
    group: copying.Parts = field(default_factory=copying.Parts)
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
        fields = {name: getattr(group, name) for name in copying.Parts.__dataclass_fields__}
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
