"""A task that is lost, and waits that are long, on a live cluster of Kafka Connect: safe, and yet no task polls.

When one of these fails, Kafka is mended or otherwise, and the finding has to say so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from connect_probe import DUE_S, FENCED, PATIENT, Probe, writes
from fencepost.reference_impl.live.connect.worker import threads_of

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

INVALID_EPOCH = 47
IDLE_S = 3.0
"""A worker that has an assignment starts its tasks at once."""


def test_a_late_start_shuts_out_a_healthy_task(probe: Probe) -> None:
    """618.40: a start of an older set opens its producer when the newest set polls, and is given the epoch that shuts
    out the healthy task, which fails with its next record. The late one is refused by its second look, which compares
    sets (618.19; a count that stands after the newest set does not let it pass). The other one is not restarted."""
    cluster = probe.cluster
    old = probe.configure(3)[1]
    late = cluster.proxies[old.worker].hold_next(
        "InitProducerId", probe.id(1), client=f"connector-producer-{probe.name}-1"
    )
    cluster.restart(probe.name, 1, old.worker)
    late.wait()
    begun = len(probe.seen.lines)
    leader = probe.put_out(old.worker)
    healthy = probe.configure(3, leader)[1]
    probe.shows(probe.sets_and_counts, ["set of 3", "count 3"] * 2)
    late.release()
    assert late.answer().error_code == 0
    probe.hold_polls(lambda call: call.instance == healthy.name)
    probe.polls().answer(records="1:1")
    assert any(text in probe.fails(1, leader) for text in FENCED)
    probe.shows(probe.keys, [])
    probe.come_back(old.worker)
    refusal = f"{probe.name}-1 with exactly-once support as the connector has already generated a new set"
    cluster.wait_for("refusal", lambda: probe.times(old.worker, refusal))
    assert list(probe.seen.since(begun, call="start", connector=probe.name, worker=old.worker, set=str(old.set))) == []


@pytest.mark.nightly
def test_a_failed_task_is_reported_as_running(probe: Probe) -> None:
    """618.P4: a worker is out of its group, and the task that it had fails, as another worker has taken it over. FAILED
    is not written over the RUNNING of a later generation. When the first worker joins again, and the other one is gone,
    it alone claims the task: it keeps it, and does not start what has failed. A user's restart does, for whom REST
    gives no reason."""
    cluster, control = probe.cluster, probe.control
    old = probe.configure(1)[0]
    probe.hold_polls(lambda call: call.instance == old.name)
    poll = probe.polls(instance=old.name)
    beat = cluster.proxies[old.worker].hold_next("Heartbeat", client=old.worker)
    beat.wait()
    before = cluster.status(probe.name, old.worker)["tasks"]
    probe.put_out(old.worker)
    cluster.wait_for(
        "new owner", lambda: any(each.polls for each in control.alive(probe.name) if each.name != old.name)
    )
    probe.come_back(old.worker)
    cluster.wait_for("status of the new owner", lambda: cluster.status(probe.name, old.worker)["tasks"] != before)
    poll.answer(records="0:1")
    cluster.wait_for("failure", lambda: probe.times(old.worker, f"{probe.name}-0}} Task threw an uncaught"))
    process = cluster.workers[old.worker].process
    assert process is not None
    # Its state is written when it has closed what it had: it has to be before the worker has a later generation.
    cluster.wait_for(
        "end of its thread", lambda: f"task-thread-{probe.name}-"[:15] not in dict(threads_of(process.pid))
    )
    assert probe.state(0, old.worker) == ("RUNNING", "")
    for worker in probe.others(old.worker):
        probe.leaves(worker)
    alone = cluster.watching[old.worker].generation
    beat.release()
    cluster.wait_for("group of one", lambda: cluster.watching[old.worker].generation > alone)
    joined = len(probe.seen.lines)
    time.sleep(IDLE_S)
    assert cluster.leads() == old.worker
    assert list(probe.seen.since(joined, call="start", connector=probe.name, worker=old.worker)) == []
    assert probe.state(0, old.worker) == ("RUNNING", "")
    cluster.restart(probe.name, 0, old.worker)
    control.wait_for("poll", DUE_S, connector=probe.name, since=joined, task=0)


@pytest.mark.nightly
def test_a_late_fence_shuts_out_a_healthy_task(probe: Probe) -> None:
    """618.12: the fence of a deposed leader arrives when the tasks of the newest set poll, and shuts one of them out:
    it fails with its next record, and is not restarted."""
    probe.spread()
    leader = probe.cluster.leads()
    late = probe.hold_fence(1, leader)
    asked = probe.cluster.rest[leader].hold(lambda request: request.path.startswith(f"/connectors/{probe.name}/fence"))
    probe.ask(3, leader)
    late.wait()
    probe.cluster.wait_for("question of each other worker", lambda: len(asked.waiting) == 2)
    successor = probe.put_out(leader)
    asked.end(lost=True)  # else they wait for it, 30 s in 4.x and for good in 3.9
    healthy = probe.configure(3, successor)[1]
    late.release()
    assert late.answer().error_code == 0
    probe.hold_polls(lambda call: call.instance == healthy.name)
    probe.polls().answer(records="1:1")
    assert any(text in probe.fails(1, successor) for text in FENCED)
    probe.shows(probe.keys, [])


@pytest.mark.nightly
def test_a_late_count_is_refused(probe: Probe) -> None:
    """618.26: the count record of a deposed leader arrives after newer sets, is refused by the partition's leader,
    and is not in the topic. So far Kafka is right: a count of an older set never stands after a newer one."""
    probe.spread()
    leader = probe.cluster.leads()
    late = probe.cluster.proxies[leader].hold_next(
        "Produce",
        f"connect-cluster-{probe.cluster.group}",
        where=writes("tasks-fencing-"),
    )
    probe.ask(2, probe.others(leader)[0])
    late.wait()
    successor = probe.put_out(leader)
    probe.configure(1, successor)
    probe.shows(lambda: probe.sets_and_counts()[-2:], ["set of 1", "count 1"])
    newest = probe.sets_and_counts()
    late.release()
    [[answer]] = [topic.partition_responses for topic in late.answer().responses]
    assert answer.error_code == INVALID_EPOCH
    probe.come_back(leader)
    probe.cluster.wait_for("group of all workers", probe.cluster.is_whole)
    probe.shows(probe.sets_and_counts, newest)


@pytest.mark.nightly
def test_a_round_that_is_overtaken_writes_no_count(probe: Probe) -> None:
    """618.43: a newer set is committed while a round fences for an older one, which then writes no count: a count of a
    smaller, older set never stands after it. So far Kafka is right."""
    probe.spread()
    leader = probe.cluster.leads()
    late = probe.hold_fence(1, leader)
    probe.ask(2, leader)
    late.wait()
    probe.ask(3, leader)
    probe.cluster.wait_for("newer set", lambda: probe.sets_and_counts()[-1] == "set of 3")
    late.release()
    for task in range(3):
        probe.settles(task)  # or it asked for the round that was overtaken
    probe.cluster.wait_until_polled(probe.name)
    probe.shows(probe.sets_and_counts, ["set of 3", "count 3", "set of 2", "set of 3", "count 3"])


@pytest.mark.nightly
def test_who_asks_a_paused_leader_fails(probe: Probe) -> None:
    """618.15: a worker's task waits for a round of the leader, which is paused. Another one leads at once, and the
    request still waits for the paused one, until it is given up after 30 s (Jetty's idle time-out): the task fails
    for good. REST had it RUNNING, or as it was, all the while."""
    tasks = probe.spread()
    leader = probe.cluster.leads()
    held = probe.hold_fence(1, leader)
    asked = probe.cluster.rest[leader].hold(lambda request: request.path.startswith(f"/connectors/{probe.name}/fence"))
    probe.ask(3, leader)
    held.wait()
    probe.cluster.wait_for("question of each other worker", lambda: len(asked.waiting) == len(tasks) - 1)
    asked.end()
    successor = probe.put_out(leader)
    waiting = [task for task, each in tasks.items() if each.worker not in (leader, successor)]
    begun = len(probe.seen.lines)
    task = waiting[0]
    assert probe.state(task, successor)[0] != "FAILED"
    trace = probe.fails(task, successor)
    assert "IO Error trying to forward REST request: Idle timeout" in trace
    assert not list(probe.seen.since(begun, call="start", connector=probe.name, task=task))


@pytest.mark.nightly
def test_a_start_holds_up_every_worker(special: Callable[..., Probe]) -> None:
    """618.23: a worker that has to stop a task which is in its start waits for it, at most
    task.shutdown.graceful.timeout.ms, and the others wait for that worker in the rebalance for the new set: no herder
    answers."""
    probe = special(settings=PATIENT | {"task.shutdown.graceful.timeout.ms": 600_000, "rebalance.timeout.ms": 600_000})
    workers = probe.cluster.workers.values()
    probe.control.hold(lambda call: call.name == "start" and call.task == 0)
    probe.ask(1)
    start = probe.control.wait_for("start", DUE_S, held=True, connector=probe.name, task=0)
    other = next(name for name in probe.cluster.workers if name != start.worker)
    joins = probe.cluster.proxies[other].meet_next("JoinGroup", client=other)
    probe.ask(1)
    probe.cluster.wait_for("stop", lambda: probe.times(start.worker, f"Stopping task {probe.name}-0"))
    joins.wait()
    with ThreadPoolExecutor() as pool:
        path = f"/connectors/{probe.name}/config"
        asked = [pool.submit(each.ask, "GET", path, None, 2 * DUE_S) for each in workers]
        assert [each.ask("GET", "/").status for each in workers for _ in range(50)] == [200] * 100
        assert not any(each.done() for each in asked)
        start.answer()
        assert all(each.result().is_done for each in asked)


def test_one_thread_forwards_everything_live(probe: Probe) -> None:
    """618.9: while a worker waits for the answer to a round of one connector, it does not send the leader the new task
    configurations of another, although those of a third, whose connector is on the leader, are committed meanwhile."""
    cluster = probe.cluster
    leader = cluster.leads()
    probe.spread()
    others = [probe.another(f"{probe.name}-{number}") for number in range(3)]
    for each in others:
        each.configure(1)
    owners = {each.name: each.owner() for each in others}
    follower = next(each for each in others if owners[each.name] != leader)
    worker = owners[follower.name]
    rounds = cluster.rest[leader].hold(lambda request: request.path.startswith(f"/connectors/{probe.name}/fence"))
    begun = probe.ask(3, leader)
    cluster.wait_for("question of that worker", lambda: len(rounds.waiting) == len(cluster.workers) - 1)
    follower.ask(2, leader)
    probe.control.wait_for("taskConfigs", DUE_S, connector=follower.name, worker=worker, since=begun)
    third = next(each for each in others if owners[each.name] == leader)
    third.ask(2, leader)
    cluster.wait_for("set of the third", lambda: third.sets_and_counts()[-1] == "set of 2")
    posted = f"/connectors/{follower.name}/tasks"
    assert list(probe.seen.since(begun, event="asked", path=posted)) == []
    rounds.end()
    cluster.wait_until_polled(follower.name)
    assert list(probe.seen.since(begun, event="asked", path=posted)) != []
