"""Scripts that make broken implementations of Connect workers break 618.P1, collected by name.

    @exposes("no_fencing", "fence_one_less")
    def two_tasks_then_one(script): ...

A script is the same with the defect and without. In most of them a worker stalls with a task of an old set in hand, a
new set is fenced for and runs, and that worker goes on.
"""

from functools import partial

from fencepost.reference_impl.task_counts.defects.broken import REGISTRY
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.scenarios import scenario
from fencepost.reference_impl.task_counts.script import Script

EXPOSED = {  # name of a broken implementation -> script
    "followers_write": partial(scenario, "follower-writes-a-set"),
    "compaction_keeps_first": partial(scenario, "compaction-order"),
    "answers_for_any_set": partial(scenario, "lingering-round"),
    "starts_removed_tasks": partial(scenario, "removed-task"),
}


def exposes(*names, **config):
    """The decorated script shows these implementations' defects, in clusters of this config."""

    def register(play):
        for name in names:
            EXPOSED[name] = lambda broken, name=name: played(play, name, broken, config)
        return play

    return register


def played(play, name, broken, config):
    """The events of a script, with or without the defect."""
    entry = REGISTRY[name]
    script = Script(
        entry.parts if broken else Parts(), **{"mode": "B", "workers": 3, "max_tasks": 3} | dict(entry.needs) | config
    )
    play(script)
    return script.told()


def outlives(script, tasks, old=1, held=None, connector=0):
    """The owner of task `old` stalls, a set of so many tasks follows and runs (but its task `held`, which waits before
    opening its producer), and the owner goes on."""
    owner = leave_behind(script, tasks, old, connector)
    if held is not None:
        script.until("open_producer", connector=connector, task=held)
    come_back(script, owner, old, connector)


def leave_behind(script, tasks, old=1, connector=0):
    """The owner of task `old` stalls, in a transaction, and is given up when a set of so many tasks is there. Who that
    is."""
    owner = script.owner(connector, old)
    for polling in script.threads("poll", owner, connector, old):
        script.system.step(polling.number)
    script.system.stall(owner)
    script.configure(connector, tasks)
    script.system.expire(owner)
    return owner


def come_back(script, owner, old=1, connector=0):
    """Everything runs; then that owner goes on, with its old task first."""
    script.settle()
    script.work()
    script.resume(owner)
    script.work(worker=owner, connector=connector, task=old)


def runs(script, *sizes, connector=0):
    """Sets of these sizes, each running before the next."""
    for size in sizes:
        script.configure(connector, size)
        script.work()


@exposes("no_fencing", "fence_new_count", "fence_one_less", "shortcut_new_is_one", "any_record_counts", "does_not_ask")
@exposes("no_count_when_nothing_to_fence", "fenced_task_goes_on", "order_inverted", "counts_one_less")
def two_tasks_then_one(script):
    """Task 1 of two has no successor that would fence it."""
    runs(script, 2)
    outlives(script, 1)


@exposes("record_old_count", "oldest_count")
def one_task_then_two_then_one(script):
    """The count of the first set says 1."""
    runs(script, 1, 2)
    outlives(script, 1)


@exposes("shortcut_old_is_one", protocol="eager")
def one_task_then_two(script):
    """The new task 1 runs before the new task 0 has opened its producer."""
    runs(script, 1)
    outlives(script, 2, old=0, held=0)


@exposes("shortcut_equal")
def two_tasks_then_two(script):
    """The new task 0 runs before the new task 1 has opened its producer."""
    runs(script, 2)
    outlives(script, 2, held=1)


@exposes("fence_from_one", protocol="eager")
def the_first_task(script):
    """The new task 1 runs before the new task 0 has opened its producer."""
    runs(script, 2)
    outlives(script, 2, old=0, held=0)


@exposes("plain_task_producer", protocol="eager")
def one_task_then_one(script):
    """The successor of a single task fences it."""
    runs(script, 1)
    outlives(script, 1, old=0)


@exposes("record_before_fencing")
def fencing_takes_long(script):
    """Task 1 is not fenced yet when the round's thread is slow."""
    runs(script, 2)
    owner = leave_behind(script, 1)
    script.until("fence", task=1)
    come_back(script, owner)


@exposes("partial_failure_ignored")
@exposes("no_check_before", mode="A")
def one_fencing_fails(script):
    """Fencing task 1 times out: the round fails, and a start has to wait, or fails."""
    runs(script, 2)
    owner = leave_behind(script, 1)
    script.outcome(script.until("fence", task=1), "failed")
    come_back(script, owner)


