"""Free-running histories of one source task: `simulate(7, {"mode": "proposed", "events": 400, "kill": 0.01})`.

At most one fault of the task's life is drawn before each poll, so that rates are "per poll" in histories of any length.
Faults of requests are "per request".
"""

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.simulation import free_run
from fencepost.reference_impl.source_commits.config import Config
from fencepost.reference_impl.source_commits.environment import Environment
from fencepost.reference_impl.source_commits.events import COLUMNS, Kind
from fencepost.reference_impl.source_commits.kafka import Sender
from fencepost.reference_impl.source_commits.node_faults import Faults, Run
from fencepost.reference_impl.source_commits.parts import Parts
from fencepost.reference_impl.source_commits.runtime.task import Task, WorkerSourceTask
from fencepost.reference_impl.source_commits.runtime.threads import FAILED, LOST, OK, OffsetCommit
from fencepost.reference_impl.source_commits.system import System

WAITS = frozenset({"snapshot", "begin", "finish", "drain", "commit"})
"""Operations that may have to wait, and give up after a time-out."""
REFUSED = {"send": (FAILED, LOST), "start": (FAILED,), "poll": (FAILED,), "tell": (FAILED,), "flush": (FAILED,)}
"""How operations of threads fail by themselves."""
LOOKS, LOOK_US = 40, 60_000
"""At the end: so often, and so long beyond a time-out and the longest delay each time, it is looked whether anything
happens; where nothing does, nothing will."""
POLLED_RECORD = COLUMNS.index("record")
IDLE = frozenset({Kind.TOLD, Kind.FLUSH_BEGUN, Kind.AUDITED})
"""What happens of itself where there is nothing to be done."""


class FreeRun(free_run.FreeRun[Run, Config]):
    """A task with its faults, all queued in the kernel."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    cluster_defaults = {"records": 0, "batch": 3, "filtered": 5}  # noqa: RUF012
    defects = "fencepost.reference_impl.source_commits.defects.broken"

    @classmethod
    def implementation(cls, broken: str) -> tuple[Mapping[str, Any], Any]:
        """A defect is played with what it needs to show."""
        if not broken:
            return {}, Parts()
        defect = cls.defect(broken)
        return dict(defect.needs), defect.parts

    def begin(self, parts: Any) -> None:
        """The first instance begins."""
        env = Environment(self.config, self.kernel, parts)
        self.rows = env.log.rows
        self.system = System(env)
        self.nodes = Faults(self.system, self.run, self.kernel, self.faults)
        self.calm = False
        self.scheduled: set[int] = set()  # lanes and threads of which something is queued, by identity
        self.deadlines: dict[int, int] = {}  # until when a waiting operation waits, by its number
        self.start()
        self.kernel.after(self.run.interval_us, self.commit_due)
        self.kernel.after(self.run.audit_us, self.audit)

    def play(self) -> None:
        """So many events, and with `quiet_end` the rest."""
        if not self.run.quiet_end:
            super().play()
            return
        self.kernel.run(self.rows, self.run.events)
        self.calm = True
        polled = (row[POLLED_RECORD] for row in self.rows if row[2] == Kind.POLLED)
        self.system.env.upstream.records = max(polled, default=1)  # there is no more to be read
        if self.random() < self.run.abort_last:
            self.system.abort()
        for _ in range(LOOKS):
            before = len(self.rows)
            self.kernel.advance(LOOK_US + self.run.timeout_us + 2 * self.run.delay_us)
            if IDLE.issuperset(row[2] for row in self.rows[before:]):
                break
        self.system.audit()

    # What happens by itself

    def start(self, _: object = None) -> None:
        """An instance begins, if there is none."""
        if self.system.current is None and self.system.start():
            self.follow(self.system.instances[-1])

    def follow(self, task: Task) -> None:
        """Queue what an instance does next, as far as it is not."""
        if not task.running:
            if not (task.producer.in_flight or task.offsets.in_flight):
                return
        else:
            self.follow_thread(task.thread)
            if task.committer is not None:
                self.follow_thread(task.committer)
        self.follow_requests(task, task.producer)
        self.follow_requests(task, task.offsets)

    def follow_thread(self, thread: OffsetCommit) -> None:
        if thread.doing and id(thread) not in self.scheduled:
            self.scheduled.add(id(thread))
            mean = self.run.poll_us if thread.doing == "poll" else self.run.think_us
            if not self.calm and self.random() < self.run.linger:
                mean = self.run.delay_us
            self.kernel.after(int(self.random() * 2 * mean), self.act, thread)

    def follow_requests(self, task: Task, sender: Sender) -> None:
        for lane in sender.lanes:
            if lane and id(lane) not in self.scheduled:
                self.scheduled.add(id(lane))
                slow = not self.calm and self.random() < self.run.delay
                mean = self.run.delay_us if slow else self.run.latency_us
                self.kernel.after(int(self.random() * 2 * mean), self.arrive, (task, sender, lane))

    def arrive(self, what: tuple[Task, Sender, Any]) -> None:
        """The oldest request of a lane comes to its broker, if it was not lost with its process."""
        task, _, lane = what
        self.scheduled.discard(id(lane))
        if lane:
            outcome = OK
            if not self.calm:
                luck = self.random()
                if luck < self.run.request_failure:
                    outcome = FAILED if self.random() < 0.5 else LOST
                    self.faults.count("request_failure")
            self.system.arrive(task, lane[0], outcome)
        self.follow(task)
        if not task.running:
            self.system.forget_ended()

    def act(self, thread: OffsetCommit) -> None:
        """A thread does what it stands before, or waits, and not for ever."""
        self.scheduled.discard(id(thread))
        task, operation = thread.task, thread.doing
        if not operation or not task.running:
            return
        if operation == "poll" and not self.calm:
            self.nodes.draw()
            for each in self.system.instances[-1:]:  # which may have begun now
                self.follow(each)
            if not task.running:
                self.system.forget_ended()
                self.restart()
                return
        if thread.step(self.outcome_of(thread, operation)):
            if not task.running:
                self.system.forget_ended()
                self.restart()
        elif operation in WAITS:
            self.scheduled.add(id(thread))
            self.kernel.after(self.run.think_us * 4, self.act, thread)
            return
        self.follow(task)

    def outcome_of(self, thread: OffsetCommit, operation: str) -> str:
        """How an operation ends: it is refused at times, and what waits for long gives up."""
        if operation in WAITS:
            deadline = self.deadlines.setdefault(thread.number, self.kernel.now + self.run.timeout_us)
            if self.kernel.now < deadline:
                return OK
            self.faults.count("time_out")
            return FAILED
        refusal = self.run.refused_last if operation == "send" and thread.task.stop_asked else self.run.refusal
        if operation in REFUSED and not self.calm and self.random() < refusal:
            ways = REFUSED[operation]
            self.faults.count("refusal")
            return ways[int(self.random() * len(ways) * 0.75)] if len(ways) > 1 else ways[0]
        return OK

    def restart(self) -> None:
        """Another instance follows, after a while."""
        self.kernel.after(int(self.random() * 2 * self.run.down_us), self.start)

    def commit_due(self, _: object) -> None:
        """offset.flush.interval.ms is over, and begins anew."""
        task = self.system.current
        if isinstance(task, WorkerSourceTask) and task.commit_due():
            self.follow(task)
        self.kernel.after(self.run.interval_us, self.commit_due)

    def audit(self, _: object) -> None:
        """An auditor looks, and will look again."""
        self.system.audit()
        self.kernel.after(self.run.audit_us, self.audit)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
