"""The environment that everything on the one Kafka shares: clock, network, what records carry, and a log for each
layer.

The brokers' clock is that of everything but the workers of Connect, whose calls last as long as they take on it.
"""

from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.end_to_end.config import Config, CopyingConfig
from fencepost.reference_impl.end_to_end.events import EndToEndLog
from fencepost.reference_impl.group_fencing import environment as copying
from fencepost.reference_impl.group_fencing.environment import Place
from fencepost.reference_impl.simulation import FaultMix, Kernel, LossyNetwork, Message
from fencepost.reference_impl.source_offsets.kafka import Record
from fencepost.reference_impl.transactions.environment import SeededPace
from fencepost.reference_impl.transactions.events import TransactionEventLog

if TYPE_CHECKING:
    from fencepost.reference_impl.end_to_end.inputs import Inputs
    from fencepost.reference_impl.end_to_end.producer_ids import ProducerIds
    from fencepost.reference_impl.group_fencing.parts import Parts


class Copied(Place):
    """A place in the group's input, with the record that stands there."""

    source: Record


class Net(LossyNetwork):
    """The network. Whoever is gone gets nothing."""

    __slots__ = ()

    def _arrive(self, message: Message) -> None:
        node = self.nodes.get(message.target)
        if node is not None:
            node.arrive(message)


class Environment(copying.Environment):
    """One per system. `content` is what the record numbered next carries that a task or a worker sends; the group's
    copies, and its offsets, are in `writing`."""

    __slots__ = ("content", "ends", "ids", "inputs", "transactions", "whole")

    inputs: "Inputs"
    ids: "ProducerIds"

    def __init__(
        self, whole: Config, options: CopyingConfig, kernel: Kernel, network: Net, pace: SeededPace, parts: "Parts"
    ) -> None:
        super().__init__(options, kernel, network, pace, parts)
        self.whole = whole
        self.transactions = TransactionEventLog(kernel)
        self.emit = self.transactions.emit
        self.ends = EndToEndLog(kernel)
        self.content: Any = None

    # Of the group: where its partitions are, and what is in its input

    @property
    def offsets_partition(self) -> int:
        return self.config.partitions

    def output_partition(self, output: int) -> int:
        return self.whole.sink_partitions[output]

    def input_end(self, partition: int) -> int:
        return self.inputs.end(partition)

    def input_place(self, partition: int, offset: int) -> Place:
        return self.inputs.place(partition, offset)

    # Numbers

    def connector_of(self, partition: int) -> int:
        """The connector that a source partition is of."""
        return partition // self.whole.sources

    def next_record(self) -> int:
        number = self.number("record")
        contents: dict[int, Any] = self.contents
        contents[number] = self.writing.popleft() if self.writing else self.content
        return number

    def has_producer_id(self) -> bool:
        return self.ids.at_hand()

    def next_producer_id(self) -> int:
        return self.ids.take()


def network(kernel: Kernel, faults: FaultMix, odds: dict[str, float], latency_us: int, delay_us: int) -> Net:
    """The network that loses, doubles and delays messages at these rates."""
    return Net(kernel, faults, odds, latency_us, delay_us)
