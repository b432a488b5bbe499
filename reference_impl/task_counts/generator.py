"""Free-running histories: a Connect cluster, its users and its faults, moved by nothing but a seed.

    rows = simulate(7, {"mode": "B", "events": 400, "stall": 0.02})

gives 400 rows in the order of `events.COLUMNS`; the same seed and config give the same rows in any process. A random
scheduler lets one waiting thread after the other do its operation. Some threads are slow: they wait while everything
else goes on, which is how zombies come about. Rates of faults are per step, those of operations per operation. With
`quiet_end` faults and requests stop after so many events, whoever was away comes back, users restart what failed, and
the history goes on until every task of every newest set has committed something.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fencepost.reference_impl.simulation import FaultMix
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.task_counts.config import KEYS, Config, parse
from fencepost.reference_impl.task_counts.environment import US_PER_MS
from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.outages import AT_WORK, NODE_FAULTS, Outages, Rates
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.system import System, build
from fencepost.reference_impl.task_counts.tasks.threads import FAILED, LOST, OK
from fencepost.reference_impl.task_counts.topic.cluster_state import NOTHING, ClusterConfigState
from fencepost.reference_impl.task_counts.users import Users

OF_ROUNDS = ("start_round", "fence", "check_round", "write_count")
NOTICE_MS = 25  # brokers, and threads that wait for a time, notice no shorter times
IDLE_STEPS_MAX = 2_000  # steps without an event, after which a history ends: nothing will ever happen again


@dataclass(frozen=True, slots=True)
class Run(Rates):
    """What a free-running history adds to the cluster's config. Durations are means, in virtual microseconds."""

    events: int = 300
    broken: str = ""  # name of a broken implementation (broken.REGISTRY); empty: the correct one
    quiet_end: bool = False
    settle_events: int = 6_000  # with `quiet_end`: at most so many more, until everything runs
    failed: float = 0.01  # per operation: does not happen
    lost: float = 0.01  # per operation: happens, and is taken for failed
    round_failed: float = 0.05  # per operation of a round: does not happen, or (half of them) is taken for failed
    slow_share: float = 0.06  # of the operations: each waits for about `slow_us`
    work_share: float = 0.2  # of the steps: a running task's, where other threads wait too
    schedule: list[tuple[int, str, int]] = field(default_factory=list)  # for certain: (time_us, node fault, number)
    step_us: int = 1_500
    slow_us: int = 120_000


