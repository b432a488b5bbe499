"""What `fencepost replay` prints: one screen of sentences, in the terms of those who ran the system.

The texts are whole, but for the files that judge and how fast it was."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.cli.shared.replay_lines import Lines
from fencepost.proofs.replays import recordings
from fencepost.proofs.scale.replay import replay
from fencepost.properties.history import HistoryDirectory, HistoryError, Manifest, read_piece, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.history.naming import Naming
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.id_blocks.events import Kind as IdKind
from fencepost.properties.transactions.events.kinds import Kind as TransactionKind
from rich.text import Text

Columns = dict[str, np.ndarray]
SIGKILL = next(place for place in recordings("transactions") if place.name.endswith("sigkill"))


def doctored(place: Any, change: Callable[[Columns], Columns | None], out: Path) -> None:
    """A copy of histories after one change of their columns."""
    opened = HistoryDirectory.open(place)
    columns, _ = read_piece(opened.pieces[0], opened.vocabulary, opened.vocabulary.schema.names)
    columns = {name: values.copy() for name, values in columns.items()}
    columns = change(columns) or columns
    manifest = opened.manifest
    about = {name: getattr(manifest, name) for name in ("variant", "source", "ordered", "observable", "config")}
    write_histories(out, [columns], opened.vocabulary, **about)


def text_of(*words: object, code: int) -> str:
    """What a replay prints, without its first line, and without a rate."""
    ran = fencepost("replay", *words, "--cores", 1)
    assert ran.code == code, ran.out + ran.err
    _, _, text = ran.out.partition("\n")
    return re.sub(r"[\d,]+ events/s", "N events/s", text)


def made(out: Path, name: str, histories: int, *config: str) -> Path:
    words = [word for each in config for word in ("--config", each)]
    assert fencepost("generate", name, out, "--histories", histories, "--cores", 1, *words).code == 0
    return out


def id_twice(columns: Columns) -> None:
    """The last id that is handed out in history 1 is the first one."""
    given = np.flatnonzero((columns["kind"] == IdKind.id_handed_out) & (columns["history"] == 1))
    columns["producer_id"][given[-1]] = columns["producer_id"][given[0]]


def one_marker_turned(columns: Columns) -> None:
    """A transaction that committed is aborted on one of its partitions."""
    marker = np.flatnonzero(columns["kind"] == TransactionKind.marker_appended)[3]
    columns["outcome"][marker] = 1 - columns["outcome"][marker]


def batch_and_marker_again(columns: Columns) -> Columns:
    """A batch and its marker stand in the log of partition 0 once more, behind the marker."""
    kind, there = columns["kind"], columns["partition"] == 0
    log = np.flatnonzero(there & np.isin(kind, (TransactionKind.batch_appended, TransactionKind.marker_appended)))
    after = np.flatnonzero(kind[log] == TransactionKind.marker_appended)[1]
    batch, marker = log[after - 1], log[after]
    rows = np.insert(np.arange(len(kind)), marker + 1, [batch, marker])
    copy = {name: values[rows] for name, values in columns.items()}
    copy["step"], copy["time_us"] = np.arange(len(rows), dtype=np.int32), np.maximum.accumulate(copy["time_us"])
    copy["offset"][[marker + 1, marker + 2, *(log[after + 1 :] + 2)]] += 2
    return copy


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """Simulated histories in which an id is handed out twice."""
    doctored(made(tmp_path / "made", "id-blocks/kraft", 3, "events=60"), id_twice, tmp_path / "twice")
    return tmp_path / "twice"


def test_a_simulated_history_that_violates(twice: Path) -> None:
    """By numbers, and in seconds from the beginning of the history."""
    assert (
        text_of(twice, "--no-conformance", "--check", "ids unique", code=1)
        == f"""\
1 of 1 property is violated
180 events, 3 histories, 1 piece, N events/s
    ids unique                   violated once
        It demands: no producer id is handed out twice (730.P1).
        First in history 1, step 44, 0.154769 s after the history began: \
broker 0 hands out id 0 at step 44; broker 1 did so at step 18.
        The event: id handed out at step 44 (broker 0, producer id 0).
        The event that explains it: id handed out at step 18 (broker 1, producer id 0), \
0.036718 s after the history began.
        Draw it: fencepost replay {twice} --check 'ids unique' --html RUN.html
