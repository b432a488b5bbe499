"""Free-running histories of transactions: `simulate(7, {"mode": "v1-verified", "events": 400, "fail_over": 0.02})`.

At most one node fault is drawn before each step of an application, so that rates are "per step" in histories of any
length. Message faults are "per message", failed appends "per append".
"""

from dataclasses import replace
from typing import Any

from fencepost.reference_impl.simulation import free_run
from fencepost.reference_impl.transactions.clients.roles import ProducerRole
from fencepost.reference_impl.transactions.config import Config
from fencepost.reference_impl.transactions.environment import Environment, SeededPace
from fencepost.reference_impl.transactions.node_faults import Faults, Run
from fencepost.reference_impl.transactions.system import Parts, System
from fencepost.reference_impl.transactions.workload import Workload

TIME_OUTS = 20
"""After so many time-outs without a fault everything has come to its end: a pause lasts for some of them at most."""


class FreeRun(free_run.FreeRun[Run, Config]):
    """A cluster with its applications and faults, all queued in the kernel."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Time-outs that short histories see, and several instances that want one id.
    cluster_defaults = {  # noqa: RUF012
        "clients": 4, "groups": 1, "transaction_timeout_ms": 200, "request_timeout_ms": 100, "timeout_check_ms": 50,
        "expiration_ms": 400, "expiration_check_ms": 100,
    }  # fmt: skip
    defects = "fencepost.reference_impl.transactions.defects.broken"

    def begin(self, parts: Any) -> None:
        """Every slot has an application, which begins after a while; slots are given their ids."""
        config, kernel, run = self.config, self.kernel, self.run
        if run.txn_ids > config.clients:
            raise ValueError(f"config txn_ids={run.txn_ids}: give each one a slot, from 1 to clients={config.clients}")
        pace = SeededPace(kernel, self.faults, run.append_failure, run.append_us, run.load_us)
        self.pace, self.network = pace, run.network(kernel, self.faults)
        env = Environment(config, kernel, self.network, pace)
        self.rows = env.log.rows

        def producer(env: Environment, slot: int) -> ProducerRole:
            made: ProducerRole = parts.producer(env, slot, slot % run.txn_ids)
            return made

        system = System(env, replace(parts, producer=producer))
        self.nodes = Faults(system, run, kernel, self.faults)
        self.workload = Workload(system, run, run.txn_ids)
        for slot in range(config.clients):
            kernel.after(self.workload.first_delay_us(slot), self.step, slot)
        for reader in range(run.readers):
            kernel.after(kernel.spread(run.read_us), self.read, reader)

    def play(self) -> None:
        """Until there are enough rows; and where the history is to end quietly, until nothing is left to happen."""
        if not self.run.quiet_end:
            super().play()
            return
        self.kernel.run(self.rows, self.run.events)
        self.workload.is_over = True
        for faulty in (self.pace, self.network):
            faulty.stop_faults()
        self.faults.stop()
        config = self.config
        self.kernel.advance(TIME_OUTS * 1_000 * max(config.transaction_timeout_ms, config.request_timeout_ms))

    def step(self, slot: int) -> None:
        """An application does the next thing, and will do another."""
        self.nodes.draw()
        self.kernel.after(self.workload.act(slot), self.step, slot)

    def read(self, reader: int) -> None:
        """A reader reads, and will read again."""
        self.kernel.after(self.workload.read(reader), self.read, reader)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
