"""This module has a broker, which hands out ids from its block and requests the next block in time."""

from collections.abc import Callable
from typing import Protocol

from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import (
    AllocateProducerIdsRequest,
    Block,
    IdRequestBody,
    IdResponseBody,
    empty_block,
)
from fencepost.reference_impl.kafka.producer_ids.environment import ACTIVE_CONTROLLER, Environment, Kind
from fencepost.reference_impl.simulation import Message, Node

# A broker gets its ids over the RPC (`broker.ProducerIds`) or straight from ZooKeeper (`zookeeper.DirectProducerIds`).
# An upgrade replaces the one by the other, and a broken implementation is a third source.


class IdSource(Protocol):
    """An `IdSource` is the supply of producer ids in one life of a broker."""

    def claim(self) -> int:
        """Return the next id, or -1 if none is available, and then request a block. This never blocks."""

    def after_claim(self, producer_id: int) -> None:
        """Prefetch a block, if it is time, after an id has been handed out."""

    def answer(self, body: IdResponseBody) -> None:
        """Handle an answer of the controller."""

    def step(self) -> bool:
        """Run the next ZooKeeper operation. Return False if there is none."""


SourceFactory = Callable[[Environment, "Broker"], IdSource]


# The broker: hands ids to clients out of its block, and fetches the next block before this one is used up.
#
# `ProducerIds`, read from top to bottom, is the broker's half of KIP-730 (RPCProducerIdManager.java): claim, prefetch,
# ask once at a time, wait after failures, and take only a sane answer to the outstanding request. There is no timer for
# retries: a broker asks when a client does.

NONE = -1
INSTALLS_PER_DEMAND = 4  # blocks of length 0 may come; do not loop over them for ever


class ProducerIds:
    """The `ProducerIds` are a broker's current block, its prefetched one, and at most one outstanding request."""

    def __init__(self, env: Environment, broker: "Broker") -> None:
        self.env = env
        self.broker = broker
        self.current = empty_block()
        self.prefetched: Block | None = None
        self.request_in_flight = False  # from sending until the block is *installed*: that stops a second prefetch
        self.outstanding = NONE  # correlation number of the request whose answer may be taken
        self.backoff_until = NONE
        self.throttled_until = NONE
        self.prefetch_at = NONE

    def claim(self) -> int:
        for _ in range(INSTALLS_PER_DEMAND):
            producer_id = self.current.claim()
            if producer_id != NONE:
                return producer_id
            if self.prefetched is None:
                self.request_block()
                return NONE
            self.install(self.prefetched)
        return NONE

    def after_claim(self, producer_id: int) -> None:
        if producer_id == self.prefetch_at:
            self.request_block()

    def install(self, block: Block) -> None:
        """Make the block the current one (730.12). Only then may another be requested."""
        self.prefetched = None
        self.current = block
        self.request_in_flight = False
        share = self.env.config.prefetch
        self.prefetch_at = block.first + int(block.length * share) if share else NONE
        self.env.emit(Kind.BLOCK_INSTALLED, broker=self.broker.broker_id, first=block.first, length=block.length)

    def request_block(self) -> None:
        """Request a block, unless one is available or requested, or it is too early to ask again (730.5, 730.6)."""
        if self.prefetched is not None or self.request_in_flight or not self.may_ask_again():
            return
        self.request_in_flight = True
        self.send_request()

    def may_ask_again(self) -> bool:
        now = self.env.kernel.now
        if now < self.throttled_until or now < self.backoff_until:
            return False
        if self.backoff_until != NONE:
            self.backoff_until = NONE
            self.env.emit(Kind.BACKOFF_OVER, broker=self.broker.broker_id)
        return True

    def send_request(self) -> None:
        broker, number = self.broker, self.env.next_request()
        self.outstanding = number
        request = AllocateProducerIdsRequest(broker.broker_id, broker.epoch)
        self.env.emit(Kind.REQUEST_SENT, request=number, broker=broker.broker_id, broker_epoch=broker.epoch)
        self.env.network.send("request", broker.name, broker.controller_address, IdRequestBody(number, request))
        broker.after(self.env.config.request_timeout_ms * 1000, self.time_out, number)

    def answer(self, body: IdResponseBody) -> None:
        """Take the block in the answer (730.11: without waiting for its record), or back off (730.5)."""
        emit, broker_id, data = self.env.emit, self.broker.broker_id, body.data
        if not self.is_outstanding(body.number):
            emit(Kind.ANSWER_DROPPED, request=body.number, broker=broker_id, error=data.error_code)
            return
        self.outstanding = NONE
        if data.throttle_time_ms:
            self.throttled_until = self.env.kernel.now + data.throttle_time_ms * 1000
        start, length = data.producer_id_start, data.producer_id_len
        if data.error_code:
            emit(Kind.ANSWER_FAILED, request=body.number, broker=broker_id, error=data.error_code)
            self.back_off()
            self.broker.learn_from(data.error_code)
        elif self.is_sane(start, length):
            emit(Kind.ANSWER_TAKEN, -1, broker_id, -1, body.number, body.grant, start, length)
            self.take(Block(start, length))
        else:
            emit(Kind.ANSWER_REFUSED, -1, broker_id, -1, body.number, body.grant, start, length)
            self.back_off()

    def is_outstanding(self, number: int) -> bool:
        """Return whether the answer is the awaited one, which counts only once (730.19)."""
        return number == self.outstanding

    def is_sane(self, start: int, length: int) -> bool:
        """Return False for a block that is malformed or does not lie above every id of the broker (730.20)."""
        return start > self.current.last and start >= 0 and length >= 0 and start <= self.env.config.max_id - length

    def take(self, block: Block) -> None:
        self.prefetched = block

    def back_off(self) -> None:
        self.backoff_until = self.env.kernel.now + self.env.config.backoff_ms * 1000
        self.request_in_flight = False

    def time_out(self, number: int) -> None:
        """Give up a request without an answer. Its block, if one was recorded, is lost (730.7)."""
        if number == self.outstanding:
            self.outstanding = NONE
            self.request_in_flight = False
            self.broker.find_controller()
            self.env.emit(Kind.REQUEST_TIMED_OUT, request=number, broker=self.broker.broker_id)

    def step(self) -> bool:
        return False


