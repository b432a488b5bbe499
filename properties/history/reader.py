"""This module reads a directory of histories, or refuses it: what is not whole and as the manifest describes it is
never half-checked.

Opening reads the manifest and the Parquet footers only (files, columns, types, counts, and that no history lies in two
row groups, except for those that the manifest declares cut, of which every part must be there). Reading a piece then
checks its rows for the rest (sorted, every history from step 0 without a gap). Attempts that the manifest does not list
are ignored: a task that was retried may have left them. Any other piece that it does not list is refused, for it may be
the one that is violated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fencepost.properties.history.location import Location
from fencepost.properties.history.manifest import ATTEMPT, HistoryFile, Manifest, described
from fencepost.properties.history.pieces import check_goes_on, check_times, check_whole
from fencepost.properties.history.vocabulary import SCHEMA_VERSION, VOCABULARIES, HistoryError, Vocabulary

BUFFER = 1 << 20
"""`BUFFER` is how many bytes of a column are read at a time where a row group is read bit by bit."""


@dataclass(frozen=True)
class Piece:
    """A `Piece` is one row group: the unit of work that is shipped to a worker, as its name and nothing else."""

    directory: Location
    file: str
    row_group: int
    rows: int
    first_history: int
    last_history: int
    timed: bool = False
    """Return whether time never runs backwards in the piece, as where one clock was simulated; nodes of a cluster have
    several."""
    first_step: int = 0
    """Return the step with which a part of a history that is cut begins."""

    @property
    def where(self) -> str:
        return f"{self.directory / self.file} row group {self.row_group}"


@dataclass(frozen=True)
class HistoryDirectory:
    """A `HistoryDirectory` is a directory whose manifest and footers agree; `pieces` are the whole histories that it
    has, in their order, and `parts` those that are cut, in the order of their steps."""

    location: Location
    vocabulary: Vocabulary
    manifest: Manifest
    pieces: tuple[Piece, ...]
    parts: tuple[Piece, ...] = ()

    @classmethod
    def open(cls, place: str | Path | Location) -> "HistoryDirectory":
        """Open `place`. Raises `HistoryError` with one line that names what is wrong with it."""
        location = Location.of(place)
        manifest = Manifest.read(location)
        if manifest.protocol not in VOCABULARIES:
            known = ", ".join(VOCABULARIES)
            raise HistoryError(f"{location}: unknown protocol {manifest.protocol!r}; known: {known}")
        vocabulary = VOCABULARIES[manifest.protocol]
        unknown = [name for name in manifest.observable if name not in vocabulary.codes]
        if unknown:
            raise HistoryError(f"{location}: {manifest.protocol} has no event kind {unknown[0]!r} to observe")
        _require_listed(location, manifest)
        every = [piece for file in manifest.files for piece in _pieces_of(location, file, vocabulary, manifest)]
        every.sort(key=lambda piece: (piece.first_history, piece.first_step))
        for one, other in pairwise(every):
            same = one.first_history == one.last_history == other.first_history == other.last_history
            if one.last_history >= other.first_history and not (same and one.first_history in manifest.cut):
                raise HistoryError(
                    f"{other.where}: history {other.first_history} also lies in {one.file} row group {one.row_group}; "
                    "row groups must hold whole histories, in ranges that do not overlap"
                )
        parts = [piece for piece in every if piece.first_history in manifest.cut]
        _require_parts(location, manifest, parts)
        return cls(
            location, vocabulary, manifest, tuple(p for p in every if p.first_history not in manifest.cut), tuple(parts)
        )


def read_piece(piece: Piece, vocabulary: Vocabulary, columns: Sequence[str]) -> tuple[dict[str, np.ndarray], int]:
    """Return the `columns` (and always `history` and `step`) of one piece, and how many histories it has. Raises
    `HistoryError` if the piece cannot be read, or has a history that is not whole."""
    common = ("history", "step", "time_us") if piece.timed else ("history", "step")
    wanted = [name for name in vocabulary.schema.names if name in {*common, *columns}]
    with _opened(piece.directory, piece.file) as parquet:
        try:
            table = parquet.read_row_group(piece.row_group, columns=wanted, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise HistoryError(f"{piece.where}: cannot be read, the file is damaged: {_line(error)}") from None
    arrays: dict[str, np.ndarray] = {}
    for name in wanted:
        column = table.column(name)
        if column.null_count:
            raise HistoryError(f"{piece.where}: column {name!r} holds nulls; -1 stands for what does not apply")
        chunks = [_view(chunk) for chunk in column.chunks]
        arrays[name] = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    histories = check_whole(arrays, piece.where)
    if piece.timed:
        check_times(arrays, piece.where)
    return arrays, histories


def read_unit(
    unit: Sequence[Piece], vocabulary: Vocabulary, columns: Sequence[str]
) -> tuple[dict[str, np.ndarray], int]:
    """Return the columns of a piece, or of all parts of a history that is cut, and how many histories they have."""
    if len(unit) == 1:
        return read_piece(unit[0], vocabulary, columns)
    rows = sum(piece.rows for piece in unit)
    parts = [part for piece in unit for part in slices(piece, vocabulary, columns, rows)]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    histories = check_whole(arrays, unit[0].where)
    if unit[0].timed:
        check_times(arrays, unit[0].where)
    return arrays, histories


def slices(piece: Piece, vocabulary: Vocabulary, columns: Sequence[str], rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of a piece, or of a part of a history that is cut, so many rows at a time. Raises
    `HistoryError` where they do not continue the rows before."""
    common = ("history", "step", "time_us") if piece.timed else ("history", "step")
    wanted = [name for name in vocabulary.schema.names if name in {*common, *columns}]
    before: dict[str, np.ndarray] = {}
    if piece.first_step:
        before = {"history": np.array([piece.first_history]), "step": np.array([piece.first_step - 1])}
    with _opened(piece.directory, piece.file, buffer_size=BUFFER) as parquet:
        batches = parquet.iter_batches(rows, [piece.row_group], columns=wanted, use_threads=False)
        try:
            for batch in batches:
                if any(column.null_count for column in batch.columns):
                    raise HistoryError(f"{piece.where}: a column holds nulls; -1 stands for what does not apply")
                arrays = {name: _view(batch.column(name)) for name in wanted}
                check_goes_on(arrays, before, piece.where)
                before = {name: arrays[name][-1:].copy() for name in common}
                yield arrays
        except (pa.ArrowException, OSError) as error:
            raise HistoryError(f"{piece.where}: cannot be read, the file is damaged: {_line(error)}") from None


