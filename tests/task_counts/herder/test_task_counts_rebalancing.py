"""These tests check eager and cooperative rebalances under stalls, crashes and slow tasks (618.22, 618.23, 618.41)."""

import pytest
from fencepost.properties.task_counts.scenarios.known import Script

MODES = ("A", "M", "B", "shipped")
PROTOCOLS = ("eager", "cooperative")


def cluster(mode: str = "B", protocol: str = "cooperative", **config: object) -> Script:
    return Script.of_reference(mode=mode, protocol=protocol, **config)


def all_run(script: Script, tasks: int) -> bool:
    return [script.system.status(0, task) for task in range(tasks)] == [("RUNNING", "")] * tasks


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mode", MODES)
def test_both_protocols_bring_up_every_new_set(mode: str, protocol: str) -> None:
    """618.41: Under either protocol each task of every set starts on one worker, evenly."""
    script = cluster(mode, protocol, workers=2, max_tasks=4)
    for tasks in (2, 4, 1, 3):
        script.configure(0, tasks=tasks)
        assert all_run(script, tasks)
        polling = script.threads("poll")
        assert sorted(t.task for t in polling) == list(range(tasks))
        assert max(sum(t.worker == w for t in polling) for w in (0, 1)) == (tasks + 1) // 2


def test_eager_lets_go_of_everything() -> None:
    script = cluster(protocol="eager", workers=2, connectors=2)
    script.configure(0, tasks=2)
    before = {e.instance for e in script.kinds("task_running")}
    script.configure(1, tasks=1)
    assert before <= {e.instance for e in script.kinds("task_stopped")}
    assert {e.connector for e in script.kinds("task_running") if e.instance not in before} == {0, 1}


def test_cooperative_lets_the_others_run_on() -> None:
    script = cluster(workers=2, connectors=2)
    script.configure(0, tasks=2)
    before = {e.instance for e in script.kinds("task_running")}
    script.configure(1, tasks=2)
    script.configure(1, tasks=2)
    assert not before & {e.instance for e in script.kinds("task_stopped", "task_failed")}
    assert len([e for e in script.kinds("round_started") if e.connector == 0]) == 1


def test_cooperative_revokes_before_it_gives() -> None:
    script = cluster(workers=2)
    script.system.crash(1)
    script.system.expire(1)
    script.configure(0, tasks=2)
    assert {t.worker for t in script.threads("poll")} == {0}
    script.system.restart_worker(1)
    script.settle()
    assert {t.worker for t in script.threads("poll")} == {0, 1}
    moved = [(e.kind, e.node) for e in script.seen() if e.task == script.kinds("task_revoked")[-1].task]
    kinds = [pair for pair in moved if pair[0] in ("task_stopped", "task_revoked", "task_assigned")]
    assert kinds[-3:] == [("task_stopped", 0), ("task_revoked", 0), ("task_assigned", 1)]
    revoked, given = script.kinds("task_revoked")[-1], script.kinds("task_assigned")[-1]
    assert given.member > revoked.member


@pytest.mark.parametrize("mode", MODES)
def test_tasks_of_an_old_set_are_stopped_before_the_worker_joins(mode: str) -> None:
    """618.22: A worker that reads a newer set stops its tasks of the older one before it joins again."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    start = len(script.seen())
    script.configure(0, tasks=2)
    kinds = [e.kind for e in script.seen()[start:] if e.node == 0]
    assert kinds.index("task_stopped") < kinds.index("joined") < kinds.index("task_starting")
    assert not script.kinds("transaction_refused", "task_left_running")


@pytest.mark.parametrize("mode", MODES)
def test_without_that_they_are_fenced(mode: str) -> None:
    """618.22, 618.P1: Without the preemptive stop the round fences the old set's running tasks, so none of them commits
    once a newer task polls."""
    script = cluster(mode, workers=2, preemptive_stop=False)
    script.configure(0, tasks=2)
    old = script.kinds("task_running")[0].set
    script.system.stall(1)
    script.system.configure(0, 0, 1)
    script.settle()
    script.system.expire(1)
    script.settle()
    script.system.resume(1)
    new = script.kinds("task_running")[-1]
    assert new.set > old
    for thread in script.threads("poll", worker=1):
        script.system.step(thread.number)
    assert [e.error for e in script.kinds("transaction_refused")] == [90]
    last = max(e.step for e in script.kinds("transaction_committed", "task_running") if e.set == old)
    assert last < new.step


@pytest.mark.parametrize("mode", MODES)
def test_a_task_that_does_not_stop_is_left_running(mode: str) -> None:
    """618.23: A worker joins without a task that has not stopped after 5 s, which runs until it is fenced. As shipped
    its producer is closed, so that it cannot even try."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    (polling,) = script.threads("poll", task=1)
    script.system.step(polling.number)
    (committing,) = script.threads("commit", task=1)
    script.system.configure(0, 0, 2)
    script.settle(4_000)
    newest = script.kinds("set_written")[-1].offset
    assert not script.kinds("task_left_running")
    assert not [e for e in script.kinds("task_running") if e.set == newest]
    script.settle(3_000)
    (left,) = script.kinds("task_left_running")
    assert (left.node, left.task) == (committing.worker, 1)
    assert all_run(script, 2)
    script.system.step(committing.number)
    assert [e.error for e in script.kinds("transaction_refused")] == ([] if mode == "shipped" else [90])
    assert not [e for e in script.kinds("transaction_committed") if e.instance == left.instance]
    assert script.system.status(0, 1) == ("RUNNING", "")  # the new instance's: the old one only logs


