"""Each kind of finding: a log that has it, with the records that are named, and a near miss that Kafka may write."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from checked_logs import (
    ABORT,
    COMMIT,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    LOG,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    START_MS,
    P,
    Q,
    by_kind,
    committed,
    data,
    found,
    life,
    logged,
    mark,
    segment_of,
)
from fencepost.model.language.checks.errors import InputError
from fencepost.model.rules import RULES
from fencepost.proofs.doctor import partition_checks
from fencepost.proofs.doctor.checks import KINDS, Checks
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place
from transaction_logs import batch, id_key

A, A1, A2, B = (7, 0), (7, 1), (7, 2), (9, 0)
LAST, WORN = (7, 32766), (7, 32767)
DAY = 86_400_000
OUTSIDE = {"attributes": 0}
Found = Sequence[tuple[str, int | None, int]]

PARTITION: dict[str, tuple[list[bytes], Found]] = {
    "duplicate": ([data(0, A, 0), data(1, A, 1), data(2, A, 1)], [("duplicate", 1, 2)]),
    "duplicate, outside of transactions": (
        [data(0, A, 0, **OUTSIDE), data(1, A, 0, **OUTSIDE)], [("duplicate", 0, 1)]),
    "duplicate, the fifth before it": ([data(n, A, n) for n in range(5)] + [data(5, A, 0)], [("duplicate", 0, 5)]),
    "the sixth before it goes back": ([data(n, A, n) for n in range(6)] + [data(6, A, 0)], [("gap", 5, 6)]),
    "twice, the first copy is named": ([data(0, A, 0), data(1, A, 0), data(2, A, 0)],
                                       [("duplicate", 0, 1), ("duplicate", 0, 2)]),
    "duplicate, over a hole": ([data(0, A, 0), data(7, A, 0)], [("duplicate", 0, 7)]),
    "not one: another epoch": ([data(0, A, 0), data(1, A1, 0, **OUTSIDE), mark(2, A1, ABORT)], []),
    "not one: another producer": ([data(0, A, 0), data(1, B, 0)], []),
    "gap": ([data(0, A, 0), data(1, A, 2)], [("gap", 0, 1)]),
    "gap within a longer batch": ([data(0, A, 0, 3), data(3, A, 2)], [("gap", 0, 3)]),
    "no gap: batches of several records": ([data(0, A, 0, 3), data(3, A, 3, 2), data(5, A, 5)], []),
    "no gap: it wraps": ([data(0, A, 2**31 - 2, epoch=1), data(1, A, 2**31 - 1, epoch=1), data(2, A, 0, epoch=1)], []),
    "no gap: a batch wraps": ([data(0, A, 2**31 - 2, 3, epoch=1), data(3, A, 1, epoch=1)], []),
    "gap where it wraps": ([data(0, A, 2**31 - 1, epoch=1), data(1, A, 1, epoch=1)], [("gap", 0, 1)]),
    "no gap: a cleaner was here": ([data(0, A, 0), data(5, A, 5)], []),
    "no gap: a day later": ([data(0, A, 0), data(1, A, 5, time_ms=START_MS + DAY)], []),
    "gap: not a day later": ([data(0, A, 0), data(1, A, 5, time_ms=START_MS + DAY - 1)], [("gap", 0, 1)]),
    "a new epoch does not begin at 0": ([data(0, A, 0), mark(1, A1, ABORT), data(2, A1, 1)], [("gap", 0, 2)]),
    "a new epoch begins at 0": ([data(0, A, 0), mark(1, A1, ABORT), data(2, A1, 0), data(3, A1, 1)], []),
    "the first batch that is known is not 0": ([data(0, A, 1)], []),
    "a marker, and then not 0": ([mark(0, A, COMMIT), data(1, A, 1)], [("gap", 0, 1)]),
    "numbers go on after a marker of version 1": ([data(0, A, 0), mark(1, A, COMMIT), data(2, A, 1)], []),
    "only a marker is left of what was before": ([mark(5, A, COMMIT), data(6, A, 4)], []),
    "fenced": ([data(0, A1, 0), data(1, A, 4)], [("fenced", 0, 1)]),
    "fenced by a marker": ([data(0, A, 0), mark(1, A1, ABORT), data(2, A, 1)], [("fenced", 1, 2)]),
    "not fenced: the lower epoch is another's": ([data(0, A1, 0), data(1, B, 0)], []),
    "old marker": ([data(0, A1, 0), mark(1, A, COMMIT)], [("old_marker", 0, 1)]),
    "joined": ([data(0, A, 0), data(1, A1, 0)], [("joined", 0, 1)]),
    "not joined: it is outside of transactions": ([data(0, A, 0, **OUTSIDE), data(1, A1, 0)], []),
    "older coordinator": ([data(0, A, 0), mark(1, A, COMMIT, 4), mark(2, A, COMMIT, 3)],
                          [("coordinator_epoch", 1, 2)]),
    "the same coordinator again": ([data(0, A, 0), mark(1, A, COMMIT, 4), mark(2, A, COMMIT, 4)], []),
    "a newer coordinator again": ([data(0, A, 0), mark(1, A, COMMIT, 4), mark(2, A, COMMIT, 5)], []),
    "older coordinator of another producer": ([mark(0, A, COMMIT, 4), mark(1, B, COMMIT, 3)], []),
    "last epoch": ([data(0, WORN, 0)], [("last_epoch", None, 0)]),
    "a marker of the last epoch": ([data(0, LAST, 0), mark(1, WORN, ABORT)], []),
    "no transaction under the last epoch": ([data(0, WORN, 0, **OUTSIDE)], []),
}  # fmt: skip
V1 = {"version": 1}
LOGGED: dict[str, tuple[list[bytes], Found]] = {
    "life of version 2": (committed(A), []),
    "life of version 1": (committed(A, version=1), []),
    "life of version 0": (committed(A, version=0), []),
    "an empty transaction is aborted": (life((A, EMPTY), (A1, PREPARE_ABORT), (A1, COMPLETE_ABORT), (A1, ONGOING)), []),
    "partitions are added": (life((A, EMPTY), (A, ONGOING), (A, ONGOING), (A1, PREPARE_COMMIT)), []),
    "the id is exhausted": (
        life((LAST, ONGOING), (WORN, PREPARE_COMMIT), (B, COMPLETE_COMMIT), (B, ONGOING)), []),
    "a commit ends under the last epoch": (
        life((LAST, ONGOING), (WORN, PREPARE_COMMIT), (WORN, COMPLETE_COMMIT)), [("last_epoch", 1, 2)]),
    "an epoch is skipped": (life((A, ONGOING), (A2, PREPARE_ABORT), (A2, COMPLETE_ABORT)), [("skipped", 0, 1)]),
    "not skipped: in between it was initialised": (
        life((A, ONGOING), (A1, PREPARE_ABORT), (A1, COMPLETE_ABORT), (A2, EMPTY), (A2, ONGOING)), []),
    "decided twice": (life((A, ONGOING), (A1, PREPARE_COMMIT), (A2, PREPARE_ABORT)), [("decided_twice", 1, 2)]),
    "completed the other way": (life((A, ONGOING), (A1, PREPARE_COMMIT), (A1, COMPLETE_ABORT)),
                                [("decided_twice", 1, 2)]),
    "the Prepare record is taken back": (life((A, ONGOING), (A1, PREPARE_COMMIT), (A1, ONGOING)),
                                         [("transition", 1, 2)]),
    "committed while empty": (life((A, EMPTY), (A1, PREPARE_COMMIT)), [("transition", 0, 1)]),
    "after an expiry nothing but a new beginning": (life((A, EMPTY), ((-1, -1), -1), (A, ONGOING)),
                                                    [("transition", None, 2)]),
    "a new beginning after an expiry": (life((A, EMPTY), ((-1, -1), -1), (B, EMPTY), (B, ONGOING)), []),
    "epoch goes back": (life((A2, EMPTY), (A1, ONGOING)), [("epoch_back", 0, 1)]),
    "another id does not begin at 0": (life((A2, EMPTY), ((9, 1), EMPTY)), [("epoch_back", 0, 1)]),
    "not bumped": (life((A, EMPTY), (A, ONGOING), (A, PREPARE_COMMIT)), [("not_bumped", 1, 2)]),
    "not bumped, as in version 1": (life((A, EMPTY), (A, ONGOING), (A, PREPARE_COMMIT), **V1), []),
    "an abort under the last epoch": (
        life((LAST, ONGOING), (WORN, PREPARE_ABORT), (WORN, COMPLETE_ABORT), (WORN, PREPARE_ABORT)), []),
    "open under the last epoch": (life((LAST, EMPTY), (WORN, ONGOING)), [("last_epoch", 0, 1)]),
    "compacted": ([logged(0, A, PREPARE_COMMIT), logged(5, A, EMPTY)], []),
    "compacted before it": ([logged(0, A, EMPTY), logged(5, A1, PREPARE_COMMIT), logged(6, A1, EMPTY)],
                            [("transition", 5, 6)]),
    "another id": ([logged(0, A, ONGOING), logged(1, B, EMPTY, "b")], []),
}  # fmt: skip
PREPARED = life((A, EMPTY), (A, ONGOING), (A1, PREPARE_COMMIT))
AGAINST: dict[str, tuple[list[tuple[Place, list[bytes]]], Found]] = {
    "a commit": ([(P, [data(0, A, 0), mark(1, A1, COMMIT)]), (LOG, committed(A))], []),
    "a commit of version 1": ([(P, [data(0, A, 0), mark(1, A, COMMIT)]), (LOG, committed(A, version=1))], []),
    "a marker again": (
        [(P, [data(0, A, 0), mark(1, A1, COMMIT), mark(2, A1, COMMIT, 1)]), (LOG, committed(A))], []),
    "a marker of nothing": ([(P, [mark(0, A1, COMMIT)]), (LOG, committed(A))], []),
    "commit without Prepare": ([(P, [data(0, A, 0), mark(1, A2, COMMIT)]), (LOG, committed(A))],
                               [("marker_without", None, 1)]),
    "abort without Prepare": ([(P, [data(0, A, 0), mark(1, A2, ABORT)]), (LOG, committed(A))],
                              [("abort_without", None, 1)]),
    "without Prepare, of an unknown producer": ([(P, [data(0, B, 0), mark(1, B, COMMIT)]), (LOG, committed(A))],
                                                [("marker_without", None, 1)]),
    "its Prepare is compacted": (
        [(P, [data(0, A, 0), mark(1, A1, COMMIT)]), (LOG, life((A1, COMPLETE_COMMIT), (A1, ONGOING), first=9))], []),
    "not compacted": (
        [(P, [data(0, A, 0), mark(1, A2, COMMIT)]), (LOG, life((A1, COMPLETE_COMMIT), (A1, EMPTY), first=9))],
        [("marker_without", None, 1)]),
    "both outcomes": (
        [(P, [data(0, A, 0), mark(1, A1, COMMIT)]), (Q, [data(0, A, 0), mark(1, A1, ABORT)]), (LOG, committed(A))],
        [("both_outcomes", 2, 1)]),
    "both outcomes of two transactions of version 1": (
        [(P, [data(0, A, 0), mark(1, A, COMMIT)]), (Q, [data(0, A, 0), mark(1, A, ABORT)]),
         (LOG, committed(A, version=1) + life((A, ONGOING), (A, PREPARE_ABORT), (A, COMPLETE_ABORT), first=4, **V1))],
        []),
    "a late marker ends the next": (
        [(P, [data(0, A, 0), mark(1, A1, COMMIT), data(2, A1, 0), mark(3, A1, COMMIT)]),
         (LOG, committed(A) + life((A1, ONGOING), first=4))],
        [("late_marker", 2, 3)]),
    "of version 1 every marker has the epoch of its batches": (
        [(P, [data(0, A, 0), mark(1, A, COMMIT), data(2, A, 1), mark(3, A, COMMIT)]),
         (LOG, committed(A, version=1) + life((A, ONGOING), (A, PREPARE_COMMIT), (A, COMPLETE_COMMIT), first=4, **V1))],
        []),
    "hanging": ([(P, [data(0, A, 0)]), (LOG, committed(A))], [("hanging", 3, 0)]),
    "hanging, of an unknown producer": ([(P, [data(0, B, 0)]), (LOG, committed(A))], [("hanging", None, 0)]),
    "hanging, its id has another producer id": (
        [(P, [data(0, A, 0)]), (LOG, life((A, EMPTY), (B, EMPTY)))], [("hanging", None, 0)]),
    "open, and ongoing": ([(P, [data(0, A, 0)]), (LOG, life((A, EMPTY), (A, ONGOING)))], []),
    "open, and prepared": ([(P, [data(0, A, 0)]), (LOG, PREPARED)], []),
    "open, and another transaction is ongoing": (
        [(P, [data(0, A, 0)]), (LOG, committed(A) + life((A1, ONGOING), first=4))], [("hanging", 4, 0)]),
    "open, unknown to a log that is compacted": (
        [(P, [data(0, B, 0)]), (LOG, life((A, EMPTY), first=9))], [("hanging", None, 0)]),
    "a cleaner left the last batch and its marker without records": (
        [(P, [data(0, A, 0, 0, last=0), mark(1, A1, COMMIT, empty=True)]), (LOG, committed(A))], []),
    "a cleaner left the last batch without records, and no marker": (
        [(P, [data(0, A, 0, 0, last=0)]), (LOG, committed(A))], []),
    "no transaction log": ([(P, [data(0, A, 0), mark(1, A1, COMMIT), data(2, A1, 0)])], []),
    "offsets have no sequence numbers": (
        [(Place("__consumer_offsets", 3), [data(0, A, 0), data(1, A, 0), mark(2, A1, COMMIT)]), (LOG, committed(A))],
        []),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTITION)
def test_what_a_partition_breaks(name: str, tmp_path: Path) -> None:
    batches, expected = PARTITION[name]
    assert by_kind(found(tmp_path, [(P, batches)])) == expected
    one_by_one = Checks()
    assert by_kind(found(tmp_path, [(P, [batch]) for batch in batches], one_by_one)) == expected


@pytest.mark.parametrize("name", LOGGED)
def test_what_a_transaction_log_breaks(name: str, tmp_path: Path) -> None:
    records, expected = LOGGED[name]
    assert by_kind(found(tmp_path, [(LOG, records)])) == expected
    assert by_kind(found(tmp_path, [(LOG, [record]) for record in records])) == expected


@pytest.mark.parametrize("name", AGAINST)
def test_what_partitions_and_the_transaction_log_break_together(name: str, tmp_path: Path) -> None:
    logs, expected = AGAINST[name]
    assert by_kind(found(tmp_path, logs)) == expected


def test_every_kind_is_found_and_names_rules() -> None:
    cases = [*PARTITION.values(), *LOGGED.values(), *AGAINST.values()]
    assert {kind for _, expected in cases for kind, _, _ in expected} == set(KINDS) - {"unmarked"}
    assert {number for rule in KINDS.values() for number in rule.rules} <= set(RULES)


def test_a_finding_names_both_records(tmp_path: Path) -> None:
    """With the transactional id, where the transaction log has it."""
    (copy,) = found(tmp_path, [(P, [data(0, A, 0, time_ms=START_MS), data(1, A, 0, time_ms=START_MS + 5)])])
    assert copy.first == (P, 0, START_MS, 7, 0, 0, "data")
    assert copy.second == (P, 1, START_MS + 5, 7, 0, 0, "data")
    (hanging,) = found(tmp_path, [(P, [data(0, A, 0)]), (LOG, committed(A))])
    assert hanging.transactional_id == "a"
    assert hanging.first is not None
    assert hanging.first[:2] == (LOG, 3)
    assert hanging.first.what == "CompleteCommit"


def test_a_marker_waits_for_its_prepare_record(tmp_path: Path) -> None:
    """On a running cluster it may be read before."""
    checks = Checks()
    for place, batches in [(P, [data(0, A, 0), mark(1, A1, COMMIT)]), (LOG, life((A, ONGOING)))]:
        assert checks.feed(place, segment_of(batches, tmp_path)) == []
    assert checks.settle() == []
    assert found(tmp_path, [(LOG, life((A1, PREPARE_COMMIT), (A1, COMPLETE_COMMIT), first=1))], checks) == []


@pytest.mark.parametrize(
    "value",
    [struct.pack(">hqhib", 9, *A, 60_000, ONGOING), struct.pack(">hqhib", 1, *A, 60_000, 100), b"\x00\x01"],
    ids=["version", "state", "cut"],
)
def test_a_record_of_the_transaction_log_that_is_none_is_refused(value: bytes, tmp_path: Path) -> None:
    segment = segment_of([*committed(A), batch(4, [(id_key("a"), value)])], tmp_path)
    with pytest.raises(RecordingError, match=r"offset 4 is not the transaction log's: .* unknown version or state"):
        Checks().feed(LOG, segment)


def test_hanging_is_reported_once(tmp_path: Path) -> None:
    checks = Checks()
    assert by_kind(found(tmp_path, [(P, [data(0, A, 0)]), (LOG, committed(A))], checks)) == [("hanging", 3, 0)]
    assert checks.settle(last=True) == []
    assert [(each.producer_id, each.first_offset) for each in checks.open()] == [(7, 0)]
    ended = [(P, [mark(1, A2, ABORT)]), (LOG, life((A1, ONGOING), (A2, PREPARE_ABORT), first=4))]
    assert found(tmp_path, ended, checks) == []
    assert checks.open() == []


def test_a_producer_is_forgotten_after_so_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except if its transaction is open, as brokers do."""
    monkeypatch.setattr(partition_checks, "FORGET", 4)
    others = [data(n, (100 + n, 0), 0, attributes=0) for n in range(1, 5)]
    outside, inside = data(0, A, 0, attributes=0), data(0, A, 0)
    for first, expected in ((outside, []), (inside, [("duplicate", 0, 5)])):
        logs = [(P, [first]), *((P, [other]) for other in others), (P, [data(5, A, 0, attributes=0x10)])]
        checks = Checks()
        assert by_kind(found(tmp_path, logs, checks)) == expected
    assert len(checks._partitions[P].entries) <= 5


def test_what_was_given_is_passed_over(tmp_path: Path) -> None:
    checks, batches = Checks(), [data(0, A, 0), data(1, A, 1)]
    assert found(tmp_path, [(P, batches), (P, batches), (P, [*batches, data(2, A, 2)])], checks) == []
    assert checks.next_offset(P) == 3


@pytest.mark.parametrize("stored", [b"", b"PK\x03\x04", Checks().save()[:-40]])
def test_only_what_was_saved_is_loaded(stored: bytes) -> None:
    with pytest.raises(InputError, match="begin anew"):
        Checks.load(stored)
