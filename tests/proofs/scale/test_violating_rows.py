"""The rows that violate something, as Parquet: as many as the report counts, each whole, and the same on Spark."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.scale.violating import violating_rows
from fencepost.properties.history import HistoryDirectory, read_piece
from fencepost.properties.history.location import Location
from own_protocols import taken_back

NAMED = ("--protocol", "tests.audited", "--protocol", "tests.lock")
SIMULATOR = "tests.audited.simulator:simulate"


@pytest.fixture(autouse=True, scope="module")
def known() -> Iterator[None]:
    from fencepost.properties import registry

    with taken_back():
        registry.add("tests.lock")
        registry.add("tests.audited")
        yield


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories of the lock whose store takes every write."""
    place = tmp_path_factory.mktemp("broken") / "made"
    settings = ("--histories", 40, "--config", "broken=Unfenced", "--config", "clients=3")
    assert fencepost("generate", "tests.lock/fenced", place, *settings).code == 0
    return place


def test_as_many_as_the_report_counts(broken: Path, tmp_path: Path) -> None:
    """By property, in the order of histories; each row is that of the history, and the first is the report's first."""
    file, report = tmp_path / "rows.parquet", tmp_path / "report.json"
    ran = fencepost("replay", broken, "--protocol", "tests.lock", "--violations", file, "--json", report)
    assert ran.code == 1
    rows = pq.read_table(file).to_pylist()
    reported = read_json(report)["violations"]
    assert Counter(row["property"] for row in rows) == {name: found["count"] for name, found in reported.items()}
    assert len(reported) == 2
    for name, found in reported.items():
        first = next(row for row in rows if row["property"] == name)
        assert {part: first[part] for part in ("history", "step", "told")} == {
            part: found["first"][part] for part in ("history", "step", "told")
        }
    assert [(r["history"], r["step"]) for r in rows] == sorted((r["history"], r["step"]) for r in rows)
    opened = HistoryDirectory.open(Location.of(broken))
    vocabulary = opened.vocabulary
    columns, _ = read_piece(opened.pieces[0], vocabulary, vocabulary.schema.names)
    events = {(h, s): n for n, (h, s) in enumerate(zip(columns["history"], columns["step"], strict=True))}
    for row in rows:
        place = events[row["history"], row["step"]]
        assert {name: row[name] for name in columns} == {name: column[place] for name, column in columns.items()}
        assert (row["event"], row["vocabulary"], row["at"]) == ("written", "lock", None)
        if row["property"] == "writes_in_order":
            explained = events[row["history"], row["explained_by"]]
            assert columns["token"][explained] > row["token"] and row["rule"] == "lock.P1"


def test_the_same_on_any_number_of_cores(broken: Path) -> None:
    rows = [violating_rows(broken, ["writes_in_order"], cores=cores) for cores in (1, 2)]
    assert rows[0].num_rows > 40 and rows[0].equals(rows[1])


def test_of_a_set_each_row_in_its_own_words(tmp_path: Path) -> None:
    """One file; columns that another vocabulary has are null."""
    place, file = tmp_path / "made", tmp_path / "rows.parquet"
    made = ("--config", "broken=true", "--config", "clients=3", "--config", "events=60", "--histories", 30)
    ran = fencepost("generate", "tests.audited/fenced", place, "--from", SIMULATOR, *made)
    assert ran.code == 0, ran.err
    assert fencepost("replay", place, *NAMED, "--violations", file).code == 1
    rows = pq.read_table(file).to_pylist()
    assert {row["vocabulary"] for row in rows} == {"audited", "lock"}
    assert {row["client"] is None for row in rows if row["vocabulary"] == "audited"} == {True}
    assert {row["client"] is None for row in rows if row["vocabulary"] == "lock"} == {False}


def test_nothing_violated_is_an_empty_file(tmp_path: Path) -> None:
    """With all columns; and what is predicted of a variant is no row."""
    place, file = tmp_path / "made", tmp_path / "rows.parquet"
    assert fencepost("generate", "tests.lock/fenced", place, "--histories", 10).code == 0
    assert fencepost("replay", place, "--protocol", "tests.lock", "--violations", file).code == 0
    assert pq.read_table(file).num_rows == 0
    assert {"property", "told", "explained_by", "token"} <= {*pq.read_schema(file).names}
