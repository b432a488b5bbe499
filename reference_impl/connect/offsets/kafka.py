"""This module is the Kafka cluster under the tasks: that of the workers, with a separate offsets topic, and the
permissions it asks for."""

from collections.abc import Callable
from typing import Any, NamedTuple

from fencepost.reference_impl.connect import brokers
from fencepost.reference_impl.connect.brokers import (
    CONNECTOR_ADMIN,
    CONNECTOR_CONSUMER,
    CONNECTOR_PRODUCER,
    CREATE,
    DESCRIBE,
    OFFSETS_TOPIC,
    OUTPUT_TOPIC,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Acls,
    KafkaError,
    Permission,
    of_fencing,
    of_leader,
    task_transactional_id,
)
from fencepost.reference_impl.connect.offsets.config import Config, Kind
from fencepost.reference_impl.kafka.clients.consumer import Reader
from fencepost.reference_impl.kafka.environment import COORDINATOR
from fencepost.reference_impl.kafka.environment import Config as TransactionsConfig
from fencepost.reference_impl.kafka.environment import Kind as Below
from fencepost.reference_impl.kafka.leader import PartitionLeader
from fencepost.reference_impl.kafka.log import PartitionLog
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator

# This section has the permissions that the principals of a source connector need for its offsets, and the tables of
# both texts (618.37).
#
# The connector's *producer* writes records and offsets, its *consumer* reads the offsets topic, and its *admin* asks
# for the end of that topic, and creates it if it does not exist (618.32, 618.17). What the leader and the fencing need
# is in `reference_impl.connect.brokers`.

EARLIER, LATER = "earlier", "later"
"""These are the two texts of KIP-618; in the later one, the admin needs Write and Describe on the tasks' ids."""


def of_writing(topic: str) -> tuple[Permission, ...]:
    return (Permission(CONNECTOR_PRODUCER, WRITE, TOPIC, topic),)


def of_asking_the_end(topic: str) -> tuple[Permission, ...]:
    """Return the permission for asking for the end of an offsets topic with read_uncommitted."""
    return (Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, topic),)


def of_reading(topic: str) -> tuple[Permission, ...]:
    return (Permission(CONNECTOR_CONSUMER, READ, TOPIC, topic),)


def of_creating(topic: str) -> tuple[Permission, ...]:
    return (Permission(CONNECTOR_ADMIN, CREATE, TOPIC, topic),)


def of_producing(group_id: str, connector: str, task: int) -> tuple[Permission, ...]:
    transactional_id = task_transactional_id(group_id, connector, task)
    return tuple(
        Permission(CONNECTOR_PRODUCER, operation, TRANSACTIONAL_ID, transactional_id) for operation in (DESCRIBE, WRITE)
    )


def table(
    text: str, group_id: str, connector: str, tasks: int, *, output: str, offsets: str, config: str, exists: bool = True
) -> frozenset[Permission]:
    """Return all permissions that a source connector needs, and the leader for it, as a text lists them. ``offsets`` is
    its offsets topic; ``exists`` means that the topic exists and need not be created."""
    needed = {
        *of_leader(group_id, config),
        *(permission for task in range(tasks) for permission in of_producing(group_id, connector, task)),
        *of_writing(output),
        *of_writing(offsets),
        *of_reading(offsets),
        *of_asking_the_end(offsets),
    }
    if not exists:
        needed.update(of_creating(offsets))
    if text == LATER:
        needed.update(permission for task in range(tasks) for permission in of_fencing(group_id, connector, task))
    return frozenset(needed)


def require(acls: Acls, needed: tuple[Permission, ...], call: str) -> None:
    if error := acls.error(needed):
        raise KafkaError(error, call)


# This is the Kafka cluster of `reference_impl.systems.task_counts`, with a separate offsets topic, and an event for
# everything that is written to the output or an offsets topic.
#
# Records carry a `Record` in the output, and an `Entry` in the offsets topics.

NONE = -1
GLOBAL, SEPARATE = 0, 1  # offsets topics, as events number them
SEPARATE_TOPIC = brokers.PARTITIONS
PARTITION_OF = {GLOBAL: OFFSETS_TOPIC, SEPARATE: SEPARATE_TOPIC}
NAMES = {OUTPUT_TOPIC: "output", OFFSETS_TOPIC: "connect-offsets", SEPARATE_TOPIC: "own-offsets"}  # in permissions
TOPIC_OF = {partition: topic for topic, partition in PARTITION_OF.items()}


class Record(NamedTuple):
    """A `Record` of the source has the ``offset`` that is the number of its partition's records up to it."""

    partition: int
    round: int
    offset: int


class Entry(NamedTuple):
    """An `Entry` of an offsets topic is a tombstone if its offset is 0, and the sentinel if its partition is -1."""

    partition: int
    offset: int


SENTINEL = Entry(NONE, 0)


