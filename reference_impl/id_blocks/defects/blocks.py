"""Brokers that use a block, or an answer, more than once.  `broken.py` says what each of them breaks."""

from fencepost.reference_impl.id_blocks.broker import NONE, Broker, ProducerIds
from fencepost.reference_impl.id_blocks.environment import Environment
from fencepost.reference_impl.id_blocks.messages import Block


class PrefetchedBlockStays(ProducerIds):
    """The block in reserve is swapped in and stays in reserve: when it is used up it is swapped in again (730.12)."""

    def install(self, block: Block) -> None:
        super().install(Block(block.first, block.length))
        self.prefetched = block


class PrefetchedBlockSaved(ProducerIds):
    """The block in reserve is saved, so that a restart does not waste it; taken into use it stays saved (730.3)."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        earlier = getattr(broker, "ids", None)
        self.saved: Block | None = earlier.saved if isinstance(earlier, PrefetchedBlockSaved) else None
        if self.saved is not None:
            self.prefetched = Block(self.saved.first, self.saved.length)

    def take(self, block: Block) -> None:
        super().take(block)
        if self.current.length:
            self.saved = block


class NumbersBeginAgain(ProducerIds):
    """Correlation numbers count from 0 in every life of the broker: a late copy of an answer fits the next (730.19)."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        earlier = getattr(broker, "ids", None)
        self.numbers: dict[int, int] = earlier.numbers if isinstance(earlier, NumbersBeginAgain) else {}
        self.sent = 0

    def send_request(self) -> None:
        super().send_request()
        self.numbers[self.outstanding] = self.sent
        self.sent += 1

    def is_outstanding(self, number: int) -> bool:
        return self.outstanding != NONE and self.numbers.get(number) == self.numbers[self.outstanding]
