"""This module drives source tasks through commits that overlap, flushes that fail, and ends in the middle of either.

`arrive`, `work`, `commit`, `all_goes_on` and `finish` are calls as well. Programs are written with them, so they need
nothing but the interface.
"""

from typing import Annotated, Any

from fencepost.properties.driving import read
from fencepost.properties.machine import Machine, scenario
from fencepost.properties.roles import Between, FromConfig, Named, OneOf
from fencepost.properties.source_commits.interface import OUTCOMES, InTheEnd, System

TASK, COMMITTER = 0, 1
REQUESTS = ("record", "offset")
MOST = 200
"""One call lets at most `MOST` operations happen, because a broken task may never come to rest."""

Without = Annotated[str, OneOf("", "", *REQUESTS)]
Lines = Annotated[int, Between(1, 8)]
Outcome = Annotated[str, OneOf("ok", *OUTCOMES)]
Place = Annotated[str, OneOf("begin", "finish", "tell")]


def _of(system: System, thread: int) -> int:
    """Return the number of the operation that the newest instance's thread waits for, or -1 if it waits for nothing."""
    waits = [waiting for waiting in system.threads() if waiting[3] == thread and waiting[1] not in REQUESTS]
    return int(max(waits, key=lambda waiting: waiting[2])[0]) if waits else -1


def _is_before(system: System, thread: int, place: str) -> bool:
    number = _of(system, thread)
    return any(waiting[0] == number and waiting[1] == place for waiting in system.threads())


def _runs(system: System) -> bool:
    return any(waiting[1] not in REQUESTS for waiting in system.threads())


def arrive(system: System, without: Without = "") -> None:
    """Let everything in flight arrive, oldest first, except requests of the kind ``without``."""
    for _ in range(MOST):
        number = next((w[0] for w in system.threads() if w[1] in REQUESTS and w[1] != without), None)
        if number is None:
            return
        system.step(number)


def work(system: System, lines: Lines, without: Without = "") -> int:
    """Let the task's thread do that many operations while what it sends arrives, and return how many it did."""
    done = 0
    for _ in range(lines):
        number = _of(system, TASK)
        done += number >= 0 and system.step(number)
        arrive(system, without)
    return done


def commit(system: System, upto: Annotated[str, OneOf("", "", "begin", "finish", "tell")] = "") -> bool:
    """Let the committer begin, if it may, and go on until its next operation is ``upto`` or it is done. What it writes
    arrives, except for the last write if the committer stops before it finishes. Return whether the committer stands
    before an operation."""
    system.commit_due()
    for _ in range(MOST):
        number = _of(system, COMMITTER)
        if number < 0 or _is_before(system, COMMITTER, upto):
            return number >= 0
        if not system.step(number):
            arrive(system, "record")
            if not system.step(number):
                return False
    return False


def all_goes_on(system: System, rounds: Annotated[int, OneOf(4, 10, 20)]) -> None:
    """Let everything that waits happen, for that many rounds. If no operation can happen, the oldest one times out."""
    for _ in range(rounds):
        done = False
        for number in [waiting[0] for waiting in system.threads()]:
            if any(number == waiting[0] for waiting in system.threads()):
                done |= bool(system.step(number))
        waits = system.threads()
        if waits and not done:
            system.step(waits[0][0], "failed")


def finish(
    system: System, records: Annotated[int, FromConfig("records")], partitions: Annotated[int, FromConfig("partitions")]
) -> Any:
    """End the faults, let a task run until everything is read, sent and committed, and return what an auditor reads."""
    for _ in range(3):
        if not _runs(system):
            system.start()
        all_goes_on(system, 3 * records * partitions + 16)
    for _ in range(3):
        system.commit_due()
        all_goes_on(system, 8)
    return system.audit()


HELPERS = (arrive, work, commit, all_goes_on, finish)
AT_REST = frozenset({"finish"})
"""After the calls in `AT_REST` nothing is left to happen."""
CONTEXT = InTheEnd

TOUR = (
    ("start",), ("work", 3), ("step", Named(("send", 0, TASK, -1)), "failed"), ("work", 5), ("abort",),
    ("commit", "finish"), ("stop",), ("work", 6), ("step", Named(("snapshot", 0, TASK, -1)), "failed"),
    ("all_goes_on", 10), ("start",), ("work", 5, "record"), ("step", Named(("record", 1, -1, 0)), "failed"),
    ("all_goes_on", 20), ("start",), ("work", 3), ("step", Named(("send", 2, TASK, -1)), "lost"),
    ("finish",),
)  # fmt: skip
"""In `TOUR` a task reveals every kind of event that not every implementation reveals: a record is refused, a commit
gives up, a record fails, and one is refused for good."""

READ_BY_ONE = 6
"""About `READ_BY_ONE` records of each source partition are read while one scenario runs."""
LAST_FAULTS = (
    "offset", "record", "flush_late", "exception", "two_late", "refusal", "aborts", "poll", "offset", "start",
    "flush_late", "record", "two_late", "refusal", "aborts",
)  # fmt: skip
"""The last fault of a run is one of `LAST_FAULTS`, in turn."""

