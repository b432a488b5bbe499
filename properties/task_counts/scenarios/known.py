"""This module has known bugs of exactly-once source connectors as scenarios, and one history with every kind of event.

script.configure(0, tasks=2)             # a user asks; the set is written, fenced, and its tasks start
script.work()                            # every task that runs sends something, and commits it
script.until("open_producer", task=0)    # a thread is about to open task 0's producer: it is held up
script.configure(0, tasks=1)             # the others go on
script.go()                              # and now it
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

from fencepost.properties import machine
from fencepost.properties.machine import KnownBugs

AT_WORK = ("poll", "commit")  # what running tasks do for ever
PATIENCE_MS = 1_000  # back-offs are 250 ms
STEPS_MAX = 5_000  # a broken cluster may go round in circles


class Thread(NamedTuple):
    """A `Thread` waits for its operation. A column that does not apply is -1."""

    number: int
    operation: str
    worker: int
    connector: int
    task: int


class Script(machine.Script):
    """`Script` lets every thread go on, oldest first, except those held up. Exactly-once support is on unless the
    script sets it otherwise, because nothing can be observed with the default, off."""

    PROTOCOL = "task-counts"
    SMALL = MappingProxyType({"seed": 0, "support": "enabled", "workers": 2})

    def __init__(self, system: Any, broken: bool = True, **config: Any) -> None:
        super().__init__(system, broken, **config)
        self.workers: int = self.config["workers"]
        self.settle()

    def threads(self, operation: str = "", worker: int = -1, connector: int = -1, task: int = -1) -> list[Thread]:
        """Return the threads that wait at an operation, held up or not, where "" and -1 mean any."""
        return [
            thread
            for thread in (Thread(*row) for row in self.system.threads())
            if operation in ("", thread.operation)
            and worker in (-1, thread.worker)
            and connector in (-1, thread.connector)
            and task in (-1, thread.task)
        ]

    def free(self) -> list[Thread]:
        return [t for t in self.threads() if t.number not in self.held and t.operation not in AT_WORK]

    def step(self) -> bool:
        for thread in self.free():
            self.system.step(thread.number)
            return True
        return False

    def run(self, wanted: Callable[[], Any] = lambda: False, ms: int = PATIENCE_MS) -> bool:
        """Let everything happen, and time pass, until ``wanted`` holds, and return False if it never does."""
        passed = 0
        for _ in range(STEPS_MAX):
            if wanted():
                return True
            if not self.step():
                if passed >= ms:
                    return False
                passed += 50
                self.system.advance(50)
        return bool(wanted())

    def settle(self, ms: int = PATIENCE_MS) -> None:
        self.run(ms=ms)

    def until(self, operation: str, worker: int = -1, connector: int = -1, task: int = -1) -> Thread:
        """Let everything else happen until such a thread waits, and hold it up. Raise RuntimeError if none does."""

        def fresh() -> list[Thread]:
            return [t for t in self.threads(operation, worker, connector, task) if t.number not in self.held]

        if not self.run(fresh):
            raise RuntimeError(f"no thread ever waits to {operation}: there are {self.system.threads()}")
        thread = fresh()[0]
        self.held.add(thread.number)
        return thread

    def go(self, thread: Thread | None = None) -> None:
        """Let a held thread (all of them without one named) go on, with everything that follows."""
        self.held -= {thread.number} if thread else set(self.held)
        self.settle()

    def outcome(self, thread: Thread, outcome: str) -> None:
        self.held.discard(thread.number)
        self.system.step(thread.number, outcome)

    def ask(self, call: Callable[[int], bool]) -> int:
        """Ask workers in turn, as a user, until one accepts, and settle. Raise RuntimeError if none accepts."""
        for worker in range(self.workers):
            if call(worker):
                self.settle()
                return worker
        raise RuntimeError(f"no worker accepts the request: there are {self.system.threads()}")

    def configure(self, connector: int, tasks: int) -> int:
        return self.ask(lambda worker: self.system.configure(worker, connector, tasks))

    def delete(self, connector: int) -> int:
        return self.ask(lambda worker: self.system.delete(worker, connector))

    def restart_task(self, connector: int, task: int) -> int:
        return self.ask(lambda worker: self.system.restart_task(worker, connector, task))

    def zombie(self, worker: int) -> None:
        """Stall a worker, if it is not stalled yet, and let the group go on without it."""
        self.system.stall(worker)
        self.system.expire(worker)
        self.settle()

    def resume(self, worker: int) -> None:
        self.system.resume(worker)

    def alone(self, thread: Thread, *operations: str) -> None:
        """Let a held thread do its operation, and each of ``operations`` that it reaches, while all others wait."""
        self.outcome(thread, "ok")
        for operation in operations:
            for following in self.threads(operation, thread.worker, thread.connector, thread.task):
                if following.number == thread.number:
                    self.system.step(following.number)

    def work(self, worker: int = -1, connector: int = -1, task: int = -1) -> None:
        for operation in AT_WORK:
            for thread in self.threads(operation, worker, connector, task):
                if thread.number not in self.held:
                    self.system.step(thread.number)
        self.settle()

    def owner(self, connector: int, task: int) -> int:
        """Return the worker that was the latest to run a task, or -1 if none ever did."""
        running = [e for e in self.seen() if e.kind == "task_running" and (e.connector, e.task) == (connector, task)]
        return running[-1].node if running else -1

    def leader(self) -> int:
        claims = [event.node for event in self.seen() if event.kind == "topic_claimed"]
        return claims[-1] if claims else -1


KNOWN_BUGS = KnownBugs(
    Script.on, seed=0, support="enabled", workers=3, mode="B", connectors=1, max_tasks=2, protocol="cooperative"
)


def slow_starter(script: Script) -> Thread:
    """Worker F is assigned the task and stalls before it opens its producer. Then the connector is reconfigured, and
    the task runs on worker O (618.40)."""
    script.system.configure(0, 0, 1)
    slow = script.until("open_producer", task=0)
    script.zombie(slow.worker)
    script.configure(0, 1)
    script.work()
    return slow


@KNOWN_BUGS.bug("618.40-A", defect="no_check_after", mode="A")
@KNOWN_BUGS.bug("618.40-M", defect="no_check_after", mode="M")
@KNOWN_BUGS.bug("618.40-B", defect="no_check_after", mode="B")
@KNOWN_BUGS.bug("618.40-shipped", defect="no_check_after", mode="shipped")
@KNOWN_BUGS.bug("H4", defect="check_after_count_only")
def late_producer(script: Script) -> None:
    """Worker F opens its producer late and fences worker O's, and only the check after that prevents F from polling.

    F goes on alone: it opens its producer, checks (or does not), and polls if it may.
    """
    slow = slow_starter(script)
    script.resume(slow.worker)
    script.alone(slow, "check_after", "poll", "commit")
    script.settle()


@KNOWN_BUGS.bug("H12-check", defect="no_round_check")
def stale_round(script: Script) -> None:
    """H12: a round for set 2 (one task) ends after set 3 (two tasks) was committed, and writes its own count, 1.

    There are four generations: set 3's second task is not covered, so the round before set 4 leaves it unfenced.
    """
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 1)
    slow = script.until("fence", task=0)
    script.configure(0, 2)
    script.go(slow)
    second_task_outlives_its_set(script)


@KNOWN_BUGS.bug("lingering-round", defect="answers_for_any_set", mode="shipped")
def answer_of_the_round_before(script: Script) -> None:
    """A round is over but has not been removed when the task of a newer, smaller set asks. As released, the task is
    answered with the success of that round, although no leader has fenced or counted for its own set (618.4)."""
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 2)
    script.until("end_round")
    script.settle()
    second_task_outlives_its_set(script)


@KNOWN_BUGS.bug("H12-leader", defect="plain_leader_producer")
def count_of_a_former_leader(script: Script) -> None:
    """H12: a leader that stalled between its check and its write writes the same stale count.

    Meanwhile another worker leads, and set 3 has been committed, fenced and counted.
    """
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 1)
    stalled = script.until("write_count")
    script.zombie(stalled.worker)
    script.configure(0, 2)
    script.resume(stalled.worker)
    script.alone(stalled)
    script.settle()
    second_task_outlives_its_set(script)


def second_task_outlives_its_set(script: Script) -> None:
    """The worker of task 1 stalls, a set of one task follows, and then that worker goes on where it stopped.

    The group gives the worker up only after the set, so no other worker gets task 1 and fences the stalled one.
    """
    script.work()
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.configure(0, 1)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.work(worker=owner)


@KNOWN_BUGS.bug("zombie-leader", defect="plain_leader_producer")
def zombie_leader_writes(script: Script) -> None:
    """618.26: a leader that was replaced writes a count record after a set that it does not know."""
    script.system.configure(0, 0, 1)
    stalled = script.until("write_count")
    script.zombie(stalled.worker)
    script.system.configure(next(n for n in range(3) if n != stalled.worker), 0, 2)
    script.until("start_round")
    script.resume(stalled.worker)
    script.alone(stalled)
    script.go()


@KNOWN_BUGS.bug("B34", defect="deletion_clears_count")
def deleted_and_created_again(script: Script) -> None:
    """B34 (KAFKA-14147): the count of a deleted connector is forgotten, and its second task outlives both the connector
    and the connector's successor."""
    script.configure(0, 2)
    script.work()
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.delete(0)
    script.zombie(owner)
    script.configure(0, 1)
    script.work()
    script.resume(owner)
    script.work(worker=owner)


