"""`fencepost agree --bootstrap`: brokers that are wrong, brokers that are away, and options that do not go together
(about 15 s; librdkafka's mock cluster is the broker)."""

import json
from dataclasses import replace

import pytest
from command_line import fencepost
from fake_kafka import FakeKafka, code
from fencepost.proofs.cli.shared.progress import Minutes
from mock_cluster import MockCluster


@pytest.fixture(scope="module")
def broken_broker():
    """A broker that keeps few of its promises."""
    with MockCluster(brokers=1) as cluster:
        yield cluster.bootstrap


def program_of(out):
    """The Python in what was printed."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("from fencepost"))
    stop = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return "\n".join(lines[start:stop])


def test_broken_broker(broken_broker, tmp_path, monkeypatch):
    """The verdict, why, and a program that carries the broker's address and fails by itself; exit code 1."""
    monkeypatch.setenv("COLUMNS", "400")
    file = tmp_path / "report.json"
    ran = fencepost("agree", "transactions/v1", "--bootstrap", broken_broker, "--examples", 3, "--json", file)
    assert (ran.code, ran.err) == (1, "")
    assert f"over_tcp at {broken_broker} against transactions/v1" in ran.out
    assert "violated" in ran.out
    written = json.loads(file.read_text())
    assert (written["verdict"], written["bootstrap"], written["model"]) == ("violated", broken_broker, "v1")
    assert repr(broken_broker) in written["program"]
    assert program_of(ran.out).strip() == written["program"].strip()
    with pytest.raises(AssertionError):
        exec(written["program"], {})


def test_one_promise(broken_broker, monkeypatch):
    """Aborted records are read: looked for alone, with a program of its own."""
    monkeypatch.setenv("COLUMNS", "400")
    ran = fencepost(
        "agree", "transactions/v1", "--bootstrap", broken_broker, "--promise", "txn.P3", "--examples", 20
    )  # fmt: skip
    assert ran.code == 1
    assert "(txn.P3 only; model: none)" in ran.out
    assert "txn.P3" in ran.out.partition("promise broken:")[2]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("transactions/v2", "--bootstrap", "127.0.0.1:1"), "Connection refused"),
        (("transactions/v2", "--bootstrap", "somewhere"), "'somewhere' is not host:port"),
        (("id-blocks/kraft", "--bootstrap", "127.0.0.1:1"), "id-blocks cannot be driven over the wire"),
        (
            ("group-fencing/shipped", "--bootstrap", "127.0.0.1:1", "--implementation", "librdkafka"),
            "nothing but raw requests",
        ),
        (("group-fencing/draft", "--bootstrap", "127.0.0.1:1"), "these can be driven over the wire"),
        (("transactions/v2", "--implementation", "librdkafka"), "name them with --bootstrap"),
        (("transactions/v2", "--config", "timeouts=true"), "name them with --bootstrap"),
        (("transactions/v2", "--promise", "P3"), "there is no rule P3"),
        (("transactions/v2", "--config", "timeout=true"), "there is no 'timeout'; did you mean timeouts"),
        (("transactions/v2", "--config", "call_limit=0"), "call_limit=0 is not a number above 0"),
        (("transactions/v2", "--config", "newcomers=true"), "newcomers=True is not a number above 0"),
        (("transactions/v2", "--connect"), "transactions has no cluster of its own to drive; these have: task-counts"),
        (("task-counts/A", "--connect"), "a release cannot be task-counts/A; write task-counts/shipped"),
        (("task-counts", "--connect", "--implementation", "my:factory"), "leave --implementation and --bootstrap out"),
        (("task-counts", "--config", "release=4.3.1"), "name it with --connect"),
        (("task-counts", "--config", "config_topic=c"), "name it with --connect URL"),
        (("task-counts", "--connect", "http://127.0.0.1:1"), "name them with --bootstrap"),
        (("task-counts", "--connect", "127.0.0.1:1", "--bootstrap", "127.0.0.1:1"), "as http://HOST:PORT"),
        (("task-counts", "--connect", "http://127.0.0.1:1", "--bootstrap", "127.0.0.1:1"), "no answer to GET / within"),
        (("task-counts/A", "--connect", "http://127.0.0.1:1"), "write task-counts --connect URL"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(words, reported):
    """One line that says why, and exit code 2."""
    ran = fencepost("agree", *words, "--examples", 1)
    assert ran.code == 2
    assert reported in ran.err
    assert ran.err.count("\n") == 1


def test_no_cluster_without_java(monkeypatch, tmp_path):
    """One line that says what is missing, and exit code 2."""
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = fencepost("agree", "task-counts/shipped", "--connect", "--examples", 1)
    assert ran.code == 2
    assert "--connect: java and mvn not found on PATH" in ran.err
    assert ran.err.count("\n") == 1


def test_mode_that_a_broker_lacks(broken_broker):
    """The mock does not speak v2: that is said in one line, and is no violation."""
    ran = fencepost("agree", "transactions/v2", "--bootstrap", broken_broker, "--examples", 1)
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_real_client_that_lacks_a_mode(broken_broker):
    """Real clients do not speak v2."""
    ran = fencepost("agree", "transactions/v2", "--bootstrap", broken_broker, "--implementation", "librdkafka")
    assert ran.code == 2
    assert "transaction.version 2" in ran.err


def test_an_answer_that_cannot_be_read(tmp_path):
    """Exit code 2 and one line with the answer, whatever promise was asked for; the report has what was found before,
    and why there is no more; and no topics are left behind."""
    file = tmp_path / "report.json"
    with FakeKafka() as kafka:
        refused = {"error_code": code(30), "topics": ()}
        kafka.mangle = lambda api, _, answer: replace(answer, **refused) if api == "offset_fetch" else answer
        ran = fencepost(
            "agree", "transactions/v2", "--bootstrap", kafka.bootstrap, "--promise", "txn.P8", "--examples", 40,
            "--json", file,
        )  # fmt: skip
        assert not kafka.topics
    assert ran.code == 2
    assert "offset fetch of group" in ran.err and "error GROUP_AUTHORIZATION_FAILED (30)" in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    written = json.loads(file.read_text())
    assert written["verdict"] == "unknown"
    assert "error GROUP_AUTHORIZATION_FAILED (30)" in written["ended"]
    assert written["failure"] is None


def test_a_line_a_minute():
    """How many clusters are done, and about how long the rest takes."""
    minutes = Minutes("clusters", 2_000)
    assert minutes.line() == "0 of 2,000 clusters"
    minutes.began -= 100
    minutes.done = 101
    assert minutes.line() == "101 of 2,000 clusters, about 32 min left"
    minutes.found = True
    assert minutes.line() == "101 clusters; what was found is being looked at"
    minutes.done, minutes.found = 2_000, False
    assert minutes.line() == "2,000 clusters; what was found is being looked at"
