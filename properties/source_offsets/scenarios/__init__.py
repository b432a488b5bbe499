"""This module drives the tasks of a source connector: instances that are overtaken in the middle of a transaction, sets
that replace others, transactions that stay open in an offsets topic, calls that are not answered, and several owners of
the Connector at once.

`walk`, `go` and `finish` are calls as well. Programs are written with them, so they need nothing but the interface.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fencepost.properties.machine import Machine, scenario
from fencepost.properties.roles import Between, FromConfig, OneOf
from fencepost.properties.source_offsets.interface import GettingOn, System, Task

Tasks = Annotated[int, FromConfig("tasks")]
Steps = Annotated[int, Between(1, 20)]
OWNER = -1
"""Threads of an owner have this task."""

STEP_MS = 100
CALM_MS = 2_500
"""A correct connector has read its source `CALM_MS` after the last fault: transactions time out before."""
MOST = 2_000
"""At most `MOST` operations happen at one instant, because a broken connector may never come to rest."""


def walk(system: System, task: Task, steps: Steps = 1, without: str = "") -> int:
    """Let the threads of a task (-1: the owners of the Connector) do that many operations, oldest thread first, except
    operations named ``without``, and return how many they did."""
    for done in range(steps):
        number = next((n for n, what, whose, _ in system.threads() if whose == task and what != without), None)
        if number is None:
            return done
        system.step(number)
    return steps


def go(system: System, steps: Annotated[int, OneOf(5, 20, 60)], without: str = "") -> None:
    """Let all threads do one operation each in turn, that many altogether, except operations named ``without``."""
    done = 0
    while done < steps:
        waiting = [number for number, what, *_ in system.threads() if what != without]
        if not waiting:
            return
        for number in waiting:
            if any(number == each[0] for each in system.threads()):
                system.step(number)
                done += 1


def get_on(system: System, tasks: Tasks) -> Any:
    """End the faults: nodes that stand still go on, and none is restarted. The living instances work until the source
    has nothing more for them. Return what an auditor reads when everything has had its time."""
    system.resume_owners()
    for task in range(tasks):
        system.resume(task)
    return _in_calm(system)


def finish(system: System, tasks: Tasks) -> Any:
    """Start a new instance of every task, with the feature on, and let all work until the source has nothing more.
    Return what an auditor reads when everything has had its time."""
    system.upgrade()
    system.resume_owners()
    system.start_owner()
    for task in range(tasks):
        system.resume(task)
        system.restart(task)
    return _in_calm(system)


def _in_calm(system: System) -> Any:
    for _ in range(0, CALM_MS, STEP_MS):
        for _ in range(MOST):
            waiting = system.threads()
            if not waiting:
                break
            system.step(waiting[0][0])
        system.advance(STEP_MS)
    return system.audit()


HELPERS = (walk, go, get_on, finish)
AT_REST = frozenset({"finish"})
"""After the calls in `AT_REST` nothing is left to happen."""
CONTEXT = GettingOn


def PARTS(config: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the parts of a system that the model can follow. The model has no partitions that begin anew, so only the
    promises judge a system with several rounds."""
    return () if config.get("rounds", 1) > 1 else (config,)


STEPS = {
    "step": "step", "restart": "restart", "kill": "kill", "stop": "stop", "lead": "change_leader",
    "fail_over": "fail_over", "pass_time": "advance", "audit": "audit",
}  # fmt: skip
"""The single calls in `STEPS` are steps of their own, by the name of the rule."""
WEIGHTS = {
    "overtaken": 3, "configured_anew": 4, "behind_an_open_one": 3, "interrupted": 3, "given_its_own_topic": 4,
    "some_time": 2, "taken_away": 2, "asked_for": 3, "ended_in_order": 2,
}  # fmt: skip


LAST_FAULTS = ("nothing", "refusals", "aborts", "lost", "refusals", "flush", "aborts")
"""The last fault of a run is one of `LAST_FAULTS`, in turn."""
LEFT = 24
"""A last fault strikes at most `LEFT` batches."""
SMALL = 8
"""Two scenarios may have read `SMALL` records of each source partition."""


