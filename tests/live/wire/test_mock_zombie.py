"""A zombie of our own clients: paused in a transaction, fenced, resumed.  The mock is judged broken, by name, by the
promises as it happens and by its recording afterwards; a broker that fences is judged clean.

With real clients: `test_proxy_zombie.py` against the mock, `tests/live/kafka/test_live_zombie.py` against Kafka.
"""

import json

import pytest
from fencepost.proofs.cli import fencepost
from fencepost.proofs.recording.transactions.client_events import write_seen
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import make
from fencepost.properties.transactions.histories.late import EXPECTING
from fencepost.properties.transactions.histories.properties import PROPERTIES
from fencepost.properties.transactions.interface import Call, message
from fencepost.reference_impl.live.transactions.over_tcp import over_tcp
from mock_cluster import MockCluster
from prompt import prompt

PAUSED, NEXT = 0, 1  # slots
DATA, OFFSETS = 0, 1  # partitions
READER = 0
CONFIG = {"seed": 0, "mode": "v1", "clients": 2, "partitions": 1, "groups": 1, "max_epoch": 32767, "collapse": True}

BEFORE = [Call("init", PAUSED), Call("begin", PAUSED), Call("send", PAUSED, DATA)]
FENCED = [Call("init", NEXT), Call("begin", NEXT), Call("send", NEXT, DATA), Call("commit", NEXT)]
RESUMED = [Call("send", PAUSED, DATA), Call("send", PAUSED, OFFSETS), Call("commit", PAUSED)]
RULES = ("txn.1", *sorted(EXPECTING["v1"]))
LOOK = [Call("read", READER, DATA), Call("fetch_offset", READER, OFFSETS)]


@pytest.fixture
def mock():
    """A cluster of one broker."""
    with MockCluster() as cluster:
        yield cluster


def zombie(system):
    """Run it, every call answered before the next; what is said of each broken rule."""
    monitor, reported = driven("transactions").monitoring(CONFIG, EXPECTING["v1"]), {}
    monitor.observed = driven("transactions").black_box
    for call in (*BEFORE, *FENCED, *RESUMED, *LOOK):
        monitor.watch(make(system, call), system.messages())
        while system.messages():
            _, *names, _ = system.messages()[0]
            monitor.watch(make(system, Call("deliver", message(*names))), system.messages())
    for rule in RULES:
        monitor.only = frozenset({rule})
        if monitor.found is not None:
            reported[rule] = monitor.found.text
    return reported


def test_mock_is_judged_broken_as_it_happens(mock):
    """No producer is fenced (txn.1); the zombie is told that it has committed, and its record is read (P1); and its
    offset replaces the newer one, which is lost (P4)."""
    reported = zombie(over_tcp({**CONFIG, "bootstrap": mock.bootstrap}))
    assert list(reported) == ["txn.1", "txn.P1", "txn.P4"]
    assert "after its pair had been fenced" in reported["txn.P1"]


def test_mock_is_judged_broken_by_its_recording(mock, tmp_path):
    """What the clients saw, recorded and replayed on the command line: exit code 1; its offset is lost too (P4)."""
    system = over_tcp({**CONFIG, "bootstrap": mock.bootstrap})
    zombie(system)
    assert write_seen(tmp_path / "seen.jsonl", system) > 20
    record = ["record", "--protocol", "transactions", "--clients", str(tmp_path / "seen.jsonl")]
    assert run(*record, "--out", str(tmp_path / "history")) == 0
    assert run("replay", str(tmp_path / "history"), "--json", str(tmp_path / "report.json")) == 1
    violated = json.loads((tmp_path / "report.json").read_text())["violations"]
    assert {PROPERTIES[name].rule for name in violated} == {"txn.P1", "txn.P4"}
    assert {"fenced_unread", "fenced_never_commit", "group_offsets_kept"} <= set(violated)


def test_broker_that_fences_is_judged_clean():
    """The same against the reference implementation: nothing is broken, and only the next one's record is read."""
    system = prompt(CONFIG)
    assert zombie(system) == {}
    assert [record for _, record in system.read(READER + 1, DATA)] == [1]


def run(*words):
    """The command line in this process; its exit code."""
    return fencepost.main(list(words), prog_name="fencepost", standalone_mode=False)
