"""Maneuvers: to the brink of something, somebody is late for it, the others go on, and the late one acts."""

from enum import Enum
from typing import NamedTuple

from fencepost.properties.task_counts.driving.driver import Driver
from fencepost.properties.task_counts.driving.interface import Thread


class Holding(Enum):
    """How somebody comes to be late: its process pauses, and its group goes on without it, or waits for it; or its
    process goes on, and just this operation takes long."""

    GONE = "gone"
    STALLED = "stalled"
    SLOW = "slow"


class Story(NamedTuple):
    """Who is late, for what, and what happens meanwhile.  ``counts``: tasks of the sets that follow one another;
    ``sets``: how many are committed meanwhile; ``acts``: operations of the late one, alone, when it is back."""

    operation: str
    number: int
    holding: Holding
    counts: tuple[int, int, int]
    sets: int
    acts: int
    worker: int

    @property
    def prompt(self) -> bool:
        """Does a new set come before the group has gone on without the late one?"""
        return self.number % 2 == 0


class Maneuvers(Driver):
    """What rules consist of."""

    def start_late(self, connector: int, story: Story) -> None:
        """A task's start is late for the next operation of its own, while sets follow one another."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink(story.operation, connector, story.number)
        if late is None:
            return
        self.hold(late, story.holding)
        self.reconfigure_meanwhile(connector, story, late)
        self.act_late(late, story)

    def lead_late(self, connector: int, story: Story, reclaims: bool) -> None:
        """A leader is late with a round, or a write, while another one leads and sets follow one another; ``reclaims``:
        it leads again before it is done."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink(story.operation, connector if story.operation != "claim" else -1, story.number)
        if late is None:
            return
        self.hold(late, story.holding)
        self.reconfigure_meanwhile(connector, story, late)
        if reclaims:
            self.call("expire", worker=self.worker(story.number, late[2]))
            self.back(late[2])
            self.go_but(late)
        self.act_late(late, story)

    def lead_again(self, connector: int, story: Story) -> None:
        """A leader looks whether there is a newer set, and is out of the group before it writes its count, with another
        connector's set to write as well; then there is a newer set, by another leader, and then it leads again."""
        self.all_up()
        self.configure(connector, story.counts[0], story.worker)
        late = self.brink("check_round", connector, story.number)
        if late is None:
            return
        worker, others = late[2], [w for w in range(self.size[0]) if w != late[2]]
        self.call("configure", worker=worker, connector=self.connector(connector + 1), value=1)
        self.call("expire", worker=worker)
        self.let(late[0], 1)
        self.call("stall", worker=worker)
        self.go()
        self.configure(connector, story.counts[1], story.worker, other_than=worker)
        self.go()
        for other in others:
            self.call("crash", worker=other)
            self.call("expire", worker=other)
        self.back(worker)
        self.go()
        self.all_up()
        self.go()
        self.work()

    def write_half(self, connector: int, count: int, before: int, outcome: str) -> None:
        """A leader fails in the middle of a set, and somebody else leads."""
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
        self.call("crash", worker=late[2])
        self.call("expire", worker=late[2])
        self.go()
        self.call("restart_worker", worker=late[2])
        self.go()
        self.work()

    def run_on(self, connector: int, story: Story) -> None:
        """A worker stands still with tasks that run, and goes on when newer ones do."""
        self.all_up()
        self.go()
        at_work = sorted({t[2] for t in self.threads() if t[1] in ("poll", "commit") and t[3] == connector})
        if not at_work:
            return
        worker = at_work[story.number % len(at_work)]
        self.call("stall", worker=worker)
        for first, count in zip((True, False), story.counts[: story.sets], strict=False):
            self.reconfigure_without(worker, connector, count, story, first)
        self.work()
        self.back(worker)
        self.work(worker)
        self.go()

    def reconfigure_without(self, worker: int, connector: int, count: int, story: Story, first: bool) -> None:
        """Another set, while that worker stands still.  A ``prompt`` story has it at once, before others are given the
        tasks of that worker, whose producers would shut those out."""
        gone = story.holding is not Holding.STALLED
        if first and gone and not story.prompt:
            self.call("expire", worker=worker)
            self.wait_for_the_group()
        self.configure(connector, count, story.worker, other_than=worker)
        if first and gone and story.prompt:
            self.go()
            self.call("expire", worker=worker)
        self.go()

    def fail_at(self, connector: int, operation: str, number: int, outcome: str, before: int, story: Story) -> None:
        """An operation fails, perhaps not the first of its kind, perhaps while a worker stands still, and a user starts
        again what failed of it."""
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
        for task in range(story.counts[0]):
            self.call("restart_task", worker=self.worker(0, still), connector=connector, task=task)
        self.go()
        self.work()
        if still >= 0:
            self.back(still)
            self.work(still)

    def do_little(self, what: str, number: int, count: int) -> None:
        """What is soon done."""
        connector, worker = self.connector(number), self.worker(number)
        match what:
            case "reconfigure" | "reconfigure and run":
                self.configure(connector, count, number)
            case "crash" | "crash and return":
                self.call("crash", worker=worker)
                self.call("expire", worker=worker)
                if what == "crash and return":
                    self.call("restart_worker", worker=worker)
            case "wait" | "wait long":
                self.call("advance", value=6_000 if what == "wait" else 4_000_000)
            case "compact":
                self.call("compact")
                self.call("restart_worker", worker=worker)
                self.go()
                self.configure(connector, count)
            case "restart task":
                self.call("restart_task", worker=worker, connector=connector, task=count - 1)
        if what not in ("reconfigure", "wait", "restart task"):
            self.go()
        if what not in ("reconfigure", "run"):
            self.work()

    def recreate(self, connector: int, count: int, story: Story, late: bool) -> None:
        """A connector is deleted, perhaps while one of its workers stands still, and created again."""
        self.all_up()
        self.go()
        at_work = sorted({t[2] for t in self.threads() if t[1] in ("poll", "commit") and t[3] == connector})
        worker = at_work[story.number % len(at_work)] if at_work else -1
        if late and worker >= 0:
            self.leave(worker)
            self.wait_for_the_group()
        self.call("delete", worker=self.worker(0, worker), connector=connector)
        self.go()
        self.configure(connector, count, other_than=worker)
        self.go()
        self.work()
        if late and worker >= 0:
            self.back(worker)
            self.work(worker)
            self.go()

    def hold(self, late: Thread, holding: Holding) -> None:
        if holding is not Holding.SLOW:
            self.call("stall", worker=late[2])

    def reconfigure_meanwhile(self, connector: int, story: Story, late: Thread) -> None:
        for first, count in zip((True, False), story.counts[1 : 1 + story.sets], strict=False):
            if story.holding is Holding.SLOW:
                self.go_but(late)
                if self.size[1] > 1 and story.prompt:
                    self.configure(self.connector(connector + 1), count, story.worker)
                    self.go_but(late)
                self.configure(connector, count, story.worker)
                self.go_but(late)
            else:
                self.reconfigure_without(late[2], connector, count, story, first)
        self.work()

    def go_but(self, late: Thread) -> None:
        """Everything happens, but for this."""
        _, operation, worker, connector, task = late
        self.call("run", operation=operation, worker=worker, connector=connector, task=task)

    def act_late(self, late: Thread, story: Story) -> None:
        """It is back, and does something before anybody else does."""
        if story.holding is not Holding.SLOW:
            self.back(late[2])
        self.let(late[0], story.acts)
        self.go()
        self.work()