class Brokers(brokers.Brokers):
    """A `Brokers` is one Kafka cluster; ``report`` takes its events."""

    partitions = SEPARATE_TOPIC + 1

    def __init__(self, config: Config, report: Callable[..., None]) -> None:
        super().__init__(config)
        self.report = report
        self.env.emit = self.hear  # type: ignore[assignment]  # all columns are named
        self.rounds = Rounds(config)
        self.readers = 0

    def below(self, config: Config) -> TransactionsConfig:
        return TransactionsConfig(
            seed=config.seed, mode=config.transactions, clients=1, partitions=self.partitions,
            transaction_timeout_ms=config.transaction_timeout_ms, timeout_check_ms=config.timeout_check_ms,
        )  # fmt: skip

    def hear(self, kind: int, **columns: Any) -> None:
        """Report the brokers' own events: what is appended to the output and the offsets topics."""
        if kind == Below.BATCH_APPENDED:
            self.appended(
                columns["partition"], columns["offset"], columns["record"], columns["producer_id"], columns["epoch"]
            )
        elif kind == Below.MARKER_APPENDED:
            self.marked(columns["partition"], columns["offset"], columns["producer_id"], columns["epoch"],
                        columns["outcome"])  # fmt: skip

    def appended(self, partition: int, position: int, record: int, producer_id: int, epoch: int) -> None:
        content = self.env.contents[record]
        if isinstance(content, Record):
            self.rounds.written(producer_id, content)
            self.report(
                Kind.RECORD_APPENDED, position=position, partition=content.partition, round=content.round,
                offset=content.offset, producer_id=producer_id, epoch=epoch,
            )  # fmt: skip
        elif isinstance(content, Entry):
            self.report(
                Kind.ENTRY_APPENDED, topic=TOPIC_OF[partition], position=position, partition=content.partition,
                offset=content.offset if content.partition >= 0 else NONE, producer_id=producer_id, epoch=epoch,
            )  # fmt: skip

    def marked(self, partition: int, position: int, producer_id: int, epoch: int, outcome: int) -> None:
        if partition == OUTPUT_TOPIC:
            self.rounds.ended(producer_id, outcome)
            self.report(
                Kind.OUTPUT_MARKED, position=position, producer_id=producer_id, epoch=epoch, outcome=outcome
            )  # fmt: skip
        elif partition in TOPIC_OF:
            self.report(
                Kind.TOPIC_MARKED, topic=TOPIC_OF[partition], position=position, producer_id=producer_id, epoch=epoch,
                outcome=outcome,
            )  # fmt: skip

    def permit(self, needed: Callable[[str], tuple[Permission, ...]], partition: int, call: str) -> None:
        """Raise KafkaError if a permission that a call needs on a topic is denied."""
        if self.acls.denied:
            require(self.acls, needed(NAMES[partition]), call)

    def append_directly(self, partition: int, content: Any) -> None:
        """Append one record outside any transaction, leaving no producer state."""
        position = self.append_plainly(partition, content)
        batch = self.log(partition).batches[position]
        del self.log(partition).producers[batch.producer_id]
        self.appended(partition, position, batch.record, NONE, NONE)

    def is_undecided(self, topic: int) -> bool:
        return bool(self.log(PARTITION_OF[topic]).open)

    def new_reader(self) -> Reader:
        self.readers += 1
        return Reader(self.env, self.readers)

    def delete(self, topic: int) -> None:
        """Delete an offsets topic; it exists again, empty, when a client asks for it."""
        leader = self.leaders[PARTITION_OF[topic]]
        leader.log = PartitionLog(self.env, leader.log.partition, leader.log.leader_epoch + 1)
        leader.stable_offset = 0

    def fail_over(self) -> None:
        old = self.coordinator
        old.resign(True)
        self.coordinator = Coordinator(self.env, old.transaction_log, old.coordinator_epoch + 1)
        self.env.network.nodes[COORDINATOR] = self.coordinator
        self.coordinator.take_over()
        self.settle()

    def change_leader(self, partition: int) -> None:
        leader: PartitionLeader = self.leaders[partition]
        leader.change()


class Rounds:
    """`Rounds` is the round of each source partition, as far as its records are committed."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.now = [0] * config.partitions
        self.last = [0] * config.partitions  # the last committed record of that round
        self.pending: dict[int, list[Record]] = {}

    def written(self, producer_id: int, record: Record) -> None:
        """Count a record that is in the output; the records of a transaction wait for its end."""
        if producer_id < 0:
            self.count(record)
        else:
            self.pending.setdefault(producer_id, []).append(record)

    def ended(self, producer_id: int, outcome: int) -> None:
        for record in self.pending.pop(producer_id, ()):
            if outcome:
                self.count(record)

    def count(self, record: Record) -> None:
        if record.round == self.now[record.partition]:
            self.last[record.partition] = max(record.offset, self.last[record.partition])
            if self.config.stored_offset(record.round, record.offset) == 0:
                self.now[record.partition] += 1
                self.last[record.partition] = 0
