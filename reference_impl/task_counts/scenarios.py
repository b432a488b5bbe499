"""Known bugs and holes of exactly-once source connectors as short scripts: each once with the defect, once without it.

    scenario("B34", broken=True)      # events in which a task of a deleted connector commits beside the new one
    scenario("B34", broken=False)     # the same operations, correct code: it is refused

Every script drives the plug, so that it also reads as a minimal history of the bug. Where there is no defect in the
code (618.33, 618.34, 618.49: where the guarantee ends; H5: a user is needed), `broken` is what goes beyond.
"""

from collections.abc import Callable
from typing import Any

from fencepost.reference_impl.task_counts.defects.broken import REGISTRY
from fencepost.reference_impl.task_counts.events import Event
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.script import Script, Thread
from fencepost.reference_impl.task_counts.system import beside

DISABLED = 2  # the worker without support in 618.33


def scenario(name: str, broken: bool) -> list[Event]:
    """The events of one scenario, with or without its defect. Raises KeyError with the known names."""
    if name not in SCENARIOS:
        raise KeyError(f"no scenario is called {name!r}: known are {', '.join(SCENARIOS)}")
    return SCENARIOS[name](broken)


def played(defect: str, broken: bool, **config: Any) -> Script:
    """Three workers with the defect of that name, or without."""
    entry = REGISTRY[defect]
    return Script(entry.parts if broken else Parts(), **{"mode": "B", "workers": 3, **dict(entry.needs), **config})


def slow_starter(script: Script) -> Thread:
    """F is assigned the task, and stalls before it opens its producer; the connector is reconfigured, and the task
    runs on O (618.40)."""
    script.system.configure(0, 0, 1)
    slow = script.until("open_producer", task=0)
    script.zombie(slow.worker)
    script.configure(0, 1)
    script.work()
    return slow


def late_producer(mode: str, defect: str) -> Callable[[bool], list[Event]]:
    """F, O and L: F opens its producer late, and fences O's. Only the look after that keeps F from polling."""

    def play(broken: bool) -> list[Event]:
        """F goes on alone: opens its producer, looks (or not), and polls if it is let."""
        script = played(defect, broken, mode=mode)
        slow = slow_starter(script)
        script.resume(slow.worker)
        script.alone(slow, "check_after", "poll", "commit")
        script.settle()
        return script.told()

    return play


def healthy_task_stays_failed(broken: bool) -> list[Event]:
    """H5: safety holds in the same race, but O's healthy task was fenced: it has failed, until a user restarts it."""
    script = Script(Parts(), mode="B", workers=3)
    slow = slow_starter(script)
    script.resume(slow.worker)
    script.alone(slow, "check_after")
    script.work()
    if not broken:
        script.restart_task(0, 0)
    script.work()
    return script.told()


def stale_round(broken: bool) -> list[Event]:
    """H12: a round for set 2 (one task) ends after set 3 (two tasks) was committed, and writes its own count, 1.

    Four generations: set 3's second task is not covered, so the round before set 4 leaves it unfenced.
    """
    script = played("no_round_check", broken)
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 1)
    slow = script.until("fence", task=0)
    script.configure(0, 2)
    script.go(slow)
    return second_task_outlives_its_set(script)


def count_of_a_former_leader(broken: bool) -> list[Event]:
    """H12: the same stale count, written by a leader that stalled between its look and its write.

    Meanwhile another leads, and set 3 has been committed, fenced and counted.
    """
    script = played("plain_leader_producer", broken)
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 1)
    stalled = script.until("write_count")
    script.zombie(stalled.worker)
    script.configure(0, 2)
    script.resume(stalled.worker)
    script.alone(stalled)
    script.settle()
    return second_task_outlives_its_set(script)


def second_task_outlives_its_set(script: Script) -> list[Event]:
    """The worker of task 1 stalls, a set of one task follows, and then that worker goes on where it was.

    The group gives it up only when the set is there: nobody else gets task 1, whose producer would fence this one.
    """
    script.work()
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.configure(0, 1)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.work(worker=owner)
    return script.told()


def zombie_leader_writes(broken: bool) -> list[Event]:
    """618.26: a leader that was replaced writes a count record behind a set that it knows nothing of."""
    script = played("plain_leader_producer", broken)
    script.system.configure(0, 0, 1)
    stalled = script.until("write_count")
    script.zombie(stalled.worker)
    script.system.configure(next(n for n in range(3) if n != stalled.worker), 0, 2)
    script.until("start_round")
    script.resume(stalled.worker)
    script.alone(stalled)
    script.go()
    return script.told()


