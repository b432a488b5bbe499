"""This module is the whole system in one simulation: Connect's exactly-once source tasks, one Kafka whose producer ids
come from blocks, and a group that copies what the tasks write to a sink, which an auditor reads with read_committed.

Read `end_to_end_parts.py` first (a task of a Connect worker, which runs the source task runtime, and how the layers are
put together), then `end_to_end_kafka.py` (the one Kafka, as the group and Connect's workers use it) and this file (two
clocks, the faults of all layers, and how a history ends). Everything else is that of the layers, whose events are
written as they are in histories of each layer alone.

Left out are fetching by messages (a reader reads at once what a log has), replication of partitions, a broker that
crashes as a whole (its logs' leaders, its coordinator and its ids change one by one), users that alter offsets, and the
events of source offsets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from fencepost.reference_impl.connect.brokers import Client
from fencepost.reference_impl.connect.config import Kind as ConnectKind
from fencepost.reference_impl.connect.environment import Environment as ConnectEnvironment
from fencepost.reference_impl.kafka.environment import SeededPace
from fencepost.reference_impl.kafka.producer_ids import environment
from fencepost.reference_impl.simulation import FaultMix, Kernel
from fencepost.reference_impl.simulation.config import Natural, Rate, split
from fencepost.reference_impl.simulation.defects import Defect
from fencepost.reference_impl.simulation.environment import US_PER_MS
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.systems import group_fencing, id_blocks, task_counts
from fencepost.reference_impl.systems.end_to_end_kafka import (
    Config,
    Environment,
    Kafka,
    Kind,
    Net,
    ProducerIds,
    StuckError,
)
from fencepost.reference_impl.systems.end_to_end_parts import Parts, Sources
from fencepost.reference_impl.systems.group_fencing import SETTLED_US, Workload
from fencepost.reference_impl.systems.id_blocks import System as IdBlocks
from fencepost.reference_impl.systems.task_counts import Faults as ConnectFaults
from fencepost.reference_impl.systems.task_counts import Users
from fencepost.reference_impl.systems.task_counts_cluster import System as ConnectSystem

# This section has free-running histories of the whole system: `simulate(7, {"events": 4_000, "stall": 0.02})`.
#
#     rows, faults = simulate(7, {})
#     rows["end-to-end"]
#
# A history has rows in several vocabularies, by name: those of each layer's own histories, and the end-to-end events.
# There are two clocks: Kafka's, on which its clients' calls take their time, and that of Connect's workers, which
# catches up after each call. With `quiet_end`, faults stop after the given number of events, and the history goes on
# until every record that had been polled by then is in the sink, if its connector still exists.

OTHER_CLOCK = 1 << 32
"""This number is added to the seed for what happens on Kafka's clock."""
NOTICE_US = 2_000  # Connect's threads notice no shorter times, where they wait
LOOK_US = 100_000
OPERATOR_US = 500_000
BY_GROUP = "the draft of KIP-447 also fences an id when another member of its group begins, which no event shows"
NO_END = "how many records there are in the end differs; the end-to-end events say what is owed"


