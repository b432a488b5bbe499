"""Free-running histories of a consumer group: `simulate(7, {"mode": "shipped", "events": 400, "pause": 0.05})`.

At most one node fault is drawn before each step of an instance, so that rates are "per step" in histories of any
length. Message faults are "per message", failed appends "per append".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fencepost.reference_impl.group_fencing.config import Config
from fencepost.reference_impl.group_fencing.environment import Environment
from fencepost.reference_impl.group_fencing.node_faults import Faults, Run
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.system import System
from fencepost.reference_impl.group_fencing.workload import Workload
from fencepost.reference_impl.simulation import free_run
from fencepost.reference_impl.transactions.environment import SeededPace


class FreeRun(free_run.FreeRun[Run, Config]):
    """A cluster with its instances and faults, all queued in the kernel."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Time-outs that short histories see.
    cluster_defaults = {  # noqa: RUF012
        "members": 3, "inputs": 3, "fetch_records": 1, "session_timeout_ms": 300, "heartbeat_ms": 60,
        "max_poll_ms": 1_000, "initial_delay_ms": 30, "transaction_timeout_ms": 400, "request_timeout_ms": 100,
        "timeout_check_ms": 50,
    }  # fmt: skip
    defects = "fencepost.reference_impl.group_fencing.defects.broken"

    @classmethod
    def implementation(cls, broken: str) -> tuple[Mapping[str, Any], Any]:
        """A defect is played with what it needs to show."""
        if not broken:
            return {}, Parts()
        defect = cls.defect(broken)
        return dict(defect.needs), defect.parts

    def begin(self, parts: Any) -> None:
        """Every slot has an instance, which begins after a while."""
        config, kernel, run = self.config, self.kernel, self.run
        pace = SeededPace(kernel, self.faults, run.append_failure, run.append_us, run.load_us)
        self.network = run.network(kernel, self.faults)
        env = Environment(config, kernel, self.network, pace, parts)
        self.rows = env.log.rows
        self.system = System(env)
        self.nodes = Faults(self.system, run, kernel, self.faults)
        self.workload = Workload(self.system, run)
        for slot in range(config.members):
            kernel.after(kernel.spread(run.think_us), self.step, slot)
        kernel.after(run.audit_us, self.audit)
        if run.calm_us:
            kernel.at(run.calm_us, self.calm)

    def play(self) -> None:
        """So many events, and with `quiet_end` the rest."""
        if not self.run.quiet_end:
            super().play()
            return
        self.kernel.run(self.rows, self.run.events)
        self.workload.habits = replace(self.run, calm_us=max(1, self.kernel.now))
        self.network.calm()
        self.workload.finish()

    def step(self, slot: int) -> None:
        """An instance does the next thing, and will do another."""
        if not self.workload.calm:
            self.nodes.draw()
        self.kernel.after(self.workload.act(slot), self.step, slot)

    def audit(self, _: object) -> None:
        """An auditor looks, and will look again."""
        self.system.audit()
        self.kernel.after(self.run.audit_us, self.audit)

    def calm(self, _: object) -> None:
        """The time of faults is over."""
        self.network.calm()


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
