"""Lines that members of a group write are read, or refused with their number, and a command records them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from copying_logs import DATA
from fencepost.proofs.recording import GroupHeader, RecordingError, record_group, tag_of, write_members
from fencepost.proofs.recording.group_fencing.member_events import read_members
from fencepost.properties.group_fencing.events import Kind

HEADER = GroupHeader(group="billing", inputs=(("orders", 0, 5, 9), ("orders", 1, 0, 4)))
STARTED = {"time_us": 1, "client": "a-1", "kind": "instance_started", "slot": "a"}
TOLD = {"time_us": 2, "client": "a-1", "kind": "init_told", "txn": "billing-a"}
CONSUMED = {"time_us": 3, "client": "a-1", "kind": "consumed", "partition": 0, "offset": 7, "generation": 3}
BEGUN = {"time_us": 4, "client": "a-1", "kind": "txn_begun"}
SENT = {
    "time_us": 5,
    "client": "a-1",
    "kind": "offset_sent",
    "partition": 0,
    "offset": 8,
    "generation": 3,
    "member": "a",
}
READ = {"time_us": 6, "kind": "output_read", "output": 0, "position": 12, "partition": 0, "offset": 7}
AUDITED = {"time_us": 7, "kind": "audited", "partition": 1, "offset": -1}


def refusal(folder: Path, *lines: Any) -> str:
    """Return the one-line message with which a file of these lines is refused."""
    file = folder / "clients.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    with pytest.raises(RecordingError) as refused:
        read_members(file)
    assert "\n" not in str(refused.value)
    return str(refused.value).removeprefix(str(file))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Names are numbered in the order of their appearance, a client's values hold until changed, offsets count from the
    first, and each event has the number of its client's transaction."""
    other = {**CONSUMED, "client": "b-7", "offset": 5}
    write_members(tmp_path / "c", HEADER, [STARTED, TOLD, CONSUMED, other, BEGUN, SENT, BEGUN, READ, AUDITED])
    seen = read_members(tmp_path / "c")
    assert seen.header == HEADER
    first, second = seen.members
    assert (first.name, second.name) == ("a-1", "b-7")
    assert [Kind(row["kind"]).name for row in first.rows] == [
        "instance_started", "init_told", "consumed", "txn_begun", "offset_sent", "txn_begun",
    ]  # fmt: skip
    assert first.tags == ["a-1/0"] * 3 + [tag_of("a-1", 1)] * 2 + ["a-1/2"]
    assert seen.names["slot"] == ["a", "b-7"] and seen.names["txn"] == ["billing-a"] and seen.names["member"] == ["a"]
    assert [(row["slot"], row["client"]) for row in (*first.rows, *second.rows)] == [(0, 0)] * 6 + [(1, 1)]
    assert [row["txn"] for row in first.rows] == [-1, 0, -1, 0, 0, 0]
    assert [row["offset"] for row in (first.rows[2], second.rows[0], first.rows[4])] == [2, 0, 3]
    assert [(row["partition"], row["offset"]) for row in seen.audit] == [(0, 2), (1, -1)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 is no event of a group"),
        ("[1, 2]", "Expected `object`, got `array`"),
        ({**CONSUMED, "kind": "record_dreamt"}, "Invalid value 'record_dreamt' - at `$.kind`; kind is one of ins"),
        ({**CONSUMED, "kind": "offset_taken"}, "Invalid value 'offset_taken' - at `$.kind`; kind is one of ins"),
        ({**CONSUMED, "kind": ["consumed"]}, "Expected `str` - at `$.kind`; kind is one of instance_"),
        ({**CONSUMED, "offset": "7"}, "Expected `int`, got `str` - at `$.offset`; consumed has time_us, slot, client"),
        ({**CONSUMED, "position": 7}, "Object contains unknown field `position`"),
        ({**CONSUMED, "client": 4}, "client is 4, which is no name"),
        ({**CONSUMED, "partition": 2}, "partition 2 is none of the 2 of the input"),
        ({**CONSUMED, "offset": 4}, "offset 4 is none of partition 0: 5 up to 9"),
        ({**CONSUMED, "offset": 10}, "offset 10 is none of partition 0: 5 up to 9"),
        ({**CONSUMED, "client": ""}, "consumed is of a client, and has to name it"),
        ({name: value for name, value in CONSUMED.items() if name != "client"}, "consumed is of a client"),
        ({**READ, "client": "a-1"}, "output_read is of the auditor, who has no name"),
        (BEGUN, "missing required field `txn`"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_event_is_refused(tmp_path: Path, line: Any, words: str) -> None:
    header = json.loads((DATA / "classic" / "clients.jsonl").read_text().partition("\n")[0])
    reported = refusal(tmp_path, {**header, "inputs": HEADER.inputs}, line)
    assert words in reported
    assert "line 2" in reported and "each line is a JSON object with time_us, kind, its client" in reported


def test_an_auditor_reads_each_output_in_its_order(tmp_path: Path) -> None:
    header = {"group": "billing", "inputs": HEADER.inputs}
    assert "position 12 of output 0 is read after 12" in refusal(tmp_path, header, READ, {**READ, "output": 1}, READ)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (STARTED, "Object contains unknown field"),
        ({"group": "billing"}, "Object missing required field `inputs`"),
        ({"group": "g", "inputs": [["t", 0, 0, 1], ["t", 0, 0, 2]]}, "a partition of the input is named twice"),
        ({"group": "g", "inputs": [["t", 0, 4, 1]]}, "a partition of the input ends before it begins"),
        ({"group": "g", "inputs": [], "mode": "v2"}, "mode 'v2' is none of shipped, group-id-only, new-protocol"),
        ({"group": "g", "inputs": [], "observable": ["offset_taken"]}, "'offset_taken' is nothing that a member or an"),
        ({"group": "g", "inputs": [], "clock_error_us": -1}, "clock_error_us is negative"),
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: Any, words: str) -> None:
    reported = refusal(tmp_path, header, STARTED)
    assert words in reported and "line 1 is no header" in reported


@pytest.mark.parametrize("content", ["", None])
def test_no_lines_are_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "c").write_text(content)
    with pytest.raises(RecordingError, match="there is none" if content == "" else "cannot be read"):
        read_members(tmp_path / "c")


