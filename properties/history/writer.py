"""This module writes histories: Parquet, sorted by (history, step), a whole number of histories in each row group.

`write_histories` is for one process. Generation in many processes gives each its own `HistoryWriter` and makes the
manifest from what they return.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fencepost.properties.history.claiming import claimed
from fencepost.properties.history.location import Location
from fencepost.properties.history.manifest import HistoryFile, Manifest
from fencepost.properties.history.pieces import Columns, Rows, check_whole, columns_of, starts_of
from fencepost.properties.history.vocabulary import HistoryError, Vocabulary

ROWS_PER_GROUP = 250_000  # large enough to hide per-group costs, small enough that a group's arrays stay in cache


def write_histories(
    directory: str | Path | Location,
    histories: Iterable[Rows | Columns],
    vocabulary: Vocabulary,
    *,
    rows_per_group: int = ROWS_PER_GROUP,
    rows_per_part: int | None = None,
    **described: Any,
) -> Manifest:
    """Write `histories` and their manifest into `directory`; return the manifest.

    Each item is either (history, rows), the rows being sequences of the columns after `history`, or columns that have
    any number of whole histories. Items come in ascending order of history. `described` are further fields of
    `Manifest` (source, ordered, variant, seed, config, observable, faults, notes); `observable` defaults to every kind.
    Where `rows_per_part` is given, what is written with it are parts: items may continue the history of the one before,
    and a history of more rows is cut into several row groups, which a replay re-keys. Raises `HistoryError` if
    histories are there already, or a history is not whole or does not fit the schema.
    """
    place = Location.of(directory)
    variant = str(described.get("variant", ""))
    described.setdefault("observable", tuple(vocabulary.codes))
    with claimed(place):
        with HistoryWriter(place, "part-00000.parquet", vocabulary, rows_per_group, variant) as writer:
            for item in histories:
                columns = columns_of(vocabulary, [item]) if isinstance(item, tuple) else item
                if rows_per_part is None:
                    writer.add(columns)
                else:
                    writer.add_parts(columns, rows_per_part)
        manifest = Manifest(
            protocol=vocabulary.protocol, files=(writer.written,), cut=cut_in(writer.parts), **described
        )
        manifest.write(place)
    return manifest


def cut_in(*parts: Mapping[int, int]) -> dict[int, int]:
    """Return, from the `parts` of all writers, in how many row groups each history lies that lies in several."""
    sums = sum((Counter(of_file) for of_file in parts), Counter[int]())
    return {history: many for history, many in sorted(sums.items()) if many > 1}


class HistoryWriter:
    """A `HistoryWriter` writes one file of histories; used as a context manager, after which `written` has what is in
    the file, and `parts` in how many row groups each history lies that was added in parts."""

    written: HistoryFile

    def __init__(
        self, directory: Location, name: str, vocabulary: Vocabulary, rows_per_group: int = ROWS_PER_GROUP,
        variant: str = "",
    ) -> None:  # fmt: skip
        self._where = directory / name
        self._name = name
        # A manifest that names another variant than the files does not belong to them.
        self._schema = vocabulary.schema.with_metadata({**vocabulary.schema.metadata, "fencepost.variant": variant})
        self._rows_per_group = rows_per_group
        self._waiting: list[Columns] = []
        self._waiting_rows = self._rows = self._histories = self._row_groups = 0
        self._last: int | None = None
        self._step = 0
        self.parts: dict[int, int] = {}
        self._stream = directory.open_output(name)
        # Statistics let a reader see from the footer alone that a history lies in one row group, or has all its parts.
        # Neighbouring rows differ by little: differences are decoded more than twice as fast as dictionaries and zstd.
        self._parquet = pq.ParquetWriter(
            self._stream, self._schema, compression="lz4", use_dictionary=False,
            column_encoding=dict.fromkeys(self._schema.names, "DELTA_BINARY_PACKED"),
            write_statistics=["history", "step"], store_schema=True,
        )  # fmt: skip

    def __enter__(self) -> "HistoryWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
                self.written = HistoryFile(self._name, self._rows, self._histories, self._row_groups)
        finally:
            self._parquet.close()
            self._stream.close()

    def add(self, columns: Columns) -> None:
        """Add whole histories, numbered above those added before. Raises `HistoryError` if they are not."""
        self._histories += check_whole(columns, self._where)
        history = columns["history"]
        if not len(history):
            return
        if self._last is not None and history[0] <= self._last:
            raise HistoryError(
                f"{self._where}: history {history[0]} comes after history {self._last}; add each history once, in order"
            )
        self._last = int(history[-1])
        self._waiting.append(columns)
        self._waiting_rows += len(history)
        if self._waiting_rows >= self._rows_per_group:
            self._flush()

    def add_parts(self, columns: Columns, rows: int) -> None:
        """Add one history after another, each in row groups of its own of at most so many rows. The first may continue
        the history that was added last, and at the begin of a file one of another file. Raises `HistoryError` if it
        does not continue with its next step."""
        for begin, end in pairwise([*starts_of(columns["history"]).tolist(), len(columns["history"])]):
            history = int(columns["history"][begin])
            for at in range(begin, end, rows):
                part = {name: values[at : min(at + rows, end)] for name, values in columns.items()}
                begins = history != self._last
                due = int(part["step"][0]) if self._last is None else 0 if begins else self._step
                steps = np.arange(due, due + len(part["step"]))
                if (self._last is not None and history < self._last) or (part["step"] != steps).any():
                    raise HistoryError(f"{self._where}: history {history} does not go on with step {due}")
                self._flush()
                self._last, self._step = history, due + len(steps)
                self.parts[history] = self.parts.get(history, 0) + 1
                self._histories += due == 0
                self._waiting = [part]
                self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        arrays = []
        for field in self._schema:
            values = np.concatenate([columns[field.name] for columns in self._waiting])
            arrays.append(pa.array(values, field.type))  # raises where a wider array holds what the type cannot
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._parquet.write_table(table, row_group_size=max(1, table.num_rows))
        self._rows += table.num_rows
        self._row_groups += 1
        self._waiting, self._waiting_rows = [], 0
