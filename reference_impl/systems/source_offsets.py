"""Free-running histories of source tasks: the faults in them, and what operators do; the cluster is in its own file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.connect.offsets.config import COLUMNS, CONFIGS, KIND_NAMES, Config, Event, Kind, readable
from fencepost.reference_impl.connect.offsets.environment import Environment
from fencepost.reference_impl.connect.threads import FAILED, LOST, OK
from fencepost.reference_impl.simulation import free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import US_PER_MS
from fencepost.reference_impl.systems.source_offsets_cluster import Parts, System, parts_of, reference


@dataclass(frozen=True, slots=True)
class Rates(free_run.Run):
    """Rates are per step of a thread. Durations are means, in virtual microseconds."""

    kill: Rate = 0.006  # the process of an instance is gone, and after a while there is another one
    stall: Rate = 0.006  # an instance stands still, and often there is another one before it goes on
    restart: Rate = 0.004  # there is another instance, and the one before goes on
    stop: Rate = 0.008  # an instance ends in order, and there is another one
    configure: Rate = 0.004  # so many tasks from now on; perhaps with a topic of their own
    ask: Rate = 0.01  # a connector that defines boundaries asks for one
    fail_over: Rate = 0.002
    new_leader: Rate = 0.002
    owner: Rate = 0.01  # of the earlier text: another worker takes the Connector, while one perhaps stands still
    switch: Rate = 0.004  # where operators do what the guarantee excludes: the feature, or the topic, is taken away
    stall_us: Natural = 60_000
    down_us: Natural = 20_000


class Faults(free_run.NodeFaults[Rates, System]):
    """What strikes a task does so at its newest instance."""

    names = (
        "ask", "configure", "fail_over", "kill", "new_leader", "owner", "restart", "stall", "stop", "switch",
    )  # fmt: skip

    def task(self, number: int) -> int:
        """The task that a number stands for."""
        return number % self.system.env.tasks

    def kill(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.kill(task):
            return False
        self.later(self.run.down_us, task)
        return True

    def stall(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.stall(task):
            return False
        self.kernel.after(self.kernel.spread(self.run.stall_us), self.resume, task)
        if number & 64:
            self.later(self.run.down_us, task)
        return True

    def resume(self, task: int) -> None:
        """It goes on."""
        self.system.resume(task)

    def restart(self, number: int) -> bool:
        return self.system.restart(self.task(number))

    def stop(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.stop(task):
            return False
        self.later(self.run.down_us, task)
        return True

    def later(self, mean_us: int, task: int) -> None:
        """Another instance of the task is there after a while."""
        self.kernel.after(self.kernel.spread(mean_us), self.start, task)

    def start(self, task: int) -> None:
        """Another instance, if the task still has none, or one that stands still or ends."""
        env = self.system.env
        if env.lacks_instance(task) or env.assigned[task].process in env.threads.stalled:
            self.system.restart(task)

    def configure(self, number: int) -> bool:
        env = self.system.env
        separate = bool(number & 256) or (env.separate and not env.config.taken)
        if separate and not env.separate:
            self.kernel.after(self.kernel.spread(self.run.down_us), self.start_owner)
        return self.system.configure(1 + number % env.config.tasks, separate)

    def start_owner(self, _: object) -> None:
        """The Connector goes to another worker soon after it was given a topic of its own."""
        self.system.start_owner()

    def ask(self, number: int) -> bool:
        return self.system.ask_boundary(self.task(number), bool(number & 256))

    def fail_over(self, number: int) -> bool:
        self.system.fail_over()
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % 3)
        return True

    def owner(self, number: int) -> bool:
        if number & 256 and self.system.stall_owner():
            self.kernel.after(self.kernel.spread(self.run.stall_us), self.resume_owners)
        return self.system.start_owner()

    def resume_owners(self, _: object) -> None:
        """They go on."""
        self.system.resume_owners()

    def switch(self, number: int) -> bool:
        """Take the feature away, or bring it back."""
        env = self.system.env
        if not env.config.downgrades:
            return False
        return self.system.upgrade() if env.runtime else self.system.downgrade(bool(number & 256))


# Free-running histories of source tasks: `simulate(7, {"mode": "text-merged-view", "events": 400, "stall": 0.02})`.
#
# A random scheduler lets one waiting thread after the other do its operation. Some are slow: they wait while everything
# else goes on, which is how zombies and late copies come about. Rates of faults are per step, those of operations per
# operation. With `quiet_end` faults stop after so many events, and the history goes on until the source is read to its
# end and everything is decided, or nothing comes of it any more.

APART = {"copy": (0.2, 40_000), "look": (0.3, 80_000), "migrate": (0.4, 150_000)}
"""Operations that wait more often, or longer, than others: whoever is late with them does harm."""
NOTICE_MS = 10  # brokers, and threads that wait for a time, notice no shorter times
SETTLE_STEP_MS = 200
SETTLE_MS = 20_000  # so long after the last fault everything is read and decided, if it ever is
STEPS_MAX = 2_000  # between two of those


@dataclass(frozen=True, slots=True)
class Run(Rates):
    """The pace of threads, and how their operations go. Durations are means, in virtual microseconds."""

    quiet_end: bool = False
    failed: Rate = 0.01  # per operation: does not happen
    lost: Rate = 0.005  # per operation: happens, and is taken for failed
    refused_last: Rate = 0.3  # of the records that are sent when their task is asked to stop
    slow_share: Rate = 0.03  # of the operations: each waits for about `slow_us`
    step_us: Natural = 1_500
    slow_us: Natural = 40_000
    audit_us: Natural = 60_000

    def relate(self) -> None:
        """Raises ValueError where an operation would more than always go wrong."""
        for failed in (self.failed, self.refused_last):
            if failed + self.lost > 1:
                raise ValueError(f"config failed={failed}, lost={self.lost}: together at most 1; lower them")


class FreeRun(free_run.FreeRun[Run, Config]):
    """A connector, with operators and faults, and the scheduler of its threads."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Enough to read for a history of some hundred events, and time-outs that it sees
    cluster_defaults = {  # noqa: RUF012
        "tasks": 3, "partitions": 3, "records": 12, "interval_ms": 30, "transaction_timeout_ms": 400,
        "timeout_check_ms": 50,
    }  # fmt: skip
    defects = "fencepost.reference_impl.defects.source_offsets"
    nodes: Faults

    @classmethod
    def simulate_with_stats(cls, seed: int, config: Mapping[str, Any]) -> tuple[list[tuple[int, ...]], dict[str, int]]:
        """As any; what a variant brings along outweighs the defaults here."""
        return super().simulate_with_stats(seed, {**CONFIGS.get(config.get("mode", ""), {}), **config})

    @classmethod
    def implementation(cls, broken: str) -> tuple[Mapping[str, Any], Any]:
        """A defect is played with what it needs to show; without one the variant says what is wrong."""
        if not broken:
            return {}, None
        defect = cls.defect(broken)
        return dict(defect.needs), defect.parts

    def begin(self, parts: Any) -> None:
        """The first set has started; threads wait for the scheduler."""
        config = self.config
        self.system = System(Environment(config, self.kernel, parts or parts_of(config.mode)))
        self.rows = self.system.env.log.rows
        self.nodes = Faults(self.system, self.run, self.kernel, self.faults)
        self.slow: dict[int, tuple[str, int]] = {}  # by thread: its operation, and when it may do it
        self.noticed_ms = 0
        self.turn: list[Any] = []  # the operation and the task of the thread whose turn it is
        self.kernel.after(self.run.audit_us, self.audit)

    def possible_faults(self) -> tuple[str, ...]:
        """Those that this configuration can have."""
        without = {"ask"} if self.config.boundary != "connector" else set()
        if not self.config.downgrades:
            without.add("switch")
        if self.config.mode not in ("migration-sentinel", "migration-race"):
            without.add("owner")
        return tuple(name for name in super().possible_faults() if name not in without)

    def play(self) -> None:
        """So many events, and with `quiet_end` the rest until all is read."""
        rows, enough = self.rows, self.run.events
        idle = 0
        while len(rows) < enough and idle < STEPS_MAX:
            before = len(rows)
            self.step()
            idle = idle + 1 if len(rows) == before else 0
        if self.run.quiet_end:
            self.settle()
        else:
            del rows[enough:]  # the last thing that happened may have written several rows

    def step(self) -> None:
        """Some time passes, perhaps with a fault, and one thread goes on."""
        kernel = self.kernel
        kernel.advance(kernel.spread(self.run.step_us))
        self.notice()
        self.nodes.draw()
        number = self.pick()
        if number >= 0:
            self.system.step(number, self.outcome())

    def notice(self) -> None:
        """Brokers, and threads that wait for a time, notice that it passes."""
        ms = self.kernel.now // US_PER_MS
        if ms - self.noticed_ms >= NOTICE_MS:
            self.system.env.brokers.advance(ms - self.noticed_ms)
            self.system.env.threads.settle()
            self.noticed_ms = ms

    def pick(self) -> int:
        """The number of the thread whose turn it is, -1 for none."""
        now, slow = self.kernel.now, self.slow
        ready = []
        for number, operation, task, _ in self.system.threads():
            seen = slow.get(number)
            if seen is None or seen[0] != operation:
                seen = slow[number] = (operation, self.slowness(operation))
            if seen[1] <= now:
                ready.append((number, operation, task))
        if not ready:
            return -1
        chosen, *self.turn = ready[int(self.random() * len(ready))]
        del slow[chosen]
        return chosen

    def slowness(self, operation: str) -> int:
        """When a thread that has just come to an operation may do it."""
        run = self.run
        share, mean_us = APART.get(operation, (run.slow_share, run.slow_us))
        return self.kernel.now + self.kernel.spread(mean_us) if self.random() < share else 0

    def outcome(self) -> str:
        """How the operation of the thread goes whose turn it is."""
        run, luck = self.run, self.random()
        operation, task = self.turn
        is_last = operation == "send" and task >= 0 and self.system.is_stopping(task)
        failed = run.refused_last if is_last else run.failed
        if luck >= failed + run.lost:
            return OK
        outcome = FAILED if luck < failed else LOST
        self.faults.count(outcome)
        return outcome

    def audit(self, _: object) -> None:
        """An auditor looks, and will look again."""
        self.system.audit()
        self.kernel.after(self.run.audit_us, self.audit)

    def settle(self) -> None:
        """Faults are over: whoever stands still goes on, and everything is given the time to be read."""
        system = self.system
        system.upgrade()
        for task in range(self.config.tasks):
            system.resume(task)
        system.resume_owners()
        finish(system)