class Scenarios(Machine, steps={}, weights=WEIGHTS):
    """`Scenarios` has the scenarios of one connector."""

    played = 0

    def by_chance(self, chance: int) -> None:
        """Run a scenario, but so few with a small source that records are left for the last fault."""
        self.played += 1
        if self.run.config["records"] > SMALL or self.played * SMALL <= self.run.config["records"]:
            super().by_chance(chance)

    def goes_to(self, task: int, operation: str, most: int = 40) -> bool:
        """Let a task go on until it waits for this operation, and return False if it never does."""
        for _ in range(most):
            mine = [thread for thread in self.waiting() if thread[2] == task]
            if any(thread[1] == operation for thread in mine):
                return True
            if not mine:
                return False
            self.call("walk", task, 1)
        return False

    @scenario
    def overtaken(
        self, task: Task, at: Annotated[str, OneOf("send", "flush", "commit", "open", "check", "run")],
        further: Annotated[int, Between(0, 12)], more: Steps,
    ) -> None:  # fmt: skip
        """An instance stands still before an operation, another one does steps of its task, and the first goes on."""
        self.goes_to(task, at)
        self.call("stall", task)
        self.call("restart", task)
        self.call("walk", task, further) if further else None
        self.call("audit")
        self.call("resume", task)
        self.call("walk", task, more)
        self.call("go", 20)

    @scenario
    def configured_anew(
        self, task: Task, at: Annotated[str, OneOf("send", "flush", "commit", "open")],
        tasks: Annotated[int, Between(1, 3)], separate: bool, further: Annotated[int, Between(0, 20)], more: Steps,
    ) -> None:  # fmt: skip
        """An instance stands still before an operation, and another set of tasks replaces its own."""
        self.goes_to(task, at)
        self.call("stall", task)
        self.call("configure", min(tasks, self.run.config["tasks"]), separate)
        self.call("go", further) if further else None
        self.call("resume", task)
        self.call("walk", task, more)
        self.call("audit")
        self.call("go", 20)

    @scenario
    def behind_an_open_one(self, task: Task, other: Task, batches: Annotated[int, Between(1, 3)], dies: bool) -> None:
        """A task has a transaction open in the offsets topic while another task commits after it and is restarted."""
        if not self.goes_to(task, "commit"):
            return
        self.call("stall", task)
        for _ in range(batches):
            self.goes_to(other, "commit")
            self.call("walk", other, 1)
        self.call("kill", other) if dies else None
        self.call("restart", other)
        self.call("walk", other, 12)
        self.call("audit")
        self.call("resume", task)
        self.call("go", 20)

    @scenario
    def interrupted(
        self, task: Task,
        at: Annotated[
            str, OneOf("open", "send", "flush", "flush", "commit", "commit", "abort", "copy", "migrate", "read")
        ],
        how: Annotated[str, OneOf("failed", "failed", "lost", "lost", "kill", "fail_over", "restart", "stop")],
        late: bool, passed: Annotated[int, OneOf(0, 0, 1, 2)], again: bool,
    ) -> None:  # fmt: skip
        """A fault strikes a task before an operation, or strikes the operation itself, the first of its kind or a later
        one. What the task has not copied is copied later. Another instance is started, or the task goes on by itself.
        """
        found = self.goes_to(task, at)
        for _ in range(passed):
            self.call("walk", task, 1)
            found = self.goes_to(task, at)
        if how in ("failed", "lost"):
            thread = next((each for each in self.waiting() if each[1] == at), None) if found else None
            self.send(thread, "step", outcome=how) if thread else None
        else:
            self.call("fail_over") if how == "fail_over" else self.call(how, task)
        self.call("walk", task, 2) if not again else None
        self.call("audit")
        self.call("restart", task) if how not in ("fail_over", "restart") and again else None
        self.call("go", 20, without="copy" if late else "")

    @scenario
    def given_its_own_topic(
        self, early: Annotated[int, OneOf(20, 5, 40)], tasks: Annotated[int, Between(1, 3)],
        at: Annotated[str, OneOf("migrate", "migrate", "look", "open")], further: Annotated[int, OneOf(20, 5, 60)],
        task: Task, filled: Annotated[int, OneOf(0, 0, 1, 2)],
    ) -> None:  # fmt: skip
        """The connector's offsets go to a topic of its own from now on. Where that topic has to be filled, an owner of
        the Connector stands still at that, perhaps after it has begun, and another owner does it."""
        self.call("go", early)
        self.call("configure", min(tasks, self.run.config["tasks"]), True)
        found = self.goes_to(OWNER, at)
        if found and filled:
            self.call("walk", OWNER, filled)
        if found and self.did("stall_owner"):
            self.call("start_owner")
            self.call("walk", OWNER, 12)
            self.call("go", further)
            self.call("resume_owners")
            self.call("walk", OWNER, 6)
            for each in range(self.run.config["tasks"]):
                self.call("restart", each)
        else:
            self.goes_to(task, "commit")
            self.call("walk", task, 1)
            for each in range(self.run.config["tasks"]):
                self.call("restart", each)
        self.call("audit")
        self.call("go", 20)

    @scenario
    def taken_away(
        self, hard: bool, deleted: bool, further: Annotated[int, OneOf(5, 20, 60)], back: bool
    ) -> None:  # fmt: skip
        """The feature is off for a while, where operators do that, and perhaps its topic is deleted meanwhile."""
        if self.did("downgrade", hard):
            self.call("go", further)
            self.call("delete_topic") if deleted else None
            self.call("upgrade") if back else None
        self.call("go", 20)
        self.call("audit")

    @scenario
    def asked_for(self, task: Task, commit: bool, steps: Steps) -> None:
        """A connector that defines the boundaries asks for the end of a transaction."""
        self.call("walk", task, steps)
        self.call("ask_boundary", task, commit)
        self.goes_to(task, "commit")
        self.call("go", 20)

    @scenario
    def ended_in_order(self, task: Task, steps: Steps, dropped: bool) -> None:
        """An instance is asked to stop, perhaps just when its producer did not take a record."""
        if dropped and self.goes_to(task, "send"):
            thread = next((each for each in self.waiting() if each[1] == "send" and each[2] == task), None)
            self.call("stop", task)
            self.send(thread, "step", outcome="failed") if thread else None
        else:
            self.call("walk", task, steps)
            self.call("stop", task)
        self.call("walk", task, 12)
        self.call("audit")
        self.call("restart", task)
        self.call("go", 20)

    @scenario
    def some_time(self, steps: Annotated[int, OneOf(5, 20, 60)], ms: Annotated[int, OneOf(100, 500)]) -> None:
        """The connector works without faults for a while."""
        self.call("go", steps)
        self.call("advance", ms)
        self.call("audit")

    def teardown(self) -> None:
        """Cause one last fault, which differs from run to run, and then end the faults. The living instances go on by
        themselves first and are judged by that."""
        if hasattr(self, "run") and not self.run.over:
            last = getattr(self, f"last_{LAST_FAULTS[len(self.run.made) % len(LAST_FAULTS)]}")
            for task in range(self.run.config["tasks"]):
                last(task)
            self.call("get_on")
            self.call("finish")
        super().teardown()

    def last_nothing(self, task: int) -> None:
        """Cause no further fault."""

    def last_refusals(self, task: int) -> None:
        """Let a task's producer refuse one record of each batch left, the first or the second, at the first attempt."""
        for batch in range(LEFT):
            self.goes_to(task, "send")
            self.call("walk", task, batch % self.run.config["batch"])
            if not self.refused(task, "send"):
                return
            self.call("walk", task, self.run.config["batch"])

    def refused(self, task: int, operation: str, outcome: str = "failed") -> bool:
        """Let a task's operation not happen, or be taken for failed, and return False if the task does not reach it."""
        if not self.goes_to(task, operation):
            return False
        thread = next(each for each in self.waiting() if each[1] == operation and each[2] == task)
        self.send(thread, "step", outcome=outcome)
        return True

    def last_aborts(self, task: int) -> None:
        """Let the connector abort everything that is left, where it can ask for that."""
        self.goes_to(task, "poll")
        for _ in range(LEFT):
            if not self.did("ask_boundary", task, False) or not self.did("walk", task, 5):
                return

    def last_lost(self, task: int) -> None:
        self.refused(task, "commit", "lost")
        self.call("audit")

    def last_flush(self, task: int) -> None:
        self.refused(task, "flush")
        self.call("walk", task, 2)
        self.call("audit")
