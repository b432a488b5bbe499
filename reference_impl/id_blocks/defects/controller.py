"""Controllers and ZooKeeper clients with one thing wrong each. `broken.py` says what each of them breaks."""

from dataclasses import replace

from fencepost.reference_impl.id_blocks.block_node import BlockNode
from fencepost.reference_impl.id_blocks.controller import Controller
from fencepost.reference_impl.id_blocks.environment import Environment
from fencepost.reference_impl.id_blocks.errors import ErrorCode
from fencepost.reference_impl.id_blocks.messages import (
    AllocateProducerIdsRequest,
    Block,
    ProducerIdsRecord,
    RequestBody,
)
from fencepost.reference_impl.id_blocks.metadata_log import MetadataLog
from fencepost.reference_impl.id_blocks.zookeeper import BlockLoop


class Unchecked(Controller):
    """Not broken by itself: replays anything, so that a wrong record shows its effect and not a crash."""

    def replay(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id


class AnswersBeforeCommit(Controller):
    """Answers as soon as the record is appended: the KIP's words allow it, a fail-over punishes it (H11)."""

    def allocate(self, body: RequestBody) -> None:
        super().allocate(body)
        for grant, waiting, block in self.waiting:
            self.answer(waiting, block, grant)
        self.waiting.clear()


class NextIdNotAdvanced(Unchecked):
    """The record holds the block's start: the next caller gets the same block."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), next_producer_id=block.first)


class AdvancedOneTooLittle(Unchecked):
    """The record holds the *last* id of the block, as 3.0 documented it: the next block overlaps by one."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), next_producer_id=block.last)


class SnapshotOmitsNextId(Controller):
    """The snapshot says nothing of producer ids: after the log is truncated, ids begin at 0 again."""

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        return []


class SnapshotWritesBlockStart(Controller):
    """The snapshot holds "the latest block", read as its start."""

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        start = max(0, next_free - self.env.config.block_size)
        return [ProducerIdsRecord(-1, -1, start)] if start else []


class ForgetsTheLogBehindTheSnapshot(Unchecked):
    """A new leader loads the snapshot and stops there."""

    def become_active(self) -> None:
        super().become_active()
        self.next_producer_id = self.metadata_log.snapshot_next_id()


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


class IdempotentPerBrokerEpoch(IdempotentPerBroker):
    """One block for each broker epoch: a restart gets fresh ids, but a broker never gets its second block."""

    def key(self, body: RequestBody) -> tuple[int, ...]:
        return (body.data.broker_id, body.data.broker_epoch)


class IdempotentPerRequest(IdempotentPerBroker):
    """The repaired form: only a second copy of one request gets the first one's answer."""

    def key(self, body: RequestBody) -> tuple[int, ...]:
        return (body.number,)


class StaleEpochAccepted(Controller):
    """Gives a block to every broker that asks, registered or not."""

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        return 0


class WrongErrorForStaleEpoch(Controller):
    """Says BROKER_ID_NOT_REGISTERED, ZooKeeper mode's code, where KRaft says STALE_BROKER_EPOCH."""

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        stale = super().check_broker_epoch(request)
        return ErrorCode.BROKER_ID_NOT_REGISTERED.value if stale else 0


class NoExhaustionCheck(Unchecked):
    """Does not look for the end of the ids: the next one wraps and blocks come again from the beginning."""

    def allocate(self, body: RequestBody) -> None:
        if self.next_producer_id > self.env.config.max_id - self.env.config.block_size:
            self.next_producer_id = 0
        super().allocate(body)


class LengthOneTooLong(Controller):
    """Answers with a length that counts one id of the next block."""

    def answer(self, body: RequestBody, block: Block, grant: int) -> None:
        super().answer(body, Block(block.first, block.length + 1), grant)


class UnconditionalNode(BlockNode):
    """A block node whose write ignores the version."""

    def write(self, data: str, version: int) -> bool:
        return super().write(data, self.version)


class NoReread(BlockLoop):
    """After a lost write takes over the new version, but not the new data."""

    def reread_before_retry(self) -> None:
        if self.seen is not None:
            self.seen = (self.seen[0], self.node.version)