def finish(system: System) -> None:
    """Everything goes on, without faults, until the source is read to its end and all is decided, and is audited."""
    for _ in range(SETTLE_MS // SETTLE_STEP_MS):
        go_on(system)
        if is_finished(system):
            break
        for task in range(system.env.tasks):
            if system.env.lacks_instance(task):
                system.restart(task)
        if system.awaits_content() and not any(not owner.ended for owner in system.connector.owners):
            system.start_owner()
        system.advance(SETTLE_STEP_MS)
    system.audit(undecided=True)


def go_on(system: System) -> None:
    """Every thread does what it can, oldest first."""
    for _ in range(STEPS_MAX):
        threads = system.threads()
        if not threads:
            return
        system.step(threads[0][0])


def is_finished(system: System) -> bool:
    """Whether every task of the newest set has read its source to the end, and no transaction is open."""
    env = system.env
    if any(env.lacks_instance(task) for task in range(env.tasks)):
        return False
    done = all(each.source is not None and not each.source.has_more() for each in env.assigned.values())
    return done and not system.is_undecided()


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats


# KIP-618: exactly-once source tasks. Records and source offsets in one transaction, and where offsets are read.
#
# The protocol is in `connect/offsets`, on the threads, producers and Kafka of `connect`; here a set of tasks starts
# when the one before it is fenced.
#
# Left out: several connectors; the read to the end of a store's start, as every question for offsets reads again, and
# only that one says where a task begins; commits record by record (TransactionContext for a record); `commitRecord`;
# pausing; offsets that users alter; partitions of an offsets topic beside the first, and its compaction.

__all__ = [
    "COLUMNS",
    "KIND_NAMES",
    "Event",
    "Kind",
    "System",
    "readable",
    "reference",
    "simulate",
    "simulate_with_stats",
]
