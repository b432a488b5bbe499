"""Real logs of three nodes and their clients become one history that holds, and edited copies are caught by name."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import fencepost
from fencepost.proofs.recording import Header, RecordedTransactions, RecordingError, record_transactions, write_events
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.properties.transactions.events.kinds import Kind
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from kio.records.readers import read_batch
from transaction_logs import (
    MARKER_TYPE_AT,
    REAL,
    TOPIC,
    batch,
    marker,
    real_logs,
    rewritten,
    segment,
    sent,
    starts,
    state,
    write_log,
)

CLIENTS = REAL / "clients.jsonl"
UNDECIDABLE = {
    "appended_while_added", "completed_after_markers", "duplicates_answered_rightly", "ends_answered_as_logged",
    "fenced_appends_unread", "fetches_stop_at_stable", "init_answered_when_idle", "lone_client_never_fenced",
    "markers_after_prepare", "markers_as_decided", "prepared_as_asked", "stable_below_open", "stable_never_falls",
}  # fmt: skip
LOGS_ALONE = {
    "partition_epochs_never_fall", "sequences_follow_on", "one_epoch_while_open", "markers_as_prepared",
    "markers_agree", "coordinators_never_older", "states_follow_on", "logged_epochs_never_fall", "ends_bump_epoch",
}  # fmt: skip


def recorded(
    directories: list[Path], clients: Path | None, out: Path, **options: Any
) -> tuple[RecordedTransactions, ReplayReport]:
    """Return the recording of these logs, and its replay report."""
    return record_transactions(directories, clients, out, **options), replay(out, cores=1)


def test_real_logs_hold(tmp_path: Path) -> None:
    reported, report = recorded(real_logs(tmp_path), CLIENTS, tmp_path / "out")
    assert report.holds
    assert set(reported.undecidable) == UNDECIDABLE == set(report.unknown)
    assert all(report.judged.values()), report.judged
    assert set(reported.decidable) == set(transactions.properties) - UNDECIDABLE
    assert not reported.notes
    assert reported.manifest.faults == {"killed": 1}
    assert (reported.manifest.ordered, reported.manifest.source, reported.manifest.variant) == (False, "recorded", "v2")


def test_the_history_is_the_logs(tmp_path: Path) -> None:
    """An independent library reads the same batches and markers of a partition, one for one."""
    recorded(real_logs(tmp_path), CLIENTS, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "part-00000.parquet").to_pylist()
    for partition in (0, 1):
        content, at, expected = segment(REAL / "node-2", f"{TOPIC}-{partition}").read_bytes(), 0, []
        while at < len(content):
            reported, size = read_batch(content[at:], 0)
            at += size
            for each in reported.records:
                control = bool(reported.attributes & 0x20)
                pair = (int(reported.producer_id), int(reported.producer_epoch))
                what = (int(each.key[3]), -1) if control else (-1, int(each.value))
                expected.append((int(each.offset), *pair, *what))
        kinds = (Kind.batch_appended, Kind.marker_appended)
        there = [row for row in rows if row["kind"] in kinds and row["partition"] == partition]
        names = ("offset", "producer_id", "epoch", "outcome", "record")
        assert [tuple(row[name] for name in names) for row in there] == expected


def test_logs_alone_decide_what_is_in_them(tmp_path: Path) -> None:
    """Logs alone cannot decide that a record was appended twice, since records cannot be distinguished."""
    reported, report = recorded(real_logs(tmp_path), None, tmp_path / "out")
    assert set(reported.decidable) == LOGS_ALONE
    assert "values are their numbers" in reported.undecidable["appended_once"]
    assert report.holds


def test_at_rest_nothing_hangs(tmp_path: Path) -> None:
    """The caller may declare a quiet end, which is not believed of a transaction that is being ended."""
    reported, report = recorded(real_logs(tmp_path), None, tmp_path / "out", quiet_end=True)
    assert "none_hanging" in reported.decidable
    assert report.judged["none_hanging"] > 0
    log = [state(0, "a", (7, 0), 1), state(1, "a", (7, 0), 2)]
    write_log(tmp_path / "small", "__transaction_state-0", log)
    write_log(tmp_path / "small", "t-0", [sent(0, (7, 0), 0, b"1")])
    reported, _ = recorded([tmp_path / "small"], None, tmp_path / "other", quiet_end=True)
    assert "none_hanging" in reported.undecidable
    assert "transactional id 'a' was being ended when the log was read" in reported.notes


def test_a_hanging_transaction_is_found(tmp_path: Path) -> None:
    """txn.P10: On disk a record follows the marker, and no coordinator knows of it."""
    batches = [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), False), sent(2, (7, 0), 1, b"2")]
    write_log(tmp_path / "n", "t-0", batches)
    write_log(
        tmp_path / "n", "__transaction_state-0", [state(n, "a", (7, 0), each) for n, each in enumerate([0, 1, 3, 5])]
    )
    reported, report = recorded([tmp_path / "n"], None, tmp_path / "out", quiet_end=True)
    assert reported.manifest.config["mode"] == "v1"
    assert report.violations["none_hanging"]["count"] == 1
    assert "stays open; the coordinator's last is" in str(report.violations["none_hanging"]["first"])


def test_a_marker_turned_round_is_found(tmp_path: Path) -> None:
    """Every replica has an abort marker for a committed transaction, which contradicts log, owner and readers."""
    directories = real_logs(tmp_path)
    for directory in directories:
        file = segment(directory, f"{TOPIC}-0")
        content = file.read_bytes()
        markers = [row for row, at in enumerate(starts(file)) if content[at + 22] & 0x20]
        commit = next(row for row in markers if content[starts(file)[row] + MARKER_TYPE_AT] == 1)
        rewritten(file, commit, MARKER_TYPE_AT, b"\x00")
    _, report = recorded(directories, CLIENTS, tmp_path / "out")
    assert set(report.violations) >= {"markers_as_prepared", "markers_as_told", "reads_as_marked"}
    assert report.violations["markers_as_prepared"]["count"] == 1


def test_a_zombies_record_is_found(tmp_path: Path) -> None:
    """txn.12: A batch with an older epoch follows a marker of a newer one, as a broker without fences accepts it."""
    batches = [sent(0, (7, 1), 0, b"1"), marker(1, (7, 2), True), sent(2, (7, 1), 1, b"2")]
    write_log(tmp_path / "n", "t-0", batches)
    _, report = recorded([tmp_path / "n"], None, tmp_path / "out")
    assert report.violations["partition_epochs_never_fall"]["count"] == 1


def test_a_record_twice_is_found(tmp_path: Path) -> None:
    """txn.14: A retry was appended again, so that two offsets have the same number."""
    directories = real_logs(tmp_path)
    for directory in directories:
        file = segment(directory, f"{TOPIC}-0")
        content, begins = file.read_bytes(), starts(file)
        data = [row for row, at in enumerate(begins) if not content[at + 22] & 0x20]
        first, second = (content[begins[row] : begins[row + 1]] for row in data[:2])
        assert len(first) == len(second)
        rewritten(
            file, data[1], len(second) - 2, first[-2:-1]
        )  # the last digit of the value, before the headers' count
    _, report = recorded(directories, CLIENTS, tmp_path / "out")
    assert report.violations["appended_once"]["count"] == 1


def test_reads_of_what_lies_elsewhere_are_found(tmp_path: Path) -> None:
    """txn.17: A client got a record at an offset where the log has another one."""
    lines = [json.loads(line) for line in CLIENTS.read_text().splitlines()]
    read = next(line for line in lines[1:] if line["kind"] == "record_read")
    read["offset"] += 1
    (tmp_path / "seen.jsonl").write_text("\n".join(map(json.dumps, lines)))
    _, report = recorded(real_logs(tmp_path), tmp_path / "seen.jsonl", tmp_path / "out")
    assert "reads_as_marked" in report.violations


def test_acknowledgements_beyond_the_logs_are_noted(tmp_path: Path) -> None:
    """The logs were copied too early, or the cluster lost acknowledged records."""
    directories = real_logs(tmp_path)
    for directory in directories:
        for file in (segment(directory, f"{TOPIC}-0"), directory / "replication-offset-checkpoint"):
            file.write_bytes(file.read_bytes()[: starts(file)[4]] if file.suffix == ".log" else b"0\n0\n")
    reported, report = recorded(directories, CLIENTS, tmp_path / "out")
    assert any("acknowledged records lie beyond the committed logs" in note for note in reported.notes)
    assert "reads_as_marked" in report.violations


def test_records_outside_of_transactions_are_left_out(tmp_path: Path) -> None:
    plain = sent(1, (9, 0), 0, b"2")
    write_log(tmp_path / "n", "t-0", [sent(0, (7, 0), 0, b"1"), plain, marker(2, (7, 0), True)])
    rewritten(segment(tmp_path / "n", "t-0"), 1, 21, b"\x00\x00")  # attributes: an idempotent producer's
    reported, report = recorded([tmp_path / "n"], None, tmp_path / "out")
    assert reported.counts == {"batch_appended": 1, "marker_appended": 1}
    assert "1 records outside of transactions are left out" in reported.notes
    assert report.holds


def test_clients_without_a_header_cannot_be_matched(tmp_path: Path) -> None:
    lines = CLIENTS.read_text().splitlines()
    (tmp_path / "seen.jsonl").write_text("\n".join(lines[1:]))
    with pytest.raises(RecordingError, match="has no header, so its numbers cannot be matched with logs"):
        record_transactions(real_logs(tmp_path), tmp_path / "seen.jsonl", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_partition_that_is_not_there_is_refused(tmp_path: Path) -> None:
    lines = CLIENTS.read_text().splitlines()
    (tmp_path / "seen.jsonl").write_text("\n".join([lines[0].replace(TOPIC, "elsewhere"), *lines[1:]]))
    with pytest.raises(RecordingError, match="names partition elsewhere-0, which none of the log directories holds"):
        record_transactions(real_logs(tmp_path), tmp_path / "seen.jsonl", tmp_path / "out")


def test_one_topic_can_be_chosen(tmp_path: Path) -> None:
    write_log(tmp_path / "n", "good-0", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    write_log(tmp_path / "n", "bad-0", [b"no log, whatever it is called"])
    with pytest.raises(RecordingError, match="bad-0"):
        record_transactions([tmp_path / "n"], None, tmp_path / "out")
    reported = record_transactions([tmp_path / "n"], None, tmp_path / "out", topics=["good"])
    assert reported.manifest.config["partitions"] == ["good-0"]


def test_the_command_says_what_is_decidable(tmp_path: Path) -> None:
    directories = real_logs(tmp_path)
    words = ["record", "--protocol", "transactions", *directories, "--clients", CLIENTS, "--out", tmp_path / "out"]
    ran = fencepost(*words, "--json", tmp_path / "told.json")
    assert ran.code == 0, ran.err
    assert "35 of 48 properties can be decided from it (commits kept, " in ran.out
    assert f"taken for committed: {TOPIC}-0 below offset 10, {TOPIC}-1 below offset 10" in ran.out
    assert "the histories do not show batch duplicate, coordinator loaded, end handled and" in ran.out
    reported = json.loads((tmp_path / "told.json").read_text())
    assert len(reported["decidable"]) + len(reported["undecidable"]) == len(transactions.properties)
    assert fencepost("replay", tmp_path / "out", "--no-conformance").code == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "name log directories, or --clients FILE, or both"),
        (["/"], "fencepost: /: holds no meta.properties, so it is not the log directory of a Kafka node; name"),
        (["--clients", "/nowhere"], "fencepost: /nowhere: cannot be read:"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, words: list[str], line: str) -> None:
    ran = fencepost("record", "--protocol", "transactions", *words, "--out", tmp_path / "out")
    assert ran.code == 2
    assert line in ran.err
    assert ran.err.count("\n") == 1


def test_two_directories_of_a_node_are_one_node(tmp_path: Path) -> None:
    """Partitions may be spread over several disks, and progress reports have each segment and its size."""
    write_log(tmp_path / "disk-1", "t-0", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    write_log(tmp_path / "disk-2", "t-1", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    seen: list[tuple[str, int]] = []
    reported = record_transactions(
        [tmp_path / "disk-1", tmp_path / "disk-2"], None, tmp_path / "out",
        progress=lambda file, size: seen.append((file.parent.name, size)),
    )  # fmt: skip
    assert reported.nodes == (1,)
    assert reported.counts == {"batch_appended": 2, "marker_appended": 2}
    assert [name for name, _ in seen] == ["t-0", "t-1"]
    assert sum(size for _, size in seen) == reported.bytes_read


def test_clients_of_several_versions_are_mixed(tmp_path: Path) -> None:
    v1 = [state(n, "a", (7, 0), each) for n, each in enumerate([0, 1, 2, 4])]
    v2 = [
        state(n, "b", (8, epoch), each, version=1)
        for n, (epoch, each) in enumerate([(0, 0), (0, 1), (1, 2), (1, 4), (2, 3)], 4)
    ]
    write_log(tmp_path / "n", "__transaction_state-0", v1 + v2)
    reported, report = recorded([tmp_path / "n"], None, tmp_path / "out")
    assert reported.manifest.config["mode"] == "mixed"
    assert "clients of transaction.version 2 and of older ones are mixed" in reported.notes
    assert reported.not_promised["ends_bump_epoch"] == "mode mixed does not promise it"
    assert report.holds
    assert report.judged["states_follow_on"] == 7


def test_one_log_has_an_order(tmp_path: Path) -> None:
    write_log(tmp_path / "n", "t-0", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    assert record_transactions([tmp_path / "n"], None, tmp_path / "one").manifest.ordered
    write_log(tmp_path / "n", "t-1", [sent(0, (7, 0), 0, b"1"), marker(1, (7, 0), True)])
    assert not record_transactions([tmp_path / "n"], None, tmp_path / "two").manifest.ordered


def test_events_stand_in_log_order_whatever_the_clocks_say(tmp_path: Path) -> None:
    """Batches have their producers' times, but a clock that goes back or is far off does not change the order."""
    times = [5_000, 1_000, 2**62, 2_000]
    rows = [
        batch(n, [(None, b"x")], producer=(7, 0), sequence=n, attributes=16, time_ms=each)
        for n, each in enumerate(times)
    ]
    write_log(tmp_path / "n", "t-0", rows)
    _, report = recorded([tmp_path / "n"], None, tmp_path / "out")
    assert report.holds
    table = pq.read_table(tmp_path / "out" / "part-00000.parquet").to_pydict()
    assert table["offset"] == [0, 1, 2, 3]
    assert table["time_us"] == sorted(table["time_us"])


def test_another_programs_records_have_no_numbers(tmp_path: Path) -> None:
    """If the header has the clients' key, records with another key are not regarded as theirs."""
    keys = [b"ours", b"theirs", b"ourz", None, b"ours"]
    rows = [
        batch(n, [(key, b"%d" % n)], producer=(7, 0), sequence=n, attributes=16) for n, key in enumerate(keys)
    ]  # fmt: skip
    write_log(tmp_path / "n", "t-0", rows)
    header = Header(partitions=(("t", 0, 0),), record_key="ours")
    write_events(tmp_path / "seen.jsonl", [], header)
    record_transactions([tmp_path / "n"], tmp_path / "seen.jsonl", tmp_path / "out")
    numbers = pq.read_table(tmp_path / "out" / "part-00000.parquet")["record"].to_pylist()
    assert (numbers[0], numbers[4]) == (0, 4)
    assert all(number >= 1 << 40 for number in numbers[1:4])
    assert len(set(numbers)) == 5