@pytest.mark.parametrize("support", ["enabled", "disabled"])
@pytest.mark.parametrize("outcome", ["failed", "lost"])
def test_a_task_that_does_not_get_to_its_end(outcome: str, support: str) -> None:
    """A task whose stop "failed" polls once more and checks again, but one whose stop was "lost" has stopped."""
    script = cluster(workers=1, support=support)
    script.configure(0, tasks=1)
    number = script.threads("poll")[0].number
    script.system.restart_task(0, 0, 0)
    assert [t.operation for t in script.threads() if t.number == number] == ["stop"]
    script.system.step(number, outcome)
    found = []
    while mine := [t for t in script.threads() if t.number == number]:
        found.append(mine[0].operation)
        script.system.step(number)
    more = ["poll", "commit", "stop"] if support == "enabled" else ["poll", "stop"]
    assert found == (more if outcome == "failed" else [])
    assert len(script.kinds("task_stopped")) == 1


def test_a_stop_that_fails_during_the_start_is_tried_again() -> None:
    script = cluster(workers=1)
    script.system.configure(0, 0, 1)
    held = script.until("check_after")
    script.system.restart_task(0, 0, 0)
    script.system.step(held.number)
    for outcome in ("failed", "ok"):
        assert [t.operation for t in script.threads() if t.number == held.number] == ["stop"]
        script.system.step(held.number, outcome)
    assert [e.instance for e in script.kinds("task_stopped")] == [0]
    assert not script.kinds("task_left_running", "task_running")


def test_a_task_left_running_can_still_commit_until_it_is_fenced() -> None:
    """618.23: A task that was left running commits until the round fences it."""
    script = cluster("M", workers=2)
    script.configure(0, tasks=2)
    (polling,) = script.threads("poll", task=1)
    script.system.step(polling.number)
    script.system.configure(0, 0, 2)
    held = script.until("fence") if script.run(lambda: bool(script.threads("fence")), ms=7_000) else None
    assert held is not None
    (committing,) = script.threads("commit", task=1)
    script.system.step(committing.number)
    assert script.kinds("transaction_committed")[-1].set < script.kinds("set_written")[-1].offset
    assert not [e for e in script.kinds("task_running") if e.set == script.kinds("set_written")[-1].offset]
    script.go(held)
    (polling,) = [t for t in script.threads("poll", task=1) if t.number == committing.number]
    script.system.step(polling.number)
    assert script.kinds("transaction_refused")[-1].error == 90


@pytest.mark.parametrize("mode", MODES)
def test_the_group_goes_on_without_a_crashed_worker(mode: str) -> None:
    script = cluster(mode, workers=3)
    script.configure(0, tasks=2)
    (polling,) = script.threads("poll", task=1)
    script.system.step(polling.number)
    script.system.crash(polling.worker)
    script.settle()
    assert [t.task for t in script.threads("poll")] == [0]
    script.system.expire(polling.worker)
    script.settle()
    assert all_run(script, 2)
    script.system.restart_worker(polling.worker)
    script.settle()
    assert all_run(script, 2)
    lost = [e.instance for e in script.kinds("records_sent")]
    assert not [e for e in script.kinds("transaction_committed") if e.instance in lost]


@pytest.mark.parametrize("mode", MODES)
def test_a_rebalance_waits_for_a_stalled_member_until_it_expires(mode: str) -> None:
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    follower = 1 - script.leader()
    script.system.stall(follower)
    sets = len(script.kinds("assignment_made"))
    script.configure(0, tasks=1)
    assert len(script.kinds("assignment_made")) == sets
    script.system.expire(follower)
    script.settle()
    assert len(script.kinds("assignment_made")) > sets
    assert script.system.status(0, 0) == ("RUNNING", "")


def test_nothing_of_a_stalled_worker_happens() -> None:
    script = cluster(workers=2)
    script.configure(0, tasks=2)
    before = script.threads(worker=1)
    script.system.stall(1)
    assert before and not script.threads(worker=1)
    assert not script.system.configure(1, 0, 1)
    with pytest.raises(KeyError, match="has no operation now"):
        script.system.step(before[0].number)
    script.system.resume(1)
    assert script.threads(worker=1) == before


@pytest.mark.parametrize("outcome", ["failed", "lost"])
@pytest.mark.parametrize("operation", ["join", "assign", "sync"])
def test_a_step_of_the_rebalance_that_times_out_is_repeated(operation: str, outcome: str) -> None:
    script = cluster(workers=2)
    script.system.configure(0, 0, 2)
    script.outcome(script.until(operation), outcome)
    script.settle()
    assert all_run(script, 2)


@pytest.mark.parametrize("mode", MODES)
def test_a_deleted_connector_stops_and_keeps_its_count(mode: str) -> None:
    """618.38: Deletion writes no tombstone for the count record, so a new connector of the same name is fenced for as
    many tasks as the old one had."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    script.delete(0)
    assert not script.threads("poll")
    assert not script.kinds("count_tombstoned") and len(script.kinds("connector_tombstoned")) == 1
    script.configure(0, tasks=1)
    assert [e.task for e in script.kinds("id_fenced")] == [0, 1]
    assert script.system.status(0, 0) == ("RUNNING", "")


@pytest.mark.parametrize("mode", MODES)
def test_a_new_worker_reads_a_compacted_topic(mode: str) -> None:
    """After compaction a restarted worker counts generations differently, but the same tasks may run."""
    script = cluster(mode, workers=2)
    for tasks in (2, 1, 2):
        script.configure(0, tasks=tasks)
    script.system.compact()
    script.system.restart_worker(1)
    script.settle()
    views = [script.system.env.workers[w].herder.view.state for w in (0, 1)]  # type: ignore[union-attr]
    name = script.system.names[0]
    assert [view.generation(name) for view in views] == [2, 0]
    assert views[0].set_place(name) == views[1].set_place(name)
    assert all_run(script, 2)
    script.configure(0, tasks=2)
    assert all_run(script, 2)
