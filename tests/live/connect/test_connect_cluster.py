"""A live cluster of Kafka Connect: what its workers do is seen, can be held, and can be struck by faults."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from fencepost.reference_impl.live.connect.cluster import (
    BROKERS,
    TASK_TIMEOUT_MS,
    ClusterError,
    ConnectCluster,
    archive,
)
from fencepost.reference_impl.live.connect.install import RELEASES, Installed
from fencepost.reference_impl.live.connect.worker import LOGS
from fencepost.reference_impl.live.tcp.reading import Patience

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

LEFT_BEHIND = """
import sys
from pathlib import Path
from fencepost.reference_impl.live.connect.cluster import ConnectCluster
with ConnectCluster(Path(sys.argv[1]), Path(sys.argv[2]), size=1) as cluster:
    nodes = [*cluster.kafka.nodes.values(), *cluster.workers.values()]
    print(*(node.process.pid for node in nodes), flush=True)
    sys.stdin.read()
"""


def live(cluster: ConnectCluster, connector: str) -> None:
    """More tasks, fewer tasks, and none: each set begins where the one before has ended, and fences as many tasks as it
    had."""
    polls = cluster.control.hold(lambda call: call.name == "poll" and call.connector == connector)
    begun = len(cluster.seen.lines)
    for tasks, found in ((2, 0), (3, 1), (1, 2)):
        number = cluster.configure(connector, tasks, partitions=3)
        cluster.wait_until_polled(connector)
        held = [call for call in polls.calls if cluster.control.instances[call.instance].set == number]
        assert sorted(call.task for call in held) == list(range(tasks))
        for polled in held:
            started = cluster.control.wait_for("started", instance=polled.instance)
            mine = range(polled.task, 3, tasks)
            assert started.fields["found"] == ",".join(f"{p}:{found}" for p in mine)
            polled.answer(records=",".join(f"{p}:1" for p in mine))
            for p in mine:
                cluster.control.wait_for("commitRecord", instance=polled.instance, record=f"{p}:{found + 1}")
            cluster.control.wait_for("poll", held=True, instance=polled.instance)
    polls.end()
    cluster.delete(connector)
    cluster.wait_until_over(connector)
    given = [
        line
        for line in cluster.seen.since(begun, api="InitProducerId", error=0)
        if line["transactional_id"].startswith(f"{cluster.group}-{connector}-")
    ]
    fences = [line["transactional_id"] for line in given if line["timeout_ms"] != TASK_TIMEOUT_MS]
    opened = [line["transactional_id"] for line in given if line["timeout_ms"] == TASK_TIMEOUT_MS]
    ids = [f"{cluster.group}-{connector}-{task}" for task in range(3)]
    assert sorted(fences) == sorted(ids[:2] + ids)  # of the second and third set
    assert set(opened) == set(ids)


def test_a_life_of_a_connector(connect: ConnectCluster, connector: str) -> None:
    """618.6, 618.7: and the file has the lines that were seen, in their order."""
    live(connect, connector)
    lines = [json.loads(line) for line in connect.seen.file.read_text(encoding="utf-8").splitlines()]
    assert lines == connect.seen.lines[: len(lines)]
    asked = [line for line in lines if line["source"] == "driver" and line.get("connector") == connector]
    assert [(line["what"], line.get("tasks")) for line in asked if line["event"] == "asked"][:3] == [
        ("configure", 2), ("configure", 3), ("configure", 1)
    ]  # fmt: skip


def test_a_round_is_held_between_workers(connect: ConnectCluster, connector: str) -> None:
    """A task on the worker that does not lead asks the leader for a round before it starts."""
    leader = connect.leads()
    rounds = connect.rest[leader].hold(lambda asked: asked.path == f"/connectors/{connector}/fence")
    connect.configure(connector, 2)
    held = rounds.wait()
    assert held.method == "PUT"
    remote = [each for each in connect.control.alive(connector) if each.worker != leader]
    assert remote == []
    rounds.end()
    polled = connect.wait_until_polled(connector)
    assert {each.worker for each in polled.values()} == {"w0", "w1"}


def test_what_the_control_server_decides(connect: ConnectCluster, connector: str) -> None:
    """A start that is held, transactions that the connector ends, and a poll that throws: its task has failed."""
    starts = connect.control.hold(lambda call: call.connector == connector and call.name == "started")
    polls = connect.control.hold(lambda call: call.connector == connector and call.name == "poll")
    connect.configure(connector, 1, transaction__boundary="connector")
    start = connect.control.wait_for("started", held=True, connector=connector)
    assert polls.calls == []
    starts.end()
    since = start.line
    for answer in ({}, {"boundary": "commit-last"}, {"boundary": "abort-last"}, {"throw": "broken"}):
        poll = connect.control.wait_for("poll", held=True, connector=connector, since=since)
        poll.answer(records="0:1", **answer)
        since = poll.line + 1
    stop = connect.control.wait_for("stop", connector=connector, task=0)
    ends = connect.seen.since(start.line, api="EndTxn", transactional_id=f"connect-{connector}-0")
    assert [line["committed"] for line in ends][:2] == [True, False]
    records = [line["record"] for line in connect.seen.since(start.line, call="commitRecord", connector=connector)]
    assert records[:2] == ["0:1", "0:2"]  # the third may have been aborted before it was sent
    failed = connect.wait_for("failure", lambda: connect.status(connector)["tasks"][0].get("trace"))
    assert "ConnectException: broken" in failed
    assert stop.instance == start.instance
    polls.end()
    connect.configure(connector, 0)
    assert connect.wait_until_polled(connector) == {}


def test_a_zombie(connect: ConnectCluster, connector: str) -> None:
    """618.18: A paused worker is removed from its group, its task is started elsewhere, and what it writes then is
    refused."""
    connect.configure(connector, 2)
    before = connect.wait_until_polled(connector)
    leader = connect.leads()
    task, old = next((task, each) for task, each in before.items() if each.worker != leader)
    polls = connect.control.hold(lambda call: call.instance == old.name and call.name == "poll")
    poll = connect.control.wait_for("poll", held=True, instance=old.name)
    connect.pause(old.worker)
    connect.expire(old.worker)
    new = connect.control.wait_for("started", connector=connector, task=task, worker=leader)
    assert new.instance != old.name
    connect.wait_until_polled(connector)
    since = len(connect.seen.lines)
    poll.answer(records=f"{task}:1")
    connect.resume(old.worker)
    refused = connect.seen.wait_for("refusal", lambda line: line["error"] != 0, 120, since, api="Produce")
    assert (refused["worker"], refused["transactional_id"]) == (old.worker, f"connect-{connector}-{task}")
    polls.end()
    connect.wait_for("group of two", connect.is_whole)


def test_a_worker_is_killed_and_started_again(connect: ConnectCluster, connector: str) -> None:
    """It is another process, and its tasks are others; who leads has changed if it led."""
    leader = connect.leads()
    connect.configure(connector, 1)
    connect.wait_until_polled(connector)
    process = connect.workers[leader].process
    connect.kill(leader)
    connect.expire(leader)
    assert process is not None
    assert process.poll() is not None
    connect.wait_for("another leader", lambda: connect.leads() not in ("", leader))
    connect.start_worker(leader)
    connect.wait_until_ready(leader)
    connect.wait_for("group of two", connect.is_whole)
    connect.wait_until_polled(connector)
    generations = [line["generation"] for line in connect.seen.since(event="worker_started", worker=leader)]
    assert generations == list(range(1, len(generations) + 1))
    assert len(generations) > 1


def test_what_is_refused_is_said(connect: ConnectCluster) -> None:
    with pytest.raises(ClusterError, match="delete of connector none was not done: 404"):
        connect.delete("none")
    with pytest.raises(ClusterError, match="worker w0 runs already; kill or stop it first"):
        connect.start_worker("w0")


def test_a_killed_run_leaves_no_process(cache: Path, installed: Callable[[str], Installed], tmp_path: Path) -> None:
    installed(BROKERS)
    words = [sys.executable, "-c", LEFT_BEHIND, str(cache), str(tmp_path / "left")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        nodes = [Path(f"/proc/{pid}/cmdline") for pid in run.stdout.readline().split()]
        assert len(nodes) == 2
        assert all(is_running(node) for node in nodes)
        run.kill()
    for _ in Patience(60):
        if not any(map(is_running, nodes)):
            break
    assert [node for node in nodes if is_running(node)] == []


def is_running(node: Path) -> bool:
    """Of a process that has ended nothing is to be read, and a number may be another process's."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return b"org.apache.kafka" in node.read_bytes() or b"kafka.Kafka" in node.read_bytes()
    return False


