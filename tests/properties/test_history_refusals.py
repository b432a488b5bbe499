"""A directory of histories that is not whole is refused, in one line that says what is wrong and where."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fencepost.proofs.scale.replay import replay
from fencepost.properties.history import HistoryError, Manifest, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY

PART = "part-00000.parquet"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Ten histories of 285 events in five row groups."""
    pieces = [SEEDED_HISTORY.seeded(1, 2 * i, 2)[0] for i in range(5)]
    write_histories(tmp_path / "h", pieces, ID_BLOCKS, rows_per_group=500, seed=1)
    return tmp_path / "h"


def refusal(directory: Path) -> str:
    """The message with which replay refuses the directory: one line."""
    with pytest.raises(HistoryError) as caught:
        replay(directory, cores=1)
    message = str(caught.value)
    assert "\n" not in message
    return message


def edit_manifest(directory: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    path = directory / "manifest.json"
    reported = json.loads(path.read_text())
    edit(reported)
    path.write_text(json.dumps(reported))


def rewrite(directory: Path, change: Callable[[pa.Table], pa.Table], row_group_size: int = 10**6) -> None:
    """Write the one file anew, changed, and let the manifest say what it now holds."""
    path = directory / PART
    table = change(pq.read_table(path))
    pq.write_table(table, path, row_group_size=row_group_size)
    groups = pq.ParquetFile(path).metadata.num_row_groups

    def reported(manifest: dict[str, Any]) -> None:
        for entry in (manifest["files"][0], manifest["totals"]):
            entry.update(rows=table.num_rows, row_groups=groups)

    edit_manifest(directory, reported)


def with_column(name: str, values: Callable[[np.ndarray], Any], type_: pa.DataType | None = None) -> Any:
    def change(table: pa.Table) -> pa.Table:
        array = pa.array(values(table.column(name).to_numpy().copy()), type_ or ID_BLOCKS.schema.field(name).type)
        return table.set_column(table.schema.get_field_index(name), name, array)

    return change


def test_the_directory_itself_is_accepted(directory: Path) -> None:
    """Every refusal below is of a directory that would otherwise pass."""
    report = replay(directory, cores=1)
    assert (report.events, report.histories, report.pieces, report.holds) == (2850, 10, 5, True)


def unlink(name: str) -> Callable[[Path], None]:
    return lambda directory: (directory / name).unlink()


def manifest(**changes: Any) -> Callable[[Path], None]:
    return lambda directory: edit_manifest(directory, lambda m: m.update(changes))


def counted(**changes: int) -> Callable[[Path], None]:
    return lambda d: edit_manifest(d, lambda m: [e.update(changes) for e in (m["files"][0], m["totals"])] and None)


def table(change: Callable[[pa.Table], pa.Table], row_group_size: int = 10**6) -> Callable[[Path], None]:
    return lambda directory: rewrite(directory, change, row_group_size)


def cut_off(share: float) -> Callable[[Path], None]:
    def cut(directory: Path) -> None:
        path = directory / PART
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    return cut


def damaged(directory: Path) -> None:
    """Which the footer does not show: it is met when the piece is read."""
    path = directory / PART
    data = bytearray(path.read_bytes())
    data[4:2000] = b"\xff" * 1996
    path.write_bytes(bytes(data))


def swapped(step: np.ndarray) -> np.ndarray:
    """Two events of history 1 in the wrong order."""
    step[[300, 301]] = step[[301, 300]]
    return step


def without_statistics(directory: Path) -> None:
    """Without the range of histories in the footer a history in two row groups could not be seen."""
    pq.write_table(pq.read_table(directory / PART), directory / PART, write_statistics=False)
    counted(row_groups=1)(directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unlink("manifest.json"), "manifest.json: not found"),
        (manifest(schema_version=2), "schema version 2 is unknown; this fencepost reads version 1"),
        (
            table(lambda t: t.replace_schema_metadata({"fencepost.schema_version": "9"})),
            "part-00000.parquet: schema version '9' is unknown",
        ),
        (manifest(protocol="id-blox"), "unknown protocol 'id-blox'; known: id-blocks"),
        (
            lambda d: edit_manifest(d, lambda m: m["observable"].append("id_handed_outt")),
            "has no event kind 'id_handed_outt' to observe",
        ),
        (
            lambda d: edit_manifest(d, lambda m: m["totals"].update(rows=7)),
            "files add up to 2850 rows, 10 histories, 5 row groups, totals say 7 rows",
        ),
        (unlink(PART), f"{PART}: not found, though the manifest lists it"),
        *((cut_off(share), f"{PART}: not a whole Parquet file") for share in (0.0, 0.3, 0.99)),
        (damaged, "row group 0: cannot be read, the file is damaged"),
        (table(lambda t: t.drop_columns(["node"])), f"{PART}: column 'node' (int32) is missing"),
        (
            table(with_column("producer_id", lambda v: v.astype(float), pa.float64())),
            f"{PART}: column 'producer_id' has type double, must be int64",
        ),
        (
            table(with_column("grant", lambda v: [None if x < 0 else int(x) for x in v])),
            "column 'grant' holds nulls",
        ),
        (
            table(with_column("step", swapped)),
            "history 1 has step 16 where step 15 is due; it is cut, unsorted or incomplete",
        ),
        (
            table(with_column("history", lambda v: v[::-1])),
            "row 285 is of history 8, after history 9; rows must be sorted",
        ),
        (table(lambda t: t, 400), "history 1 also lies in part-00000.parquet row group 0"),
        (table(lambda t: t.slice(10)), "history 0 has step 10 where step 0 is due"),
        (counted(rows=2851), "holds 2850 rows in 5 row groups, the manifest says 2851 rows"),
        (
            counted(histories=11),
            "checked 2850 rows of 10 histories in 5 pieces, the manifest says 2850 rows of 11",
        ),
        (without_statistics, "row group 0 lacks the statistics of `history`"),
    ],
    ids=[
        "no manifest", "later manifest", "later file", "protocol", "kind", "totals", "no file", "empty", "truncated",
        "last bytes", "damaged", "missing_column", "type", "nulls", "unsorted steps", "unsorted histories", "split",
        "beginning lost", "rows", "histories", "no statistics",
    ],
)  # fmt: skip
def test_what_is_not_whole(directory: Path, change: Callable[[Path], None], message: str) -> None:
    """A later format is not guessed at; a manifest that contradicts itself or its files is not half-believed; a cut
    history would be checked in two halves; a null would compare to nothing."""
    change(directory)
    assert message in refusal(directory)


