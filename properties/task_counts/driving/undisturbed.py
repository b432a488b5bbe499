"""A cluster in which nothing has gone wrong: what bounds the restarts that 618.P4 takes for granted.

A round of fencing fails by a fault (an operation that fails, a worker that is away, a leader that changes), by a newer
set, or by an answer that stays the same however often it is asked for (a permission).  While an older transaction ends
the coordinator says CONCURRENT_TRANSACTIONS (51), and the admin client of the leader asks again, up to its time-out
(FenceProducersHandler.handleError; Worker.fenceZombies, 90 s).  A round that is over is soon taken from those under
way, whatever came of it (DistributedHerder.ZombieFencing.start), and who asks for a newer set gets a new one.  So where
there was no fault, no task has to be started again.

Nor may a user be hasty: a task of a newer set that asks while the round of an older one is under way joins that one,
and is answered 409 with the others (DistributedHerder.doFenceZombieSourceTasks, onZombieFencingSuccess).  One that need
not be fenced, of a set of one task after a count of one, does not join it: then the older round, which may have to wait
for a transaction to end, fences the new task when that is running, and it stays failed.
"""

from collections.abc import Iterator, Sequence

from fencepost.properties.driving import Made, Message
from fencepost.properties.task_counts.driving.seen import Seen, Task
from fencepost.properties.task_counts.scenarios.settling import MOST

HARMLESS = frozenset({"run", "do", "work", "configure", "restart_task", "restart_connector", "status"})
"""Calls by which nothing goes wrong.  The rest may be the reason of a failure, or of a wait: faults, and a connector
that goes."""
PATIENCE_MS = 60_000
"""So much time may pass in all: a request for a round that is held up is given up after 90 s
(RestServer.DEFAULT_REST_REQUEST_TIMEOUT_MS)."""


USERS = frozenset({"configure", "restart_task", "restart_connector"})


class Undisturbed:
    """Feed it every call.  ``still``: nothing has gone wrong so far; ``asked``: how often a user was served
    since the cluster was last at rest."""

    def __init__(self, seen: Seen) -> None:
        self.seen, self.still, self.passed_ms, self.asked = seen, True, 0, 0

    def note(self, made: Made) -> None:
        """Take note of a call."""
        self.passed_ms += made.call.get("ms", 0)
        self.asked += made.call.name in USERS and bool(made.result)
        self.still = self.still and not self.seen.outside and self._is_harmless(made)

    def _is_harmless(self, made: Made) -> bool:
        match made.call.name:
            case "step":
                return bool(made.call.get("outcome") == "ok")
            case "advance":
                return self.passed_ms <= PATIENCE_MS
        return made.call.name in HARMLESS

    def starved(self, made: Made, messages: Sequence[Message]) -> Sequence[Task]:
        """(connector, task) of each task of a newest set that does not poll, or has failed, where the cluster has come
        to rest though nothing has gone wrong."""
        if not self.still or not _rests(made, messages):
            return ()
        starved = sorted({*self.seen.lacking(), *self._failed()})
        self.still = not starved and self.asked < 2
        if self.asked > 1:  # an older round may still be under way, which nothing need show
            starved = []
        self.asked = 0
        return starved

    def _failed(self) -> Iterator[Task]:
        """Those that failed, though another instance may poll by now."""
        for connector, task, of in self.seen.failed:
            topic = self.seen.topics[connector]
            if of == topic.newest and not topic.deleted:
                yield connector, task


def _rests(made: Made, messages: Sequence[Message]) -> bool:
    """Is nothing under way after this call?  A task that is about to commit may be waited for."""
    if made.call.name != "run" or made.call.get("spared") or made.result is None or made.result >= MOST:
        return False
    return all(message[1] == "poll" for message in messages)
