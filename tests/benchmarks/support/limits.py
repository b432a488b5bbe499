"""Seeded histories of a protocol, what replaying them is held against, and what a worker's memory comes to."""

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import id_block_sql
import pyarrow.parquet as pq
import task_count_sql
import transaction_sql
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import check_piece
from fencepost.properties.history import HistoryDirectory, Piece, read_piece
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.seeded_violations import SEEDED_HISTORIES


@dataclass(frozen=True)
class Seeded:
    """Seeded histories of one protocol, of which about one in a hundred is edited, and SQL that finds the same."""

    protocol: str
    config: Mapping[str, Any]
    in_duckdb: Callable[[str, duckdb.DuckDBPyConnection], Mapping[str, tuple[int, Any]]]

    def generate(self, place: Path, histories: int, cores: int = 1) -> dict[str, int]:
        """So many in `place`; the violations that must be found in them."""
        simulator = f"{SEEDED_HISTORIES.module_name(self.protocol)}:simulate_many"
        config = {"share": 0.01, **self.config}
        made = generate(
            place, simulator, histories=histories, seed=1, config=config, protocol=self.protocol, many=True, cores=cores
        )
        unpromised = properties_of(self.protocol).unpromised(made)
        return {name: count for name, count in made.faults.items() if name not in unpromised}


SEEDED = {
    seeded.protocol: seeded
    for seeded in (
        Seeded("id-blocks", {}, id_block_sql.in_duckdb),
        Seeded(
            "transactions", {"mode": "v2", "quiet_end": True},
            partial(transaction_sql.in_duckdb, text=transaction_sql.query("v2", quiet_end=True)),
        ),
        Seeded(
            "task-counts", {"mode": "shipped", "quiet_end": True},
            partial(task_count_sql.in_duckdb, text=task_count_sql.query("shipped")),
        ),
    )
}  # fmt: skip


def least(work: Callable[[], object], rounds: int = 3) -> float:
    """The least processor seconds of this process that the work takes."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def decoded(place: Path, protocol: str) -> None:
    """Decodes what the properties read, and does nothing with it."""
    names = ["time_us", *properties_of(protocol).columns]
    for file in sorted(place.glob("*.parquet")):
        with pq.ParquetFile(file) as parquet:
            for group in range(parquet.num_row_groups):
                parquet.read_row_group(group, columns=names, use_threads=False)


def passes(place: Path, protocol: str) -> Callable[[], None]:
    """One NumPy pass over each column of a piece that the properties read."""
    opened = HistoryDirectory.open(place)
    columns, _ = read_piece(opened.pieces[0], opened.vocabulary, properties_of(protocol).columns)

    def pass_over_all() -> None:
        for column in columns.values():
            column + 1

    return pass_over_all


def peak_after(piece: Piece, protocol: str, config: Mapping[str, Any]) -> int:
    """Checks a piece; the most memory that this worker has had so far, in kB."""
    check_piece((piece,), protocol, properties_of(protocol).names, (), config)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
