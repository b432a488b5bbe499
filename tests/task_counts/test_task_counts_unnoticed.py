"""A task that fails on a worker outside the group fails unnoticed, since REST still reports RUNNING.

Kafka leaves it there (DistributedHerder.startWork, WorkerCoordinator.metadata, KafkaStatusBackingStore.putSafe).
"""

import pytest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.histories.properties import HISTORY
from fencepost.properties.task_counts.interface import finish, run, work
from fencepost.reference_impl.systems.task_counts_cluster import reference

CONFIG = {
    "seed": 0, "workers": 2, "connectors": 1, "max_tasks": 1, "protocol": "cooperative", "support": "enabled",
    "heartbeat_ms": 3_000, "mode": "shipped",
}  # fmt: skip
OWNER, OTHER = 0, 1


def fenced_out_of_the_group():
    """Stall the task's worker, let the other one start the task, and resume the first, which is fenced."""
    system = reference(CONFIG)
    run(system)
    system.configure(0, 0, 1)
    run(system)
    assert [thread[2] for thread in system.threads() if thread[1] == "poll"] == [OWNER]
    system.stall(OWNER)
    system.expire(OWNER)
    run(system)
    work(system)
    system.resume(OWNER)
    work(system, OWNER)
    return system


def ends(system, *arguments):
    """Return the tasks that poll when the faults are over, and the number of broken promises."""
    finished = finish(system, *(arguments or (2, 1, 1)))
    rows = [(e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]) for e in system.drain_events()]
    found = HISTORY.check(columns_of(TASK_COUNTS, [(0, rows)]), config={"mode": "shipped"})[0]
    return finished.at_work, found["newest_set_polls"].violations


def test_rest_says_that_the_other_one_runs():
    """A worker writes no FAILED over a status that another one wrote in a later generation."""
    system = fenced_out_of_the_group()
    assert system.status(0, 0) == ("RUNNING", "")
    assert [thread[2] for thread in system.threads() if thread[1] == "poll"] == [OTHER]


def test_both_have_it_and_both_let_go():
    """While the other worker is alive, the leader sees that two have the task, and it is started anew."""
    assert ends(fenced_out_of_the_group()) == ({(0, 0)}, 0)


def test_the_failed_one_keeps_it():
    """When the other worker is gone, the first reports that it has the task, and nothing starts it. 618.P4 expects
    restarts of failed tasks, and this failure is not reported. A user's restart would run it."""
    system = fenced_out_of_the_group()
    system.crash(OTHER)
    system.expire(OTHER)
    run(system)
    assert ends(system) == (frozenset(), 0)
    system = fenced_out_of_the_group()
    system.crash(OTHER)
    system.expire(OTHER)
    run(system)
    system.restart_task(OWNER, 0, 0)
    assert ends(system) == ({(0, 0)}, 0)


def test_a_failure_that_is_shown_is_no_excuse():
    """The other worker is gone before the first resumes, so that FAILED is the last status in its generation. A task
    that is still not started breaks the promise."""
    system = reference(CONFIG)
    run(system)
    system.configure(0, 0, 1)
    run(system)
    thread = next(thread for thread in system.threads() if thread[1] == "poll")
    system.step(thread[0], "failed")
    assert system.status(0, 0)[0] == "FAILED"
    rows = [(e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]) for e in system.drain_events()]
    found = HISTORY.check(columns_of(TASK_COUNTS, [(0, rows)]), config={"mode": "shipped"})[0]
    assert found["newest_set_polls"].violations == 1


def connector_failed_unseen():
    """Return a cluster in M in which a round that may not fence fails the Connector on one worker. Another worker,
    which fell out of the group with that Connector, starts it on its return, and REST reports RUNNING."""
    system = reference({**CONFIG, "workers": 3, "connectors": 2, "max_tasks": 2, "mode": "M"})
    run(system)
    system.configure(0, 0, 1)
    system.configure(0, 1, 1)
    run(system)
    system.restart_worker(0)
    run(system)
    system.configure(0, 0, 2)
    run(system)
    system.stall(2)
    system.set_fencing(0, False)
    system.configure(0, 0, 1)
    system.expire(2)
    run(system)
    assert system.status(0, -1)[0] == "FAILED"
    return system


def test_a_connector_that_waits_is_started_again():
    """618.P4: REST reports no failure to the user, who has to restart the Connector of a task that is UNASSIGNED."""
    polling, broken = ends(connector_failed_unseen(), 3, 2, 2)
    assert ((0, 0) in polling, broken) == (False, 1)
    polling, broken = ends(connector_failed_unseen(), 3, 2, 2, False, True)
    assert ((0, 0) in polling, broken) == (True, 0)


def test_the_failed_one_keeps_it_also_if_the_other_one_was_gone_before():
    """The first worker is fenced when it resumes, and no worker runs the task, but REST reports the RUNNING of a later
    generation."""
    system = reference(CONFIG)
    run(system)
    system.configure(0, 0, 1)
    run(system)
    system.stall(OWNER)
    system.expire(OWNER)
    run(system)
    system.crash(OTHER)
    system.resume(OWNER)
    work(system, OWNER)
    assert system.status(0, 0) == ("RUNNING", "")
    system.expire(OTHER)
    run(system)
    assert ends(system) == (frozenset(), 0)


@pytest.mark.parametrize("missing", ["", "task_config_written", "compacted", "worker_started"])
def test_compaction_may_tear_a_set(missing):
    """A leader crashes while it rewrites the same set, and the topic is compacted. A worker that reads it from the
    start finds the set without its first task's config, and as leader assigns none of its tasks. Without any of these
    events the tasks run."""
    system = reference({**CONFIG, "max_tasks": 2})
    run(system)
    system.configure(OWNER, 0, 2)
    run(system)
    system.crash(OWNER)
    system.crash(OTHER)
    rows = [[e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]] for e in system.drain_events()]
    written = next(row for row in rows if row[2] == TASK_COUNTS.codes["task_config_written"])
    for kind in ("task_config_written", "compacted", "worker_started"):
        if kind != missing:
            rows.append([len(rows), rows[-1][1], TASK_COUNTS.codes[kind], *written[3:]])
    found = HISTORY.check(columns_of(TASK_COUNTS, [(0, rows)]), config={"mode": "shipped"})[0]
    assert found["newest_set_polls"].violations == (missing != "")
