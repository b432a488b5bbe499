"""Clients' events are read as they were written, or refused with their line; alone they make a history too."""

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.recording import Header, RecordingError, read_events, record_transactions, write_events
from fencepost.proofs.scale.replay import replay
from fencepost.properties.transactions.history import properties as transactions
from fencepost.properties.transactions.history.events import TRANSACTIONS, Kind
from fencepost.properties.transactions.history.planted import example

SENT = {"time_us": 5, "kind": "record_sent", "client": 0, "txn_id": 0, "txn": 0, "partition": 1, "record": 3,
        "request": 4, "producer_id": 9, "epoch": 2}  # fmt: skip
HEADER = Header(
    mode="v2", ordered=True, quiet_end=True, partitions=(("t", 0, 5), ("t", 1, 0)), groups=("g",),
    transactional_ids=("a",), producer_ids=(4000,), faults={"killed": 2},
)  # fmt: skip


def story(file: Path, header: Header | None, **changed: Any) -> None:
    """What clients saw of the example: commits, an abort, a fence amid a transaction."""
    events = []
    for number, row in enumerate(example().rows):
        if Kind(row["kind"]).name in transactions.RECORDINGS["clients"]:
            events.append({**row, "kind": Kind(row["kind"]).name, "time_us": number, **changed})
    write_events(file, events, header)


