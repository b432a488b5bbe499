"""The config topic: one partition of records with keys, its readers' positions, its compaction, and what it announces.

Offsets are those of the partition's log, where the markers of transactions have offsets too. A position stands before
the next record that a reader will get: markers, aborted records and compacted ones are passed over.
"""

from collections.abc import Iterable

from fencepost.reference_impl.task_counts.brokers import CONFIG_TOPIC, Brokers
from fencepost.reference_impl.task_counts.events import ConnectEventLog, Kind
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.cluster_state import Placed, compacted
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord
from fencepost.reference_impl.transactions.clients.consumer import Reader

NONE = -1
NAME = "connect-configs"

_WRITTEN = {
    records.CONNECTOR: Kind.CONNECTOR_WRITTEN,
    records.TASK: Kind.TASK_CONFIG_WRITTEN,
    records.COMMIT: Kind.SET_WRITTEN,
    records.COUNT: Kind.COUNT_WRITTEN,
}
_TOMBSTONED = {records.CONNECTOR: Kind.CONNECTOR_TOMBSTONED, records.COUNT: Kind.COUNT_TOMBSTONED}


class ConfigTopic:
    """The topic of one cluster of workers; `numbers` are the connectors' numbers in events, by name."""

    def __init__(
        self, brokers: Brokers, log: ConnectEventLog, numbers: dict[str, int], partition: int = CONFIG_TOPIC
    ) -> None:
        self.brokers = brokers
        self.partition = partition
        self.leader = brokers.leaders[partition]  # of whose log readers ask over and over
        self.log = log
        self.numbers = numbers
        self.removed: set[int] = set()
        self.latest_sets: dict[str, int] = {}
        self._reader = Reader(brokers.env, 0)

    # Reading

    def read(self, position: int, committed: bool) -> Placed | None:
        """The first record at or after `position`, None if there is none; `committed`: the isolation level."""
        log = self.brokers.log(self.partition)
        if log.aborted:
            return next(iter(self.records(position, committed)), None)
        for offset in range(position, log.read_limit(committed)):  # the same, without a copy of all that follows
            batch = log.batches[offset]
            if batch.marker < 0 and offset not in self.removed:
                return offset, self.brokers.env.contents[batch.record]
        return None

    def position(self, offset: int, committed: bool) -> int:
        """Where a reader stands that has got everything before `offset`: before a record, or at the end."""
        following = self.read(offset, committed)
        return self.end(committed) if following is None else following[0]

    def end(self, committed: bool) -> int:
        """Where reading ends for now, exclusive; not before an open transaction is decided."""
        return self.leader.log.read_limit(committed)

    def records(self, position: int = 0, committed: bool = True) -> Iterable[Placed]:
        """All (offset, record) from a position on that a reader gets."""
        contents = self.brokers.env.contents
        answer = self.brokers.log(self.partition).fetch(position, committed)
        for batch in self._reader.skipping(answer):
            if batch.base_offset not in self.removed:
                yield batch.base_offset, contents[batch.record]

    def version(self) -> tuple[int, int, int]:
        """What `records` has from the beginning is the same as long as this is."""
        return self.end(True), len(self.removed), self.leader.log.leader_epoch

    # Writing is a producer's; here is what others hear of it

    def announce(self, start: int, node: int, producer_id: int, epoch: int) -> None:
        """Events for the records committed from offset `start` on."""
        for offset, record in self.records(start):
            self.announce_record(record, offset, node, producer_id, epoch)

    def announce_record(self, record: ConfigRecord, offset: int, node: int, producer_id: int, epoch: int) -> None:
        """One record is committed; `set` is its own place for a commit record, else that of the latest one."""
        kind, name, task, value = records.parse(record)
        code = (_TOMBSTONED if value is None else _WRITTEN).get(kind)
        if kind == records.COMMIT and value is not None:
            self.latest_sets[name] = offset
        if code is None:
            return
        counts = kind in (records.COMMIT, records.COUNT) and value is not None
        belongs = kind in (records.COMMIT, records.COUNT)
        self.log.emit(
            code, node=node, connector=self.numbers.get(name, NONE), task=task,
            set=self.latest_sets.get(name, NONE) if belongs else NONE,
            count=records.count_in(value) if counts and value is not None else NONE,
            offset=offset, producer_id=producer_id, epoch=epoch,
        )  # fmt: skip

    def append_plainly(self, record: ConfigRecord, node: int = NONE) -> int:
        """A record by a producer without transactions, a worker's or (-1) that of another program (618.34)."""
        offset = self.brokers.append_plainly(self.partition, record)
        self.announce_record(record, offset, node, NONE, NONE)
        return offset

    def compact(self) -> None:
        """Keep the last record of every key, where it is; a tombstone too, since delete.retention.ms, by default a day,
        is longer than any worker here is behind: one that missed a deletion would bring the connector back."""
        kept = {offset for offset, _ in compacted(self.records(), keep_tombstones=True)}
        end = self.end(True)
        self.removed |= set(range(end)) - kept
        self.log.emit(Kind.COMPACTED, offset=end)
