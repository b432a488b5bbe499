"""Messages and stored records: the RPC of KIP-730, its metadata record, and the block of ids between them.

The field trap of this protocol: the block's *start* and *length* travel (730.4), the record holds the *next free id*
(730.7), and ZooKeeper's node holds the *last id* of the block, inclusive (730.15). `Block` is where they meet.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsRequest:
    """AllocateProducerIds, api key 67, version 0 (AllocateProducerIdsRequest.json). Needs CLUSTER_ACTION."""

    broker_id: int
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class AllocateProducerIdsResponse:
    """The answer: ids `producer_id_start` (inclusive) and on, `producer_id_len` of them, or an error and no ids."""

    throttle_time_ms: int
    error_code: int
    producer_id_start: int = -1
    producer_id_len: int = 0


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """The metadata record, api key 15, version 0: who got the block before `next_producer_id` (ProducerIdsRecord.json).

    The KIP calls the field ProducerIdEnd and 3.0 documented it as "the highest id": it always was the first id of the
    *next* block. A snapshot writes broker -1, epoch -1.
    """

    broker_id: int
    broker_epoch: int
    next_producer_id: int


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A request on the wire: the correlation number stands in the header, not in the request."""

    number: int
    data: AllocateProducerIdsRequest


@dataclass(frozen=True, slots=True)
class ResponseBody:
    """A response on the wire. `grant` is written for the observer only: no broker may read it to decide anything."""

    number: int
    data: AllocateProducerIdsResponse
    grant: int


class Block:
    """Consecutive ids and the cursor that claims them: one cursor per block, for ever (ProducerIdsBlock.java)."""

    __slots__ = ("first", "length", "unclaimed")

    def __init__(self, first: int, length: int) -> None:
        self.first = first
        self.length = length
        self.unclaimed = first

    @property
    def last(self) -> int:
        """The last id, inclusive; -1 for the empty block (-1, 0)."""
        return self.first + self.length - 1 if self.length else self.first

    @property
    def next_first(self) -> int:
        """The first id after this block."""
        return self.first + self.length

    def claim(self) -> int:
        """The next id, each at most once; -1 when the block is used up."""
        claimed = self.unclaimed
        if claimed >= self.first + self.length:
            return -1
        self.unclaimed = claimed + 1
        return claimed


def empty_block() -> Block:
    """The block of a broker that has none: every claim fails, and any start above -1 is above its last id."""
    return Block(-1, 0)
