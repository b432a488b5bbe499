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

from fencepost.reference_impl.connect.cluster_state import NOTHING, ClusterConfigState
from fencepost.reference_impl.connect.config import KEYS, Config, parse
from fencepost.reference_impl.connect.environment import US_PER_MS
from fencepost.reference_impl.connect.events import Kind
from fencepost.reference_impl.connect.parts import Parts
from fencepost.reference_impl.connect.system import System, build
from fencepost.reference_impl.connect.threads import FAILED, LOST, OK
from fencepost.reference_impl.connect.users import Habits, Users
from fencepost.reference_impl.simulation import FaultMix
from fencepost.reference_impl.simulation.log import Row

OF_ROUNDS = ("start_round", "fence", "check_round", "write_count")
AT_WORK = ("poll", "commit")  # what running tasks do for ever
NODE_FAULTS = ("stall", "crash", "expire", "compact", "foreign_set", "foreign_count", "new_support")
FIRST_STEPS = 6
NOTICE_MS = 25
IDLE_STEPS_MAX = 2_000  # steps without an event, after which a history ends: nothing will ever happen again


@dataclass(frozen=True, slots=True)
class Run(Habits):
    """What a free-running history adds to the cluster's config. Durations are means, in virtual microseconds."""

    events: int = 300
    broken: str = ""  # name of a broken implementation (broken.REGISTRY); empty: the correct one
    quiet_end: bool = False
    settle_events: int = 3_000  # with `quiet_end`: at most so many more, until everything runs
    failed: float = 0.01  # per operation: does not happen
    lost: float = 0.01  # per operation: happens, and is taken for failed
    round_failed: float = 0.05  # per operation of a round: does not happen, or (half of them) is taken for failed
    stall: float = 0.012  # per step: a worker stands still for `stall_us`
    aimed_share: float = 0.8  # of the stalls: of a worker with running tasks that does not lead
    first_share: float = 0.5  # of the workers that go on after a stall: their tasks before anything else
    change_at_stall: float = 0.6  # of the stalls: a user gives some connector another size at once
    crash: float = 0.002  # per step: a worker is gone, and back after `down_us`
    expire: float = 0.002  # per step: a worker's session ends, though it is there
    compact: float = 0.001  # per step
    foreign_set: float = 0.0  # per step: somebody else writes to the config topic (618.34)
    foreign_count: float = 0.0
    new_support: float = 0.0  # per step: a worker is restarted with another exactly.once.source.support (618.33)
    slow_share: float = 0.06  # of the operations: each waits for about `slow_us`
    work_share: float = 0.2  # of the steps: a running task's, where other threads wait too
    schedule: list[tuple[int, str, int]] = field(default_factory=list)  # for certain: (time_us, node fault, number)
    step_us: int = 1_500
    stall_us: int = 300_000
    down_us: int = 60_000
    slow_us: int = 120_000
    session_us: int = 80_000  # until the group goes on without a worker that is away


