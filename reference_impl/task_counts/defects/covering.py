"""Rounds that cover fewer producers than may be alive, or take for done what is not.  `broken.py` says what breaks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.herder.requests import Reply
from fencepost.reference_impl.task_counts.herder.rounds import Round, Rounds
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.permissions import TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script
from fencepost.reference_impl.task_counts.topic import records

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.herder.herder import Herder


class FencesWhatMembersOwn(Rounds):
    """Of the ids that the count record covers those are fenced whose task some member of the group has (618.6).

    A task that ran on a worker which is out of the group is nobody's.
    """

    def ids(self, round: Round) -> Iterable[int]:
        members = self.herder.group.members.values()
        owned = {task for member in members for task in member.owned.tasks} | self.herder.owned_tasks
        return [task for task in super().ids(round) if (round.connector, task) in owned]


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


class CountsWhoAsked(Rounds):
    """The record counts the tasks that have asked for the round, not those of the set (618.42)."""

    def conclude(self, round: Round) -> Script:
        round.to_record = min(round.to_record, max(len(round.replies), 1))
        yield from super().conclude(round)


class FailedRecordIsSuccess(Rounds):
    """A count record that was not written is logged, and the round is a success: everything is fenced (618.2)."""

    def conclude(self, round: Round) -> Script:
        record = records.count_record(self.env.config.mode, round.connector, round.to_record)
        try:
            yield from self.herder.write([record], round.connector, "write_count")
        except OperationError:
            self.herder.warnings.append(f"{round.connector}: the task count record was not written")
        self.finish(round, OK)


class UnauthorizedPassedOver(Rounds):
    """An id for which the connector's admin lacks a permission is passed over (618.7)."""

    def all_fenced(self, errors: list[int]) -> bool:
        return super().all_fenced([error for error in errors if error != TRANSACTIONAL_ID_AUTHORIZATION_FAILED])


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
        """Whether it is over, and nothing came of it."""
        return round.over and round.status != OK
