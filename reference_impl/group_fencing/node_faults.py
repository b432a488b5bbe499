"""Node faults of a free-running history of a consumer group: how often they strike, how long they last."""

from dataclasses import dataclass

from fencepost.reference_impl.group_fencing.clients.application import Application
from fencepost.reference_impl.group_fencing.events import Kind
from fencepost.reference_impl.group_fencing.system import System
from fencepost.reference_impl.group_fencing.workload import Habits
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import NodeFaults


@dataclass(frozen=True, slots=True)
class Run(Habits):
    """Rates of faults, and the pace of brokers. Durations are means, in virtual microseconds."""

    drop: Rate = 0.02
    duplicate: Rate = 0.02
    delay: Rate = 0.03
    append_failure: Rate = 0.01  # per append to the transaction log
    restart: Rate = 0.006  # per step: an instance is killed, and its successor is there after `down_us`
    upgrade: Rate = 0.01  # per step: an old instance ends in order, and a newer one takes its slot
    close: Rate = 0.002  # per step: an instance ends in order, and another one follows
    expire: Rate = 0.005  # per step: the group's coordinator takes a member for dead
    pause: Rate = 0.02  # per step: an instance stands still for `pause_us`, and may be a zombie when it goes on
    fail_over: Rate = 0.01  # per step: another transaction coordinator takes over
    move_group: Rate = 0.01  # per step: another broker is the group's coordinator
    new_leader: Rate = 0.005  # per step: another leader for some output partition
    append_us: Natural = 1_500
    load_us: Natural = 5_000
    group_load_us: Natural = 80_000  # every second time that the group moves; else as long as any other log
    delay_us: Natural = 200_000
    pause_us: Natural = 600_000
    # after `events` there are no faults, and the history goes on until all is copied, or could have been
    quiet_end: bool = False


class Faults(NodeFaults[Run, System]):
    """The node faults of one history; the place is taken modulo what there is."""

    names = ("restart", "close", "upgrade", "expire", "pause", "fail_over", "move_group", "new_leader")

    def restart(self, number: int) -> bool:
        instance = self.system.instances[number % self.system.env.options.members]
        running = instance.running
        instance.stop(Kind.INSTANCE_STOPPED)
        return running

    def close(self, number: int) -> bool:
        instance = self.system.instances[number % self.system.env.options.members]
        running = instance.running
        instance.close()
        return running

    def expire(self, number: int) -> bool:
        return self.system.expire(number % self.system.env.options.members)

    def upgrade(self, number: int) -> bool:
        return self.system.upgrade(number % self.system.env.options.members)

    def pause(self, number: int) -> bool:
        instance = self.system.instances[number % self.system.env.options.members]
        if not instance.pause():
            return False
        self.kernel.after(self.kernel.spread(self.run.pause_us), self.resume, instance)
        return True

    def resume(self, instance: Application) -> None:
        instance.resume()

    def fail_over(self, number: int) -> bool:
        self.system.fail_over(durable=bool(number & 1))
        return True

    def move_group(self, number: int) -> bool:
        self.system.move_group(self.kernel.spread(self.run.group_load_us) // 1000 if number & 1 else 0)
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % self.system.env.options.outputs)
        return True