RUN_KEYS = frozenset(f.name for f in fields(Run))
# What differs from the driven cluster: enough workers for zombies, and time-outs that short histories see.
CLUSTER_DEFAULTS: dict[str, Any] = {
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
        "absences", "away", "bustle", "config", "faults", "first", "first_steps", "idle", "kernel", "noticed_ms",
        "quiet", "random", "rows", "run", "slow", "system", "users",
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
        self.slow: dict[int, tuple[str, int]] = {}  # by thread: its operation, and when it may do it; 0: at once
        self.away: dict[int, tuple[str, int]] = {}  # workers that are stalled or down, and since which absence
        self.absences = 0
        self.quiet = False
        self.first, self.first_steps = -1, 0  # whose tasks go first, and for how many steps
        self.noticed_ms = 0
        self.bustle = 0  # rows there were when a thread last had something to do but a task's work
        self.idle = 0  # steps since a thread went on: the longer, the more time passes in one
        for time_us, fault, number in run.schedule:
            self.kernel.at(time_us, self.strike, (fault, number))

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
        if not self.quiet:
            fault = self.faults.draw()
            number = int(self.random() * (1 << 16))
            if fault == "stall" and self.random() < self.run.aimed_share:
                number = self.some_follower_at_work(number)
            if fault is not None and number >= 0:
                self.strike((fault, number))
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
        if self.first_steps:
            self.first_steps -= 1
            awake = [thread[0] for thread in threads if thread[2] == self.first and thread[1] in AT_WORK]
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
        self.quiet = self.users.quiet = True
        self.slow.clear()
        for worker, absence in sorted(self.away.items()):
            self.come_back((worker, absence))
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

    # Faults

    def strike(self, what: tuple[str, int]) -> None:
        """Inject one fault; `number` says where, modulo what there is. It counts only if it changed anything."""
        fault, number = what
        if fault not in NODE_FAULTS:
            raise ValueError(f"no node fault is called {fault!r}: known are {', '.join(NODE_FAULTS)}")
        if not self.quiet and getattr(self, fault)(number):
            self.faults.count(fault)

    def stall(self, number: int) -> bool:
        worker = number % self.config.workers
        if worker in self.away:
            return False
        self.system.stall(worker)
        self.leave(worker, "stalled", self.run.stall_us)
        if self.random() < self.run.change_at_stall:
            self.kernel.after(self.kernel.spread(self.run.step_us), self.users.change_once)
        return True

    def some_follower_at_work(self, number: int) -> int:
        """A worker that runs a task and does not lead: such a zombie matters; -1 if there is none."""
        leader = self.system.env.group.leader
        busy = sorted({thread[2] for thread in self.system.threads() if thread[1] in AT_WORK} - {leader})
        return busy[number % len(busy)] if busy else -1

    def crash(self, number: int) -> bool:
        worker = number % self.config.workers
        if worker in self.away:
            return False
        self.system.crash(worker)
        self.leave(worker, "down", self.run.down_us)
        return True

    def leave(self, worker: int, how: str, mean_us: int) -> None:
        """A worker is away for a while: long enough for its session to end, or not."""
        self.absences += 1
        absence = self.away[worker] = (how, self.absences)
        self.kernel.after(self.kernel.spread(mean_us), self.come_back, (worker, absence))
        self.kernel.after(self.kernel.spread(self.run.session_us), self.session_ends, (worker, absence))

    def session_ends(self, what: tuple[int, tuple[str, int]]) -> None:
        """The group goes on without a worker that is still away."""
        worker, absence = what
        if self.away.get(worker) == absence:
            self.system.expire(worker)

    def come_back(self, what: tuple[int, tuple[str, int]]) -> None:
        """A stalled worker goes on, one that is down starts again."""
        worker, absence = what
        if self.away.get(worker) == absence:
            del self.away[worker]
            if absence[0] == "stalled":
                if self.random() < self.run.first_share:
                    self.first, self.first_steps = worker, FIRST_STEPS
                self.system.resume(worker)
            else:
                self.system.restart_worker(worker)

    def expire(self, number: int) -> bool:
        worker = number % self.config.workers
        if worker in self.away:
            return False
        self.system.expire(worker)
        return True

    def compact(self, number: int) -> bool:
        self.system.compact()
        return True

    def foreign_set(self, number: int) -> bool:
        self.system.write_foreign("set", number % self.config.connectors, 1 + number // 16 % self.config.max_tasks)
        return True

    def foreign_count(self, number: int) -> bool:
        self.system.write_foreign("count", number % self.config.connectors, 1 + number // 16 % self.config.max_tasks)
        return True

    def new_support(self, number: int) -> bool:
        worker = number % self.config.workers
        if worker in self.away:
            return False
        self.system.set_support(worker, ("disabled", "enabled")[number // 16 % 2])
        return True


def defect_of(run: Run) -> tuple[dict[str, Any], Parts]:
    """What the broken implementation that is asked for needs, and its pieces; nothing, and the correct ones."""
    if not run.broken:
        return {}, Parts()
    from fencepost.reference_impl.connect.broken import find  # only histories with a defect need the defects

    broken = find(run.broken)
    return dict(broken.needs), broken.parts
