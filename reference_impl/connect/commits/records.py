"""This module has what the task's thread and the committer share: the records in flight, and the offsets to write."""

from collections import deque
from collections.abc import Callable, Mapping

# This section has the records that the producer was handed and that are not known to be safe (SubmittedRecords.java).

Offsets = Mapping[int, int]
"""An `Offsets` maps a source partition to its source offset; 0 is a null offset."""


class SubmittedRecord:
    """A `SubmittedRecord` is one record that was handed to the producer. ``acked`` is the only field that a thread
    other than the task's may change."""

    __slots__ = ("acked", "offset", "partition", "records")

    def __init__(self, records: "SubmittedRecords", partition: int, offset: int) -> None:
        self.records = records
        self.partition = partition
        self.offset = offset
        self.acked = False

    def ack(self) -> None:
        """Mark the record as acknowledged, so that its offset may be committed; a second call has no effect."""
        if not self.acked:
            self.acked = True
            self.records.message_acked()

    def drop(self) -> bool:
        """Stop tracking the record, which the producer refused at once; return False if it was not tracked."""
        return self.records.remove_last_occurrence(self)


class SubmittedRecords:
    """`SubmittedRecords` has a queue of records for each source partition, in the order of polling (src.2)."""

    __slots__ = ("queues", "unacked")

    def __init__(self) -> None:
        self.queues: dict[int, deque[SubmittedRecord]] = {}
        self.unacked = 0

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        """Track a record that is about to be handed to the producer."""
        record = SubmittedRecord(self, partition, offset)
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = deque()
        queue.append(record)
        self.unacked += 1
        return record

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        """Stop tracking a record (src.11); it is found by identity, from the end of its queue."""
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
        """Take the acknowledged heads off the queues, and return the last offset of each queue (src.3). An offset that
        was returned once is not returned again. (Kafka also counts the records that are left, for its log.)"""
        offsets: dict[int, int] = {}
        for partition, queue in list(self.queues.items()):
            while queue and queue[0].acked:
                offsets[partition] = queue.popleft().offset
            if not queue:
                del self.queues[partition]
        return offsets

    def all_acked(self) -> bool:
        """Return whether the final wait for records in flight (awaitAllMessages) is over."""
        return self.unacked == 0

    def message_acked(self) -> None:
        self.unacked -= 1


# This section has the offsets that are to be written, and the flush that writes them (OffsetStorageWriter.java).

Send = Callable[["Flush", int, int], None]
"""A `Send` hands a source partition and its offset to the producer of the offsets topic."""


class Flush:
    """A `Flush` is one flush of offsets; ``failed`` is None as long as the flush is not over."""

    __slots__ = ("entries", "failed", "left", "number", "on_completion")

    def __init__(self, number: int, entries: Offsets, on_completion: Callable[["Flush", bool], None]) -> None:
        self.number = number
        self.entries = entries
        self.left = len(entries)
        self.failed: bool | None = None
        self.on_completion = on_completion

    def written(self, ok: bool) -> None:
        """Note that one offset was written, or failed; the first failure ends the flush."""
        self.left -= 1
        if self.failed is None and (not ok or not self.left):
            self.failed = not ok
            self.on_completion(self, ok)


class OffsetStorageWriter:
    """An `OffsetStorageWriter` has a buffer of offsets, and at most one flush at a time."""

    __slots__ = ("current", "data", "to_flush")

    def __init__(self) -> None:
        self.data: dict[int, int] = {}
        self.to_flush: dict[int, int] | None = None
        self.current: Flush | None = None

    def offset(self, partition: int, offset: int) -> None:
        self.data[partition] = offset

    def will_flush(self) -> bool:
        return bool(self.data)

    @property
    def in_progress(self) -> bool:
        return self.to_flush is not None

    def begin_flush(self, number: int) -> Flush | None:
        """Set aside the buffered offsets and begin a flush of them; return None if there are none."""
        if not self.data:
            return None
        self.to_flush, self.data = self.data, {}
        self.current = Flush(number, self.to_flush.copy(), self.handle_finish_write)
        return self.current

    def do_flush(self, send: Send) -> None:
        flush = self.current
        assert flush is not None, "there is one between begin_flush and do_flush"
        for partition, offset in flush.entries.items():
            send(flush, partition, offset)

    def cancel_flush(self) -> None:
        """Put back the offsets that were set aside, except where there is a newer one by now (src.10). Callbacks of the
        cancelled flush are ignored."""
        if self.to_flush is not None:
            self.data = self.merged(self.to_flush, self.data)
            self.to_flush = self.current = None

    def merged(self, older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
        """Return what is to be written after a flush that failed."""
        return {**older, **newer}

    def handle_finish_write(self, flush: Flush, ok: bool) -> None:
        """Handle the end of a flush, successful or not; a flush that was cancelled is ignored."""
        if flush is not self.current:
            return
        if ok:
            self.end_flush()
        else:
            self.cancel_flush()

    def end_flush(self) -> None:
        self.to_flush = self.current = None
