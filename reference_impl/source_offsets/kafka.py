"""The Kafka cluster under the tasks: that of `reference_impl.task_counts`, with a separate offsets topic, and an event
for whatever is written into the output or an offsets topic.

What records carry is `Record` in the output, `Entry` in the offsets topics.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from fencepost.reference_impl.source_offsets.config import Config
from fencepost.reference_impl.source_offsets.events import Kind
from fencepost.reference_impl.source_offsets.permissions import require
from fencepost.reference_impl.task_counts import brokers
from fencepost.reference_impl.task_counts.brokers import OFFSETS_TOPIC, OUTPUT_TOPIC
from fencepost.reference_impl.task_counts.permissions import Permission
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.leader import PartitionLeader
from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.clients.consumer import Reader
from fencepost.reference_impl.transactions.config import Config as TransactionsConfig
from fencepost.reference_impl.transactions.environment import COORDINATOR
from fencepost.reference_impl.transactions.events import Kind as Below

NONE = -1
GLOBAL, SEPARATE = 0, 1  # offsets topics, as events number them
SEPARATE_TOPIC = brokers.PARTITIONS
PARTITION_OF = {GLOBAL: OFFSETS_TOPIC, SEPARATE: SEPARATE_TOPIC}
NAMES = {OUTPUT_TOPIC: "output", OFFSETS_TOPIC: "connect-offsets", SEPARATE_TOPIC: "own-offsets"}  # in permissions
TOPIC_OF = {partition: topic for topic, partition in PARTITION_OF.items()}


class Record(NamedTuple):
    """A record of the source, in the order of its partition: `offset` is the number of those up to and including it."""

    partition: int
    round: int
    offset: int


class Entry(NamedTuple):
    """An entry of an offsets topic: 0 is a null offset, a tombstone. Partition -1 is the migration's sentinel."""

    partition: int
    offset: int


SENTINEL = Entry(NONE, 0)


class Brokers(brokers.Brokers):
    """One cluster; `tell` takes the events."""

    partitions = SEPARATE_TOPIC + 1

    def __init__(self, config: Config, tell: Callable[..., None]) -> None:
        super().__init__(config)
        self.tell = tell
        self.env.emit = self.hear  # type: ignore[assignment]  # all columns are named
        self.rounds = Rounds(config)
        self.readers = 0

    def below(self, config: Config) -> TransactionsConfig:
        return TransactionsConfig(
            seed=config.seed, mode=config.transactions, clients=1, partitions=self.partitions,
            transaction_timeout_ms=config.transaction_timeout_ms, timeout_check_ms=config.timeout_check_ms,
        )  # fmt: skip

    def hear(self, kind: int, **columns: Any) -> None:
        """The brokers' own events: what is appended to the output and the offsets topics."""
        if kind == Below.BATCH_APPENDED:
            self.appended(
                columns["partition"], columns["offset"], columns["record"], columns["producer_id"], columns["epoch"]
            )
        elif kind == Below.MARKER_APPENDED:
            self.marked(columns["partition"], columns["offset"], columns["producer_id"], columns["epoch"],
                        columns["outcome"])  # fmt: skip

    def appended(self, partition: int, position: int, record: int, producer_id: int, epoch: int) -> None:
        """A record, or an entry, stands there."""
        content = self.env.contents[record]
        if isinstance(content, Record):
            self.rounds.written(producer_id, content)
            self.tell(
                Kind.RECORD_APPENDED, position=position, partition=content.partition, round=content.round,
                offset=content.offset, producer_id=producer_id, epoch=epoch,
            )  # fmt: skip
        elif isinstance(content, Entry):
            self.tell(
                Kind.ENTRY_APPENDED, topic=TOPIC_OF[partition], position=position, partition=content.partition,
                offset=content.offset if content.partition >= 0 else NONE, producer_id=producer_id, epoch=epoch,
            )  # fmt: skip

    def marked(self, partition: int, position: int, producer_id: int, epoch: int, outcome: int) -> None:
        """A transaction has ended there."""
        if partition == OUTPUT_TOPIC:
            self.rounds.ended(producer_id, outcome)
            self.tell(
                Kind.OUTPUT_MARKED, position=position, producer_id=producer_id, epoch=epoch, outcome=outcome
            )  # fmt: skip
        elif partition in TOPIC_OF:
            self.tell(
                Kind.TOPIC_MARKED, topic=TOPIC_OF[partition], position=position, producer_id=producer_id, epoch=epoch,
                outcome=outcome,
            )  # fmt: skip

    def permit(self, needed: Callable[[str], tuple[Permission, ...]], partition: int, call: str) -> None:
        """Raises KafkaError where what a call needs on a topic is not allowed."""
        if self.acls.denied:
            require(self.acls, needed(NAMES[partition]), call)

    def append_beside(self, partition: int, content: Any) -> None:
        """One record beside any transaction, by a producer that is neither idempotent nor known."""
        position = self.append_plainly(partition, content)
        batch = self.log(partition).batches[position]
        del self.log(partition).producers[batch.producer_id]
        self.appended(partition, position, batch.record, NONE, NONE)

    def is_undecided(self, topic: int) -> bool:
        """Whether a transaction is open in an offsets topic."""
        return bool(self.log(PARTITION_OF[topic]).open)

    def new_reader(self) -> Reader:
        """A consumer at the beginning of everything."""
        self.readers += 1
        return Reader(self.env, self.readers)

    def delete(self, topic: int) -> None:
        """An offsets topic is deleted; it is there again, and empty, when somebody asks for it."""
        leader = self.leaders[PARTITION_OF[topic]]
        leader.log = PartitionLog(self.env, leader.log.partition, leader.log.leader_epoch + 1)
        leader.stable_offset = 0

    def fail_over(self) -> None:
        """Another broker has the transactional coordinator, and loads its log."""
        old = self.coordinator
        old.resign(True)
        self.coordinator = Coordinator(self.env, old.transaction_log, old.coordinator_epoch + 1)
        self.env.network.nodes[COORDINATOR] = self.coordinator
        self.coordinator.take_over()
        self.settle()

    def change_leader(self, partition: int) -> None:
        """Another broker leads a partition."""
        leader: PartitionLeader = self.leaders[partition]
        leader.change()


class Rounds:
    """Which round each source partition is in, as far as its records are committed: the source knows."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.now = [0] * config.partitions
        self.last = [0] * config.partitions  # the last committed record of that round
        self.pending: dict[int, list[Record]] = {}

    def written(self, producer_id: int, record: Record) -> None:
        """A record is in the output; those of a transaction wait for its end."""
        if producer_id < 0:
            self.count(record)
        else:
            self.pending.setdefault(producer_id, []).append(record)

    def ended(self, producer_id: int, outcome: int) -> None:
        """A transaction has ended."""
        for record in self.pending.pop(producer_id, ()):
            if outcome:
                self.count(record)

    def count(self, record: Record) -> None:
        """A record is committed."""
        if record.round == self.now[record.partition]:
            self.last[record.partition] = max(record.offset, self.last[record.partition])
            if self.config.stored_offset(record.round, record.offset) == 0:
                self.now[record.partition] += 1
                self.last[record.partition] = 0
