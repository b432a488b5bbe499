"""Defects of brokers: ids, requests and their answers, blocks that are used more than once."""

from fencepost.reference_impl.id_blocks.broker import NONE, Broker, ProducerIds
from fencepost.reference_impl.id_blocks.environment import Environment
from fencepost.reference_impl.id_blocks.messages import Block, ResponseBody
from fencepost.reference_impl.simulation.defects import CONFORMANCE, NOTHING, PROGRESS, PROMISE, defect


@defect(
    "730.4",
    CONFORMANCE,
    "every block is shifted alike, so the blocks stay disjoint; the id after the block is one nobody gave it",
)
class IdsShiftedEverywhere(ProducerIds):
    """Takes the start as exclusive: start+1 … start+len instead of start … start+len-1."""

    def claim(self) -> int:
        producer_id = super().claim()
        return producer_id if producer_id == NONE else producer_id + 1

    def after_claim(self, producer_id: int) -> None:
        super().after_claim(producer_id - 1)


@defect("730.4", PROMISE)
class IdsShiftedOnEvenBrokers(IdsShiftedEverywhere):
    """Ids shifted only on some brokers, as in a rolling upgrade: now the blocks of two brokers meet."""

    def claim(self) -> int:
        return super().claim() if self.broker.broker_id % 2 == 0 else ProducerIds.claim(self)

    def after_claim(self, producer_id: int) -> None:
        ProducerIds.after_claim(self, producer_id - 1 if self.broker.broker_id % 2 == 0 else producer_id)


@defect("730.19", PROMISE)
class StaleAnswerInstalled(ProducerIds):
    """Takes any answer while it has no block in reserve, also one to a request of its own earlier life."""

    def is_outstanding(self, number: int) -> bool:
        return number == self.outstanding or (self.prefetched is None and self.current.last == NONE)


@defect(
    "730.19",
    CONFORMANCE,
    "the copy is refused by 730.20 instead of dropped by 730.19: two guards, either is enough within one life",
)
class DuplicateAnswerTaken(ProducerIds):
    """Takes every copy of every answer to a request of this life; the sanity check still stands behind."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        self.sent: set[int] = set()

    def send_request(self) -> None:
        super().send_request()
        self.sent.add(self.outstanding)

    def is_outstanding(self, number: int) -> bool:
        return number in self.sent


@defect("730.19", PROMISE)
class DuplicateAnswerInstalled(DuplicateAnswerTaken):
    """Takes a second copy of an answer, and does not look whether the block lies above the ids it holds."""

    def is_sane(self, start: int, length: int) -> bool:
        return True


@defect("730.3", PROMISE)
class BlockKeptOverRestart(ProducerIds):
    """Keeps the bounds of its block on disk, not the cursor, and starts the block again in its next life."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        earlier = getattr(broker, "ids", None)
        if isinstance(earlier, BlockKeptOverRestart) and earlier.current.length:
            self.install(Block(earlier.current.first, earlier.current.length))


@defect("730.20", NOTHING, harmless=("kraft", "730.20", "take: guard 1 looser"))
class OverlapByOneAccepted(ProducerIds):
    """Accepts a block that starts at the last id of the current one: `<` where `<=` refuses."""

    def is_sane(self, start: int, length: int) -> bool:
        return start >= self.current.last and start >= 0 and start <= self.env.config.max_id - length


@defect("730.19", PROMISE)
class SharedClaimCounter(ProducerIds):
    """One claim counter for all blocks, reset when an answer comes in and not when the block is swapped in."""

    def take(self, block: Block) -> None:
        super().take(block)
        if self.current.length:
            self.current.unclaimed = self.current.first


@defect("730.8", PROMISE)
class OwnLength(ProducerIds):
    """Takes the length of a block from its own configuration, and not from the answer."""

    def take(self, block: Block) -> None:
        super().take(Block(block.first, self.env.config.block_size))


@defect("730.5", PROGRESS)
class InFlightKeptOnError(ProducerIds):
    """An error answer leaves the in-flight flag set: nothing is ever requested again."""

    def back_off(self) -> None:
        super().back_off()
        self.request_in_flight = True


@defect("730.5", PROGRESS)
class InFlightKeptOnTimeout(ProducerIds):
    """A time-out leaves the in-flight flag set: one lost message, and the broker is silent for ever."""

    def time_out(self, number: int) -> None:
        super().time_out(number)
        self.request_in_flight = self.request_in_flight or self.prefetched is None


@defect("730.12", CONFORMANCE, "the second answer overwrites the first block: ids are lost, none comes twice")
class DoublePrefetch(DuplicateAnswerTaken):
    """Ignores the in-flight flag; the second answer overwrites the first block, whose ids are lost."""

    def request_block(self) -> None:
        if self.prefetched is None and self.may_ask_again():
            self.send_request()

    def is_outstanding(self, number: int) -> bool:
        expected = number in self.sent
        self.sent.discard(number)
        return expected


@defect("730.5", CONFORMANCE)
class BackoffIgnored(ProducerIds):
    """Asks again at once after an error."""

    def may_ask_again(self) -> bool:
        return True


@defect("730.5", PROGRESS)
class BackoffNeverOver(ProducerIds):
    """Never compares the deadline with the clock again: after one error it waits for ever."""

    def may_ask_again(self) -> bool:
        return self.backoff_until == NONE and super().may_ask_again()


@defect("730.17", PROMISE)
class Uncoordinated(ProducerIds):
    """The rejected alternative: ids cut up by broker id, nothing durable, no request; a restart begins anew."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        share = env.config.max_id // env.config.brokers
        self.current = Block(broker.broker_id * share, share)

    def request_block(self) -> None:
        """Asks no controller."""

    def answer(self, body: ResponseBody) -> None:
        """No request was sent, so that no answer can come."""


# blocks and answers that are used again
@defect("730.12", PROMISE)
class PrefetchedBlockStays(ProducerIds):
    """The block in reserve is swapped in and stays in reserve: when it is used up it is swapped in again (730.12)."""

    def install(self, block: Block) -> None:
        super().install(Block(block.first, block.length))
        self.prefetched = block


@defect("730.3", PROMISE)
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


@defect("730.19", PROMISE)
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
