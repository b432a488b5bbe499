"""Node faults of a free-running history of id blocks: how often they strike, how long they last, what they do."""

from dataclasses import dataclass

from fencepost.reference_impl.id_blocks.system import System
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import LossyRun, NodeFaults


@dataclass(frozen=True, slots=True)
class Run(LossyRun):
    """Rates of faults, and the pace of clients and nodes. Durations are means, in virtual microseconds."""

    events: Natural = 200
    drop: Rate = 0.03
    duplicate: Rate = 0.03
    delay: Rate = 0.03
    restart: Rate = 0.01  # per demand: a broker crashes, and is back after `down_us`
    pause: Rate = 0.005  # per demand: a broker stands still for `pause_us`
    fail_over: Rate = 0.01  # per demand: another controller takes over
    snapshot: Rate = 0.01  # per demand
    upgrade: Rate = 0.03  # per demand, on ZooKeeper: one more broker uses the RPC
    migrate: Rate = 0.05  # per demand, in bridge mode: move to KRaft, if every broker is ready
    client_us: Natural = 2_000
    retry_us: Natural = 100_000  # a refused client waits: retry.backoff.ms
    follower_us: Natural = 1_500
    zookeeper_us: Natural = 2_000
    down_us: Natural = 50_000
    pause_us: Natural = 500_000


class Faults(NodeFaults[Run, System]):
    """The node faults of one history; the place is a broker."""

    names = ("restart", "pause", "fail_over", "snapshot", "upgrade", "migrate")

    def restart(self, number: int) -> bool:
        broker = self.system.brokers[number]
        if not broker.running:
            return False
        broker.crash()
        self.kernel.after(self.kernel.spread(self.run.down_us), self.start, number)
        return True

    def start(self, number: int) -> None:
        if not self.system.brokers[number].running:  # an upgrade may have started it meanwhile
            self.system.restart_broker(number)

    def pause(self, number: int) -> bool:
        broker = self.system.brokers[number]
        if broker.paused or not broker.running:
            return False
        broker.pause()
        self.kernel.after(self.kernel.spread(self.run.pause_us), self.resume, number)
        return True

    def resume(self, number: int) -> None:
        self.system.brokers[number].resume()

    def fail_over(self, _: int) -> bool:
        self.system.fail_over()
        return True

    def snapshot(self, _: int) -> bool:
        if self.system.on_zookeeper:
            return False
        self.system.snapshot()
        return True

    def upgrade(self, number: int) -> bool:
        return self.system.upgrade_broker(number)

    def migrate(self, _: int) -> bool:
        return self.system.migrate()
