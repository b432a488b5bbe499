"""`fencepost doctor` on logs made batch by batch: what is wrong, in the user's terms, and what it is not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, fencepost, read_json
from fencepost.proofs.doctor.diagnosis import Examined, Opened
from fencepost.proofs.doctor.futures import ABORT, COMMIT, Break, Future, Loaded, models
from fencepost.proofs.doctor.report import cases, lines
from fencepost.proofs.doctor.source import Active, DiskSource, release_of
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.transactions.cluster_logs import read_cluster
from fencepost.proofs.results import Trace
from transaction_logs import TRANSACTIONAL, batch, checkpoint, marker, real_logs, sent, write_log
from written_clusters import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    NOW,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    state,
    write_cluster,
)

A, B, C, D = (100, 0), (200, 0), (300, 0), (400, 0)
Row = dict[str, Any]


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """A duplicate (A), a hanging transaction that was committed (B), a slow one (C), and one that was fenced (D)."""
    then = NOW - 30_000
    twice = [sent(0, A, 0, b"one"), sent(1, A, 0, b"one"), marker(2, (100, 1), commit=True)]
    hangs = [sent(0, B, 0, b"two")]
    slow = [sent(0, C, 0, b"three")]
    fenced = [sent(0, D, 0, b"four"), marker(1, (400, 1), commit=False)]
    log = [
        state(0, "pay-a", A, ONGOING, then, [0], then), state(1, "pay-a", (100, 1), PREPARE_COMMIT, then, [0], then),
        state(2, "pay-a", (100, 1), COMPLETE_COMMIT, then),
        state(3, "pay-b", B, ONGOING, then, [1], then), state(4, "pay-b", (200, 1), PREPARE_COMMIT, then, [1], then),
        state(5, "pay-b", (200, 1), COMPLETE_COMMIT, then),
        state(6, "pay-c", C, ONGOING, then, [2], then),
        state(7, "pay-d", D, ONGOING, then, [3], then), state(8, "pay-d", (400, 1), PREPARE_ABORT, then, [3], then),
        state(9, "pay-d", (400, 1), COMPLETE_ABORT, then), state(10, "pay-d", (400, 2), EMPTY, then),
    ]  # fmt: skip
    return write_cluster(tmp_path / "node-1", [twice, hangs, slow, fenced], log)


def examined(folder: Path, tmp_path: Path, *options: object) -> tuple[Ran, list[Row]]:
    ran = fencepost("doctor", "--logs", folder, *options, "--json", tmp_path / "doctor.json")
    assert ran.code in (0, 1), ran.err
    findings: list[Row] = read_json(tmp_path / "doctor.json")["findings"]
    return ran, findings


def test_four_are_distinguished(four: Path, tmp_path: Path) -> None:
    """Each by its own kind, place, id and epoch; two of them are wrong."""
    ran, found = examined(four, tmp_path)
    assert ran.code == 1
    assert ran.out.startswith("2 findings in 4 transactional ids, 1 topic, 7 batches, ")
    where = {
        each["kind"]: (each["partition"], each["offset"], each["transactional_id"], each["epoch"]) for each in found
    }
    assert where == {
        "duplicate": (0, 1, "pay-a", 0), "hanging": (1, 0, "pay-b", 0), "slow": (2, 0, "pay-c", 0),
        "fenced zombie": (3, -1, "pay-d", 0),
    }  # fmt: skip
    assert {each["kind"] for each in found if each["wrong"]} == {"duplicate", "hanging"}
    by_kind = {each["kind"]: each for each in found}
    assert by_kind["duplicate"]["first"] == "payments-0@0" and "the same bytes" in by_kind["duplicate"]["says"]
    assert "COMMIT it" in by_kind["hanging"]["todo"][0]
    assert "commits it, no promise is broken" in by_kind["hanging"]["todo"][1]
    assert "aborts it, it can break txn.P4 (nothing lost) at once" in by_kind["hanging"]["todo"][1]
    assert "If a new instance fences it, or if it is left alone, no promise" in by_kind["slow"]["todo"][1]
    assert len(ran.out.splitlines()) < 50


def test_what_is_asked_for_is_what_is_reported(four: Path, tmp_path: Path) -> None:
    """By transactional id, by topic, and by time; what is not there is one line with exit code 2."""
    ran, found = examined(four, tmp_path, "--transactional-id", "pay-c")
    assert (ran.code, [each["kind"] for each in found]) == (0, ["slow"])
    assert fencepost("doctor", "--logs", four, "--transactional-id", "pay-x").code == 2
    ran = fencepost("doctor", "--logs", four, "--topic", "payment")
    assert (ran.code, "no topic 'payment' here; there are payments" in ran.err) == (2, True)
    assert fencepost("doctor", "--logs", four, "--since", "yesterday").code == 2
    assert fencepost("doctor").code == fencepost("doctor", four).code == 2
    write_log(four, "others-0", [sent(0, (500, 0), 0, b"one")])
    ends = {("payments", n): high for n, high in enumerate((3, 1, 1, 2))}
    checkpoint(four, "replication-offset-checkpoint", {**ends, ("others", 0): 1, ("__transaction_state", 0): 11})
    os.utime(four / "replication-offset-checkpoint", (NOW / 1000 + 1,) * 2)
    for topic, kinds in (("payments", {"duplicate", "hanging", "slow", "fenced zombie"}), ("others", {"hanging"})):
        assert {each["kind"] for each in examined(four, tmp_path, "--topic", topic)[1]} == kinds


def test_a_transaction_under_way_is_no_finding(tmp_path: Path) -> None:
    """Open for a second, or prepared a second ago: it is counted, and the exit code is 0."""
    log = [
        state(0, "pay-a", A, ONGOING, NOW, [0], NOW), state(1, "pay-b", B, ONGOING, NOW, [0], NOW),
        state(2, "pay-b", (200, 1), PREPARE_COMMIT, NOW, [0], NOW),
    ]  # fmt: skip
    folder = write_cluster(tmp_path / "node-1", [[sent(0, A, 0, b"one"), sent(1, B, 0, b"two")]], log)
    ran, found = examined(folder, tmp_path)
    assert (ran.code, found) == (0, [])
    assert "; 2 transactions under way" in ran.out


def test_what_its_coordinator_should_have_ended(tmp_path: Path) -> None:
    """Long after its time-out a transaction is overdue, and long after its decision one waits for its marker."""
    then = NOW - 300_000
    log = [
        state(0, "pay-a", A, ONGOING, then, [0], then), state(1, "pay-b", B, ONGOING, then, [0], then),
        state(2, "pay-b", (200, 1), PREPARE_COMMIT, then, [0], then),
    ]  # fmt: skip
    folder = write_cluster(tmp_path / "node-1", [[sent(0, A, 0, b"one"), sent(1, B, 0, b"two")]], log)
    ran, found = examined(folder, tmp_path)
    assert (ran.code, {each["transactional_id"]: each["kind"] for each in found}) == (
        1, {"pay-a": "overdue", "pay-b": "stuck"},
    )  # fmt: skip


def test_a_producer_above_its_coordinator_is_unexplained(tmp_path: Path) -> None:
    """What no model reaches is neither hanging nor slow."""
    log = [state(0, "pay-a", A, ONGOING, NOW - 30_000, [0], NOW - 30_000)]
    folder = write_cluster(tmp_path / "node-1", [[sent(0, (100, 3), 0, b"one")]], log)
    ran, found = examined(folder, tmp_path)
    assert (ran.code, [each["kind"] for each in found if each["transactional_id"] == "pay-a"][:1]) == (
        1,
        ["unexplained"],
    )


def test_the_same_key_is_a_question_of_its_own(tmp_path: Path) -> None:
    """Key and value twice in two committed transactions; not in one, not in an aborted one, and not unasked."""

    def of(offset: int, pair: tuple[int, int], sequence: int, *keys: bytes) -> bytes:
        entries = [(key, b"value") for key in keys]
        return batch(offset, entries, producer=pair, sequence=sequence, attributes=TRANSACTIONAL)

    data = [
        of(0, A, 0, b"k1", b"k2", b"k2"), marker(3, (100, 1), commit=True),
        of(4, (100, 1), 0, b"k2"), marker(5, (100, 2), commit=False),
        of(6, (100, 2), 0, b"k1"), marker(7, (100, 3), commit=True),
    ]  # fmt: skip
    folder = write_log(tmp_path / "node-1", "payments-0", data).parents[1]
    ran, found = examined(folder, tmp_path, "--same-key")
    assert (ran.code, found) == (1, [])
    assert read_json(tmp_path / "doctor.json")["same_key"] == {
        "records": 4, "repeated": 1, "pairs": [{"first": "payments-0@0", "second": "payments-0@6", "key": "k1"}],
    }  # fmt: skip
    assert examined(folder, tmp_path)[0].code == 0


def test_directories_are_read_as_record_reads_them(tmp_path: Path) -> None:
    """Of a real cluster: the same batches below the same end, from any offset on; and with one node's directory no more
    than that node wrote down as committed."""
    nodes = real_logs(tmp_path)
    logs, source = read_cluster(nodes, lambda place: True), DiskSource(nodes)
    assert source.releases()["node 1"] == "4.3" and source.releases()["transaction.version"] == "2"
    assert source.places(()) == sorted(part.place for part in logs.data)
    for part in logs.all:
        wanted = [int(each) for each in part.replica.headers["base_offset"] if each < part.end]
        for start in (-1, 0, *wanted[1:2]):
            read = [int(o) for piece in source.segments(part.place, start=start) for o in piece.headers["base_offset"]]
            assert read == [offset for offset in wanted if offset >= start]
        assert source.ends(part.place)[2] == part.end
    alone = DiskSource(nodes[:1])
    place = Place(*source.places(())[0])
    assert alone.ends(place)[2] == alone._dirs[0].high_watermarks[place]
    assert alone.gaps == [
        f"{place}: not all replicas in sync are here; read below offset {alone.ends(place)[2]}, a node's high watermark"
    ]


def test_real_logs_are_fine(tmp_path: Path) -> None:
    """Nothing is wrong in what a real cluster wrote, and nothing is left undecided."""
    nodes = real_logs(tmp_path)
    os.utime(nodes[0] / "replication-offset-checkpoint")
    ran = fencepost("doctor", "--logs", *nodes)
    assert ran.code == 0, ran.out
    assert ran.out.startswith("0 findings in 2 transactional ids, 1 topic, 20 batches, 2026-11-21T19:32:25Z to ")


def test_what_was_not_decided_is_no_success(tmp_path: Path) -> None:
    """Of one node's directory, without a finding."""
    node = real_logs(tmp_path)[1]
    os.utime(node / "replication-offset-checkpoint")
    ran, found = examined(node, tmp_path)
    assert (ran.code, [each["kind"] for each in found if each["wrong"]]) == (1, []), ran.out
    assert "not decided: __transaction_state-0: not all replicas in sync are here" in ran.out


