"""This module has the defects of task counts in rounds of fencing."""

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
    """The leader fences nothing before it writes the count record (C01)."""

    def ids(self, round: Round) -> Iterable[int]:
        return ()


@defect("618.6", PROMISE)
class FenceNewCount(Rounds):
    """The leader fences as many ids as the new set has tasks, instead of the latest recorded count (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(round.to_record)


@defect("618.6", PROMISE)
class FenceOneLess(Rounds):
    """The leader does not fence the last of the ids (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(round.to_fence - 1)


@defect("618.6", PROMISE)
class FenceFromOne(Rounds):
    """The leader fences ids as if they began with 1 (618.6)."""

    def ids(self, round: Round) -> Iterable[int]:
        return range(1, round.to_fence + 1)


@defect("618.7", PROMISE, mode="B")
class RecordBeforeFencing(Rounds):
    """The leader writes the count record first and fences the ids after it (C08)."""

    def fence_and_hand_over(self, round: Round) -> Script:
        self.herder.submit(partial(self.check_and_conclude, round))
        yield from self.fence(round)
        yield from self.take_out(round)

    def in_assignment(self) -> Script:
        """Write the count records at the assignment, and start the fencing in a thread of its own."""
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
    """The leader answers tasks when all ids are fenced, before the count record is written (618.2)."""

    def conclude(self, round: Round) -> Script:
        for reply in round.replies:
            reply.settle(OK)
        yield from super().conclude(round)


@defect("618.7", PROMISE)
class PartialFailureIgnored(Rounds):
    """An id that could not be fenced does not fail the round (C20)."""

    def all_fenced(self, errors: list[int]) -> bool:
        return True


@defect("618.5", PROMISE)
class ShortcutNewIsOne(Rounds):
    """The leader fences nothing before a set of one task, whatever the number of old tasks (C11)."""

    def must_fence(self, count: int, size: int) -> bool:
        return size != 1


@defect("618.5", PROMISE)
class ShortcutOldIsOne(Rounds):
    """The leader fences nothing after a set of one task, whatever the number of new tasks (C12)."""

    def must_fence(self, count: int, size: int) -> bool:
        return count != 1


@defect("618.5", PROMISE)
class ShortcutEqual(Rounds):
    """The leader fences nothing when the new set has as many tasks as the old one (C13)."""

    def must_fence(self, count: int, size: int) -> bool:
        return count != size


@defect("618.1", PROMISE)
class CountsOneLess(Rounds):
    """The count record holds one producer less than there may be (618.1)."""

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        return max(super().count_to_record(state, connector) - 1, 0)


@defect("618.42", PROMISE)
class RecordOldCount(Rounds):
    """The new count record repeats the count of the record before (C14)."""

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        count = state.count(connector)
        return super().count_to_record(state, connector) if count is None else count


@defect("618.43", PROMISE, mode="B")
class NoRoundCheck(Rounds):
    """The leader does not check after fencing whether there is a newer set (618.43, H12)."""

    def is_overtaken(self, round: Round) -> bool:
        return False

    def overtake(self, connector: str) -> None:
        """A newer set that is read during the round does not end the round."""


@defect("618.43", PROMISE, mode="B")
class ReclaimInBetween(Rounds):
    """The leader may lose its producer and claim it again between the check and the write (618.43)."""

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
    """A round without anything to fence writes no count record and succeeds (618.42)."""

    def conclude(self, round: Round) -> Script:
        if self.has_producers_to_fence(round.connector):
            yield from super().conclude(round)
        else:
            self.finish(round, OK)


class AnyRound(dict[str, Round]):
    """This mapping of active rounds does not distinguish connectors."""

    def __contains__(self, connector: object) -> bool:
        return bool(len(self))

    def __getitem__(self, connector: str) -> Round:
        return next(iter(self.values()))


@defect("618.9", PROMISE, mode="shipped", connectors=2)
class JoinsAnyRound(Rounds):
    """A request during an active round gets its result, even if it is another connector's round (618.9)."""

    def __init__(self, herder: "Herder") -> None:
        super().__init__(herder)
        self.active = AnyRound()


@defect("618.4", PROMISE, mode="shipped")
class AnswersForAnySet(Rounds):
    """A request between the end of a round and its removal gets that round's answer, even for another set, as in
    released Kafka (618.4).

    (DistributedHerder.doFenceZombieSourceTasks looks `activeZombieFencings` up by connector alone, and the callback
    that removes the entry runs in the admin client's thread. This was seen on the classes of 3.9.1, 4.0.0, 4.3.1 and
    4.4.0.)
    """

    def may_join(self, round: Round) -> bool:
        return True


@defect("618.47", NOTHING, INTERFACE)
class FencesAsWorker(Rounds):
    """The leader fences with the worker's permissions, so the connector's permissions are not checked (618.47)."""

    def fence_one(self, round: Round, task: int) -> int:
        acls = self.env.brokers.acls
        denied, acls.denied = acls.denied, set()
        try:
            return super().fence_one(round, task)
        finally:
            acls.denied = denied


# rounds that fence too little, or count as done too early
@defect("618.6", PROMISE)
class FencesWhatMembersOwn(Rounds):
    """The leader fences only those ids of the recorded count whose task some member of the group has (618.6). A task
    that ran on a worker outside the group belongs to no member."""

    def ids(self, round: Round) -> Iterable[int]:
        members = self.herder.group.members.values()
        owned = {task for member in members for task in member.owned.tasks} | self.herder.owned_tasks
        return [task for task in super().ids(round) if (round.connector, task) in owned]


@defect("618.6", PROMISE)
class FencesEachIdOnce(Rounds):
    """A leader fences no id twice, although other producers have opened it since (618.6)."""

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
    """The count record holds the number of tasks that asked for the round, instead of the tasks of the set (618.42)."""

    def conclude(self, round: Round) -> Script:
        round.to_record = min(round.to_record, max(len(round.replies), 1))
        yield from super().conclude(round)


@defect("618.2", PROMISE, mode="shipped")
class FailedRecordIsSuccess(Rounds):
    """A round whose count record could not be written counts as successful after a log message (618.2)."""

    def conclude(self, round: Round) -> Script:
        record = config_records.count_record(self.env.config.mode, round.connector, round.to_record)
        try:
            yield from self.herder.write([record], round.connector, "write_count")
        except OperationError:
            self.herder.warnings.append(f"{round.connector}: the task count record was not written")
        self.finish(round, OK)


@defect("618.7", PROMISE)
class UnauthorizedPassedOver(Rounds):
    """The leader skips an id that the connector's admin client is not permitted to fence (618.7)."""

    def all_fenced(self, errors: list[int]) -> bool:
        return super().all_fenced([error for error in errors if error != TRANSACTIONAL_ID_AUTHORIZATION_FAILED])


@defect("618.4", PROGRESS, STANDS, mode="shipped")
class FailedRoundGoesOn(Rounds):
    """A failed round still counts as active, so later requests wait for its end for ever (618.4)."""

    def may_join(self, round: Round) -> bool:
        return self.has_failed(round) or super().may_join(round)

    def join(self, round: Round, reply: Reply) -> None:
        round.replies.append(reply)

    def remove(self, round: Round) -> None:
        if not self.has_failed(round):
            super().remove(round)

    def has_failed(self, round: Round) -> bool:
        """Return whether the round is over without success."""
        return round.over and round.status != OK


@defect("618.4", PROGRESS, STANDS, mode="shipped")
class RefusedForEver(Rounds):
    """A leader starts no other round for a connector whose round has failed (618.4)."""

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
    """The leader answers the first request for each set with a conflict, as one of the set before (618.4)."""

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
    """This admin client takes CONCURRENT_TRANSACTIONS for a final answer."""

    retried = RETRIED - {ErrorCode.CONCURRENT_TRANSACTIONS}


@defect("618.12", PROGRESS, MENDED)
class GivesUpOn51(Rounds):
    """A round fails while a transaction of an older task is still being ended (618.12)."""

    admin = Impatient