RUN_KEYS = frozenset(f.name for f in fields(Run))
# What differs from the driven cluster: exactly-once support, enough workers for zombies, and time-outs that short
# histories see.
CLUSTER_DEFAULTS: dict[str, Any] = {
    "support": "enabled",
    "workers": 3,
    "max_tasks": 3,
    "graceful_shutdown_ms": 30,
    "retry_backoff_ms": 20,
    "rest_timeout_ms": 300,
    "transaction_timeout_ms": 2_000,
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
    needs, parts = defect_of(run)
    cluster = CLUSTER_DEFAULTS | needs | {key: config[key] for key in config if key in KEYS} | {"seed": seed}
    history = FreeRun(run, build(cluster, parts), parse(cluster))
    history.go_on(run.events)
    if run.quiet_end:
        history.settle()
    else:
        del history.rows[run.events :]  # the last thing that happened may have written several rows
    return history.rows, history.faults.counts


class FreeRun:
    """A cluster, with users and faults queued in its kernel, and the scheduler of its threads."""

    __slots__ = (
        "bustle", "config", "faults", "idle", "kernel", "noticed_ms", "outages", "quiet", "random", "rows", "run",
        "slow", "system", "users",
    )  # fmt: skip

    def __init__(self, run: Run, system: System, config: Config) -> None:
        if run.failed + run.lost > 1:
            raise ValueError(f"config failed={run.failed}, lost={run.lost}: together at most 1; lower them")
        self.run = run
        self.system = system
        self.config = config
        self.kernel = system.env.kernel
        self.random = self.kernel.random.random
        self.rows = system.env.log.rows
        self.faults = FaultMix(self.kernel.random, {fault: getattr(run, fault) for fault in NODE_FAULTS})
        self.users = Users(system, run)
        self.outages = Outages(system, run, self.users, self.faults)
        self.slow: dict[int, tuple[str, int]] = {}  # by thread: its operation, and when it may do it; 0: at once
        self.quiet = False
        self.noticed_ms = 0
        self.bustle = 0  # rows there were when a thread last had something to do but a task's work
        self.idle = 0  # steps since a thread went on: the longer, the more time passes in one
        for time_us, fault, number in run.schedule:
            self.kernel.at(time_us, self.outages.strike, (fault, number))

    def go_on(self, enough: int) -> None:
        """Until there are enough rows, or nothing happens any more."""
        rows, idle = self.rows, 0
        while len(rows) < enough and idle < IDLE_STEPS_MAX:
            before = len(rows)
            self.step()
            idle = 0 if len(rows) > before else idle + 1

    def step(self) -> None:
        """Some time passes, perhaps with a fault, and one thread goes on."""
        self.pass_time(self.kernel.spread(self.run.step_us * min(1 + self.idle, 20)))
        self.outages.draw()
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
        threads = self.system.threads()
        for thread in threads:
            number, operation = thread[0], thread[1]
            seen = slow.get(number)
            if seen is None or seen[0] != operation:
                seen = slow[number] = (operation, self.slowness(now))
            if seen[1] <= now:
                (working if operation in AT_WORK else waiting).append(number)
        if waiting:
            self.bustle = len(self.rows) + 1
        outages = self.outages
        if outages.first_steps:
            outages.first_steps -= 1
            awake = [thread[0] for thread in threads if thread[2] == outages.first and thread[1] in AT_WORK]
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
        if operation in OF_ROUNDS:
            failed, lost = run.round_failed / 2, run.round_failed / 2
        else:
            failed, lost = run.failed, run.lost
        if luck >= failed + lost:
            return OK
        outcome = FAILED if luck < failed else LOST
        self.faults.count(outcome)
        return outcome

    def settle(self) -> None:
        """Faults are over: everybody comes back, and everything is given the time to run."""
        self.quiet = True
        self.users.end()
        self.slow.clear()
        self.outages.end()
        self.bustle, limit = len(self.rows), len(self.rows) + self.run.settle_events
        idle = 0
        while len(self.rows) < limit and idle < IDLE_STEPS_MAX and not self.is_settled():
            before = len(self.rows)
            self.step()
            idle = 0 if len(self.rows) > before else idle + 1

    def is_settled(self) -> bool:
        """Whether every task of every newest set has committed a transaction since the last time that any thread had
        something else to do."""
        sets = None if self.bustle >= len(self.rows) else self.newest_sets()
        if sets is None:
            return False
        committed = {(r[4], r[5], r[7]) for r in self.rows[self.bustle :] if r[2] == Kind.TRANSACTION_COMMITTED}
        return all((c, task, place) in committed for c, place, tasks in sets for task in range(tasks))

    def newest_sets(self) -> list[tuple[int, int, int]] | None:
        """(connector, place, tasks) of the newest set of every connector that exists, as the topic's end says; None
        while one of them is still to be written."""
        state = ClusterConfigState()
        for offset, record in self.system.config_topic():
            state.apply(record, offset)
        known = [(number, name) for number, name in enumerate(self.config.connector_names) if state.is_known(name)]
        if any(
            name in state.inconsistent or (state.set_place(name) == NOTHING and state.target_state(name) != "STOPPED")
            for _, name in known
        ):
            return None
        return [(number, state.set_place(name), state.tasks(name)) for number, name in known]


def defect_of(run: Run) -> tuple[dict[str, Any], Parts]:
    """What the broken implementation that is asked for needs, and its pieces; nothing, and the correct ones."""
    if not run.broken:
        return {}, Parts()
    from fencepost.reference_impl.task_counts.defects.broken import (
        find,  # only histories with a defect need the defects
    )

    broken = find(run.broken)
    return dict(broken.needs), broken.parts
