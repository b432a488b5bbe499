"""What the task's thread and the committer share: the records in flight, and the offsets to write."""

from collections import deque
from collections.abc import Callable, Mapping

# Records that the producer was handed and that are not known to be safe (SubmittedRecords.java).

Offsets = Mapping[int, int]
"""Source offset by source partition; 0 is a null offset."""


class SubmittedRecord:
    """One of them. `acked` is all that another thread than the task's may change."""

    __slots__ = ("acked", "offset", "partition", "records")

    def __init__(self, records: "SubmittedRecords", partition: int, offset: int) -> None:
        self.records = records
        self.partition = partition
        self.offset = offset
        self.acked = False

    def ack(self) -> None:
        """Its offset may be committed; the second time is as if it were not."""
        if not self.acked:
            self.acked = True
            self.records.message_acked()

    def drop(self) -> bool:
        """It was refused at once, and is tracked no more; False, with nothing done, if it was not tracked."""
        return self.records.remove_last_occurrence(self)


class SubmittedRecords:
    """A queue for each source partition, in the order of polling (src.2)."""

    __slots__ = ("queues", "unacked")

    def __init__(self) -> None:
        self.queues: dict[int, deque[SubmittedRecord]] = {}
        self.unacked = 0

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        """Track a record that the producer is about to be given."""
        record = SubmittedRecord(self, partition, offset)
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = deque()
        queue.append(record)
        self.unacked += 1
        return record

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        """Track it no more (src.11); by identity, from the end."""
        queue = self.queues.get(record.partition)
        if queue is None:
            return False
        for place in range(len(queue) - 1, -1, -1):
            if queue[place] is record:
                del queue[place]
                if not queue:
                    del self.queues[record.partition]
                self.message_acked()
                return True
        return False

    def committable_offsets(self) -> Offsets:
        """Take the acknowledged heads off the queues, and say the last offset of each (src.3). What is stated here once
        is not stated again. (Kafka also counts the records that are left, for its log.)"""
        offsets: dict[int, int] = {}
        for partition, queue in list(self.queues.items()):
            while queue and queue[0].acked:
                offsets[partition] = queue.popleft().offset
            if not queue:
                del self.queues[partition]
        return offsets

    def all_acked(self) -> bool:
        """Return whether the final wait for records in flight (awaitAllMessages) need not wait (any longer)."""
        return self.unacked == 0

    def message_acked(self) -> None:
        self.unacked -= 1


# Offsets that are to be written, and the flush that writes them (OffsetStorageWriter.java).

Send = Callable[["Flush", int, int], None]
"""Hands a source partition and its offset to the producer of the offsets topic."""


class Flush:
    """One flush, as who waits for it sees it. `failed` is None as long as it is not over."""

    __slots__ = ("entries", "failed", "left", "number", "on_completion")

    def __init__(self, number: int, entries: Offsets, on_completion: Callable[["Flush", bool], None]) -> None:
        self.number = number
        self.entries = entries
        self.left = len(entries)
        self.failed: bool | None = None
        self.on_completion = on_completion

    def written(self, ok: bool) -> None:
        """One of its offsets is written, or will not be; the first that will not ends it."""
        self.left -= 1
        if self.failed is None and (not ok or not self.left):
            self.failed = not ok
            self.on_completion(self, ok)


class OffsetStorageWriter:
    """A buffer of offsets, and at most one flush at a time. Threads wait for each other's flush by `in_progress`."""

    __slots__ = ("current", "data", "to_flush")

    def __init__(self) -> None:
        self.data: dict[int, int] = {}
        self.to_flush: dict[int, int] | None = None
        self.current: Flush | None = None

    def offset(self, partition: int, offset: int) -> None:
        """This is to be written for the partition, whatever was there."""
        self.data[partition] = offset

    def will_flush(self) -> bool:
        return bool(self.data)

    @property
    def in_progress(self) -> bool:
        """Return whether a flush is under way, so that another has to wait."""
        return self.to_flush is not None

    def begin_flush(self, number: int) -> Flush | None:
        """Set aside what there is; None if there is nothing."""
        if not self.data:
            return None
        self.to_flush, self.data = self.data, {}
        self.current = Flush(number, self.to_flush.copy(), self.handle_finish_write)
        return self.current

    def do_flush(self, send: Send) -> None:
        """Hand the offsets that were set aside to the producer."""
        flush = self.current
        assert flush is not None, "there is one between begin_flush and do_flush"
        for partition, offset in flush.entries.items():
            send(flush, partition, offset)

    def cancel_flush(self) -> None:
        """Put back what was set aside; what is newer by now stays (src.10). Who hears of it later is ignored."""
        if self.to_flush is not None:
            self.data = self.merged(self.to_flush, self.data)
            self.to_flush = self.current = None

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        """Return what is to be written after a flush that failed."""
        return {**older, **newer}

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        """All of a flush is written, or some of it will not be; one that was cancelled is ignored."""
        if flush is not self.current:
            return
        if ok:
            self.end_flush()
        else:
            self.cancel_flush()

    def end_flush(self) -> None:
        self.to_flush = self.current = None
