"""Further scripts that make broken implementations of Connect workers break 618.P1: rounds that cover too little,
records that settle too much, starts that pass by a round.  With those of connect_exposing in one EXPOSED.
"""

from connect_exposing import (
    EXPOSED,
    a_former_leader_counts,
    come_back,
    deleted_and_created,
    exposes,
    leave_behind,
    outlives,
    runs,
    the_record_is_not_written,
    two_tasks_then_one,
)
from fencepost.reference_impl.task_counts.permissions import of_fencing
from fencepost.reference_impl.task_counts.scenarios import SCENARIOS

__all__ = ["EXPOSED"]

exposes("fences_what_members_own")(two_tasks_then_one)
exposes("failed_record_is_success")(the_record_is_not_written)
exposes("deletion_tombstones_the_count")(deleted_and_created)
exposes("own_id_of_every_leader")(a_former_leader_counts)
exposes("as_released")(SCENARIOS["removed-task"].play)


@exposes("fences_each_id_once")
def two_tasks_twice_then_one(script):
    """The leader has fenced task 1 before, and another producer has its id since."""
    runs(script, 2, 2)
    outlives(script, 1)


@exposes("fences_once_for_a_count")
def fenced_by_who_does_not_count(script):
    """A leader has fenced both ids and is away when it should count; another one does, and then the first leads."""
    runs(script, 2)
    script.system.configure(0, 0, 2)
    late = script.until("check_round")
    script.zombie(late.worker)
    script.work()
    script.resume(late.worker)
    script.go()
    script.settle(100_000)
    script.restart_task(0, 1)  # it has waited for that round all the while
    script.system.expire(script.leader())
    script.settle()
    script.work()
    outlives(script, 1)


@exposes("not_leading_is_fine")
def leader_that_is_back(script):
    """The leader is a new process, and in no group yet, when a task of a smaller set asks."""
    runs(script, 3)
    owner, leader = leave_behind(script, 2, old=2), script.leader()
    asking = next(t for t in [script.until("ask", connector=0, task=task) for task in (0, 1)] if t.worker != leader)
    script.system.crash(leader)
    script.system.restart_worker(leader)
    while reading := script.threads("read", leader):
        script.system.step(reading[0].number)
    script.alone(asking, "answer", "open_producer", "check_after", "poll", "commit")
    script.resume(owner)
    script.work(worker=owner, connector=0, task=2)


@exposes("stop_counts_nothing")
def stopped_in_between(script):
    """A connector of two tasks is stopped, and then has one, while the worker of the second one stands still."""
    runs(script, 2)
    owner = script.owner(0, 1)
    for polling in script.threads("poll", owner, 0, 1):
        script.system.step(polling.number)
    script.system.stall(owner)
    script.ask(lambda worker: script.system.stop_connector(worker, 0))
    script.system.expire(owner)
    script.settle()
    script.configure(0, 1)
    come_back(script, owner)


@exposes("refusal_after_a_stop")
def refused_when_it_was_stopped(script):
    """As before, and the connector may not fence when it has one task."""
    script.system.set_fencing(0, False)
    stopped_in_between(script)


@exposes("counts_who_asked")
def one_asks_before_the_other(script):
    """The first of two tasks has its answer, and the record is written, before the second one asks."""
    script.system.configure(0, 0, 2)
    second = script.until("ask", task=1)
    script.settle()
    script.go(second)
    script.work()
    outlives(script, 1)


@exposes("unauthorized_passed_over")
def permission_taken_away(script):
    """The connector's admin may not fence task 1."""
    runs(script, 2)
    config = script.system.env.config
    _, write = of_fencing(config.group_id, config.connector_names[0], 1)
    script.system.env.brokers.acls.deny(write)
    outlives(script, 1)


@exposes("count_settles_every_connector")
def another_connector_is_counted_in_between(script):
    """Between a set of connector 0 and the question for its round there is a count record of connector 1."""
    runs(script, 2)
    runs(script, 2, connector=1)
    owner = leave_behind(script, 1)
    asking = script.until("ask", connector=0, task=0)
    script.configure(1, 1)
    script.go(asking)
    come_back(script, owner)


@exposes("shrunk_set_keeps_its_tasks")
def task_of_a_set_that_has_shrunk(script):
    """Whatever still runs as task 1 of a set of one outlives it; its successor, if there is one, opens no producer."""
    runs(script, 2, 1)
    owner = leave_behind(script, 1)
    script.run(lambda: script.threads("open_producer", connector=0, task=1))
    script.held |= {thread.number for thread in script.threads("open_producer", connector=0, task=1)}
    come_back(script, owner)


@exposes("generation_taken_at_the_producer")
def start_that_its_worker_has_left(script):
    """A start waits before its producer is opened until its worker has left it behind, and runs the next set."""
    script.system.configure(0, 0, 1)
    slow = script.until("open_producer", task=0)
    script.configure(0, 1)
    script.settle(6_000)
    script.work()
    script.alone(slow, "check_after", "poll", "commit")


@exposes("restart_does_not_ask")
def restart_while_the_round_is_under_way(script):
    """A user restarts task 0 while its set is being fenced for."""
    runs(script, 2)
    owner = leave_behind(script, 1)
    script.until("fence", task=1)
    script.settle()
    script.restart_task(0, 0)
    come_back(script, owner)