@dataclass(frozen=True, slots=True)
class Run(task_counts.Run):
    """A `Run` has the rates of faults and the paces of the whole system; those of Connect's workers have their names
    from there. Durations are means, in virtual microseconds."""

    events: int = 4_000  # of all vocabularies together
    quiet_end: bool = True
    settle_events: Natural = 40_000
    step_us: Natural = 800
    slow_us: Natural = 200_000
    change_us: Natural = 1_500_000
    burst_us: Natural = 100_000
    restart_us: Natural = 250_000
    stall_us: Natural = 900_000
    session_us: Natural = 200_000
    down_us: Natural = 200_000
    refuse: Rate = 0.001
    takeover_share: Rate = 0.4  # of the workers that stand still when their session ends: they go on while others begin
    takeover_us: Natural = 40_000  # until then
    # Messages on Kafka's network
    drop: Rate = 0.004
    duplicate: Rate = 0.008
    delay: Rate = 0.008
    latency_us: Natural = 300
    delay_us: Natural = 100_000
    # Kafka's brokers; faults of nodes are per step of an instance of the group, or per demand for an id
    append_failure: Rate = 0.004
    append_us: Natural = 500
    load_us: Natural = 5_000
    fail_over: Rate = 0.003
    new_leader: Rate = 0.006  # of some partition, whichever
    move_group: Rate = 0.002
    id_broker_restart: Rate = 0.02
    id_broker_pause: Rate = 0.01
    controller_fail_over: Rate = 0.03
    snapshot: Rate = 0.02
    # The group that copies
    member_restart: Rate = 0.002
    member_close: Rate = 0.001
    member_expire: Rate = 0.002
    member_pause: Rate = 0.004
    member_pause_us: Natural = 600_000
    member_abort: Rate = 0.01
    linger: Rate = 0.002
    think_us: Natural = 2_500
    wait_us: Natural = 10_000
    audit_us: Natural = 200_000
    # Other clients that want producer ids
    id_client_us: Natural = 100_000

    @property
    def of_group(self) -> group_fencing.Run:
        return group_fencing.Run(
            drop=self.drop, duplicate=self.duplicate, delay=self.delay, latency_us=self.latency_us,
            delay_us=self.delay_us, append_failure=self.append_failure, restart=self.member_restart,
            close=self.member_close, upgrade=0.0, expire=self.member_expire, pause=self.member_pause,
            pause_us=self.member_pause_us, fail_over=self.fail_over, move_group=self.move_group,
            new_leader=self.new_leader, append_us=self.append_us, load_us=self.load_us, abort_share=self.member_abort,
            linger=self.linger, think_us=self.think_us, wait_us=self.wait_us, audit_us=self.audit_us,
        )  # fmt: skip

    @property
    def of_ids(self) -> id_blocks.Run:
        return id_blocks.Run(
            drop=self.drop, duplicate=self.duplicate, delay=self.delay, latency_us=self.latency_us,
            delay_us=self.delay_us, restart=self.id_broker_restart, pause=self.id_broker_pause,
            fail_over=self.controller_fail_over, snapshot=self.snapshot, client_us=self.id_client_us,
        )  # fmt: skip


class GroupFaults(group_fencing.Faults):
    """`GroupFaults` are the faults of the group and of Kafka; any partition may get another leader."""

    def new_leader(self, number: int) -> bool:
        config = self.system.env.config
        self.system.change_leader(number % config.partitions)
        return True


class WorkerFaults(ConnectFaults):
    """`WorkerFaults` are the faults of Connect's workers; some stalled workers go on just when other workers take over
    what they had. A tombstone stays until every running worker has read it, because no worker stalls for
    delete.retention.ms, which is a day."""

    def compact(self, number: int) -> bool:
        herders = [worker.herder for worker in self.system.env.workers if worker.herder is not None]
        return not any(herder.view.is_behind() for herder in herders) and super().compact(number)

    def session_ends(self, what: tuple[int, tuple[str, int]]) -> None:
        super().session_ends(what)
        worker, absence = what
        run: Any = self.run
        if self.away.get(worker) == absence and absence[0] == "stalled" and self.random() < run.takeover_share:
            self.kernel.after(self.kernel.spread(run.takeover_us), self.come_back, what)


class IdFaults(id_blocks.Faults):
    """`IdFaults` are the faults of controllers and of brokers; a broker that restarts has no ids."""

    ids: ProducerIds

    def restart(self, number: int) -> bool:
        struck = super().restart(number)
        if struck:
            self.ids.spare.pop(number, None)
        return struck


