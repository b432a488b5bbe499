"""This module has the config topic: its log, each worker's view of it, the privilege of writing to it, and what leaders
write."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.brokers import (
    CONFIG_TOPIC,
    Brokers,
    KafkaError,
    TransactionalProducer,
    leader_transactional_id,
    of_leader,
)
from fencepost.reference_impl.connect.config import ConnectEventLog, Kind
from fencepost.reference_impl.connect.config_records import ClusterConfigState, ConfigRecord, Parsed, Placed, compacted
from fencepost.reference_impl.connect.requests import Request
from fencepost.reference_impl.connect.threads import Operation, OperationError, Script, Wait
from fencepost.reference_impl.kafka.clients.consumer import Reader

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.environment import Environment
    from fencepost.reference_impl.connect.herder import Herder


# The config topic is one partition of records with keys; this class has its readers' positions, its compaction, and its
# events.
#
# Offsets are those of the partition's log, where the markers of transactions have offsets too. A position is that of
# the next record that a reader will get: markers, aborted records and compacted ones are skipped.

NONE = -1
NAME = "connect-configs"

_WRITTEN = {
    config_records.CONNECTOR: Kind.CONNECTOR_WRITTEN,
    config_records.TASK: Kind.TASK_CONFIG_WRITTEN,
    config_records.COMMIT: Kind.SET_WRITTEN,
    config_records.COUNT: Kind.COUNT_WRITTEN,
}
_TOMBSTONED = {config_records.CONNECTOR: Kind.CONNECTOR_TOMBSTONED, config_records.COUNT: Kind.COUNT_TOMBSTONED}


class ConfigTopic:
    """A `ConfigTopic` is the config topic of one cluster; ``numbers`` has the connectors' numbers in events."""

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
        """Return the first record at or after `position`, or None, at the isolation level of `committed`."""
        log = self.brokers.log(self.partition)
        if log.aborted:
            return next(iter(self.records(position, committed)), None)
        for offset in range(position, log.read_limit(committed)):  # the same, without a copy of all that follows
            batch = log.batches[offset]
            if batch.marker < 0 and offset not in self.removed:
                return offset, self.brokers.env.contents[batch.record]
        return None

    def position(self, offset: int, committed: bool) -> int:
        """Return the position of a reader that has read up to `offset`: the next record, or the end."""
        following = self.read(offset, committed)
        return self.end(committed) if following is None else following[0]

    def end(self, committed: bool) -> int:
        """Return the exclusive end of reading for now; a reader of committed records stops at an open transaction."""
        return self.leader.log.read_limit(committed)

    def records(self, position: int = 0, committed: bool = True) -> Iterable[Placed]:
        """Yield all pairs (offset, record) that a reader gets from a position on."""
        contents = self.brokers.env.contents
        answer = self.brokers.log(self.partition).fetch(position, committed)
        for batch in self._reader.skipping(answer):
            if batch.base_offset not in self.removed:
                yield batch.base_offset, contents[batch.record]

    def version(self) -> tuple[int, int, int]:
        """Return a value that stays the same as long as `records` yields the same from the beginning."""
        return self.end(True), len(self.removed), self.leader.log.leader_epoch

    # Producers write records; these methods make events of what they have written.

    def announce(self, start: int, node: int, producer_id: int, epoch: int) -> None:
        for offset, record in self.records(start):
            self.announce_record(record, offset, node, producer_id, epoch)

    def announce_record(self, record: ConfigRecord, offset: int, node: int, producer_id: int, epoch: int) -> None:
        """Emit the event of one committed record; its column `set` is the record's own place for a commit record, else
        the place of the latest commit record."""
        kind, name, task, value = config_records.parse(record)
        code = (_TOMBSTONED if value is None else _WRITTEN).get(kind)
        if kind == config_records.COMMIT and value is not None:
            self.latest_sets[name] = offset
        if code is None:
            return
        counts = kind in (config_records.COMMIT, config_records.COUNT) and value is not None
        belongs = kind in (config_records.COMMIT, config_records.COUNT)
        self.log.emit(
            code, node=node, connector=self.numbers.get(name, NONE), task=task,
            set=self.latest_sets.get(name, NONE) if belongs else NONE,
            count=config_records.count_in(value) if counts and value is not None else NONE,
            offset=offset, producer_id=producer_id, epoch=epoch,
        )  # fmt: skip

    def append_plainly(self, record: ConfigRecord, node: int = NONE) -> int:
        """Append a record without a transaction, for a worker or (-1) another program (618.34)."""
        offset = self.brokers.append_plainly(self.partition, record)
        self.announce_record(record, offset, node, NONE, NONE)
        return offset

    def compact(self) -> None:
        """Compact the topic: the last record of every key stays at its offset. Tombstones stay as well, because
        delete.retention.ms, by default a day, is longer than any worker here is behind: a worker that missed a deletion
        would bring the connector back."""
        remaining = {offset for offset, _ in compacted(self.records(), keep_tombstones=True)}
        end = self.end(True)
        self.removed |= set(range(end)) - remaining
        self.log.emit(Kind.COMPACTED, offset=end)


