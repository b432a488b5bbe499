"""Histories larger than a worker's memory: judged in pieces, with the findings of the same judged as a whole."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.scale.rekey import FOLLOWED
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.scale.violating import violating_rows
from fencepost.proofs.scale.witnesses import witnesses
from fencepost.properties.history import HistoryDirectory, HistoryError, Manifest, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.spreading import spread_of
from fencepost.properties.history.writer import HistoryWriter, cut_in
from fencepost.properties.seeded_violations import SEEDED_HISTORIES
from history_makers import late_ids
from long_histories import Columns, chained, doctored, noise, seeded

EVENTS = 3000
"""Of a history, or so."""
LIMIT = 1000
"""Events in a piece."""
PART = 500
"""Rows in a row group."""
SPARK, MASTER = SparkSettings("local[2]"), ("--master", "local[2]")
WHOLE = {
    "id-blocks": {"answers_disjoint", "blocks_contiguous", "blocks_disjoint"},
    "transactions": {
        "calls_come_to_an_end",
        "clients_get_on",
        "commits_kept",
        "group_offsets_forward",
        "group_offsets_kept",
        "transactions_whole",
    },
    "task-counts": {"newest_set_polls"},
    "source-commits": {"begins_in_the_end"},
}
"""Properties that are judged in one piece, with all events of the kinds that they look at."""


def described(protocol: str) -> dict[str, Any]:
    return {"config": {**SEEDED_HISTORIES[protocol].config, "quiet_end": True}}


def write_whole(place: Path, protocol: str, columns: Columns, **further: Any) -> Path:
    write_histories(place, [columns], SEEDED_HISTORIES[protocol].vocabulary, **described(protocol), **further)
    return place


def write_cut(place: Path, protocol: str, columns: Columns) -> Path:
    """In row groups of `PART` rows, in two files, one of which ends within a history."""
    vocabulary, written, parts = SEEDED_HISTORIES[protocol].vocabulary, [], []
    middle = len(columns["kind"]) // 2
    for number, rows in enumerate((slice(0, middle), slice(middle, None))):
        with HistoryWriter(Location.of(place), f"part-{number:05}.parquet", vocabulary) as writer:
            writer.add_parts({name: values[rows] for name, values in columns.items()}, PART)
        written.append(writer.written)
        parts.append(writer.parts)
    observable = tuple(vocabulary.codes)
    Manifest(protocol, observable, tuple(written), cut=cut_in(*parts), **described(protocol)).write(Location.of(place))
    return place


def same(whole: ReplayReport, pieces: ReplayReport, left_out: set[str]) -> None:
    """The same findings on everything that was decided, and nothing else undecided than what is left out."""
    assert {name for name in pieces.unknown if name not in whole.unknown} == left_out
    assert all("re-keyed" in pieces.unknown[name] for name in left_out)
    for name in whole.judged.keys() - left_out:
        assert pieces.judged[name] == whole.judged[name], name
        assert pieces.violations.get(name) == whole.violations.get(name), name
    assert (pieces.events, pieces.histories) == (whole.events, whole.histories)
    assert pieces.figures in (whole.figures, {})


def undecided(report: ReplayReport) -> set[str]:
    return {name for name, why in report.unknown.items() if "re-keyed" in why}


@pytest.fixture(scope="module", autouse=True)
def one_session() -> Iterator[None]:
    """To start Spark takes longer than to judge one of these histories."""
    with session(SPARK):
        yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "cut").mkdir()
    return tmp_path


def is_judged(protocol: str, columns: Columns) -> bool:
    """Transactions that another process resumes are refused; events at random have such."""
    try:
        properties_of(protocol).require(columns)
    except HistoryError:
        return False
    return True


@pytest.mark.parametrize("protocol", SEEDED_HISTORIES)
def test_findings_are_those_of_the_whole(place: Path, protocol: str) -> None:
    """Counts, first witnesses and every violating row, with the event that explains it, of histories of three sorts."""
    copies = EVENTS // len(SEEDED_HISTORIES[protocol].history.columns()["kind"])
    sorts = [seeded(protocol, copies), doctored(protocol, copies), noise(protocol, EVENTS // 3 + 1)]
    sorts = [sort for sort in sorts if is_judged(protocol, sort)]
    for number, sort in enumerate(sorts):
        sort["history"] = sort["history"] + number
    columns = {name: np.concatenate([sort[name] for sort in sorts]) for name in sorts[0]}
    whole = replay(write_whole(place / "whole", protocol, columns), cores=1)
    cut = write_cut(place / "cut", protocol, columns)
    pieces = replay(cut, spark=SPARK, rekey=LIMIT)
    same(whole, pieces, undecided(pieces))
    assert pieces.rekeyed is not None and pieces.rekeyed.pieces > 3
    assert pieces.pieces == sum(file.row_groups for file in Manifest.read(Location.of(cut)).files) > 2
    decided = [name for name in whole.violations if name in pieces.decided]
    assert len(decided) >= len(whole.violations) / 2 > 0
    mine, others = (
        violating_rows(place / "whole", decided, cores=1), violating_rows(cut, decided, spark=SPARK, limit=LIMIT)
    )  # fmt: skip
    order = [(name, "ascending") for name in ("history", "step", "property", "explained_by")]
    assert mine.num_rows >= sum(whole.violations[name]["count"] for name in decided) > 0
    assert others.sort_by(order).equals(mine.sort_by(order))


@pytest.mark.parametrize("protocol", SEEDED_HISTORIES)
def test_a_property_looks_at_the_kinds_that_it_names(protocol: str) -> None:
    """Each by itself: with nothing else in the piece it finds the same in doctored and in random histories."""
    properties = properties_of(protocol)
    config = described(protocol)["config"]
    for columns in (doctored(protocol, 30, seed=5), noise(protocol, 1200, seed=6)):
        view = properties.view_of(columns, config)
        for name, item in properties.properties.items():
            spread = spread_of(item)
            chosen = np.isin(columns["kind"], [int(kind) for kind in spread.kinds])
            if spread.ends:
                chosen |= last_of_kinds(columns)
            some = {name: values[chosen] for name, values in columns.items()}
            found, alone = item.kernel(view), item.kernel(properties.view_of(some, config))
            assert alone.judged == found.judged, name
            steps = np.append(columns["step"], -1)
            assert steps[found.at].tolist() == some["step"][alone.at].tolist(), name
            assert steps[found.other].tolist() == np.append(some["step"], -1)[alone.other].tolist(), name


def last_of_kinds(columns: Columns) -> np.ndarray:
    pairs = columns["history"][::-1] * 2**16 + columns["kind"][::-1]
    last = np.zeros(len(pairs), bool)
    last[len(pairs) - 1 - np.unique(pairs, return_index=True)[1]] = True
    return last


def test_which_properties_need_one_place() -> None:
    """A few, which look at few kinds or say so; all others are dealt out."""
    for protocol in SEEDED_HISTORIES:
        properties = properties_of(protocol).properties
        assert {name for name, item in properties.items() if spread_of(item).whole} == WHOLE.get(protocol, set())


def test_keys_are_read_off_declarations() -> None:
    """What a declared property compares is its key; of several that it goes from one to the other by, each holds."""
    reported = {name: spread_of(item).text for name, item in properties_of("transactions").properties.items()}
    assert reported["aborts_unread"] == "record or txn"
    assert reported["sequences_follow_on"] == "partition and producer id"
    assert reported["reads_as_marked"] == "partition"
    assert reported["epochs_in_range"] == "each event by itself"
    newest = spread_of(properties_of("source-offsets").properties["checked_against_newest"])
    assert (newest.text, {kind.name for kind in newest.everywhere}) == ("instance", {"configured"})


def test_the_events_of_a_violation_in_a_cut_history_are_printed(place: Path) -> None:
    """They are read bit by bit; no page can be drawn of such a history, so the command is that for its rows."""
    cut = write_cut(place / "cut", "id-blocks", seeded("id-blocks", 40))
    whole = write_whole(place / "whole", "id-blocks", seeded("id-blocks", 40))
    firsts = [found["first"] for found in replay(whole, cores=1).violations.values()]
    assert firsts and witnesses(HistoryDirectory.open(cut), firsts) == witnesses(HistoryDirectory.open(whole), firsts)
    reported = fencepost("replay", cut, "--rekey", LIMIT, *MASTER).out
    of_whole = fencepost("replay", whole, "--no-conformance", "--cores", 1).out
    events = re.findall(r" {8}The event: .*", reported)
    assert len(events) == len(firsts) and events == re.findall(r" {8}The event: .*", of_whole)
    assert f"fencepost replay {cut} --check 'ids unique' --violations ROWS.parquet" in reported
    assert "--html" not in reported


def test_small_histories_in_a_large_row_group_are_judged_as_any(place: Path) -> None:
    """With further checks too; only what is larger than the limit is taken apart, and not followed."""
    columns = SEEDED_HISTORIES["id-blocks"].seeded(1, 0, 40, share=0.5)[0]
    long = chained(SEEDED_HISTORIES["id-blocks"].seeded(2, 0, 10, share=0.5)[0], history=40)
    columns = {name: np.concatenate([columns[name], long[name]]) for name in columns}
    mixed = write_whole(place / "mixed", "id-blocks", columns)
    whole = replay(mixed, cores=1, further={"late": late_ids})
    pieces = replay(mixed, spark=SPARK, further={"late": late_ids}, rekey=1000)
    assert {n: pieces.judged[n] for n in whole.judged if n != "late"} == {
        n: judged for n, judged in whole.judged.items() if n != "late"
    }
    assert {n: reported for n, reported in pieces.violations.items() if n != "late"} == {
        n: reported for n, reported in whole.violations.items() if n != "late"
    }
    assert pieces.rekeyed is not None and pieces.rekeyed.histories == 1
    assert pieces.undecided == {"late": {FOLLOWED: 1}}
    assert pieces.judged["late"] == 40
    first = whole.violations["late"]["first"]
    assert pieces.violations["late"]["first"] == first
    assert 0 < pieces.violations["late"]["count"] < whole.violations["late"]["count"]


def test_a_cut_history_that_fits_is_judged_as_a_whole(place: Path) -> None:
    """With everything that is asked of whole ones."""
    columns = seeded("id-blocks", 20)
    whole = replay(write_whole(place / "whole", "id-blocks", columns), cores=1, further={"late": late_ids})
    joined = replay(write_cut(place / "cut", "id-blocks", columns), cores=1, further={"late": late_ids})
    assert (joined.judged, joined.violations, joined.figures) == (whole.judged, whole.violations, whole.figures)
    assert joined.rekeyed is None


def manifest_with(place: Path, **changed: Any) -> None:
    reported = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**reported, **changed}))


def test_every_part_must_be_there(place: Path) -> None:
    """A part too few, one too many, one twice, or a history cut that is not said to be: refused, never half-judged."""
    columns = seeded("id-blocks", 10)
    cut = write_cut(place / "cut", "id-blocks", columns)
    parts = Manifest.read(Location.of(cut)).cut[0]
    assert parts == len(HistoryDirectory.open(cut).parts) == 6
    assert HistoryDirectory.open(cut).pieces == ()
    for cuts, why in (
        ({"0": parts + 1}, "history 0 is in 6 row groups, the manifest says in 7"),
        ({"0": parts - 1}, "history 0 is in 6 row groups, the manifest says in 5"),
        ({"0": 1}, "history 0 is not cut if it lies in 1 row groups"),
        ({}, "row groups must hold whole histories"),
        ({"0": parts, "3": 2}, "history 3 is in 0 row groups, the manifest says in 2"),
    ):
        manifest_with(cut, cut=cuts)
        with pytest.raises(HistoryError, match=why):
            replay(cut, spark=SPARK, rekey=LIMIT)
    manifest_with(cut, cut={"0": parts})
    files = json.loads((cut / "manifest.json").read_text())["files"]
    manifest_with(cut, files=files[1:], totals={**files[1], "name": "totals"}, cut={"0": 3})
    (cut / "part-00000.parquet").unlink()
    with pytest.raises(HistoryError, match="history 0 goes on with step 1425 where step 0 is due"):
        replay(cut, spark=SPARK, rekey=LIMIT)


def test_parts_that_are_written_go_on(tmp_path: Path) -> None:
    """The writer takes no gap, and no history that comes back."""
    columns = seeded("id-blocks", 4)
    gap = {name: values[5:] for name, values in columns.items()}
    vocabulary = SEEDED_HISTORIES["id-blocks"].vocabulary
    with HistoryWriter(Location.of(tmp_path), "part.parquet", vocabulary) as writer:
        writer.add_parts({name: values[:4] for name, values in columns.items()}, 2)
        with pytest.raises(HistoryError, match="history 0 does not go on with step 4"):
            writer.add_parts(gap, 2)
    assert writer.parts == {0: 2}


def test_it_takes_spark(place: Path) -> None:
    """Without it such a history is refused, with the command that starts it; so it is in a report of rows."""
    cut = write_cut(place / "cut", "id-blocks", seeded("id-blocks", 40))
    for judge in (partial(replay, rekey=LIMIT), partial(violating_rows, names=["ids_unique"], limit=LIMIT)):
        command = re.escape(f"fencepost replay {cut} --master 'local[2]'")
        with pytest.raises(HistoryError, match=f"Spark is not running, which groups them: {command}"):
            judge(cut, cores=1)


def test_it_is_reported(place: Path) -> None:
    """In words and in JSON: how many histories, into how many pieces, by which keys.  What needs too much in one place
    is unknown, with the reason, is no success where it is required, and the rest is decided."""
    cut = write_cut(
        place / "cut", "transactions", chained(SEEDED_HISTORIES["transactions"].seeded(1, 0, 12, share=0)[0])
    )
    found = fencepost("replay", cut, "--rekey", 500, *MASTER, "--json", place / "report.json")
    assert "1 history was re-keyed: 3,240 events, judged in" in found.out
    assert "    record or txn: commits acknowledged, aborts unread" in found.out
    report = read_json(place / "report.json")
    rekeyed, unknown = report["rekeyed"], report["unknown"]
    assert (rekeyed["histories"], rekeyed["events"], rekeyed["limit"]) == (1, 3240, 500)
    assert rekeyed["keys"]["aborts_unread"] == "record or txn"
    assert rekeyed["pieces"] > 20
    assert re.search(r"\d{3} events have to be in one place, and a worker holds 500", unknown["commits_kept"])
    assert report["judged"]["aborts_unread"] and not report["judged"].get("commits_kept")
    found = fencepost("replay", cut, "--rekey", 500, "--no-conformance", "--check", "commits_kept", *MASTER)
    assert found.code == 2
    assert "nothing was decided" in found.err


def test_too_many_values_that_hold_events_together(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they do not fit into a worker what they hold together is unknown, and told so; the rest is decided."""
    cut = write_cut(place / "cut", "transactions", seeded("transactions", 10))
    before = replay(cut, spark=SPARK, rekey=LIMIT)
    monkeypatch.setattr("fencepost.proofs.scale.rekey.NODES", 0)
    report = replay(cut, spark=SPARK, rekey=LIMIT)
    assert "values of record or txn hold events together" in report.unknown["aborts_unread"]
    linked = {n for n, i in properties_of("transactions").properties.items() if len(spread_of(i).links) > 1}
    assert undecided(report) - undecided(before) == {name for name in linked if name in before.judged}
    assert report.violations == {n: reported for n, reported in before.violations.items() if n not in linked}
    assert report.figures == {}
