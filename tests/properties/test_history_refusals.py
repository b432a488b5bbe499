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
from fencepost.properties.id_blocks.histories import BED
from fencepost.properties.id_blocks.histories import HISTORY as id_blocks

PART = "part-00000.parquet"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Ten histories of 285 events in five row groups."""
    pieces = [BED.planted(1, 2 * i, 2)[0] for i in range(5)]
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
    told = json.loads(path.read_text())
    edit(told)
    path.write_text(json.dumps(told))


def rewrite(directory: Path, change: Callable[[pa.Table], pa.Table], row_group_size: int = 10**6) -> None:
    """Write the one file anew, changed, and let the manifest say what it now holds."""
    path = directory / PART
    table = change(pq.read_table(path))
    pq.write_table(table, path, row_group_size=row_group_size)
    groups = pq.ParquetFile(path).metadata.num_row_groups

    def told(manifest: dict[str, Any]) -> None:
        for entry in (manifest["files"][0], manifest["totals"]):
            entry.update(rows=table.num_rows, row_groups=groups)

    edit_manifest(directory, told)


def with_column(name: str, values: Callable[[np.ndarray], Any], type_: pa.DataType | None = None) -> Any:
    def change(table: pa.Table) -> pa.Table:
        array = pa.array(values(table.column(name).to_numpy().copy()), type_ or ID_BLOCKS.schema.field(name).type)
        return table.set_column(table.schema.get_field_index(name), name, array)

    return change


def test_the_directory_itself_is_accepted(directory: Path) -> None:
    """Every refusal below is of a directory that would otherwise pass."""
    report = replay(directory, cores=1)
    assert (report.events, report.histories, report.pieces, report.holds) == (2850, 10, 5, True)


def test_missing_manifest(directory: Path) -> None:
    """Without a manifest the generation never finished."""
    (directory / "manifest.json").unlink()
    assert "manifest.json: not found" in refusal(directory)


def test_unknown_schema_version_in_the_manifest(directory: Path) -> None:
    """A later format is not guessed at."""
    edit_manifest(directory, lambda m: m.update(schema_version=2))
    assert "schema version 2 is unknown; this fencepost reads version 1" in refusal(directory)


def test_unknown_schema_version_in_a_file(directory: Path) -> None:
    """Nor is a later file under an older manifest."""
    rewrite(directory, lambda t: t.replace_schema_metadata({"fencepost.schema_version": "9"}))
    assert re.search(r"part-00000.parquet: schema version '9' is unknown", refusal(directory))


def test_unknown_protocol(directory: Path) -> None:
    """The message names the protocols that are known."""
    edit_manifest(directory, lambda m: m.update(protocol="id-blox"))
    assert "unknown protocol 'id-blox'; known: id-blocks" in refusal(directory)


def test_unknown_observable_kind(directory: Path) -> None:
    """A misspelt kind would make properties unknown without a reason."""
    edit_manifest(directory, lambda m: m["observable"].append("id_handed_outt"))
    assert "has no event kind 'id_handed_outt' to observe" in refusal(directory)


def test_totals_that_do_not_add_up(directory: Path) -> None:
    """A manifest that contradicts itself is not half-believed."""
    edit_manifest(directory, lambda m: m["totals"].update(rows=7))
    assert "files add up to 2850 rows, 10 histories, 5 row groups, totals say 7 rows" in refusal(directory)


def test_missing_file(directory: Path) -> None:
    """A listed file must be there."""
    (directory / PART).unlink()
    assert f"{PART}: not found, though the manifest lists it" in refusal(directory)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_truncated_parquet(directory: Path, share: float) -> None:
    """A file cut off anywhere is refused by its name."""
    path = directory / PART
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert f"{PART}: not a whole Parquet file" in refusal(directory)


def test_damaged_data_behind_a_sound_footer(directory: Path) -> None:
    """Damage that the footer does not show is met when the piece is read."""
    path = directory / PART
    data = bytearray(path.read_bytes())
    data[4:2000] = b"\xff" * 1996
    path.write_bytes(bytes(data))
    assert "row group 0: cannot be read, the file is damaged" in refusal(directory)


def test_missing_column(directory: Path) -> None:
    """Also a column that no property reads must be there."""
    rewrite(directory, lambda t: t.drop_columns(["node"]))
    assert f"{PART}: column 'node' (int32) is missing" in refusal(directory)


def test_wrong_type(directory: Path) -> None:
    """Ids as floating point numbers lose their last bits."""
    rewrite(directory, with_column("producer_id", lambda v: v.astype(float), pa.float64()))
    assert f"{PART}: column 'producer_id' has type double, must be int64" in refusal(directory)


def test_nulls(directory: Path) -> None:
    """What does not apply is -1; a null would compare to nothing."""
    rewrite(directory, with_column("grant", lambda v: [None if x < 0 else int(x) for x in v]))
    assert "column 'grant' holds nulls" in refusal(directory)


def test_unsorted_steps(directory: Path) -> None:
    """Two events of one history in the wrong order."""

    def swap(step: np.ndarray) -> np.ndarray:
        step[[300, 301]] = step[[301, 300]]
        return step

    rewrite(directory, with_column("step", swap))
    assert "history 1 has step 16 where step 15 is due; it is cut, unsorted or incomplete" in refusal(directory)


def test_unsorted_histories(directory: Path) -> None:
    """A history that comes after a higher one."""
    rewrite(directory, with_column("history", lambda v: v[::-1]))
    assert "row 285 is of history 8, after history 9; rows must be sorted" in refusal(directory)


def test_a_history_split_over_row_groups(directory: Path) -> None:
    """A cut history would be checked in two halves, and a violation across the cut missed."""
    rewrite(directory, lambda t: t, row_group_size=400)
    assert "history 1 also lies in part-00000.parquet row group 0" in refusal(directory)


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


def test_a_history_cut_off(directory: Path) -> None:
    """A history that lost its beginning is not whole, though rows and row groups add up."""
    rewrite(directory, lambda t: t.slice(10))
    assert "history 0 has step 10 where step 0 is due" in refusal(directory)


def test_rows_that_do_not_add_up(directory: Path) -> None:
    """A file with other rows than listed."""
    edit_manifest(directory, lambda m: [e.update(rows=2851) for e in (m["files"][0], m["totals"])])
    assert "holds 2850 rows in 5 row groups, the manifest says 2851 rows" in refusal(directory)


def test_histories_that_do_not_add_up(directory: Path) -> None:
    """The histories counted while checking must be those listed."""
    edit_manifest(directory, lambda m: [e.update(histories=11) for e in (m["files"][0], m["totals"])])
    assert "checked 2850 rows of 10 histories in 5 pieces, the manifest says 2850 rows of 11" in refusal(directory)


def test_a_row_group_without_statistics(directory: Path) -> None:
    """Without the range of histories in the footer a history in two row groups could not be seen."""
    pq.write_table(pq.read_table(directory / PART), directory / PART, write_statistics=False)
    edit_manifest(directory, lambda m: [e.update(row_groups=1) for e in (m["files"][0], m["totals"])])
    assert "row group 0 lacks the statistics of `history`" in refusal(directory)


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
    ("edit", "told"),
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
    directory: Path, edit: Callable[[dict[str, Any]], object], told: str
) -> None:
    """What contradicts itself, or the files, or leads elsewhere."""
    edit_manifest(directory, lambda m: [edit(m), None][1])
    assert told in refusal(directory)


@pytest.mark.parametrize(
    ("content", "told"),
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
def test_manifests_that_are_none(directory: Path, content: bytes, told: str) -> None:
    """Whatever stands there."""
    (directory / "manifest.json").write_bytes(content)
    assert told in refusal(directory)


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
