"""Each finding that leaves a trace in logs is named by the doctor on the releases that have it.

The logs are written here, with the records that the finding's own program leaves in live brokers' logs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import fencepost, read_json
from fencepost.proofs.doctor.checks import KINDS
from fencepost.proofs.doctor.defects import (
    ABORTED,
    HALF,
    HANGING,
    LATE_MARKER,
    LOST,
    NAMED,
    OLD_RULE,
    SILENT,
    UNDECIDED,
    VOUCHES,
    known_here,
)
from fencepost.proofs.doctor.source import DiskSource
from fencepost.proofs.recording.transactions.group_offsets import committed_offset_of, offset_key_of
from fencepost.proofs.scope.findings import FINDINGS
from transaction_logs import TRANSACTIONAL, batch, checkpoint, marker, sent, write_log
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

Pair = tuple[int, int]
A, A1, A2, A3 = ((100, epoch) for epoch in range(4))
LAST, WORN = (100, 32766), (100, 32767)
LISTED = (ONGOING, PREPARE_COMMIT, PREPARE_ABORT)
LONG_AGO = NOW - 300_000
OFFSETS = "__consumer_offsets"
BY_NAME = {each.name: each for each in FINDINGS}


class Logs(NamedTuple):
    """Partitions of a topic, and the transaction log's records of one id: pair and state of each."""

    kind: str
    data: Sequence[Sequence[bytes]]
    log: Sequence[tuple[Pair, int]]
    topic: str = "payments"
    version: int = 2
    wrong: bool = True


def ended(pair: Pair, commit: bool) -> list[tuple[Pair, int]]:
    """A transaction that ends under a pair."""
    prepared, complete = (PREPARE_COMMIT, COMPLETE_COMMIT) if commit else (PREPARE_ABORT, COMPLETE_ABORT)
    return [(A, EMPTY), (A, ONGOING), (pair, prepared), (pair, complete)]


def without_marker(commit: bool, topic: str = "payments") -> Logs:
    return Logs(HANGING, [[sent(0, A, 0, b"one")]], ended(A1, commit), topic)


def joined(commit: bool) -> Logs:
    """The next transaction of the producer, which ends the other way, joins what had no marker."""
    next_one = [(A1, ONGOING), *(((A2, each)) for _, each in ended(A2, not commit)[2:])]
    data = [sent(0, A, 0, b"one"), sent(1, A1, 0, b"two"), marker(2, A2, commit=not commit)]
    return Logs("joined", [data], [*ended(A1, commit), *next_one])


def unmarked(commit: bool, topic: str = "payments") -> Logs:
    """A marker is missing in version 1, which has one epoch: the next transaction is like more of the one before."""
    log = [*ended(A, commit), *ended(A, not commit)[1:]]
    data = [sent(0, A, 0, b"one"), sent(1, A, 1, b"two"), marker(2, A, not commit, time_ms=NOW)]
    return Logs("unmarked", [data], log, topic, 1)


LATE = [sent(0, A, 0, b"one"), marker(1, A1, commit=True), sent(2, A1, 0, b"two"), marker(3, A1, commit=True),
        marker(4, A2, commit=False)]  # fmt: skip
