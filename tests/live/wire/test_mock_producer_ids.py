"""librdkafka's mock cluster draws producer ids by lot: a history of what clients were given says so, by name."""

import json

import pytest
from fencepost.proofs.cli import fencepost
from fencepost.proofs.recording import Observation, collect_producer_ids, record_observations, write_observations
from fencepost.proofs.scale.replay import replay
from fencepost.properties.id_blocks.histories import PROPERTIES
from mock_cluster import MockCluster

DRAWS = 5_000  # of 900,000 ids: without a collision once in a million runs


@pytest.fixture(scope="module")
def of_the_mock(tmp_path_factory):
    """A history of what four clients were given by two brokers."""
    with MockCluster(brokers=2) as mock:
        seen = collect_producer_ids(mock.bootstrap, DRAWS, seed=730)
    assert {each.broker for each in seen} == {1, 2}
    made = tmp_path_factory.mktemp("mock") / "history"
    assert record_observations(seen, made).counts == {"id_handed_out": DRAWS}
    return made


def test_ids_are_handed_out_twice(of_the_mock):
    """The promise is named, with both places where the id was given, and nothing else is said to be broken (730.P1)."""
    report = replay(of_the_mock)
    assert set(report.violations) == {"ids_unique"}
    assert PROPERTIES["ids_unique"].rule == "730.P1"
    assert report.judged["ids_unique"] == DRAWS
    assert "hands out id" in str(report.violations["ids_unique"]["first"])


def test_what_clients_cannot_know_is_unknown(of_the_mock):
    """Blocks are not seen: every property of theirs is unknown, with the kind of event that is missing."""
    unknown = replay(of_the_mock).unknown
    assert "block_committed" in unknown["blocks_disjoint"]
    assert set(unknown) == set(PROPERTIES) - {"ids_unique"}


def run(*words):
    """The command line in this process; its exit code."""
    return fencepost.main([str(word) for word in words], prog_name="fencepost", standalone_mode=False)


def test_replay_fails_on_the_command_line(of_the_mock, tmp_path):
    """Exit code 1, and the property by name."""
    report = tmp_path / "report.json"
    assert run("replay", of_the_mock, "--json", report) == 1
    assert list(json.loads(report.read_text())["violations"]) == ["ids_unique"]


def test_ids_given_once_hold(tmp_path):
    """The same clients of a broker that counts: nothing is violated, and as much was judged."""
    seen = [Observation(time_us=10 * n, broker=1, producer_id=n, thread=n % 4) for n in range(DRAWS)]
    assert record_observations(seen, tmp_path / "history").counts == {"id_handed_out": DRAWS}
    report = replay(tmp_path / "history")
    assert report.holds
    assert report.judged["ids_unique"] == DRAWS


def test_clients_alone_are_recorded_on_the_command_line(tmp_path):
    """`fencepost record` without log directories: the file of observations becomes a history that is found wanting."""
    twice = [Observation(time_us=n, broker=n % 2, producer_id=n % 9, thread=0) for n in range(10)]
    write_observations(tmp_path / "clients.jsonl", twice)
    reported = tmp_path / "told.json"
    assert run("record", "--clients", tmp_path / "clients.jsonl", "--out", tmp_path / "made", "--json", reported) == 0
    found = json.loads(reported.read_text())
    assert (found["events"], found["decidable"]) == ({"id_handed_out": 10}, ["ids_unique"])
    assert set(replay(tmp_path / "made").violations) == {"ids_unique"}


def test_refusals_and_faults_are_kept(tmp_path):
    """An error is an event, an unanswered request none, and a fault is counted."""
    seen = [
        Observation(time_us=3, broker=1, error=14),
        Observation(time_us=1, broker=1, producer_id=7),
        Observation(time_us=4, broker=1, error=13),
        Observation(time_us=2, broker=1, fault="killed"),
    ]
    counts = record_observations(seen, tmp_path / "history").counts
    assert counts == {"broker_stopped": 1, "id_handed_out": 1, "id_refused": 1}
    manifest = json.loads((tmp_path / "history" / "manifest.json").read_text())
    assert manifest["faults"] == {"killed": 1}
    assert set(manifest["observable"]) == set(counts)