class FreeRun(task_counts.FreeRun):
    """A `FreeRun` is a whole system, driven only by a seed, with Connect's scheduler and Kafka's clock."""

    def __init__(self, run: Run, config: Config, parts: Parts) -> None:
        self.whole = config
        self.whole_run = run
        self.whole_parts = parts
        super().__init__(run, config.of_connect(parts.needs), None)

    def begin(self, parts: Any) -> None:
        config, run, layers = self.whole, self.whole_run, self.whole_parts
        self.clock = kernel = Kernel(config.seed + OTHER_CLOCK)
        self.kafka_faults = FaultMix(kernel.random, self.rates(run.of_group, group_fencing.Faults.names))
        odds = {fault: getattr(run, fault) for fault in ("drop", "duplicate", "delay")}
        self.network = Net(kernel, self.kafka_faults, odds, run.latency_us, run.delay_us)
        pace = SeededPace(kernel, self.kafka_faults, run.append_failure, run.append_us, run.load_us)
        group = config.of_group(layers.needs)
        self.env = Environment(config, group, kernel, self.network, pace, layers.of_group)
        self.kafka = Kafka(self.env)
        self.begin_ids(run)
        self.env.inputs = layers.whole.inputs(self.kafka)
        self.begin_group(run)
        self.begin_connect(layers)
        self.logs = {
            "end-to-end": self.env.ends.rows,
            "task-counts": self.rows,
            "transactions": self.env.transactions.rows,
            "group-fencing": self.env.log.rows,
            "id-blocks": self.ids.env.log.rows,
        }

    @staticmethod
    def rates(run: Any, names: tuple[str, ...]) -> dict[str, float]:
        return {name: getattr(run, name) for name in names}

    def begin_ids(self, run: Run) -> None:
        config = self.whole.of_ids(self.whole_parts.needs)
        kernel, rates = self.clock, run.of_ids
        names = id_blocks.Faults.names if config.mode == "bridge" else ("restart", "pause", "fail_over", "snapshot")
        self.id_mix = FaultMix(kernel.random, self.rates(rates, names))
        self.id_network = rates.network(kernel, self.id_mix)
        pace = environment.SeededPace(kernel, config.controllers, rates.follower_us, rates.zookeeper_us)
        self.ids = IdBlocks(environment.Environment(config, kernel, self.id_network, pace), self.whole_parts.ids)
        self.env.ids = ProducerIds(self.kafka, self.ids)
        self.id_faults = IdFaults(self.ids, rates, kernel, self.id_mix)
        self.id_faults.places = config.brokers
        self.id_faults.ids = self.env.ids
        for broker in range(config.brokers):
            kernel.after(kernel.spread(run.id_client_us), self.demand, broker)

    def demand(self, broker: int) -> None:
        if not self.quiet:
            self.id_faults.draw()
        there = self.ids.brokers[broker]
        if there.running and not there.paused:
            there.init_producer_id()
        self.clock.after(self.clock.spread(self.whole_run.id_client_us), self.demand, broker)

    def begin_group(self, run: Run) -> None:
        self.group_faults = GroupFaults(self.kafka, run.of_group, self.clock, self.kafka_faults)
        self.copying = Workload(self.kafka, run.of_group)
        for slot in range(self.env.options.members):
            self.clock.after(self.clock.spread(run.think_us), self.copy, slot)
        self.clock.after(run.audit_us, self.audit)

    def copy(self, slot: int) -> None:
        if not self.quiet:
            self.group_faults.draw()
        self.clock.after(self.copying.act(slot), self.copy, slot)

    def audit(self, _: object) -> None:
        self.kafka.audit()
        self.clock.after(self.whole_run.audit_us, self.audit)

    def begin_connect(self, layers: Parts) -> None:
        self.sources = Sources(self.whole.connectors, self.whole.sources)
        brokers = layers.whole.brokers(self.kafka, layers.of_client(Client))
        env = ConnectEnvironment(self.config, self.kernel, layers.of_connect(self.sources), brokers=brokers)
        self.system = ConnectSystem(env)
        self.rows = env.log.rows
        self.users = Users(self.system, self.run)
        self.nodes = WorkerFaults(self.system, self.run, self.kernel, self.faults, self.users)
        self.begin_scheduling()

    # How it goes on

    def total(self) -> int:
        return sum(map(len, self.logs.values()))

    def play(self) -> None:
        """Run until there are enough events, and then to a quiet end; a defect that has Kafka stuck ends it."""
        try:
            while self.total() < self.whole_run.events:
                self.step()
            if self.whole_run.quiet_end:
                self.settle()
        except StuckError:
            if not self.whole_run.broken:
                raise
            self.kafka_faults.count("stuck")

    def pass_time(self, us: int) -> None:
        """Let time pass on both clocks; Kafka's advances in larger steps, or while workers are idle."""
        clock = self.clock
        self.kernel.advance(us + max(0, clock.now - self.kernel.now))
        if self.kernel.now - clock.now >= NOTICE_US or self.idle:
            clock.advance(self.kernel.now - clock.now)
            self.system.env.threads.settle()

    # The end

    def settle(self) -> None:
        """Stop the faults, and run until everything polled so far has reached the sink, or could have."""
        self.quiet = True
        self.calm()
        self.users.end()
        self.slow.clear()
        self.nodes.end()
        self.settled.bustle = len(self.rows)
        self.kernel.after(OPERATOR_US, self.restart_silent, len(self.rows))
        most = self.total() + self.whole_run.settle_events
        while self.total() < most and not self.is_settled():
            self.step()
        owed = self.owed()
        while self.total() < most and not (self.reached(owed, Kind.OUTPUT_READ) and self.is_settled()):
            self.step()
            self.read_inputs()
        until_us = self.clock.now + SETTLED_US
        restarted = False
        while self.total() < most and not self.reached(owed, Kind.SINK_READ):
            self.clock.advance(LOOK_US)
            self.kafka.audit()
            if self.clock.now > until_us:
                if restarted:
                    break
                restarted, until_us = True, self.clock.now + SETTLED_US
                self.restart_unaware()
        self.let_transactions_end()
        for partition, offset in owed.items():
            self.env.ends.emit(Kind.OWED, connector=partition // self.whole.sources, partition=partition, offset=offset)
        if not self.env.ends.rows:  # no connector had a task, or none that polled
            self.env.ends.emit(Kind.OWED, connector=0, partition=0, offset=0)

    def is_settled(self) -> bool:
        """Return whether the workers have settled and no task has failed since the faults stopped, as one may because
        of a message that was late then."""
        if not self.settled():
            return False
        return all(row[2] != ConnectKind.TASK_FAILED for row in self.rows[self.settled.bustle :])

    def let_transactions_end(self) -> None:
        """Let time pass while tasks are stopped: their open transactions are aborted when they time out, and everything
        is read once more. A group that is slower than the tasks goes on copying then. This is repeated as long as the
        group makes progress, because an audit between two markers of one transaction finds the group's offsets ahead of
        its copies, or behind them."""
        config, kafka, copied = self.whole, self.kafka, -1
        us = 2 * (config.transaction_timeout_ms + config.timeout_check_ms) * US_PER_MS
        further = True
        while further:
            self.clock.advance(us)
            self.read_inputs()
            kafka.audit()
            us, before = SETTLED_US, copied
            copied = sum(max(0, offset) for offset in kafka.committed_offsets())
            further = copied > before and not self.has_copied_all()

    def has_copied_all(self) -> bool:
        """Return whether the group is at the end of its input, with no transaction open in the sink."""
        kafka, found = self.kafka, self.env.inputs.found
        at_the_end = all(max(0, offset) >= len(found[p]) for p, offset in enumerate(kafka.committed_offsets()))
        return at_the_end and not any(kafka.brokers.leaders[p].log.open for p in self.whole.sink_partitions)

    def calm(self) -> None:
        """Stop the faults: messages arrive, appends succeed, and nodes that are away come back."""
        self.network.calm()
        self.id_network.calm()
        self.env.pace = SeededPace(self.clock, self.kafka_faults, 0.0, self.whole_run.append_us, self.whole_run.load_us)
        self.copying.habits = replace(self.whole_run.of_group, calm_us=max(1, self.clock.now))

    def restart_silent(self, seen: int) -> None:
        """Let an operator restart tasks that have had no events for a while. A task that was fenced in a worker that
        had fallen out of the group stays failed if that worker gets it again, and the status may go on being RUNNING
        (`Herder.start_assigned`, `Environment.put_status`); no node would restart it."""
        heard = {(row[4], row[5]) for row in self.rows[seen:]}
        for connector, _, tasks in self.settled.newest_sets() or ():
            for task in range(tasks):
                if (connector, task) not in heard:
                    self.system.restart_task(self.users.some_worker(), connector, task)
        self.kernel.after(OPERATOR_US, self.restart_silent, len(self.rows))

    def restart_unaware(self) -> None:
        """Restart members that ignore a partition given to them by a late copy of their heartbeat."""
        for slot, instance in enumerate(self.kafka.instances):
            if instance.consumer.is_unaware():
                self.kafka.restart(slot)

    def owed(self) -> dict[int, int]:
        """Return how far each source partition of an existing connector had been polled."""
        live = {connector for connector, _, tasks in self.settled.newest_sets() or () if tasks}
        each = self.whole.sources
        return {p: upto for p, upto in enumerate(self.sources.polled) if upto and p // each in live}

    def read_inputs(self) -> None:
        """Let an auditor read what is committed, whether or not the group does."""
        for partition in range(self.whole.inputs):
            self.env.inputs.end(partition)

    def reached(self, owed: Mapping[int, int], kind: int) -> bool:
        last: dict[int, int] = {}
        for row in self.env.ends.rows:
            if row[2] == kind:
                last[row[6]] = max(last.get(row[6], 0), row[7])
        return all(last.get(partition, 0) >= offset for partition, offset in owed.items())

    def counts(self) -> dict[str, int]:
        return {
            **{f"connect_{name}": n for name, n in self.faults.counts.items()},
            **{f"kafka_{name}": n for name, n in self.kafka_faults.counts.items()},
            **{f"ids_{name}": n for name, n in self.id_mix.counts.items()},
        }


class Simulator:
    """A `Simulator` makes whole histories, with the events of every protocol that is at work in them."""

    def __call__(self, seed: int, config: Mapping[str, Any]) -> tuple[dict[str, list[Row]], dict[str, int]]:
        """Run one history, and return its rows by protocol and how often each fault was injected. The keys of `config`
        are those of the system and of the run; `seed` takes precedence over a key of that name. The exceptions are
        those of `read`."""
        history = history_of(seed, config)
        history.play()
        return history.logs, history.counts()

    def vocabularies(self, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the variant and the configuration with which the events of each protocol are checked."""
        run, system, parts = read(config)
        quiet, needs = run.quiet_end, parts.needs
        connect, brokers, group = system.of_connect(needs), system.of_brokers(needs), system.of_group(needs)
        of_group = {
            "mode": group.mode, "inputs": group.inputs, "transactions": brokers.mode, "old": group.old,
            "quiet_end": quiet, "undecidable": {"everything_copied": NO_END},
        }  # fmt: skip
        blocks = system.of_ids(needs)
        of_blocks = {"mode": blocks.mode, "block_size": blocks.block_size, "max_id": blocks.max_id}
        hidden = {"undecidable": {"lone_client_never_fenced": BY_GROUP}} if group.is_draft else {}
        return {
            "end-to-end": {"variant": "whole", "config": {"quiet_end": quiet, **config}},
            "task-counts": {"variant": connect.mode, "config": {"mode": connect.mode, "quiet_end": quiet}},
            "transactions": {
                "variant": brokers.mode,
                "config": {"mode": brokers.mode, "max_epoch": brokers.max_epoch, "quiet_end": quiet, **hidden},
            },
            "group-fencing": {"variant": group.mode, "config": of_group},
            "id-blocks": {"variant": blocks.mode, "config": of_blocks},
        }


def history_of(seed: int, config: Mapping[str, Any]) -> FreeRun:
    return FreeRun(*read({**config, "seed": seed}))


def read(config: Mapping[str, Any]) -> tuple[Run, Config, Parts]:
    """Return the run, the system and the parts of a configuration. With a defect, the configuration that the defect
    needs is included, unless a key overrides it. Raise KeyError for an unknown defect, ValueError for a bad
    configuration."""
    parts, needs = Parts(), {}
    if broken := config.get("broken"):
        defect: Defect[Parts] = import_module("fencepost.reference_impl.defects.end_to_end").find(broken)
        parts, needs = defect.parts, dict(defect.needs)
    of_run, of_system = split({**needs, **config}, Run, Config)
    return Run(**of_run), Config(**of_system), parts


simulate = Simulator()