IN_BETWEEN = [*ended(A1, True), (A1, ONGOING), (A2, PREPARE_ABORT), (A2, COMPLETE_ABORT)]
HALVES = [sent(0, A, 0, b"one"), marker(1, A1, commit=True)]
WRITTEN: Mapping[str, Sequence[Logs]] = {
    LOST: [without_marker(True), joined(True), unmarked(True)],
    ABORTED: [without_marker(False), joined(False), unmarked(False)],
    "acknowledged offset lost": [without_marker(True, OFFSETS), unmarked(True, OFFSETS)],
    "aborted offset committed": [without_marker(False, OFFSETS), unmarked(False, OFFSETS)],
    VOUCHES: [
        Logs(HANGING, [[sent(0, A, 0, b"one"), marker(1, A, commit=False), sent(2, A, 1, b"late")]], ended(A, False),
             version=1),
    ],
    HALF: [
        Logs("both_outcomes", [[*HALVES, marker(2, A1, commit=False)], [sent(0, A, 0, b"1"), marker(1, A1, False)]],
             [*ended(A1, False), (A2, EMPTY)]),
        Logs("marker_without", [[*HALVES, marker(2, A2, commit=False)], [sent(0, A, 0, b"1"), marker(1, A2, False)]],
             [*ended(A2, False), (A3, EMPTY)]),
    ],
    LATE_MARKER: [Logs("late_marker", [LATE], IN_BETWEEN)],
    OLD_RULE: [
        Logs("late_marker", [LATE], IN_BETWEEN),
        Logs("marker_without", [[sent(0, A, 0, b"one"), marker(1, A, commit=True), marker(2, A, commit=False)]],
             [(A, EMPTY), (A, ONGOING)]),
    ],
    "rotation lost over a fail-over": [
        Logs("last_epoch", [[sent(0, LAST, 0, b"one"), marker(1, WORN, commit=True)]],
             [(LAST, EMPTY), (LAST, ONGOING), (WORN, PREPARE_COMMIT), (WORN, COMPLETE_COMMIT)]),
    ],
    "a fence takes two epochs": [
        Logs("skipped", [[sent(0, A, 0, b"one"), marker(1, A2, commit=False)]], [*ended(A2, False), (A3, EMPTY)],
             wrong=False),
    ],
    "a transactional id answers 51 for ever": [
        Logs("overdue", [[sent(0, A, 0, b"one")]], [(A, EMPTY), (A, ONGOING)]),
    ],
}  # fmt: skip
"""By finding, the logs that its program leaves."""
CASES = [pytest.param(name, logs, id=f"{name}, {logs.kind}") for name, each in WRITTEN.items() for logs in each]


def minor(exact: str) -> str:
    return exact.rpartition(".")[0]


def test_every_finding_is_named_or_has_a_reason() -> None:
    every = [*NAMED, *SILENT, *UNDECIDED]
    assert sorted(every) == sorted(BY_NAME)
    assert {name: {logs.kind for logs in each} for name, each in WRITTEN.items()} == {
        name: set(kinds) for name, kinds in NAMED.items()
    }
    assert {kind for kinds in NAMED.values() for kind in kinds} - set(KINDS) == {"overdue"}
    assert all(BY_NAME[name].status != "false alarm" for name in NAMED)