def deleted_and_created_again(broken: bool) -> list[Event]:
    """B34 (KAFKA-14147): a deleted connector's count is forgotten; its second task outlives it, and its successor."""
    script = played("deletion_clears_count", broken)
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
    return script.told()


def two_workers_run_one_task(broken: bool) -> list[Event]:
    """B36: a worker that has lost the group keeps its task, which another one has got meanwhile.

    Without exactly-once support both commit; with it the second producer has fenced the first.
    """
    script = Script(Parts(), mode="shipped", workers=2, support="disabled" if broken else "enabled")
    script.configure(0, 1)
    script.work()
    owner = script.owner(0, 0)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.work(worker=owner)
    return script.told()


def worker_without_support(broken: bool) -> list[Event]:
    """618.33: one worker without support is enough: its task cannot be fenced."""
    support = ["enabled"] * 3
    if broken:
        support[DISABLED] = "disabled"
    script = Script(Parts(), mode="B", workers=3, max_tasks=3, support=support)
    script.configure(0, 3)
    script.work()
    script.zombie(DISABLED)
    script.configure(0, 1)
    script.work()
    script.resume(DISABLED)
    script.work(worker=DISABLED)
    return script.told()


def foreign_writer(broken: bool) -> list[Event]:
    """618.34: somebody who leads nothing writes a count record: the next round trusts it."""
    script = Script(Parts(), mode="B", workers=3)
    script.configure(0, 2)
    script.work()
    if broken:
        script.system.write_foreign("count", 0, 1)
        script.settle()
    return second_task_outlives_its_set(script)


def set_between_round_and_count(broken: bool) -> list[Event]:
    """618.34: a follower writes a set of two tasks, between the look of the leader's round and its count of 1.

    The count then stands behind a set that it is not of: the next round fences one task, and the other goes on.
    """
    script = played("followers_write", broken, connectors=2, max_tasks=3)
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
    return comes_back(script, owner, connector=1)


def compaction_moves_a_count(broken: bool) -> list[Event]:
    """C28: a compaction that does not keep the order leaves a count of 1 behind a set of two tasks.

    Who reads the topic anew believes it, and has the next round fence one task.
    """
    script = played("compaction_keeps_first", broken, max_tasks=3)
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
    return comes_back(script, owner, connector=0)


def left_behind(script: Script, connector: int) -> int:
    """The owner of task 1 stalls, in a transaction. Who that is."""
    owner = script.owner(connector, 1)
    for polling in script.threads("poll", owner, connector, 1):
        script.system.step(polling.number)
    script.system.stall(owner)
    return owner


def comes_back(script: Script, owner: int, connector: int) -> list[Event]:
    """Everything runs; then that owner goes on, with its old task first."""
    script.settle()
    script.work()
    script.resume(owner)
    script.work(worker=owner, connector=connector, task=1)
    return script.told()


def colliding_names(broken: bool) -> list[Event]:
    """618.49: group "connect", connector "connector-0", task 1 and group "connect-connector", connector "0", task 1
    have one transactional id: a task of that other cluster, on the same Kafka, fences this one."""
    script = Script(Parts(), mode="B", workers=2)
    script.configure(0, 2)
    script.work()
    names = ["0" if broken else "zero"]
    config = {"mode": "B", "workers": 1, "group_id": "connect-connector", "names": names, "support": "enabled"}
    other = Script(Parts(), beside(script.system, config))
    other.configure(0, 2)
    script.work()
    return script.told()


SCENARIOS: dict[str, Callable[[bool], list[Event]]] = {
    "618.40-A": late_producer("A", "no_check_after"),
    "618.40-M": late_producer("M", "no_check_after"),
    "618.40-B": late_producer("B", "no_check_after"),
    "618.40-shipped": late_producer("shipped", "no_check_after"),
    "H4": late_producer("B", "check_after_count_only"),
    "H5": healthy_task_stays_failed,
    "H12-check": stale_round,
    "H12-leader": count_of_a_former_leader,
    "zombie-leader": zombie_leader_writes,
    "B34": deleted_and_created_again,
    "B36": two_workers_run_one_task,
    "618.33": worker_without_support,
    "618.34": foreign_writer,
    "follower-writes-a-set": set_between_round_and_count,
    "compaction-order": compaction_moves_a_count,
    "618.49": colliding_names,
}
