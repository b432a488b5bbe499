"""Implementations that break one interface rule of KIP-618 each: a request, a status, a default, a permission.

No promise about who may run needs these rules, so that neither histories nor a driver need find such a defect: tests
that are marked with the rule do.  Each is reachable as `fencepost.reference_impl.task_counts.defects.interface:<name>`.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation.defects import Breaks, Registry
from fencepost.reference_impl.task_counts.brokers import OFFSETS_TOPIC
from fencepost.reference_impl.task_counts.config import Config
from fencepost.reference_impl.task_counts.defects.broken import Broken
from fencepost.reference_impl.task_counts.defects.rounds import FencesAsWorker
from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.endpoint import (
    CONFLICT,
    Decision,
    FenceEndpoint,
    FenceRequest,
    Receiver,
    answered,
)
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.rounds import Round, Rounds
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.permissions import task_transactional_id
from fencepost.reference_impl.task_counts.tasks.producers import TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.source_task import ABANDON, SourceTask, TaskFailed
from fencepost.reference_impl.task_counts.tasks.threads import Script
from fencepost.reference_impl.task_counts.topic.privilege import WritePrivilege


class ServedWithTheFeature(Herder):
    """The endpoint is there only where the feature is on."""

    @property
    def serves(self) -> bool:
        return super().serves and self.enabled


class NoSessionKey(Herder):
    """The leader writes no session key, so that no worker can sign."""

    def must_make_key(self) -> bool:
        return False


class NeverForwards(FenceEndpoint):
    """A worker that does not lead answers 409."""

    def pass_on(self, request: FenceRequest, receiver: Receiver) -> Decision:
        return answered(CONFLICT)


class FailedRoundIsAConflict(Rounds):
    """A round that failed is answered as one that a newer set has overtaken."""

    def fail(self, round: Round, error: int, cause: str) -> None:
        if not round.over:
            self.emit(Kind.ROUND_FAILED, round, status=CONFLICT, error=error)
            self.finish(round, CONFLICT, cause)


class NoPairInResults(Rounds):
    """The result of an id says whether it is fenced, and not with which producer id and epoch."""

    def emit(self, kind: int, round: Round, **said: Any) -> None:  # type: ignore[override]
        if kind == Kind.ID_FENCED:
            said |= {"producer_id": -1, "epoch": -1}
        super().emit(kind, round, **said)


class OffsetsTopicTakenForGranted(SourceTask):
    """A separate offsets topic is not created."""

    def create(self) -> None:
        """Nothing is asked of the brokers."""


class EveryCreationErrorTolerated(SourceTask):
    """The start goes on after any error in creating the offsets topic."""

    def create(self) -> None:
        try:
            super().create()
        except TaskFailed:
            self.herder.warnings.append(f"task {self.id}: the offsets topic could not be created")


class CreatesAllTheSame(SourceTask):
    """A separate offsets topic is created, though topics are not to be."""

    def find(self) -> None:
        super().create()


class MissingTopicTolerated(SourceTask):
    """The start goes on without its offsets topic, where topics are not created."""

    def find(self) -> None:
        try:
            super().find()
        except TaskFailed:
            self.herder.warnings.append(f"task {self.id}: there is no offsets topic")


class PollsBeforeTheCheck(SourceTask):
    """The first poll does not wait for the second check; its commit does."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "check_after")

    def poll_until_stopped(self) -> Script:
        yield from self.attempt("poll", self.send_records)
        yield from self.check_after()
        yield from self.attempt("commit", self.commit)
        yield from super().poll_until_stopped()


class MismatchTheOtherWay(SourceTask):
    """A start that a newer set has overtaken fails in the documents' revisions, and is abandoned as shipped."""

    def check_after(self) -> Script:
        passed = yield from self.attempt("check_after", self.check_generation)
        if passed:
            return None
        if not self.env.revision.mismatch_fails:
            raise TaskFailed(
                f"ConnectException: task {self.id}: generation {self.generation} is not the newest any more"
            )
        return ABANDON


