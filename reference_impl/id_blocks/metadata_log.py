"""The metadata log: a snapshot, the records behind it, and how many of them a majority has.

The quorum is drawn at the grain that matters to the protocol: what a majority has survives every fail-over, what only
the leader (or a minority) has is lost with it. The log is also the audit log of blocks (730.9).
"""

from fencepost.reference_impl.id_blocks.messages import Block, ProducerIdsRecord

Entry = tuple[int, ProducerIdsRecord, Block]  # the grant's ordinal, the record, the block it persists


class MetadataLog:
    """The replicated log of one cluster. Grants are numbered as they are appended, lost ones included."""

    __slots__ = ("_appended", "_committed", "_entries", "_snapshot")

    def __init__(self) -> None:
        self._snapshot: list[ProducerIdsRecord] = []
        self._entries: list[Entry] = []
        self._committed = 0
        self._appended = 0

    def append(self, record: ProducerIdsRecord, block: Block) -> int:
        """Append to the leader's log; returns the grant's ordinal."""
        grant = self._appended
        self._appended += 1
        self._entries.append((grant, record, block))
        return grant

    def commit(self, grant: int) -> list[Entry]:
        """A majority has everything up to `grant`: the entries that became committed by that."""
        before = self._committed
        while self._committed < len(self._entries) and self._entries[self._committed][0] <= grant:
            self._committed += 1
        return self._entries[before : self._committed]

    def last_grant(self) -> int:
        """The ordinal of the newest entry in the log; -1 if there is none."""
        return self._entries[-1][0] if self._entries else -1

    def lose_uncommitted(self) -> int:
        """The leader died: what no majority had is gone; returns how many records that were."""
        lost = len(self._entries) - self._committed
        del self._entries[self._committed :]
        return lost

    def committed_records(self) -> list[ProducerIdsRecord]:
        """The records that a new leader replays: the snapshot, then every committed record behind it."""
        return self._snapshot + [record for _, record, _ in self._entries[: self._committed]]

    def committed_next_id(self) -> int:
        """The next free id of the committed state; 0 if no block was ever committed."""
        records = self.committed_records()
        return records[-1].next_producer_id if records else 0

    def snapshot_next_id(self) -> int:
        """The next free id that the snapshot alone says; 0 if it says none."""
        return self._snapshot[-1].next_producer_id if self._snapshot else 0

    def install_snapshot(self, records: list[ProducerIdsRecord]) -> None:
        """Replace everything committed by `records`; what is not committed stays in the log."""
        self._snapshot = records
        del self._entries[: self._committed]
        self._committed = 0

    def audit(self) -> list[ProducerIdsRecord]:
        """Which broker, in which epoch, got the block before which id: the committed records not yet in a snapshot."""
        return [record for _, record, _ in self._entries[: self._committed]]