@KNOWN_BUGS.bug("removed-task", defect="starts_removed_tasks", mode="shipped")
def removed_task_is_started_again(script: Script) -> None:
    """A worker is out of the group when its connector gets, fences for and counts one task instead of two.

    The worker comes back, stops its task of the old set, reports to the group that it has the task, and as released
    starts it again (618.52, 618.53).
    """
    script.configure(0, 2)
    script.work()
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.configure(0, 1)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.settle()
    script.work()


@KNOWN_BUGS.bug("follower-writes-a-set", defect="followers_write", connectors=2, max_tasks=3)
def set_between_round_and_count(script: Script) -> None:
    """618.34: a follower writes a set of two tasks, between the check of the leader's round and its count of 1.

    The count then stands after another set than its own, so the next round fences one task, and the other goes on.
    """
    for connector, tasks in ((0, 1), (1, 2)):  # so that neither leader nor follower has task 1 of the other connector
        script.configure(connector, tasks)
        script.work()
    script.system.configure(0, 1, 1)
    fencing = script.until("fence", connector=1)
    script.system.configure(0, 1, 2)
    if script.run(lambda: script.threads("write", worker=1)):
        writing = script.until("write", worker=1)
        script.held.discard(fencing.number)
        counting = script.until("write_count")
        script.held.discard(writing.number)
        script.run(lambda: len(script.kinds("set_written")) == 4)
        script.go(counting)
    script.go()
    script.work()
    owner = left_behind(script, connector=1)
    script.configure(1, 1)
    script.system.expire(owner)
    comes_back(script, owner, connector=1)


