"""The state that a partition keeps of one producer. (ProducerStateEntry.java, VerificationStateEntry.java)"""

from collections import deque

WINDOW = 5  # batches that answer a duplicate: as many as a producer may have in flight (txn.14)
SEQUENCE_MAX = 2**31 - 1

NO_GUARD = 0  # of a batch for which the coordinator was not asked


class ProducerEntry:
    """Epochs, and the last batches of the current epoch as (first sequence, offset), oldest first; `last_sequence` is
    the last record's. `written_ms`: when it last wrote here."""

    __slots__ = ("coordinator_epoch", "epoch", "last_sequence", "window", "written_ms")

    def __init__(self) -> None:
        self.epoch = -1
        self.coordinator_epoch = -1
        self.last_sequence = -1
        self.written_ms = 0
        self.window: deque[tuple[int, int]] = deque(maxlen=WINDOW)


class Verification:
    """A question to the coordinator that is not settled: its identity, and the first number that waits for it."""

    __slots__ = ("epoch", "guard", "lowest_sequence")

    def __init__(self, guard: int, epoch: int, lowest_sequence: int) -> None:
        self.guard = guard
        self.epoch = epoch
        self.lowest_sequence = lowest_sequence


UNKNOWN = ProducerEntry()  # a producer never heard of; nothing is ever written into this one


def follows(last: int, sequence: int) -> bool:
    """Whether `sequence` comes right after `last`, or is the first when `last` is -1; int32 wraps to 0."""
    return sequence == (0 if last == SEQUENCE_MAX else last + 1)
