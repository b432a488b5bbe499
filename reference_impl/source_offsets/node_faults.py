"""Faults of a free-running history of source tasks, and what operators do in it: how often, and how long it lasts."""

from dataclasses import dataclass

from fencepost.reference_impl.simulation import free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.source_offsets.system import System


@dataclass(frozen=True, slots=True)
class Rates(free_run.Run):
    """Rates are per step of a thread. Durations are means, in virtual microseconds."""

    kill: Rate = 0.006  # the process of an instance is gone, and after a while there is another one
    stall: Rate = 0.006  # an instance stands still, and often there is another one before it goes on
    restart: Rate = 0.004  # there is another instance, and the one before goes on
    stop: Rate = 0.008  # an instance ends in order, and there is another one
    configure: Rate = 0.004  # so many tasks from now on; perhaps with a topic of their own
    ask: Rate = 0.01  # a connector that defines boundaries asks for one
    fail_over: Rate = 0.002
    new_leader: Rate = 0.002
    owner: Rate = 0.01  # of the earlier text: another worker takes the Connector, while one perhaps stands still
    switch: Rate = 0.004  # where operators do what the guarantee excludes: the feature, or the topic, is taken away
    stall_us: Natural = 60_000
    down_us: Natural = 20_000


class Faults(free_run.NodeFaults[Rates, System]):
    """What strikes a task does so at its newest instance."""

    names = (
        "ask", "configure", "fail_over", "kill", "new_leader", "owner", "restart", "stall", "stop", "switch",
    )  # fmt: skip

    def task(self, number: int) -> int:
        """The task that a number stands for."""
        return number % self.system.env.tasks

    def kill(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.kill(task):
            return False
        self.later(self.run.down_us, task)
        return True

    def stall(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.stall(task):
            return False
        self.kernel.after(self.kernel.spread(self.run.stall_us), self.resume, task)
        if number & 64:
            self.later(self.run.down_us, task)
        return True

    def resume(self, task: int) -> None:
        """It goes on."""
        self.system.resume(task)

    def restart(self, number: int) -> bool:
        return self.system.restart(self.task(number))

    def stop(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.stop(task):
            return False
        self.later(self.run.down_us, task)
        return True

    def later(self, mean_us: int, task: int) -> None:
        """Another instance of the task is there after a while."""
        self.kernel.after(self.kernel.spread(mean_us), self.start, task)

    def start(self, task: int) -> None:
        """Another instance, if the task still has none, or one that stands still or ends."""
        env = self.system.env
        if env.lacks_instance(task) or env.assigned[task].process in env.threads.stalled:
            self.system.restart(task)

    def configure(self, number: int) -> bool:
        env = self.system.env
        separate = bool(number & 256) or (env.separate and not env.config.taken)
        if separate and not env.separate:
            self.kernel.after(self.kernel.spread(self.run.down_us), self.start_owner)
        return self.system.configure(1 + number % env.config.tasks, separate)

    def start_owner(self, _: object) -> None:
        """The Connector goes to another worker soon after it was given a topic of its own."""
        self.system.start_owner()

    def ask(self, number: int) -> bool:
        return self.system.ask_boundary(self.task(number), bool(number & 256))

    def fail_over(self, number: int) -> bool:
        self.system.fail_over()
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % 3)
        return True

    def owner(self, number: int) -> bool:
        if number & 256 and self.system.stall_owner():
            self.kernel.after(self.kernel.spread(self.run.stall_us), self.resume_owners)
        return self.system.start_owner()

    def resume_owners(self, _: object) -> None:
        """They go on."""
        self.system.resume_owners()

    def switch(self, number: int) -> bool:
        """Take the feature away, or bring it back."""
        env = self.system.env
        if not env.config.downgrades:
            return False
        return self.system.upgrade() if env.runtime else self.system.downgrade(bool(number & 256))