@KNOWN_BUGS.bug("compaction-order", defect="compaction_keeps_first", max_tasks=3)
def compaction_moves_a_count(script: Script) -> None:
    """C28: a compaction that does not preserve the order leaves a count of 1 after a set of two tasks.

    A worker that reads the topic anew believes the count and has the next round fence only one task.
    """
    for tasks in (1, 2):
        script.configure(0, tasks)
        script.work()
    owner = left_behind(script, connector=0)
    script.system.compact()
    script.system.expire(owner)
    for worker in sorted({0, 1, 2} - {owner}, key=lambda worker: worker == script.leader()):
        script.system.restart_worker(worker)  # the leader last: who leads then has read the topic
        script.settle()
    script.configure(0, 1)
    comes_back(script, owner, connector=0)


def left_behind(script: Script, connector: int) -> int:
    """Stall the owner of task 1 in a transaction, and return that worker."""
    owner = script.owner(connector, 1)
    for polling in script.threads("poll", owner, connector, 1):
        script.system.step(polling.number)
    script.system.stall(owner)
    return owner


def comes_back(script: Script, owner: int, connector: int) -> None:
    """Let everything run, and then let that owner go on, with its old task first."""
    script.settle()
    script.work()
    script.resume(owner)
    script.work(worker=owner, connector=connector, task=1)


def rows() -> list[tuple[int, ...]]:
    """Return the rows of a history, as text B of KIP-618 has it, in which nearly every kind of event happens once.

    Two tasks become one and two again. A worker with a task stands still and comes back as a zombie, then the leader
    does, and another worker leads. A connector is deleted and created again. Every promise holds, and at the end every
    task runs.
    """
    script = Script.of_reference(mode="B", workers=3, connectors=2)
    system = script.system
    script.configure(0, tasks=2)
    script.work()
    script.configure(1, tasks=1)
    script.work()
    zombie = script.owner(0, 1)
    system.stall(zombie)
    script.configure(0, tasks=1)  # two tasks become one
    system.expire(zombie)
    round = script.until("fence")
    script.resume(zombie)
    for operation in AT_WORK:  # it may commit: the count of before still covers it
        for thread in script.threads(operation, zombie):
            system.step(thread.number)
    system.stall(zombie)
    script.go(round)  # both ids are fenced
    script.work()
    script.resume(zombie)
    script.work(zombie)  # refused
    script.work()
    former = script.leader()
    script.zombie(former)
    script.configure(1, tasks=1)  # one task stays one: nothing is fenced
    script.work()
    script.resume(former)
    script.settle()
    script.work()
    script.delete(1)
    for connector in (1, 0):
        script.configure(connector, tasks=2)
        script.work()
    made: list[tuple[int, ...]] = system.env.log.rows
    return made
