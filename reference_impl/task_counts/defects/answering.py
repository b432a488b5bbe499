"""Leaders, and workers that are taken for one, that answer and count with one thing wrong each.  `broken.py` says what
each of them breaks."""

from collections.abc import Iterable
from typing import Any

from fencepost.reference_impl.task_counts.herder.endpoint import (
    Decision,
    FenceEndpoint,
    FenceRequest,
    Receiver,
    Verdict,
    answered,
)
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.rounds import Round, Rounds
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.permissions import TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.tasks.threads import Script
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState
from fencepost.reference_impl.task_counts.topic.records import ConfigRecord
from fencepost.reference_impl.task_counts.topic.writes import Writes


class NotLeadingIsFine(FenceEndpoint):
    """A worker that knows of no leader to hand a request on to, or may not, answers that all is well (618.10)."""

    def pass_on(self, request: FenceRequest, receiver: Receiver) -> Decision:
        decision = super().pass_on(request, receiver)
        return answered(OK) if decision.verdict is Verdict.ANSWER else decision


class FirstLeader:
    """A worker as its tasks see it: with the leader that it had when one of them first asked."""

    def __init__(self, herder: Herder) -> None:
        self.herder, self.leader = herder, herder.leader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.herder, name)

    @property
    def is_leader(self) -> bool:
        """Whether that was itself."""
        return self.leader == self.herder.node


class AsksTheFirstLeader(SourceTask):
    """A worker asks the worker that led its group when it first asked, as long as it lives (618.10)."""

    def ask(self) -> Script:
        herder = self.herder
        first = herder.__dict__.setdefault("first_leader", FirstLeader(herder))
        self.herder = first
        try:
            ending = yield from super().ask()
        finally:
            self.herder = herder
        return ending


class KeyOfTheStart(ClusterConfigState):
    """The session key that a worker has read first is the one by which it signs and verifies, as long as it lives
    (618.10)."""

    def apply(self, record: ConfigRecord, offset: int) -> None:
        key = self.session_key
        super().apply(record, offset)
        self.session_key = key or self.session_key


class FencesOnceForACount(Rounds):
    """An id that a leader has fenced for a round without a count needs no other before it writes one (618.6)."""

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


class CountsForTheNewest(Rounds):
    """A round that has fenced all its ids counts the newest set, though that came meanwhile (618.43)."""

    def is_overtaken(self, round: Round) -> bool:
        round.to_record = self.count_to_record(self.herder.view.state, round.connector)
        return False

    def overtake(self, connector: str) -> None:
        """A new set that is read while the round is under way does not end it."""


class StopCountsNothing(Writes):
    """With the set of no tasks of a stopped connector its count is written, for which nothing was fenced (618.7)."""

    def stop(self, connector: str) -> Script:
        known = self.herder.view.state.is_known(connector)
        yield from super().stop(connector)
        if known:
            record = records.count_record(self.herder.env.config.mode, connector, 0)
            yield from self.transactions([record], connector)


class RefusalAfterAStop(Rounds):
    """After a set of no tasks an id that the connector may not fence is passed over: none of them runs (618.7)."""

    def fence(self, round: Round) -> Script:
        state = self.herder.view.state
        self.stopped = isinstance(state, RemembersStops) and round.set in state.after_a_stop
        yield from super().fence(round)

    def all_fenced(self, errors: list[int]) -> bool:
        if getattr(self, "stopped", False):
            errors = [error for error in errors if error != TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
        return super().all_fenced(errors)


class RemembersStops(ClusterConfigState):
    """Sets that follow a set of no tasks: what `RefusalAfterAStop` needs."""

    def __init__(self) -> None:
        super().__init__()
        self.after_a_stop: set[int] = set()

    def apply_commit(self, connector: str, tasks: int, offset: int) -> None:
        stopped = self.task_counts.get(connector) == 0
        super().apply_commit(connector, tasks, offset)
        if stopped:
            self.after_a_stop.add(offset)
