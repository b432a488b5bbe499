"""This module has the defects of task counts in the config topic."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.brokers import (
    OFFSETS_TOPIC,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    TransactionalProducer,
    task_transactional_id,
)
from fencepost.reference_impl.connect.config import Config, Kind
from fencepost.reference_impl.connect.config_records import OK, ClusterConfigState, ConfigRecord, Properties
from fencepost.reference_impl.connect.config_topic import ConfigTopic, WritePrivilege, Writes
from fencepost.reference_impl.connect.herder import Herder
from fencepost.reference_impl.connect.requests import (
    CONFLICT,
    Decision,
    FenceEndpoint,
    FenceRequest,
    Receiver,
    Verdict,
    answered,
)
from fencepost.reference_impl.connect.rounds import Round, Rounds
from fencepost.reference_impl.connect.source_task import SourceTask, TaskFailed
from fencepost.reference_impl.connect.threads import OperationError, Script
from fencepost.reference_impl.defects.task_counts_rounds import INTERFACE, STANDS, FencesAsWorker
from fencepost.reference_impl.simulation.defects import (
    CONFORMANCE,
    NOTHING,
    PROGRESS,
    PROMISE,
    by_config,
    defect,
)

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.environment import Environment


# who writes to the config topic, and how
@defect("618.24", PROMISE, mode="B")
class PlainLeaderProducer(WritePrivilege):
    """The leader writes with an ordinary producer, which cannot be fenced (C16, H12)."""

    def __init__(self, env: "Environment", node: int, transactional: bool) -> None:
        super().__init__(env, node, False)


@defect("618.26", PROMISE, mode="B")
class ClaimsAgainAtOnce(WritePrivilege):
    """The leader repeats a refused write with a new producer without checking who leads now (618.26)."""

    def write(self, records: Iterable[ConfigRecord]) -> None:
        written = list(records)
        try:
            super().write(written)
        except OperationError:
            self.claim()
            super().write(written)


@defect("618.24", PROMISE, mode="shipped")
class ClaimsLate(WritePrivilege):
    """A leader opens its producer at its first write, and not when it becomes the leader (618.24). The previous leader
    is not fenced until then, so it may write a set between the new leader's read of the topic and its count."""

    @property
    def must_claim(self) -> bool:
        return False

    def write(self, records: Iterable[ConfigRecord]) -> None:
        if self.transactional and self.producer is None:
            self.claim()
        super().write(records)


# what its records mean
@defect("618.38", PROMISE)
class DeletionClearsCount(ClusterConfigState):
    """A worker forgets the count of a deleted connector (C19, B34)."""

    def forget(self, connector: str) -> None:
        super().forget(connector)
        self.counts.pop(connector, None)
        self.counted.pop(connector, None)


@defect("618.3", PROMISE)
class SetWithoutCommit(ClusterConfigState):
    """A task configuration takes effect as soon as it is read, before its set is committed (618.3)."""

    def apply(self, record: ConfigRecord, offset: int) -> None:
        super().apply(record, offset)
        kind, connector, task, value = config_records.parse(record)
        if kind == config_records.TASK and value is not None and self.is_known(connector):
            self.take_effect(connector, self.buffered[connector], offset)
            self.task_counts[connector] = task + 1


@defect(
    "618.3", CONFORMANCE, "what is missing of a set was compacted away or overtaken: its tasks can only fail to start"
)
class CommitIncomplete(ClusterConfigState):
    """A set takes effect although some of its task configurations are missing (618.3)."""

    def is_complete(self, buffer: Mapping[int, Properties], tasks: int) -> bool:
        return True


@defect("618.2", PROMISE)
class AnyRecordCounts(ClusterConfigState):
    """A count record anywhere in the topic counts, even before the latest set (C03)."""

    def needs_fencing(self, connector: str) -> bool:
        return super().needs_fencing(connector) and connector not in self.counts


@defect("618.2", PROMISE, mode="shipped")
class OrderInverted(ClusterConfigState):
    """A set before the count record needs fencing, and a set after it does not (C03)."""

    def needs_fencing(self, connector: str) -> bool:
        return connector not in self.counts or not super().needs_fencing(connector)


