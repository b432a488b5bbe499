"""Producer ids from blocks: the broker that coordinates transactional ids takes them from the block that it holds.

The controllers and the brokers' halves of the protocol are those of `reference_impl.id_blocks`, on the same clock. A
broker without an id at hand asks for a block, and its clients are told to come again (RPCProducerIdManager.java).
"""

from typing import TYPE_CHECKING

from fencepost.reference_impl.id_blocks.system import System

if TYPE_CHECKING:
    from fencepost.reference_impl.end_to_end.kafka import Kafka


class ProducerIds:
    """`spare`: by broker, an id that was taken for a request that turned out not to need it, or not yet."""

    def __init__(self, kafka: "Kafka", system: System) -> None:
        self.kafka = kafka
        self.system = system
        self.spare: dict[int, int] = {}

    @property
    def broker(self) -> int:
        """The broker that coordinates now."""
        return self.kafka.brokers.coordinator.node_id

    def at_hand(self) -> bool:
        """Whether that broker can give an id at once."""
        number = self.broker
        broker = self.system.brokers[number]
        if number in self.spare:
            return True
        if not broker.running or broker.paused:
            return False
        error, producer_id = broker.init_producer_id()
        if error:
            return False
        self.spare[number] = producer_id
        return True

    def take(self) -> int:
        """The id. RuntimeError where none is at hand: the caller has not asked."""
        if not self.at_hand():
            raise RuntimeError(f"broker {self.broker} has no producer id at hand: ask has_producer_id() before")
        return self.spare.pop(self.broker)

    def restart(self, number: int) -> None:
        """A broker starts anew, without its block."""
        self.spare.pop(number, None)
        self.system.restart_broker(number)
