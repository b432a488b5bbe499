"""Known bugs and holes of exactly-once source connectors as short scripts: each once with the defect, once without it.

    scenario("B34", broken=True)      # events in which a task of a deleted connector commits beside the new one
    scenario("B34", broken=False)     # the same operations, correct code: it is refused
    play("B34", factory)              # the same operations with another implementation

Every script drives the plug, so that it also reads as a minimal history of the bug. Where there is no defect in the
code (618.33, 618.34, 618.49: where the guarantee ends; 618.35: where it does as released; H5: a user is needed),
`broken` is what goes beyond.
"""

from typing import Any

from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.revisions import uses_transactions
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.script import KNOWN, Script, Thread
from fencepost.reference_impl.task_counts.system import beside

DISABLED = 2  # the worker without support in 618.33
THREE = {"mode": "B", "workers": 3}
SHIPPED = {"mode": "shipped", "workers": 3}


def slow_starter(script: Script) -> Thread:
    """F is assigned the task, and stalls before it opens its producer; the connector is reconfigured, and the task
    runs on O (618.40)."""
    script.system.configure(0, 0, 1)
    slow = script.until("open_producer", task=0)
    script.zombie(slow.worker)
    script.configure(0, 1)
    script.work()
    return slow


@KNOWN.defect("618.40-A", "no_check_after", mode="A")
@KNOWN.defect("618.40-M", "no_check_after", mode="M")
@KNOWN.defect("618.40-B", "no_check_after", mode="B")
@KNOWN.defect("618.40-shipped", "no_check_after", mode="shipped")
@KNOWN.defect("H4", "check_after_count_only")
def late_producer(script: Script) -> None:
    """F, O and L: F opens its producer late, and fences O's. Only the look after that keeps F from polling.

    F goes on alone: opens its producer, looks (or not), and polls if it is let.
    """
    slow = slow_starter(script)
    script.resume(slow.worker)
    script.alone(slow, "check_after", "poll", "commit")
    script.settle()


@KNOWN.shown("H5", THREE, THREE)
def healthy_task_stays_failed(script: Script) -> None:
    """H5: safety holds in the same race, but O's healthy task was fenced: it has failed, until a user restarts it."""
    slow = slow_starter(script)
    script.resume(slow.worker)
    script.alone(slow, "check_after")
    script.work()
    if not script.broken:
        script.restart_task(0, 0)
    script.work()


@KNOWN.shown("paused-leader", SHIPPED, SHIPPED)
def task_waits_for_a_paused_leader(script: Script) -> None:
    """A task of another worker has asked a leader that is paused. Another one leads soon, and the task does not ask it:
    it fails when its request times out, and stays FAILED until a user restarts it (618.11)."""
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 2)
    leader = script.until("start_round").worker
    script.settle()  # both have asked
    script.zombie(leader)
    script.settle(100_000)
    script.resume(leader)
    script.go()
    if not script.broken:
        for task in (0, 1):
            script.restart_task(0, task)
    script.work()


@KNOWN.shown("late-fence", SHIPPED, SHIPPED)
def late_fence_of_a_former_leader(script: Script) -> None:
    """A round of a leader that is out of the group goes on where it was, when another one has counted: it fences a
    healthy task, which stays FAILED until a user restarts it; no older one commits (618.6, 618.26)."""
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 2)
    late = script.until("fence", task=0)
    script.settle()
    script.zombie(late.worker)
    script.work()
    script.resume(late.worker)
    script.alone(late)
    script.work()
    if not script.broken:
        for task in (0, 1):  # 1 has waited for that round all the while
            script.restart_task(0, task)
    script.work()


@KNOWN.defect("H12-check", "no_round_check")
def stale_round(script: Script) -> None:
    """H12: a round for set 2 (one task) ends after set 3 (two tasks) was committed, and writes its own count, 1.

    Four generations: set 3's second task is not covered, so the round before set 4 leaves it unfenced.
    """
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 1)
    slow = script.until("fence", task=0)
    script.configure(0, 2)
    script.go(slow)
    second_task_outlives_its_set(script)


@KNOWN.defect("lingering-round", "answers_for_any_set")
def answer_of_the_round_before(script: Script) -> None:
    """A round is over, and has not been taken out, when the task of a newer, smaller set asks: as released it is
    answered with the success of that round, though nobody has fenced or counted for its own set (618.4)."""
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 2)
    script.until("end_round")
    script.settle()
    second_task_outlives_its_set(script)


@KNOWN.defect("H12-leader", "plain_leader_producer")
def count_of_a_former_leader(script: Script) -> None:
    """H12: the same stale count, written by a leader that stalled between its look and its write.

    Meanwhile another leads, and set 3 has been committed, fenced and counted.
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
    """The worker of task 1 stalls, a set of one task follows, and then that worker goes on where it was.

    The group gives it up only when the set is there: no other worker gets task 1, whose producer would fence this one.
    """
    script.work()
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.configure(0, 1)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.work(worker=owner)


@KNOWN.defect("zombie-leader", "plain_leader_producer")
def zombie_leader_writes(script: Script) -> None:
    """618.26: a leader that was replaced writes a count record behind a set that it knows nothing of."""
    script.system.configure(0, 0, 1)
    stalled = script.until("write_count")
    script.zombie(stalled.worker)
    script.system.configure(next(n for n in range(3) if n != stalled.worker), 0, 2)
    script.until("start_round")
    script.resume(stalled.worker)
    script.alone(stalled)
    script.go()


@KNOWN.defect("B34", "deletion_clears_count")
def deleted_and_created_again(script: Script) -> None:
    """B34 (KAFKA-14147): a deleted connector's count is forgotten; its second task outlives it, and its successor."""
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


