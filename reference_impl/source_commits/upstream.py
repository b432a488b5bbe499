"""The external system that a connector reads from: it forgets what it is told is safe."""


class Upstream:
    """`records` in each source partition, or without end; `discarded`: up to where they are gone."""

    __slots__ = ("discarded", "records")

    def __init__(self, partitions: int, records: int) -> None:
        self.records = records
        self.discarded = [0] * partitions

    def following(self, partition: int, record: int) -> int:
        """The first record that is there after this one; 0 if there is none."""
        found = max(record, self.discarded[partition]) + 1
        return found if not self.records or found <= self.records else 0

    def discard(self, partition: int, offset: int) -> None:
        """Everything up to here is safe."""
        self.discarded[partition] = max(self.discarded[partition], offset)