class Broker(Node):
    """A `Broker` is a broker process, which registers, answers clients, and loses all its ids when it stops (730.3)."""

    __slots__ = ("broker_id", "controller_address", "env", "ids", "new_source")

    def __init__(self, env: Environment, broker_id: int, new_source: SourceFactory) -> None:
        super().__init__(f"broker-{broker_id}", env.kernel)
        self.env = env
        self.broker_id = broker_id
        self.new_source = new_source
        self.start()

    @property
    def epoch(self) -> int:
        """Return the broker epoch of this life. Every registration gets a higher one."""
        return self.incarnation

    def start(self) -> None:
        self.env.registered[self.broker_id] = self.epoch
        self.find_controller()
        self.env.emit(Kind.BROKER_STARTED, broker=self.broker_id, broker_epoch=self.epoch)
        self.ids: IdSource = self.new_source(self.env, self)

    def init_producer_id(self) -> tuple[int, int]:
        """Answer a client's InitProducerId with (0, producer id) or (error, -1). This never blocks."""
        if not self.running:
            return IdErrorCode.NETWORK_EXCEPTION, NONE
        producer_id = self.ids.claim()
        if producer_id == NONE:
            error = IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            self.env.emit(Kind.ID_REFUSED, broker=self.broker_id, error=error)
            return error, NONE
        self.env.emit(Kind.ID_HANDED_OUT, broker=self.broker_id, producer_id=producer_id)
        self.ids.after_claim(producer_id)
        return 0, producer_id

    def receive(self, message: Message) -> None:
        self.ids.answer(message.body)

    def learn_from(self, error: int) -> None:
        """Look for the controller again, or terminate (KIP, not shipped), if the error demands it."""
        if error == IdErrorCode.NOT_CONTROLLER:
            self.find_controller()
        elif error == IdErrorCode.CLUSTER_AUTHORIZATION_FAILED and self.env.config.authorization_error == "fatal":
            self.crash()

    def find_controller(self) -> None:
        """Learn the active controller's address. How brokers find it out is not part of this protocol."""
        at_delivery = self.env.config.controller_discovery == "at_delivery"
        self.controller_address = ACTIVE_CONTROLLER if at_delivery else self.env.active_controller_name()

    def forget(self) -> None:
        self.env.emit(Kind.BROKER_STOPPED, broker=self.broker_id)

    def restart(self) -> None:
        super().restart()
        self.start()
