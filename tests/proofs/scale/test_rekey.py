"""Histories larger than a worker's memory: judged in pieces, with the findings of the same judged as a whole."""

import json
import multiprocessing
import re
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fencepost
from fencepost.proofs.scale.rekeying.rekey import FOLLOWED
from fencepost.proofs.scale.rekeying.scratch import scratch
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
from fencepost.properties.planting.beds import BEDS
from history_makers import late_ids
from long_histories import Columns, chained, doctored, noise, planted

EVENTS = 3000
"""Of a history, or so."""
LIMIT = 1000
"""Events in a piece."""
PART = 500
"""Rows in a row group."""
CORPORA = {"planted": planted, "doctored": doctored, "noise": noise}
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
    return {"config": {**BEDS[protocol].config, "quiet_end": True}}


def write_whole(place: Path, protocol: str, columns: Columns, **further: Any) -> Path:
    write_histories(place, [columns], BEDS[protocol].vocabulary, **described(protocol), **further)
    return place


def write_cut(place: Path, protocol: str, columns: Columns) -> Path:
    """In row groups of `PART` rows, in two files, one of which ends within a history."""
    vocabulary, written, parts = BEDS[protocol].vocabulary, [], []
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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "cut").mkdir()
    return tmp_path


@pytest.mark.parametrize("protocol", BEDS)
@pytest.mark.parametrize("corpus", CORPORA)
def test_findings_are_those_of_the_whole(place: Path, protocol: str, corpus: str) -> None:
    """Counts, first witnesses and every violating row, with the event that explains it."""
    copies = EVENTS // len(BEDS[protocol].history.columns()["kind"])
    columns = CORPORA[corpus](protocol, EVENTS // 3 + 1 if corpus == "noise" else copies)
    whole = replay(write_whole(place / "whole", protocol, columns), cores=1)
    cut = write_cut(place / "cut", protocol, columns)
    pieces = replay(cut, cores=1, rekey=LIMIT)
    same(whole, pieces, undecided(pieces))
    assert pieces.rekeyed is not None and pieces.rekeyed.pieces > 3
    assert pieces.pieces == sum(file.row_groups for file in Manifest.read(Location.of(cut)).files) > 2
    decided = [name for name in whole.violations if name in pieces.decided]
    assert len(decided) >= len(whole.violations) / 2 > 0
    mine, others = (violating_rows(place / d, decided, cores=1, limit=LIMIT) for d in ("whole", "cut"))
    order = [(name, "ascending") for name in ("history", "step", "property", "explained_by")]
    assert mine.num_rows >= sum(whole.violations[name]["count"] for name in decided) > 0
    assert others.sort_by(order).equals(mine.sort_by(order))


@pytest.mark.parametrize("protocol", BEDS)
def test_a_property_looks_at_the_kinds_and_columns_that_it_says(protocol: str) -> None:
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
            read = {*(spread.columns or properties.columns), *properties.reads_always}
            some = {name: values[chosen] for name, values in columns.items() if name in read}
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
    for protocol in BEDS:
        properties = properties_of(protocol).properties
        assert {name for name, item in properties.items() if spread_of(item).whole} == WHOLE.get(protocol, set())


def test_keys_are_read_off_declarations() -> None:
    """What a declared property compares is its key; of several that it goes from one to the other by, each holds."""
    told = {name: spread_of(item).told for name, item in properties_of("transactions").properties.items()}
    assert told["aborts_unread"] == "record or txn"
    assert told["sequences_follow_on"] == "partition and producer id"
    assert told["reads_as_marked"] == "partition"
    assert told["epochs_in_range"] == "each event by itself"
    newest = spread_of(properties_of("source-offsets").properties["checked_against_newest"])
    assert (newest.told, {kind.name for kind in newest.everywhere}) == ("instance", {"configured"})


def test_processes_and_spark_find_the_same(place: Path) -> None:
    """Two processes, and Spark on two cores (starts both)."""
    cut = write_cut(place / "cut", "transactions", doctored("transactions", 20))
    here = replay(cut, cores=1, rekey=LIMIT)
    assert replay(cut, cores=2, rekey=LIMIT) == here
    settings = SparkSettings("local[2]")
    with session(settings):
        on_spark = replay(cut, spark=settings, rekey=LIMIT)
        assert (on_spark, on_spark.rekeyed) == (here, here.rekeyed)
        rows = violating_rows(cut, list(here.violations), spark=settings, limit=LIMIT)
    assert rows.equals(violating_rows(cut, list(here.violations), cores=1, limit=LIMIT))


def test_the_events_of_a_violation_in_a_cut_history_are_printed(place: Path) -> None:
    """They are read bit by bit; no page can be drawn of such a history, so the command is that for its rows."""
    cut = write_cut(place / "cut", "id-blocks", planted("id-blocks", 40))
    firsts = {name: found["first"] for name, found in replay(cut, cores=1, rekey=LIMIT).violations.items()}
    whole = HistoryDirectory.open(write_whole(place / "whole", "id-blocks", planted("id-blocks", 40)))
    assert firsts and witnesses(HistoryDirectory.open(cut), firsts.values()) == witnesses(whole, firsts.values())
    said = fencepost("replay", cut, "--rekey", LIMIT, "--cores", 1).out
    assert said.count("        The event: ") == len(firsts)
    assert f"fencepost replay {cut} --check 'ids unique' --violations ROWS.parquet" in said and "--html" not in said


def test_what_needs_too_much_in_one_place_is_unknown(place: Path) -> None:
    """It is told why, is no success where it is required, and the rest is decided."""
    cut = write_cut(place / "cut", "transactions", planted("transactions", 20))
    report = replay(cut, cores=1, rekey=500)
    assert "commits_kept" in undecided(report)
    assert re.search(r"1,\d{3} events have to be in one place, and a worker holds 500", report.unknown["commits_kept"])
    assert "commits_kept" not in report.decided
    found = fencepost("replay", cut, "--rekey", 500, "--no-conformance", "--check", "commits_kept", "--cores", 1)
    assert found.code == 2
    assert "nothing was decided" in found.err


def test_small_histories_in_a_large_row_group_are_judged_as_any(place: Path) -> None:
    """With further checks too; only what is larger than the limit is taken apart, and not followed."""
    columns = BEDS["id-blocks"].planted(1, 0, 40, bent=0.5)[0]
    long = chained(BEDS["id-blocks"].planted(2, 0, 10, bent=0.5)[0], history=40)
    columns = {name: np.concatenate([columns[name], long[name]]) for name in columns}
    mixed = write_whole(place / "mixed", "id-blocks", columns)
    whole = replay(mixed, cores=1, further={"late": late_ids})
    pieces = replay(mixed, cores=1, further={"late": late_ids}, rekey=1000)
    assert {n: pieces.judged[n] for n in whole.judged if n != "late"} == {
        n: judged for n, judged in whole.judged.items() if n != "late"
    }
    assert {n: told for n, told in pieces.violations.items() if n != "late"} == {
        n: told for n, told in whole.violations.items() if n != "late"
    }
    assert pieces.rekeyed is not None and pieces.rekeyed.histories == 1
    assert pieces.undecided == {"late": {FOLLOWED: 1}}
    assert pieces.judged["late"] == 40
    first = whole.violations["late"]["first"]
    assert pieces.violations["late"]["first"] == first
    assert 0 < pieces.violations["late"]["count"] < whole.violations["late"]["count"]


def test_a_cut_history_that_fits_is_judged_as_a_whole(place: Path) -> None:
    """With everything that is asked of whole ones."""
    columns = planted("id-blocks", 20)
    whole = replay(write_whole(place / "whole", "id-blocks", columns), cores=1, further={"late": late_ids})
    joined = replay(write_cut(place / "cut", "id-blocks", columns), cores=1, further={"late": late_ids})
    assert (joined.judged, joined.violations, joined.figures) == (whole.judged, whole.violations, whole.figures)
    assert joined.rekeyed is None


def manifest_with(place: Path, **changed: Any) -> None:
    told = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**told, **changed}))


