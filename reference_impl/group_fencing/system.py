"""The plug: a whole cluster, its consumer group and the application behind the few operations by which a driver moves
it, step by step.

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

Nothing happens between two calls: deliveries, the application's steps, appends to the transaction log and time are the
driver's. `Parts` are the pieces that a broken implementation replaces.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.group_fencing.brokers.group_coordinator import GroupCoordinator
from fencepost.reference_impl.group_fencing.clients.application import Application
from fencepost.reference_impl.group_fencing.config import Config
from fencepost.reference_impl.group_fencing.environment import Environment
from fencepost.reference_impl.group_fencing.events import Kind
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.simulation.environment import US_PER_MS
from fencepost.reference_impl.simulation.system import DrivenSystem
from fencepost.reference_impl.transactions import system as transactions
from fencepost.reference_impl.transactions.environment import DrivenPace

SETTLE_STEP_MS = 100
STEPS_MAX = 100_000
"""Of one settling without time: a broken cluster may go round in circles."""


class Brokers(transactions.System):
    """The brokers of the transactions below; producers are the application's business."""

    def _new_producers(self) -> None:
        """There are none but those of the application."""


class System(DrivenSystem[Environment]):
    """One cluster. Slots of instances, partitions of the input and of the output are numbered from 0."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.brokers = Brokers(env, env.parts.below)
        self.instances: list[Application] = []
        for slot in range(env.options.members):
            self.instances.append(self.new_instance(slot))

    # Messages

    def messages(self) -> list[tuple[int, str, str, str, int]]:
        """The messages in flight: (number, kind, source, target, request), oldest first."""
        return self.brokers.messages()

    # The application

    def step(self, slot: int) -> bool:
        """The instance does the next line of its loop; False, and nothing happens, where it waits."""
        return self.instances[slot].step()

    def doing(self, slot: int) -> str:
        """What the instance's next step is: init, poll, begin, copy, offsets, commit, abort, ended, fail; wait where an
        answer is missing; paused, over."""
        return self.instances[slot].doing()

    def abort(self, slot: int) -> bool:
        """The instance aborts its open transaction of its own accord; False if it has none."""
        return self.instances[slot].abort()

    def pause(self, slot: int) -> bool:
        """The instance's process stands still, heartbeats included; False if it does."""
        return self.instances[slot].pause()

    def resume(self, slot: int) -> bool:
        """It goes on; False if it does not stand still."""
        return self.instances[slot].resume()

    def close(self, slot: int) -> None:
        """The instance ends in order: its consumer leaves the group."""
        self.instances[slot].close()

    def restart(self, slot: int) -> None:
        """The instance is killed if it still runs, and another one takes its slot."""
        self.instances[slot].stop(Kind.INSTANCE_STOPPED)
        self.instances[slot] = self.new_instance(slot)

    def upgrade(self, slot: int) -> bool:
        """The instance ends in order, and a new one of the newer generation takes its slot; False if it is of that
        generation already."""
        if slot not in self.env.old:
            return False
        self.close(slot)
        self.env.old.discard(slot)
        self.restart(slot)
        return True

    def expire(self, slot: int) -> bool:
        """The group's coordinator takes the instance's member for dead, whatever its clock says; False if it has no
        such member, or is still loading."""
        coordinator = self.group_coordinator
        return not coordinator.loading and coordinator.group.expire(self.instances[slot].consumer.member)

    def hide_topic(self, hidden: bool) -> None:
        """The brokers' metadata do not have the input topic, or have it again: commits of its offsets are refused."""
        self.env.hidden = hidden

    def expire_pending(self) -> bool:
        """offsets.retention.minutes is over for the offsets of a group without members that a transaction is about to
        change; False, as they are kept until it ends."""
        log = self.group_coordinator.log
        return self.group_coordinator.expire_offsets(
            [partition for partition in range(self.env.options.inputs) if not log.is_stable(partition)]
        )

    def kill(self, slot: int) -> bool:
        """The instance is killed, and its slot stays empty; False if it does not run."""
        running = self.instances[slot].running
        self.instances[slot].stop(Kind.INSTANCE_STOPPED)
        return running

    def is_over(self, slot: int) -> bool:
        """Whether the instance in the slot has ended, by an error or killed."""
        return not self.instances[slot].running

    # The brokers

    def log_append(self, ok: bool = True) -> bool:
        """The oldest unfinished append to the transaction log succeeds, or fails; False if there is none."""
        return self.brokers.log_append(ok)

    def fail_over(self, durable: bool = True) -> None:
        """Another node takes over the transaction log; `durable`: unfinished appends made it into the log."""
        self.brokers.fail_over(durable)

    def move_group(self, ms: int = 0) -> None:
        """Another broker leads the offsets partition, and is the group's coordinator once it has loaded it, which takes
        so many milliseconds."""
        self.group_coordinator.load_ms = ms
        self.brokers.change_leader(self.env.offsets_partition)

    def change_leader(self, output: int) -> None:
        """Another broker leads an output partition."""
        self.brokers.change_leader(output)

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass: sessions, requests and transactions time out, heartbeats leave."""
        self.env.kernel.advance(ms * US_PER_MS)

    def settle(self, ms: int = 0, steps: bool = True) -> None:
        """Let everything arrive and time pass, oldest message first; `steps`: the application goes on as well."""
        self._settle(steps)
        for _ in range(0, ms, SETTLE_STEP_MS):
            self.advance(SETTLE_STEP_MS)
            self._settle(steps)

    # An auditor

    def audit(self, auditor: int = 0) -> tuple[list[tuple[int, int]], list[int]]:
        """What a read_committed reader of the whole output and an administrator see: the input places that were copied,
        in order of the output, as far as this auditor has not read them before; and the group's offset in each
        partition of the input, -1 for none."""
        env = self.env
        found: list[tuple[int, int]] = []
        for output in range(env.options.outputs):
            for position, record in self.brokers.read(auditor, env.output_partition(output)):
                place = env.contents[record]
                env.tell(
                    Kind.OUTPUT_READ, client=auditor, output=output, position=position, partition=place.partition,
                    offset=place.offset,
                )  # fmt: skip
                found.append((place.partition, place.offset))
        offsets = self.committed_offsets()
        for partition, offset in enumerate(offsets):
            env.tell(Kind.AUDITED, client=auditor, partition=partition, offset=offset)
        return found, offsets

    def committed_offsets(self) -> list[int]:
        """The group's offset in each partition of the input, -1 for none."""
        log = self.group_coordinator.log
        return [log.committed_offset(partition) for partition in range(self.env.options.inputs)]

    @property
    def group_coordinator(self) -> GroupCoordinator:
        """The coordinator of the group."""
        coordinator = self.brokers.leaders[self.env.offsets_partition]
        assert isinstance(coordinator, GroupCoordinator), "the offsets partition is led by nothing else"
        return coordinator

    def new_instance(self, slot: int) -> Application:
        """The next instance of a slot."""
        return self.env.parts.application(self.env, slot)

    def _settle(self, steps: bool) -> None:
        network = self.env.network
        for _ in range(STEPS_MAX):
            if network.in_flight:
                network.deliver(next(iter(network.in_flight)))
            elif not self.log_append() and not (steps and any(instance.step() for instance in self.instances)):
                return


def build(config: Mapping[str, Any], parts: Parts) -> System:
    """A driven cluster made of these parts."""
    checked = Config.parse(config)
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace(), parts))


def reference(config: Mapping[str, Any]) -> System:
    """The reference implementation as a driven cluster; keys of `config`: `config.Config`. Raises ValueError."""
    return build(config, Parts())
