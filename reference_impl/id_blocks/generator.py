"""Free-running histories: a cluster, its clients and its faults, moved by nothing but a seed.

    rows = simulate(7, {"mode": "bridge", "events": 500, "restart": 0.02})

gives 500 rows in the order of `events.COLUMNS`; the same seed and config give the same rows in any process. One
client per broker asks for ids in a loop; before each demand at most one node fault is drawn, so that rates are
"per demand" whatever the length. Message faults are "per message".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fencepost.reference_impl.id_blocks.config import KEYS, parse
from fencepost.reference_impl.id_blocks.environment import Environment, SeededPace
from fencepost.reference_impl.id_blocks.system import Parts, System
from fencepost.reference_impl.simulation import FaultMix, Kernel, LossyNetwork
from fencepost.reference_impl.simulation.log import Row

MESSAGE_FAULTS = ("drop", "duplicate", "delay")
NODE_FAULTS = ("restart", "pause", "fail_over", "snapshot", "upgrade", "migrate")


@dataclass(frozen=True, slots=True)
class Run:
    """What a free-running history adds to the cluster's config. Durations are means, in virtual microseconds."""

    events: int = 200
    broken: str = ""  # name of a broken implementation (broken.REGISTRY); empty: the correct one
    drop: float = 0.03  # per message: lost
    duplicate: float = 0.03  # per message: a second copy comes later
    delay: float = 0.03  # per message: held up for about `delay_us`, beyond the time-out and every reordering
    restart: float = 0.01  # per demand: a broker crashes, and is back after `down_us`
    pause: float = 0.005  # per demand: a broker stands still for `pause_us`
    fail_over: float = 0.01  # per demand: another controller takes over
    snapshot: float = 0.01  # per demand
    upgrade: float = 0.03  # per demand, on ZooKeeper: one more broker uses the RPC
    migrate: float = 0.05  # per demand, in bridge mode: move to KRaft, if every broker is ready
    schedule: list[tuple[int, str, int]] = field(default_factory=list)  # due for certain: (time_us, node fault, broker)
    client_us: int = 2_000
    retry_us: int = 100_000  # a refused client waits: retry.backoff.ms
    latency_us: int = 1_000
    follower_us: int = 1_500
    zookeeper_us: int = 2_000
    delay_us: int = 1_000_000
    down_us: int = 50_000
    pause_us: int = 500_000


RUN_KEYS = frozenset(f.name for f in fields(Run))
# What differs from the driven cluster: small blocks, so that short histories see many; stale controllers answer 41.
CLUSTER_DEFAULTS: dict[str, Any] = {"block_size": 10, "controller_discovery": "at_sending"}


def simulate(seed: int, config: Mapping[str, Any]) -> list[Row]:
    """One history: rows in column order. Keys: those of `Config` and of `Run`; `seed` wins over a key of that name."""
    return simulate_with_stats(seed, config)[0]


def simulate_with_stats(seed: int, config: Mapping[str, Any]) -> tuple[list[Row], dict[str, int]]:
    """One history, and how often each fault was injected in it. Raises ValueError for a bad config."""
    unknown = config.keys() - RUN_KEYS - KEYS
    if unknown:
        raise ValueError(f"config has unknown keys {sorted(unknown)}: known are {sorted(RUN_KEYS | KEYS)}")
    run = Run(**{key: config[key] for key in config if key in RUN_KEYS})
    cluster = CLUSTER_DEFAULTS | {key: config[key] for key in config if key in KEYS} | {"seed": seed}
    history = FreeRun(run, cluster)
    kernel, rows = history.env.kernel, history.env.log.rows
    kernel.run(rows, run.events)
    del rows[run.events :]  # the last thing that happened may have written several rows
    return rows, history.faults.counts


class FreeRun:
    """A cluster with its clients and faults, all queued in the kernel."""

    __slots__ = ("env", "faults", "run", "system")

    def __init__(self, run: Run, cluster: Mapping[str, Any]) -> None:
        config = parse(cluster)
        kernel = Kernel(config.seed)
        self.run = run
        self.faults = FaultMix(kernel.random, {fault: getattr(run, fault) for fault in self.faults_of(config.mode)})
        odds = {fault: getattr(run, fault) for fault in MESSAGE_FAULTS}
        network = LossyNetwork(kernel, self.faults, odds, run.latency_us, run.delay_us)
        pace = SeededPace(kernel, config.controllers, run.follower_us, run.zookeeper_us)
        self.env = Environment(config, kernel, network, pace)
        self.system = System(self.env, parts_of(run.broken))
        for broker in range(config.brokers):
            kernel.after(kernel.spread(run.client_us), self.demand, broker)
        for time_us, fault, broker in run.schedule:
            kernel.at(time_us, self.strike, (fault, broker))

    @staticmethod
    def faults_of(mode: str) -> tuple[str, ...]:
        """The node faults that a mode can have."""
        if mode == "kraft":
            return ("restart", "pause", "fail_over", "snapshot")
        return NODE_FAULTS if mode == "bridge" else ("restart", "pause", "fail_over", "upgrade")

    def demand(self, number: int) -> None:
        """A client asks a broker for an id, and will ask again."""
        fault = self.faults.draw()
        if fault is not None:
            self.strike((fault, int(self.env.kernel.random.random() * self.env.config.brokers)))
        kernel, run, broker = self.env.kernel, self.run, self.system.brokers[number]
        served = broker.running and not broker.paused and broker.init_producer_id()[0] == 0
        kernel.after(kernel.spread(run.client_us if served else run.retry_us), self.demand, number)

    def strike(self, what: tuple[str, int]) -> None:
        """Inject one fault; it counts only if it changed anything."""
        fault, number = what
        if fault not in NODE_FAULTS:
            raise ValueError(f"no node fault is called {fault!r}: known are {', '.join(NODE_FAULTS)}")
        if getattr(self, fault)(number):
            self.faults.count(fault)

    def restart(self, number: int) -> bool:
        broker = self.system.brokers[number]
        if not broker.running:
            return False
        broker.crash()
        self.env.kernel.after(self.env.kernel.spread(self.run.down_us), self.start, number)
        return True

    def start(self, number: int) -> None:
        if not self.system.brokers[number].running:  # an upgrade may have started it meanwhile
            self.system.restart_broker(number)

    def pause(self, number: int) -> bool:
        broker = self.system.brokers[number]
        if broker.paused or not broker.running:
            return False
        broker.pause()
        self.env.kernel.after(self.env.kernel.spread(self.run.pause_us), self.resume, number)
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


def parts_of(broken: str) -> Parts:
    """The pieces of the broken implementation of that name; of the correct one for the empty name."""
    if not broken:
        return Parts()
    from fencepost.reference_impl.id_blocks.defects.broken import find  # only histories with a defect need the defects

    return find(broken).parts
