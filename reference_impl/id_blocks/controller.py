"""The KRaft controller: computes the next block from memory, commits its record, and only then answers.

Read `Controller` from top to bottom and you have read the controller's half of KIP-730 (ControllerApis.scala,
ProducerIdControlManager.java): check the caller, check exhaustion, append, replay into memory, wait for the commit,
answer. `BaseController` holds what the ZooKeeper-mode controller does alike: who may ask, how it is told no.
"""

from fencepost.reference_impl.id_blocks.environment import Environment, controller_name
from fencepost.reference_impl.id_blocks.errors import ErrorCode
from fencepost.reference_impl.id_blocks.events import Kind
from fencepost.reference_impl.id_blocks.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    Block,
    ProducerIdsRecord,
    RequestBody,
    ResponseBody,
)
from fencepost.reference_impl.id_blocks.metadata_log import MetadataLog
from fencepost.reference_impl.id_blocks.quota import Quota
from fencepost.reference_impl.simulation import Message, Node

NONE = -1


class BaseController(Node):
    """The part that both controllers share: the checks before a block is made, and the answers."""

    __slots__ = ("env", "node_id", "quota")

    def __init__(self, env: Environment, node_id: int) -> None:
        super().__init__(controller_name(node_id), env.kernel)
        self.env = env
        self.node_id = node_id
        self.quota = Quota(env.config.quota_per_second)

    @property
    def is_active(self) -> bool:
        return self.env.active_controller == self.node_id

    def receive(self, message: Message) -> None:
        body: RequestBody = message.body
        error = self.check(body.data)
        if error:
            self.refuse(body, error)
        else:
            self.allocate(body)

    def check(self, request: AllocateProducerIdsRequest) -> int:
        """The error that this request deserves, in Kafka's order of checks; 0 for none (730.5, 730.18)."""
        if request.broker_id in self.env.without_cluster_action:
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED.value
        if not self.is_active:
            return ErrorCode.NOT_CONTROLLER.value
        return self.check_broker_epoch(request)

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        """KRaft says 77 for an unknown broker and for a wrong epoch alike."""
        known = self.env.registered.get(request.broker_id, NONE) == request.broker_epoch
        return 0 if known else ErrorCode.STALE_BROKER_EPOCH.value

    def allocate(self, body: RequestBody) -> None:
        """Make a block for a request that passed the checks."""
        raise NotImplementedError(f"{type(self).__name__} must say where blocks come from: override allocate()")

    def refuse(self, body: RequestBody, error: int) -> None:
        broker_id = body.data.broker_id
        self.env.emit(Kind.REQUEST_REFUSED, node=self.node_id, request=body.number, broker=broker_id, error=error)
        self.env.emit(Kind.ANSWER_SENT, node=self.node_id, request=body.number, broker=broker_id, error=error)
        self.respond(body, AllocateProducerIdsResponse(self.throttle(body), error), NONE)

    def answer(self, body: RequestBody, block: Block, grant: int) -> None:
        """Send the block: its start, inclusive, and its length (730.4)."""
        broker_id = body.data.broker_id
        response = AllocateProducerIdsResponse(self.throttle(body), 0, block.first, block.length)
        self.env.emit(
            Kind.ANSWER_SENT, node=self.node_id, request=body.number, broker=broker_id, grant=grant,
            first=response.producer_id_start, length=response.producer_id_len,
        )  # fmt: skip
        self.respond(body, response, grant)

    def throttle(self, body: RequestBody) -> int:
        """Milliseconds for which the broker must hold its next request back (730.6)."""
        return self.quota.throttle_ms(body.data.broker_id, self.kernel.now)

    def respond(self, body: RequestBody, response: AllocateProducerIdsResponse, grant: int) -> None:
        target = f"broker-{body.data.broker_id}"
        self.env.network.send("response", self.name, target, ResponseBody(body.number, response, grant))


class Controller(BaseController):
    """One KRaft controller node. Single-threaded: every method runs to its end before the next event (730.8).

    `next_producer_id` includes records not yet committed; losing leadership throws it away together with them.
    """

    __slots__ = ("block_size", "metadata_log", "next_producer_id", "waiting")

    def __init__(self, env: Environment, node_id: int, metadata_log: MetadataLog) -> None:
        super().__init__(env, node_id)
        self.metadata_log = metadata_log
        self.next_producer_id = 0
        self.block_size = env.config.block_size
        self.waiting: list[tuple[int, RequestBody, Block]] = []  # answers that wait for their record's commit

    def allocate(self, body: RequestBody) -> None:
        """The next block, from what is in memory: a record now, the answer after its commit (730.7)."""
        first = self.next_producer_id
        if (
            first > self.env.config.max_id - self.block_size
        ):  # the FIRST id of the next block decides; ZooKeeper mode differs
            self.refuse(body, ErrorCode.UNKNOWN_SERVER_ERROR.value)
            return
        block = Block(first, self.block_size)
        grant = self.append(body, block)
        self.waiting.append((grant, body, block))
        self.env.pace.commit_later(self, self.commit, grant)

    def append(self, body: RequestBody, block: Block) -> int:
        """Append the record and replay it at once: the next request must see it, committed or not."""
        request = body.data
        record = self.record_for(request, block)
        grant = self.metadata_log.append(record, block)
        self.replay(record)
        self.env.emit(
            Kind.BLOCK_RECORDED, node=self.node_id, request=body.number, broker=request.broker_id,
            broker_epoch=request.broker_epoch, grant=grant, first=block.first, length=block.length,
        )  # fmt: skip
        return grant

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        """The record names the first id *after* the block."""
        return ProducerIdsRecord(request.broker_id, request.broker_epoch, block.next_first)

    def replay(self, record: ProducerIdsRecord) -> None:
        """Apply a record, from the log or a snapshot. Raises RuntimeError if ids would go backwards."""
        if record.next_producer_id <= self.next_producer_id:
            raise RuntimeError(
                f"controller {self.node_id}: replaying {record} with next producer id {self.next_producer_id}: "
                f"ids must increase, or blocks would be handed out again; the metadata log is damaged"
            )
        self.next_producer_id = record.next_producer_id

    def commit(self, grant: int) -> None:
        """A majority has everything up to the record `grant`: tell everyone who waited for it."""
        for committed, record, block in self.metadata_log.commit(grant):
            self.env.emit(
                Kind.BLOCK_COMMITTED, grant=committed, first=block.first, length=block.length,
                broker=record.broker_id, broker_epoch=record.broker_epoch,
            )  # fmt: skip
        while self.waiting and self.waiting[0][0] <= grant:
            done, body, block = self.waiting.pop(0)
            self.answer(body, block, done)

    def forget(self) -> None:
        """Leadership lost: requests that wait here are never answered."""
        self.waiting.clear()

    def become_active(self) -> None:
        """Rebuild memory from the snapshot and the committed records behind it, and from nothing else."""
        self.next_producer_id, self.block_size = 0, self.env.config.block_size
        for record in self.metadata_log.committed_records():
            self.replay(record)

    def take_snapshot(self) -> int:
        """Write the committed state as one record, drop the log before it; returns the next free id (730.10)."""
        next_free = self.metadata_log.committed_next_id()
        self.metadata_log.install_snapshot(self.snapshot_records(next_free))
        self.env.emit(Kind.SNAPSHOT_TAKEN, node=self.node_id, first=next_free)
        return next_free

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        """The records of producer ids in a snapshot: none if no id was ever given out."""
        return [ProducerIdsRecord(NONE, NONE, next_free)] if next_free else []
