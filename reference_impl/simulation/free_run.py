"""This module runs free-running histories: a cluster, its clients and its faults, driven only by a seed.

    rows = simulate(7, {"mode": "bridge", "events": 500, "restart": 0.02})

This call returns 500 rows in the order of the protocol's columns; the same seed and configuration give the same rows in
any process. A protocol has a `FreeRun` of its own, which builds the cluster and lets its clients work, and
`NodeFaults`, which has a method for each fault. `simulate` is a method of its `FreeRun`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar

from fencepost.reference_impl.simulation.config import Configuration, Natural, Rate, split
from fencepost.reference_impl.simulation.defects import Defect
from fencepost.reference_impl.simulation.kernel import Kernel
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.simulation.network import FaultMix, LossyNetwork

PLACES = 1 << 16
MESSAGE_FAULTS = ("drop", "duplicate", "delay")


@dataclass(frozen=True, slots=True)
class Run(Configuration):
    """A `Run` is the configuration of a free-running history, without that of its cluster. A protocol adds the rates of
    its node faults, under the names of the faults, and the habits of its clients. Durations are means, in virtual
    microseconds."""

    events: int = 300
    broken: str = ""  # name of a broken implementation (its module in `defects`); empty: the correct one
    schedule: tuple[tuple[int, str, int], ...] = ()  # faults for certain: (time_us, node fault, where)


@dataclass(frozen=True, slots=True)
class LossyRun(Run):
    """A `LossyRun` is the configuration of a run whose cluster has nodes that send messages."""

    drop: Rate = 0.0  # per message: lost
    duplicate: Rate = 0.0  # per message: a second copy comes later
    delay: Rate = 0.0  # per message: held up for about `delay_us`, beyond the time-outs and every reordering
    latency_us: Natural = 1_000
    delay_us: Natural = 1_000_000

    def network(self, kernel: Kernel, faults: FaultMix) -> LossyNetwork:
        odds = {fault: getattr(self, fault) for fault in MESSAGE_FAULTS}
        return LossyNetwork(kernel, faults, odds, self.latency_us, self.delay_us)


R = TypeVar("R", bound=Run)
S = TypeVar("S")
C = TypeVar("C", bound=Configuration)


class NodeFaults(Generic[R, S]):
    """`NodeFaults` has the node faults of one history. Each of ``names`` is the name of a method that injects the fault
    at the place that a number stands for, and returns whether this changed anything. Random numbers are below
    ``places``."""

    names: ClassVar[tuple[str, ...]]

    def __init__(self, system: S, run: R, kernel: Kernel, mix: FaultMix) -> None:
        self.system = system
        self.run = run
        self.kernel = kernel
        self.mix = mix
        self.places = PLACES

    def draw(self) -> None:
        fault = self.mix.draw()
        if fault is not None:
            self.strike((fault, int(self.kernel.random.random() * self.places)))

    def strike(self, what: tuple[str, int]) -> None:
        """Inject one fault, given as its name and its place. The fault counts only if it changed anything."""
        fault, number = what
        if fault not in self.names:
            raise ValueError(f"no node fault is called {fault!r}: known are {', '.join(self.names)}")
        if getattr(self, fault)(number):
            self.mix.count(fault)

    def pause_for(self, mean_us: int, node: Any) -> bool:
        paused: bool = node.pause()
        if paused:
            self.kernel.after(self.kernel.spread(mean_us), lambda _: node.resume())
        return paused


class FreeRun(Generic[R, C]):
    """A `FreeRun` is one history: a cluster with its clients and faults, all queued in one kernel."""

    run_type: ClassVar[type[Run]]
    config_type: ClassVar[type[Configuration]]
    cluster_defaults: ClassVar[Mapping[str, Any]] = {}
    """These configuration keys have defaults that differ from those of a driven cluster."""

    parts_type: ClassVar[type]
    faults_type: ClassVar[type[NodeFaults[Any, Any]]]
    defects: ClassVar[str]
    """This is the module of the protocol's defects; it is loaded only for a history with a defect."""

    nodes: NodeFaults[Any, Any]
    """The node faults of the history are set by `begin`."""

    rows: list[Row]
    system: Any

    def __init__(self, run: R, config: C, parts: Any) -> None:
        self.run = run
        self.config = config
        self.kernel = Kernel(config.seed)  # type: ignore[attr-defined]
        self.random = self.kernel.random.random
        self.faults = FaultMix(self.kernel.random, {fault: getattr(run, fault) for fault in self.possible_faults()})
        self.begin(parts)
        for time_us, fault, number in run.schedule:
            self.kernel.at(time_us, self.nodes.strike, (fault, number))

    def possible_faults(self) -> tuple[str, ...]:
        """Return the node faults that this cluster can have: all of them, unless its mode excludes some."""
        return self.faults_type.names

    def begin(self, parts: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must build a cluster and queue its clients: override begin()")

    def play(self) -> None:
        """Run the history until there are enough rows and, with `quiet_end`, on to an end without faults."""
        self.play_events()
        if getattr(self.run, "quiet_end", False):
            self.settle()
        else:
            del self.rows[self.run.events :]  # the last thing that happened may have written several rows

    def play_events(self) -> None:
        self.kernel.run(self.rows, self.run.events)

    def settle(self) -> None:
        """Stop the faults and bring the history to its end, for a protocol whose run has `quiet_end`."""
        raise NotImplementedError(f"{type(self).__name__} has quiet_end: override settle()")

    def audit(self, _: object) -> None:
        """Audit the cluster now, and queue the next audit, for a protocol that starts this."""
        self.system.audit()
        self.kernel.after(self.run.audit_us, self.audit)  # type: ignore[attr-defined]

    @classmethod
    def implementation(cls, broken: str) -> tuple[Mapping[str, Any], Any]:
        """Return the configuration and the parts of the defect of that name, or the correct parts for the empty name.
        Raise KeyError with the known names if there is no such defect."""
        if not broken:
            return {}, cls.parts_type()
        defect: Defect[Any] = import_module(cls.defects).find(broken)
        return dict(defect.needs), defect.parts

    @classmethod
    def simulate(cls, seed: int, config: Mapping[str, Any]) -> list[Row]:
        """Run one history and return its rows in column order. The keys of `config` are those of the cluster and of the
        run; `seed` takes precedence over a key of that name. Raise ValueError for a bad configuration and KeyError for
        an unknown `broken`."""
        return cls.simulate_with_stats(seed, config)[0]

    @classmethod
    def simulate_with_stats(cls, seed: int, config: Mapping[str, Any]) -> tuple[list[Row], dict[str, int]]:
        """Run one history as `simulate` does, and return its rows and how often each fault was injected."""
        of_run, of_cluster = split(config, cls.run_type, cls.config_type)
        run: Any = cls.run_type(**of_run)
        needs, parts = cls.implementation(run.broken)
        cluster: Any = cls.config_type.parse({**cls.cluster_defaults, **needs, **of_cluster, "seed": seed})
        history = cls(run, cluster, parts)
        history.play()
        return history.rows, history.faults.counts
