"""Clients' events are read as they were written, or refused with their line, and make a history without any log."""

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.recording import Header, RecordingError, read_events, record_transactions, write_events
from fencepost.proofs.scale.replay import replay
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from fencepost.properties.transactions.histories.properties import RECORDINGS, SEEDED_HISTORY
from fencepost.reference_impl.kafka.environment import readable
from fencepost.reference_impl.systems.transactions import simulate

SENT = {"time_us": 5, "kind": "record_sent", "client": 0, "txn_id": 0, "txn": 0, "partition": 1, "record": 3,
        "request": 4, "producer_id": 9, "epoch": 2}  # fmt: skip
FAILED = {"time_us": 5, "kind": "record_failed", "client": 0, "txn": 0, "partition": 1}
HEADER = Header(
    mode="v2", ordered=True, quiet_end=True, partitions=(("t", 0, 5), ("t", 1, 0)), groups=("g",),
    transactional_ids=("a",), producer_ids=(4000,), faults={"killed": 2},
)  # fmt: skip


def story(file: Path, header: Header | None, **changed: Any) -> None:
    """Write what clients saw of the example: commits, an abort, and a fence within a transaction."""
    events = []
    for number, row in enumerate(SEEDED_HISTORY.history.rows):
        if Kind(row["kind"]).name in RECORDINGS["clients"]:
            events.append({**row, "kind": Kind(row["kind"]).name, "time_us": number, **changed})
    write_events(file, events, header)


def refusal(file: Path, *lines: Any) -> str:
    """Return the one-line message with which a file of these lines is refused."""
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    with pytest.raises(RecordingError) as refused:
        read_events(file)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(file))
    return str(refused.value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "clients.jsonl"
    story(file, HEADER)
    read = read_events(file)
    rows = [row for row in SEEDED_HISTORY.history.rows if Kind(row["kind"]).name in RECORDINGS["clients"]]
    assert read.header == HEADER
    assert len(read) == len(rows)
    for column in TRANSACTIONS.columns:
        if column.name != "node":
            expected = [row.get(column.name, column.absent) for row in rows]
            assert read.columns[column.name].tolist() == expected, column.name
    assert read.columns["kind"].tolist() == [int(row["kind"]) for row in rows]


def test_columns_without_meaning_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "clients.jsonl"
    everything = {column.name: column.absent for column in TRANSACTIONS.columns}
    write_events(file, [{**everything, **SENT, "node": 3, "offset": 7}])
    assert json.loads(file.read_text()) == SENT


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is not an event of a client"),
        ("[1, 2]", "Expected `object`, got `array`; kind is one of client_started"),
        ({**SENT, "kind": "record_dreamt"}, "Invalid value 'record_dreamt' - at `$.kind`; kind is one of"),
        ({**SENT, "kind": "txn_logged"}, "Invalid value 'txn_logged' - at `$.kind`; kind is one of"),
        ({name: value for name, value in SENT.items() if name != "record"}, "missing required field `record`"),
        ({name: value for name, value in SENT.items() if name != "time_us"}, "missing required field `time_us`"),
        ({**SENT, "offset": 4}, "unknown field `offset`; record_sent has time_us, client, txn_id,"),
        ({**SENT, "epoch": "2"}, "Expected `int`, got `str` - at `$.epoch`"),
        ({**SENT, "epoch": True}, "Expected `int`, got `bool` - at `$.epoch`"),
        ({**SENT, "epoch": 1.5}, "Expected `int`, got `float` - at `$.epoch`"),
        ({**SENT, "epoch": 40_000_000_000}, "Expected `int` <= 2147483647 - at `$.epoch`"),
        ({**SENT, "record": 1 << 70}, "Expected `int` <= 9223372036854775807 - at `$.record`"),
        (FAILED, "missing required field `record`, as there is no error"),
        ({"partitions": []}, "missing required field `kind`"),
    ],
)
def test_a_line_that_is_no_event_is_refused(tmp_path: Path, line: Any, words: str) -> None:
    reported = refusal(tmp_path / "clients.jsonl", SENT, line)
    assert words in reported
    assert "line 2" in reported
    assert "each line is a JSON object with time_us, kind" in reported


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"partition": []}, "Object contains unknown field `partition`"),
        ({"partitions": [["t", 0]]}, "Expected `array` of length 3 - at `$.partitions[0]`"),
        ({"partitions": [["t", 0, 0], ["t", 0, 9]]}, "a partition is named twice"),
        ({"mode": "v3"}, "mode 'v3' is none of v1, v1-verified, v2, mixed"),
        ({"observable": ["txn_logged"]}, "'txn_logged' is nothing that a client sees"),
        ({"groups": [1]}, "Expected `str`, got `int` - at `$.groups[0]`"),
        ({"producer_ids": ["a"]}, "Expected `int`, got `str` - at `$.producer_ids[0]`"),
        ({"ordered": 1}, "Expected `bool`, got `int` - at `$.ordered`"),
        ({"faults": {"killed": "twice"}}, "Expected `int`, got `str` - at `$.faults[...]`"),
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: Any, words: str) -> None:
    assert words in refusal(tmp_path / "clients.jsonl", header, SENT)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be read"):
        read_events(tmp_path / "nowhere")