# A worker's view of the config topic is what it has read so far; listeners are notified of each record.
#
# A background thread reads on, one record at a time; a thread that needs to know more reads to the end itself, which
# advances the same view. The isolation level is read_committed only with exactly-once support enabled.

# A listener gets a record's content, its offset, and whether its connector was known before.
Listener = Callable[[Parsed, int, bool], object]


class View:
    """A `View` is what one worker has read of the config topic; ``position`` is the next record to read."""

    def __init__(self, env: "Environment", node: int, committed: bool, listener: Listener) -> None:
        self.env = env
        self.node = node
        self.committed = committed
        self.listener = listener
        self.state: ClusterConfigState = env.parts.state()
        self.position = 0

    def is_behind(self) -> bool:
        topic = self.env.topic
        # This is called very often, mostly when the view is at the very end of the log, readable or not.
        if self.position >= len(topic.leader.log.batches) or self.position >= topic.end(self.committed):
            return False
        return topic.read(self.position, self.committed) is not None

    def read_one(self) -> None:
        self.take_next()
        self.env.emit(Kind.TOPIC_READ, node=self.node, offset=self.position)

    def read_to_end(self) -> None:
        """Read every record that exists now (KafkaBasedLog.readToEnd)."""
        while self.take_next():
            pass
        self.env.emit(Kind.TOPIC_READ, node=self.node, offset=self.position)

    def take_next(self) -> bool:
        """Apply the next record and notify the listener; return False at the end."""
        topic = self.env.topic
        following = topic.read(self.position, self.committed)
        if following is None:
            self.position = topic.end(self.committed)
            return False
        offset, record = following
        parsed = config_records.parse(record)
        known = self.state.is_known(parsed.connector)
        self.state.apply(record, offset)
        self.position = topic.position(offset + 1, self.committed)
        self.listener(parsed, offset, known)
        return True

    def background(self) -> Script:
        """Read on for ever, as the work thread of KafkaBasedLog does."""
        while True:
            yield Wait(self.is_behind)
            try:
                yield Operation("read", self.node, self.read_one, interrupted=self.is_at_end)
            except OperationError:
                continue  # a poll without success is polled again

    def is_at_end(self) -> bool:
        return not self.is_behind()


# The right to write to the config topic is the leader's transactional producer `connect-cluster-<group>` (618.24).
#
# The worker that opened it last has it. The previous one is refused at its next write, drops its producer, and may
# claim again in its next tick if it still takes itself for the leader (618.26). Leaders without the feature write
# without transactions.

ILLEGAL_STATE = -1  # IllegalStateException: no code of Kafka's


class WritePrivilege:
    """A `WritePrivilege` is the right of one worker, since its start, to write to the config topic. ``fenced`` is true
    if a write was refused or its outcome is unknown, so that the worker has to claim the privilege again. ``commits``
    is false if the worker's process ends before the commit of a write."""

    def __init__(self, env: "Environment", node: int, transactional: bool) -> None:
        self.env = env
        self.node = node
        self.transactional = transactional
        self.producer: TransactionalProducer | None = None
        self.fenced = False
        self.commits = True  # else a write ends before its commit

    @property
    def must_claim(self) -> bool:
        """Return whether a leader has to open a producer before it may write."""
        return self.transactional and (self.fenced or self.producer is None)

    def transactional_id(self) -> str:
        return leader_transactional_id(self.env.config.group_id)

    def claim(self) -> None:
        """Open the producer, which fences every earlier leader. Raise OperationError if it fails."""
        self.drop()
        permissions = of_leader(self.env.config.group_id, NAME)
        producer = TransactionalProducer(self.env.brokers, self.transactional_id(), permissions)
        try:
            producer.open()
        except KafkaError as error:
            raise OperationError("claim", error.code, str(error)) from error
        self.producer = producer
        self.fenced = False
        self.env.emit(Kind.TOPIC_CLAIMED, node=self.node, producer_id=producer.producer_id, epoch=producer.epoch)

    def drop(self) -> None:
        if self.producer is not None:
            self.producer.close()
        self.producer = None

    def lose(self) -> None:
        """Give up the privilege, because a write was refused or its outcome is not known (PrivilegedWriteException)."""
        self.drop()
        self.fenced = self.transactional

    def write(self, records: Iterable[ConfigRecord]) -> None:
        """Write these records in one transaction. Raise OperationError if the producer is refused or missing."""
        if not self.transactional:
            for record in records:
                self.env.topic.append_plainly(record, self.node)
            return
        producer = self.producer
        if producer is None:
            raise OperationError("write", ILLEGAL_STATE, "no producer: the write privilege is not held")
        topic = self.env.topic
        start = len(self.env.brokers.log(topic.partition).batches)
        pair = producer.producer_id, producer.epoch
        try:
            producer.begin()
            for record in records:
                producer.send(topic.partition, record)
            if not self.commits:
                raise OperationError("write", reason="the process is gone")
            producer.commit()
        except KafkaError as error:
            self.lose()
            topic.announce(start, self.node, *pair)  # it may be committed, though the producer was not told
            raise OperationError("write", error.code, str(error)) from error
        topic.announce(start, self.node, *pair)


