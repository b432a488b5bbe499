"""This module has producer ids before KIP-730, in a ZooKeeper node that brokers write, and the bridge from it."""

import json

from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import (
    AllocateProducerIdsRequest,
    Block,
    IdRequestBody,
    IdResponseBody,
    empty_block,
)
from fencepost.reference_impl.kafka.producer_ids.broker import Broker
from fencepost.reference_impl.kafka.producer_ids.controller import BaseController
from fencepost.reference_impl.kafka.producer_ids.environment import Environment, Kind

# ZooKeeper's /latest_producer_id_block: one node with a version, and the JSON in it.
#
# The convention differs here from everywhere else: the block's end is *inclusive*, and the node stores the block in
# use, not the next free id. A migration away from ZooKeeper must add one (730.15).


class BlockNode:
    """A `BlockNode` is ZooKeeper's /latest_producer_id_block, whose writes name the version that they replace."""

    def __init__(self) -> None:
        self.data = ""
        self.version = 0

    def read(self) -> tuple[str, int]:
        return self.data, self.version

    def write(self, data: str, version: int) -> bool:
        """Run the conditional setData (730.2). Return False if ``version`` is not the current one."""
        if version != self.version:
            return False
        self.data = data
        self.version += 1
        return True


def encode(broker_id: int, block: Block) -> str:
    """Return the node's JSON with an *inclusive* end (ProducerIdBlockZNode, ZkData.scala until 3.9)."""
    return json.dumps(
        {"version": 1, "broker": broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    )


def decode(data: str) -> tuple[int, Block]:
    """Return (broker that took it, block), or (-1, the empty block) while the node is empty."""
    if not data:
        return -1, empty_block()
    fields = json.loads(data)
    start, end = int(fields["block_start"]), int(fields["block_end"])
    return fields["broker"], Block(start, end - start + 1)


# Producer id blocks in ZooKeeper: the compare-and-set loop, and the two that run it.
#
# Before KIP-730 every broker takes blocks here by itself (`DirectProducerIds`, ProducerIdManager.scala until 3.9); with
# it, in ZooKeeper mode, the controller does so for them (`ZkController`, KafkaController.scala until 3.9). Both end in
# the same conditional write, so they may be mixed during a rolling upgrade (730.13). Every read and write is one step,
# so that a driver can put anything between them.

NONE = -1


class BlockLoop:
    """A `BlockLoop` is KIP-730's loop: read, then write on that version, until a write wins."""

    def __init__(self, env: Environment, node: BlockNode, broker_id: int) -> None:
        self.env = env
        self.node = node
        self.broker_id = broker_id  # -1: the controller, on behalf of brokers
        self.seen: tuple[Block, int] | None = None  # the latest block and the node's version, as read

    def read(self) -> Block | None:
        """Read the node and return the block to take, or None if the ids are exhausted."""
        data, version = self.node.read()
        _, latest = decode(data)
        self.seen = latest, version
        block = self.block_after(latest)
        self.env.emit(Kind.ZK_READ, broker=self.broker_id, first=block.first)
        config = self.env.config
        if block.first - 1 > config.max_id - config.block_size:  # the LAST id of the present block; KRaft differs
            self.seen = None
            return None
        return block

    def block_after(self, latest: Block) -> Block:
        """Return the block to take after ``latest``. The first block starts at 0."""
        return Block(latest.last + 1, self.env.config.block_size)

    def write(self, taker: int, request: int) -> Block | None:
        """Write the next block for broker ``taker`` and return it, or None if another write was first."""
        assert self.seen is not None, "write() without read(): the version to write on is not known"
        latest, version = self.seen
        block = self.block_after(latest)
        if self.node.write(encode(taker, block), version):
            self.seen = None
            self.env.emit(
                Kind.ZK_WRITTEN, broker=self.broker_id, request=request, first=block.first, length=block.length
            )
            return block
        self.reread_before_retry()
        self.env.emit(Kind.ZK_CONFLICT, broker=self.broker_id, request=request)
        return None

    def reread_before_retry(self) -> None:
        """Forget what was read, because another write came first and the node must be read again."""
        self.seen = None


class DirectProducerIds:
    """The `DirectProducerIds` are one block straight from ZooKeeper, taken at the start and after use."""

    def __init__(self, env: Environment, broker: Broker, loop: BlockLoop) -> None:
        self.env = env
        self.broker = broker
        self.loop = loop
        self.current = empty_block()
        self.allocating = False
        self.allocate()

    def allocate(self) -> None:
        """Begin to take a block. Released Kafka blocks clients here, which this refuses instead."""
        if not self.allocating:
            self.allocating = True
            self.env.pace.zookeeper_later(self.broker, self.step_later)

    def claim(self) -> int:
        producer_id = self.current.claim()
        if producer_id == NONE:
            self.allocate()
        return producer_id

    def after_claim(self, producer_id: int) -> None:
        """There is no prefetching in this mode."""

    def answer(self, body: IdResponseBody) -> None:
        """Drop an answer to the RPC of an earlier life."""
        self.env.emit(
            Kind.ANSWER_DROPPED, request=body.number, broker=self.broker.broker_id, error=body.data.error_code
        )

    def step(self) -> bool:
        """Read, or write on what was read. Return False if no block is needed or the broker is gone."""
        if not self.allocating or self.broker.ids is not self or not self.broker.running:
            return False
        if self.loop.seen is None:
            if self.loop.read() is None:
                self.allocating = False  # exhausted: an error to the client, who may ask again
                return True
        elif (block := self.loop.write(self.broker.broker_id, NONE)) is not None:
            self.current = block
            self.allocating = False
            return True
        self.env.pace.zookeeper_later(self.broker, self.step_later)
        return True

    def step_later(self, _: object) -> None:
        self.step()


class ZkController(BaseController):
    """A `ZkController` is the ZooKeeper-mode controller behind the RPC, with one request at a time."""

    __slots__ = ("loop", "requests")

    def __init__(self, env: Environment, node_id: int, loop: BlockLoop) -> None:
        super().__init__(env, node_id)
        self.loop = loop
        self.requests: list[IdRequestBody] = []

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        """Return error 102 for an unknown broker, 77 for a wrong epoch, or 0."""
        if request.broker_id not in self.env.registered:
            return IdErrorCode.BROKER_ID_NOT_REGISTERED
        return super().check_broker_epoch(request)

    def allocate(self, body: IdRequestBody) -> None:
        self.requests.append(body)
        if len(self.requests) == 1:
            self.env.pace.zookeeper_later(self, self.step_later)

    def step(self) -> bool:
        """Run the next read or write for the oldest request. Return False if no request waits."""
        if not self.requests or not self.is_active:
            return False
        body = self.requests[0]
        # Shipped, check and write are one event of the controller's only thread, and no registration comes in between.
        # Here anything can, so the caller is checked again before each operation.
        if error := self.check(body.data):
            self.requests.pop(0)
            self.refuse(body, error)
        elif self.loop.seen is None:
            if self.loop.read() is None:
                self.requests.pop(0)
                self.refuse(body, IdErrorCode.UNKNOWN_SERVER_ERROR)
        elif (block := self.loop.write(body.data.broker_id, body.number)) is not None:
            self.requests.pop(0)
            self.answer(body, block, NONE)
        if self.requests:
            self.env.pace.zookeeper_later(self, self.step_later)
        return True

    def step_later(self, _: object) -> None:
        self.step()

    def forget(self) -> None:
        self.requests.clear()
        self.loop.seen = None
