"""The control server of the probe connector, what is seen in one order, and the files that a worker is started with;
a socket stands for the connector."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer
from fencepost.reference_impl.live.clusters.jars import ClusterError
from fencepost.reference_impl.live.connect.control import Control
from fencepost.reference_impl.live.connect.install import Installed
from fencepost.reference_impl.live.connect.seen import Seen
from fencepost.reference_impl.live.connect.watching import Watching
from fencepost.reference_impl.live.connect.worker import LOGS, Worker, log4j2, worker_properties
from fencepost.reference_impl.live.proxy.proxy import Proxy
from mock_cluster import MockCluster

PATIENCE_S = 20.0


class Probe:
    """One connector or task that has started, as `Wire` of the connector speaks."""

    def __init__(self, address: str, task: int = 0, instance: str = "i") -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._lines = self.socket.makefile("r", encoding="utf-8")
        self._who = f"connector=c\ttask={task}\tinstance={instance}\tpid=7\tms=5\tthread=t"
        self._number = 0
        self.call("start", "set=4")
        self.started = self.answer()

    def call(self, name: str, *more: str) -> str:
        """Send a call, and return its number."""
        self._number += 1
        line = "\t".join([f"number={self._number}", f"call={name}", self._who, *more])
        self.socket.sendall(f"{line}\n".encode())
        return str(self._number)

    def answer(self) -> dict[str, str]:
        """The next answer; {} once the server has gone."""
        return dict(part.split("=", 1) for part in self._lines.readline().split())


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[Seen]:
    seen = Seen(tmp_path / "seen.jsonl")
    yield seen
    seen.close()


@pytest.fixture
def control(seen: Seen) -> Iterator[Control]:
    with Control(seen, {7: "w0"}.__getitem__) as control:
        yield control


def test_what_is_not_held_goes_on(control: Control, seen: Seen) -> None:
    """A poll that gives nothing, and an answer that a test decides; the call says who made it."""
    task = Probe(control.address, 1)
    assert task.started == {"number": "1"}
    number = task.call("poll")
    assert task.answer() == {"number": number, "pause": "50"}
    control.answers = lambda call: {"records": f"{call.task}:3"}
    number = task.call("poll")
    assert task.answer() == {"number": number, "records": "1:3"}
    first, *polls = seen.since(source="control", event="called")
    assert [first[name] for name in ("call", "connector", "task", "worker", "set")] == ["start", "c", 1, "w0", "4"]
    (answered,) = seen.since(event="answered")
    assert (answered["called"], answered["answer"]) == (polls[1]["n"], {"records": "1:3"})


def test_held_calls_wait_for_their_answers(control: Control, seen: Seen) -> None:
    """Calls of two threads of one task: the later one is answered while the earlier waits."""
    polls = control.hold(lambda call: call.name == "poll")
    task = Probe(control.address)
    poll, commit = task.call("poll"), task.call("commit")
    assert task.answer()["number"] == commit
    call = control.wait_for("poll", PATIENCE_S, held=True, connector="c", task=0, worker="w0")
    assert polls.calls == [call]
    call.answer(records="0:1", boundary="commit")
    call.answer(records="0:9")  # too late
    assert task.answer() == {"number": poll, "records": "0:1", "boundary": "commit"}
    assert polls.calls == []
    assert [line["call"] for line in seen.since(held=True)] == ["poll"]
    for go_on in (polls.release, polls.end):
        number = task.call("poll")
        control.wait_for("poll", PATIENCE_S, held=True)
        go_on()
        assert task.answer() == {"number": number, "pause": "50"}
    task.call("poll")
    assert "pause" in task.answer()


def test_a_call_that_is_waited_for(control: Control) -> None:
    """By its fields and by what came before; and the message where it does not come."""
    task = Probe(control.address)
    task.call("commit")
    assert control.wait_for("start", PATIENCE_S, set=4).name == "start"
    commit = control.wait_for("commit", PATIENCE_S, since=1)
    for wanted in ({"set": 3}, {"since": commit.line}):
        with pytest.raises(TimeoutError, match=r"no start.* within 0.05 s; the last: \['start of c-0', 'c"):
            control.wait_for("start", 0.05, **wanted)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError, match="no held start"):
        control.wait_for("start", 0.05, held=True)


def test_instances_that_are_alive(control: Control, seen: Seen) -> None:
    """Until they stop, or their worker is killed, in the middle of a line too; what it waits for is gone then."""
    control.hold(lambda call: call.name == "poll")
    stops, dies, _ = (Probe(control.address, task, f"i{task}") for task in (0, 1, -1))
    dies.call("poll")
    control.wait_for("poll", PATIENCE_S, held=True)
    assert [(each.name, each.polls) for each in control.alive("c")] == [("i0", 0), ("i1", 1)]
    assert {each.name for each in control.alive("c", connectors=True)} == {"i0", "i1", "i-1"}
    stops.call("stop")
    stops.answer()
    assert [each.name for each in control.alive("c")] == ["i1"]
    dies.socket.sendall(b"number=9\tcall=po")
    dies.socket.shutdown(socket.SHUT_RDWR)
    seen.wait_for("end of i1", lambda line: line["instance"] == "i1", PATIENCE_S, event="lost")
    assert control.alive("c") == control.held == []
    assert not any(call.fields["number"] == "9" for call in control.calls)


def test_nothing_waits_when_it_is_closed(control: Control) -> None:
    control.hold(lambda call: call.name == "poll")
    task = Probe(control.address)
    task.call("poll")
    control.wait_for("poll", PATIENCE_S, held=True)
    control.close()
    assert task.answer() == {}


def test_lines_are_in_one_order(seen: Seen) -> None:
    """Of several threads, in memory and in the file; one that waits gets the first that is meant."""
    with ThreadPoolExecutor(3) as pool:
        waits = pool.submit(seen.wait_for, "150", lambda line: line["x"] == 150, PATIENCE_S, event="noted")
        for at in (0, 100):
            pool.submit(lambda at=at: [seen.note("driver", "noted", x=at + each) for each in range(100)])
        assert waits.result(PATIENCE_S)["x"] == 150
    lines = [json.loads(line) for line in seen.file.read_text().splitlines()]
    assert lines == seen.lines
    assert [line["n"] for line in lines] == list(range(200))
    assert [line["us"] for line in lines] == sorted(line["us"] for line in lines)
    with pytest.raises(TimeoutError, match=r"no y within 0\.05 s; the last that was seen"):
        seen.wait_for("y", lambda line: "y" in line, 0.05)


def test_what_clients_of_a_worker_are_answered(seen: Seen) -> None:
    """Against librdkafka's mock brokers: claims with their time-outs, writes to the config topic alone, and ends."""
    with MockCluster() as mock:
        for topic in ("g-configs", "data"):
            mock.create_topic(topic)
        watching = Watching("w0", "g", "g-configs", seen)
        with Proxy(mock.bootstrap, watching, timeout_s=PATIENCE_S) as proxy:
            producer = Producer(
                {"bootstrap.servers": proxy.bootstrap, "transactional.id": "t", "transaction.timeout.ms": 61234}
            )
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            for topic in ("g-configs", "data"):
                producer.produce(topic, b"1")
            producer.commit_transaction(PATIENCE_S)
    lines = {api: list(seen.since(api=api)) for api in ("InitProducerId", "Produce", "EndTxn")}
    given = next(line for line in lines["InitProducerId"] if not line["error"])
    assert (given["worker"], given["transactional_id"], given["timeout_ms"]) == ("w0", "t", 61234)
    (written,) = lines["Produce"]
    assert written["places"] == [["g-configs", 0, 0, 0]]
    ended = lines["EndTxn"][-1]
    assert ended["committed"]
    assert len({(line["producer_id"], line["epoch"]) for line in (given, written, ended)}) == 1


def test_what_a_worker_is_started_with() -> None:
    """What a test sets wins; other workers get the proxy's port; each logger has its level."""
    installed, own = Installed("4.3.1", Path("/jars"), Path("/plugins")), {"session.timeout.ms": 77}
    worker = Worker("w0", installed, Path("/w0"), "127.0.0.1:1", "g", 8083, 8084, "preparing", own, replicas=3)
    found = dict(line.split("=", 1) for line in worker_properties(worker).splitlines())
    wanted = {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "client.id": "w0", "listeners": "http://127.0.0.1:8083",
        "rest.advertised.port": "8084", "exactly.once.source.support": "preparing", "session.timeout.ms": "77",
        "config.storage.topic": "g-configs", "offset.storage.topic": "g-offsets", "status.storage.topic": "g-status",
        "config.storage.replication.factor": "3", "plugin.path": "/plugins", "heartbeat.interval.ms": "100",
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    text = log4j2(LOGS)
    assert all(f"={logger}\n" in text for logger in LOGS)
    assert text.count(".level=TRACE\n") == list(LOGS.values()).count("TRACE") > 0
    with pytest.raises(ClusterError, match="worker w0 is not running, so it cannot be paused; start it first"):
        worker.pause()
