"""Histories of one system in several vocabularies: a dataset of each, and one report.  The system is `tests/audited`: a
lock, and an auditor of whom there is no model."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest
from command_line import Ran, fencepost, read_json
from fencepost.proofs.replays import histories, number_of_replays
from fencepost.proofs.scale.generate import generate, generate_set
from fencepost.proofs.traces import replay_set
from fencepost.properties import registry
from fencepost.properties.catalogue import find
from fencepost.properties.history import HistoryDirectory, HistoryError, Manifest, read_piece
from fencepost.properties.history.location import Location
from fencepost.properties.history.sets import HistorySet, datasets_in
from own_protocols import taken_back

SIMULATOR = "tests.audited.simulator:simulate"
CONFIG = {"clients": 3, "events": 60}
NAMED = ("--protocol", "tests.audited", "--protocol", "tests.lock")


@pytest.fixture(autouse=True, scope="module")
def known() -> Iterator[None]:
    """Both protocols, and after that those of before."""
    with taken_back():
        registry.add("tests.lock")
        registry.add("tests.audited")
        yield


def made_in(place: Path, histories: int = 40, **config: Any) -> HistorySet:
    return generate_set(
        place, SIMULATOR, histories=histories, seed=3, config=CONFIG | config, protocol="audited", variant="fenced",
        cores=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sets") / "made"
    made_in(place)
    return place


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store takes every write."""
    place = tmp_path_factory.mktemp("sets") / "broken"
    made_in(place, broken=True)
    return place


def words(ran: Ran, code: int = 0) -> str:
    assert ran.code == code, ran.out + ran.err
    return " ".join(ran.out.split())


def test_a_dataset_of_each(made: Path) -> None:
    """Each is a directory of histories as any other, of the same runs; the set says what each adds up to."""
    whole = HistorySet.read(Location.of(made))
    assert whole is not None and whole.faults["expired"] > 0
    there = datasets_in(Location.of(made))
    assert list(there) == ["audited", "lock"]
    manifests = {name: Manifest.read(place) for name, place in there.items()}
    assert sum(m.totals.rows for m in manifests.values()) == whole.rows > 1000
    assert {m.totals.histories for m in manifests.values()} == {whole.histories} == {40}
    assert {(m.seed, tuple(m.faults)) for m in manifests.values()} == {(3, ("expired",))}
    assert (manifests["lock"].variant, manifests["lock"].config) == ("fenced", {"clients": 3})
    assert (manifests["audited"].variant, manifests["audited"].config) == ("fenced", CONFIG)
    assert datasets_in(there["lock"]) == {}


def test_the_same_run_in_both(broken: Path) -> None:
    """History n of each is the same run, on one clock: what an audit reads is what was written last before it."""
    columns = {}
    for name, place in datasets_in(Location.of(broken)).items():
        opened = HistoryDirectory.open(place)
        (piece,) = opened.pieces
        columns[name], _ = read_piece(piece, opened.vocabulary, opened.vocabulary.schema.names)
    writes, reads = columns["lock"], columns["audited"]
    wrote = writes["kind"] == 3
    for history, time, token in zip(reads["history"], reads["time_us"], reads["token"], strict=True):
        before = wrote & (writes["history"] == history) & (writes["time_us"] <= time)
        assert token == (writes["token"][before][-1] if before.any() else 0)


def test_the_same_rows_on_two_cores(made: Path, tmp_path: Path) -> None:
    """And the same manifests, of several files."""
    with mock.patch("fencepost.proofs.scale.generate.ROWS_PER_GROUP", 200):
        for cores in (1, 2):
            asked = dict(histories=40, seed=3, config=CONFIG, protocol="audited", variant="fenced", cores=cores)
            generate_set(tmp_path / str(cores), SIMULATOR, **asked)
    one, two = (sorted(p for p in (tmp_path / cores).rglob("*") if p.is_file()) for cores in "12")
    assert [p.relative_to(tmp_path / "1") for p in one] == [p.relative_to(tmp_path / "2") for p in two]
    assert len(one) > 10 and all(a.read_bytes() == b.read_bytes() for a, b in zip(one, two, strict=True))
    tables = [pq.read_table(file) for file in sorted((tmp_path / "1/lock").glob("*.parquet"))]
    assert sum(table.num_rows for table in tables) == pq.read_table(made / "lock/part-00000.parquet").num_rows


def test_each_is_judged_by_its_own_protocol(made: Path, broken: Path) -> None:
    """Its properties, and its model, where it has one."""
    good, bad = replay_set(made, cores=1), replay_set(broken, cores=1)
    assert {name: sorted(report.judged) for name, report in good.items()} == {
        "audited": ["never_older"],
        "lock": ["conformance", "writes_in_order"],
    }
    assert all(report.holds and not report.vacuous for report in good.values())
    assert {name: sorted(report.violations) for name, report in bad.items()} == {
        "audited": ["never_older"],
        "lock": ["conformance", "writes_in_order"],
    }


