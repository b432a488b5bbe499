"""What two clusters of Kafka Connect do to one another on the same brokers, and what a fence request without a
signature is answered.

When one of these fails, Kafka is mended, and the finding has to say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from connect_probe import DUE_S, FENCED, PATIENT, Probe
from fencepost.reference_impl.live.clusters.kafka import free_ports
from fencepost.reference_impl.live.connect.cluster import ConnectCluster
from fencepost.reference_impl.live.connect.worker import Worker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

BAD_REQUEST, SERVER_ERROR = 400, 500
SET = 9_999  # of a connector in another cluster


@contextmanager
def another(cluster: ConnectCluster, group: str, folder: Path) -> Iterator[Worker]:
    """The only worker of another cluster."""
    (port,) = free_ports(1)
    installed = cluster.workers["w0"].installed
    worker = Worker("x", installed, folder, cluster.kafka.bootstrap, group, port, port, settings=PATIENT)
    worker.start()
    try:
        worker.wait_until_ready()
        yield worker
    finally:
        worker.kill()


def configure(cluster: ConnectCluster, worker: Worker, connector: str, tasks: int) -> int:
    """HTTP's status."""
    config: Any = cluster.configuration(connector, tasks, SET, topic=f"{worker.group}-{connector}")
    return worker.ask("PUT", f"/connectors/{connector}/config", config, DUE_S).status


@pytest.mark.nightly
def test_connectors_with_equal_ids_fence_one_another(probe: Probe, tmp_path: Path) -> None:
    """618.49: connector c-b of group connect and connector b of group connect-c have one transactional id. Each
    start shuts out the other task, which fails with its next record, and so on with each restart."""
    cluster, other = probe.cluster, f"{probe.cluster.group}-{probe.name}"
    mine = probe.another(f"{probe.name}-b")
    mine.configure(1)
    mine.hold_polls()
    mine.commits(mine.polls(), "0:1")
    with another(cluster, other, tmp_path) as worker:
        theirs = Probe(cluster, "b")
        polls = theirs.hold_polls()
        assert configure(cluster, worker, "b", 1) < BAD_REQUEST
        first = theirs.polls()
        mine.polls().answer(records="0:1")
        assert any(text in mine.fails(0) for text in FENCED)
        begun = len(probe.seen.lines)
        cluster.restart(mine.name, 0)
        mine.polls(since=begun)
        first.answer(records="0:1")

        def state() -> Any:
            return worker.ask("GET", "/connectors/b/status").body["tasks"][0]["state"]

        cluster.wait_for("failure of the other connector's task", lambda: state() == "FAILED")
        assert (mine.keys(), theirs.read(f"{other}-b")) == (["0:1"], [])
        polls.end()


@pytest.mark.nightly
def test_a_task_fences_the_leader_of_another_cluster(probe: Probe, tmp_path: Path) -> None:
    """618.49: task 1 of connector cluster in group connect has the transactional id of the leader of group 1. It
    shuts that leader out, whose next write fails; the leader gets its id back, which shuts out the task."""
    cluster = probe.cluster
    with another(cluster, "1", tmp_path) as worker:
        assert configure(cluster, worker, "d", 1) < BAD_REQUEST
        probe.control.wait_for("poll", DUE_S, connector="d")
        mine = probe.another("cluster")
        task = mine.configure(2)[1]
        assert configure(cluster, worker, "d", 2) == SERVER_ERROR
        cluster.wait_for("reclaimed right to write", lambda: configure(cluster, worker, "d", 2) < BAD_REQUEST)
        mine.hold_polls(lambda call: call.instance == task.name)
        mine.polls().answer(records="1:1")
        assert any(text in mine.fails(1) for text in FENCED)


@pytest.mark.nightly
def test_an_unsigned_fence_request_is_refused(probe: Probe) -> None:
    """618.10: by the leader and by others, of a connector that there is and of one that there is not."""
    probe.configure(1)
    workers = probe.cluster.workers.values()
    names = (probe.name, "none")
    answers = {each.ask("PUT", f"/connectors/{name}/fence").status for each in workers for name in names}
    assert answers == {BAD_REQUEST}
