"""Free-running histories: a cluster, its applications and its faults, moved by nothing but a seed.

    rows = simulate(7, {"mode": "v1-verified", "events": 400, "fail_over": 0.02})

gives 400 rows in the order of `events.COLUMNS`; the same seed and config give the same rows in any process. At most
one node fault is drawn before each step of an application, so that rates are "per step" whatever the length. Message
faults are "per message", failed appends "per append".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fencepost.reference_impl.simulation import FaultMix, Kernel, LossyNetwork
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.clients.roles import ProducerRole
from fencepost.reference_impl.transactions.config import KEYS, Config, parse
from fencepost.reference_impl.transactions.environment import Environment, SeededPace
from fencepost.reference_impl.transactions.system import Parts, System
from fencepost.reference_impl.transactions.workload import Habits, Workload

MESSAGE_FAULTS = ("drop", "duplicate", "delay")
NODE_FAULTS = ("restart", "pause", "fail_over", "new_leader", "fence")


@dataclass(frozen=True, slots=True)
class Run(Habits):
    """What a free-running history adds to the cluster's config. Durations are means, in virtual microseconds."""

    events: int = 300
    broken: str = ""  # name of a broken implementation (broken.REGISTRY); empty: the correct one
    txn_ids: int = 2  # transactional ids; slot s has the id s modulo this number
    readers: int = 1
    drop: float = 0.01  # per message: lost
    duplicate: float = 0.02  # per message: a second copy comes later
    delay: float = 0.03  # per message: held up for about `delay_us`, beyond the time-outs
    append_failure: float = 0.01  # per append to the transaction log
    restart: float = 0.008  # per step: a producer crashes, and its successor is there after `down_us`
    pause: float = 0.02  # per step: a producer stands still for `pause_us`, and may be a zombie when it goes on
    fail_over: float = 0.012  # per step: another coordinator takes over
    new_leader: float = 0.012  # per step: another leader for some partition
    fence: float = 0.006  # per step: an administrator fences some transactional id
    schedule: list[tuple[int, str, int]] = field(default_factory=list)  # for certain: (time_us, node fault, number)
    latency_us: int = 1_000
    append_us: int = 1_500
    load_us: int = 5_000
    delay_us: int = 100_000
    down_us: int = 50_000
    pause_us: int = 300_000


RUN_KEYS = frozenset(f.name for f in fields(Run))
# What differs from the driven cluster: time-outs that short histories see, and several instances that want one id.
CLUSTER_DEFAULTS: dict[str, Any] = {
    "clients": 4,
    "groups": 1,
    "transaction_timeout_ms": 200,
    "request_timeout_ms": 100,
    "timeout_check_ms": 50,
    "expiration_ms": 400,
    "expiration_check_ms": 100,
}


def simulate(seed: int, config: Mapping[str, Any]) -> list[Row]:
    """One history: rows in column order. Keys: those of `Config` and of `Run`; `seed` wins over a key of that name."""
    return simulate_with_stats(seed, config)[0]


def simulate_with_stats(seed: int, config: Mapping[str, Any]) -> tuple[list[Row], dict[str, int]]:
    """One history, and how often each fault was injected in it. Raises ValueError for a bad config."""
    unknown = config.keys() - RUN_KEYS - KEYS
    if unknown:
        raise ValueError(f"config has unknown keys {sorted(unknown)}: known are {sorted(RUN_KEYS | KEYS)}")
    run = Run(**{key: config[key] for key in config if key in RUN_KEYS})
    cluster = parse(CLUSTER_DEFAULTS | {key: config[key] for key in config if key in KEYS} | {"seed": seed})
    history = FreeRun(run, cluster)
    rows = history.env.log.rows
    history.env.kernel.run(rows, run.events)
    del rows[run.events :]  # the last thing that happened may have written several rows
    return rows, history.faults.counts