@exposes("answers_before_record")
def the_record_is_not_written(script):
    """A set of two tasks whose count record fails; whoever runs all the same is not covered in the next round."""
    runs(script, 1)
    script.system.configure(0, 0, 2)
    script.outcome(script.until("write_count"), "failed")
    script.settle()
    script.work()
    if script.owner(0, 1) >= 0:
        outlives(script, 1)


@exposes("no_check_after", "check_after_before_producer", "check_after_stale_view", "check_after_count_only")
@exposes("mismatch_ignored")
def late_producer(script):
    """618.40: F opens its producer after a newer set runs."""
    script.system.configure(0, 0, 1)
    slow = script.until("open_producer", task=0)
    script.zombie(slow.worker)
    runs(script, 1)
    script.resume(slow.worker)
    script.alone(slow, "check_after", "poll", "commit")


@exposes("no_round_check")
def a_round_ends_late(script):
    """H12: a round for a set of one task, still fencing when a set of two is committed, writes 1."""
    runs(script, 2)
    script.system.configure(0, 0, 1)
    slow = script.until("fence", task=0)
    script.configure(0, 2)
    script.go(slow)
    script.work()
    outlives(script, 1)


@exposes("plain_leader_producer", "claims_again_at_once")
def a_former_leader_counts(script):
    """H12: a leader stalls before it writes 1, and goes on when another one has counted a set of two."""
    runs(script, 2)
    script.system.configure(0, 0, 1)
    stalled = script.until("write_count")
    script.zombie(stalled.worker)
    script.configure(0, 2)
    script.resume(stalled.worker)
    script.alone(stalled)
    script.settle()
    script.work()
    outlives(script, 1)


@exposes("reclaim_in_between", connectors=2)
def leader_again(script):
    """A leader has looked, and is out of the group before it writes 1; it comes back as the leader of a group that has
    lost everybody else, is refused with another write, and claims the topic again. A set of two is there by then."""
    runs(script, 2)
    script.system.configure(0, 0, 1)
    looking = script.until("check_round")
    leader = looking.worker
    others = [worker for worker in range(3) if worker != leader]
    script.system.configure(leader, 1, 1)
    script.system.expire(leader)
    script.alone(looking)
    script.system.stall(leader)
    script.settle()
    runs(script, 2)
    for worker in others:
        script.system.crash(worker)
        script.system.expire(worker)
    script.resume(leader)
    script.settle()
    for worker in others:
        script.system.restart_worker(worker)
        script.settle()
    outlives(script, 1)


@exposes("joins_any_round")
def rounds_side_by_side(script):
    """While the round of connector 1 takes long, one is asked for connector 0."""
    runs(script, 2)
    runs(script, 2, connector=1)
    script.system.configure(0, 1, 1)
    slow = script.until("fence", connector=1)
    owner = leave_behind(script, 1)
    script.run()
    script.go(slow)
    come_back(script, owner)


@exposes("deletion_clears_count")
def deleted_and_created(script):
    """B34: task 1 outlives its connector, and the next one of that name."""
    runs(script, 2)
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.delete(0)
    script.zombie(owner)
    script.configure(0, 1)
    come_back(script, owner)


@exposes("set_without_commit", mode="A", protocol="eager")
def half_a_set(script):
    """A task is restarted when the configurations of the next set are written, and its commit record is not."""
    runs(script, 2)
    owner = script.owner(0, 1)
    script.system.stall(owner)
    script.system.configure(0, 0, 1)
    script.run(lambda: len(script.kinds("task_config_written")) == 3)
    committing = script.until("write")
    script.settle()
    script.restart_task(0, 0)
    script.work()
    script.resume(owner)
    script.work(worker=owner)
    script.go(committing)


@exposes("claims_late", mode="shipped", heartbeat_ms=3_000)
def set_of_a_former_leader(script):
    """A leader is about to write a set of three tasks when the group goes on without it.  The next one fences for the
    set of one task before that, and its count comes to stand behind the former leader's set, of whose tasks the next
    round fences the first alone."""
    system = script.system
    runs(script, 2)
    former = script.leader()
    system.configure(0, 0, 1)
    script.until("ask")
    system.configure(0, 0, 3)
    system.stall(former)
    system.expire(former)
    script.until("write_count")
    system.resume(former)
    for _ in range(12):
        for thread in [*script.threads("write", former), *script.threads("read", former)][:1]:
            system.step(thread.number)
    script.go()
    script.work()
    outlives(script, 1, old=max(0, *(task for task in range(3) if script.owner(0, task) >= 0)))