@pytest.mark.nightly(nights=4)
@pytest.mark.parametrize(("brokers", "level"), [(BROKERS, 2), ("", 0)])
@pytest.mark.parametrize("release", RELEASES)
def test_a_life_on_every_release(
    cache: Path, installed: Callable[[str], Installed], tmp_path: Path, release: str, brokers: str, level: int
) -> None:
    """Workers of each release: with brokers of 4.3.1 and transaction.version 2, and with those of their own release and
    0. They report what they do."""
    for each in {release, brokers or release}:
        installed(each)
    features = {"transaction.version": level}
    with ConnectCluster(cache, tmp_path / "connect", release, 2, 1, brokers, features=features, logs=LOGS) as cluster:
        live(cluster, "c")
        reports = [(worker.folder / "out.txt").read_text(encoding="utf-8") for worker in cluster.workers.values()]
        assert any("Starting task c-0" in report for report in reports)


@pytest.mark.nightly
def test_workers_start_from_class_archives(cache: Path, installed: Callable[[str], Installed], tmp_path: Path) -> None:
    """They are made once, and JVMs of workers and brokers map them."""
    installed(BROKERS)
    made = archive(cache, tmp_path / "archive")
    times = [file.stat().st_mtime_ns for file in sorted(made.jars.glob("*.jsa"))]
    with ConnectCluster(cache, tmp_path / "connect", size=1) as cluster:
        for node, name in ((cluster.workers["w0"], "worker.jsa"), (cluster.kafka.nodes[1], "kafka.jsa")):
            assert node.process is not None
            assert str(made.jars / name) in Path(f"/proc/{node.process.pid}/maps").read_text()
    assert archive(cache, tmp_path / "again") == made
    assert [file.stat().st_mtime_ns for file in sorted(made.jars.glob("*.jsa"))] == times
    assert not (tmp_path / "again").exists()


