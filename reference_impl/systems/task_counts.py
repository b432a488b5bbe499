"""This module has free-running histories of Connect workers, with their users and faults; the cluster is in
`task_counts_cluster`. The protocol is in `connect`: read `rounds.py` and `source_task.py` first.

Users create, reconfigure, stop and delete connectors, and restart what failed. A user asks any worker that is up; a
user that is refused asks another worker a little later.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.connect.config import Config, Kind
from fencepost.reference_impl.connect.config_records import NOTHING, ClusterConfigState
from fencepost.reference_impl.connect.environment import Environment
from fencepost.reference_impl.connect.group import ASSIGNMENT, CONNECTOR
from fencepost.reference_impl.connect.threads import FAILED, LOST, OK
from fencepost.reference_impl.simulation import FaultMix, Kernel, free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import US_PER_MS
from fencepost.reference_impl.simulation.free_run import NodeFaults
from fencepost.reference_impl.simulation.free_run import Run as AnyRun
from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.systems import task_counts_cluster
from fencepost.reference_impl.systems.task_counts_cluster import Parts, System


@dataclass(frozen=True, slots=True)
class Habits(AnyRun):
    """`Habits` are how users behave: durations as means in virtual us, and shares of a connector's requests."""

    change_us: Natural = 300_000  # between two requests for one connector
    burst_us: Natural = 30_000  # until the next one, where a user has a change of mind
    burst_share: Rate = 0.35  # of the requests
    ask_again_us: Natural = 20_000  # after a refusal
    restart_us: Natural = 60_000  # until a user restarts a failed task, or connector
    delete_share: Rate = 0.08  # instead of a new configuration; the connector is created again
    stop_share: Rate = 0.05  # a set of no tasks
    fewer_share: Rate = 0.5  # of the changes while a worker stands still
    restart_share: Rate = 0.1  # the connector is restarted, without need


