"""Implementations that break one interface rule of KIP-618 each: a request, a status, a default, a permission.

No promise about who may run needs these rules, so that neither histories nor a driver need find such a defect: tests
that are marked with the rule do.  Each is reachable as `fencepost.reference_impl.defects.task_counts_interface:<name>`.
"""

from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.connect.brokers import OFFSETS_TOPIC, TransactionalProducer, task_transactional_id
from fencepost.reference_impl.connect.config import Config, Kind
from fencepost.reference_impl.connect.config_topic import WritePrivilege
from fencepost.reference_impl.connect.herder import Herder
from fencepost.reference_impl.connect.requests import (
    CONFLICT,
    Decision,
    FenceEndpoint,
    FenceRequest,
    Receiver,
    answered,
)
from fencepost.reference_impl.connect.rounds import Round, Rounds
from fencepost.reference_impl.connect.source_task import ABANDON, SourceTask, TaskFailed
from fencepost.reference_impl.connect.threads import Script
from fencepost.reference_impl.defects.task_counts_rounds import FencesAsWorker
from fencepost.reference_impl.simulation.defects import (
    NOTHING,
    defect,
    plant,
    registry,
)
from fencepost.reference_impl.systems.task_counts_cluster import Parts, build


@defect("618.10", NOTHING)
class ServedWithTheFeature(Herder):
    """The endpoint is there only where the feature is on."""

    @property
    def serves(self) -> bool:
        return super().serves and self.enabled


@defect("618.10", NOTHING)
class NoSessionKey(Herder):
    """The leader writes no session key, so that no worker can sign."""

    def must_make_key(self) -> bool:
        return False


@defect("618.10", NOTHING)
class NeverForwards(FenceEndpoint):
    """A worker that does not lead answers 409."""

    def pass_on(self, request: FenceRequest, receiver: Receiver) -> Decision:
        return answered(CONFLICT)


@defect("618.11", NOTHING)
class FailedRoundIsAConflict(Rounds):
    """A round that failed is answered as one that a newer set has overtaken."""

    def fail(self, round: Round, error: int, cause: str) -> None:
        if not round.over:
            self.emit(Kind.ROUND_FAILED, round, status=CONFLICT, error=error)
            self.finish(round, CONFLICT, cause)


@defect("618.13", NOTHING)
class NoPairInResults(Rounds):
    """The result of an id says whether it is fenced, and not with which producer id and epoch."""

    def emit(self, kind: int, round: Round, **said: Any) -> None:  # type: ignore[override]
        if kind == Kind.ID_FENCED:
            said |= {"producer_id": -1, "epoch": -1}
        super().emit(kind, round, **said)


@defect("618.17", NOTHING)
class OffsetsTopicTakenForGranted(SourceTask):
    """A separate offsets topic is not created."""

    def create(self) -> None:
        """Nothing is asked of the brokers."""


@defect("618.17", NOTHING)
class EveryCreationErrorTolerated(SourceTask):
    """The start goes on after any error in creating the offsets topic."""

    def create(self) -> None:
        try:
            super().create()
        except TaskFailed:
            self.herder.warnings.append(f"task {self.id}: the offsets topic could not be created")


@defect("618.48", NOTHING)
class SizesOfTheConnector(SourceTask):
    """A separate offsets topic has as many partitions as the connector's configuration says."""

    def topic_sizes(self) -> tuple[int, int]:
        partitions, replication = super().topic_sizes()
        return self.env.config.connector_partitions or partitions, replication


@defect("618.54", NOTHING)
class CreatesAllTheSame(SourceTask):
    """A separate offsets topic is created, though topics are not to be."""

    def find(self) -> None:
        super().create()


@defect("618.54", NOTHING)
class MissingTopicTolerated(SourceTask):
    """The start goes on without its offsets topic, where topics are not created."""

    def find(self) -> None:
        try:
            super().find()
        except TaskFailed:
            self.herder.warnings.append(f"task {self.id}: there is no offsets topic")


@defect("618.20", NOTHING)
class PollsBeforeTheCheck(SourceTask):
    """The first poll does not wait for the second check; its commit does."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "check_after")

    def poll_until_stopped(self) -> Script:
        yield from self.attempt("poll", self.send_records)
        yield from self.check_after()
        yield from self.attempt("commit", self.commit)
        yield from super().poll_until_stopped()


@defect("618.20", NOTHING)
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


@defect("618.20", NOTHING)
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


@defect("618.23", NOTHING)
class FiveSecondsWhateverIsSaid(Config):
    """task.shutdown.graceful.timeout.ms is not read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "graceful_shutdown_ms", 5_000)


@defect("618.37", NOTHING)
class TaskNeedsNoPermission(SourceTask):
    """A task's producer writes as a user that may do everything."""

    def open_producer(self) -> Script:
        name = task_transactional_id(self.env.config.group_id, *self.id)
        self.producer = self.producer or TransactionalProducer(self.env.brokers, name, ())
        yield from super().open_producer()


plant("fencing_needs_no_permission", "618.37", NOTHING, FencesAsWorker)


@defect("618.47", NOTHING)
@defect("618.37", NOTHING, name="leader_needs_none")
class LeaderNeedsNoPermission(WritePrivilege):
    """The leader's producer writes as a user that may do everything."""

    def claim(self) -> None:
        acls = self.env.brokers.acls
        denied, acls.denied = acls.denied, set()
        try:
            super().claim()
        finally:
            acls.denied = denied


@defect("618.46", NOTHING)
@dataclass(frozen=True, slots=True)
class OnByDefault(Config):
    """exactly.once.source.support is enabled where it is not set."""

    support: str | tuple[str, ...] = "enabled"


@defect("618.46", NOTHING)
class AlwaysOn(Herder):
    """Source tasks run with exactly-once support, whether it is enabled or not."""

    @property
    def enabled(self) -> bool:
        return True


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
