"""What is kept with each state that a broker seen from outside may be in: the answers on their way, and how far the
sequence numbers of each partition have come."""

from collections.abc import Collection
from typing import NamedTuple

WINDOW = 5  # batches that a leader recognises

Answer = tuple[str, int, int, int]
"""(kind of request, its number, error, number of the pair in it)."""


class Lane(NamedTuple):
    """What a partition knows of its producer's records.  ``number``: of the pair that wrote last; ``window``: its
    latest sequence numbers."""

    partition: int
    number: int
    window: tuple[int, ...]

    def takes(self, number: int, sequence: int) -> bool:
        """Does a record follow on?"""
        return sequence == (self.window[-1] + 1 if number == self.number else 0)

    def has(self, number: int, sequence: int) -> bool:
        """Is it one of the last five?"""
        return number == self.number and sequence in self.window


class Memory(NamedTuple):
    """Kept with one state.  ``asked``: partitions whose leader has asked the coordinator, in vain, and the lowest
    sequence number for which it did: until something is written there, no higher one is.  ``open_ms``: since when a
    transaction is open, where that may time out; else -1."""

    answers: tuple[Answer, ...] = ()
    lanes: tuple[Lane, ...] = ()
    asked: tuple[tuple[int, int], ...] = ()
    open_ms: int = -1

    def lane(self, partition: int) -> Lane | None:
        """None where nothing was written yet."""
        return next((lane for lane in self.lanes if lane.partition == partition), None)

    def with_answer(self, answer: Answer) -> "Memory":
        return self._replace(answers=tuple(sorted({*self.answers, answer})))

    def asking(self, partition: int, sequence: int) -> "Memory":
        """The coordinator has said no."""
        before = dict(self.asked)
        return self._replace(
            asked=tuple(sorted({**before, partition: min(before.get(partition, sequence), sequence)}.items()))
        )

    def is_behind_question(self, partition: int, sequence: int) -> bool:
        return dict(self.asked).get(partition, sequence) < sequence

    def written(self, partition: int, number: int) -> "Memory":
        """A record, or a marker: of older epochs only that they are older counts."""
        return self._replace(
            asked=tuple(entry for entry in self.asked if entry[0] != partition),
            lanes=tuple(x for x in self.lanes if x.partition != partition or x.number >= number),
        )

    def with_record(self, partition: int, number: int, sequence: int) -> "Memory":
        """A record was written; of a sequence number that is known already nothing changes."""
        lane = self.lane(partition)
        if sequence < 0 or (lane is not None and lane.has(number, sequence)):
            return self
        before = lane.window if lane is not None and lane.number == number else ()
        new = Lane(partition, number, (*before, sequence)[-WINDOW:])
        return self._replace(lanes=tuple(sorted((*(x for x in self.lanes if x.partition != partition), new))))

    def only(self, requests: Collection[tuple[str, int]]) -> "Memory":
        """Without the answers to any others."""
        if all(a[:2] in requests for a in self.answers):
            return self
        return self._replace(answers=tuple(a for a in self.answers if a[:2] in requests))


NOTHING_KEPT = Memory()