class Users:
    """`Users` are the users of one history."""

    __slots__ = ("created", "habits", "kernel", "quiet", "random", "seen", "sizes", "system", "tried")

    def __init__(self, system: System, habits: Habits) -> None:
        self.system = system
        self.habits = habits
        self.kernel: Kernel = system.env.kernel
        self.random: Callable[[], float] = self.kernel.random.random
        self.sizes = [-1] * system.env.config.connectors  # tasks that a connector was last given, -1: there is none
        self.created: set[int] = set()  # connectors that there have been
        self.seen = 0  # rows looked at
        self.tried: dict[tuple[int, int], int] = {}  # by (connector, task) that a user restarts: how often already
        self.quiet = False  # nothing new is asked for; what failed is restarted
        for connector in range(len(self.sizes)):
            self.kernel.after(self.kernel.spread(habits.ask_again_us), self.change, connector)

    def some_worker(self) -> int:
        return int(self.random() * self.system.env.config.workers)

    def change(self, connector: int) -> None:
        if self.quiet:
            return
        habits, accepted = self.habits, self.request(connector, self.random())
        if accepted:
            wait_us = habits.burst_us if self.random() < habits.burst_share else habits.change_us
        else:
            wait_us = habits.ask_again_us
        self.kernel.after(self.kernel.spread(wait_us), self.change, connector)

    def change_once(self, _: object) -> None:
        """Give some existing connector another size, often a smaller one, if a worker accepts this."""
        connector = int(self.random() * len(self.sizes))
        if not self.quiet and self.sizes[connector] >= 0:
            size = self.another_size(self.sizes[connector])
            if self.sizes[connector] > 1 and self.random() < self.habits.fewer_share:
                size = 1 + int(self.random() * (self.sizes[connector] - 1))
            self.accepted(connector, size, self.system.configure(self.some_worker(), connector, size))

    def request(self, connector: int, luck: float) -> bool:
        habits, system, worker = self.habits, self.system, self.some_worker()
        if self.sizes[connector] >= 0:
            if luck < habits.delete_share:
                return self.accepted(connector, -1, system.delete(worker, connector))
            luck -= habits.delete_share
            if luck < habits.stop_share:
                return self.accepted(connector, 0, system.stop_connector(worker, connector))
            if luck - habits.stop_share < habits.restart_share:
                return system.restart_connector(worker, connector)
        size = self.another_size(self.sizes[connector])
        return self.accepted(connector, size, system.configure(worker, connector, size))

    def another_size(self, size: int) -> int:
        most = self.system.env.config.max_tasks
        drawn = 1 + int(self.random() * most)
        return 1 + drawn % most if drawn == size and self.random() < 0.7 else drawn

    def accepted(self, connector: int, size: int, accepted: bool) -> bool:
        if accepted:
            self.sizes[connector] = size
        return accepted

    def end(self) -> None:
        """Ask only that each connector exists, and let an operator check whether rounds are missing."""
        self.quiet = True
        for connector in range(len(self.sizes)):
            self.create(connector)
        self.kernel.after(self.habits.restart_us, self.bring_rounds)

    def create(self, connector: int) -> None:
        """Ask for a connector until it is written, if it was asked for and nothing was written."""
        if connector not in self.created:
            size = self.another_size(-1)
            self.accepted(connector, size, self.system.configure(self.some_worker(), connector, size))
            self.kernel.after(self.kernel.spread(10 * self.habits.ask_again_us), self.create, connector)

    def bring_rounds(self, _: object) -> None:
        """Help with rounds that failed. In revision A, starts after such a round wait for the next rebalance (618.14),
        so some worker is restarted until every connector has had its round. In revision M, a Connector whose round
        failed is restarted where a task waits for it, even if another worker has overwritten its FAILED status."""
        rounds_by = self.system.env.revision.rounds_by
        if rounds_by == ASSIGNMENT and self.lacks_a_round():
            self.system.restart_worker(self.some_worker())
        elif rounds_by == CONNECTOR:
            for connector, size in enumerate(self.sizes):
                if any(self.system.status(connector, task)[0] == "UNASSIGNED" for task in range(size)):
                    self.system.restart_connector(self.some_worker(), connector)
        else:
            return
        self.kernel.after(10 * self.habits.restart_us, self.bring_rounds)

    def lacks_a_round(self) -> bool:
        """Return whether the config topic has no task count record after the newest set of some connector."""
        state = ClusterConfigState()
        for offset, record in self.system.config_topic():
            state.apply(record, offset)
        return any(state.needs_fencing(name) for name in state.names())

    def look(self, rows: list[Row]) -> None:
        """Queue restarts of the tasks that have failed since the last call, and of Connectors whose round has failed,
        and note which connectors exist."""
        for row in rows[self.seen :]:
            kind, connector, task = row[2], row[4], row[5]
            if kind == Kind.CONNECTOR_WRITTEN:
                self.created.add(connector)
            what, failed = (connector, task), kind == Kind.TASK_FAILED or (kind == Kind.ROUND_ANSWERED and task < 0)
            if failed and what not in self.tried:
                self.tried[what] = 0
                self.kernel.after(self.kernel.spread(self.habits.restart_us), self.restart, what)
        self.seen = len(rows)

    def restart(self, what: tuple[int, int]) -> None:
        """Restart what is still failed, a task or (-1) the Connector, and check again whether that helped, each time a
        little later: otherwise a start that takes longer than users wait would be interrupted for ever."""
        connector, task = what
        state, worker = self.system.status(connector, task)[0], self.some_worker()
        # Another worker that gives up the task may have overwritten the status that its owner wrote.
        if state not in ("FAILED", "UNASSIGNED"):
            del self.tried[what]
            return
        if task < 0:
            accepted = self.system.restart_connector(worker, connector)
        else:
            accepted = self.system.restart_task(worker, connector, task)
        self.tried[what] += accepted
        again_us = self.habits.restart_us if accepted else self.habits.ask_again_us
        self.kernel.after(self.kernel.spread(again_us * (1 + self.tried[what])), self.restart, what)


