"""The environment of one cluster: that of the transactions below, with what records carry, and events of its own."""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from fencepost.reference_impl.group_fencing.config import Config
from fencepost.reference_impl.group_fencing.events import GroupEventLog
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.transactions import environment as below
from fencepost.reference_impl.transactions.environment import DrivenPace, SeededPace, partition_name
from fencepost.reference_impl.transactions.events import TransactionEventLog

if TYPE_CHECKING:
    from fencepost.reference_impl.group_fencing.parts import Parts


class Place(NamedTuple):
    """A place in the input. An output record carries that of the input record it is a copy of, a committed offset that
    of the next record to read."""

    partition: int
    offset: int


def consumer_name(slot: int) -> str:
    """The address of the consumer of the instance that holds a slot at the moment a message is delivered."""
    return f"consumer-{slot}"


def producer_name(number: int) -> str:
    """The address of a producer: that of a slot's instance has the slot's number; those that an instance has for each
    partition of the input are numbered behind."""
    return f"producer-{number}"


class Environment(below.Environment):
    """One per cluster. `contents` has what each record of the transactions below carries; `writing`, what the records
    numbered next will; `tell` writes an event; `assignments` has, by member, the answer that named its partitions."""

    __slots__ = ("assignments", "contents", "hidden", "old", "options", "parts", "tell", "writing")

    log_type = GroupEventLog
    next_instance = numbered("instance")  # instances of the application, also after a restart
    next_member = numbered("member")  # member ids, whoever makes them up: Kafka's are UUIDs

    def __init__(
        self, options: Config, kernel: Kernel, network: Network, pace: DrivenPace | SeededPace, parts: "Parts"
    ) -> None:
        super().__init__(options.below, kernel, network, pace)
        self.options = options
        self.parts = parts
        self.tell = self.log.emit
        self.emit = TransactionEventLog.unheard  # which are another history's
        self.old = set(range(options.old))  # slots whose instances are from before KIP-447
        self.hidden = False  # whether the brokers' metadata do not have the input topic (yet)
        self.assignments: dict[int, object] = {}
        self.contents: dict[int, Place] = {}
        self.writing: deque[Place] = deque()

    @property
    def offsets_partition(self) -> int:
        """The number of the group's offsets partition."""
        return self.options.outputs

    def output_partition(self, output: int) -> int:
        """The number of an output partition, among all partitions of the cluster."""
        return output

    def input_end(self, partition: int) -> int:
        """The offset behind the last record of the input that a consumer can read now."""
        return self.options.records

    def input_place(self, partition: int, offset: int) -> Place:
        """The input record there, as a consumer gets it."""
        return Place(partition, offset)

    @property
    def group_address(self) -> str:
        """The address of the group's coordinator, which leads that partition."""
        return partition_name(self.offsets_partition)

    @property
    def upcoming_record(self) -> int:
        """The number that the next record will have."""
        return self._given.get("record", 0)

    def next_record(self) -> int:
        number = super().next_record()
        self.contents[number] = self.writing.popleft()
        return number
