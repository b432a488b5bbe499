"""In logs of an old cluster, what the log cleaner, retention or DeleteRecords removed makes only that part undecidable.

The logs are the real ones of three nodes. A defect in the rest is found, and correct content stays correct.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.proofs.recording import Header, record_transactions, write_events
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.traces.kernel import Undecided, conformance_of
from transaction_logs import (
    REAL,
    TOPIC,
    compacted,
    deleted,
    marker,
    real_logs,
    sent,
    starts,
    state,
    turned_round,
    write_log,
)

CLIENTS = REAL / "clients.jsonl"
OFFSETS, LOG = "__consumer_offsets-0", "__transaction_state-0"
TRIMMED, OTHER = f"{TOPIC}-0", f"{TOPIC}-1"
DECIDED = {True: 35, False: 9}  # with and without clients: as many as of whole logs
NEEDS_LOG = ("markers_agree", "markers_as_prepared", "states_follow_on", "logged_epochs_never_fall", "ends_bump_epoch")
Worn = Callable[[Sequence[Path]], None]
HOLES: dict[str, tuple[Worn, str]] = {
    "offsets cleaned": (
        lambda nodes: compacted(nodes, OFFSETS, 2), f"{OFFSETS} is compacted between offsets 0 and 2",
    ),
    "partition trimmed": (
        lambda nodes: deleted(nodes, TRIMMED, 2), f"{TRIMMED} begins at offset 2, as what was before is deleted",
    ),
    "partition compacted": (
        lambda nodes: compacted(nodes, TRIMMED, 4), f"{TRIMMED} is compacted between offsets 0 and 4",
    ),
    "transaction log cleaned": (
        lambda nodes: compacted(nodes, LOG, 3), f"{LOG} is compacted between offsets 0 and 3",
    ),
}  # fmt: skip


@pytest.fixture(params=HOLES)
def hole(request: pytest.FixtureRequest) -> tuple[Worn, str]:
    """Return one of the kinds of wear, and its description."""
    return HOLES[request.param]


@pytest.mark.parametrize("clients", [CLIENTS, None])
def test_what_is_left_of_right_logs_is_right(hole: tuple[Worn, str], clients: Path | None, tmp_path: Path) -> None:
    nodes = real_logs(tmp_path)
    wear, why = hole
    wear(nodes)
    reported, report = record_transactions(nodes, clients, tmp_path / "out"), replay(tmp_path / "out", cores=1)
    assert report.holds
    assert len(reported.decidable) == len(report.decided) == DECIDED[clients is not None]
    (note,) = (note for note in reported.notes if "judged whole" in note)
    assert note.startswith(f"{3 if clients else 9} partitions judged whole, 1 not: {why}, and is judged from offset ")


@pytest.mark.parametrize("partition", [TRIMMED, OTHER])
@pytest.mark.parametrize("clients", [CLIENTS, None])
def test_a_marker_turned_round_is_found_in_what_is_left(
    hole: tuple[Worn, str], clients: Path | None, partition: str, tmp_path: Path
) -> None:
    nodes = real_logs(tmp_path)
    hole[0](nodes)
    turned_round(nodes, partition)
    record_transactions(nodes, clients, tmp_path / "out")
    found = {"markers_agree", "markers_as_prepared"}
    if clients is not None:
        found |= {"markers_as_told", "reads_as_marked", "transactions_share_fate"}
    assert set(replay(tmp_path / "out", cores=1).violations) == found


def test_the_commands_say_what_is_judged(tmp_path: Path) -> None:
    nodes = real_logs(tmp_path)
    compacted(nodes, OFFSETS, 2)
    turned_round(nodes, OTHER)
    ran = fencepost("record", "--protocol", "transactions", *nodes, "--clients", CLIENTS, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    why = f"{OFFSETS} is compacted between offsets 0 and 2"
    assert f"3 partitions judged whole, 1 not: {why}, and is judged from offset 2 on" in ran.out
    ran = fencepost("replay", tmp_path / "out", "--no-conformance")
    assert ran.code == 1
    assert f"1 log judged in part, as far as left: {why}" in ran.out
    assert "markers agree                violated once" in ran.out


def test_nothing_left_is_nothing_judged(tmp_path: Path) -> None:
    """If the transaction log has no lower epoch, it is unknown whether a marker had a Prepare."""
    write_log(tmp_path / "n", "t-0", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    write_log(tmp_path / "n", LOG, [state(0, "a", (7, 0), 0), state(3, "a", (7, 0), 4), state(4, "a", (7, 0), 1)])
    record_transactions([tmp_path / "n"], None, tmp_path / "out")
    report = replay(tmp_path / "out", cores=1)
    assert report.holds
    why = f"nothing to judge in what is left of the logs: {LOG} is compacted between offsets 1 and 3"
    assert report.unknown["markers_as_prepared"] == why
    assert "states_follow_on" in report.decided


def test_a_partition_of_the_transaction_log_that_is_not_there_accuses_nobody(tmp_path: Path) -> None:
    """The missing disk may have had the Prepare of a producer id that no other partition has."""
    write_log(tmp_path / "n", "t-0", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    write_log(tmp_path / "n", "t-1", [sent(0, (8, 0), 0, b"1"), marker(1, (8, 0), True)])
    log = [state(n, "b", (8, 0), each) for n, each in enumerate([0, 1, 2, 4])]
    write_log(tmp_path / "n", "__transaction_state-1", log)
    reported, report = record_transactions([tmp_path / "n"], None, tmp_path / "out"), replay(tmp_path / "out", cores=1)
    assert report.holds
    assert report.judged["markers_as_prepared"] == 1
    cuts = reported.manifest.config["cuts"]
    assert [cut["why"] for cut in cuts] == ["__transaction_state-0 is not among the directories"]


@pytest.mark.parametrize(("lost", "decided"), [(TRIMMED, 35), (OFFSETS, 35), (LOG, 29)])
def test_lost_logs_void_themselves(lost: str, decided: int, tmp_path: Path) -> None:
    nodes = real_logs(tmp_path)
    for node in nodes:
        shutil.rmtree(node / lost)
    words = ["record", "--protocol", "transactions", *nodes, "--clients", CLIENTS, "--out", tmp_path / "out"]
    refused = fencepost(*words)
    assert refused.code == 2
    assert "if it is lost for good, --config incomplete=true judges what is there" in refused.err
    ran = fencepost(*words, "--config", "incomplete=true")
    assert ran.code == 0, ran.err
    assert f"3 partitions judged whole, 1 not: {lost} is not among the directories, and is not judged" in ran.out
    report = replay(tmp_path / "out", cores=1)
    assert report.holds
    assert len(report.decided) == decided
    assert all(lost in report.unknown[name] for name in {*NEEDS_LOG} - {*report.decided})
    turned_round(nodes, OTHER)
    record_transactions(nodes, CLIENTS, tmp_path / "turned", incomplete=True)
    assert set(replay(tmp_path / "turned", cores=1).violations) >= {"markers_as_told", "reads_as_marked"}


def test_sequences_that_begin_above_0_are_no_violation(tmp_path: Path) -> None:
    """The rest begins with a marker within an epoch, whose next number was 5, and the number after it is judged."""
    rest = [marker(5, (7, 0), True), sent(6, (7, 0), 5, b"1"), sent(7, (7, 0), 6, b"2"), marker(8, (7, 0), True)]
    file = write_log(tmp_path / "n", "t-0", rest, first=5)
    assert len(starts(file)) == 4
    record_transactions([tmp_path / "n"], None, tmp_path / "out")
    report = replay(tmp_path / "out", cores=1)
    assert report.holds
    assert report.judged["sequences_follow_on"] == 1
    write_log(tmp_path / "n", "t-0", [*rest[:2], sent(7, (7, 0), 9, b"2"), *rest[3:]], first=5)
    record_transactions([tmp_path / "n"], None, tmp_path / "other")
    assert replay(tmp_path / "other", cores=1).violations["sequences_follow_on"]["count"] == 1


def test_a_run_that_begins_amid_a_batch_is_judged_from_the_next(tmp_path: Path) -> None:
    """The clients' header has offset 1, and the first two records are one batch of another program."""
    write_log(tmp_path / "n", "t-0", [sent(0, (7, 0), 0, b"1", b"2"), sent(2, (7, 0), 2, b"3")])
    write_events(tmp_path / "seen.jsonl", [], Header(partitions=(("t", 0, 1),)))
    reported = record_transactions([tmp_path / "n"], tmp_path / "seen.jsonl", tmp_path / "out")
    assert reported.counts == {"batch_appended": 1}
    (cut,) = reported.manifest.config["cuts"]
    assert (cut["below"], cut["why"]) == (2, "t-0 has a batch that begins before offset 1 and ends after it")


def test_conformance_follows_no_run_without_its_beginning(tmp_path: Path) -> None:
    nodes = real_logs(tmp_path)
    deleted(nodes, TRIMMED, 2)
    reported = record_transactions(nodes, CLIENTS, tmp_path / "out")
    kernel = conformance_of(reported.manifest)
    assert isinstance(kernel, Undecided)
    why = f"{TRIMMED} begins at offset 2, as what was before is deleted"
    assert kernel.reason == f"a run is followed from its beginning on, but {why}"


def test_cuts_that_are_none_are_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "n", "t-0", [marker(5, (7, 0), True)], first=5)
    record_transactions([tmp_path / "n"], None, tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    reported = json.loads(manifest.read_text())
    reported["config"]["cuts"] = [{"below": 5}]
    manifest.write_text(json.dumps(reported))
    ran = fencepost("replay", tmp_path / "out")
    assert ran.code == 2
    assert "the config's cuts are none of logs: Object missing required field `kinds`" in ran.err
