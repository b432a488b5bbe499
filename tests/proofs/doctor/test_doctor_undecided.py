"""A transaction without time-out: what an outside store may say of it, and what each decision may then break."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fake_kafka import FakeKafka, answer_part
from fencepost.proofs.doctor import futures as of
from fencepost.proofs.doctor.diagnosis import SLOW_MS, examine
from fencepost.proofs.doctor.network import NetworkSource
from fencepost.proofs.doctor.report import lines
from fencepost.proofs.doctor.source import NEVER_MS, DiskSource
from kio.static.primitive import TZAware, i32Timedelta
from transaction_logs import sent
from written_clusters import NOW, ONGOING, state, write_cluster

PAIR, THEN = (300, 0), NOW - 30_000


def found_in(tmp_path: Path, since_ms: int = THEN, timeout_ms: int = NEVER_MS, version: int = 2) -> tuple[Any, Any]:
    log = [state(0, "pay-a", PAIR, ONGOING, since_ms, [0], since_ms, version=version, timeout_ms=timeout_ms)]
    folder = write_cluster(tmp_path / "node-1", [[sent(0, PAIR, 0, b"one")]], log)
    ran = fencepost("doctor", "--logs", folder, "--json", tmp_path / "doctor.json", "--verbose")
    return ran, read_json(tmp_path / "doctor.json")["findings"]


def test_what_to_do_by_what_the_store_says(tmp_path: Path) -> None:
    """It is no finding that is wrong; each thing that the store may say has its own answer."""
    ran, (found,) = found_in(tmp_path)
    assert (ran.code, found["kind"], found["wrong"], found["rules"]) == (0, "undecided", False, []), ran.err
    assert "no time-out ends it: with 2147483647 ms" in found["says"]
    assert "Readers with read_committed stop here, 1 offset before the end" in found["says"]
    look, commit, abort, nothing = found["todo"]
    assert "prepared state 300:0 (Flink: the committables" in look
    assert "lets no new producer retain it (939.26)" in look
    assert commit.startswith(
        "If the store has it and says commit: commit it by EndTxn under its own producer id and epoch"
    )
    assert "If forceTerminateTransaction aborts it, it can break 939.P1 (decided commit happens) in 1 step" in commit
    force = "kafka-transactions.sh forceTerminateTransaction --transactionalId pay-a. "
    assert abort.startswith(f"If the store has it and says abort: {force}")
    assert nothing.startswith("If the store has nothing of it: stop its producers for good") and force in nothing
    assert "If forceTerminateTransaction aborts it, it can break 939.P1 (decided once) in 1 step" in nothing
    assert [way["store"] for way in found["futures"]] == ["COMMIT", "ABORT", "NONE"]
    assert "and COMMIT in the store within clients 2" in " ".join(ran.out.split())


def test_what_is_not_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that began just now is under way; and one whose time-out is a millisecond less, or whose release knows no
    two-phase commit, is slow, and has an end."""
    ran, found = found_in(tmp_path / "now", since_ms=NOW)
    assert (ran.code, found) == (0, []) and "; 1 transaction under way" in ran.out
    _, [found] = found_in(tmp_path / "less", timeout_ms=NEVER_MS - 1)
    assert (found["kind"], "with a time-out at 20" in found["says"]) == ("slow", True)
    monkeypatch.setattr(DiskSource, "releases", lambda source: {"node 1": "4.0", "transaction.version": "2"})
    _, [found] = found_in(tmp_path / "older")
    assert (found["kind"], "with a time-out at 20" in found["says"]) == ("slow", True)


def test_a_client_of_version_1_is_in_no_model(tmp_path: Path) -> None:
    """It is undecided, and no decision is called safe."""
    _, (found,) = found_in(tmp_path, version=0)
    assert (found["kind"], found["futures"]) == ("undecided", [])
    assert "What a decision may break was not explored" in found["todo"][0]


@pytest.mark.parametrize(
    ("name", "store", "safe"),
    [
        (of.NOT_RETAINED, "COMMIT", {of.RESUMED}),
        (of.NOT_RETAINED, "ABORT", {of.TERMINATED, of.STOPPED, of.FENCED, of.LEFT}),
        (of.NOT_RETAINED, "NONE", {of.STOPPED}),
        ("two-phase/retained", "COMMIT", {of.RETAINED, of.RESUMED, of.FENCED, of.LEFT}),
    ],
)
def test_what_breaks_nothing(name: str, store: str, safe: set[str]) -> None:
    """In Kafka 4.1 and later a commit is carried out under its own epoch alone, and where nothing is decided, that has
    to be excluded before the abort; with PR 21735 a new producer retains it."""
    loaded = of.futures(of.Model(name), of.Seen("ONGOING", None, 0, True, "NONE", store=store))
    assert loaded.fitting and loaded.complete and loaded.store == store
    possible = [each for each in loaded.futures if each.possible]
    assert {each.decision for each in possible if each.complete and not each.breaks} == safe
    assert (of.RETAINED in {each.decision for each in possible}) == (name != of.NOT_RETAINED)


def test_the_same_over_the_network() -> None:
    """The time-out is that in the answer to DescribeTransactions."""
    began = datetime.fromtimestamp(int(time.time()) - SLOW_MS // 1000 - 5, UTC)

    def answered(api: str, version: int, answer: Any) -> Any:
        if api == "describe_transactions":
            topic = answer_part(api, version, "TopicData", topic="payments", partitions=(0,))
            never = i32Timedelta.parse(timedelta(milliseconds=NEVER_MS))
            opened = {"transaction_state": "Ongoing", "producer_id": 300, "producer_epoch": 0, "topics": (topic,)}
            times = {"transaction_timeout": never, "transaction_start_time": TZAware.parse(began)}
            states = tuple(replace(each, **opened, **times) for each in answer.transaction_states)
            return replace(answer, transaction_states=states)
        if api == "describe_producers":
            opened = {"producer_id": 300, "producer_epoch": 0, "last_sequence": 0, "current_txn_start_offset": 0}
            producer = answer_part(api, version, "ProducerState", last_timestamp=THEN, **opened)
            [topic] = answer.topics
            parts = tuple(replace(part, active_producers=(producer,)) for part in topic.partitions)
            return replace(answer, topics=(replace(topic, partitions=parts),))
        return answer

    with FakeKafka() as kafka:
        kafka.topics, kafka.listed, kafka.mangle = {"payments": 1}, {1: ["pay-a"]}, answered
        kafka.logs["payments", 0] = [sent(0, PAIR, 0, b"one")]
        with closing(NetworkSource(kafka.bootstrap)) as source:
            [line] = lines(examine(source))
    assert (line.kind, line.wrong, line.transactional_id, line.offset) == ("undecided", False, "pay-a", 0)
    assert "its coordinator (node 1) has Ongoing under epoch 0" in line.says
    assert line.todo[1].startswith("If the store has it and says commit: commit it by EndTxn")
