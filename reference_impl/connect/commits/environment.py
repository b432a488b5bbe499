"""This module has the surroundings of one source task: its topics, the upstream system, the clock and the numbers."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect.commits.config import Config, SourceEventLog
from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.environment import Environment as Shared
from fencepost.reference_impl.simulation.environment import numbered

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.commits.exactly_once import ExactlyOnceTask


# These classes are Kafka's part: the topics with records and offsets, and a producer's requests on their way there.
#
# Requests to one output partition, and offsets of one source partition, stay in order, as an idempotent producer's do;
# requests to different partitions have no order (src.1).

Done = Callable[["Request", bool, int], None]
"""This is the producer's callback: the request, whether it was acknowledged, and its position (-1 if it was not)."""


class Request:
    """A `Request` is a record, or a source offset, on its way to a broker. ``flush`` is -1 for a record."""

    __slots__ = ("done", "flush", "instance", "lane", "number", "offset", "partition", "record")

    def __init__(
        self, number: int, instance: int, lane: int, partition: int, record: int, offset: int, flush: int, done: Done
    ) -> None:
        self.number = number
        self.instance = instance
        self.lane = lane
        self.partition = partition
        self.record = record
        self.offset = offset
        self.flush = flush
        self.done = done


class Sender:
    """A `Sender` has one producer's requests by lane: an output partition, or a partition of stored offsets."""

    __slots__ = ("lanes",)

    def __init__(self, lanes: int) -> None:
        self.lanes: list[deque[Request]] = [deque() for _ in range(lanes)]

    def send(self, request: Request) -> None:
        self.lanes[request.lane].append(request)

    def heads(self) -> Iterator[Request]:
        return (lane[0] for lane in self.lanes if lane)

    @property
    def in_flight(self) -> bool:
        return any(self.lanes)

    def lose(self) -> None:
        for lane in self.lanes:
            lane.clear()


class Topics:
    """`Topics` has the committed content of the output partitions and of the offsets topic."""

    __slots__ = ("next_offset", "outputs", "read", "stored")

    def __init__(self, outputs: int, partitions: int) -> None:
        self.outputs: list[list[tuple[int, int]]] = [[] for _ in range(outputs)]  # (source partition, record)
        self.stored = [0] * partitions  # the last source offset of each; 0: none
        self.next_offset = 0  # position in the offsets topic
        self.read = [0] * outputs  # up to where an auditor has read

    def append(self, output: int, partition: int, record: int) -> int:
        log = self.outputs[output]
        log.append((partition, record))
        return len(log) - 1

    def store(self, partition: int, offset: int) -> int:
        self.stored[partition] = offset
        self.next_offset += 1
        return self.next_offset - 1


# The external system that a connector reads from may forget what the connector has confirmed as safe.


class Upstream:
    """An `Upstream` is the source system. It has `records` records in each source partition, or infinitely many for 0;
    ``discarded`` is the record up to which they are gone."""

    __slots__ = ("discarded", "records")

    def __init__(self, partitions: int, records: int) -> None:
        self.records = records
        self.discarded = [0] * partitions

    def following(self, partition: int, record: int) -> int:
        """Return the first record that exists after this one, or 0 if there is none."""
        found = max(record, self.discarded[partition]) + 1
        return found if not self.records or found <= self.records else 0

    def discard(self, partition: int, offset: int) -> None:
        self.discarded[partition] = max(self.discarded[partition], offset)


class Environment(Shared[Config]):
    """There is one `Environment` per source task. ``parts`` are what a broken implementation replaces; ``unfinished``
    is the instance whose transaction is neither committed nor aborted, if there is one."""

    __slots__ = ("__weakref__", "next_waiting", "parts", "topics", "unfinished", "upstream")

    log_type = SourceEventLog
    next_instance = numbered("instance")
    next_flush = numbered("flush")

    def __init__(self, config: Config, kernel: Kernel, parts: Any) -> None:
        super().__init__(config, kernel)
        self.parts = parts
        self.topics = Topics(config.outputs, config.partitions)
        self.upstream = Upstream(config.partitions, config.records)
        self.unfinished: ExactlyOnceTask | None = None
        self.next_waiting = 0  # a number for each thing that waits for the driver

    def waiting_number(self) -> int:
        number = self.next_waiting
        self.next_waiting = number + 1
        return number
