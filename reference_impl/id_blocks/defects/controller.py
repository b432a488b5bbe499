"""Defects of controllers and ZooKeeper clients: what is recorded and answered, who takes over or loses office, the
migration from ZooKeeper, and races on its node."""

from dataclasses import replace

from fencepost.reference_impl.id_blocks.block_node import BlockNode, decode
from fencepost.reference_impl.id_blocks.controller import NONE, Controller
from fencepost.reference_impl.id_blocks.environment import Environment
from fencepost.reference_impl.id_blocks.errors import ErrorCode
from fencepost.reference_impl.id_blocks.events import Kind
from fencepost.reference_impl.id_blocks.messages import (
    AllocateProducerIdsRequest,
    Block,
    ProducerIdsRecord,
    RequestBody,
)
from fencepost.reference_impl.id_blocks.metadata_log import MetadataLog
from fencepost.reference_impl.id_blocks.zookeeper import BlockLoop
from fencepost.reference_impl.simulation.defects import CONFORMANCE, PROGRESS, PROMISE, defect, plant


@defect("730.7", PROMISE)
class AnswersBeforeCommit(Controller):
    """Answers as soon as the record is appended: the KIP's words allow it, a fail-over punishes it (H11)."""

    def allocate(self, body: RequestBody) -> None:
        super().allocate(body)
        for grant, waiting, block in self.waiting:
            self.answer(waiting, block, grant)
        self.waiting.clear()