class OffsetsOutsideTheTransaction(SourceTask):
    """The offsets of a poll are written beside its transaction."""

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


class FiveSecondsWhateverIsSaid(Config):
    """task.shutdown.graceful.timeout.ms is not read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "graceful_shutdown_ms", 5_000)


@dataclass(frozen=True, slots=True)
class OnByDefault(Config):
    """exactly.once.source.support is enabled where it is not set."""

    support: str | tuple[str, ...] = "enabled"


class AlwaysOn(Herder):
    """Source tasks run with exactly-once support, whether it is enabled or not."""

    @property
    def enabled(self) -> bool:
        return True


class SizesOfTheConnector(SourceTask):
    """A separate offsets topic has as many partitions as the connector's configuration says."""

    def topic_sizes(self) -> tuple[int, int]:
        partitions, replication = super().topic_sizes()
        return self.env.config.connector_partitions or partitions, replication


class LeaderNeedsNoPermission(WritePrivilege):
    """The leader's producer writes as a user that may do everything."""

    def claim(self) -> None:
        acls = self.env.brokers.acls
        denied, acls.denied = acls.denied, set()
        try:
            super().claim()
        finally:
            acls.denied = denied


class TaskNeedsNoPermission(SourceTask):
    """A task's producer writes as a user that may do everything."""

    def open_producer(self) -> Script:
        name = task_transactional_id(self.env.config.group_id, *self.id)
        self.producer = self.producer or TransactionalProducer(self.env.brokers, name, ())
        yield from super().open_producer()


NOTHING = Breaks.NOTHING
_BROKEN = (
    Broken("served_with_the_feature", "618.10", NOTHING, Parts(herder=ServedWithTheFeature)),
    Broken("no_session_key", "618.10", NOTHING, Parts(herder=NoSessionKey)),
    Broken("never_forwards", "618.10", NOTHING, Parts(endpoint=NeverForwards)),
    Broken("failed_round_is_a_conflict", "618.11", NOTHING, Parts(rounds=FailedRoundIsAConflict)),
    Broken("no_pair_in_results", "618.13", NOTHING, Parts(rounds=NoPairInResults)),
    Broken("offsets_topic_taken_for_granted", "618.17", NOTHING, Parts(task=OffsetsTopicTakenForGranted)),
    Broken("every_creation_error_tolerated", "618.17", NOTHING, Parts(task=EveryCreationErrorTolerated)),
    Broken("sizes_of_the_connector", "618.48", NOTHING, Parts(task=SizesOfTheConnector)),
    Broken("creates_all_the_same", "618.54", NOTHING, Parts(task=CreatesAllTheSame)),
    Broken("missing_topic_tolerated", "618.54", NOTHING, Parts(task=MissingTopicTolerated)),
    Broken("polls_before_the_check", "618.20", NOTHING, Parts(task=PollsBeforeTheCheck)),
    Broken("mismatch_the_other_way", "618.20", NOTHING, Parts(task=MismatchTheOtherWay)),
    Broken("offsets_outside_the_transaction", "618.20", NOTHING, Parts(task=OffsetsOutsideTheTransaction)),
    Broken("five_seconds_whatever_is_said", "618.23", NOTHING, Parts(config=FiveSecondsWhateverIsSaid)),
    Broken("task_needs_no_permission", "618.37", NOTHING, Parts(task=TaskNeedsNoPermission)),
    Broken("fencing_needs_no_permission", "618.37", NOTHING, Parts(rounds=FencesAsWorker)),
    Broken("leader_needs_none", "618.37", NOTHING, Parts(privilege=LeaderNeedsNoPermission)),
    Broken("on_by_default", "618.46", NOTHING, Parts(config=OnByDefault)),
    Broken("always_on", "618.46", NOTHING, Parts(herder=AlwaysOn)),
    Broken("leader_needs_no_permission", "618.47", NOTHING, Parts(privilege=LeaderNeedsNoPermission)),
)

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
