"""What can come over a source task: commits that overlap, flushes that fail, ends in the middle of either.

`arrive`, `work`, `commit`, `all_goes_on` and `finish` are calls as well: programs are written with them, so that they
need nothing but the plug.
"""

from typing import Annotated, Any

from fencepost.properties.driving import read
from fencepost.properties.machine import Machine, scenario
from fencepost.properties.roles import Between, FromConfig, Named, OneOf
from fencepost.properties.source_commits.interface import OUTCOMES, InTheEnd, System

TASK, COMMITTER = 0, 1
REQUESTS = ("record", "offset")
MOST = 200
"""Operations of one call: a broken task may go round in circles."""

Without = Annotated[str, OneOf("", "", *REQUESTS)]
Lines = Annotated[int, Between(1, 8)]
Outcome = Annotated[str, OneOf("ok", *OUTCOMES)]
Place = Annotated[str, OneOf("begin", "finish", "tell")]


def _of(system: System, thread: int) -> int:
    """What the newest instance's thread waits for, by its number; -1 if it waits for nothing."""
    waits = [waiting for waiting in system.threads() if waiting[3] == thread and waiting[1] not in REQUESTS]
    return int(max(waits, key=lambda waiting: waiting[2])[0]) if waits else -1


def _is_before(system: System, thread: int, place: str) -> bool:
    number = _of(system, thread)
    return any(waiting[0] == number and waiting[1] == place for waiting in system.threads())


def _runs(system: System) -> bool:
    """Does any instance have a thread that goes on?"""
    return any(waiting[1] not in REQUESTS for waiting in system.threads())


def arrive(system: System, without: Without = "") -> None:
    """Everything in flight arrives, oldest first; not ``without``: requests of this kind."""
    for _ in range(MOST):
        number = next((w[0] for w in system.threads() if w[1] in REQUESTS and w[1] != without), None)
        if number is None:
            return
        system.step(number)


def work(system: System, lines: Lines, without: Without = "") -> int:
    """The task's thread does so many operations, and what it sends arrives; how many did it do?"""
    done = 0
    for _ in range(lines):
        number = _of(system, TASK)
        done += number >= 0 and system.step(number)
        arrive(system, without)
    return done


def commit(system: System, upto: Annotated[str, OneOf("", "", "begin", "finish", "tell")] = "") -> bool:
    """The committer begins if it may, and goes on until it stands ``upto`` there, or is done; what it writes arrives,
    but for the last of it where it stands before it finishes."""
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
    """So many times, everything that waits happens; what waits for what will not happen runs out of time."""
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
    """Faults are over: a task runs until everything is read, sent and committed, and an auditor looks.  What did it
    see?"""
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
"""Calls after which nothing is left to happen."""
CONTEXT = InTheEnd

TOUR = (
    ("start",), ("work", 3), ("step", Named(("send", 0, TASK, -1)), "failed"), ("work", 5), ("abort",),
    ("commit", "finish"), ("stop",), ("work", 6), ("step", Named(("snapshot", 0, TASK, -1)), "failed"),
    ("all_goes_on", 10), ("start",), ("work", 5, "record"), ("step", Named(("record", 1, -1, 0)), "failed"),
    ("all_goes_on", 20), ("start",), ("work", 3), ("step", Named(("send", 2, TASK, -1)), "lost"),
    ("finish",),
)  # fmt: skip
"""A task that reveals every kind of event which is not observed by every implementation: a record is refused, a commit
gives up, a record fails, and one is refused for good."""

READ_BY_ONE = 6
"""Records of each source partition that are read while one scenario is played, or so."""
LAST_FAULTS = (
    "offset", "record", "flush_late", "exception", "two_late", "refusal", "aborts", "poll", "offset", "start",
    "flush_late", "record", "two_late", "refusal", "aborts",
)  # fmt: skip
"""What the last fault of a run can be, in turn."""

STEPS = {"one": "step", "due": "commit_due", "look": "audit"}
"""Single calls that are steps of their own, by the name of the rule."""
WEIGHTS = {
    "overlapping": 4, "out_of_order": 3, "flush_fails": 4, "ends": 3, "refused": 2, "some_time": 2, "aborted": 2,
}  # fmt: skip