class Unchecked(Controller):
    """Not broken by itself: replays anything, so that a wrong record shows its effect and not a crash."""

    def replay(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id


@defect("730.8", PROMISE)
class NextIdNotAdvanced(Unchecked):
    """The record holds the block's start: the next caller gets the same block."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), next_producer_id=block.first)


@defect("730.7", PROMISE)
class AdvancedOneTooLittle(Unchecked):
    """The record holds the *last* id of the block, as 3.0 documented it: the next block overlaps by one."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), next_producer_id=block.last)


@defect("730.10", PROMISE)
class SnapshotOmitsNextId(Controller):
    """The snapshot says nothing of producer ids: after the log is truncated, ids begin at 0 again."""

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        return []


@defect("730.10", PROMISE)
class SnapshotWritesBlockStart(Controller):
    """The snapshot holds "the latest block", read as its start."""

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        start = max(0, next_free - self.env.config.block_size)
        return [ProducerIdsRecord(-1, -1, start)] if start else []


@defect("730.10", PROMISE)
class ForgetsLogBehindSnapshot(Unchecked):
    """A new leader loads the snapshot and stops there."""

    def become_active(self) -> None:
        super().become_active()
        self.next_producer_id = self.metadata_log.snapshot_next_id()


@defect("730.17", PROMISE)
class IdempotentPerBroker(Controller):
    """The rejected alternative, badly: remembers its last answer to each broker id and repeats it."""

    def __init__(self, env: Environment, node_id: int, metadata_log: MetadataLog) -> None:
        super().__init__(env, node_id, metadata_log)
        self.answered: dict[tuple[int, ...], tuple[Block, int]] = {}

    def key(self, body: RequestBody) -> tuple[int, ...]:
        """The key under which two requests count as one."""
        return (body.data.broker_id,)

    def allocate(self, body: RequestBody) -> None:
        earlier = self.answered.get(self.key(body))
        if earlier:
            super().answer(body, *earlier)
        else:
            super().allocate(body)

    def answer(self, body: RequestBody, block: Block, grant: int) -> None:
        self.answered[self.key(body)] = (block, grant)
        super().answer(body, block, grant)

    def forget(self) -> None:
        super().forget()
        self.answered.clear()


@defect("730.17", PROGRESS, "the broker refuses the repeated block (730.20), backs off, and gets the same block again")
class IdempotentPerBrokerEpoch(IdempotentPerBroker):
    """One block for each broker epoch: a restart gets fresh ids, but a broker never gets its second block."""

    def key(self, body: RequestBody) -> tuple[int, ...]:
        return (body.data.broker_id, body.data.broker_epoch)


@defect("730.17", CONFORMANCE, "no id twice, no broker stuck; but two requests are answered from one record")
class IdempotentPerRequest(IdempotentPerBroker):
    """The repaired form: only a second copy of one request gets the first one's answer."""

    def key(self, body: RequestBody) -> tuple[int, ...]:
        return (body.number,)


@defect(
    "730.18",
    CONFORMANCE,
    "a block given to a broker's earlier life is lost with its answer; with an answer cache ids come twice",
)
class StaleEpochAccepted(Controller):
    """Gives a block to every broker that asks, registered or not."""

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        return 0


@defect("730.18", CONFORMANCE)
class WrongErrorForStaleEpoch(Controller):
    """Says BROKER_ID_NOT_REGISTERED, ZooKeeper mode's code, where KRaft says STALE_BROKER_EPOCH."""

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        stale = super().check_broker_epoch(request)
        return ErrorCode.BROKER_ID_NOT_REGISTERED.value if stale else 0


@defect("730.16", PROMISE, max_id=100)
class NoExhaustionCheck(Unchecked):
    """Does not look for the end of the ids: the next one wraps and blocks come again from the beginning."""

    def allocate(self, body: RequestBody) -> None:
        if self.next_producer_id > self.env.config.max_id - self.env.config.block_size:
            self.next_producer_id = 0
        super().allocate(body)


@defect("730.4", PROMISE)
class LengthOneTooLong(Controller):
    """Answers with a length that counts one id of the next block."""

    def answer(self, body: RequestBody, block: Block, grant: int) -> None:
        super().answer(body, Block(block.first, block.length + 1), grant)


@defect("730.2", PROMISE, mode="bridge")
class ZkWriteIgnoresVersion(BlockNode):
    """A block node whose write ignores the version."""

    def write(self, data: str, version: int) -> bool:
        return super().write(data, self.version)


@defect("730.2", PROMISE, mode="bridge")
class ZkNoReread(BlockLoop):
    """After a lost write takes over the new version, but not the new data."""

    def reread_before_retry(self) -> None:
        if self.seen is not None:
            self.seen = (self.seen[0], self.node.version)


@defect("730.15", PROMISE, part="migrated_next_id", mode="bridge")
def migrates_from_block_start(latest: Block) -> int:
    """KRaft begins at the start of the block that ZooKeeper gave out last (730.15)."""
    return max(0, latest.first)


@defect("730.15", PROMISE, part="migrated_next_id", mode="bridge")
def migrates_from_inclusive_end(latest: Block) -> int:
    """KRaft begins at the last id of the block that ZooKeeper gave out last (730.15)."""
    return max(0, latest.last)


plant("migrates_before_upgrade", "730.14", PROMISE, parts={"migrates_early": True}, mode="bridge")


# controllers that take over, or lose office
@defect("730.8", PROMISE)
class OldMemoryTrusted(Unchecked):
    """A controller that was active before goes on from what it knew then (730.8)."""

    def become_active(self) -> None:
        if not self.next_producer_id:
            super().become_active()


@defect("730.7", PROMISE)
class LostRequestsAnsweredLater(Controller):
    """Requests whose records were lost with the leadership wait on, and are answered with the next commit (730.7)."""

    def forget(self) -> None:
        """What waits is still wanted."""


@defect("730.7", PROMISE)
class ResigningControllerAnswers(Controller):
    """A controller that loses office answers what waits there, record or no record (730.7)."""

    def forget(self) -> None:
        for grant, body, block in self.waiting:
            self.answer(body, block, grant)
        super().forget()


@defect("730.8", PROMISE)
class BlocksBeginAtMultiples(Unchecked):
    """Blocks are aligned: each begins at a multiple of its own length, also after blocks of another (730.8)."""

    def allocate(self, body: RequestBody) -> None:
        self.next_producer_id -= self.next_producer_id % self.block_size
        super().allocate(body)


@defect("730.10", PROMISE)
class SnapshotKeepsTheFirst(Unchecked):
    """The snapshot holds the first record of the log that it replaces, not the last (730.10)."""

    def take_snapshot(self) -> int:
        first = self.metadata_log.committed_records()[:1]
        next_free = first[0].next_producer_id if first else 0
        self.metadata_log.install_snapshot(self.snapshot_records(next_free))
        self.env.emit(Kind.SNAPSHOT_TAKEN, node=self.node_id, first=next_free)
        return next_free


# races on ZooKeeper's node
@defect("730.2", PROMISE, mode="bridge")
class LostRaceTakenForWon(BlockLoop):
    """A write that lost looks whether the node holds the block that it wanted, which it may have written itself before
    the connection broke; it does not look for whom (730.2)."""

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
    """The controller reads the block once, and from then on takes its own last one for the latest (730.13)."""

    last: Block | None = None

    def read(self) -> Block | None:
        block = super().read()
        if self.broker_id == NONE and self.last is not None and self.seen is not None:
            self.seen = self.last, self.seen[1]
            block = self.block_after(self.last)
        return block

    def write(self, taker: int, request: int) -> Block | None:
        written = super().write(taker, request)
        self.last = written or self.last
        return written


@defect("730.16", PROMISE, mode="bridge", max_id=100)
class BeginsAgainAtTheEnd(BlockLoop):
    """Behind the last block ZooKeeper's clients begin again with the first (730.16)."""

    def block_after(self, latest: Block) -> Block:
        block = super().block_after(latest)
        return block if block.first - 1 <= self.env.config.max_id - block.length else Block(0, block.length)