# This section has what the leader writes to the config topic for users and Connectors, and in which transactions.
#
# The documents have a transaction for every record, Kafka has one for every call (618.25). The configurations of a set
# come first, and its commit record follows in a later transaction.

Job = Callable[["Writes"], Script]


class Writes:
    """`Writes` has the writes of one worker while it leads."""

    def __init__(self, herder: "Herder") -> None:
        self.herder = herder
        self.revision = herder.env.revision

    def may_write(self) -> bool:
        return self.herder.is_leader

    def serve(self, connector: str, job: Job, request: Request, forwarded: bool = False) -> Script:
        """Do the job on the herder's thread if this worker leads; otherwise forward it to the leader, once."""
        herder = self.herder
        if not self.may_write():
            leader = herder.env.workers[herder.leader].herder if herder.leader >= 0 else None
            if forwarded or leader is None:
                herder.env.emit(Kind.WRITE_REFUSED, node=herder.node, connector=herder.env.numbers[connector], error=-1)
                request.finish("not the leader")
            else:
                leader.submit(lambda _: leader.writes.serve(connector, job, request, forwarded=True))
            return
        try:
            yield from job(self)
        except OperationError as error:
            request.finish(str(error))
        else:
            request.finish()

    def transactions(self, batch: Sequence[ConfigRecord], connector: str) -> Script:
        """Write records in one transaction, or in one for each record (618.25). Raise OperationError if it fails."""
        groups = [[record] for record in batch] if self.revision.record_per_transaction else [list(batch)]
        for group in groups:
            if group:
                yield from self.herder.write(group, connector)

    def put_connector(self, connector: str, properties: Mapping[str, str]) -> Script:
        """Write a user's configuration of a connector, which also starts a stopped connector."""
        batch = [config_records.connector_record(connector, properties)]
        if self.revision.states_targets:
            batch.append(config_records.target_state_record(connector, "STARTED"))
        yield from self.transactions(batch, connector)

    def delete(self, connector: str) -> Script:
        """Delete the connector; its task configurations and its task count record stay (618.38)."""
        if self.herder.view.state.is_known(connector):
            batch = [config_records.connector_tombstone(connector), config_records.target_state_tombstone(connector)]
            yield from self.transactions(batch, connector)

    def put_tasks(self, connector: str, configs: Sequence[Mapping[str, str]]) -> Script:
        """Write a set of task configurations, then its commit record (618.3)."""
        state = self.herder.view.state
        if configs and state.target_state(connector) == "STOPPED":
            raise OperationError("write", -1, f"connector {connector} is stopped: no tasks for it")
        if state.is_known(connector):
            batch = [config_records.task_record(connector, task, config) for task, config in enumerate(configs)]
            yield from self.transactions(batch, connector)
            yield from self.transactions([config_records.commit_record(connector, len(configs))], connector)

    def stop(self, connector: str) -> Script:
        """Write an empty set of tasks, then the target state, which needs no privilege."""
        if self.herder.view.state.is_known(connector):
            yield from self.put_tasks(connector, [])
            record = config_records.target_state_record(connector, "STOPPED")
            append = partial(self.herder.env.topic.append_plainly, record, self.herder.node)
            yield self.herder.operation("write", append, connector)