"""
    )


def test_the_command_draws_it(twice: Path, tmp_path: Path) -> None:
    """The line that is printed is one that can be run; of the model, which is no property to check, as well."""
    text = text_of(twice, code=1)
    drawn = [split(line.partition("Draw it: ")[2]) for line in text.splitlines() if "Draw it: " in line]
    assert [words[3:-2] for words in drawn] == [[], ["--check", "ids increase"], ["--check", "ids unique"]]
    for words in drawn:
        page = tmp_path / "run.html"
        ran = fencepost(*words[1:-1], page)
        assert ran.code == 1 and "violated at step" in page.read_text(encoding="utf-8")
        page.unlink()


def test_a_recording_that_violates(tmp_path: Path) -> None:
    """By the names that the manifest has, and by the clock on the wall."""
    doctored(SIGKILL, one_marker_turned, tmp_path / "bad")
    undecided = ("markers after prepare", "markers as decided", "stable never falls", "fenced appends unread")
    checks = [
        word for name in ("markers agree", "read once", *undecided, "prepared as asked") for word in ("--check", name)
    ]
    topic, group = "fencepost-f0cb23ff-topic-0-0", "fencepost-f0cb23ff-1-group-0"
    assert (
        text_of(tmp_path / "bad", "--no-conformance", *checks, code=1)
        == f"""\
1 of 7 properties is violated, 1 holds, 5 were not decided
461 events, 1 history, 1 piece, N events/s
    markers agree                violated once
        It demands: the markers of one producer id and epoch are all alike (txn.P2).
        First in history 0, step 42, at 2026-11-21T19:59:29.110Z by the recorded clock: \
marker appended at step 42: not like marker appended at step 39.
        The event: marker appended at step 42 (offsets of group {group} offset 3, producer id 1 epoch 2, \
outcome abort, coordinator epoch 0).
        The event that explains it: marker appended at step 39 ({topic} offset 3, producer id 1 epoch 2, \
outcome commit, coordinator epoch 0), at 2026-11-21T19:59:29.110Z by the recorded clock.
        Draw it: fencepost replay {tmp_path / "bad"} --check 'markers agree' --html RUN.html
    holds: read once
    4 unknown (markers after prepare, markers as decided, fenced appends unread and 1 more): \
the order of steps across nodes is not known
    1 unknown (stable never falls): the histories do not show stable moved, which only the implementation itself \
observes
"""
    )


def test_a_duplicate_behind_its_marker(tmp_path: Path) -> None:
    """Both records of the pair are named, by partition and offset; so they are in the rows and on the page."""
    doctored(SIGKILL, batch_and_marker_again, tmp_path / "bad")
    rows, page = tmp_path / "rows.parquet", tmp_path / "run.html"
    words = ("--check", "sequences follow on", "--no-conformance", "--violations", rows, "--html", page)
    text = text_of(tmp_path / "bad", *words, code=1)
    name = "fencepost-f0cb23ff-topic-0-0"
    copy, first = (line for line in text.splitlines() if "event" in line and name in line)
    told = re.fullmatch(rf" +The event: (batch appended at step \d+) \(({name}) offset (\d+), (.*)\)\.", copy)
    assert told is not None, copy
    pair = re.search(rf"(batch appended at step \d+) \({name} offset (\d+), {re.escape(told[4])}\), at 20", first)
    assert pair is not None and int(pair[2]) < int(told[3]) - 1, first
    assert f"{told[1]}: has the sequence number of {pair[1]}." in text
    [row] = pq.read_table(rows).to_pylist()
    assert f"({name} offset {pair[2]}, " in row["told"] and f"({name} offset {told[3]}, " in row["told"]
    assert row["at"].isoformat(timespec="milliseconds").replace("+00:00", "Z") in text
    assert name in page.read_text(encoding="utf-8") and "partition 0" not in page.read_text(encoding="utf-8")


def test_what_is_predicted(tmp_path: Path) -> None:
    """It is no failure, and the step of the model that allows it is named."""
    place = made(tmp_path / "made", "transactions/v1", 150)
    checks = ("--check", "open unread", "--check", "markers agree", "--check", "epochs in range")
    text = text_of(place, "--no-conformance", *checks, code=0)
    assert (
        text
        == """\
0 of 3 properties are violated, 1 as predicted, 1 holds, 1 is not promised
45,000 events, 150 histories, 1 piece, N events/s
    open unread                  violated as predicted 5 times: txn.9 end 5
5 violations are as predicted of v1, and no defect: it declares that it breaks these properties, and its model, \
following the same history, takes the step that allows this violation:
    5 by txn.9 end: a late EndTxn ended the next transaction, which has the same epoch (KAFKA-17754)
    holds: epochs in range
    1 not promised (markers agree): mode v1 does not promise it