def test_a_group_that_is_not_there(tmp_path: Path) -> None:
    write_members(tmp_path / "c", HEADER, [STARTED])
    with pytest.raises(RecordingError, match="holds nothing of group 'billing'; name the log directories of all"):
        record_group([DATA / "classic" / "node-1"], tmp_path / "c", tmp_path / "out")
    write_members(tmp_path / "c", HEADER, [])
    with pytest.raises(RecordingError, match="holds no event, so there is nothing to judge"):
        record_group([], tmp_path / "c", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_records_what_replay_reads(tmp_path: Path) -> None:
    out, logs = tmp_path / "out", DATA / "left-out"
    words = ("record", "--protocol", "group-fencing", logs / "node-1", "--clients", logs / "clients.jsonl")
    ran = fencepost(*words, "--out", out, "--json", tmp_path / "report.json")
    assert ran.code == 0, ran.err
    assert "4 offset taken" in ran.out and "8 of 13 properties can be decided from it" in ran.out
    assert read_json(tmp_path / "report.json")["events"]["offset_settled"] == 4
    found = fencepost("replay", out)
    assert found.code == 1
    assert (
        "newest owner commits         violated 2 times" in found.out
        and "nothing twice                violated 12" in found.out
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            (DATA / "classic" / "node-1",),
            "--clients FILE is needed: what members saw, under a header that names the group",
        ),
        (
            ("--clients", DATA / "classic" / "clients.jsonl", "--topic", "t"),
            "--topic: the input's partitions stand in the",
        ),
        (
            ("--clients", DATA / "classic" / "clients.jsonl", "--seen", DATA / "classic" / "clients.jsonl"),
            "--seen FILE: no recording of this protocol uses it",
        ),
    ],
)
def test_the_command_says_what_it_needs(tmp_path: Path, words: tuple[Any, ...], says: str) -> None:
    ran = fencepost("record", "--protocol", "group-fencing", *words, "--out", tmp_path / "out")
    assert ran.code == 2 and says in ran.err
