"""The Connector: the object that makes the configurations of its tasks, on the worker that owns it.

Started, it publishes a set through the leader if its tasks would be configured differently from the newest set. In M it
also asks for rounds: when it starts with nothing to publish, and after the rebalance that follows a new set (618.21).
A round that fails fails the Connector, until it is restarted (618.11).
"""

from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.herder.asking import ask_for_round
from fencepost.reference_impl.task_counts.herder.endpoint import CONFLICT
from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.herder.revisions import CONNECTOR
from fencepost.reference_impl.task_counts.herder.session_keys import OK
from fencepost.reference_impl.task_counts.tasks.threads import Script, Wait

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.herder.herder import Herder

NONE = -1
TASKS_MAX, REVISION = "tasks.max", "revision"


class Connector:
    """One start of one Connector. `stopping`: it ends as soon as it looks."""

    def __init__(self, herder: "Herder", name: str) -> None:
        self.herder = herder
        self.env = herder.env
        self.name = name
        self.stopping = False
        self.failed = False
        self.due = False  # a round has to be asked for
        self.asked_for = NONE  # the newest set when it last asked

    def run(self) -> Script:
        """The thread."""
        unchanged = yield from self.publish()
        if self.stopping:
            return
        self.herder.put_status(self.name, NONE, "RUNNING")
        asks = self.env.revision.rounds_by == CONNECTOR and self.herder.enabled
        self.due = self.due or unchanged
        while asks and not self.failed:
            yield Wait(lambda: self.stopping or self.due)
            if self.stopping:
                return
            yield from self.ask()

    def configs(self) -> list[dict[str, str]] | None:
        """taskConfigs(): None for a connector that is gone or stopped."""
        state = self.herder.view.state
        properties = state.connectors.get(self.name)
        if properties is None or state.target_state(self.name) == "STOPPED":
            return None
        return [{"task": str(task), REVISION: properties[REVISION]} for task in range(int(properties[TASKS_MAX]))]

    def publish(self) -> Script:
        """Have the leader write the set, if it is a new one, until that succeeds; True if there was nothing to do."""
        while not self.stopping:
            configs = self.configs()
            if configs is None:
                return False
            if configs == self.current():
                return True
            leader, request = self.herder.leader, self.hand_to_leader(configs)
            if request is not None:
                life = self.env.workers[leader].lives
                yield Wait(partial(self.is_over, request, leader, life))
                if request.done and not request.error:
                    return False
            retry_ms = self.env.now_ms + self.env.config.retry_backoff_ms
            yield Wait(partial(self.may_retry, retry_ms, leader))
        return False

    def is_over(self, request: Request, leader: int, life: int) -> bool:
        """Whether there is no more to wait for: done, or the leader's process is gone."""
        return request.done or self.stopping or self.env.workers[leader].lives != life

    def may_retry(self, at_ms: int, leader: int) -> bool:
        """After a while, or at once with another leader."""
        return self.stopping or self.env.now_ms >= at_ms or self.herder.leader != leader

    def current(self) -> list[dict[str, str] | None] | None:
        """The newest set as the worker knows it; None if there is none, or it is not whole."""
        state = self.herder.view.state
        if self.name not in state.task_counts or self.name in state.inconsistent:
            return None
        found = [state.task_properties(self.name, task) for task in range(state.tasks(self.name))]
        return [None if properties is None else dict(properties) for properties in found]

    def hand_to_leader(self, configs: list[dict[str, str]]) -> Request | None:
        """Put the set into the leader's queue; None if it cannot be reached."""
        leader = self.env.workers[self.herder.leader].herder if self.herder.leader != NONE else None
        if leader is None:
            return None
        writes, name = leader.writes, self.name
        return leader.submit(lambda request: writes.serve(name, lambda w: w.put_tasks(name, configs), request))

    def rebalanced(self) -> None:
        """A rebalance is over: if there is a set that needs fencing, ask (618.21)."""
        state = self.herder.view.state
        if state.needs_fencing(self.name) and state.set_place(self.name) != self.asked_for:
            self.due = True

    def ask(self) -> Script:
        """Ask the leader for a round. A newer set fails nothing: after a while the Connector asks for that one's."""
        self.due = False
        self.asked_for = self.herder.view.state.set_place(self.name)
        reply = yield from ask_for_round(self.herder, self.name, NONE, lambda: self.stopping)
        if reply.status == CONFLICT:
            retry_ms = self.env.now_ms + self.env.config.retry_backoff_ms
            yield Wait(lambda: self.stopping or self.env.now_ms >= retry_ms)
            self.due = True
        elif reply.status not in (0, OK):
            self.failed = True
            self.herder.put_status(self.name, NONE, "FAILED", reply.trace)
