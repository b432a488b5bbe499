"""This module collects the implementations of id blocks that are wrong in one way each."""

from dataclasses import replace

from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import (
    AllocateProducerIdsRequest,
    Block,
    IdRequestBody,
    IdResponseBody,
    ProducerIdsRecord,
)
from fencepost.reference_impl.kafka.producer_ids.broker import NONE, Broker, ProducerIds
from fencepost.reference_impl.kafka.producer_ids.controller import NONE as CONTROLLER_NONE
from fencepost.reference_impl.kafka.producer_ids.controller import Controller, MetadataLog
from fencepost.reference_impl.kafka.producer_ids.environment import Config, Environment, Kind, protocol_version
from fencepost.reference_impl.kafka.producer_ids.zookeeper import BlockLoop, BlockNode, decode
from fencepost.reference_impl.simulation.defects import (
    CONFORMANCE,
    NOTHING,
    PROGRESS,
    PROMISE,
    by_config,
    defect,
    registry,
)
from fencepost.reference_impl.systems.id_blocks import Parts, build

# These are the defects of brokers: ids, requests and their answers, and blocks that are used more than once.


@defect(
    "730.4",
    CONFORMANCE,
    "every block is shifted alike, so the blocks stay disjoint; the id after the block is one that it was not given",
)
class IdsShiftedEverywhere(ProducerIds):
    """Brokers take a block's start as exclusive and hand out start+1 … start+len for start … start+len-1."""

    def claim(self) -> int:
        producer_id = super().claim()
        return producer_id if producer_id == NONE else producer_id + 1

    def after_claim(self, producer_id: int) -> None:
        super().after_claim(producer_id - 1)


@defect("730.4", PROMISE)
class IdsShiftedOnEvenBrokers(IdsShiftedEverywhere):
    """Some brokers hand out shifted ids, as in a rolling upgrade, so the blocks of two brokers overlap."""

    def claim(self) -> int:
        return super().claim() if self.broker.broker_id % 2 == 0 else ProducerIds.claim(self)

    def after_claim(self, producer_id: int) -> None:
        ProducerIds.after_claim(self, producer_id - 1 if self.broker.broker_id % 2 == 0 else producer_id)


@defect("730.19", PROMISE)
class StaleAnswerInstalled(ProducerIds):
    """A broker without a block in reserve takes any answer, even one to a request of its own earlier life."""

    def is_outstanding(self, number: int) -> bool:
        return number == self.outstanding or (self.prefetched is None and self.current.last == NONE)


@defect(
    "730.19",
    CONFORMANCE,
    "the copy is refused by 730.20 instead of dropped by 730.19: two guards, either is enough within one life",
)
class DuplicateAnswerTaken(ProducerIds):
    """A broker takes every copy of every answer to a request of this life, but still runs the sanity check."""

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
    """A broker takes a second copy of an answer and does not check whether the block lies above its current ids."""

    def is_sane(self, start: int, length: int) -> bool:
        return True