STEPS = {"one": "step", "due": "commit_due", "look": "audit"}
"""The single calls in `STEPS` are steps of their own, by the name of the rule."""
WEIGHTS = {
    "overlapping": 4, "out_of_order": 3, "flush_fails": 4, "ends": 3, "refused": 2, "some_time": 2, "aborted": 2,
}  # fmt: skip


class Scenarios(Machine, steps={}, weights=WEIGHTS):
    """`Scenarios` has the scenarios of one task."""

    played = 0

    def by_chance(self, chance: int) -> None:
        """Run a scenario while the source has records left for a last fault. A smaller source is read sooner."""
        self.played += 1
        if self.played * READ_BY_ONE <= self.run.config["records"]:
            super().by_chance(chance)

    def up(self) -> None:
        if not self.run.over and not _runs(self.run.system):
            self.call("start")
            self.call("work", 1)

    def next_to(self, operation: str, thread: int, outcome: str = "ok") -> None:
        """Let the next waiting operation of this kind, if there is one, end in the outcome."""
        for waiting in self.waiting(operation, -1, thread):
            self.send(waiting, "step", **({} if outcome == "ok" else {"outcome": outcome}))
            return

    @scenario
    def some_time(self, lines: Lines, reported: Annotated[str, OneOf("ok", "ok", "failed")], again: Lines) -> None:
        """The task works without faults for a while, with commits in between, even if the connector throws."""
        self.up()
        self.call("work", lines)
        self.call("commit", "tell")
        self.next_to("tell", COMMITTER, reported)
        self.call("work", again)
        self.call("all_goes_on", 10)

    @scenario
    def out_of_order(
        self, lines: Lines, which: Annotated[int, Between(0, 1)], outcome: Outcome, polls: Lines,
        then: Annotated[str, OneOf("kill", "stop", "")],
    ) -> None:  # fmt: skip
        """One record in flight is acknowledged, or fails, before others; offsets are committed; the task ends."""
        self.up()
        self.call("work", lines, without="record")
        records = self.waiting("record")
        if records:
            chosen = records[which % len(records)]
            self.send(chosen, "step", **({} if outcome == "ok" else {"outcome": outcome}))
        self.call("work", polls, without="record")
        self.call("commit")
        self.ended(then)

    @scenario
    def overlapping(
        self, lines: Lines, place: Place, more: Lines, late: bool, last: Annotated[str, OneOf("", "finish", "tell")]
    ) -> None:
        """The committer is at some operation of its commit when the task is asked to stop and commits for the last
        time. The committer goes on before the last commit is over, or after."""
        self.up()
        self.call("work", lines)
        self.call("work", 3)
        self.call("commit", place)
        self.call("work", more)
        self.call("stop")
        for _ in range(12):
            if last and not self.run.over and _is_before(self.run.system, TASK, last):
                break
            if not self.call("work", 1):
                return
            if late and not self.waiting("", -1, TASK):
                break
        self.call("commit")
        self.call("all_goes_on", 10)
        self.up()
        self.call("work", 4)

    @scenario
    def flush_fails(
        self, lines: Lines, outcome: Annotated[str, OneOf("failed", "lost", "late")], more: Lines, waits: bool,
        again: Annotated[str, OneOf("ok", "failed", "lost")], then: Annotated[str, OneOf("kill", "stop", "", "")],
        ahead: bool,
    ) -> None:  # fmt: skip
        """Some write of a flush fails, or no thread learns that it succeeded, or it takes too long and arrives while
        the next flush is under way, perhaps with records in flight that were polled since."""
        self.up()
        self.call("work", lines)
        self.call("work", 4)
        if ahead:
            self.call("work", more, without="record")
        self.call("commit", "finish")
        if outcome != "late":
            self.next_to("offset", -1, outcome)
        self.next_to("finish", COMMITTER, "failed" if waits or outcome == "late" else "ok")
        self.call("work", more, without="record" if ahead else "offset")
        self.call("commit", "finish")
        self.next_to("offset", -1)
        self.next_to("offset", -1, again)
        self.call("commit")
        self.ended(then)

    @scenario
    def ends(
        self, lines: Lines, without: Without, drained: Annotated[str, OneOf("ok", "failed")],
        then: Annotated[str, OneOf("kill", "stop")], refused: Annotated[str, OneOf("ok", "failed", "lost")],
        held: Annotated[str, OneOf(*REQUESTS)],
    ) -> None:  # fmt: skip
        """The task ends in the middle of its work, with or without waiting for what is in flight, which may arrive too
        late for its last commit."""
        self.up()
        self.call("work", lines, without=without)
        self.next_to("send", TASK, refused)
        self.call("stop") if then == "stop" else self.call("kill")
        for _ in range(6):
            if self.run.over or _is_before(self.run.system, TASK, "drain"):
                break
            self.call("work", 1, without=without)
        self.next_to("drain", TASK, drained)
        self.call("work", 2, without=held)
        self.call("work", 2, without=held)
        self.call("all_goes_on", 10)
        self.up()
        self.call("work", 4)

    @scenario
    def refused(
        self, lines: Lines, polls: Lines, times: Annotated[int, Between(1, 2)], stopped: bool, comes: bool,
        then: Annotated[str, OneOf("kill", "stop", "")],
    ) -> None:  # fmt: skip
        """The producer refuses a record for now, perhaps just when its task was asked to stop, and offsets are
        committed while the record is sent again."""
        self.up()
        self.call("work", lines)
        for time in range(times):
            self.before("send", 3)
            if stopped and time + 1 == times:
                self.call("stop")
            self.next_to("send", TASK, "failed")
        if comes:
            self.call("work", 2)
        self.call("work", polls, without="record")
        self.call("commit")
        self.ended("" if stopped else then)

    @scenario
    def aborted(self, lines: Lines, outcome: Outcome, then: Annotated[str, OneOf("kill", "stop", "")]) -> None:
        """The connector has its transaction aborted, and the commit after that fails or succeeds."""
        self.up()
        self.call("abort")
        self.call("work", lines)
        self.next_to("flush", TASK)
        self.next_to("commit", TASK, outcome)
        self.ended(then)

    @scenario(when=lambda self: bool(self.run.config.get("mode") == "zombie"))
    def left_behind(self, lines: Lines, more: Lines) -> None:
        """An instance is left behind with a flush under way, which arrives when another instance has gone on."""
        self.up()
        self.call("work", lines)
        self.call("work", 3)
        self.call("commit", "finish")
        self.call("start")
        self.call("work", more, without="offset")
        self.call("work", 8, without="offset")
        self.call("commit")
        self.call("all_goes_on", 4)

    def ended(self, how: str) -> None:
        if how:
            self.call(how)
            self.call("all_goes_on", 10)
        self.up()
        self.call("work", 4)

    def before(self, operation: str, most: int, without: str = "") -> None:
        """Let the task's thread go on until its next operation is this one, for at most ``most`` operations."""
        for _ in range(most):
            if self.run.over or _is_before(self.run.system, TASK, operation):
                return
            self.call("work", 1, without)

    def teardown(self) -> None:
        """Cause one last fault, which differs from run to run, and then end the faults, so that only the task itself
        can repair the consequences."""
        if hasattr(self, "run") and not self.run.over:
            self.up()
            getattr(self, f"last_{LAST_FAULTS[len(self.run.made) % len(LAST_FAULTS)]}")()
            self.call("finish")
        super().teardown()

    def all_is_read(self) -> None:
        self.call("work", MOST)

    def last_record(self) -> None:
        self.call("work", 5, without="record")
        self.next_to("record", -1, "failed")

    def last_offset(self) -> None:
        self.all_is_read()
        self.call("commit", "finish")
        self.next_to("offset", -1, "failed")
        self.next_to("finish", COMMITTER)

    def last_flush_late(self) -> None:
        """Let the last flush time out and fail afterwards."""
        self.all_is_read()
        self.call("commit", "finish")
        self.next_to("finish", COMMITTER, "failed")
        self.next_to("offset", -1, "failed")

    def last_two_late(self) -> None:
        """Let two flushes time out, one after the other, and let the first be written then and the second fail."""
        self.call("work", 8)
        self.call("commit", "finish")
        self.next_to("finish", COMMITTER, "failed")
        self.call("work", MOST, "offset")
        self.call("commit", "finish")
        self.next_to("finish", COMMITTER, "failed")
        for partition in range(self.run.config["partitions"]):
            self.next_to_of("offset", partition)
            self.next_to_of("offset", partition, "failed")

    def last_exception(self) -> None:
        self.call("work", 5)
        self.call("commit", "tell")
        self.next_to("tell", COMMITTER, "failed")

    def last_refusal(self) -> None:
        self.before("send", 6)
        self.next_to("send", TASK, "failed")

    def last_poll(self) -> None:
        self.before("poll", 6)
        self.next_to("poll", TASK, "failed")

    def last_start(self) -> None:
        self.call("kill")
        self.call("start")
        self.next_to("start", TASK, "failed")

    def last_aborts(self) -> None:
        """Let the connector abort everything that is left, where it can ask for that."""
        for _ in range(24):
            if not self.did("abort") or not self.call_and_see("work", 8, kind="polled"):
                break

    def call_and_see(self, name: str, *arguments: Any, kind: str) -> bool:
        made = self.call(name, *arguments)
        return made is not None and any(read(event, "kind") == kind for event in made.events)

    def next_to_of(self, operation: str, partition: int, outcome: str = "ok") -> None:
        for waiting in self.waiting(operation, -1, -1, partition)[:1]:
            self.send(waiting, "step", **({} if outcome == "ok" else {"outcome": outcome}))
