"""Tasks that no count covers, on live clusters of Kafka Connect: one that the newest set has not is started again,
or a leader goes by a count that was aborted.

When one of these fails, Kafka is mended, and the finding has to say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from connect_probe import DUE_S, Probe, Zombie, writes
from fencepost.reference_impl.live.connect.control import Call, Instance
from fencepost.reference_impl.live.proxy.rules import Held, Met

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


REBALANCE, INVALID_EPOCH = 27, 47
ASSIGNED = re.compile(r"Joined group at generation (\d+) .* revokedConnectorIds=\[(.*)\], revokedTaskIds=\[(.*)\]")
TRIES = 12  # the assignor goes by its members' random ids, and in one of three tries has the returning worker lose it


def test_a_removed_task_commits(probe: Probe) -> None:
    """618.P1, 618.P2, 618.P3: a worker is removed from its group, and the connector gets one task fewer. When the
    worker is back it takes note of the new set before it rejoins. It claims the task that is no more, is left with
    it, and starts it under the old configuration, with an epoch that comes after the round of the new set. A source
    record is committed by it and by the task that has the record's partition now, and no count covers it.
    (IncrementalCooperativeAssignor.performTaskAssignment, Worker.startExactlyOnceSourceTask)

    Where the next rebalance waits for it, it is removed once more, and does not hear of that at first."""
    for n in range(TRIES):
        old = probe.spread(partitions=6)[2]
        polls = probe.hold_polls(lambda call, old=old: call.instance == old.name)
        probe.commits(probe.polls(), f"2:{n + 1}")
        polls.end()
        leader = probe.put_out(old.worker)
        probe.configure(2, leader, partitions=6)
        counts = ["set of 3", "count 3", "set of 2", "count 2"]
        probe.shows(lambda: probe.sets_and_counts()[-4:], counts)
        polls = probe.hold_polls(lambda call, old=old: call.task == 2 and call.instance != old.name)
        deaf, removed = comes_back(probe, old)
        if removed is not None:
            break
        polls.end()
        deaf.release()
        probe.cluster.wait_for("group of all workers", probe.cluster.is_whole)
        # Where the two other ids come before nearly any third, the worker would lose its task in every try.
        for other in probe.others(old.worker):
            joins_anew(probe, other)
    assert removed is not None
    assert (removed.worker, probe.control.instances[removed.instance].set) == (old.worker, old.set)
    assert probe.found(removed) == f"2:{n + 1},5:0"
    healthy = probe.cluster.wait_until_polled(probe.name)[0]
    probe.hold_polls(lambda call: call.instance == healthy.name)
    twice = f"2:{n + 2}"
    probe.commits(probe.polls(instance=healthy.name), twice)
    probe.commits(removed, twice)
    probe.shows(lambda: [(each["set"] - old.set, each["task"]) for each in probe.committed(twice)], [(1, 0), (0, 2)])
    probe.shows(lambda: probe.sets_and_counts()[-4:], counts)
    probe.let_go()
    deaf.release()


@pytest.mark.nightly
def test_a_removed_task_commits_under_a_new_leader(probe: Probe) -> None:
    """618.P1, 618.P2, 618.P3: a connector gets fewer tasks, and the leader drops out before the rebalance for that. The
    next leader has assigned nothing before, so that a worker which was there all the time is left with its task, and
    commits as above, here until something else asks for a rebalance."""
    cluster, tasks = probe.cluster, probe.spread(2, partitions=6)
    leader = cluster.leads()
    old = next(tasks[number] for number in (4, 5) if tasks[number].worker != leader)
    deaf = cluster.proxies[old.worker].hold_next("Heartbeat", client=old.worker)
    deaf.wait()
    joins = cluster.proxies[leader].hold_next("JoinGroup", client=leader)
    begun = probe.ask(4, leader, partitions=6)
    probe.control.wait_for("stop", DUE_S, instance=old.name)  # it has read the new set
    probe.hold_polls(lambda call: call.task == old.task)
    deaf.release()
    joins.wait()
    probe.expire(leader)
    again = probe.polls(task=old.task, since=begun)
    assert (again.worker, probe.control.instances[again.instance].set) == (old.worker, old.set)
    healthy = cluster.wait_until_polled(probe.name)[old.task % 4]
    probe.hold_polls(lambda call: call.instance == healthy.name)
    twice = f"{old.task}:1"
    probe.commits(probe.polls(instance=healthy.name), twice)
    probe.commits(again, twice)
    order = [(1, healthy.task), (0, old.task)]
    probe.shows(lambda: [(each["set"] - old.set, each["task"]) for each in probe.committed(twice)], order)
    probe.shows(probe.sets_and_counts, ["set of 6", "count 6", "set of 4", "count 4"])
    joins.release()


@pytest.mark.nightly
def test_a_lost_assignment_is_made_up_for(probe: Probe) -> None:
    """618.53: the leader's assignment for a smaller set does not get through, as a member drops out. Kafka is right: in
    the next one the leader finds that what it has revoked is still there, and revokes that. The member that dropped out
    may start a task that is no more when it is back, as above."""
    cluster, tasks = probe.cluster, probe.spread(2, partitions=6)
    leader = cluster.leads()
    out = min(probe.others(leader), key=[tasks[removed].worker for removed in (4, 5)].count)  # it hasn't both
    lost = cluster.proxies[leader].hold_next("SyncGroup", client=leader)
    begun = probe.ask(4, leader, partitions=6)
    lost.wait()
    cluster.expire(out)
    lost.release()
    assert lost.answer().error_code == REBALANCE
    cluster.wait_until_polled(probe.name)
    cluster.wait_for("group of all workers", cluster.is_whole)
    starts = list(probe.seen.since(begun, call="start", connector=probe.name))
    newest, _ = cluster.sets[probe.name]
    assert {each["task"] for each in starts if each["set"] == str(newest)} == {-1, 0, 1, 2, 3}
    assert {each["worker"] for each in starts if each["task"] > 3} <= {out}


@pytest.mark.nightly
def test_a_preparing_leader_goes_by_an_aborted_count(special: Callable[..., Probe]) -> None:
    """618.35, 618.P1, 618.P2, 618.P3: the last worker of the second upgrade is preparing and leads, and its count is
    aborted. It reads that all the same, and lets tasks of enabled workers start, which no count covers. When all are
    enabled a smaller set fences by the count before: one of those tasks commits next to it, a source record twice.

    618.P4: in a rebalance before that, enabled workers join again and again and start nothing: they do not get as far
    in the topic as the leader, which has read the aborted record, until another one is committed.
    (KafkaConfigBackingStore.setupAndCreateKafkaBasedLog)"""
    probe = special(support=("preparing", "enabled", "enabled"), leader="w0")
    cluster, leads = probe.cluster, f"connect-cluster-{probe.cluster.group}"
    probe.configure(2, partitions=6)
    count = cluster.proxies["w0"].hold_next("Produce", leads, where=writes("tasks-fencing-"))
    probe.ask(6, "w0")
    count.wait()
    refused = cluster.proxies["w0"].refuse_next("EndTxn", INVALID_EPOCH, leads)
    count.release()
    refused.wait()
    for task in range(6):
        probe.settles(task)
    tasks = cluster.wait_until_polled(probe.name)
    counts = ["set of 2", "count 2", "set of 6"]
    probe.shows(probe.sets_and_counts, counts)

    starting = f"Starting task {probe.name}-"
    begun = probe.times("w1", starting)
    zombie = Zombie(probe, next(tasks[number] for number in (2, 3, 4, 5) if tasks[number].worker == "w2"))
    cluster.wait_for("worker that does not catch up", lambda: probe.times("w1", "Catching up to assignment") > 100)
    assert probe.times("w1", starting) == begun
    probe.another(f"{probe.name}-other").configure(1, "w0")  # whose records are committed
    cluster.wait_for("start", lambda: probe.times("w1", starting) > begun)
    probe.shows(probe.sets_and_counts, counts)

    probe.ask(0, "w0")
    probe.shows(probe.sets_and_counts, [*counts, "set of 0"])
    cluster.stop("w0")
    cluster.start_worker("w0", support="enabled")
    cluster.wait_until_ready("w0")
    cluster.wait_for("group of both", cluster.is_whole)
    begun, twice = probe.ask(1, "w0", partitions=6), f"{zombie.task.task}:1"
    probe.hold_polls(lambda call: call.task == 0)
    probe.commits(probe.polls(task=0, since=begun), twice)
    assert probe.fences(begun) == [probe.id(0), probe.id(1)]
    assert zombie.goes_on() == 0
    probe.shows(lambda: [each["task"] for each in probe.committed(twice)], [0, zombie.task.task])
    probe.shows(probe.sets_and_counts, [*counts, "set of 0", "set of 1", "count 1"])


def comes_back(probe: Probe, old: Instance) -> tuple[Held, Call | None]:
    """The worker of an instance goes on; returns its heartbeat that is held, and the first poll of a task that is no
    more, or None where a rebalance has taken that from it. Where others wait for the worker in the next rebalance it is
    removed, so that they go on, and the leader answers it."""
    cluster, away, begun = probe.cluster, old.worker, len(probe.seen.lines)
    known, generation = {"", cluster.watching[away].member}, cluster.watching[probe.others(away)[0]].generation
    heartbeat = cluster.proxies[away].hold_next("Heartbeat", client=away)
    deaf = cluster.proxies[away].hold_next(
        "Heartbeat", client=away, where=lambda beat: int(beat.generation_id) > generation
    )
    again = [rejoins(probe, worker, known) for worker in (away, *probe.others(away))]
    probe.come_back(away)
    probe.control.wait_for("stop", DUE_S, instance=old.name)  # it has read the new set
    started, stopped = (probe.times(away, f"{verb} task {probe.name}-2") for verb in ("Starting", "Stopping"))
    if heartbeat.has_come:
        heartbeat.release()
    else:
        cluster.proxies[away].forget(heartbeat)
    removals = iter([away])
    is_removed = False

    def decided() -> bool:
        nonlocal is_removed
        if not again[0].has_come and any(each.has_come for each in again[1:]):
            for worker in removals:
                probe.expire(worker)
                is_removed = True
        is_started = probe.times(away, f"Starting task {probe.name}-2") > started
        # A task may poll before a rebalance that takes it away.
        is_left = bool(polled()) and (is_removed or is_last(probe, generation))
        return is_stopped() or (again[0].has_come and not is_started) or is_left

    def is_stopped() -> bool:
        return probe.times(away, f"Stopping task {probe.name}-2") > stopped

    def polled() -> list[Call]:
        return [each for each in probe.control.held if each.connector == probe.name and each.line >= begun]

    cluster.wait_for("end of the rebalance", decided)
    return deaf, None if is_stopped() else next(iter(polled()), None)


def is_last(probe: Probe, generation: int) -> bool:
    """Whether all workers have written of one rebalance after this generation, and in it nothing is revoked, so that
    none of them asks for another one."""
    lines = [ASSIGNED.findall(each.tail(1_000_000))[-1] for each in probe.cluster.workers.values()]
    return len(set(lines)) == 1 and int(lines[0][0]) > generation and lines[0][1:] == ("", "")


def joins_anew(probe: Probe, worker: str) -> None:
    """It is removed, and a member again under another id."""
    watching = probe.cluster.watching[worker]
    before = watching.member
    probe.cluster.expire(worker)
    probe.cluster.wait_for("another id", lambda: watching.member != before and probe.cluster.is_whole())


def rejoins(probe: Probe, worker: str, known: set[str]) -> Met:
    """The second JoinGroup of a worker from now on: after the rebalance for who is back it asks for another one."""
    _, second = (
        probe.cluster.proxies[worker].meet_next(
            "JoinGroup", client=worker, where=lambda join: join.member_id not in known
        )
        for _ in range(2)
    )
    return second