@pytest.mark.nightly
def test_three_brokers(cache: Path, installed: Callable[[str], Installed], tmp_path: Path) -> None:
    """One of them is killed, and a connector lives as before."""
    installed(BROKERS)
    with ConnectCluster(cache, tmp_path / "connect", brokers=3, size=3) as cluster:
        live(cluster, "c")
        cluster.kafka.kill(2)
        live(cluster, "d")


@pytest.mark.nightly
@pytest.mark.parametrize("leader", ["w0", "w1"])
def test_workers_of_other_support(
    cache: Path, installed: Callable[[str], Installed], tmp_path: Path, leader: str
) -> None:
    """618.33: the config topic is written in transactions unless the leader's support is disabled; a restart changes
    that, and the release."""
    installed(BROKERS), installed("4.0.0")
    support = ("disabled", "preparing")
    with ConnectCluster(cache, tmp_path / "connect", support=support, leader=leader) as cluster:
        assert cluster.leads() == leader
        cluster.configure("c", 1)
        cluster.wait_until_polled("c")
        written = [line for line in cluster.seen.since(api="Produce") if line["places"][0][0] == "connect-configs"]
        in_transactions = {"transactional_id" in line for line in written if line["worker"] == leader}
        assert in_transactions == {leader == "w1"}
        for name, release in (("w0", BROKERS), ("w1", "4.0.0")):
            cluster.stop(name)
            cluster.start_worker(name, support="enabled", release=release)
        cluster.wait_until_ready()
        live(cluster, "d")