def refusal(file: Path, *lines: Any) -> str:
    """The one line with which a file of these lines is refused."""
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    with pytest.raises(RecordingError) as refused:
        read_events(file)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(file))
    return str(refused.value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Header and all columns, those that do not apply as absent."""
    file = tmp_path / "clients.jsonl"
    story(file, HEADER)
    read = read_events(file)
    rows = [row for row in example().rows if Kind(row["kind"]).name in transactions.RECORDINGS["clients"]]
    assert read.header == HEADER
    assert len(read) == len(rows)
    for column in TRANSACTIONS.columns:
        if column.name != "node":
            expected = [row.get(column.name, column.absent) for row in rows]
            assert read.columns[column.name].tolist() == expected, column.name
    assert read.columns["kind"].tolist() == [int(row["kind"]) for row in rows]


def test_columns_without_meaning_are_left_out(tmp_path: Path) -> None:
    """A writer may hand over all columns of an event; the file says only what applies, and never the node."""
    file = tmp_path / "clients.jsonl"
    everything = {column.name: column.absent for column in TRANSACTIONS.columns}
    write_events(file, [{**everything, **SENT, "node": 3, "offset": 7}])
    assert json.loads(file.read_text()) == SENT


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is not an event of a client"),
        ("[1, 2]", "it is no JSON object"),
        ({**SENT, "kind": "record_dreamt"}, "unknown kind 'record_dreamt'"),
        ({**SENT, "kind": "txn_logged"}, "txn_logged is nothing that a client sees"),
        ({name: value for name, value in SENT.items() if name != "record"}, "record_sent lacks 'record'"),
        ({name: value for name, value in SENT.items() if name != "time_us"}, "record_sent lacks 'time_us'"),
        ({**SENT, "offset": 4}, "record_sent has no column 'offset' (it has: client, txn_id,"),
        ({**SENT, "epoch": "2"}, "epoch is '2', not a whole number"),
        ({**SENT, "epoch": True}, "epoch is True, not a whole number"),
        ({**SENT, "epoch": 1.5}, "epoch is 1.5, not a whole number"),
        ({"partitions": []}, "unknown kind None"),
    ],
)
def test_a_line_that_is_no_event_is_refused(tmp_path: Path, line: Any, words: str) -> None:
    """With its number, what is wrong, and what a line is."""
    told = refusal(tmp_path / "clients.jsonl", SENT, line)
    assert words in told
    assert "line 2" in told
    assert "each line is a JSON object with time_us, kind" in told


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"partition": []}, "a header has no 'partition'"),
        ({"partitions": [["t", 0]]}, "partition ['t', 0] is not [topic, partition, first offset]"),
        ({"partitions": [["t", 0, 0], ["t", 0, 9]]}, "a partition is named twice"),
        ({"mode": "v3"}, "mode 'v3' is none of v1, v1-verified, v2, mixed"),
        ({"observable": ["txn_logged"]}, "'txn_logged' is nothing that a client sees"),
        ({"groups": [1]}, "groups, transactional_ids and record_key are strings"),
        ({"producer_ids": ["a"]}, "producer_ids whole numbers"),
        ({"ordered": 1}, "ordered and quiet_end are true or false"),
        ({"faults": {"killed": "twice"}}, "faults is an object of whole numbers"),
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: Any, words: str) -> None:
    """It is the first line, or there is none."""
    assert words in refusal(tmp_path / "clients.jsonl", header, SENT)


def test_numbers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    assert "has the value 40000000000 for epoch" in refusal(tmp_path / "a", {**SENT, "epoch": 40_000_000_000})
    assert "beyond 64 bits" in refusal(tmp_path / "b", {**SENT, "record": 1 << 70})
    with pytest.raises(RecordingError, match="cannot be read"):
        read_events(tmp_path / "nowhere")


def test_clients_alone_make_a_history(tmp_path: Path) -> None:
    """In the real order of one clock every promise that clients can see is decidable, and the example keeps them."""
    story(tmp_path / "clients.jsonl", HEADER)
    recorded = record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    clients = {name for name in transactions.PROPERTIES if name not in recorded.undecidable}
    assert {"fenced_unread", "open_unread", "commits_kept", "pairs_have_one_owner", "group_offsets_stable"} <= clients
    assert len(clients) == 19
    assert recorded.manifest.ordered
    assert recorded.manifest.faults == {"killed": 2}
    report = replay(tmp_path / "out", cores=1)
    assert report.holds
    assert report.judged["fenced_unread"] > 0


def test_without_an_order_what_needs_it_is_unknown(tmp_path: Path) -> None:
    """Several clocks, or none that says that it is one."""
    story(tmp_path / "clients.jsonl", None)
    recorded = record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    assert not recorded.manifest.ordered
    assert recorded.undecidable["fenced_unread"] == "the order of steps across nodes is not known"
    assert "commits_kept" in recorded.decidable


def test_what_a_client_cannot_see_is_unknown(tmp_path: Path) -> None:
    """A header may say that not all kinds are there, as behind a proxy that sees no readers."""
    story(
        tmp_path / "clients.jsonl",
        Header(observable=("init_sent", "init_taken", "end_told", "fence_told"), ordered=True),
    )
    recorded = record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    assert recorded.decidable == ["pairs_have_one_owner", "epochs_never_fall", "epochs_in_range", "init_bumps_epoch"]


def test_a_broken_promise_is_found_in_clients_alone(tmp_path: Path) -> None:
    """A reader that is given a record of an aborted transaction: txn.P3, by name."""
    file = tmp_path / "clients.jsonl"
    story(file, HEADER)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    aborted = next(line["txn"] for line in lines[1:] if line["kind"] == "end_told" and line["outcome"] == 0)
    sent = next(line for line in lines[1:] if line["kind"] == "record_sent" and line["txn"] == aborted)
    read = {
        "kind": "record_read",
        "client": 1000,
        "partition": sent["partition"],
        "offset": 99,
        "record": sent["record"],
    }
    file.write_text("\n".join(map(json.dumps, [*lines, {"time_us": lines[-1]["time_us"], **read}])))
    record_transactions([], file, tmp_path / "out")
    report = replay(tmp_path / "out", cores=1)
    assert report.violations["aborts_unread"]["count"] == 1
    assert f"record {sent['record']}" in str(report.violations["aborts_unread"]["first"])


def test_no_event_at_all_is_a_history_of_none(tmp_path: Path) -> None:
    """An empty file is read; nothing is judged."""
    (tmp_path / "clients.jsonl").write_text("")
    record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    assert not any(replay(tmp_path / "out", cores=1).judged.values())