def test_a_history_split_over_files(directory: Path) -> None:
    """The second half of a history in another file is found, whatever the order of the files."""
    table = pq.read_table(directory / PART)
    parts = {"b.parquet": table.slice(0, 400), "a.parquet": table.slice(400)}
    entries = []
    for (name, part), histories in zip(parts.items(), (2, 8), strict=True):
        pq.write_table(part, directory / name)
        entries.append({"name": name, "rows": part.num_rows, "histories": histories, "row_groups": 1})
    (directory / PART).unlink()
    edit_manifest(directory, lambda m: (m.update(files=entries), m["totals"].update(row_groups=2)))
    assert "a.parquet row group 0: history 1 also lies in b.parquet row group 0" in refusal(directory)


def test_attempts_not_listed_are_ignored(directory: Path) -> None:
    """The ghost of a retried task changes nothing; a further piece is refused, for what it has is not judged."""
    before = replay(directory, cores=1)
    (directory / "part-00000.attempt-1.parquet").write_bytes((directory / PART).read_bytes())
    assert replay(directory, cores=1) == before
    (directory / "part-00001.parquet").write_bytes(b"half a file")
    assert "part-00001.parquet: the manifest does not list this piece" in refusal(directory)


def _renamed(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda m: m["files"][0].update(name=name)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (_renamed("../h/part-00000.parquet"), "'../h/part-00000.parquet' is no name of a file within the directory"),
        (_renamed("/etc/passwd"), "'/etc/passwd' is no name of a file within the directory"),
        (_renamed(".."), "'..' is no name of a file within the directory"),
        (lambda m: [m["files"].append(m["files"][0]), m["totals"].update(rows=5700)], "files add up to"),
        (
            lambda m: [m["files"].append(m["files"][0]), m["totals"].update(rows=5700, histories=20, row_groups=10)],
            "part-00000.parquet is listed twice",
        ),
        (lambda m: [e.update(rows=-1) for e in (m["files"][0], m["totals"])], "no count is negative"),
        (lambda m: [e.update(histories=9999) for e in (m["files"][0], m["totals"])], "every history has an event"),
        (lambda m: m.update(faults={"drop": -5}), "-5 faults 'drop': no count is negative"),
        (lambda m: m.update(variant="kraft"), "written of the variant '', and the manifest says 'kraft'"),
        (lambda m: m.update(variant="kraft", config={"mode": "bridge"}), "it is of another variant"),
        (lambda m: m["config"].update(max_id=[]), "the config's max_id is [], which is no whole number"),
    ],
)
def test_manifests_that_cannot_be_of_these_files(
    directory: Path, edit: Callable[[dict[str, Any]], object], text: str
) -> None:
    """What contradicts itself, or the files, or leads elsewhere."""
    edit_manifest(directory, lambda m: [edit(m), None][1])
    assert text in refusal(directory)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xff\xfe{}", "not a manifest of histories: "),
        (b'{"config":' + b"[" * 100_000, "not a manifest of histories: it is nested too deeply"),
        (b"[" * 100_000, "not a manifest of histories: "),
        (b"[1, 2]", "not a manifest of histories: "),
        (b"null", "not a manifest of histories: "),
        (b"", "not a manifest of histories: "),
        (b"{}", "not a manifest of histories: "),
        (b'{"schema_version": 1}', "not a manifest of histories: "),
        (b'{"schema_version": 1, "totals": []}', "not a manifest of histories: "),
        (b'{"schema_version": 1, "totals": {"a": 1}}', "not a manifest of histories: "),
    ],
    ids=["not UTF-8", "deep config", "deep", "list", "null", "empty", "no keys", "version alone", "totals", "of a"],
)
def test_manifests_that_are_none(directory: Path, content: bytes, text: str) -> None:
    """Whatever stands there."""
    (directory / "manifest.json").write_bytes(content)
    assert text in refusal(directory)