class FreeRun:
    """A cluster with its applications and faults, all queued in the kernel."""

    __slots__ = ("env", "faults", "run", "system", "workload")

    def __init__(self, run: Run, config: Config) -> None:
        if not 1 <= run.txn_ids <= config.clients:
            raise ValueError(f"config txn_ids={run.txn_ids}: give each one a slot, from 1 to clients={config.clients}")
        kernel = Kernel(config.seed)
        self.run = run
        self.faults = FaultMix(kernel.random, {fault: getattr(run, fault) for fault in NODE_FAULTS})
        odds = {fault: getattr(run, fault) for fault in MESSAGE_FAULTS}
        network = LossyNetwork(kernel, self.faults, odds, run.latency_us, run.delay_us)
        pace = SeededPace(kernel, self.faults, run.append_failure, run.append_us, run.load_us)
        self.env = Environment(config, kernel, network, pace)
        self.system = System(self.env, parts_of(run))
        self.workload = Workload(self.system, run, run.txn_ids)
        for slot in range(config.clients):
            kernel.after(self.workload.first_delay_us(slot), self.step, slot)
        for reader in range(run.readers):
            kernel.after(kernel.spread(run.read_us), self.read, reader)
        for time_us, fault, number in run.schedule:
            kernel.at(time_us, self.strike, (fault, number))

    def step(self, slot: int) -> None:
        """An application does the next thing, and will do another."""
        kernel = self.env.kernel
        fault = self.faults.draw()
        if fault is not None:
            self.strike((fault, int(kernel.random.random() * (1 << 16))))
        kernel.after(self.workload.act(slot), self.step, slot)

    def read(self, reader: int) -> None:
        """A reader reads, and will read again."""
        self.env.kernel.after(self.workload.read(reader), self.read, reader)

    def strike(self, what: tuple[str, int]) -> None:
        """Inject one fault; `number` says where, modulo what there is. It counts only if it changed anything."""
        fault, number = what
        if fault not in NODE_FAULTS:
            raise ValueError(f"no node fault is called {fault!r}: known are {', '.join(NODE_FAULTS)}")
        if getattr(self, fault)(number):
            self.faults.count(fault)

    def restart(self, number: int) -> bool:
        slot = number % self.env.config.clients
        producer = self.system.producers[slot]
        if not (isinstance(producer, Producer) and producer.running):
            return False
        producer.crash()
        self.env.kernel.after(self.env.kernel.spread(self.run.down_us), self.start, slot)
        return True

    def start(self, slot: int) -> None:
        self.system.restart_client(slot)

    def pause(self, number: int) -> bool:
        producer = self.system.producers[number % self.env.config.clients]
        if not isinstance(producer, Producer) or producer.paused or not producer.running:
            return False
        producer.pause()
        self.env.kernel.after(self.env.kernel.spread(self.run.pause_us), self.resume, producer)
        return True

    def resume(self, producer: Producer) -> None:
        producer.resume()

    def fail_over(self, number: int) -> bool:
        self.system.fail_over(durable=bool(number & 1))
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % self.env.config.all_partitions)
        return True

    def fence(self, number: int) -> bool:
        """As the plug's fence(), which knows one transactional id only."""
        system = self.system
        admin = system.parts.admin(self.env, system.admins)
        self.env.network.nodes[admin.name] = admin
        system.admins += 1
        return admin.fence(number % self.run.txn_ids)


def parts_of(run: Run) -> Parts:
    """The pieces of the broken implementation that is asked for, or of the correct one; slots are given their ids."""
    parts = Parts()
    if run.broken:
        from fencepost.reference_impl.transactions.defects.broken import (
            find,  # only histories with a defect need the defects
        )

        parts = find(run.broken).parts
    make: Any = parts.producer

    def producer(env: Environment, slot: int) -> ProducerRole:
        made: ProducerRole = make(env, slot, slot % run.txn_ids)
        return made

    return replace(parts, producer=producer)