def test_every_part_must_be_there(place: Path) -> None:
    """A part too few, one too many, one twice, or a history cut that is not said to be: refused, never half-judged."""
    columns = planted("id-blocks", 10)
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
            replay(cut, cores=1, rekey=LIMIT)
    manifest_with(cut, cut={"0": parts})
    files = json.loads((cut / "manifest.json").read_text())["files"]
    manifest_with(cut, files=files[1:], totals={**files[1], "name": "totals"}, cut={"0": 3})
    (cut / "part-00000.parquet").unlink()
    with pytest.raises(HistoryError, match="history 0 goes on with step 1425 where step 0 is due"):
        replay(cut, cores=1, rekey=LIMIT)


def test_parts_that_are_written_go_on(tmp_path: Path) -> None:
    """The writer takes no gap, and no history that comes back."""
    columns = planted("id-blocks", 4)
    gap = {name: values[5:] for name, values in columns.items()}
    vocabulary = BEDS["id-blocks"].vocabulary
    with HistoryWriter(Location.of(tmp_path), "part.parquet", vocabulary) as writer:
        writer.add_parts({name: values[:4] for name, values in columns.items()}, 2)
        with pytest.raises(HistoryError, match="history 0 does not go on with step 4"):
            writer.add_parts(gap, 2)
    assert writer.parts == {0: 2}