@defect("730.3", PROMISE)
class BlockKeptOverRestart(ProducerIds):
    """A broker saves the bounds of its block without the cursor, and starts the block again in its next life."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        earlier = getattr(broker, "ids", None)
        if isinstance(earlier, BlockKeptOverRestart) and earlier.current.length:
            self.install(Block(earlier.current.first, earlier.current.length))


@defect("730.20", NOTHING, harmless=("kraft", "730.20", "take: guard 1 looser"))
class OverlapByOneAccepted(ProducerIds):
    """A broker accepts a block that starts at the last id of the current one: `<` where `<=` refuses."""

    def is_sane(self, start: int, length: int) -> bool:
        return start >= self.current.last and start >= 0 and start <= self.env.config.max_id - length


@defect("730.19", PROMISE)
class SharedClaimCounter(ProducerIds):
    """A broker has one claim counter, which the arrival of a block resets instead of its installation."""

    def take(self, block: Block) -> None:
        super().take(block)
        if self.current.length:
            self.current.unclaimed = self.current.first


@defect("730.8", PROMISE)
class OwnLength(ProducerIds):
    """A broker takes the length of a block from its own configuration, and not from the answer."""

    def take(self, block: Block) -> None:
        super().take(Block(block.first, self.env.config.block_size))


@defect("730.5", PROGRESS)
class InFlightKeptOnError(ProducerIds):
    """An error answer leaves the in-flight flag set, so the broker requests nothing again."""

    def back_off(self) -> None:
        super().back_off()
        self.request_in_flight = True


@defect("730.5", PROGRESS)
class InFlightKeptOnTimeout(ProducerIds):
    """A time-out leaves the in-flight flag set, so after one lost message the broker requests nothing again."""

    def time_out(self, number: int) -> None:
        super().time_out(number)
        self.request_in_flight = self.request_in_flight or self.prefetched is None


@defect("730.12", CONFORMANCE, "the second answer overwrites the first block: ids are lost, none comes twice")
class DoublePrefetch(DuplicateAnswerTaken):
    """The broker ignores the in-flight flag, and a second answer overwrites the first block, whose ids are lost."""

    def request_block(self) -> None:
        if self.prefetched is None and self.may_ask_again():
            self.send_request()

    def is_outstanding(self, number: int) -> bool:
        expected = number in self.sent
        self.sent.discard(number)
        return expected


@defect("730.5", CONFORMANCE)
class BackoffIgnored(ProducerIds):
    """The broker asks again at once after an error."""

    def may_ask_again(self) -> bool:
        return True


@defect("730.5", PROGRESS)
class BackoffNeverOver(ProducerIds):
    """The broker does not compare its back-off deadline with the clock again, so after one error it waits for ever."""

    def may_ask_again(self) -> bool:
        return self.backoff_until == NONE and super().may_ask_again()


@defect("730.17", PROMISE)
class Uncoordinated(ProducerIds):
    """Every broker hands out ids from a fixed share by broker id, with nothing durable and no request, and begins again
    after a restart. This is the rejected alternative."""

    def __init__(self, env: Environment, broker: Broker) -> None:
        super().__init__(env, broker)
        share = env.config.max_id // env.config.brokers
        self.current = Block(broker.broker_id * share, share)

    def request_block(self) -> None:
        """This broker asks no controller."""

    def answer(self, body: IdResponseBody) -> None:
        """No answer can arrive, because the broker has sent no request."""


# blocks and answers that are used again
@defect("730.12", PROMISE)
class PrefetchedBlockStays(ProducerIds):
    """A block in reserve stays there when it is installed, and is installed again after use (730.12)."""

    def install(self, block: Block) -> None:
        super().install(Block(block.first, block.length))
        self.prefetched = block


@defect("730.3", PROMISE)
class PrefetchedBlockSaved(ProducerIds):
    """A broker saves its block in reserve, and does not remove it when the block comes into use (730.3)."""

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
    """Correlation numbers restart at 0 with the broker, so a late answer matches a later request (730.19)."""

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


# These are the defects of controllers and ZooKeeper clients: records and answers, failover, the migration from
# ZooKeeper, and races on its node.


@defect("730.7", PROMISE)
class AnswersBeforeCommit(Controller):
    """The controller answers at the append of the record, which the KIP's text allows (H11)."""

    def allocate(self, body: IdRequestBody) -> None:
        super().allocate(body)
        for grant, waiting, block in self.waiting:
            self.answer(waiting, block, grant)
        self.waiting.clear()


