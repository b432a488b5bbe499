"""Rounds that are refused, or given up, without a reason.  `broken.py` says what breaks.

What such a round costs is a task that has FAILED, which a user starts again (618.11): so the promise that every task
polls in the end, given that failed tasks are restarted, allows for as many as one likes, where it is not bounded.
"""

from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.herder.endpoint import CONFLICT, SERVER_ERROR, trace
from fencepost.reference_impl.task_counts.herder.requests import Reply, Request
from fencepost.reference_impl.task_counts.herder.rounds import Round, Rounds
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.tasks.threads import Script
from fencepost.reference_impl.transactions.clients.admin import RETRIED, Admin
from fencepost.reference_impl.transactions.errors import ErrorCode

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.herder.herder import Herder


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


class GivesUpOn51(Rounds):
    """A round fails where a transaction of an older task is still being ended (618.12)."""

    admin = Impatient