@pytest.mark.parametrize(("name", "logs"), CASES)
def test_it_is_named(name: str, logs: Logs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a release that has it, and on one that has not the same logs are found, and not so named."""
    log = [
        state(number, "pay-a", pair, status, LONG_AGO, range(len(logs.data)) if status in LISTED else (),
              LONG_AGO if status == ONGOING else -1, logs.version, logs.topic)
        for number, (pair, status) in enumerate(logs.log)
    ]  # fmt: skip
    folder = write_cluster(tmp_path / "node-1", logs.data, log, logs.topic)
    has, lacks = {minor(each) for each in BY_NAME[name].seen}, {minor(each) for each in BY_NAME[name].not_seen}
    limit = NAMED[name][logs.kind]
    has, lacks = ({limit}, {"4.4"}) if limit else (has, lacks - has)
    for release in (max(has), *sorted(lacks)[:1]):
        levels = {"node 1": release, "transaction.version": str(logs.version)}
        monkeypatch.setattr(DiskSource, "releases", lambda self, levels=levels: levels)
        ran = fencepost("doctor", "--logs", folder, "--json", tmp_path / "doctor.json")
        found = [each for each in read_json(tmp_path / "doctor.json")["findings"] if each["kind"] == logs.kind]
        assert found and all(each["wrong"] == logs.wrong for each in found), ran.out
        assert any(known.startswith(f"{name} (") for each in found for known in each["known"]) == (release in has)


def offset_of(at: int, pair: Pair, committed: int) -> bytes:
    """A group's offset, in a transaction: it, its leader epoch, metadata, and when it was committed."""
    key = struct.pack(">hh5sh6si", 1, 5, b"group", 6, b"inputs", 0)
    value = struct.pack(">hqihq", 3, committed, -1, 0, LONG_AGO)
    assert (offset_key_of(key), committed_offset_of(value)) == (("group", "inputs", 0), committed)
    return batch(at, [(key, value)], producer=pair, attributes=TRANSACTIONAL)


def test_who_commits_what_another_has_processed_leaves_transactions(tmp_path: Path) -> None:
    """Two producers copy the same input, and the second takes the group's offset back: nothing is wrong with either
    transaction, and that the output has a record twice is told where that is asked."""
    b, b1 = (200, 0), (200, 1)
    data = [sent(0, A, 0, b"one"), marker(1, A1, True), sent(2, b, 0, b"one"), marker(3, b1, True)]
    group = [offset_of(0, A, 10), marker(1, A1, True), offset_of(2, b, 5), marker(3, b1, True)]
    log = list[bytes]()
    for name, own, over in (("pay-a", A, A1), ("pay-b", b, b1)):
        for pair, status in ((own, EMPTY), (own, ONGOING), (over, PREPARE_COMMIT), (over, COMPLETE_COMMIT)):
            log.append(state(len(log), name, pair, status, LONG_AGO, (0,) if status == ONGOING else ()))
    folder = write_cluster(tmp_path / "node-1", [data], log)
    write_log(folder, f"{OFFSETS}-0", group)
    ends = {("payments", 0): 4, ("__transaction_state", 0): len(log), (OFFSETS, 0): 4}
    checkpoint(folder, "replication-offset-checkpoint", ends)
    ran = fencepost("doctor", "--logs", folder, "--same-key", "--json", tmp_path / "doctor.json")
    found = read_json(tmp_path / "doctor.json")
    assert (ran.code, found["findings"], found["same_key"]["repeated"]) == (1, [], 1), ran.out
    assert fencepost("doctor", "--logs", folder).code == 0


def test_what_a_client_renumbers_is_written_as_any_other(tmp_path: Path) -> None:
    """The same records again under the next epoch, from 0: what an idempotent producer that begins anew may send."""
    sent_as = [(A, 0), (A, 1), (A1, 0)]
    data = [batch(n, [(b"k", b"one")], producer=pair, sequence=at) for n, (pair, at) in enumerate(sent_as)]
    folder = write_cluster(tmp_path / "node-1", [data], [])
    ran = fencepost("doctor", "--logs", folder, "--json", tmp_path / "doctor.json")
    assert (ran.code, read_json(tmp_path / "doctor.json")["findings"]) == (0, []), ran.out


def test_ids_that_fence_one_another_are_printed_each_time(tmp_path: Path) -> None:
    """As of instances that follow one another, of which none is wrong, and without a defect's name."""
    data, log = list[bytes](), [state(0, "pay-a", A, EMPTY, LONG_AGO)]
    for epoch in (0, 2, 4):
        own, over, again = (100, epoch), (100, epoch + 1), (100, epoch + 2)
        data += [sent(len(data), own, 0, b"one"), marker(len(data) + 1, over, commit=False)]
        for pair, status in ((own, ONGOING), (over, PREPARE_ABORT), (over, COMPLETE_ABORT), (again, EMPTY)):
            begun = ((0,), LONG_AGO) if status in (ONGOING, PREPARE_ABORT) else ((), -1)
            log.append(state(len(log), "pay-a", pair, status, LONG_AGO, *begun))
    folder = write_cluster(tmp_path / "node-1", [data], log)
    ran = fencepost("doctor", "--logs", folder, "--json", tmp_path / "doctor.json")
    found = read_json(tmp_path / "doctor.json")["findings"]
    told = [(each["kind"], each["wrong"], each["known"]) for each in found]
    assert (ran.code, told) == (0, [("fenced zombie", False, [])] * 3), ran.out


def test_names_go_by_kind_and_release() -> None:
    """Of a release that is not known, all that leave such a trace; and of what hangs, those that a model explains."""
    assert known_here("late_marker", "4.1") == (f"{LATE_MARKER} (fixed in 4.2.0)",)
    assert known_here("late_marker", "4.2") == (f"{OLD_RULE} (new)",)
    assert len(known_here("late_marker", "")) == 2
    assert known_here(HANGING, "4.4") == known_here("duplicate", "4.4") == known_here("joined", "4.0") == ()
    assert known_here(HANGING, "4.4", BY_NAME[LOST].variants[:1])[0].startswith(LOST)
    assert known_here("marker_without", "4.0") == (f"{HALF} (new)",)