class Unchecked(Controller):
    """This controller replays any record, so that a wrong record has its effect instead of causing a crash."""

    def replay(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id


@defect("730.8", PROMISE)
class NextIdNotAdvanced(Unchecked):
    """The record holds the block's start, so the next caller gets the same block."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), next_producer_id=block.first)


@defect("730.7", PROMISE)
class AdvancedOneTooLittle(Unchecked):
    """The record holds the *last* id of the block, as 3.0 documented it, so the next block overlaps by one."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), next_producer_id=block.last)


@defect("730.10", PROMISE)
class SnapshotOmitsNextId(Controller):
    """The snapshot omits producer ids, so ids begin at 0 again after the log is truncated."""

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        return []


@defect("730.10", PROMISE)
class SnapshotWritesBlockStart(Controller):
    """The snapshot holds the start of the latest block instead of the next free id."""

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        start = max(0, next_free - self.env.config.block_size)
        return [ProducerIdsRecord(-1, -1, start)] if start else []


@defect("730.10", PROMISE)
class ForgetsLogBehindSnapshot(Unchecked):
    """A new leader loads the snapshot and ignores the records behind it."""

    def become_active(self) -> None:
        super().become_active()
        self.next_producer_id = self.metadata_log.snapshot_next_id()


@defect("730.17", PROMISE)
class IdempotentPerBroker(Controller):
    """The controller repeats its last answer to each broker id, which is a bad form of a rejected alternative."""

    def __init__(self, env: Environment, node_id: int, metadata_log: MetadataLog) -> None:
        super().__init__(env, node_id, metadata_log)
        self.answered: dict[tuple[int, ...], tuple[Block, int]] = {}

    def key(self, body: IdRequestBody) -> tuple[int, ...]:
        """Return the key under which two requests count as one."""
        return (body.data.broker_id,)

    def allocate(self, body: IdRequestBody) -> None:
        earlier = self.answered.get(self.key(body))
        if earlier:
            super().answer(body, *earlier)
        else:
            super().allocate(body)

    def answer(self, body: IdRequestBody, block: Block, grant: int) -> None:
        self.answered[self.key(body)] = (block, grant)
        super().answer(body, block, grant)

    def forget(self) -> None:
        super().forget()
        self.answered.clear()


@defect("730.17", PROGRESS, "the broker refuses the repeated block (730.20), backs off, and gets the same block again")
class IdempotentPerBrokerEpoch(IdempotentPerBroker):
    """The controller gives one block per broker epoch, so no broker ever gets a second block."""

    def key(self, body: IdRequestBody) -> tuple[int, ...]:
        return (body.data.broker_id, body.data.broker_epoch)


@defect("730.17", CONFORMANCE, "no id twice, no broker stuck; but two requests are answered from one record")
class IdempotentPerRequest(IdempotentPerBroker):
    """The controller repeats an answer for a copy of its request, which repairs the rejected alternative."""

    def key(self, body: IdRequestBody) -> tuple[int, ...]:
        return (body.number,)


@defect(
    "730.18",
    CONFORMANCE,
    "a block given to a broker's earlier life is lost with its answer; with an answer cache ids come twice",
)
class StaleEpochAccepted(Controller):
    """The controller gives a block to every broker that asks, registered or not."""

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        return 0


@defect("730.18", CONFORMANCE)
class WrongErrorForStaleEpoch(Controller):
    """The KRaft controller answers ZooKeeper's BROKER_ID_NOT_REGISTERED instead of STALE_BROKER_EPOCH."""

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        stale = super().check_broker_epoch(request)
        return IdErrorCode.BROKER_ID_NOT_REGISTERED if stale else 0


@defect("730.16", PROMISE, max_id=100)
class NoExhaustionCheck(Unchecked):
    """The controller does not check for the end of the ids, so blocks repeat from the beginning."""

    def allocate(self, body: IdRequestBody) -> None:
        if self.next_producer_id > self.env.config.max_id - self.env.config.block_size:
            self.next_producer_id = 0
        super().allocate(body)


@defect("730.4", PROMISE)
class LengthOneTooLong(Controller):
    """The controller answers with a length that includes one id of the next block."""

    def answer(self, body: IdRequestBody, block: Block, grant: int) -> None:
        super().answer(body, Block(block.first, block.length + 1), grant)


@defect("730.2", PROMISE, mode="bridge")
class ZkWriteIgnoresVersion(BlockNode):
    """The block node's write ignores the expected version."""

    def write(self, data: str, version: int) -> bool:
        return super().write(data, self.version)


@defect("730.2", PROMISE, mode="bridge")
class ZkNoReread(BlockLoop):
    """After a lost write the loop takes over the node's new version but not its new data."""

    def reread_before_retry(self) -> None:
        if self.seen is not None:
            self.seen = (self.seen[0], self.node.version)


@defect("730.15", PROMISE, name="migrates_from_block_start", part="migrated_next_id", mode="bridge")
def from_block_start(latest: Block) -> int:
    """KRaft begins at the start of the last block that ZooKeeper has allocated (730.15)."""
    return max(0, latest.first)


@defect("730.15", PROMISE, name="migrates_from_inclusive_end", part="migrated_next_id", mode="bridge")
def from_inclusive_end(latest: Block) -> int:
    """KRaft begins at the last id of the last block that ZooKeeper has allocated (730.15)."""
    return max(0, latest.last)


by_config("migrates_before_upgrade", "730.14", PROMISE, parts={"migrates_early": True}, mode="bridge")


# controllers that take over, or lose office
@defect("730.8", PROMISE)
class OldMemoryTrusted(Unchecked):
    """A controller that was active before goes on from its old memory when it becomes active again (730.8)."""

    def become_active(self) -> None:
        if not self.next_producer_id:
            super().become_active()


@defect("730.7", PROMISE)
class LostRequestsAnsweredLater(Controller):
    """Requests whose records were lost with the leadership are answered at the next commit (730.7)."""

    def forget(self) -> None:
        """The waiting requests stay queued."""


@defect("730.7", PROMISE)
class ResigningControllerAnswers(Controller):
    """A controller that loses its office answers waiting requests without their commit (730.7)."""

    def forget(self) -> None:
        for grant, body, block in self.waiting:
            self.answer(body, block, grant)
        super().forget()


@defect("730.8", PROMISE)
class BlocksBeginAtMultiples(Unchecked):
    """Every block begins at a multiple of its own length, even after blocks of another length (730.8)."""

    def allocate(self, body: IdRequestBody) -> None:
        self.next_producer_id -= self.next_producer_id % self.block_size
        super().allocate(body)


@defect("730.10", PROMISE)
class SnapshotKeepsTheFirst(Unchecked):
    """The snapshot holds the first record of the log that it replaces, instead of the last (730.10)."""

    def take_snapshot(self) -> int:
        first = self.metadata_log.committed_records()[:1]
        next_free = first[0].next_producer_id if first else 0
        self.metadata_log.install_snapshot(self.snapshot_records(next_free))
        self.env.emit(Kind.SNAPSHOT_TAKEN, node=self.node_id, first=next_free)
        return next_free


# races on ZooKeeper's node
@defect("730.2", PROMISE, mode="bridge")
class LostRaceTakenForWon(BlockLoop):
    """After a lost write the loop takes the block as its own if the node holds the wanted block, even if another client
    has written it (730.2). The check is meant for a write that succeeded before the connection broke."""

    def write(self, taker: int, request: int) -> Block | None:
        assert self.seen is not None, "write() without read(): the version to write on is not known"
        wanted = self.block_after(self.seen[0])
        written = super().write(taker, request)
        if written is not None:
            return written
        _, there = decode(self.node.read()[0])
        if (there.first, there.length) != (wanted.first, wanted.length):
            return None
        self.env.emit(Kind.ZK_WRITTEN, broker=self.broker_id, request=request, first=wanted.first, length=wanted.length)
        return wanted


@defect("730.13", PROMISE, mode="bridge")
class ControllerRemembersItsBlock(BlockLoop):
    """The controller reads the block once, and from then on takes its own last block for the latest one (730.13)."""

    last: Block | None = None

    def read(self) -> Block | None:
        block = super().read()
        if self.broker_id == CONTROLLER_NONE and self.last is not None and self.seen is not None:
            self.seen = self.last, self.seen[1]
            block = self.block_after(self.last)
        return block

    def write(self, taker: int, request: int) -> Block | None:
        written = super().write(taker, request)
        self.last = written or self.last
        return written


@defect("730.16", PROMISE, mode="bridge", max_id=100)
class BeginsAgainAtTheEnd(BlockLoop):
    """After the last block ZooKeeper's clients begin again with the first (730.16)."""

    def block_after(self, latest: Block) -> Block:
        block = super().block_after(latest)
        return block if block.first - 1 <= self.env.config.max_id - block.length else Block(0, block.length)


# Defects of the interface: a format, a code, a throttle, a version.


@defect("730.5", NOTHING, interface=True)
class EveryErrorIsFatal(ProducerIds):
    """The broker stops at every error of the controller."""

    def back_off(self) -> None:
        super().back_off()
        self.broker.crash()


@defect("730.5", NOTHING, interface=True)
class NoErrorIsFatal(ProducerIds):
    """The broker retries after CLUSTER_AUTHORIZATION_FAILED, although it is configured to be fatal."""

    def answer(self, body: IdResponseBody) -> None:
        if body.data.error_code == IdErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            body = replace(body, data=replace(body.data, error_code=IdErrorCode.UNKNOWN_SERVER_ERROR))
        super().answer(body)


@defect("730.6", NOTHING, interface=True)
class NeverThrottles(Controller):
    """The controller counts the quota but never throttles a broker."""

    def throttle(self, body: IdRequestBody) -> int:
        super().throttle(body)
        return 0


@defect("730.6", NOTHING, interface=True)
class ThrottleIgnored(ProducerIds):
    """The broker ignores the throttle time of an answer."""

    def answer(self, body: IdResponseBody) -> None:
        super().answer(replace(body, data=replace(body.data, throttle_time_ms=0)))


@defect("730.9", NOTHING, interface=True)
class AuditLogWithoutBroker(Controller):
    """The records contain the ids that are used up, but not the broker that got them."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), broker_id=-1, broker_epoch=-1)


@defect("730.21", NOTHING, interface=True, name="rpc_from_2_8", part="uses_rpc")
def from_2_8(config: Config) -> bool:
    """The RPC is used one inter-broker protocol version too early."""
    return config.mode == "kraft" or protocol_version(config.inter_broker_protocol) >= protocol_version("2.8-IV1")


# The kind of damage that each defect does is in `breaks`:
#
# - PROMISE: some id is handed out twice (730.P1);
# - CONFORMANCE: no id twice, but events that no correct implementation emits;
# - PROGRESS: some broker asks for ever and gets nothing, though faults have stopped (730.P3);
# - NOTHING: a control, harmless as long as everything else is right.

REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute

DRIVEN = frozenset({"blocks_begin_at_multiples", "own_length"})
"""Only drivers find these defects, because no simulated history has controllers that make blocks of another length."""