def test_pipes_and_links_that_lead_out(directory: Path, tmp_path: Path) -> None:
    """A reader would wait at a pipe for ever, and a link shows what lies elsewhere; one within is as good as a file."""
    content = (directory / PART).read_bytes()
    (tmp_path / "elsewhere.parquet").write_bytes(content)
    (directory / PART).unlink()
    (directory / PART).symlink_to(tmp_path / "elsewhere.parquet")
    assert "part-00000.parquet: a link that leads out of the directory" in refusal(directory)
    (directory / PART).unlink()
    os.mkfifo(directory / PART)
    assert "part-00000.parquet: a pipe, a device or a directory, and no file" in refusal(directory)
    (directory / PART).unlink()
    (directory / "data").write_bytes(content)
    (directory / PART).symlink_to("data")
    assert replay(directory, cores=1).histories == 10
    (directory / "manifest.json").rename(tmp_path / "manifest.json")
    (directory / "manifest.json").symlink_to(tmp_path / "manifest.json")
    assert "manifest.json: a link that leads out of the directory" in refusal(directory)


def test_time_that_runs_backwards(directory: Path) -> None:
    """In simulated histories there is one clock; a recording is merged from several."""

    def backwards(table: pa.Table) -> pa.Table:
        times = table.column("time_us").to_numpy().copy()
        times[3] = times[4] + 7
        return table.set_column(2, table.schema.field("time_us"), pa.array(times))

    rewrite(directory, backwards)
    assert "history 0 runs backwards at step 4, from " in refusal(directory)
    edit_manifest(directory, lambda m: m.update(source="recorded"))
    assert replay(directory, cores=1).histories == 10


def test_unknown_check(directory: Path) -> None:
    """A misspelt property is not silently left out."""
    with pytest.raises(HistoryError, match="has no history property 'ids-unic'; it has ids_unique, "):
        replay(directory, cores=1, checks=["ids-unic"])


ROW = (0, 10, 13, -1, 0, -1, -1, -1, -1, -1, 7, 0)


@pytest.mark.parametrize(
    ("histories", "message"),
    [
        ([(0, [ROW[:-1]])], "history 0, row 0: 11 values for 12 columns: step, time_us, kind"),
        ([(0, [(0, 10, 2**40, *ROW[3:])])], "history 0: 1099511627776 does not fit the column 'kind', int16"),
        ([(0, [(0, 2**63, *ROW[2:])])], "a value is no 64-bit integer"),
        ([(0, [(0, None, *ROW[2:])])], "a value is no 64-bit integer"),
        ([(0, [(1, *ROW[1:])])], "history 0 has step 1 where step 0 is due"),
        ([(3, [ROW]), (2, [ROW])], "history 2 comes after history 3; add each history once, in order"),
        ([(3, [ROW]), (3, [ROW])], "history 3 comes after history 3"),
    ],
)
def test_the_writer_refuses_what_the_reader_would(tmp_path: Path, histories: list[Any], message: str) -> None:
    """Rows that are no history are refused before a manifest exists."""
    with pytest.raises(HistoryError, match=re.escape(message)):
        write_histories(tmp_path, histories, ID_BLOCKS)
    assert not (tmp_path / "manifest.json").exists()


def test_no_history_at_all(tmp_path: Path) -> None:
    """An empty directory of histories is written and replayed: nothing is violated, and everything is vacuous."""
    manifest = write_histories(tmp_path, [], ID_BLOCKS)
    assert manifest.totals.rows == 0
    report = replay(tmp_path, cores=1)
    assert (report.events, report.pieces, report.violations) == (0, 0, {})
    assert set(report.vacuous) == set(id_blocks.properties)


def test_manifest_comes_back_as_written(directory: Path) -> None:
    """Reading a manifest gives what was written, and its file says what each column means."""
    manifest = Manifest.read(Location.of(directory))
    assert manifest.seed == 1
    assert [file.row_groups for file in manifest.files] == [5]
    written = pq.read_schema(directory / PART)
    assert written.equals(ID_BLOCKS.schema, check_metadata=False)
    assert all(written.field(name).metadata[b"meaning"] for name in ID_BLOCKS.schema.names)
