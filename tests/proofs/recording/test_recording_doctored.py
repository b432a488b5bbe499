"""The shipped recording of a real cluster replays clean; doctored copies of it are caught, each in the right words."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fencepost.proofs.replays import recordings
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import HistoryDirectory, read_piece, write_histories
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind

[SHIPPED] = recordings("id-blocks")
Columns = dict[str, np.ndarray]


def doctored(change: Callable[[Columns], None], out: Path) -> ReplayReport:
    """The replay of a copy of the recording after one change of its columns."""
    opened = HistoryDirectory.open(SHIPPED)
    columns, _ = read_piece(opened.pieces[0], ID_BLOCKS, ID_BLOCKS.schema.names)
    columns = {name: values.copy() for name, values in columns.items()}
    change(columns)
    manifest = opened.manifest
    reported = {name: getattr(manifest, name) for name in ("variant", "source", "ordered", "observable", "config")}
    write_histories(out, [columns], ID_BLOCKS, **reported)
    return replay(out)


def test_the_recording_is_clean() -> None:
    """Twenty blocks, nearly twelve thousand ids: every property that the recording can decide holds of it."""
    report = replay(SHIPPED, further={"conformance": conformance_of(HistoryDirectory.open(SHIPPED).manifest)})
    assert report.holds
    assert report.figures["blocks"] == 20
    assert report.figures["ids_handed_out"] > 10_000
    decided = {name for name, judged in report.judged.items() if judged}
    assert decided >= {"ids_unique", "blocks_disjoint", "blocks_contiguous", "ids_within_blocks", "blocks_well_formed"}
    assert {"conformance", "ids_increase", "handed_out_after_grant"} <= set(report.unknown)


def test_one_id_twice(tmp_path: Path) -> None:
    """A client is given an id that another one has."""

    def change(columns: Columns) -> None:
        given = np.flatnonzero(columns["kind"] == Kind.id_handed_out)
        columns["producer_id"][given[700]] = columns["producer_id"][given[300]]

    report = doctored(change, tmp_path / "h")
    found = report.violations["ids_unique"]
    assert found["count"] == 1
    assert "hands out id 2095 at step 718" in str(found["first"])
    assert "did so at step 316" in str(found["first"])


@pytest.mark.parametrize(("by", "broken"), [(-1, "blocks_disjoint"), (1, "blocks_contiguous")])
def test_one_block_shifted_by_one(by: int, broken: str, tmp_path: Path) -> None:
    """A block that starts one too early overlaps its predecessor; one too late leaves a gap and meets its successor."""

    def change(columns: Columns) -> None:
        blocks = np.flatnonzero(columns["kind"] == Kind.block_committed)
        columns["first"][blocks[5]] += by

    report = doctored(change, tmp_path / "h")
    assert report.violations[broken]["count"] >= 1
    assert str(5 * 1000 + by) in str(report.violations[broken]["first"])  # blocks are of a thousand, from 0 on


def test_an_id_from_nowhere(tmp_path: Path) -> None:
    """An id past every committed block was handed out."""

    def change(columns: Columns) -> None:
        given = np.flatnonzero(columns["kind"] == Kind.id_handed_out)
        columns["producer_id"][given[10]] = 10**6

    report = doctored(change, tmp_path / "h")
    assert report.violations["ids_within_blocks"]["count"] == 1
    assert "1000000" in str(report.violations["ids_within_blocks"]["first"])
