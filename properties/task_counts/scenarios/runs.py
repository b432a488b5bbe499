"""This module has scenarios on Connect clusters: everything runs up to a critical operation, a thread or a worker is
late for it, the others go on, and the late one acts.

Single random operations reach every state in time, but the faults of this protocol lie eighteen steps deep.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Annotated, Any, NamedTuple

from fencepost.properties.driving import Run
from fencepost.properties.roles import Between, Fields, Named, OneOf
from fencepost.properties.task_counts.interface import FAILED, Call, Connector, Outcome, Thread, Waiting
from fencepost.properties.task_counts.scenarios.steps import Verbs


class Holding(Enum):
    """A `Holding` is the way in which a thread comes to be late: its process pauses, and its group goes on without it
    or waits for it, or its process goes on and only this operation takes long."""

    GONE = "gone"
    STALLED = "stalled"
    SLOW = "slow"


STOP_MS = 6_000
"""`STOP_MS` is longer than a worker waits for a task that has to stop (task.shutdown.graceful.timeout.ms, 5 s)."""
OF_A_SET = 12
"""A leader reads and writes what it needs for a new set in fewer operations than `OF_A_SET`."""
Tasks = Annotated[int, Between(1, 3)]
Number = Annotated[int, Between(0, 5)]
Fault = Annotated[str, OneOf("failed", "lost")]
Amiss = Annotated[str, OneOf("ok", "failed", "failed", "lost")]


class Story(NamedTuple):
    """A `Story` determines which thread is late, for which operation, and what happens meanwhile. ``counts`` are the
    tasks of the sets that follow one another, ``sets`` is how many of them are committed meanwhile, and ``acts`` is how
    many operations the late thread does alone when it is back."""

    counts: tuple[Tasks, Tasks, Tasks]
    operation: Annotated[str, OneOf("check_round", "write_count", "fence", "start_round")]
    number: Number
    holding: Annotated[Holding, OneOf(Holding.GONE, Holding.GONE, Holding.STALLED, Holding.SLOW)]
    sets: Annotated[int, Between(1, 2)]
    acts: Annotated[int, Between(1, 6)]
    worker: Number

    @property
    def prompt(self) -> bool:
        """Return whether a new set comes before the group has gone on without the late worker."""
        return self.number % 2 == 0


Starting = Annotated[
    Story,
    Fields(operation=OneOf("open_producer", "check_after", "open_producer", "check_before", "ask", "poll", "commit")),
]
Leading = Annotated[
    Story,
    Fields(
        operation=OneOf("check_round", "write_count", "fence", "start_round", "write_count", "answer", "write", "claim")
    ),
]
Rebalancing = Annotated[Story, Fields(operation=OneOf("sync", "assign", "read", "read", "read", "claim"))]
Failing = Annotated[
    str,
    OneOf(
        "fence", "fence", "fence", "write", "write", "write_count", "check_round", "start_round", "ask", "answer",
        "open_producer", "check_after", "check_before", "claim", "commit", "assign", "sync", "read",
    ),
]  # fmt: skip
Little = Annotated[
    str,
    OneOf(
        "reconfigure", "run", "reconfigure and run", "work", "crash", "crash and return", "wait", "wait long",
        "compact", "compact", "restart task",
    ),
]  # fmt: skip


class Scenarios(Verbs, steps={}):
    """`Scenarios` has the scenarios and the steps that they consist of."""

    drawn = 0

    def teardown(self) -> None:
        """Let a count fail last in some clusters, after which no worker joins or leaves."""
        if hasattr(self, "run") and not self.run.over and self.drawn % 7 == 0:
            connector, drawn = self.connector(self.drawn), self.drawn // 7
            self.count_fails(connector, 1 + drawn % 3, ("failed", "lost")[drawn // 3 % 2])
        super().teardown()

    def late_start(self, connector: Connector, story: Starting) -> None:
        """A task's start is late for its next operation, while sets follow one another."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink(story.operation, connector, story.number)
        if late is None:
            return
        self.stall_of(late, story.holding)
        self.reconfigure_meanwhile(connector, story, late)
        self.act_late(late, story)

    def late_leader(self, connector: Connector, story: Leading, reclaims: bool) -> None:
        """A leader is late with a round, or a write, while another worker leads and sets follow one another. With
        ``reclaims`` the late leader leads again before it is done."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink(story.operation, connector if story.operation != "claim" else -1, story.number)
        if late is None:
            return
        self.stall_of(late, story.holding)
        self.reconfigure_meanwhile(connector, story, late)
        if reclaims:
            self.call("expire", self.worker(story.number, late[2]))
            self.back(late[2])
            self.go_but(late)
        self.act_late(late, story)

    def late_round_and_a_zombie(self, connector: Connector, story: Story, another: Story) -> None:
        """A leader is late with a round, and then a worker stands still with running tasks."""
        self.late_leader(connector, story, reclaims=False)
        self.run_on(connector, another)

    def led_again_and_a_zombie(self, connector: Connector, story: Story, another: Story) -> None:
        """A leader is out of the group for a while, and then a worker stands still with running tasks."""
        self.lead_again(connector, story)
        self.run_on(connector, another)

    def round_stays(self, connector: Connector, story: Story) -> None:
        """A round is over and is removed late, where the removal is a step of its own. Meanwhile another set is
        committed while a worker stands still with running tasks."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink("end_round", connector, 0)
        if late is None:
            return
        self.go_but(late)
        self.work()
        at_work = [worker for worker in self.at_work(connector) if worker != late[2]]
        if not at_work:
            return
        worker = at_work[story.number % len(at_work)]
        self.call("stall", worker)
        self.configure(connector, story.counts[1], story.worker, other_than=worker)
        self.go_but(late)
        self.call("expire", worker)
        self.go_but(late)
        self.work()
        self.back(worker)
        self.work(worker)
        self.go()

    def late_set(self, connector: Connector, story: Story, another: Story) -> None:
        """A leader is late to write a set, while another worker leads, has fenced for the set before, and is about to
        write the count. The first leader goes on, and then a worker stands still with running tasks."""
        self.all_up()
        for count, spared in zip(story.counts[:2], ("", "ask"), strict=True):
            self.configure(connector, count, story.worker)
            self.go(spared)
        self.configure(connector, story.counts[2], story.worker)
        late = next(iter(self.waiting("write")), None)
        if late is None:
            return
        self.leave(late[2])
        self.go("write_count", connector=connector)
        self.back(late[2])
        for _ in range(OF_A_SET):
            thread = next((t for t in self.waiting("", late[2]) if t[1] in ("write", "read")), None)
            if thread is not None:
                self.step(thread)
        self.go()
        self.work()
        self.run_on(connector, another)

    def zombie(self, connector: Connector, tasks: Tasks, story: Story) -> None:
        """A new set is committed, and a worker stands still with running tasks."""
        self.configure(connector, tasks)
        self.run_on(connector, story)

    def failure(
        self,
        connector: Connector,
        outcome: Fault,
        operation: Failing,
        number: Number,
        before: Annotated[int, Between(0, 2)],
        story: Story,
    ) -> None:
        """An operation fails, perhaps not the first of its kind and perhaps while a worker stands still, and a user
        restarts what failed because of it."""
        self.all_up()
        still = -1
        if story.holding is Holding.GONE:
            self.configure(connector, story.counts[1])
            self.go()
            still = self.worker(story.worker)
            self.leave(still)
        self.configure(connector, story.counts[0], other_than=still)
        for _ in range(before):
            late = self.brink(operation, -1, number)
            if late is None:
                break
            self.step(late)
        late = self.brink(operation, -1, number)
        if late is not None:
            self.step(late, outcome)
        self.go()
        if still < 0:
            self.get_on()
        self.restart_failed(connector, still)
        self.go()
        self.work()
        if still >= 0:
            self.back(still)
            self.work(still)

    def late_member(self, connector: Connector, story: Rebalancing, outcome: Amiss) -> None:
        """A worker fails in its part of a rebalance, or is slow with it, while users restart tasks or ask for another
        set, or another worker crashes. Nothing else causes a rebalance."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink(story.operation, -1, story.number)
        if late is None:
            return
        if story.operation == "read":  # by the thread that takes part in the group, which is older than what reads on
            late = self.waiting("read", late[2])[0]
        match outcome, story.holding:
            case "ok", Holding.SLOW:
                self.configure(connector, story.counts[1], story.worker)
            case "ok", Holding.STALLED:
                self.fall(self.worker(story.worker, late[2]))
            case "ok", _:
                for task in range(self.run.config["max_tasks"]):
                    self.call("restart_task", self.worker(0), connector, task)
        self.step(late, outcome)
        if story.prompt:
            self.let(late[0], story.acts)
        self.go()
        self.work()
        self.get_on()

    def leader_returns(self, connector: Connector, story: Story) -> None:
        """A task is about to ask when the process of its leader crashes, comes back, and has read the config topic but
        has not joined the group yet."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink("ask", connector, story.number)
        leader = self.seen.leader
        if late is None or leader in (-1, late[2]):
            return
        self.call("crash", leader)
        self.call("restart_worker", leader)
        for reading in self.waiting("read", leader):
            self.let(reading[0], OF_A_SET)
        self.let(late[0], story.acts)
        self.go()
        self.work()

    def restart_failed(self, connector: int, other_than: int = -1) -> None:
        for task in range(self.run.config["max_tasks"]):
            if self.run.system.status(connector, task)[0] == FAILED:
                self.call("restart_task", self.worker(0, other_than), connector, task)

    def refused(self, connector: Connector, count: Tasks, story: Story, stopped: bool) -> None:
        """A connector may not fence when a smaller set is committed, while a worker stands still with tasks of the
        largest possible set. A user restarts what failed, perhaps when the connector may fence once more, or the
        permission comes back only at the end. With ``stopped`` the connector was stopped in between, where users can do
        that."""
        if not callable(getattr(self.run.system, "set_fencing", None)):
            return
        largest = int(self.run.config["max_tasks"])
        count = 1 + count % max(largest - 1, 1)
        self.all_up()
        self.configure(connector, largest)
        self.go()
        at_work = self.at_work(connector)
        if not at_work:
            return
        worker = at_work[story.number % len(at_work)]
        self.call("stall", worker)
        self.call("set_fencing", connector, False)
        if stopped and self.did("stop_connector", self.worker(story.worker, worker), connector):
            self.go()
        self.configure(connector, count, story.worker, other_than=worker)
        self.go()
        self.call("expire", worker)
        self.wait_for_the_group()
        if story.sets > 1:
            self.call("set_fencing", connector, True)
        for task in range(count):
            self.call("restart_task", self.worker(0, worker), connector, task)
        self.go()
        self.work()
        if story.acts % 3:
            self.call("set_fencing", connector, True)
        self.back(worker)
        self.work(worker)
        self.go()

    def count_fails(self, connector: int, tasks: int, outcome: str) -> None:
        """A leader cannot write a count, and the group does not change: the leader must claim the topic again."""
        self.all_up()
        self.configure(connector, tasks)
        late = self.brink("write_count", connector, 0)
        if late is not None:
            self.step(late, outcome)
            self.go()

    def slow_to_stop(self, connector: Connector, tasks: Tasks) -> None:
        """A new set is committed while tasks of the preceding set are in a transaction that does not end before the
        worker stops waiting for them, so that there is something to abort when their ids are fenced."""
        self.go()
        for thread in self.waiting("poll", -1, connector):
            self.step(thread)
        self.configure(connector, tasks)
        self.go()
        self.call("advance", STOP_MS)
        self.go()
        self.work()
        self.go()

    def half_a_set(
        self, connector: Connector, count: Tasks, before: Annotated[int, Between(1, 4)], outcome: Fault
    ) -> None:
        """A leader fails in the middle of writing a set, and another worker leads."""
        self.all_up()
        self.configure(connector, count)
        for _ in range(before):
            late = self.brink("write", -1, 0)
            if late is None:
                return
            self.step(late)
        late = self.brink("write", -1, 0)
        if late is None:
            return
        self.step(late, outcome)
        self.fall(late[2])
        self.go()
        self.call("restart_worker", late[2])
        self.go()
        self.work()

    def recreated(self, connector: Connector, count: Tasks, story: Story, late: bool) -> None:
        """A connector is deleted, perhaps while one of its workers stands still, and created again."""
        self.all_up()
        self.go()
        at_work = self.at_work(connector)
        worker = at_work[story.number % len(at_work)] if at_work else -1
        if late and worker >= 0:
            self.leave(worker)
            self.wait_for_the_group()
        self.call("delete", self.worker(0, worker), connector)
        self.go()
        self.configure(connector, count, other_than=worker)
        self.go()
        self.work()
        if late and worker >= 0:
            self.back(worker)
            self.work(worker)
            self.go()

    def little(self, connector: Connector, what: Little, number: Number, count: Tasks) -> None:
        """A step that takes few operations happens."""
        connector, worker = self.connector(number), self.worker(number)
        match what:
            case "reconfigure" | "reconfigure and run":
                self.configure(connector, count, number)
            case "crash" | "crash and return":
                self.fall(worker)
                if what == "crash and return":
                    self.call("restart_worker", worker)
            case "wait" | "wait long":
                self.call("advance", STOP_MS if what == "wait" else 4_000_000)
            case "compact":
                self.call("compact")
                self.call("restart_worker", worker)
                self.go()
                self.configure(connector, count)
            case "restart task":
                self.call("restart_task", worker, connector, count - 1)
        if what not in ("reconfigure", "wait", "restart task"):
            self.go()
        if what not in ("reconfigure", "run"):
            self.work()

    def one_operation(
        self, connector: Connector, thread: Waiting, outcome: Outcome, more: Annotated[int, Between(0, 4)]
    ) -> None:
        """A thread does its operation, or fails, and then goes on alone."""
        self.step(thread, outcome)
        self.let(thread[0], more)

    def lead_again(self, connector: int, story: Story) -> None:
        """A leader looks for a newer set and is out of the group before it writes its count, with another connector's
        set to write as well. Then another leader writes a newer set, and then the first one leads again."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink("check_round", connector, story.number)
        if late is None:
            return
        worker, others = late[2], [w for w in range(self.run.config["workers"]) if w != late[2]]
        self.call("configure", worker, self.connector(connector + 1), 1)
        self.call("expire", worker)
        self.let(late[0], 1)
        self.call("stall", worker)
        self.go()
        self.configure(connector, story.counts[1], story.worker, other_than=worker)
        self.go()
        for other in others:
            self.fall(other)
        self.back(worker)
        self.go()
        self.all_up()
        self.go()
        self.work()

    def run_on(self, connector: int, story: Story) -> None:
        """A worker stands still with running tasks and goes on when newer ones run."""
        self.all_up()
        self.go()
        at_work = self.at_work(connector)
        if not at_work:
            return
        worker = at_work[story.number % len(at_work)]
        self.call("stall", worker)
        for first, count in zip((True, False), story.counts[: story.sets], strict=False):
            self.reconfigure_without(worker, connector, count, story, first)
        self.work()
        self.back(worker)
        self.work(worker)
        self.go()

    def reconfigure_without(self, worker: int, connector: int, count: int, story: Story, first: bool) -> None:
        """Another set is committed while that worker stands still. In a ``prompt`` story the set comes at once, before
        other workers are given the tasks of that worker, whose producers would fence the old ones."""
        gone = story.holding is not Holding.STALLED
        if first and gone and not story.prompt:
            self.call("expire", worker)
            self.wait_for_the_group()
        self.configure(connector, count, story.worker, other_than=worker)
        if first and gone and story.prompt:
            self.go()
            self.call("expire", worker)
        self.go()

    def stall_of(self, late: Thread, holding: Holding) -> None:
        if holding is not Holding.SLOW:
            self.call("stall", late[2])

    def reconfigure_meanwhile(self, connector: int, story: Story, late: Thread) -> None:
        for first, count in zip((True, False), story.counts[1 : 1 + story.sets], strict=False):
            if story.holding is Holding.SLOW:
                self.go_but(late)
                if self.run.config["connectors"] > 1 and story.prompt:
                    self.configure(self.connector(connector + 1), count, story.worker)
                    self.go_but(late)
                self.configure(connector, count, story.worker)
                self.go_but(late)
            else:
                self.reconfigure_without(late[2], connector, count, story, first)
        self.work()

    def go_but(self, late: Thread) -> None:
        _, operation, worker, connector, task = late
        self.go(operation, worker=worker, connector=connector, task=task)

    def act_late(self, late: Thread, story: Story) -> None:
        if story.holding is not Holding.SLOW:
            self.back(late[2])
        self.let(late[0], story.acts)
        self.go()
        self.work()


# These programs lead a Connect cluster through every kind of event once, and on from a disagreement to observe its
# consequences.

SMALL: Mapping[str, Any] = dict(
    seed=0, workers=2, connectors=1, max_tasks=2, protocol="eager", preemptive_stop=True, group_id="connect",
    heartbeat_ms=0, support="enabled",
)  # fmt: skip
"""The cluster `SMALL` is large enough for every call to be tried."""


def tour(variant: str) -> list[Call]:
    """Return calls that make every kind of event happen in a correct implementation."""
    end, run, work = Call.within(SMALL, "finish"), Call("run"), Call("work")

    def configure(tasks: int, worker: int = 0) -> Call:
        return Call("configure", worker, 0, tasks)

    def until(operation: str) -> Call:
        return Call("run", operation)

    def step(operation: str, outcome: str = "ok") -> list[Call]:
        return [
            Call("step", Named((operation, worker, connector, task)), outcome)
            for worker in (0, 1) for connector in (0, -1) for task in (-1, 0, 1)
        ]  # fmt: skip

    late = [
        configure(1), until("check_after"), configure(2, 1), until("write_count"), configure(1), *step("check_after"),
        run, work, end,
    ]  # fmt: skip
    zombie = [
        configure(2), run, work, Call("stall", 0), Call("expire", 0), run, configure(1, 1), run,
        Call("advance", 400_000), run, work, Call("resume", 0), work, run, work, end,
    ]  # fmt: skip
    failing = [
        configure(2), until("fence"), *step("fence", "failed"), end, configure(1), until("write_count"),
        *step("write_count", "lost"), end, configure(2), until("check_after"), *step("check_after", "failed"), end,
    ]  # fmt: skip
    others = [
        Call("crash", 1), Call("expire", 1), run, Call("restart_worker", 1), end, Call("restart_task", 0, 0, 0), run,
        Call("compact"), configure(2), Call("delete", 0, 0), run, configure(1), end, Call("stop_connector", 0, 0), end,
    ]  # fmt: skip
    return [run, configure(2), run, work, configure(1), run, work, *late, *zombie, *failing, *others]


def go_on(run: Run) -> Iterator[None]:
    run.call(Call.within(run.config, "finish"))
    yield
    run.call(Call("work"))
    yield


def go_on_with_another_set(tasks: int, run: Run) -> Iterator[None]:
    for connector in range(run.config["connectors"]):
        run.call(Call("configure", 0, connector, tasks))
    yield from go_on(run)


WAYS: Mapping[str, Callable[[Run], Iterator[None]]] = {
    "": go_on,
    "a set of one task": lambda run: go_on_with_another_set(1, run),
    "a set of three tasks": lambda run: go_on_with_another_set(3, run),
}