@KNOWN.defect("removed-task", "starts_removed_tasks")
def removed_task_is_started_again(script: Script) -> None:
    """A worker is out of the group when its connector gets one task instead of two, which is fenced for, and counted.

    It comes back, stops its task, which is of the old set, says that it has it, and as released starts it again
    (618.52, 618.53).
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


@KNOWN.shown(
    "B36",
    {"mode": "shipped", "workers": 2, "support": "disabled"},
    {"mode": "shipped", "workers": 2, "support": "enabled"},
)
def two_workers_run_one_task(script: Script) -> None:
    """B36: a worker that has lost the group keeps its task, which another one has got meanwhile.

    Without exactly-once support both commit; with it the second producer has fenced the first.
    """
    script.configure(0, 1)
    script.work()
    owner = script.owner(0, 0)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.work(worker=owner)


@KNOWN.shown(
    "618.33", {**THREE, "max_tasks": 3, "support": ["enabled", "enabled", "disabled"]}, {**THREE, "max_tasks": 3}
)
def worker_without_support(script: Script) -> None:
    """618.33: one worker without support is enough: its task cannot be fenced."""
    script.configure(0, 3)
    script.work()
    script.zombie(DISABLED)
    script.configure(0, 1)
    script.work()
    script.resume(DISABLED)
    script.work(worker=DISABLED)


class CommittedWhilePreparing(Herder):
    """A mend: who leads by transactions passes over those that were aborted."""

    @property
    def reads_committed(self) -> bool:
        return uses_transactions(self.env.revision, self.support)


UPGRADING = {"mode": "shipped", "workers": 3, "max_tasks": 3, "support": ["preparing", "preparing", "enabled"]}


@KNOWN.shown("618.35", UPGRADING, {**UPGRADING, "parts": Parts(herder=CommittedWhilePreparing)}, reference=True)
def aborted_count_of_a_preparing_leader(script: Script) -> None:
    """618.35: a leader that is `preparing` reads a count record whose transaction was aborted, and goes by it.

    The leader that wrote it was gone before the commit. The next one, as released, says that all is counted, so that a
    task starts on the worker that is enabled already, and no count that covers it is ever there. Then the two others
    finish the second upgrade, the last one right after a smaller set; the enabled leader finds no count to fence by.
    """
    script.system.configure(0, 0, 3)
    counting = script.until("write_count")
    script.held.clear()
    script.system.crash_in_write(counting.number)
    script.system.expire(counting.worker)
    script.settle()
    script.restart_task(0, 2)
    script.system.set_support(0, "enabled")
    script.settle()
    script.work()
    script.system.stall(2)
    script.system.configure(1, 0, 1)
    script.settle()
    script.system.set_support(1, "enabled")
    script.zombie(2)
    script.work()
    script.resume(2)
    script.work(worker=2)


@KNOWN.shown("618.34", THREE, THREE)
def foreign_writer(script: Script) -> None:
    """618.34: a program that leads no group writes a count record: the next round trusts it."""
    script.configure(0, 2)
    script.work()
    if script.broken:
        script.system.write_foreign("count", 0, 1)
        script.settle()
    second_task_outlives_its_set(script)


@KNOWN.defect("follower-writes-a-set", "followers_write", connectors=2, max_tasks=3)
def set_between_round_and_count(script: Script) -> None:
    """618.34: a follower writes a set of two tasks, between the look of the leader's round and its count of 1.

    The count then stands behind a set that it is not of: the next round fences one task, and the other goes on.
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


@KNOWN.defect("compaction-order", "compaction_keeps_first", max_tasks=3)
def compaction_moves_a_count(script: Script) -> None:
    """C28: a compaction that does not keep the order leaves a count of 1 behind a set of two tasks.

    Who reads the topic anew believes it, and has the next round fence one task.
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
    """The owner of task 1 stalls, in a transaction. Who that is."""
    owner = script.owner(connector, 1)
    for polling in script.threads("poll", owner, connector, 1):
        script.system.step(polling.number)
    script.system.stall(owner)
    return owner


def comes_back(script: Script, owner: int, connector: int) -> None:
    """Everything runs; then that owner goes on, with its old task first."""
    script.settle()
    script.work()
    script.resume(owner)
    script.work(worker=owner, connector=connector, task=1)


@KNOWN.shown("618.49", {**THREE, "workers": 2}, {**THREE, "workers": 2}, reference=True)
def colliding_names(script: Script) -> None:
    """618.49: group "connect", connector "connector-0", task 1 and group "connect-connector", connector "0", task 1
    have one transactional id: a task of that other cluster, on the same Kafka, fences this one."""
    script.configure(0, 2)
    script.work()
    names = ["0" if script.broken else "zero"]
    config: dict[str, Any] = {
        "mode": "B",
        "workers": 1,
        "group_id": "connect-connector",
        "names": names,
        "support": "enabled",
    }
    other = Script(system=beside(script.system, config), **config)
    other.configure(0, 2)
    script.work()


SCENARIOS = KNOWN
scenario, play = KNOWN.scenario, KNOWN.play