def _view(array: pa.Array) -> np.ndarray:
    """Return the integers of an array without nulls, in place: `to_numpy` would import pandas, half a second per
    worker."""
    whole = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return whole[array.offset : array.offset + len(array)]


def _opened(directory: Location, name: str, **options: Any) -> Any:
    if why := directory.refusal(name):
        raise HistoryError(f"{directory / name}: {why}")
    try:
        return pq.ParquetFile(directory.open_input(name), **options)
    except FileNotFoundError:
        raise HistoryError(f"{directory / name}: not found, though the manifest lists it") from None
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"{directory / name}: not a whole Parquet file: {_line(error)}") from None


def _require_listed(directory: Location, manifest: Manifest) -> None:
    """Raise `HistoryError` if there are pieces of histories that the manifest does not list, leftovers of attempts
    excepted."""
    listed = {file.name for file in manifest.files}
    for name in directory.names():
        if name.endswith(".parquet") and name not in listed and ATTEMPT not in name:
            raise HistoryError(f"{directory / name}: the manifest does not list this piece; take it away, or list it")


def _pieces_of(directory: Location, file: HistoryFile, vocabulary: Vocabulary, manifest: Manifest) -> list[Piece]:
    where = directory / file.name
    with _opened(directory, file.name) as parquet:
        metadata = parquet.metadata
        _check_schema(where, parquet.schema_arrow, vocabulary, manifest.variant)
    found = HistoryFile(file.name, metadata.num_rows, file.histories, metadata.num_row_groups)
    if found != file:
        raise HistoryError(
            f"{where}: holds {found.rows} rows in {found.row_groups} row groups, the manifest says {described(file)}"
        )
    columns = metadata.schema.to_arrow_schema().names
    pieces, timed = [], manifest.source == "simulated"
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not group.num_rows:
            continue
        first, last = _range(group, columns.index("history"), where, number)
        step = _range(group, columns.index("step"), where, number)[0] if first in manifest.cut else 0
        pieces.append(Piece(directory, file.name, number, group.num_rows, first, last, timed, step))
    return pieces


def _range(group: Any, column: int, where: str, number: int) -> tuple[int, int]:
    statistics = group.column(column).statistics
    if statistics is None or not statistics.has_min_max:
        name = group.column(column).path_in_schema
        raise HistoryError(f"{where}: row group {number} lacks the statistics of `{name}`; write it with them")
    return statistics.min, statistics.max


def _require_parts(location: Location, manifest: Manifest, parts: Sequence[Piece]) -> None:
    """Raise `HistoryError` unless each history that is cut has all of its parts, one continuing where another ends."""
    due, found = dict.fromkeys(manifest.cut, 0), dict.fromkeys(manifest.cut, 0)
    for part in parts:
        history = part.first_history
        if part.first_step != due[history]:
            raise HistoryError(
                f"{part.where}: history {history} goes on with step {part.first_step} where step {due[history]} is due"
            )
        due[history], found[history] = part.first_step + part.rows, found[history] + 1
    for history, number in manifest.cut.items():
        if found[history] != number:
            raise HistoryError(
                f"{location}: history {history} is in {found[history]} row groups, the manifest says in {number}"
            )


def _check_schema(where: str, found: pa.Schema, vocabulary: Vocabulary, variant: str) -> None:
    metadata = {
        name.decode(errors="replace"): value.decode(errors="replace") for name, value in (found.metadata or {}).items()
    }
    version = metadata.get("fencepost.schema_version", str(SCHEMA_VERSION))
    if version != str(SCHEMA_VERSION):
        raise HistoryError(f"{where}: schema version {version!r} is unknown; this fencepost reads {SCHEMA_VERSION}")
    for what, asked in (("protocol", vocabulary.protocol), ("variant", variant)):
        value = metadata.get(f"fencepost.{what}", asked)
        if value != asked:
            raise HistoryError(f"{where}: written of the {what} {value!r}, and the manifest says {asked!r}")
    for field in vocabulary.schema:
        index = found.get_field_index(field.name)
        if index < 0:
            raise HistoryError(f"{where}: column {field.name!r} ({field.type}) is missing")
        if found.field(index).type != field.type:
            raise HistoryError(
                f"{where}: column {field.name!r} has type {found.field(index).type}, must be {field.type}"
            )


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
