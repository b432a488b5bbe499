"""Defects of task counts: rounds of fencing."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.brokers import TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from fencepost.reference_impl.connect.config_records import OK, ClusterConfigState
from fencepost.reference_impl.connect.requests import CONFLICT, SERVER_ERROR, Reply, Request, trace
from fencepost.reference_impl.connect.rounds import Round, Rounds
from fencepost.reference_impl.connect.threads import OperationError, Script
from fencepost.reference_impl.kafka.clients.admin import RETRIED, Admin
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.simulation.defects import NOTHING, PROGRESS, PROMISE, defect

if TYPE_CHECKING:
    from fencepost.reference_impl.connect.herder import Herder


MENDED = "a task fails for which nothing went wrong; who starts it again has it run"


STANDS = "who asks gets no answer, or a failure, again and again, and no older set is let go on by that"


INTERFACE = "no topic shows it; tests of the interface do"


# rounds
@defect("618.7", PROMISE)
class NoFencing(Rounds):
    """Nothing is fenced before the record is written (C01)."""

    def ids(self, round: Round) -> Iterable[int]:
        return ()


@defect("618.6", PROMISE)
class FenceNewCount(Rounds):
    """As many ids are fenced as the new set has tasks, not as the latest count record says (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(round.to_record)


@defect("618.6", PROMISE)
class FenceOneLess(Rounds):
    """The last of the ids is left out (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(round.to_fence - 1)


@defect("618.6", PROMISE)
class FenceFromOne(Rounds):
    """Ids are taken to begin with 1 (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(1, round.to_fence + 1)


@defect("618.7", PROMISE, mode="B")
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


@defect("618.2", PROMISE, mode="shipped")
class AnswersBeforeRecord(Rounds):
    """The tasks that asked get their answer as soon as everything is fenced, before the record is written (618.2)."""

    def conclude(self, round: Round) -> Script:
        for reply in round.replies:
            reply.settle(OK)
        yield from super().conclude(round)


@defect("618.7", PROMISE)
class PartialFailureIgnored(Rounds):
    """An id that could not be fenced does not stop the round (C20)."""

    def all_fenced(self, errors: list[int]) -> bool:
        return True


@defect("618.5", PROMISE)
class ShortcutNewIsOne(Rounds):
    """Nothing is fenced before a set of one task, however many there were (C11)."""

    def must_fence(self, count: int, size: int) -> bool:
        return size != 1


@defect("618.5", PROMISE)
class ShortcutOldIsOne(Rounds):
    """Nothing is fenced after a set of one task, however many there will be (C12)."""

    def must_fence(self, count: int, size: int) -> bool:
        return count != 1


@defect("618.5", PROMISE)
class ShortcutEqual(Rounds):
    """Nothing is fenced when the new set has as many tasks as the old one (C13)."""

    def must_fence(self, count: int, size: int) -> bool:
        return count != size


@defect("618.1", PROMISE)
class CountsOneLess(Rounds):
    """The record says one producer less than there may be (618.1)."""

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        return max(super().count_to_record(state, connector) - 1, 0)


@defect("618.42", PROMISE)
class RecordOldCount(Rounds):
    """The new record says what the one before stated (C14)."""

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        count = state.count(connector)
        return super().count_to_record(state, connector) if count is None else count


@defect("618.43", PROMISE, mode="B")
class NoRoundCheck(Rounds):
    """After fencing, the leader does not look whether there is a newer set (618.43, H12)."""

    def is_overtaken(self, round: Round) -> bool:
        return False

    def overtake(self, connector: str) -> None:
        """A new set that is read while the round is under way does not end it."""


@defect("618.43", PROMISE, mode="B")
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


@defect("618.42", PROMISE, mode="shipped")
class NoCountWhenNothingToFence(Rounds):
    """A round without anything to fence writes no record, and is a success (618.42)."""

    def conclude(self, round: Round) -> Script:
        if self.has_producers_to_fence(round.connector):
            yield from super().conclude(round)
        else:
            self.finish(round, OK)


class AnyRound(dict[str, Round]):
    """The rounds under way of a leader that does not distinguish connectors."""

    def __contains__(self, connector: object) -> bool:
        return bool(len(self))

    def __getitem__(self, connector: str) -> Round:
        return next(iter(self.values()))


@defect("618.9", PROMISE, mode="shipped", connectors=2)
class JoinsAnyRound(Rounds):
    """Who asks while a round is under way gets its result, though it be another connector's (618.9)."""

    def __init__(self, herder: "Herder") -> None:
        super().__init__(herder)
        self.active = AnyRound()


@defect("618.4", PROMISE, mode="shipped")
class AnswersForAnySet(Rounds):
    """As released: who asks between the end of a round and its removal gets its answer, be it for another set (618.4).

    (DistributedHerder.doFenceZombieSourceTasks looks `activeZombieFencings` up by connector alone; the callback that
    removes the entry is the admin client's thread's. On the classes of 3.9.1, 4.0.0, 4.3.1 and 4.4.0.)
    """

    def may_join(self, round: Round) -> bool:
        return True


@defect("618.47", NOTHING, INTERFACE)
class FencesAsWorker(Rounds):
    """Fencing acts as the worker, so that no permission of the connector's is asked for (618.47)."""

    def fence_one(self, round: Round, task: int) -> int:
        acls = self.env.brokers.acls
        denied, acls.denied = acls.denied, set()
        try:
            return super().fence_one(round, task)
        finally:
            acls.denied = denied


# rounds that cover too little, or are taken for done
@defect("618.6", PROMISE)
class FencesWhatMembersOwn(Rounds):
    """Of the ids that the count record covers those are fenced whose task some member of the group has (618.6).

    A task that ran on a worker which is out of the group belongs to no worker.
    """

    def ids(self, round: Round) -> Iterable[int]:
        members = self.herder.group.members.values()
        owned = {task for member in members for task in member.owned.tasks} | self.herder.owned_tasks
        return [task for task in super().ids(round) if (round.connector, task) in owned]


@defect("618.6", PROMISE)
class FencesEachIdOnce(Rounds):
    """A leader remembers which ids it has fenced, and does not fence them again (618.6).

    Since then other producers have opened them.
    """

    def __init__(self, herder: "Herder") -> None:
        super().__init__(herder)
        self.done: set[tuple[str, int]] = set()

    def ids(self, round: Round) -> Iterable[int]:
        return [task for task in super().ids(round) if (round.connector, task) not in self.done]

    def fence_one(self, round: Round, task: int) -> int:
        error = super().fence_one(round, task)
        if not error:
            self.done.add((round.connector, task))
        return error


@defect("618.42", PROMISE, mode="shipped")
class CountsWhoAsked(Rounds):
    """The record counts the tasks that have asked for the round, not those of the set (618.42)."""

    def conclude(self, round: Round) -> Script:
        round.to_record = min(round.to_record, max(len(round.replies), 1))
        yield from super().conclude(round)


@defect("618.2", PROMISE, mode="shipped")
class FailedRecordIsSuccess(Rounds):
    """A count record that was not written is logged, and the round is a success: everything is fenced (618.2)."""

    def conclude(self, round: Round) -> Script:
        record = config_records.count_record(self.env.config.mode, round.connector, round.to_record)
        try:
            yield from self.herder.write([record], round.connector, "write_count")
        except OperationError:
            self.herder.warnings.append(f"{round.connector}: the task count record was not written")
        self.finish(round, OK)


@defect("618.7", PROMISE)
class UnauthorizedPassedOver(Rounds):
    """An id for which the connector's admin lacks a permission is passed over (618.7)."""

    def all_fenced(self, errors: list[int]) -> bool:
        return super().all_fenced([error for error in errors if error != TRANSACTIONAL_ID_AUTHORIZATION_FAILED])


@defect("618.4", PROGRESS, STANDS, mode="shipped")
class FailedRoundGoesOn(Rounds):
    """A round that has failed still counts as the one under way: who asks later waits for its end (618.4)."""

    def may_join(self, round: Round) -> bool:
        return self.has_failed(round) or super().may_join(round)

    def join(self, round: Round, reply: Reply) -> None:
        round.replies.append(reply)

    def remove(self, round: Round) -> None:
        if not self.has_failed(round):
            super().remove(round)

    def has_failed(self, round: Round) -> bool:
        """Return whether it is over, and nothing came of it."""
        return round.over and round.status != OK


@defect("618.4", PROGRESS, STANDS, mode="shipped")
class RefusedForEver(Rounds):
    """A connector of which a round has failed gets no other one from this leader (618.4)."""

    def __init__(self, herder: "Herder") -> None:
        super().__init__(herder)
        self.refused: set[str] = set()

    def serve(self, connector: str, number: int, reply: Reply, request: Request) -> Script:
        if connector in self.refused:
            reply.settle(SERVER_ERROR, trace(SERVER_ERROR, connector, "its round has failed"))
        yield from super().serve(connector, number, reply, request)

    def finish(self, round: Round, status: int, cause: str = "") -> None:
        super().finish(round, status, cause)
        if status != OK:
            self.refused.add(round.connector)


@defect("618.4", PROGRESS, MENDED, mode="shipped")
class RefusedAtFirst(Rounds):
    """Who asks for a round of a set of which this leader has heard of no other request is told that there is a conflict
    (618.4): the leader takes the first request for one of the set before."""

    def __init__(self, herder: "Herder") -> None:
        super().__init__(herder)
        self.heard: set[tuple[str, int]] = set()

    def serve(self, connector: str, number: int, reply: Reply, request: Request) -> Script:
        asked = connector, self.herder.view.state.set_place(connector)
        if asked not in self.heard and self.has_producers_to_fence(connector):
            self.heard.add(asked)
            reply.settle(CONFLICT, trace(CONFLICT, connector, "a newer set of task configurations was committed"))
        yield from super().serve(connector, number, reply, request)


class Impatient(Admin):
    """An admin client that takes CONCURRENT_TRANSACTIONS for an answer."""

    retried = RETRIED - {ErrorCode.CONCURRENT_TRANSACTIONS}


@defect("618.12", PROGRESS, MENDED)
class GivesUpOn51(Rounds):
    """A round fails where a transaction of an older task is still being ended (618.12)."""

    admin = Impatient