SAFE, OPEN_ENDED = Future(COMMIT, (), 3, True), Future(COMMIT, (), 3, False)
TEARS = (Break("nothing_lost", "txn.P4", 1, True, Trace((), ())),)


@pytest.mark.parametrize(
    ("commits", "aborts", "todo"),
    [
        ([SAFE], [replace(SAFE, breaks=TEARS)], "COMMIT it"),
        ([replace(SAFE, breaks=TEARS)], [SAFE], "ABORT it"),
        ([SAFE], [SAFE], "Which is right is not in these logs"),
        ([replace(SAFE, breaks=TEARS)], [replace(SAFE, breaks=TEARS)], "Which is right is not in these logs"),
        ([OPEN_ENDED], [replace(SAFE, breaks=TEARS)], "Which is right is not in these logs"),
        ([SAFE, replace(SAFE, breaks=TEARS)], [replace(SAFE, breaks=TEARS)], "Which is right is not in these logs"),
        ([replace(SAFE, possible=False)], [SAFE], "ABORT it"),
    ],
)
def test_only_a_decision_that_is_safe_in_every_way_is_advised(
    commits: list[Future], aborts: list[Future], todo: str
) -> None:
    """Safe is what was explored to its end and breaks nothing; what is not is no reason for the other decision. That it
    hangs is a failure in reports."""
    model = models("4.3", "2")[0]
    pairs = zip_longest(commits, (replace(each, decision=ABORT) for each in aborts))
    ways = [Loaded(model, {}, 5, 1, (), tuple(filter(None, pair)), True) for pair in pairs]
    active = Active(Place("payments", 0), 100, 0, 0, NOW, 0, 0)
    opened = Opened(active, 0, NOW, None, "pay-a", None, 1, None, "hanging", tuple(ways), ways[0])
    found = Examined("node-1", "4.3", "4.3", "2", opened=[opened])
    [line] = lines(found)
    assert line.todo[0].startswith(todo), line.todo
    assert [case.outcome for case in cases(found, [line, replace(line, wrong=False)], None)] == ["failed", "passed"]


