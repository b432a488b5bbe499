"""These tests drive the reference, and check progress (618.P4) and what workers cannot protect against."""

import random

import pytest
from fencepost.properties.task_counts.scenarios.known import Script
from fencepost.reference_impl.systems.task_counts_cluster import System, reference, second_cluster
from test_task_counts_threads import MODES, wander


def test_events_are_drained_once() -> None:
    system = reference({"workers": 2, "support": "enabled"})
    assert [event.kind for event in system.drain_events()] == ["worker_started"] * 2
    assert system.drain_events() == []


def test_users_are_refused_where_nobody_can_take_the_request() -> None:
    system = reference({"workers": 2, "mode": "shipped", "support": "enabled"})
    assert not system.configure(0, 0, 1)
    script = Script.of_reference(workers=2, mode="shipped")
    assert not script.system.delete(0, 0) and not script.system.stop_connector(0, 0)
    assert not script.system.restart_task(0, 0, 0) and not script.system.restart_connector(0, 0)
    script.system.stall(0)
    script.system.crash(1)
    assert not script.system.configure(0, 0, 1) and not script.system.configure(1, 0, 1)


@pytest.mark.parametrize("mode", ["A", "M", "B"])
def test_users_of_the_documents_cannot_stop_a_connector(mode: str) -> None:
    """Sets of no tasks are newer than the documents."""
    script = Script.of_reference(mode=mode, workers=1)
    script.configure(0, tasks=1)
    assert not script.system.stop_connector(0, 0)


def test_a_stopped_connector_starts_again_when_it_is_configured() -> None:
    """As shipped, STOPPED ends the tasks, and a new config, which implies STARTED, brings its own set."""
    script = Script.of_reference(mode="shipped", workers=2)
    script.configure(0, tasks=2)
    assert script.system.stop_connector(1, 0)
    script.settle()
    assert not script.threads("poll")
    assert [script.system.status(0, task)[0] for task in (0, 1)] == ["UNASSIGNED"] * 2
    script.configure(0, tasks=1)
    assert script.system.status(0, 0) == ("RUNNING", "")
    assert [e.count for e in script.kinds("set_written")] == [2, 0, 1]


def calm_down(system: System, luck: random.Random) -> bool:
    """Let threads run and time pass without faults until nothing is left. Return False if that never happens."""
    idle = 0
    for _ in range(3_000):
        waiting = [row for row in system.threads() if row[1] not in ("poll", "commit")]
        if waiting:
            system.step(luck.choice(waiting)[0])
            idle = 0
        elif idle > 30:
            return True
        else:
            system.advance(3_000)
            idle += 1
    return False


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.nightly(nights=8)) for n in (4, 5))])
@pytest.mark.parametrize("mode", MODES)
def test_every_task_of_the_newest_set_polls_in_the_end(mode: str, seed: int) -> None:
    """618.P4: After a random driver's faults stop and a last set is written, each of its tasks polls on one worker,
    once FAILED tasks are restarted."""
    system, luck = wander(mode, seed, 500), random.Random(seed)
    for worker in range(3):
        system.resume(worker)
        if not any(row[2] == worker for row in system.threads()):
            system.restart_worker(worker)
    assert calm_down(system, luck)
    system.drain_events()
    for connector in (0, 1):
        assert system.configure(0, connector, 2)
    assert calm_down(system, luck)
    for connector in (0, 1):
        for task in (0, 1):
            if system.status(connector, task)[0] == "FAILED":
                system.restart_task(0, connector, task)
    assert calm_down(system, luck)
    events = system.drain_events()
    for connector in (0, 1):
        newest = max(e.set for e in events if e.kind == "set_written" and e.connector == connector)
        polling = [row for row in system.threads() if row[1] in ("poll", "commit") and row[3] == connector]
        running = [e for e in events if e.kind == "task_running" and (e.connector, e.set) == (connector, newest)]
        assert {row[4] for row in polling} == {0, 1}  # besides those that were left running long ago
        assert {e.task for e in running} == {0, 1}


@pytest.mark.parametrize("mode", MODES)
def test_a_worker_without_support_breaks_the_guarantee_of_all(mode: str) -> None:
    """618.33: A stalled task of a worker without the feature cannot be fenced, and writes for an old set after the
    newest polls."""
    script = Script.of_reference(mode=mode, workers=3, support=["enabled", "enabled", "disabled"], max_tasks=3)
    script.configure(0, tasks=3)
    (polling,) = script.threads("poll", worker=2)
    script.zombie(2)
    script.configure(0, tasks=3)
    newest = script.kinds("task_running")[-1].set
    script.resume(2)
    script.system.step(polling.number)
    late = script.kinds("transaction_committed")[-1]
    assert (late.node, late.producer_id) == (2, -1) and late.set < newest


@pytest.mark.parametrize("mode", ["B", "shipped"])
def test_a_foreign_count_record_breaks_it(mode: str) -> None:
    """618.34: After a foreign count record the leader fences nothing, and a zombie of the old set commits along with a
    new task of another id."""
    script = Script.of_reference(mode=mode, workers=3)
    script.configure(0, tasks=2)
    (zombie,) = script.threads("poll", task=1)
    script.system.stall(zombie.worker)
    script.system.configure(0, 0, 1)
    held = script.until("start_round") if script.run(lambda: bool(script.threads("start_round"))) else None
    if held is None:
        script.system.expire(zombie.worker)
        held = script.until("start_round")
    script.system.write_foreign("count", 0, 1)
    script.go(held)
    assert not script.kinds("id_fenced")
    running = script.kinds("task_running")[-1]
    script.resume(zombie.worker)
    for _ in ("poll", "commit"):
        script.system.step(zombie.number)
    late = script.kinds("transaction_committed")[-1]
    assert late.set < running.set


def test_colliding_ids_of_two_groups_fence_one_another() -> None:
    """618.49: Group `g` with connector `a-1` and group `g-a` with connector `1` share the task id `g-a-1-0`. Within one
    group no two tasks share an id, since the part after the last dash is the task."""
    system = reference({"workers": 1, "group_id": "g", "names": ["a-1"], "support": "enabled"})
    other = second_cluster(system, {"workers": 1, "group_id": "g-a", "names": ["1"], "support": "enabled"})
    for one in (system, other):
        assert calm_down(one, random.Random(0))
        assert one.configure(0, 0, 1) and calm_down(one, random.Random(0))
    assert system.env.brokers.ids.keys() == {"connect-cluster-g", "connect-cluster-g-a", "g-a-1-0"}
    (polling,) = system.threads()
    system.step(polling[0])
    assert [(e.kind, e.error) for e in system.drain_events()[-2:]] == [("transaction_refused", 90), ("task_failed", 90)]
    (polling,) = other.threads()
    other.step(polling[0])
    assert other.drain_events()[-1].kind == "records_sent"