@defect("618.6", PROMISE)
class OldestCount(ClusterConfigState):
    """The first count record counts, instead of the latest one (618.6)."""

    def apply_count(self, connector: str, value: Mapping[str, Any] | None, offset: int) -> None:
        first = self.counts.get(connector)
        super().apply_count(connector, value, offset)
        if first is not None and value is not None:
            self.counts[connector] = first


@defect("618.2", PROMISE)
class CompactionKeepsFirst(ConfigTopic):
    """Compaction retains the first record of every key, so a set and its count change their order (C28)."""

    def compact(self) -> None:
        first: dict[str, int] = {}
        for offset, record in self.records():
            first.setdefault(record.key, offset)
        end = self.end(True)
        self.removed |= set(range(end)) - set(first.values())
        self.log.emit(Kind.COMPACTED, offset=end)


@defect("618.10", NOTHING, INTERFACE)
class UnsignedFenceRequests(FenceEndpoint):
    """The endpoint accepts every request for a round, signed or not (618.10)."""

    def signature_status(self, request: FenceRequest, receiver: Receiver) -> int:
        return OK


# records that settle too much
@defect("618.4", PROMISE, mode="shipped", connectors=2)
class CountSettlesEveryConnector(ClusterConfigState):
    """A count record ends the need for fencing of every connector (618.4, 618.9)."""

    def apply_count(self, connector: str, value: Mapping[str, Any] | None, offset: int) -> None:
        super().apply_count(connector, value, offset)
        if value is not None:
            self.pending_fencing.clear()


@defect("618.3", PROMISE)
class ShrunkSetKeepsItsTasks(ClusterConfigState):
    """A set has as many tasks as the connector has configurations, including those of larger sets (618.3)."""

    def tasks(self, connector: str) -> int:
        known = self.task_configs.get(connector, {})
        return max(super().tasks(connector), len(known)) if super().tasks(connector) else 0


@defect("618.38", PROMISE)
class DeletionTombstonesTheCount(Writes):
    """The deletion of a connector also deletes its count record, without any fencing (618.38)."""

    def delete(self, connector: str) -> Script:
        known = self.herder.view.state.is_known(connector)
        yield from super().delete(connector)
        if known:
            mode = self.herder.env.config.mode
            yield from self.transactions([config_records.count_tombstone(mode, connector)], connector)


@defect("618.24", PROMISE, mode="B")
class OwnIdOfEveryLeader(WritePrivilege):
    """Every worker has its own transactional id for the leader's producer, so no leader fences another (618.24)."""

    def transactional_id(self) -> str:
        return f"{super().transactional_id()}-{self.node}"


# who answers, and what counts
@defect("618.15", PROMISE, mode="shipped")
class NotLeadingIsFine(FenceEndpoint):
    """A worker that cannot forward a request for a round to the leader answers it with success (618.10)."""

    def pass_on(self, request: FenceRequest, receiver: Receiver) -> Decision:
        decision = super().pass_on(request, receiver)
        return answered(OK) if decision.verdict is Verdict.ANSWER else decision


class FirstLeader:
    """A `FirstLeader` presents a worker to its tasks with the leader that it had at the first request."""

    def __init__(self, herder: Herder) -> None:
        self.herder, self.leader = herder, herder.leader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.herder, name)

    @property
    def is_leader(self) -> bool:
        return self.leader == self.herder.node


@defect("618.15", PROGRESS, STANDS, mode="shipped")
class AsksTheFirstLeader(SourceTask):
    """A worker always sends its requests for a round to the leader that it had at its first request (618.10)."""

    def ask(self) -> Script:
        herder = self.herder
        first = herder.__dict__.setdefault("first_leader", FirstLeader(herder))
        self.herder = first
        try:
            ending = yield from super().ask()
        finally:
            self.herder = herder
        return ending


@defect("618.15", PROGRESS, STANDS, mode="shipped")
class KeyOfTheStart(ClusterConfigState):
    """A worker signs and verifies with the first session key that it has read, as long as it lives (618.10)."""

    def apply(self, record: ConfigRecord, offset: int) -> None:
        key = self.session_key
        super().apply(record, offset)
        self.session_key = key or self.session_key


