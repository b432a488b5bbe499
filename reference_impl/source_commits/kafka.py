"""Of Kafka: the topics that records and offsets are in, and a producer's requests on their way to them.

Requests to one output partition, and offsets of one source partition, keep their order, as an idempotent producer's do;
between these there is none (src.1).
"""

from collections import deque
from collections.abc import Callable, Iterator

Done = Callable[["Request", bool, int], None]
"""The producer's callback: the request, whether it was acknowledged, and its position (-1 where it was not)."""


class Request:
    """A record, or a source offset, on its way. `flush` is -1 for a record."""

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
    """What one producer has in flight, by lane: an output partition, or a source partition of the offsets topic."""

    __slots__ = ("lanes",)

    def __init__(self, lanes: int) -> None:
        self.lanes: list[deque[Request]] = [deque() for _ in range(lanes)]

    def send(self, request: Request) -> None:
        self.lanes[request.lane].append(request)

    def heads(self) -> Iterator[Request]:
        """The oldest of each lane."""
        return (lane[0] for lane in self.lanes if lane)

    @property
    def in_flight(self) -> bool:
        """Whether anything is."""
        return any(self.lanes)

    def lose(self) -> None:
        """Everything in flight is gone, and nobody hears of it."""
        for lane in self.lanes:
            lane.clear()


class Topics:
    """Output partitions and the offsets topic, as far as they are committed."""

    __slots__ = ("next_offset", "outputs", "read", "stored")

    def __init__(self, outputs: int, partitions: int) -> None:
        self.outputs: list[list[tuple[int, int]]] = [[] for _ in range(outputs)]  # (source partition, record)
        self.stored = [0] * partitions  # the last source offset of each; 0: none
        self.next_offset = 0  # position in the offsets topic
        self.read = [0] * outputs  # up to where an auditor has read

    def append(self, output: int, partition: int, record: int) -> int:
        """The position of a record that is appended."""
        log = self.outputs[output]
        log.append((partition, record))
        return len(log) - 1

    def store(self, partition: int, offset: int) -> int:
        """The position of a source offset that is appended."""
        self.stored[partition] = offset
        self.next_offset += 1
        return self.next_offset - 1