def two_partitions(folder: Path, first: Sequence[bytes], partitions: Sequence[int]) -> Path:
    """A transaction (B) that was committed and is still open in payments-1, with what payments-0 has of it."""
    then = NOW - 30_000
    log = [
        state(0, "pay-b", B, ONGOING, then, partitions, then),
        state(1, "pay-b", (200, 1), PREPARE_COMMIT, then, partitions, then),
        state(2, "pay-b", (200, 1), COMPLETE_COMMIT, then),
    ]  # fmt: skip
    return write_cluster(folder, [[sent(0, B, 0, b"one"), *first], [sent(0, B, 0, b"two")]], log)


def test_a_transaction_is_decided_as_in_its_other_partition(tmp_path: Path) -> None:
    """It is committed in one of two: a marker that aborts the other tears it; a third one was not looked at."""
    folder = two_partitions(tmp_path / "node-1", [marker(1, (200, 1), commit=True)], [0, 1, 5])
    ran, (found,) = examined(folder, tmp_path)
    assert (ran.code, found["kind"], found["partition"]) == (1, "hanging", 1)
    assert "Without a fault of a partition no transaction looks so in any of the " in found["says"]
    what = found["todo"][1]
    assert "COMMIT it" in found["todo"][0] and "commits it, no promise is broken" in what
    assert "aborts it, it can break " in what and "txn.P2 (one fate) at once" in what
    assert "Looked at with it: payments-0 (committed). Not looked at: 1 partition of it more (payments-5)." in what
    assert {way["variant"] for way in found["futures"] if way["elsewhere"] == ["payments-0"]}
    assert "KAFKA-19446" not in what


