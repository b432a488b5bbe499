"""This module has the nodes at which a client's request leaves the simulated network for a broker, and its answer
returns.

A request that the driver delivers to `coordinator` or `partition-N` is carried over TCP at once. The answer is put in
flight under the name that the reference implementation's nodes have, so that the driver decides about it as about any
other message.

A request whose connection breaks, or that is not answered in time, stays unanswered: it may have been carried out, and
the client's own time-out handles this. The same holds for a broker that is down. (Kafka's client learns of a broken
connection at once and asks again at once; the outcome is the same, a retry under a new number.)
"""

from collections.abc import Callable
from typing import Any

from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import ProduceRequest, RequestBody, ResponseBody, TxnOffsetCommitRequest
from fencepost.reference_impl.live.tcp.brokers import GROUP, TRANSACTION, Brokers
from fencepost.reference_impl.live.tcp.connection import NoAnswer
from fencepost.reference_impl.live.tcp.reading import Patience
from fencepost.reference_impl.live.transactions.requests import Answer, Codec
from fencepost.reference_impl.simulation import Message, Network

# After these errors another node may be the one to ask.
MOVED = frozenset({
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
})  # fmt: skip
# These errors only mean "try again"; how often they occur depends on what a broker is busy with.
BUSY = MOVED | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.CONCURRENT_TRANSACTIONS,
}  # fmt: skip
# These errors include those that only brokers get from each other.
TRY_AGAIN = BUSY | {ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
COLLAPSED_S = 5.0  # how long a node goes on trying before it lets the client know


class Line:
    """A `Line` is one system's way to the brokers. With ``collapse``, a request whose answer only means "try again" is
    tried again, and the client gets that answer only if it persists."""

    def __init__(self, brokers: Brokers, codec: Codec, collapse: bool) -> None:
        self.brokers = brokers
        self.codec = codec
        self.collapse = collapse
        self.unanswered = 0
        self.told_to_wait = False  # the last answer but stated "try again"
        self.unsettled = False  # whether something was delivered since it was last asked if a transaction is ending
        self._encoded: dict[int, Any] = {}

    def carry(self, body: RequestBody) -> Answer | None:
        """Send a request to the broker that it is for, and return its answer, or None if there was none."""
        self.unsettled = True
        answer: Answer | None = None
        for _ in Patience(COLLAPSED_S if self.collapse else 0):
            try:
                answer = self._once(body)
            except NoAnswer:
                self.brokers.forget()
                self.unanswered += 1
                return None
            self.told_to_wait = answer.error_code in TRY_AGAIN
            if not self.told_to_wait:
                break
            if answer.error_code in MOVED:
                self.brokers.forget()
        return answer

    def _once(self, body: RequestBody) -> Answer:
        request = self._encoded.get(body.number)
        if request is None:  # the second copy of a message is the same bytes
            request = self._encoded[body.number] = self.codec.encode(body.data)
        return self.codec.decode(body.data, self.brokers.ask(self._broker(body.data), request))

    def _broker(self, data: Any) -> int:
        names = self.codec.names
        if isinstance(data, ProduceRequest):
            place = names.places[data.partition]
            return self.brokers.leader(place.topic, place.partition)
        if isinstance(data, TxnOffsetCommitRequest):
            return self.brokers.coordinator(GROUP, names.group_id(data.group_id))
        return self.brokers.coordinator(TRANSACTION, names.transactional_id(data.transactional_id))


class Remote:
    """A `Remote` is the address of a node that is elsewhere: the coordinator, or a partition's leader."""

    def __init__(self, name: str, network: Network, carry: Callable[[RequestBody], Answer | None]) -> None:
        self.name = name
        self._network = network
        self._carry = carry

    def arrive(self, message: Message) -> None:
        answer = self._carry(message.body)
        if answer is not None:
            answered(self._network, message, answer)


def answered(network: Network, message: Message, answer: Any) -> None:
    response = ResponseBody(message.body.number, answer, message.body.check)
    network.send(f"{message.kind}_answer", message.target, message.source, response)
