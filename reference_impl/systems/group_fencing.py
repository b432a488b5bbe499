"""This module is the interface of group fencing, by which a driver moves a cluster and a group, with its replaceable
parts and free runs.

The protocol is a consumer group that copies its input exactly once (KIP-447 as drafted, as shipped, and under KIP-848).
It is in `kafka`: read `clients/application.py` and `group_coordinator.py` first.

Left out are several groups and topics; cooperative assignors, and classic members in a group of the new protocol; share
and streams groups; topics that are deleted or created anew; a deposed group coordinator that does not know it
(NOT_COORDINATOR); appends to the offsets partition that fail or are not replicated; and fetching of the input, which
exists from the beginning.

>>> system = reference({"seed": 1, "members": 1, "inputs": 1, "records": 1})
>>> system.step(0)  # initTransactions(): a request leaves
True
>>> system.messages()
[(0, 'init', 'producer-0', 'coordinator', 0)]
>>> system.settle(30_000)  # everything arrives, and time passes; the application goes on
>>> [(event.partition, event.offset) for event in system.drain_events() if event.kind == "consumed"]
[(0, 0)]
>>> system.audit()  # what is committed: the copies in the output, and the group's offsets
([(0, 0)], [1])

Nothing happens between two calls: the driver controls deliveries, the application's steps, appends to the transaction
log and time. `Parts` are the pieces that a broken implementation replaces.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fencepost.reference_impl.kafka.classic_group import ClassicGroup
from fencepost.reference_impl.kafka.clients.application import Application, GroupProducer
from fencepost.reference_impl.kafka.clients.group_consumer import ClassicConsumer, Consumer
from fencepost.reference_impl.kafka.clients.modern_consumer import ModernConsumer
from fencepost.reference_impl.kafka.environment import DrivenPace, SeededPace
from fencepost.reference_impl.kafka.group_coordinator import GroupCoordinator, GroupOffsetsLog, GroupState
from fencepost.reference_impl.kafka.group_environment import Config, Environment, Kind, Place
from fencepost.reference_impl.kafka.group_transactions import GroupAwareCoordinator
from fencepost.reference_impl.kafka.modern_group import ModernGroup
from fencepost.reference_impl.simulation import Kernel, Network, free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import US_PER_MS, DrivenSystem
from fencepost.reference_impl.simulation.free_run import LossyRun, NodeFaults
from fencepost.reference_impl.systems import transactions
from fencepost.reference_impl.systems.transactions import Parts as TransactionParts


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the replaceable pieces of a cluster; the defaults are the correct ones."""

    application: type[Application] = Application
    classic_consumer: type[ClassicConsumer] = ClassicConsumer
    modern_consumer: type[ModernConsumer] = ModernConsumer
    producer: type[GroupProducer] = GroupProducer
    coordinator: type[GroupCoordinator] = GroupCoordinator
    classic_group: type[ClassicGroup] = ClassicGroup
    modern_group: type[ModernGroup] = ModernGroup
    offsets: type[GroupOffsetsLog] = GroupOffsetsLog
    transactions: type[GroupAwareCoordinator] = GroupAwareCoordinator

    def new_group(self, coordinator: GroupCoordinator) -> GroupState:
        is_new = coordinator.env.options.is_new_protocol
        return self.modern_group(coordinator) if is_new else self.classic_group(coordinator)

    def new_consumer(self, env: Environment, *arguments: Any) -> Consumer:
        is_new = env.options.is_new_protocol
        return self.modern_consumer(env, *arguments) if is_new else self.classic_consumer(env, *arguments)

    @property
    def below(self) -> TransactionParts:
        return TransactionParts(
            coordinator=self.transactions, offsets_leader=self.coordinator, offsets_log=self.offsets
        )


SETTLE_STEP_MS = 100
STEPS_MAX = 100_000
"""Settling without time takes at most this many steps, because a broken cluster may loop for ever."""


class Brokers(transactions.System):
    """A `Brokers` has the brokers of the transactions; the application has the producers."""

    def _new_producers(self) -> None:
        """Create no producers, because only the application has any."""


