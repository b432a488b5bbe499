"""Users of a free-running history: they create, reconfigure, stop and delete connectors, and restart what
failed. No faults here.

A user asks any worker that is up; one that is refused asks another worker a little later.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import Run
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.revisions import ASSIGNMENT, CONNECTOR
from fencepost.reference_impl.task_counts.system import System
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState


@dataclass(frozen=True, slots=True)
class Habits(Run):
    """How users behave. Durations are means, in virtual microseconds; shares are of a connector's requests."""

    change_us: Natural = 300_000  # between two requests for one connector
    burst_us: Natural = 30_000  # until the next one, where a user has a change of mind
    burst_share: Rate = 0.35  # of the requests
    ask_again_us: Natural = 20_000  # after a refusal
    restart_us: Natural = 60_000  # until a user restarts a failed task, or connector
    delete_share: Rate = 0.08  # instead of a new configuration; the connector is created again
    stop_share: Rate = 0.05  # a set of no tasks
    fewer_share: Rate = 0.5  # of the changes while a worker stands still
    restart_share: Rate = 0.1  # the connector is restarted, without need


class Users:
    """The users of one history."""

    __slots__ = ("created", "habits", "kernel", "quiet", "random", "seen", "sizes", "system", "tried")

    def __init__(self, system: System, habits: Habits) -> None:
        self.system = system
        self.habits = habits
        self.kernel: Kernel = system.env.kernel
        self.random: Callable[[], float] = self.kernel.random.random
        self.sizes = [-1] * system.env.config.connectors  # tasks that a connector was last given, -1: there is none
        self.created: set[int] = set()  # connectors that there have been
        self.seen = 0  # rows looked at
        self.tried: dict[tuple[int, int], int] = {}  # by (connector, task) that a user restarts: how often already
        self.quiet = False  # nothing new is asked for; what failed is restarted
        for connector in range(len(self.sizes)):
            self.kernel.after(self.kernel.spread(habits.ask_again_us), self.change, connector)

    def some_worker(self) -> int:
        """The worker that is asked."""
        return int(self.random() * self.system.env.config.workers)

    def change(self, connector: int) -> None:
        """The next request about a connector."""
        if self.quiet:
            return
        habits, accepted = self.habits, self.request(connector, self.random())
        if accepted:
            wait_us = habits.burst_us if self.random() < habits.burst_share else habits.change_us
        else:
            wait_us = habits.ask_again_us
        self.kernel.after(self.kernel.spread(wait_us), self.change, connector)

    def change_once(self, _: object) -> None:
        """Some connector that there is gets another size, often a smaller one, if a worker accepts."""
        connector = int(self.random() * len(self.sizes))
        if not self.quiet and self.sizes[connector] >= 0:
            size = self.another_size(self.sizes[connector])
            if self.sizes[connector] > 1 and self.random() < self.habits.fewer_share:
                size = 1 + int(self.random() * (self.sizes[connector] - 1))
            self.accepted(connector, size, self.system.configure(self.some_worker(), connector, size))

    def request(self, connector: int, luck: float) -> bool:
        """Ask some worker; whether it accepts."""
        habits, system, worker = self.habits, self.system, self.some_worker()
        if self.sizes[connector] >= 0:
            if luck < habits.delete_share:
                return self.accepted(connector, -1, system.delete(worker, connector))
            luck -= habits.delete_share
            if luck < habits.stop_share:
                return self.accepted(connector, 0, system.stop_connector(worker, connector))
            if luck - habits.stop_share < habits.restart_share:
                return system.restart_connector(worker, connector)
        size = self.another_size(self.sizes[connector])
        return self.accepted(connector, size, system.configure(worker, connector, size))

    def another_size(self, size: int) -> int:
        """From 1 to the most, mostly not the same as before."""
        most = self.system.env.config.max_tasks
        drawn = 1 + int(self.random() * most)
        return 1 + drawn % most if drawn == size and self.random() < 0.7 else drawn

    def accepted(self, connector: int, size: int, accepted: bool) -> bool:
        """Remember what the connector has now."""
        if accepted:
            self.sizes[connector] = size
        return accepted

    def end(self) -> None:
        """Nothing new is asked for, but that there be each connector. An operator looks whether rounds are missing."""
        self.quiet = True
        for connector in range(len(self.sizes)):
            self.create(connector)
        self.kernel.after(self.habits.restart_us, self.bring_rounds)

    def create(self, connector: int) -> None:
        """A connector that was asked for, and of which nothing was written, is asked for until it is there."""
        if connector not in self.created:
            size = self.another_size(-1)
            self.accepted(connector, size, self.system.configure(self.some_worker(), connector, size))
            self.kernel.after(self.kernel.spread(10 * self.habits.ask_again_us), self.create, connector)

    def bring_rounds(self, _: object) -> None:
        """In A, starts after a round that failed wait for the next rebalance (618.14): some worker is restarted, until
        every connector has had its round. In M a Connector whose round failed is restarted where a task waits for it,
        though another worker has written over its FAILED."""
        rounds_by = self.system.env.revision.rounds_by
        if rounds_by == ASSIGNMENT and self.lacks_a_round():
            self.system.restart_worker(self.some_worker())
        elif rounds_by == CONNECTOR:
            for connector, size in enumerate(self.sizes):
                if any(self.system.status(connector, task)[0] == "UNASSIGNED" for task in range(size)):
                    self.system.restart_connector(self.some_worker(), connector)
        else:
            return
        self.kernel.after(10 * self.habits.restart_us, self.bring_rounds)

    def lacks_a_round(self) -> bool:
        """Whether the topic's end has no count record after the newest set of some connector."""
        state = ClusterConfigState()
        for offset, record in self.system.config_topic():
            state.apply(record, offset)
        return any(state.needs_fencing(name) for name in state.names())

    def look(self, rows: list[Row]) -> None:
        """A user will restart the tasks that have failed since the last look, and Connectors whose round has; and
        sees which connectors there are."""
        for row in rows[self.seen :]:
            kind, connector, task = row[2], row[4], row[5]
            if kind == Kind.CONNECTOR_WRITTEN:
                self.created.add(connector)
            what, failed = (connector, task), kind == Kind.TASK_FAILED or (kind == Kind.ROUND_ANSWERED and task < 0)
            if failed and what not in self.tried:
                self.tried[what] = 0
                self.kernel.after(self.kernel.spread(self.habits.restart_us), self.restart, what)
        self.seen = len(rows)

    def restart(self, what: tuple[int, int]) -> None:
        """Restart what is still failed, a task or (-1) the Connector, and look again whether that helped, each time
        a little later: a start that takes longer than users wait would be interrupted for ever."""
        connector, task = what
        state, worker = self.system.status(connector, task)[0], self.some_worker()
        # Another worker that lets go of the task may have written over what its owner said.
        if state not in ("FAILED", "UNASSIGNED"):
            del self.tried[what]
            return
        if task < 0:
            accepted = self.system.restart_connector(worker, connector)
        else:
            accepted = self.system.restart_task(worker, connector, task)
        self.tried[what] += accepted
        again_us = self.habits.restart_us if accepted else self.habits.ask_again_us
        self.kernel.after(self.kernel.spread(again_us * (1 + self.tried[what])), self.restart, what)