def test_generate_and_replay(tmp_path: Path) -> None:
    """One directory, one report and one exit code."""
    place, reported, file = tmp_path / "made", tmp_path / "g.json", tmp_path / "r.json"
    answered = words(fencepost("generate", "tests.audited", place, "--histories", 20, "--cores", 1, "--json", reported))
    rows = {name: Manifest.read(Location.of(place / name)).totals.rows for name in ("audited", "lock")}
    assert (
        f"{sum(rows.values()):,} events in 20 histories, 2 vocabularies, seed 1 audited {rows['audited']}" in answered
    )
    assert read_json(reported)["datasets"] == rows
    ran = fencepost("replay", place, *NAMED, "--cores", 1, "--require", "all", "--json", file)
    places = [
        words(ran).index(each) for each in ("audited: read", "0 of 1 property is violated, 1 holds", "lock: read")
    ]
    assert places == sorted(places)
    report = read_json(file)
    assert {name: each["required"] for name, each in report["datasets"].items()} == {
        "audited": ["never_older"],
        "lock": ["writes_in_order", "conformance"],
    }
    alone = fencepost("replay", place / "lock", "--protocol", "tests.lock", "--cores", 1, "--json", file)
    again = read_json(file)
    assert alone.code == 0
    assert {k: v for k, v in again.items() if "second" not in k} == {
        k: v if k != "required" else [] for k, v in report["datasets"]["lock"].items() if "second" not in k
    }


def test_what_is_violated_in_one_is_reported(broken: Path, tmp_path: Path) -> None:
    """The exit code is that of the worst; with --check, only where there is such a property."""
    reported = words(fencepost("replay", broken, "--cores", 1, "--json", tmp_path / "r.json"), code=1)
    assert (
        "never older violated" in reported
        and "writes in order violated" in reported
        and "conformance violated" in reported
    )
    ran = fencepost("replay", broken, *NAMED, "--cores", 1, "--check", "writes in order")
    [_, line] = [line for line in ran.out.splitlines() if "Draw it: " in line]
    drawn = shlex.split(line.partition("Draw it: ")[2])
    assert drawn[2:-2] == [str(broken), *NAMED, "--check", "writes in order"]
    assert fencepost(*drawn[1:-1], tmp_path / "run.html").code == 1 and (tmp_path / "run.html").exists()
    asked = ("--check", "never older", "--no-conformance")
    reported = words(fencepost("replay", broken, "--cores", 1, *asked), code=1)
    assert "never older violated" in reported and "lock:" not in reported


def test_one_of_which_nothing_is_decided(tmp_path: Path) -> None:
    """It is no success that the other holds; and one may have no event in some history, or in any."""
    made_in(tmp_path / "made", 3, silent="lock")
    assert Manifest.read(Location.of(tmp_path / "made/lock")).totals.histories == 0
    ran = fencepost("replay", tmp_path / "made", "--cores", 1)
    assert (ran.code, "nothing was decided" in ran.err, "never older" in ran.out) == (2, True, True)
    with pytest.raises(HistoryError, match="3 of 3 histories have no event"):
        made_in(tmp_path / "none", 3, silent="audited")
    assert not (tmp_path / "none").exists()


def test_the_exit_code_is_of_all_datasets(made: Path, broken: Path, tmp_path: Path) -> None:
    """The first one is violated, and the last one holds."""
    (violated, _), (_, holds) = (HistorySet.read(Location.of(place)).datasets for place in (broken, made))
    changed(broken, tmp_path / "both", datasets=(violated, holds))
    shutil.rmtree(tmp_path / "both/lock")
    shutil.copytree(made / "lock", tmp_path / "both/lock")
    reported = words(fencepost("replay", tmp_path / "both", "--cores", 1, "--no-conformance"), code=1)
    assert "never older violated" in reported and reported.endswith("holds: writes in order")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--check", "nothing"), "--check: audited has no history property 'nothing'"),
        (
            ("--check", "never older", "--require", "writes in order"),
            "--require: writes in order is not checked in",
        ),
        (("--no-conformance", "--require", "conformance"), "--require: conformance is not checked"),
        (("--protocol", "id-blocks"), "these are histories of audited, lock, not of id-blocks"),
    ],
)
def test_what_cannot_be_asked(words: tuple[str, ...], text: str, made: Path) -> None:
    """It is refused before anything is judged."""
    ran = fencepost("replay", made, "--cores", 1, *words)
    assert (ran.code, ran.out) == (2, "")
    assert text in ran.err


def changed(made: Path, place: Path, **change: Any) -> Path:
    """A copy of the set with other words in its manifest."""
    shutil.copytree(made, place)
    whole = HistorySet.read(Location.of(made))
    assert whole is not None
    reported = {name: getattr(whole, name) for name in HistorySet.__struct_fields__}
    HistorySet(**reported | change).write(Location.of(place))
    return place