"""
    )


def test_what_is_undecided(twice: Path) -> None:
    """By reason, with up to three names; all of them, and how many events each judged, if asked to be verbose."""
    opened = HistoryDirectory.open(twice)
    reason = "a record comes late"
    report = replace(
        replay(twice, checks=["blocks_disjoint"], cores=1), seconds=0.0,
        judged={"conformance": 2, "blocks_disjoint": 7}, undecided={"conformance": {reason: 1}},
        unknown=dict.fromkeys("abcd", "[why]"),
    )  # fmt: skip
    lines = [*Lines(report, opened.location, opened.manifest, ()).all()]
    assert [Text.from_markup(line).plain for line in (lines[0], *lines[2:])] == [
        "0 of 5 properties are violated, 1 holds, 4 were not decided; conformance holds in 66.7% of the histories",
        "    holds: blocks disjoint",
        "    1 undecided in 1 history (conformance): a record comes late",
        "    4 unknown (a, b, c and 1 more): [why]",
    ]
    lines = [*Lines(report, opened.location, opened.manifest, (), verbose=True).all()]
    assert [" ".join(Text.from_markup(line).plain.split()) for line in lines[2:]] == [
        "conformance holds (2 judged, 66.7% of the histories)",
        "blocks disjoint holds (7 judged)",
        "conformance undecided in 1 history: a record comes late",
        *(f"{name} unknown: [why]" for name in "abcd"),
    ]


def naming(protocol: str, config: dict[str, Any]) -> Naming:
    properties = properties_of(protocol)
    return Naming(properties.vocabulary, config, properties.values)


def test_names_are_those_of_the_config() -> None:
    """Of each recording that ships; what has no name, or stands in a config that says something else, is a number."""
    shipped = ("group-fencing", "task-counts")
    configs = {protocol: Manifest.read(Location.of(recordings(protocol)[0])).config for protocol in shipped}
    seen = {"member": 1, "generation": 3, "txn": 2, "partition": 0, "offset": 7, "client": 99, "slot": 0}
    assert [*naming("group-fencing", configs["group-fencing"]).records(seen)] == [
        "fire-classic-in-0 offset 7", "member a-14a10576-a9ec-49ab-9caf-f5ac3f76d922 generation 3",
        "transactional id fire-classic-c", "client 99", "slot a",
    ]  # fmt: skip
    seen = {"connector": 0, "task": 1, "support": 2, "set": 15}
    assert [*naming("task-counts", configs["task-counts"]).records(seen)] == [
        "connector c task 1",
        "support preparing",
        "set 15",
    ]
    seen = {"txn_id": 0, "txn": 4, "partition": 3, "producer_id": 1, "epoch": 2, "state": 5}
    assert [*naming("transactions", Manifest.read(Location.of(SIGKILL)).config).records(seen)] == [
        "producer id 1 epoch 2", "transactional id fencepost-f0cb23ff-1-0", "transaction 4",
        "offsets of group fencepost-f0cb23ff-1-group-0", "state CompleteAbort",
    ]  # fmt: skip
    assert [*naming("transactions", {}).records({"client": 0, "error": 47})] == [
        "client 0",
        "error INVALID_PRODUCER_EPOCH",
    ]
    assert [*naming("group-fencing", {}).records({"error": 86})] == ["error PENDING_TRANSACTION"]
    for strange in (
        {},
        {"names": [1], "partitions": 2, "groups": {}, "transactional_ids": "ab"},
        {"names": {"txn": 1}},
    ):
        assert [*naming("transactions", strange).records({"txn_id": 0, "partition": 1, "txn": 0})] == [
            "transactional id 0", "partition 1", "transaction 0",
        ]  # fmt: skip


def test_rows_that_cannot_be_read(twice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the sentence stands with all that the report has."""

    def gone(*_: object) -> None:
        raise HistoryError("gone")

    monkeypatch.setattr("fencepost.proofs.cli.shared.replay_lines.witnesses", gone)
    text = text_of(twice, "--no-conformance", "--check", "ids unique", code=1)
    assert "First in history 1, step 44: broker 0 hands out id 0 at step 44; broker 1 did so at step 18." in text
    assert "The event" not in text


def test_the_explaining_step_is_reported(twice: Path, tmp_path: Path) -> None:
    """In JSON, and equal to that of the table of violating rows."""
    asked = ("--no-conformance", "--check", "ids unique")
    text_of(twice, *asked, "--json", tmp_path / "r.json", "--violations", tmp_path / "r.parquet", code=1)
    first = read_json(tmp_path / "r.json")["violations"]["ids_unique"]["first"]
    [row] = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert {name: first[name] for name in ("history", "step", "told", "explained_by")} == {
        name: row[name] for name in ("history", "step", "told", "explained_by")
    }
    assert (first["step"], first["explained_by"]) == (44, 18)