@defect("618.6", PROMISE)
class FencesOnceForACount(Rounds):
    """A leader fences an id only once per count, even if a round ended without writing it (618.6)."""

    def __init__(self, herder: Herder) -> None:
        super().__init__(herder)
        self.done: set[tuple[str, int]] = set()

    def ids(self, round: Round) -> Iterable[int]:
        return [task for task in super().ids(round) if (round.connector, task) not in self.done]

    def fence_one(self, round: Round, task: int) -> int:
        error = super().fence_one(round, task)
        if not error:
            self.done.add((round.connector, task))
        return error

    def finish(self, round: Round, status: int, cause: str = "") -> None:
        super().finish(round, status, cause)
        if status == OK:
            self.done = {of for of in self.done if of[0] != round.connector}


@defect(
    "618.43",
    CONFORMANCE,
    "no task of the set that was fenced for has run when a newer one is counted by the same leader",
    mode="shipped",
)
class CountsForTheNewest(Rounds):
    """A round that has fenced its ids counts the newest set, even one written meanwhile (618.43)."""

    def is_overtaken(self, round: Round) -> bool:
        round.to_record = self.count_to_record(self.herder.view.state, round.connector)
        return False

    def overtake(self, connector: str) -> None:
        """A newer set that is read during the round does not end the round."""


@defect("618.7", PROMISE, mode="shipped")
class StopCountsNothing(Writes):
    """Stopping a connector writes a count of 0 along with its empty set, without any fencing (618.7)."""

    def stop(self, connector: str) -> Script:
        known = self.herder.view.state.is_known(connector)
        yield from super().stop(connector)
        if known:
            record = config_records.count_record(self.herder.env.config.mode, connector, 0)
            yield from self.transactions([record], connector)


class RemembersStops(ClusterConfigState):
    """This view records which sets follow an empty set, which `RefusalAfterAStop` needs."""

    def __init__(self) -> None:
        super().__init__()
        self.after_a_stop: set[int] = set()

    def apply_commit(self, connector: str, tasks: int, offset: int) -> None:
        stopped = self.task_counts.get(connector) == 0
        super().apply_commit(connector, tasks, offset)
        if stopped:
            self.after_a_stop.add(offset)