def test_what_an_error_leaves_out_need_not_be_there(tmp_path: Path) -> None:
    """A send that failed with an error may have no record, but one without an error must have it."""
    file = tmp_path / "clients.jsonl"
    file.write_text(json.dumps({**FAILED, "error": 7}))
    assert read_events(file).columns["record"].tolist() == [-1]


@pytest.mark.parametrize("mode", ["v1", "v1-verified", "v2"])
def test_whatever_clients_of_the_reference_see_can_be_written_and_read(tmp_path: Path, mode: str) -> None:
    """Each kind has the columns that its lines need, even if a send fails before any request left."""
    rows = [row for seed in range(20) for row in simulate(seed, {"mode": mode})]
    events = [event._asdict() for event in map(readable, rows) if event.kind in TRANSACTIONS.black_box]
    assert {event["kind"] for event in events} >= {"record_failed", "end_told", "offset_fetched"}
    write_events(tmp_path / "clients.jsonl", events)
    read = read_events(tmp_path / "clients.jsonl")
    for name in ("time_us", *TRANSACTIONS.names):
        if name != "node":
            assert read.columns[name].tolist() == [event[name] for event in events], name
    assert read.columns["kind"].tolist() == [int(Kind[event["kind"]]) for event in events]


def test_clients_alone_make_a_history(tmp_path: Path) -> None:
    """In the real order of one clock every promise that clients can see is decidable, and holds in the example."""
    story(tmp_path / "clients.jsonl", HEADER)
    recorded = record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    clients = {name for name in transactions.properties if name not in recorded.undecidable}
    assert {"fenced_unread", "open_unread", "commits_kept", "pairs_have_one_owner", "group_offsets_stable"} <= clients
    assert len(clients) == 21
    assert recorded.manifest.ordered
    assert recorded.manifest.faults == {"killed": 2}
    report = replay(tmp_path / "out", cores=1)
    assert report.holds
    assert report.judged["fenced_unread"] > 0


def test_without_an_order_what_needs_it_is_unknown(tmp_path: Path) -> None:
    story(tmp_path / "clients.jsonl", None)
    recorded = record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    assert not recorded.manifest.ordered
    assert recorded.undecidable["fenced_unread"] == "the order of steps across nodes is not known"
    assert "commits_kept" in recorded.decidable


def test_what_a_client_cannot_see_is_unknown(tmp_path: Path) -> None:
    """A header may declare that some kinds are missing, as behind a proxy that sees no readers."""
    story(
        tmp_path / "clients.jsonl",
        Header(observable=("init_sent", "init_taken", "end_told", "fence_told"), ordered=True),
    )
    recorded = record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    assert recorded.decidable == ["pairs_have_one_owner", "epochs_never_fall", "epochs_in_range", "init_bumps_epoch"]


def test_a_broken_promise_is_found_in_clients_alone(tmp_path: Path) -> None:
    """txn.P3: A reader gets a record of an aborted transaction, which is found by name."""
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


@pytest.mark.parametrize("content", ["", "{}\n"])
def test_no_event_at_all_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "clients.jsonl").write_text(content)
    with pytest.raises(RecordingError, match="holds n"):
        record_transactions([], tmp_path / "clients.jsonl", tmp_path / "out")
    assert not (tmp_path / "out").exists()
