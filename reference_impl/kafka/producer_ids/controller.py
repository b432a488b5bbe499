"""This module has a controller, which allocates blocks of ids by records of the metadata log, within a quota."""

from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    Block,
    IdRequestBody,
    IdResponseBody,
    ProducerIdsRecord,
)
from fencepost.reference_impl.kafka.producer_ids.environment import Environment, Kind, controller_name
from fencepost.reference_impl.simulation import Message, Node

# The metadata log: a snapshot, the records behind it, and how many of them a majority has.
#
# The quorum is modelled only as far as it matters to the protocol: records of a majority survive every failover, and
# records that only the leader (or a minority) has are lost with it. The log is also the audit log of blocks (730.9).

Entry = tuple[int, ProducerIdsRecord, Block]  # the grant's ordinal, the record, the block it persists


class MetadataLog:
    """A `MetadataLog` is a cluster's replicated log. Grants are numbered as appended, lost ones included."""

    __slots__ = ("_appended", "_committed", "_entries", "_snapshot")

    def __init__(self) -> None:
        self._snapshot: list[ProducerIdsRecord] = []
        self._entries: list[Entry] = []
        self._committed = 0
        self._appended = 0

    def append(self, record: ProducerIdsRecord, block: Block) -> int:
        grant = self._appended
        self._appended += 1
        self._entries.append((grant, record, block))
        return grant

    def commit(self, grant: int) -> list[Entry]:
        """Commit everything up to ``grant``, which a majority has now, and return the newly committed entries."""
        before = self._committed
        while self._committed < len(self._entries) and self._entries[self._committed][0] <= grant:
            self._committed += 1
        return self._entries[before : self._committed]

    def last_grant(self) -> int:
        return self._entries[-1][0] if self._entries else -1

    def lose_uncommitted(self) -> int:
        """Drop the uncommitted records, because the leader died, and return their number."""
        lost = len(self._entries) - self._committed
        del self._entries[self._committed :]
        return lost

    def committed_records(self) -> list[ProducerIdsRecord]:
        """Return the records that a new leader replays: the snapshot, then every committed record behind it."""
        return self._snapshot + [record for _, record, _ in self._entries[: self._committed]]

    def committed_next_id(self) -> int:
        """Return the next free id of the committed state, or 0 if no block was ever committed."""
        records = self.committed_records()
        return records[-1].next_producer_id if records else 0

    def snapshot_next_id(self) -> int:
        """Return the next free id of the snapshot alone, or 0 if it has none."""
        return self._snapshot[-1].next_producer_id if self._snapshot else 0

    def install_snapshot(self, records: list[ProducerIdsRecord]) -> None:
        """Replace everything committed by ``records``. Uncommitted records stay in the log."""
        self._snapshot = records
        del self._entries[: self._committed]
        self._committed = 0

    def audit(self) -> list[ProducerIdsRecord]:
        """Return the committed records not yet in a snapshot, with the broker that got each block."""
        return [record for _, record, _ in self._entries[: self._committed]]


# The throttle on AllocateProducerIds (730.6): a token bucket per broker, in virtual time.
#
# As everywhere in Kafka the controller never delays a request itself. It answers with the milliseconds for which the
# caller must send nothing. One second's worth of requests may come in a burst.