@defect("618.7", PROMISE, also=(RemembersStops,), mode="shipped")
class RefusalAfterAStop(Rounds):
    """After an empty set the leader skips ids that the connector is not permitted to fence (618.7)."""

    def fence(self, round: Round) -> Script:
        state = self.herder.view.state
        self.stopped = isinstance(state, RemembersStops) and round.set in state.after_a_stop
        yield from super().fence(round)

    def all_fenced(self, errors: list[int]) -> bool:
        if getattr(self, "stopped", False):
            errors = [error for error in errors if error != TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
        return super().all_fenced(errors)


class PlainFollowers(WritePrivilege):
    """A worker without a transactional producer writes with an ordinary one, which `FollowersWrite` needs."""

    def write(self, records: Iterable[ConfigRecord]) -> None:
        if self.transactional and self.producer is None:
            for record in records:
                self.env.topic.append_plainly(record, self.node)
        else:
            super().write(records)


# Defects of the interface: a request, a status, a default, a permission.


@defect("618.10", NOTHING, interface=True)
class ServedWithTheFeature(Herder):
    """The endpoint for fencing exists only while exactly-once support is enabled."""

    @property
    def serves(self) -> bool:
        return super().serves and self.enabled


@defect("618.10", NOTHING, interface=True)
class NoSessionKey(Herder):
    """The leader writes no session key, so no worker can sign requests."""

    def must_make_key(self) -> bool:
        return False


@defect("618.10", NOTHING, interface=True)
class NeverForwards(FenceEndpoint):
    """A worker that does not lead answers a request for a round with 409."""

    def pass_on(self, request: FenceRequest, receiver: Receiver) -> Decision:
        return answered(CONFLICT)


@defect("618.11", NOTHING, interface=True)
class FailedRoundIsAConflict(Rounds):
    """A failed round is answered with a conflict, like one that a newer set has overtaken."""

    def fail(self, round: Round, error: int, cause: str) -> None:
        if not round.over:
            self.emit(Kind.ROUND_FAILED, round, status=CONFLICT, error=error)
            self.finish(round, CONFLICT, cause)


@defect("618.13", NOTHING, interface=True)
class NoPairInResults(Rounds):
    """The result of a fenced id lacks its producer id and epoch."""

    def emit(self, kind: int, round: Round, **columns: Any) -> None:  # type: ignore[override]
        if kind == Kind.ID_FENCED:
            columns |= {"producer_id": -1, "epoch": -1}
        super().emit(kind, round, **columns)


@defect("618.17", NOTHING, interface=True)
class OffsetsTopicTakenForGranted(SourceTask):
    """A task does not create its connector's separate offsets topic."""

    def create(self) -> None:
        """The task sends no request to the brokers."""


@defect("618.17", NOTHING, interface=True)
class EveryCreationErrorTolerated(SourceTask):
    """A task starts after any error in creating the offsets topic."""

    def create(self) -> None:
        try:
            super().create()
        except TaskFailed:
            self.herder.warnings.append(f"task {self.id}: the offsets topic could not be created")


@defect("618.48", NOTHING, interface=True)
class SizesOfTheConnector(SourceTask):
    """A separate offsets topic has the number of partitions in the connector's configuration."""

    def topic_sizes(self) -> tuple[int, int]:
        partitions, replication = super().topic_sizes()
        return self.env.config.connector_partitions or partitions, replication


@defect("618.54", NOTHING, interface=True)
class CreatesAllTheSame(SourceTask):
    """A task creates a separate offsets topic although topic creation is disabled."""

    def find(self) -> None:
        super().create()


@defect("618.54", NOTHING, interface=True)
class MissingTopicTolerated(SourceTask):
    """A task starts without its offsets topic where topic creation is disabled."""

    def find(self) -> None:
        try:
            super().find()
        except TaskFailed:
            self.herder.warnings.append(f"task {self.id}: there is no offsets topic")


@defect("618.20", NOTHING, interface=True)
class PollsBeforeTheCheck(SourceTask):
    """A task's first poll does not wait for the second check, although its commit does."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "check_after")

    def poll_until_stopped(self) -> Script:
        yield from self.attempt("poll", self.send_records)
        yield from self.check_after()
        yield from self.attempt("commit", self.commit)
        yield from super().poll_until_stopped()


@defect("618.20", NOTHING, interface=True)
class MismatchTheOtherWay(SourceTask):
    """A task that a newer set has overtaken fails in the modes of the document's revisions and is abandoned in the
    shipped mode, instead of the other way round."""

    def mismatch_fails(self) -> bool:
        return not super().mismatch_fails()


@defect("618.20", NOTHING, interface=True)
class OffsetsOutsideTheTransaction(SourceTask):
    """A task writes the offsets of a poll outside its transaction."""

    def send_records(self) -> None:
        producer = self.producer
        assert producer is not None
        send, here = producer.send, self.env.brokers

        def apart(partition: int, content: Any) -> None:
            if partition == OFFSETS_TOPIC:
                here.append_plainly(partition, content)
            else:
                send(partition, content)

        producer.send = apart  # type: ignore[method-assign]
        super().send_records()


@defect("618.23", NOTHING, interface=True)
class FiveSecondsWhateverIsSaid(Config):
    """The configuration ignores task.shutdown.graceful.timeout.ms and uses 5 seconds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "graceful_shutdown_ms", 5_000)


@defect("618.37", NOTHING, interface=True)
class TaskNeedsNoPermission(SourceTask):
    """A task's producer writes without permission checks."""

    def open_producer(self) -> Script:
        name = task_transactional_id(self.env.config.group_id, *self.id)
        self.producer = self.producer or TransactionalProducer(self.env.brokers, name, ())
        yield from super().open_producer()


by_config("fencing_needs_no_permission", "618.37", NOTHING, FencesAsWorker, interface=True)


@defect("618.47", NOTHING, interface=True)
@defect("618.37", NOTHING, interface=True, name="leader_needs_none")
class LeaderNeedsNoPermission(WritePrivilege):
    """The leader's producer writes without permission checks."""

    def claim(self) -> None:
        acls = self.env.brokers.acls
        denied, acls.denied = acls.denied, set()
        try:
            super().claim()
        finally:
            acls.denied = denied


@defect("618.46", NOTHING, interface=True)
@dataclass(frozen=True, slots=True)
class OnByDefault(Config):
    """exactly.once.source.support is enabled by default."""

    support: str | tuple[str, ...] = "enabled"


@defect("618.46", NOTHING, interface=True)
class AlwaysOn(Herder):
    """Source tasks run with exactly-once support, whether or not it is enabled."""

    @property
    def enabled(self) -> bool:
        return True