class System(DrivenSystem[Environment]):
    """A `System` is one cluster. Slots of instances, and input and output partitions, are numbered from 0."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.brokers = Brokers(env, env.parts.below)
        self.instances: list[Application] = []
        for slot in range(env.options.members):
            self.instances.append(self.new_instance(slot))

    # Messages

    def messages(self) -> list[tuple[int, str, str, str, int]]:
        """Return the messages in flight, as (number, kind, source, target, request), oldest first."""
        return self.brokers.messages()

    # The application

    def step(self, slot: int) -> bool:
        """Let the instance do the next line of its loop; return False, with nothing done, if it waits."""
        return self.instances[slot].step()

    def doing(self, slot: int) -> str:
        """Return what the instance's next step is: init, poll, begin, copy, offsets, commit, abort, ended or fail; or
        wait if an answer is missing; or paused or over."""
        return self.instances[slot].doing()

    def abort(self, slot: int) -> bool:
        """Let the instance abort its open transaction on its own initiative; return False if it has none."""
        return self.instances[slot].abort()

    def pause(self, slot: int) -> bool:
        """Pause the instance's process, heartbeats included; return False if it is paused already."""
        return self.instances[slot].pause()

    def resume(self, slot: int) -> bool:
        return self.instances[slot].resume()

    def close(self, slot: int) -> None:
        """Let the instance end in order: its consumer leaves the group."""
        self.instances[slot].close()

    def restart(self, slot: int) -> None:
        """Kill the instance if it still runs, and start another one in its slot."""
        self.instances[slot].stop(Kind.INSTANCE_STOPPED)
        self.instances[slot] = self.new_instance(slot)

    def upgrade(self, slot: int) -> bool:
        """Replace the instance in order by one of the newer generation; return False if it is one already."""
        if slot not in self.env.old:
            return False
        self.close(slot)
        self.env.old.discard(slot)
        self.restart(slot)
        return True

    def expire(self, slot: int) -> bool:
        """Let the group's coordinator take the instance's member for dead, whatever its clock is; return False if it
        has no such member, or is still loading."""
        coordinator = self.group_coordinator
        return not coordinator.loading and coordinator.group.expire(self.instances[slot].consumer.member)

    def hide_topic(self, hidden: bool) -> None:
        """Remove the input topic from the brokers' metadata, so that commits are refused, or add it again."""
        self.env.hidden = hidden

    def expire_pending(self) -> bool:
        """Let offsets.retention.minutes end for the offsets of a group without members that an open transaction is
        about to change; return False if they are not deleted, because they are stored until the transaction ends."""
        log = self.group_coordinator.log
        return self.group_coordinator.expire_offsets(
            [partition for partition in range(self.env.options.inputs) if not log.is_stable(partition)]
        )

    def kill(self, slot: int) -> bool:
        """Kill the instance and leave its slot empty; return False if it does not run."""
        running = self.instances[slot].running
        self.instances[slot].stop(Kind.INSTANCE_STOPPED)
        return running

    def is_over(self, slot: int) -> bool:
        return not self.instances[slot].running

    # The brokers

    def log_append(self, ok: bool = True) -> bool:
        """Let the oldest unfinished append to the transaction log succeed, or fail; return False if there is none."""
        return self.brokers.log_append(ok)

    def fail_over(self, durable: bool = True) -> None:
        """Let another node take over the transaction log; with `durable`, unfinished appends are in the log."""
        self.brokers.fail_over(durable)

    def move_group(self, ms: int = 0) -> None:
        """Let another broker lead the offsets partition; it is the group's coordinator once it has loaded the
        partition, which takes this many milliseconds."""
        self.group_coordinator.load_ms = ms
        self.brokers.change_leader(self.env.offsets_partition)

    def change_leader(self, output: int) -> None:
        self.brokers.change_leader(output)

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass: sessions, requests and transactions time out, and heartbeats are sent."""
        self.env.kernel.advance(ms * US_PER_MS)

    def settle(self, ms: int = 0, steps: bool = True) -> None:
        """Deliver everything, oldest first, and let time pass; with `steps`, the application goes on as well."""
        self._settle(steps)
        for _ in range(0, ms, SETTLE_STEP_MS):
            self.advance(SETTLE_STEP_MS)
            self._settle(steps)

    # An auditor

    def audit(self, auditor: int = 0) -> tuple[list[tuple[int, int]], list[int]]:
        """Return what a read_committed reader of the whole output and an administrator find: the input places that were
        copied, in order of the output, as far as this auditor has not read them before; and the group's offset in each
        partition of the input, -1 for none."""
        env = self.env
        found: list[tuple[int, int]] = []
        for output in range(env.options.outputs):
            for position, record in self.brokers.read(auditor, env.output_partition(output)):
                place = env.contents[record]
                env.report(
                    Kind.OUTPUT_READ, client=auditor, output=output, position=position, partition=place.partition,
                    offset=place.offset,
                )  # fmt: skip
                self.copy_read(place, output, position)
                found.append((place.partition, place.offset))
        offsets = self.committed_offsets()
        for partition, offset in enumerate(offsets):
            env.report(Kind.AUDITED, client=auditor, partition=partition, offset=offset)
        return found, offsets

    def copy_read(self, place: Place, output: int, position: int) -> None:
        """Handle a copy that an auditor has found in the output; a subclass may emit a further event."""

    def is_transaction_open(self) -> bool:
        partitions = map(self.env.output_partition, range(self.env.options.outputs))
        return any(self.brokers.leaders[partition].log.open for partition in partitions)

    def committed_offsets(self) -> list[int]:
        log = self.group_coordinator.log
        return [log.committed_offset(partition) for partition in range(self.env.options.inputs)]

    @property
    def group_coordinator(self) -> GroupCoordinator:
        coordinator = self.brokers.leaders[self.env.offsets_partition]
        assert isinstance(coordinator, GroupCoordinator), "the offsets partition is led by nothing else"
        return coordinator

    def new_instance(self, slot: int) -> Application:
        application: Application = self.env.parts.application(self.env, slot)
        return application

    def _settle(self, steps: bool) -> None:
        network = self.env.network
        for _ in range(STEPS_MAX):
            if network.in_flight:
                network.deliver(next(iter(network.in_flight)))
            elif not self.log_append() and not (steps and any(instance.step() for instance in self.instances)):
                return


def build(config: Mapping[str, Any], parts: Parts) -> System:
    checked = Config.parse(config)
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace(), parts))


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven cluster; the keys of `config` are those of `config.Config`. Raise
    ValueError for an invalid configuration."""
    return build(config, Parts())


