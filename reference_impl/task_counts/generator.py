"""Free-running histories of Connect workers: `simulate(7, {"mode": "B", "events": 400, "stall": 0.02})`.

A random scheduler lets one waiting thread after the other do its operation. Some threads are slow: they wait while
everything else goes on, which is how zombies come about. Rates of faults are per step, those of operations per
operation. With `quiet_end` faults and requests stop after so many events, workers that were away come back, users
restart what failed, and the history goes on until every task of every newest set has committed something.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.simulation import free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import US_PER_MS
from fencepost.reference_impl.task_counts.config import Config
from fencepost.reference_impl.task_counts.environment import Environment
from fencepost.reference_impl.task_counts.node_faults import AT_WORK, Faults, Rates
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.settled import Settled
from fencepost.reference_impl.task_counts.system import System
from fencepost.reference_impl.task_counts.tasks.threads import FAILED, LOST, OK
from fencepost.reference_impl.task_counts.workload import Users

OF_ROUNDS = ("start_round", "fence", "check_round", "write_count")
NOTICE_MS = 25  # brokers, and threads that wait for a time, notice no shorter times
IDLE_STEPS_MAX = 2_000  # steps without an event, after which a history ends: nothing will ever happen again


@dataclass(frozen=True, slots=True)
class Run(Rates):
    """The pace of threads, and how their operations go. Durations are means, in virtual microseconds."""

    quiet_end: bool = False
    settle_events: Natural = 20_000  # with `quiet_end`: at most so many more; a backlog of requests outlasts 6,000
    failed: Rate = 0.01  # per operation: does not happen
    lost: Rate = 0.01  # per operation: happens, and is taken for failed
    round_failed: Rate = 0.05  # per operation of a round: does not happen, or (half of them) is taken for failed
    slow_share: Rate = 0.06  # of the operations: each waits for about `slow_us`
    work_share: Rate = 0.2  # of the steps: a running task's, where other threads wait too
    step_us: Natural = 1_500
    slow_us: Natural = 120_000

    def relate(self) -> None:
        """Raises ValueError where an operation would more than always go wrong."""
        if self.failed + self.lost > 1:
            raise ValueError(f"config failed={self.failed}, lost={self.lost}: together at most 1; lower them")


class FreeRun(free_run.FreeRun[Run, Config]):
    """A cluster, with users and faults queued in its kernel, and the scheduler of its threads."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Exactly-once support, enough workers for zombies, and time-outs that short histories see.
    cluster_defaults = {  # noqa: RUF012
        "support": "enabled", "workers": 3, "max_tasks": 3, "graceful_shutdown_ms": 30, "retry_backoff_ms": 20,
        "rest_timeout_ms": 300, "transaction_timeout_ms": 2_000,
    }  # fmt: skip
    defects = "fencepost.reference_impl.task_counts.defects.broken"
    nodes: Faults

    @classmethod
    def implementation(cls, broken: str) -> tuple[Mapping[str, Any], Any]:
        """Every defect brings along the config without which it does not show."""
        return dict(cls.defect(broken).needs) if broken else {}, super().implementation(broken)[1]

    def begin(self, parts: Any) -> None:
        """Users ask from the start; threads wait for the scheduler."""
        self.system = System(Environment(self.config, self.kernel, parts))
        self.rows = self.system.env.log.rows
        self.users = Users(self.system, self.run)
        self.nodes = Faults(self.system, self.run, self.kernel, self.faults, self.users)
        self.begin_scheduling()

    def begin_scheduling(self) -> None:
        """Nothing has been noticed yet."""
        self.slow: dict[int, tuple[str, int]] = {}  # by thread: its operation, and when it may do it; 0: at once
        self.quiet = False
        self.noticed_ms = 0
        self.settled = Settled(self.system, self.users, self.rows)
        self.idle = 0  # steps since a thread went on: the longer, the more time passes in one

    def play(self) -> None:
        """So many events, and with `quiet_end` the rest until everything runs."""
        self.go_on(self.run.events)
        if self.run.quiet_end:
            self.settle()
        else:
            del self.rows[self.run.events :]  # the last thing that happened may have written several rows

    def go_on(self, enough: int, until_settled: bool = False) -> None:
        """Until there are enough rows, or nothing happens any more."""
        rows, idle = self.rows, 0
        while len(rows) < enough and idle < IDLE_STEPS_MAX and not (until_settled and self.settled()):
            before = len(rows)
            self.step()
            idle = 0 if len(rows) > before else idle + 1

    def step(self) -> None:
        """Some time passes, perhaps with a fault, and one thread goes on."""
        self.pass_time(self.kernel.spread(self.run.step_us * min(1 + self.idle, 20)))
        self.nodes.draw()
        number = self.pick()
        self.idle += 1
        if number >= 0:
            self.idle = 0
            self.system.step(number, self.outcome(self.slow[number][0]))
            self.users.look(self.rows)

    def pass_time(self, us: int) -> None:
        """For users and faults at once; brokers, and threads that wait for a time, notice in larger steps."""
        self.kernel.advance(us)
        ms = self.kernel.now // US_PER_MS
        if ms - self.noticed_ms >= NOTICE_MS or self.idle:
            self.system.env.brokers.advance(ms - self.noticed_ms)
            self.system.env.threads.settle()
            self.noticed_ms = ms

    def pick(self) -> int:
        """The number of the thread whose turn it is, -1 for none."""
        now, slow = self.kernel.now, self.slow
        waiting: list[int] = []
        working: list[int] = []
        for thread, at in self.system.env.threads.ready():
            number, operation = thread.number, at.name
            seen = slow.get(number)
            if seen is None or seen[0] != operation:
                seen = slow[number] = (operation, self.slowness(now))
            if seen[1] <= now:
                (working if operation in AT_WORK else waiting).append(number)
        if waiting:
            self.settled.bustle = len(self.rows) + 1
        nodes = self.nodes
        if nodes.first_steps:
            nodes.first_steps -= 1
            awake = [thread[0] for thread in self.system.threads() if thread[2] == nodes.first and thread[1] in AT_WORK]
            if awake:
                return awake[int(self.random() * len(awake))]
        chosen = working if working and (not waiting or self.random() < self.run.work_share) else waiting
        return chosen[int(self.random() * len(chosen))] if chosen else -1

    def slowness(self, now: int) -> int:
        """When a thread that has just come to an operation may do it."""
        if not self.quiet and self.random() < self.run.slow_share:
            return now + self.kernel.spread(self.run.slow_us)
        return 0

    def outcome(self, operation: str) -> str:
        """How an operation goes."""
        if self.quiet:
            return OK
        run, luck = self.run, self.random()
        failed, lost = (run.round_failed / 2,) * 2 if operation in OF_ROUNDS else (run.failed, run.lost)
        if luck >= failed + lost:
            return OK
        outcome = FAILED if luck < failed else LOST
        self.faults.count(outcome)
        return outcome

    def settle(self) -> None:
        """Faults are over: workers come back, and everything is given the time to run."""
        self.quiet = True
        self.users.end()
        self.slow.clear()
        self.nodes.end()
        self.settled.bustle = len(self.rows)
        self.go_on(self.settled.bustle + self.run.settle_events, until_settled=True)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