def test_nothing_is_left_behind(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the work: it is done, something is refused, or it is interrupted."""
    cut = write_cut(place / "cut", "id-blocks", planted("id-blocks", 10))
    meanwhile = Location.of(place / "meanwhile")
    replay(cut, cores=1, rekey=LIMIT, scratch=meanwhile)
    assert list((place / "meanwhile").iterdir()) == []
    for error in (HistoryError("refused"), KeyboardInterrupt()):

        def break_off(*_: Any, error: BaseException = error, **__: Any) -> None:
            assert list((place / "meanwhile").rglob("rows-*"))
            raise error

        monkeypatch.setattr("fencepost.proofs.scale.rekeying.rekey._tasks", break_off)
        with pytest.raises(type(error)):
            replay(cut, cores=1, rekey=LIMIT, scratch=meanwhile)
        assert list((place / "meanwhile").iterdir()) == []


def test_workers_elsewhere_need_a_place_that_they_reach() -> None:
    """A directory of this machine is refused, with what to do."""
    for place in (None, Location.of("/tmp/here")):
        with (
            pytest.raises(HistoryError, match=r"spark://far:7077 run on other machines; give --scratch a URI"),
            scratch(SparkSettings("spark://far:7077"), place),
        ):
            pass


def test_it_is_told(place: Path) -> None:
    """In words and in JSON: how many histories, into how many pieces, by which keys."""
    cut = write_cut(place / "cut", "transactions", chained(BEDS["transactions"].planted(1, 0, 12, bent=0)[0]))
    found = fencepost("replay", cut, "--rekey", 1200, "--cores", 1, "--json", place / "report.json")
    assert "1 history was re-keyed: 3,240 events, judged in" in found.out
    assert "    record or txn: commits acknowledged, aborts unread" in found.out
    told = json.loads((place / "report.json").read_text())["rekeyed"]
    assert (told["histories"], told["events"], told["limit"]) == (1, 3240, 1200)
    assert told["keys"]["aborts_unread"] == "record or txn"
    assert told["pieces"] > 20


def peak(place: str, limit: int, answer: Any) -> None:
    """In a process of its own: the most memory that it had, in bytes."""
    report = replay(place, cores=1, rekey=limit)
    answer.put((report.events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, undecided(report)))


def measured(place: Path, limit: int) -> tuple[int, int, set[str]]:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=peak, args=(str(place), limit, answer))
    process.start()
    found: tuple[int, int, set[str]] = answer.get()
    process.join()
    return found


def long_id_blocks(place: Path, times: int) -> Path:
    """One history of so many times 57,000 events, written part by part."""
    place.mkdir()
    base = chained(BEDS["id-blocks"].planted(1, 0, 200, bent=0.01)[0])
    rows, vocabulary = len(base["kind"]), BEDS["id-blocks"].vocabulary
    with HistoryWriter(Location.of(place), "part-00000.parquet", vocabulary) as writer:
        for time in range(times):
            further: Mapping[str, int] = {
                "broker": 10_000, "request": 10**6, "grant": 10**6, "first": 10**9, "producer_id": 10**9,
                "step": rows, "time_us": rows,
            }  # fmt: skip
            writer.add_parts({
                name: np.where(values >= 0, values + time * further.get(name, 0), values).astype(values.dtype)
                for name, values in base.items()
            }, rows)  # fmt: skip
    manifest = Manifest(
        "id-blocks", tuple(vocabulary.codes), (writer.written,), cut=cut_in(writer.parts), **described("id-blocks")
    )
    manifest.write(Location.of(place))
    return place


def test_memory_is_that_of_a_piece(tmp_path: Path) -> None:
    """Ten times as many events as a worker is said to hold take hardly more memory than three times as many, and far
    less than to judge them as a whole; beside what a process takes that replays next to nothing."""
    limit = 160_000
    places = [long_id_blocks(tmp_path / name, times) for name, times in (("tiny", 2), ("small", 9), ("large", 28))]
    (_, idle, _), (events, little, left), (more, much, _) = (
        measured(place, at) for place, at in zip(places, (60_000, limit, limit), strict=True)
    )
    assert (events, more) == (9 * 57_000, 28 * 57_000)
    assert events > 3 * limit and more > 9 * limit
    assert left == set()
    _, whole, _ = measured(places[2], more)
    assert much < 1.15 * little
    assert 2 * (much - idle) < whole - idle


def test_too_many_values_that_hold_events_together(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they do not fit into a worker what they hold together is unknown, and told so; the rest is decided."""
    cut = write_cut(place / "cut", "transactions", planted("transactions", 10))
    before = replay(cut, cores=1, rekey=LIMIT)
    monkeypatch.setattr("fencepost.proofs.scale.rekeying.rekey.NODES", 0)
    report = replay(cut, cores=1, rekey=LIMIT)
    assert "values of record or txn hold events together" in report.unknown["aborts_unread"]
    linked = {n for n, i in properties_of("transactions").properties.items() if len(spread_of(i).links) > 1}
    assert undecided(report) - undecided(before) == {name for name in linked if name in before.judged}
    assert report.violations == {n: told for n, told in before.violations.items() if n not in linked}
    assert report.figures == {}