# This section has how fast the instances of the application go on in a free-running history, without faults.

SETTLED_US = 8_000_000
"""This long after the last fault, a correct cluster has copied everything, with time to spare."""
LOOK_US = 500_000


@dataclass(frozen=True, slots=True)
class Habits(LossyRun):
    """`Habits` are how applications behave. Durations are means, in virtual microseconds."""

    abort_share: Rate = 0.02  # per step: the instance aborts its transaction of its own accord
    linger: Rate = 0.01  # per step: it takes `linger_us` for the next one, perhaps longer than max.poll.interval.ms
    think_us: Natural = 10_000
    wait_us: Natural = 20_000  # until it looks again whether what it waits for has come
    linger_us: Natural = 1_000_000
    down_us: Natural = 100_000  # until another instance is there after one has ended
    audit_us: Natural = 500_000
    calm_us: Natural = 0  # from this time on there are no faults, and no node lingers; 0: never


class Workload:
    """A `Workload` moves the instances of one history, by slot."""

    __slots__ = ("habits", "kernel", "random", "system")

    def __init__(self, system: System, habits: Habits) -> None:
        self.system = system
        self.habits = habits
        self.kernel: Kernel = system.env.kernel
        self.random: Callable[[], float] = self.kernel.random.random

    @property
    def calm(self) -> bool:
        return 0 < self.habits.calm_us <= self.kernel.now

    def finish(self) -> None:
        """Go on without faults until everything is copied, or for `SETTLED_US`, with the instances that run by then. A
        member that a late copy of its own heartbeat has given a partition does not read it, as in Kafka, until it is
        restarted, which this method does; a member that is stuck for any other reason stays stuck."""
        if not self.copies_all():
            for slot, instance in enumerate(self.system.instances):
                if instance.consumer.is_unaware():
                    self.system.restart(slot)
            self.copies_all()
        self.kernel.advance(SETTLED_US // 10)  # the last transaction is committed in the output as well
        options = self.system.env.options
        until = self.kernel.now + 2 * (options.transaction_timeout_ms + options.timeout_check_ms) * US_PER_MS
        while self.system.is_transaction_open() and self.kernel.now < until:  # of an instance that has ended
            self.kernel.advance(LOOK_US)
        self.system.audit()

    def copies_all(self) -> bool:
        until = self.kernel.now + SETTLED_US
        while min(self.system.audit()[1]) < self.system.env.options.records:
            if self.kernel.now >= until:
                return False
            self.kernel.advance(LOOK_US)
        return True

    def act(self, slot: int) -> int:
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


# This section has the node faults of a free-running history of a consumer group: how often they occur, and how long
# they last.


@dataclass(frozen=True, slots=True)
class Run(Habits):
    """A `Run` has the rates of faults, and the pace of brokers. Durations are means, in virtual microseconds."""

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
    # After `events` there are no faults, and the history goes on until everything is copied, or could have been.
    quiet_end: bool = False


class Faults(NodeFaults[Run, System]):
    """`Faults` has the node faults of one history; the place is taken modulo the number of nodes."""

    names = ("restart", "close", "upgrade", "expire", "pause", "fail_over", "move_group", "new_leader")

    def at(self, number: int) -> Application:
        return self.system.instances[number % self.system.env.options.members]

    def restart(self, number: int) -> bool:
        return self.system.kill(number % self.system.env.options.members)

    def close(self, number: int) -> bool:
        instance = self.at(number)
        running = instance.running
        instance.close()
        return running

    def expire(self, number: int) -> bool:
        return self.system.expire(number % self.system.env.options.members)

    def upgrade(self, number: int) -> bool:
        return self.system.upgrade(number % self.system.env.options.members)

    def pause(self, number: int) -> bool:
        return self.pause_for(self.run.pause_us, self.at(number))

    def fail_over(self, number: int) -> bool:
        self.system.fail_over(durable=bool(number & 1))
        return True

    def move_group(self, number: int) -> bool:
        self.system.move_group(self.kernel.spread(self.run.group_load_us) // 1000 if number & 1 else 0)
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % self.system.env.options.outputs)
        return True


# This section has free-running histories of a consumer group: `simulate(7, {"mode": "shipped", "events": 400, "pause":
# 0.05})`.
#
# At most one node fault is drawn before each step of an instance, so that rates are "per step" in histories of any
# length. Message faults are "per message", failed appends "per append".


class FreeRun(free_run.FreeRun[Run, Config]):
    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Time-outs that short histories see.
    cluster_defaults = {  # noqa: RUF012
        "members": 3, "inputs": 3, "fetch_records": 1, "session_timeout_ms": 300, "heartbeat_ms": 60,
        "max_poll_ms": 1_000, "initial_delay_ms": 30, "transaction_timeout_ms": 400, "request_timeout_ms": 100,
        "timeout_check_ms": 50,
    }  # fmt: skip
    defects = "fencepost.reference_impl.defects.group_fencing"

    def begin(self, parts: Any) -> None:
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

    def settle(self) -> None:
        self.workload.habits = replace(self.run, calm_us=max(1, self.kernel.now))
        self.network.calm()
        self.workload.finish()

    def step(self, slot: int) -> None:
        if not self.workload.calm:
            self.nodes.draw()
        self.kernel.after(self.workload.act(slot), self.step, slot)

    def calm(self, _: object) -> None:
        self.network.calm()


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
