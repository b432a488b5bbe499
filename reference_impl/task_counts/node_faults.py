"""Faults of a free-running history: workers stall, crash, are given up; the topic is compacted; others write.

Stalls are aimed: mostly at a worker that runs a task and does not lead, and a user gives a connector another size just
then, so that the worker is a zombie with an old task when it goes on; often its tasks are the first to go on.
"""

from dataclasses import dataclass

from fencepost.reference_impl.simulation import FaultMix, Kernel
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import NodeFaults
from fencepost.reference_impl.task_counts.system import System
from fencepost.reference_impl.task_counts.workload import Habits, Users

AT_WORK = ("poll", "send", "flush", "copy", "commit", "abort")  # what running tasks do for ever
FIRST_STEPS = 6  # for so many steps the tasks of a worker that goes on come first


@dataclass(frozen=True, slots=True)
class Rates(Habits):
    """How often, per step of the scheduler, and for how long (means, in virtual microseconds)."""

    stall: Rate = 0.012  # a worker stands still
    aimed_share: Rate = 0.8  # of the stalls: of a worker with running tasks that does not lead
    change_at_stall: Rate = 0.6  # of the stalls: a user gives some connector another size at once
    first_share: Rate = 0.5  # of the workers that go on after a stall: their tasks before anything else
    crash: Rate = 0.002  # a worker is gone, and back after a while
    expire: Rate = 0.002  # a worker's session ends, though it is there
    compact: Rate = 0.001
    foreign_set: Rate = 0.0  # a program that is no worker writes to the config topic (618.34)
    foreign_count: Rate = 0.0
    new_support: Rate = 0.0  # a worker is restarted with another exactly.once.source.support (618.33)
    refuse: Rate = 0.0  # a connector may not fence for a while, and a user changes it, perhaps stopped before (618.47)
    stall_us: Natural = 300_000
    refuse_us: Natural = 200_000
    down_us: Natural = 60_000
    session_us: Natural = 80_000  # until the group goes on without a worker that is away


class Faults(NodeFaults[Rates, System]):
    """The faults of one history. `away` are the workers that are stalled or down, and since which absence."""

    names = ("stall", "crash", "expire", "compact", "foreign_set", "foreign_count", "new_support", "refuse")

    def __init__(self, system: System, rates: Rates, kernel: Kernel, mix: FaultMix, users: Users) -> None:
        super().__init__(system, rates, kernel, mix)
        self.users = users
        self.random = kernel.random.random
        self.workers = system.env.config.workers
        self.away: dict[int, tuple[str, int]] = {}
        self.absences = 0
        self.first, self.first_steps = -1, 0  # whose tasks go first, and for how many steps
        self.quiet = False  # nothing goes wrong any more

    def draw(self) -> None:
        """Perhaps something goes wrong now."""
        fault = self.mix.draw()
        if fault is not None and not self.quiet:
            number = int(self.random() * self.places)
            if fault == "stall" and self.random() < self.run.aimed_share:
                number = self.some_follower_at_work(number)
            if number >= 0:
                self.strike((fault, number))

    def end(self) -> None:
        """Workers that are away come back, and nothing goes wrong any more."""
        self.quiet = True
        for connector in range(self.system.env.config.connectors):
            self.system.set_fencing(connector, True)
        for worker, absence in sorted(self.away.items()):
            self.come_back((worker, absence))

    def strike(self, what: tuple[str, int]) -> None:
        """Inject one fault, unless nothing goes wrong any more."""
        if not self.quiet:
            super().strike(what)

    def stall(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.stall(worker)
        self.leave(worker, "stalled", self.run.stall_us)
        if self.random() < self.run.change_at_stall:
            self.kernel.at(self.kernel.now, self.users.change_once)
        return True

    def some_follower_at_work(self, number: int) -> int:
        """A worker that runs a task and does not lead: such a zombie matters; -1 if there is none."""
        leader = self.system.env.group.leader
        busy = sorted({thread[2] for thread in self.system.threads() if thread[1] in AT_WORK} - {leader})
        return busy[number % len(busy)] if busy else -1

    def crash(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.crash(worker)
        self.leave(worker, "down", self.run.down_us)
        return True

    def leave(self, worker: int, how: str, mean_us: int) -> None:
        """A worker is away for a while: long enough for its session to end, or not."""
        self.absences += 1
        absence = self.away[worker] = (how, self.absences)
        self.kernel.after(self.kernel.spread(mean_us), self.come_back, (worker, absence))
        self.kernel.after(self.kernel.spread(self.run.session_us), self.session_ends, (worker, absence))

    def session_ends(self, what: tuple[int, tuple[str, int]]) -> None:
        """The group goes on without a worker that is still away."""
        worker, absence = what
        if self.away.get(worker) == absence:
            self.system.expire(worker)

    def come_back(self, what: tuple[int, tuple[str, int]]) -> None:
        """A stalled worker goes on, one that is down starts again."""
        worker, absence = what
        if self.away.get(worker) == absence:
            del self.away[worker]
            if absence[0] == "stalled":
                if self.random() < self.run.first_share:
                    self.first, self.first_steps = worker, FIRST_STEPS
                self.system.resume(worker)
            else:
                self.system.restart_worker(worker)

    def expire(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.expire(worker)
        return True

    def compact(self, number: int) -> bool:
        self.system.compact()
        return True

    def foreign_set(self, number: int) -> bool:
        return self.foreign("set", number)

    def foreign_count(self, number: int) -> bool:
        return self.foreign("count", number)

    def foreign(self, kind: str, number: int) -> bool:
        config = self.system.env.config
        self.system.write_foreign(kind, number % config.connectors, 1 + number // 16 % config.max_tasks)
        return True

    def new_support(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.set_support(worker, ("disabled", "enabled")[number // 16 % 2])
        return True

    def refuse(self, number: int) -> bool:
        connector = number % self.system.env.config.connectors
        self.system.set_fencing(connector, False)
        self.kernel.after(self.kernel.spread(self.run.refuse_us), self.permit, connector)
        users, worker = self.users, self.users.some_worker()
        if users.sizes[connector] >= 0:
            if number // 16 % 2:
                self.system.stop_connector(worker, connector)
            size = users.another_size(users.sizes[connector])
            users.accepted(connector, size, self.system.configure(worker, connector, size))
        return True

    def permit(self, connector: int) -> None:
        """The connector may fence again."""
        self.system.set_fencing(connector, True)
