"""Rounds of fencing with one thing wrong each. `broken.py` says what each of them breaks."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.herder.rounds import Round, Rounds
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.herder.herder import Herder


class NoFencing(Rounds):
    """Nothing is fenced before the record is written (C01)."""

    def ids(self, round: Round) -> Iterable[int]:
        return ()


class FenceNewCount(Rounds):
    """As many ids are fenced as the new set has tasks, not as the latest count record says (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(round.to_record)


class FenceOneLess(Rounds):
    """The last of the ids is left out (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(round.to_fence - 1)


class FenceFromOne(Rounds):
    """Ids are taken to begin with 1 (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(1, round.to_fence + 1)


class RecordBeforeFencing(Rounds):
    """The record is written first, the ids are fenced after it (C08)."""

    def fence_and_hand_over(self, round: Round) -> Script:
        self.herder.submit(partial(self.check_and_conclude, round))
        yield from self.fence(round)
        yield from self.take_out(round)

    def in_assignment(self) -> Script:
        """Write the records, and hand the assignment out; the fencing follows in a thread of its own."""
        state = self.herder.view.state
        for name in [name for name in state.names() if state.needs_fencing(name)]:
            round = self.prepare(name, self.env.next_request())
            fences = self.has_producers_to_fence(name)
            self.start(round)
            yield from self.conclude(round)
            if fences:
                self.env.threads.start(self.herder.node, self.fence(round))


class AnswersBeforeRecord(Rounds):
    """The tasks that asked get their answer as soon as everything is fenced, before the record is written (618.2)."""

    def conclude(self, round: Round) -> Script:
        for reply in round.replies:
            reply.settle(OK)
        yield from super().conclude(round)


class PartialFailureIgnored(Rounds):
    """An id that could not be fenced does not stop the round (C20)."""

    def all_fenced(self, errors: list[int]) -> bool:
        return True


class ShortcutNewIsOne(Rounds):
    """Nothing is fenced before a set of one task, however many there were (C11)."""

    def must_fence(self, count: int, size: int) -> bool:
        return size != 1


class ShortcutOldIsOne(Rounds):
    """Nothing is fenced after a set of one task, however many there will be (C12)."""

    def must_fence(self, count: int, size: int) -> bool:
        return count != 1


class ShortcutEqual(Rounds):
    """Nothing is fenced when the new set has as many tasks as the old one (C13)."""

    def must_fence(self, count: int, size: int) -> bool:
        return count != size


class RecordOldCount(Rounds):
    """The new record says what the one before said (C14)."""

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        count = state.count(connector)
        return super().count_to_record(state, connector) if count is None else count


class CountsOneLess(Rounds):
    """The record says one producer less than there may be (618.1)."""

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        return max(super().count_to_record(state, connector) - 1, 0)


class NoRoundCheck(Rounds):
    """After fencing, the leader does not look whether there is a newer set (618.43, H12)."""

    def is_overtaken(self, round: Round) -> bool:
        return False

    def overtake(self, connector: str) -> None:
        """A new set that is read while the round is under way does not end it."""


class ReclaimInBetween(Rounds):
    """Check and write are two things that the herder does: in between it may lose the privilege, and claim it again
    (618.43)."""

    def check_and_conclude(self, round: Round, request: Request) -> Script:
        yield from self.only_check(round)
        request.finish()
        if not round.over:
            self.herder.submit(partial(self.only_conclude, round))

    def only_check(self, round: Round) -> Script:
        if not round.over:
            try:
                yield self.herder.operation("check_round", partial(self.check, round), round.connector)
            except OperationError as error:
                self.fail(round, error.code, str(error))

    def only_conclude(self, round: Round, request: Request) -> Script:
        yield from self.conclude(round)
        request.finish()


class AnyRound(dict[str, Round]):
    """The rounds under way of a leader that does not tell connectors apart."""

    def __contains__(self, connector: object) -> bool:
        return bool(len(self))

    def __getitem__(self, connector: str) -> Round:
        return next(iter(self.values()))


class JoinsAnyRound(Rounds):
    """Who asks while a round is under way gets its result, though it be another connector's (618.9)."""

    def __init__(self, herder: "Herder") -> None:
        super().__init__(herder)
        self.active = AnyRound()


class AnswersForAnySet(Rounds):
    """As released: who asks between the end of a round and its removal gets its answer, be it for another set (618.4).

    (DistributedHerder.doFenceZombieSourceTasks looks `activeZombieFencings` up by connector alone; the callback that
    removes the entry is the admin client's thread's. On the classes of 3.9.1, 4.0.0, 4.3.1 and 4.4.0.)
    """

    def may_join(self, round: Round) -> bool:
        return True


class FencesAsWorker(Rounds):
    """Fencing acts as the worker, so that no permission of the connector's is asked for (618.47)."""

    def fence_one(self, round: Round, task: int) -> int:
        acls = self.env.brokers.acls
        denied, acls.denied = acls.denied, set()
        try:
            return super().fence_one(round, task)
        finally:
            acls.denied = denied


class NoCountWhenNothingToFence(Rounds):
    """A round without anything to fence writes no record, and is a success (618.42)."""

    def conclude(self, round: Round) -> Script:
        if self.has_producers_to_fence(round.connector):
            yield from super().conclude(round)
        else:
            self.finish(round, OK)