class Scenarios(Machine, steps={}, weights=WEIGHTS):
    """What is played with one task."""

    apart = True
    played = 0

    def by_chance(self, chance: int) -> None:
        """A scenario, while the source has something left for a last fault: a smaller one is read sooner."""
        self.played += 1
        if self.played * READ_BY_ONE <= self.run.config["records"]:
            super().by_chance(chance)

    def up(self) -> None:
        """An instance runs."""
        if not self.run.over and not _runs(self.run.system):
            self.call("start")
            self.call("work", 1)

    def next_to(self, operation: str, thread: int, outcome: str = "ok") -> None:
        """What waits of this sort happens, or does not, if there is any."""
        for waiting in self.waiting(operation, -1, thread):
            self.send(waiting, "step", **({} if outcome == "ok" else {"outcome": outcome}))
            return

    @scenario
    def some_time(self, lines: Lines, reported: Annotated[str, OneOf("ok", "ok", "failed")], again: Lines) -> None:
        """All goes well for a while, and offsets are committed in between, even if the connector throws."""
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
        """The committer stands somewhere in its commit when the task is asked to stop, and commits for the last time;
        it goes on before that is over, or after."""
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
        """Something of a flush is not written, or no thread hears that it is, or it takes too long, and comes while the
        next is under way; perhaps with records in flight that were polled since."""
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
        """The task ends in the middle of what it does, with or without waiting for what is in flight, which may come
        too late for its last commit."""
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
        """The producer refuses a record for now, perhaps just when its task was asked to stop; offsets are committed
        while it is on its way again."""
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
        """The connector has its transaction aborted, and what is committed after that fails, or not."""
        self.up()
        self.call("abort")
        self.call("work", lines)
        self.next_to("flush", TASK)
        self.next_to("commit", TASK, outcome)
        self.ended(then)

    @scenario(when=lambda self: bool(self.run.config.get("mode") == "zombie"))
    def left_behind(self, lines: Lines, more: Lines) -> None:
        """An instance is left behind with a flush under way, which arrives when another one has gone on."""
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
        """The task ends, and another instance begins."""
        if how:
            self.call(how)
            self.call("all_goes_on", 10)
        self.up()
        self.call("work", 4)

    def before(self, operation: str, most: int, without: str = "") -> None:
        """The task's thread goes on until it stands there, but not for long."""
        for _ in range(most):
            if self.run.over or _is_before(self.run.system, TASK, operation):
                return
            self.call("work", 1, without)

    def teardown(self) -> None:
        """In the end there is one last fault, another one in each run; after that faults are over, and nothing but the
        task itself mends what it has done."""
        if hasattr(self, "run") and not self.run.over:
            self.up()
            getattr(self, f"last_{LAST_FAULTS[len(self.run.made) % len(LAST_FAULTS)]}")()
            self.call("finish")
        super().teardown()

    def all_is_read(self) -> None:
        """There is nothing more upstream, and no offset of the last records is committed."""
        self.call("work", MOST)

    def last_record(self) -> None:
        """A record fails."""
        self.call("work", 5, without="record")
        self.next_to("record", -1, "failed")

    def last_offset(self) -> None:
        """The flush of what was read last fails."""
        self.all_is_read()
        self.call("commit", "finish")
        self.next_to("offset", -1, "failed")
        self.next_to("finish", COMMITTER)

    def last_flush_late(self) -> None:
        """It takes too long, and fails after that."""
        self.all_is_read()
        self.call("commit", "finish")
        self.next_to("finish", COMMITTER, "failed")
        self.next_to("offset", -1, "failed")

    def last_two_late(self) -> None:
        """Two flushes take too long, one after the other; the first is written then, and the second is not."""
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
        """The connector's commit throws."""
        self.call("work", 5)
        self.call("commit", "tell")
        self.next_to("tell", COMMITTER, "failed")

    def last_refusal(self) -> None:
        """The producer refuses a record for now."""
        self.before("send", 6)
        self.next_to("send", TASK, "failed")

    def last_poll(self) -> None:
        """An error of poll can be retried."""
        self.before("poll", 6)
        self.next_to("poll", TASK, "failed")

    def last_start(self) -> None:
        """An instance cannot read its offsets."""
        self.call("kill")
        self.call("start")
        self.next_to("start", TASK, "failed")

    def last_aborts(self) -> None:
        """The connector wants nothing of what is left, where it can say so."""
        for _ in range(24):
            if not self.did("abort") or not self.call_and_see("work", 8, kind="polled"):
                break

    def call_and_see(self, name: str, *arguments: Any, kind: str) -> bool:
        """Make a call; was an event of this kind shown?"""
        made = self.call(name, *arguments)
        return made is not None and any(read(event, "kind") == kind for event in made.events)

    def next_to_of(self, operation: str, partition: int, outcome: str = "ok") -> None:
        """As `next_to`, of a source partition."""
        for waiting in self.waiting(operation, -1, -1, partition)[:1]:
            self.send(waiting, "step", **({} if outcome == "ok" else {"outcome": outcome}))
