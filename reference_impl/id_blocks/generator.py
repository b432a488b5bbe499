"""Free-running histories of id blocks: `simulate(7, {"mode": "bridge", "events": 500, "restart": 0.02})`.

One client per broker asks for ids in a loop; before each demand at most one node fault is drawn, so that rates are
"per demand" in histories of any length. Message faults are "per message".
"""

from typing import Any

from fencepost.reference_impl.id_blocks.config import Config
from fencepost.reference_impl.id_blocks.environment import Environment, SeededPace
from fencepost.reference_impl.id_blocks.node_faults import Faults, Run
from fencepost.reference_impl.id_blocks.system import Parts, System
from fencepost.reference_impl.simulation import free_run


class FreeRun(free_run.FreeRun[Run, Config]):
    """A cluster with its clients and faults, all queued in the kernel."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Small blocks, so that short histories see many; stale controllers answer 41.
    cluster_defaults = {"block_size": 10, "controller_discovery": "at_sending"}  # noqa: RUF012
    defects = "fencepost.reference_impl.id_blocks.defects.broken"

    def possible_faults(self) -> tuple[str, ...]:
        """Those of the mode: KRaft has nothing to upgrade or to migrate, ZooKeeper no snapshots."""
        if self.config.mode == "kraft":
            return ("restart", "pause", "fail_over", "snapshot")
        return Faults.names if self.config.mode == "bridge" else ("restart", "pause", "fail_over", "upgrade")

    def begin(self, parts: Any) -> None:
        """One client per broker, which asks after a while."""
        config, kernel, run = self.config, self.kernel, self.run
        pace = SeededPace(kernel, config.controllers, run.follower_us, run.zookeeper_us)
        env = Environment(config, kernel, run.network(kernel, self.faults), pace)
        self.rows = env.log.rows
        self.system = System(env, parts)
        self.nodes = Faults(self.system, run, kernel, self.faults)
        self.nodes.places = config.brokers
        for broker in range(config.brokers):
            kernel.after(kernel.spread(run.client_us), self.demand, broker)

    def demand(self, number: int) -> None:
        """A client asks a broker for an id, and will ask again."""
        self.nodes.draw()
        kernel, run, broker = self.kernel, self.run, self.system.brokers[number]
        served = broker.running and not broker.paused and broker.init_producer_id()[0] == 0
        kernel.after(kernel.spread(run.client_us if served else run.retry_us), self.demand, number)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