class Quota:
    """A `Quota` allows ``per_second`` requests per broker. 0 means no limit, which is Kafka's default."""

    __slots__ = ("_full_at", "_per_second")

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._full_at: dict[int, float] = {}  # broker -> virtual us at which its bucket will be full again

    def throttle_ms(self, broker_id: int, now_us: int) -> int:
        """Count one request of the broker and return the milliseconds to wait, 0 within the quota."""
        if self._per_second <= 0:
            return 0
        full_at = max(self._full_at.get(broker_id, 0.0), float(now_us)) + 1_000_000 / self._per_second
        self._full_at[broker_id] = full_at
        overdrawn_us = full_at - now_us - 1_000_000
        return max(0, -int(-overdrawn_us // 1000))


# The KRaft controller: computes the next block from memory, commits its record, and only then answers.
#
# `Controller`, read from top to bottom, is the controller's half of KIP-730 (ControllerApis.scala,
# ProducerIdControlManager.java): check the caller, check exhaustion, append, replay into memory, wait for the commit,
# answer. `BaseController` has what the ZooKeeper-mode controller does alike: the checks and the refusals.

NONE = -1


class BaseController(Node):
    """A `BaseController` is what both controllers share: the checks before a block is made, and the answers."""

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
        body: IdRequestBody = message.body
        error = self.check(body.data)
        if error:
            self.refuse(body, error)
        else:
            self.allocate(body)

    def check(self, request: AllocateProducerIdsRequest) -> int:
        """Return the error for this request in Kafka's order of checks, or 0 for none (730.5, 730.18)."""
        if request.broker_id in self.env.without_cluster_action:
            return IdErrorCode.CLUSTER_AUTHORIZATION_FAILED
        if not self.is_active:
            return IdErrorCode.NOT_CONTROLLER
        return self.check_broker_epoch(request)

    def check_broker_epoch(self, request: AllocateProducerIdsRequest) -> int:
        """Return error 77 for an unknown broker and for a wrong epoch, as KRaft does, or 0."""
        known = self.env.registered.get(request.broker_id, NONE) == request.broker_epoch
        return 0 if known else IdErrorCode.STALE_BROKER_EPOCH

    def allocate(self, body: IdRequestBody) -> None:
        raise NotImplementedError(f"{type(self).__name__} must say where blocks come from: override allocate()")

    def refuse(self, body: IdRequestBody, error: int) -> None:
        broker_id = body.data.broker_id
        self.env.emit(Kind.REQUEST_REFUSED, node=self.node_id, request=body.number, broker=broker_id, error=error)
        self.env.emit(Kind.ANSWER_SENT, node=self.node_id, request=body.number, broker=broker_id, error=error)
        self.respond(body, AllocateProducerIdsResponse(self.throttle(body), error), NONE)

    def answer(self, body: IdRequestBody, block: Block, grant: int) -> None:
        """Send the block: its start, inclusive, and its length (730.4)."""
        broker_id = body.data.broker_id
        response = AllocateProducerIdsResponse(self.throttle(body), 0, block.first, block.length)
        self.env.emit(
            Kind.ANSWER_SENT, node=self.node_id, request=body.number, broker=broker_id, grant=grant,
            first=response.producer_id_start, length=response.producer_id_len,
        )  # fmt: skip
        self.respond(body, response, grant)

    def throttle(self, body: IdRequestBody) -> int:
        """Return the milliseconds for which the broker must delay its next request (730.6)."""
        return self.quota.throttle_ms(body.data.broker_id, self.kernel.now)

    def respond(self, body: IdRequestBody, response: AllocateProducerIdsResponse, grant: int) -> None:
        target = f"broker-{body.data.broker_id}"
        self.env.network.send("response", self.name, target, IdResponseBody(body.number, response, grant))


class Controller(BaseController):
    """A `Controller` is one KRaft controller node. It is single-threaded: every method runs to its end before the next
    event (730.8). ``next_producer_id`` includes records not yet committed, and is lost together with them when the
    leadership is."""

    __slots__ = ("block_size", "metadata_log", "next_producer_id", "waiting")

    def __init__(self, env: Environment, node_id: int, metadata_log: MetadataLog) -> None:
        super().__init__(env, node_id)
        self.metadata_log = metadata_log
        self.next_producer_id = 0
        self.block_size = env.config.block_size
        self.waiting: list[tuple[int, IdRequestBody, Block]] = []  # answers that wait for their record's commit

    def allocate(self, body: IdRequestBody) -> None:
        """Allocate the next block from memory: append a record now, and answer after its commit (730.7)."""
        first = self.next_producer_id
        if (
            first > self.env.config.max_id - self.block_size
        ):  # the FIRST id of the next block decides; ZooKeeper mode differs
            self.refuse(body, IdErrorCode.UNKNOWN_SERVER_ERROR)
            return
        block = Block(first, self.block_size)
        grant = self.append(body, block)
        self.waiting.append((grant, body, block))
        self.env.pace.commit_later(self, self.commit, grant)

    def append(self, body: IdRequestBody, block: Block) -> int:
        """Append the record and replay it at once, because the next request must see it, committed or not."""
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
        """Return the block's record, which has the first id *after* the block."""
        return ProducerIdsRecord(request.broker_id, request.broker_epoch, block.next_first)

    def replay(self, record: ProducerIdsRecord) -> None:
        """Apply a record from the log or a snapshot. Raise RuntimeError if ids would go backwards."""
        if record.next_producer_id <= self.next_producer_id:
            raise RuntimeError(
                f"controller {self.node_id}: replaying {record} with next producer id {self.next_producer_id}: "
                f"ids must increase, or blocks would be handed out again; the metadata log is damaged"
            )
        self.next_producer_id = record.next_producer_id

    def commit(self, grant: int) -> None:
        """Commit everything up to the record ``grant`` and answer every broker that waited for it."""
        for committed, record, block in self.metadata_log.commit(grant):
            self.env.emit(
                Kind.BLOCK_COMMITTED, grant=committed, first=block.first, length=block.length,
                broker=record.broker_id, broker_epoch=record.broker_epoch,
            )  # fmt: skip
        while self.waiting and self.waiting[0][0] <= grant:
            done, body, block = self.waiting.pop(0)
            self.answer(body, block, done)

    def forget(self) -> None:
        """Drop the waiting requests, which are never answered, because the leadership is lost."""
        self.waiting.clear()

    def become_active(self) -> None:
        """Rebuild memory from the snapshot and the committed records behind it, and from nothing else."""
        self.next_producer_id, self.block_size = 0, self.env.config.block_size
        for record in self.metadata_log.committed_records():
            self.replay(record)

    def take_snapshot(self) -> int:
        """Write the committed state as one record, drop the log before it, and return the next free id (730.10)."""
        next_free = self.metadata_log.committed_next_id()
        self.metadata_log.install_snapshot(self.snapshot_records(next_free))
        self.env.emit(Kind.SNAPSHOT_TAKEN, node=self.node_id, first=next_free)
        return next_free

    def snapshot_records(self, next_free: int) -> list[ProducerIdsRecord]:
        """Return the records of producer ids in a snapshot, none if no id was ever allocated."""
        return [ProducerIdsRecord(NONE, NONE, next_free)] if next_free else []