# This section has the faults of a free-running history: workers stall, crash, and are expired; the topic is compacted;
# other programs write.
#
# Stalls are aimed: mostly at a worker that runs a task and does not lead, and a user gives a connector another size
# just then, so that the worker is a zombie with an old task when it goes on; often its tasks are the first to go on.

AT_WORK = ("poll", "send", "flush", "copy", "commit", "abort")  # what running tasks do for ever
FIRST_STEPS = 6  # for so many steps the tasks of a worker that goes on come first


@dataclass(frozen=True, slots=True)
class Rates(Habits):
    """`Rates` has how often faults occur per step, and how long they last (means, in virtual microseconds)."""

    stall: Rate = 0.012  # a worker stands still
    aimed_share: Rate = 0.8  # of the stalls: of a worker with running tasks that does not lead
    change_at_stall: Rate = 0.6  # of the stalls: a user gives some connector another size at once
    first_share: Rate = 0.5  # of the workers that go on after a stall: their tasks before anything else
    crash: Rate = 0.002  # a worker is gone, and back after a while
    expire: Rate = 0.002  # a worker's session ends, though it is there
    compact: Rate = 0.001
    foreign_set: Rate = 0.0  # a program that is no worker writes to the config topic (618.34)
    foreign_count: Rate = 0.0
    new_support: Rate = 0.0  # a worker is restarted with another exactly.once.source.support (618.33)
    refuse: Rate = 0.0  # a connector may not fence for a while, and a user changes it, perhaps stopped before (618.47)
    stall_us: Natural = 300_000
    refuse_us: Natural = 200_000
    down_us: Natural = 60_000
    session_us: Natural = 80_000  # until the group goes on without a worker that is away


