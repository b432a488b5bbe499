"""How fast the instances of the application go on in a free-running history. No faults here."""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.reference_impl.group_fencing.system import System
from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import LossyRun

SETTLED_US = 8_000_000
"""So long after the last fault a correct cluster has copied everything, with time to spare."""
LOOK_US = 500_000


@dataclass(frozen=True, slots=True)
class Habits(LossyRun):
    """Durations are means, in virtual microseconds."""

    abort_share: Rate = 0.02  # per step: the instance aborts its transaction of its own accord
    linger: Rate = 0.01  # per step: it takes `linger_us` for the next one, perhaps longer than max.poll.interval.ms
    think_us: Natural = 10_000
    wait_us: Natural = 20_000  # until it looks again whether what it waits for has come
    linger_us: Natural = 1_000_000
    down_us: Natural = 100_000  # until another instance is there after one has ended
    audit_us: Natural = 500_000
    calm_us: Natural = 0  # from this time on there are no faults, and nobody lingers; 0: never


class Workload:
    """The instances of one history, by slot."""

    __slots__ = ("habits", "kernel", "random", "system")

    def __init__(self, system: System, habits: Habits) -> None:
        self.system = system
        self.habits = habits
        self.kernel: Kernel = system.env.kernel
        self.random: Callable[[], float] = self.kernel.random.random

    @property
    def calm(self) -> bool:
        """Whether the time of faults is over."""
        return 0 < self.habits.calm_us <= self.kernel.now

    def finish(self) -> None:
        """Goes on without faults until all is copied, or for `SETTLED_US`, with the instances that run by then. A
        member that a late copy of its own heartbeat has given a partition does not read it, as in Kafka, until it is
        restarted, which is done here; a member that is stuck for any other reason stays so."""
        if not self.copies_all():
            for slot, instance in enumerate(self.system.instances):
                if instance.consumer.is_unaware():
                    self.system.restart(slot)
            self.copies_all()
        self.kernel.advance(SETTLED_US // 10)  # the last transaction is committed in the output as well
        self.system.audit()

    def copies_all(self) -> bool:
        """Is everything copied in time?"""
        until = self.kernel.now + SETTLED_US
        while min(self.system.audit()[1]) < self.system.env.options.records:
            if self.kernel.now >= until:
                return False
            self.kernel.advance(LOOK_US)
        return True

    def act(self, slot: int) -> int:
        """The instance in a slot does the next thing; how long until it looks again, in microseconds."""
        system, habits = self.system, self.habits
        if system.is_over(slot):
            if self.calm and any(instance.running for instance in system.instances):
                return habits.wait_us  # those that run are left to get on by themselves
            system.restart(slot)
            return self.kernel.spread(habits.think_us)
        if not self.calm and self.random() < habits.abort_share:
            system.abort(slot)
        moved = system.step(slot)
        if system.is_over(slot):
            return self.kernel.spread(habits.down_us)
        if not self.calm and self.random() < habits.linger:
            return self.kernel.spread(habits.linger_us)
        return self.kernel.spread(habits.think_us if moved else habits.wait_us)