def test_a_set_that_contradicts_itself(made: Path, tmp_path: Path) -> None:
    """Is refused in one line."""
    whole = HistorySet.read(Location.of(made))
    assert whole is not None
    audited, lock = whole.datasets
    changes: dict[str, tuple[dict[str, Any], str]] = {
        "a": ({"seed": 4}, "audited was made with seed 3, the set with 4: of another run"),
        "b": ({"histories": 41}, "audited has 40 histories, the set 41"),
        "c": ({"datasets": (lock,)}, "there is no dataset of audited, which was simulated; there are lock"),
        "d": ({"datasets": (audited, lock, lock)}, "lock is listed twice"),
        "e": ({"datasets": (audited, type(lock)("lock", 1, 1, 1))}, "the set says 1 rows, 1 histories, 1 row groups"),
        "f": ({"datasets": (audited, type(lock)("../x", 1, 1, 1))}, "'../x' is no name of a directory within"),
        "g": ({"datasets": (audited, type(lock)("gone", 1, 1, 1))}, "manifest.json: not found"),
        "h": ({"schema_version": 9}, "schema version 9 is unknown"),
    }
    for name, (change, reported) in changes.items():
        ran = fencepost("replay", changed(made, tmp_path / name, **change))
        assert (ran.code, ran.err.count("\n"), reported in ran.err) == (2, 1, True), ran.err
    shutil.copytree(made, tmp_path / "i")
    shutil.rmtree(tmp_path / "i/lock")
    (tmp_path / "i/lock").symlink_to(made / "lock")
    assert "a link that leads out of the directory" in fencepost("replay", tmp_path / "i").err
    shutil.copytree(made, tmp_path / "j")
    (tmp_path / "j/manifest.json").write_text('{"datasets": [3]}')
    assert "not a manifest of a set of histories: Expected `object`" in fencepost("replay", tmp_path / "j").err
    with pytest.raises(HistoryError, match="these are histories in several vocabularies; name one of audited, lock"):
        HistoryDirectory.open(made)
    with pytest.raises(HistoryError, match="no histories in several vocabularies"):
        replay_set(made / "lock")


def test_what_stands_there_is_left_alone(made: Path, tmp_path: Path) -> None:
    """The set, and what would be one of its datasets."""
    with pytest.raises(HistoryError, match="holds histories already"):
        made_in(made)
    shutil.copytree(made / "lock", tmp_path / "new/lock")
    with pytest.raises(HistoryError, match="lock: holds histories already"):
        made_in(tmp_path / "new")
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["lock"]


def test_what_a_simulator_may_not_say(tmp_path: Path) -> None:
    """One line: what, and what to say instead."""
    with pytest.raises(HistoryError, match="says 'mode' of lock; it may say config, notes, observable, ordered, varia"):
        made_in(tmp_path, said={"lock": {"mode": "fenced"}})
    with pytest.raises(HistoryError, match="unknown protocol 'locks'"):
        made_in(tmp_path, said={"locks": {}})
    with pytest.raises(HistoryError, match=r"tells of lock, audited; make a set of these, with generate_set"):
        generate(tmp_path, SIMULATOR, histories=1, seed=1, config=CONFIG, protocol="audited")
    with pytest.raises(HistoryError, match="says nothing of id-blocks, which it simulates"):
        generate_set(tmp_path, SIMULATOR, histories=1, seed=1, config=CONFIG, protocol="id-blocks")
    with pytest.raises(HistoryError, match="returns rows of audited, lock, and says nothing of them"):
        generate(tmp_path, "tests.audited.simulator:unsaid", histories=1, seed=1, config=CONFIG, protocol="audited")
    silent = mock.patch("tests.audited.simulator.Audited.vocabularies", lambda *_: {"audited": {}})
    with silent, pytest.raises(HistoryError, match="returns rows of lock, and says it tells of audited"):
        made_in(tmp_path)


def test_verify_has_the_verdicts_of_each() -> None:
    """Under the name of its protocol; that of the system needs no model."""
    entry, _ = find("audited")
    found = [result for _, result in histories(entry, "smoke", 1)]
    assert number_of_replays(entry) == 2
    assert {(r.protocol, r.variant, r.property, r.verdict) for r in found} == {
        ("audited", "fenced", "never_older", "holds"),
        ("lock", "fenced", "writes_in_order", "holds"),
        ("lock", "fenced", "conformance", "holds"),
    }
    assert all(r.as_expected for r in found)
    assert "200 simulated histories of audited/fenced" in {r.evidence["histories"] for r in found}
    reported = words(fencepost("verify", "audited", "--verbose"))
    assert "never older holds" in reported and "; 0 not as expected" in reported
