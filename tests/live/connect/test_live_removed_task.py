"""A worker that comes back starts a task which the newest set does not have, on a live cluster of Kafka Connect.

When this fails, Kafka is mended, and the finding has to say so.
"""

from __future__ import annotations

import pytest
from connect_probe import DUE_S, Probe
from fencepost.reference_impl.live.connect.control import Call, Instance
from fencepost.reference_impl.live.proxy.rules import Held, Met

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


TRIES = 12  # the assignor goes by its members' random ids, and two of three times takes no task from who is back


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

    def decided() -> bool:
        if not again[0].has_come and any(each.has_come for each in again[1:]):
            for worker in removals:
                probe.expire(worker)
        is_started = probe.times(away, f"Starting task {probe.name}-2") > started
        is_stopped = probe.times(away, f"Stopping task {probe.name}-2") > stopped
        return bool(polled()) or is_stopped or (again[0].has_come and not is_started)

    def polled() -> list[Call]:
        return [each for each in probe.control.held if each.connector == probe.name and each.line >= begun]

    cluster.wait_for("end of the rebalance", decided)
    return deaf, next(iter(polled()), None)


def rejoins(probe: Probe, worker: str, known: set[str]) -> Met:
    """The second JoinGroup of a worker from now on: after the rebalance for who is back it asks for another one."""
    _, second = (
        probe.cluster.proxies[worker].meet_next(
            "JoinGroup", client=worker, where=lambda join: join.member_id not in known
        )
        for _ in range(2)
    )
    return second