def test_a_transaction_that_is_open_in_two_is_decided_in_both(tmp_path: Path) -> None:
    folder = two_partitions(tmp_path / "node-1", [], [0, 1])
    ran, found = examined(folder, tmp_path, "--verbose")
    assert (ran.code, [each["kind"] for each in found]) == (1, ["hanging", "hanging"])
    for each in found:
        assert "commits it, no promise is broken" in each["todo"][1]
        assert "So decide all partitions alike: a marker in one alone can break txn.P2" in each["todo"][1]


def test_what_follows_a_partition_is_of_its_own_transaction(tmp_path: Path) -> None:
    """The marker of a later transaction of the same producer is none of this one's."""
    later = [marker(1, (200, 1), commit=True), sent(2, (200, 1), 0, b"three"), marker(3, (200, 2), commit=False)]
    folder = two_partitions(tmp_path / "node-1", later, [0, 1])
    _, found = examined(folder, tmp_path)
    (hangs,) = [each for each in found if each["kind"] == "hanging"]
    assert "payments-0 (committed)" in hangs["todo"][1]


def test_a_late_marker_is_among_the_futures_of_4_0(four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, one that is left alone can be decided by a marker that comes late; in 4.2 it can not."""
    for release, late in (("4.0", True), ("4.2", False)):
        monkeypatch.setattr(DiskSource, "releases", lambda source, r=release: {"node 1": r, "transaction.version": "2"})
        ran, (slow,) = examined(four, tmp_path, "--transactional-id", "pay-c")
        assert f"(Kafka {release}, transaction version 2)" in ran.out
        assert "or if it is left alone, no promise is broken" in slow["todo"][1]
        assert ("marker that comes late can still decide it (KIP-1228" in slow["todo"][1]) == late
        assert ("if it is left alone, it can break txn.P3" in slow["todo"][1]) == late


@pytest.mark.parametrize("level", [0, 99])
def test_a_release_that_is_not_known_is_judged_as_the_newest(level: int, four: Path, tmp_path: Path) -> None:
    """Whether nothing tells it, or it is newer than what is known here, and whatever is found."""
    release = release_of(level)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiskSource, "releases", lambda source: {"node 1": release, "transaction.version": "2"})
        for name in ("pay-a", "pay-b", "pay-c", "pay-d"):
            ran, found = examined(four, tmp_path, "--transactional-id", name)
            assert found and "(of an unknown release, judged as trunk, transaction version 2)" in ran.out


@pytest.mark.nightly
def test_one_that_goes_on_is_not_torn_by_what_hangs_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In version 1 an earlier transaction has the same epoch: its marker is missing where the coordinator's transaction
    has nothing, and that is found there alone."""
    monkeypatch.setattr(DiskSource, "releases", lambda source: {"node 1": "4.3", "transaction.version": "2"})
    then = NOW - 30_000
    log = [
        state(0, "pay-b", B, ONGOING, then, [1], then, version=0),
        state(1, "pay-b", B, PREPARE_COMMIT, then, [1], then, version=0),
        state(2, "pay-b", B, COMPLETE_COMMIT, then, version=0),
        state(3, "pay-b", B, ONGOING, then, [0], then, version=0),
    ]  # fmt: skip
    folder = write_cluster(tmp_path / "node-1", [[sent(0, B, 0, b"two")], [sent(0, B, 0, b"one")]], log)
    _, found = examined(folder, tmp_path)
    assert {(each["partition"], each["kind"]) for each in found} == {(0, "slow"), (1, "hanging"), (1, "unmarked")}


@pytest.mark.nightly
@pytest.mark.parametrize(("release", "kind"), [("4.0", "torn"), ("4.2", "unexplained")])
def test_one_that_goes_on_and_is_decided_elsewhere(
    release: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late copy of an earlier marker committed it in one partition, which 4.0 takes, and no run of 4.2 reaches."""
    monkeypatch.setattr(DiskSource, "releases", lambda source: {"node 1": release, "transaction.version": "2"})
    then, next_one = NOW - 30_000, (200, 1)
    late = [
        sent(0, B, 0, b"one"), marker(1, next_one, commit=True), sent(2, next_one, 0, b"two"),
        marker(3, next_one, commit=True),
    ]  # fmt: skip
    log = [
        state(0, "pay-b", B, ONGOING, then, [0], then), state(1, "pay-b", next_one, PREPARE_COMMIT, then, [0], then),
        state(2, "pay-b", next_one, COMPLETE_COMMIT, then), state(3, "pay-b", next_one, ONGOING, then, [0, 1], then),
    ]  # fmt: skip
    folder = write_cluster(tmp_path / "node-1", [late, [sent(0, next_one, 0, b"three")]], log)
    ran, found = examined(folder, tmp_path)
    (one,) = [each for each in found if each["partition"] == 1]
    assert (ran.code, one["kind"], one["wrong"]) == (1, kind, True)
    if kind == "torn":
        assert "It is decided elsewhere, which is too early: payments-0 (committed)." in one["says"]
        assert any("late marker decides the next transaction" in each for each in one["known"])
    else:
        assert "No model reaches what is seen in payments-0 (committed) too" in one["todo"][1]
