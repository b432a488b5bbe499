"""A worker that comes back starts a task which the newest set does not have, on a live cluster of Kafka Connect.

When this fails, Kafka is mended, and the finding has to say so.
"""

from __future__ import annotations

import pytest
from connect_probe import DUE_S, Probe

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


def test_a_removed_task_commits(probe: Probe) -> None:
    """618.P1, 618.P2, 618.P3: a worker is removed from its group, and the connector gets one task fewer. When the worker
    is back it takes note of the new set before it rejoins. It claims the task that is no more, is left with it, and
    starts it under the old configuration, with an epoch that comes after the round of the new set. A source record is
    committed by it and by the task that has the record's partition now, and no count covers it.
    (IncrementalCooperativeAssignor.performTaskAssignment, Worker.startExactlyOnceSourceTask)

    The leader has one task and the third worker two, so that the rebalance takes one from that, and none from the
    leader or from who is back; the leader does not hear of the next rebalance until both have committed."""
    cluster = probe.cluster
    old = probe.spread(partitions=6)[2]
    away = old.worker
    polls = probe.hold_polls(lambda call: call.instance == old.name)
    probe.commits(probe.polls(), "2:1", "5:1")
    polls.end()
    leader = probe.put_out(away)
    probe.configure(2, leader, partitions=6)
    assert probe.sets_and_counts() == ["set of 3", "count 3", "set of 2", "count 2"]
    with probe.burden(leader):
        healthy = next(each for each in probe.control.alive(probe.name) if each.worker == leader)
        record = "2:2" if healthy.task == 0 else "5:2"  # of a partition that is the removed task's, and now this one's
        probe.hold_polls(lambda call: call.instance == healthy.name or (call.task == 2 and call.instance != old.name))
        mine = probe.polls(instance=healthy.name)
        begun, generation = len(probe.seen.lines), cluster.watching[leader].generation
        deaf = cluster.proxies[leader].hold_next(
            "Heartbeat", client=leader, where=lambda heartbeat: int(heartbeat.generation_id) > generation
        )
        heartbeat = cluster.proxies[away].hold_next("Heartbeat", client=away)
        probe.come_back(away)
        probe.control.wait_for("stop", DUE_S, instance=old.name)  # it has read the new set
        if heartbeat.has_come:
            heartbeat.release()
        else:
            cluster.proxies[away].forget(heartbeat)
        removed = probe.polls(task=2, since=begun)
        assert (removed.worker, probe.control.instances[removed.instance].set) == (away, old.set)
        assert probe.found(removed) == "2:1,5:1"

        probe.commits(mine, record)
        probe.commits(removed, record)
        deaf.release()
        probe.let_go()
    assert [(each["set"] - old.set, each["task"]) for each in probe.committed(record)] == [(1, healthy.task), (0, 2)]
    assert probe.sets_and_counts()[-1] == "count 2"
