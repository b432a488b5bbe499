"""The source offsets of records that were sent, until they are stored (OffsetStorageWriter).

One flush at a time: what is to be flushed is put aside, and what is noted meanwhile is for the next one. A flush that
fails puts back what it had, but for source partitions of which something newer was noted.
"""


class OffsetWriter:
    """By source partition, the offset of the newest record; 0 is a null one."""

    def __init__(self) -> None:
        self.data: dict[int, int] = {}
        self.flushing: dict[int, int] = {}

    def offset(self, partition: int, offset: int) -> None:
        """A record with this source offset was accepted by the producer."""
        self.data[partition] = offset

    def begin_flush(self) -> bool:
        """Put aside what there is; False if there is nothing."""
        self.flushing, self.data = self.data, {}
        return bool(self.flushing)

    def flushed(self) -> dict[int, int]:
        """It is stored; what it was."""
        done, self.flushing = self.flushing, {}
        return done

    def cancel_flush(self) -> None:
        """It is not."""
        self.data = {**self.flushing, **self.data}
        self.flushing = {}