class Faults(NodeFaults[Rates, System]):
    """`Faults` has the faults of one history; ``away`` are the workers that are stalled or down."""

    names = ("stall", "crash", "expire", "compact", "foreign_set", "foreign_count", "new_support", "refuse")

    def __init__(self, system: System, rates: Rates, kernel: Kernel, mix: FaultMix, users: Users) -> None:
        super().__init__(system, rates, kernel, mix)
        self.users = users
        self.random = kernel.random.random
        self.workers = system.env.config.workers
        self.away: dict[int, tuple[str, int]] = {}
        self.absences = 0
        self.first, self.first_steps = -1, 0  # whose tasks go first, and for how many steps
        self.quiet = False  # nothing goes wrong any more

    def draw(self) -> None:
        fault = self.mix.draw()
        if fault is not None and not self.quiet:
            number = int(self.random() * self.places)
            if fault == "stall" and self.random() < self.run.aimed_share:
                number = self.some_follower_at_work(number)
            if number >= 0:
                self.strike((fault, number))

    def end(self) -> None:
        self.quiet = True
        for connector in range(self.system.env.config.connectors):
            self.system.set_fencing(connector, True)
        for worker, absence in sorted(self.away.items()):
            self.come_back((worker, absence))

    def strike(self, what: tuple[str, int]) -> None:
        if not self.quiet:
            super().strike(what)

    def stall(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.stall(worker)
        self.leave(worker, "stalled", self.run.stall_us)
        if self.random() < self.run.change_at_stall:
            self.kernel.at(self.kernel.now, self.users.change_once)
        return True

    def some_follower_at_work(self, number: int) -> int:
        """Return a worker that runs a task and does not lead, because such a zombie matters; -1 if there is none."""
        leader = self.system.env.group.leader
        busy = sorted({thread[2] for thread in self.system.threads() if thread[1] in AT_WORK} - {leader})
        return busy[number % len(busy)] if busy else -1

    def crash(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.crash(worker)
        self.leave(worker, "down", self.run.down_us)
        return True

    def leave(self, worker: int, how: str, mean_us: int) -> None:
        self.absences += 1
        absence = self.away[worker] = (how, self.absences)
        self.kernel.after(self.kernel.spread(mean_us), self.come_back, (worker, absence))
        self.kernel.after(self.kernel.spread(self.run.session_us), self.session_ends, (worker, absence))

    def session_ends(self, what: tuple[int, tuple[str, int]]) -> None:
        worker, absence = what
        if self.away.get(worker) == absence:
            self.system.expire(worker)

    def come_back(self, what: tuple[int, tuple[str, int]]) -> None:
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
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.expire(worker)
        return True

    def compact(self, number: int) -> bool:
        self.system.compact()
        return True

    def foreign_set(self, number: int) -> bool:
        return self.foreign("set", number)

    def foreign_count(self, number: int) -> bool:
        return self.foreign("count", number)

    def foreign(self, kind: str, number: int) -> bool:
        config = self.system.env.config
        self.system.write_foreign(kind, number % config.connectors, 1 + number // 16 % config.max_tasks)
        return True

    def new_support(self, number: int) -> bool:
        worker = number % self.workers
        if worker in self.away:
            return False
        self.system.set_support(worker, ("disabled", "enabled")[number // 16 % 2])
        return True

    def refuse(self, number: int) -> bool:
        connector = number % self.system.env.config.connectors
        self.system.set_fencing(connector, False)
        self.kernel.after(self.kernel.spread(self.run.refuse_us), lambda _: self.system.set_fencing(connector, True))
        users, worker = self.users, self.users.some_worker()
        if users.sizes[connector] >= 0:
            if number // 16 % 2:
                self.system.stop_connector(worker, connector)
            size = users.another_size(users.sizes[connector])
            users.accepted(connector, size, self.system.configure(worker, connector, size))
        return True


# A cluster at rest has settled when each task of each newest set works again.


class Settled:
    """A `Settled` is called after every step of a growing history: each row is read once, and an unchanged topic is not
    read again. ``bustle`` is how many rows there were when a thread last had something to do other than a task's work.
    """

    def __init__(self, system: System, users: Users, rows: Sequence[Sequence[int]]) -> None:
        self.system, self.users, self.rows = system, users, rows
        self.bustle = 0
        self._committed: set[tuple[int, int, int]] = set()  # (connector, task, set) of the commits since then
        self._counted = 0  # rows looked at for these
        self._newest: tuple[object, list[tuple[int, int, int]] | None] = None, None  # of the topic as it was last

    def __call__(self) -> bool:
        """Return whether each connector has been created, and every task of every newest set has committed a
        transaction since the last time that any thread had something else to do."""
        if self.bustle >= len(self.rows) or len(self.users.created) < self.system.env.config.connectors:
            return False
        if self._counted < self.bustle:
            self._committed.clear()
            self._counted = self.bustle
        for row in self.rows[self._counted :]:
            if row[2] == Kind.TRANSACTION_COMMITTED:
                self._committed.add((row[4], row[5], row[7]))
        self._counted = len(self.rows)
        version = self.system.env.topic.version()
        if version != self._newest[0]:
            self._newest = version, self.newest_sets()
        sets = self._newest[1]
        return sets is not None and all(
            (connector, task, place) in self._committed for connector, place, tasks in sets for task in range(tasks)
        )

    def newest_sets(self) -> list[tuple[int, int, int]] | None:
        """Return (connector, place, tasks) of the newest set of every connector that exists at the end of the config
        topic, or None while one of the sets is still to be written."""
        state = ClusterConfigState()
        for offset, record in self.system.config_topic():
            state.apply(record, offset)
        names = self.system.env.config.connector_names
        known = [(number, name) for number, name in enumerate(names) if state.is_known(name)]
        if any(
            name in state.inconsistent or (state.set_place(name) == NOTHING and state.target_state(name) != "STOPPED")
            for _, name in known
        ):
            return None
        return [(number, state.set_place(name), state.tasks(name)) for number, name in known]


# This section has free-running histories of Connect workers: `simulate(7, {"mode": "B", "events": 400, "stall":
# 0.02})`.
#
# A random scheduler lets one waiting thread after another do its operation. Some threads are slow: they wait while
# everything else goes on, which produces zombies. Rates of faults are per step, those of operations per operation. With
# `quiet_end`, faults and requests stop after the given number of events, workers that were away come back, users
# restart what failed, and the history goes on until every task of every newest set has committed something.

OF_ROUNDS = ("start_round", "fence", "check_round", "write_count")
NOTICE_MS = 25  # brokers, and threads that wait for a time, notice no shorter times
IDLE_STEPS_MAX = 2_000  # steps without an event, after which a history ends: nothing will ever happen again


@dataclass(frozen=True, slots=True)
class Run(Rates):
    """A `Run` has the pace of threads, and how their operations end. Durations are means, in virtual microseconds."""

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
        if self.failed + self.lost > 1:
            raise ValueError(f"config failed={self.failed}, lost={self.lost}: together at most 1; lower them")


class FreeRun(free_run.FreeRun[Run, Config]):
    """A `FreeRun` is a cluster, with users and faults queued in its kernel, and the scheduler of its threads."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # This cluster has exactly-once support, enough workers for zombies, and time-outs that occur in short histories.
    cluster_defaults = {  # noqa: RUF012
        "support": "enabled", "workers": 3, "max_tasks": 3, "graceful_shutdown_ms": 30, "retry_backoff_ms": 20,
        "rest_timeout_ms": 300, "transaction_timeout_ms": 2_000,
    }  # fmt: skip
    defects = "fencepost.reference_impl.defects.task_counts"
    nodes: Faults
    system: System

    def begin(self, parts: Any) -> None:
        self.system = System(Environment(self.config, self.kernel, parts))
        self.rows = self.system.env.log.rows
        self.users = Users(self.system, self.run)
        self.nodes = Faults(self.system, self.run, self.kernel, self.faults, self.users)
        self.begin_scheduling()

    def begin_scheduling(self) -> None:
        self.slow: dict[int, tuple[str, int]] = {}  # by thread: its operation, and when it may do it; 0: at once
        self.quiet = False
        self.noticed_ms = 0
        self.settled = Settled(self.system, self.users, self.rows)
        self.idle = 0  # steps since a thread went on: the longer, the more time passes in one

    def play_events(self) -> None:
        self.go_on(self.run.events)

    def go_on(self, enough: int, until_settled: bool = False) -> None:
        rows, idle = self.rows, 0
        while len(rows) < enough and idle < IDLE_STEPS_MAX and not (until_settled and self.settled()):
            before = len(rows)
            self.step()
            idle = 0 if len(rows) > before else idle + 1

    def step(self) -> None:
        self.pass_time(self.kernel.spread(self.run.step_us * min(1 + self.idle, 20)))
        self.nodes.draw()
        number = self.pick()
        self.idle += 1
        if number >= 0:
            self.idle = 0
            self.system.step(number, self.outcome(self.slow[number][0]))
            self.users.look(self.rows)

    def pass_time(self, us: int) -> None:
        """Let time pass, in larger steps for brokers and waiting threads than for users and faults."""
        self.kernel.advance(us)
        ms = self.kernel.now // US_PER_MS
        if ms - self.noticed_ms >= NOTICE_MS or self.idle:
            self.system.env.brokers.advance(ms - self.noticed_ms)
            self.system.env.threads.settle()
            self.noticed_ms = ms

    def pick(self) -> int:
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
        if not self.quiet and self.random() < self.run.slow_share:
            return now + self.kernel.spread(self.run.slow_us)
        return 0

    def outcome(self, operation: str) -> str:
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
        self.quiet = True
        self.users.end()
        self.slow.clear()
        self.nodes.end()
        self.settled.bustle = len(self.rows)
        self.go_on(self.settled.bustle + self.run.settle_events, until_settled=True)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
reference, released = task_counts_cluster.reference, task_counts_cluster.released
