"""Rows of large histories on their way to the pieces in which they are judged.

Who reads a row group deals its rows out, a slice at a time, and writes for each route one Arrow file, with a batch for
each bucket; who judges a piece reads the batches of its buckets from all of these files.  Slices are dealt out in the
order of steps, so that what is read is in order, or nearly.  Nothing else crosses the border between processes.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from fencepost.proofs.scale.rekeying.linking import connected, hashed, held_together, joins, nodes_of
from fencepost.properties.history import HistoryError, Piece
from fencepost.properties.history.location import Location
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.reader import slices
from fencepost.properties.history.spreading import Spread

Columns = dict[str, np.ndarray]
ALONE = pa.ipc.IpcReadOptions(use_threads=False)
"""Each worker has one core, and batches are small."""
Seam = tuple[int, int, int]
"""History, step and time of a row; the time is 0 where it need not be in order."""


@dataclass(frozen=True)
class Route:
    """What is dealt out in the same way: the rows of large histories for the properties `names`; or small histories as
    they are (no `spread`), where the row group that they are in is too large: a bucket for all from one of the
    histories `bounds` to the next.  ``figures``: are they counted there?"""

    number: int
    spread: Spread | None
    names: tuple[str, ...]
    figures: bool
    columns: tuple[str, ...]
    buckets: int
    bounds: tuple[int, ...] = ()

    @property
    def is_linked(self) -> bool:
        """Does it take a look at all rows to know which stay together?"""
        return self.spread is not None and not self.spread.whole and len(self.spread.links) > 1

    def chosen(self, columns: Columns, large: np.ndarray) -> np.ndarray:
        """Which rows it takes, of a slice."""
        if self.spread is None:
            return ~large
        return large & _of_kinds(columns, self.spread.kinds) if self.spread.kinds else large


@dataclass(frozen=True)
class Plan:
    """How the row groups of a directory are dealt out.  ``large``: the histories that are taken apart, ascending;
    ``links``: by route that is linked, the file with what is connected; ``rows``: of a slice."""

    protocol: str
    scratch: Location
    routes: tuple[Route, ...]
    large: tuple[int, ...]
    rows: int
    links: Mapping[int, str]


@dataclass(frozen=True)
class Dealt:
    """One slice for one route.  ``counts``: rows by bucket; the last are those that go to every piece."""

    route: int
    file: str
    counts: np.ndarray


@dataclass(frozen=True)
class Read:
    """What was read of one row group, in all slices."""

    rows: int
    begun: int
    first: Seam
    last: Seam
    dealt: tuple[Dealt, ...]
    cpu_seconds: float


def sizes(piece: Piece, protocol: str, rows: int) -> dict[int, int]:
    """The histories of a row group, and how many events each has.  In a worker."""
    counts: dict[int, int] = {}
    for columns in slices(piece, properties_of(protocol).vocabulary, (), rows):
        starts = starts_of(columns["history"])
        for history, many in zip(
            columns["history"][starts].tolist(), np.diff(starts, append=len(columns["history"])).tolist(), strict=True
        ):
            counts[history] = counts.get(history, 0) + many
    return counts


def tied(piece: Piece, plan: Plan) -> dict[int, tuple[str, int]]:
    """Of each route that is linked, the file with the nodes of a row group that are connected, and how many they are.
    In a worker."""
    routes = [route for route in plan.routes if route.is_linked]
    columns_of = {name for route in routes for name in route.columns}
    pairs: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {route.number: [] for route in routes}
    for columns in slices(piece, properties_of(plan.protocol).vocabulary, (*columns_of, "kind"), plan.rows):
        large = _among(columns["history"], plan.large)
        for route in routes:
            assert route.spread is not None
            rows = _taken(columns, route.chosen(columns, large))
            pairs[route.number].append(connected(*joins(*nodes_of(rows, route.spread.links))))
    found = {}
    for number, parts in pairs.items():
        nodes, roots = connected(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        name = f"links-{number}-{_named(piece)}"
        _write(plan.scratch, name, [pa.record_batch([_array(nodes), _array(roots)], names=["node", "root"])])
        found[number] = name, len(nodes)
    return found


def bring_together(scratch: Location, number: int, files: Sequence[str]) -> str:
    """From the files of all row groups one that says of each node with which others it is connected."""
    parts = [_links(scratch, name) for name in files]
    nodes, roots = connected(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    name = f"links-{number}"
    _write(scratch, name, [pa.record_batch([_array(nodes), _array(roots)], names=["node", "root"])])
    return name


def deal(piece: Piece, plan: Plan) -> Read:
    """Deal out the rows of one row group.  In a worker."""
    import time

    began = time.thread_time()
    vocabulary = properties_of(plan.protocol).vocabulary
    wanted = {name for route in plan.routes for name in route.columns}
    links = {number: _known_links(plan.scratch, name) for number, name in plan.links.items()}
    rows, begun, first, last, dealt = 0, 0, (0, 0, 0), (0, 0, 0), list[Dealt]()
    for number, columns in enumerate(slices(piece, vocabulary, (*wanted, "kind"), plan.rows)):
        if not len(columns["history"]):
            continue
        first = first if rows else _seam(columns, 0)
        last = _seam(columns, -1)
        rows += len(columns["history"])
        begun += int((columns["step"] == 0).sum())
        large = _among(columns["history"], plan.large)
        for route in plan.routes:
            name = f"rows-{route.number}-{_named(piece)}-{number}"
            dealt.append(_deal(columns, large, route, links.get(route.number), plan, name))
    return Read(rows, begun, first, last, tuple(one for one in dealt if one.file), time.thread_time() - began)


def _deal(
    columns: Columns, large: np.ndarray, route: Route, links: tuple[np.ndarray, np.ndarray] | None, plan: Plan,
    name: str,
) -> Dealt:  # fmt: skip
    """Writes the rows of a slice that a route takes, bucket by bucket; no file where it takes none."""
    spread, chosen = route.spread, route.chosen(columns, large)
    if spread is not None and spread.ends:
        chosen = chosen | _ends(columns, large)
    rows = _taken({name: columns[name] for name in {*route.columns, "kind"}}, chosen)
    many = len(rows["history"])
    bucket = np.zeros(many, np.int64)
    if many and spread is None:
        bucket = np.searchsorted(np.array(route.bounds), rows["history"], side="right") - 1
    elif many and spread is not None and spread.whole:
        bucket = (hashed(rows, ()) % np.uint64(route.buckets)).astype(np.int64)
    elif many and spread is not None:
        bucket = (held_together(rows, spread.links, links) % np.uint64(route.buckets)).astype(np.int64)
        if spread.everywhere:
            bucket[_of_kinds(rows, spread.everywhere)] = route.buckets
    counts = np.bincount(bucket, minlength=route.buckets + 1)
    if not many:
        return Dealt(route.number, "", counts)
    order = np.argsort(bucket, kind="stable")
    arrays = [_array(rows[column][order]) for column in route.columns]
    whole = pa.record_batch(arrays, names=list(route.columns))
    ends = np.cumsum(counts)
    _write(plan.scratch, name, [
        whole.slice(int(end - count), int(count)) for end, count in zip(ends, counts, strict=True)
    ])  # fmt: skip
    return Dealt(route.number, name, counts)


def gathered(plan: Plan, route: Route, files: Mapping[str, Sequence[int]]) -> Columns:
    """The rows of some buckets of each file, sorted by (history, step)."""
    batches = []
    for name, buckets in files.items():
        with _opened(plan.scratch, name) as stream:
            file = pa.ipc.open_file(stream, options=ALONE)
            batches += [file.get_batch(bucket) for bucket in buckets]
    found = {}
    for at, name in enumerate(route.columns):
        parts = [_numbers(batch.column(at)) for batch in batches]
        found[name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    history, step = found["history"], found["step"]
    if ((history[1:] < history[:-1]) | ((history[1:] == history[:-1]) & (step[1:] < step[:-1]))).any():
        order = np.lexsort((step, history))
        found = {name: values[order] for name, values in found.items()}
    return found


def _among(history: np.ndarray, large: Sequence[int]) -> np.ndarray:
    return np.isin(history, np.array(large, np.int64))


def _of_kinds(columns: Mapping[str, np.ndarray], kinds: Any) -> np.ndarray:
    return np.isin(columns["kind"], [int(kind) for kind in kinds])


def _ends(columns: Columns, large: np.ndarray) -> np.ndarray:
    """The last row of each kind in each history of a slice, which has that of the history at its end."""
    rows = np.flatnonzero(large)[::-1]
    pair = columns["history"][rows] * np.int64(1 << 16) + columns["kind"][rows]
    last = np.zeros(len(large), bool)
    last[rows[np.unique(pair, return_index=True)[1]]] = True
    return last


def _taken(columns: Columns, chosen: np.ndarray) -> Columns:
    return {name: values[chosen] for name, values in columns.items()}


def _seam(columns: Columns, row: int) -> Seam:
    time = int(columns["time_us"][row]) if "time_us" in columns else 0
    return int(columns["history"][row]), int(columns["step"][row]), time


def _named(piece: Piece) -> str:
    """A name for files that are made of a row group."""
    return f"{piece.file.replace('/', '-')}-{piece.row_group}"


def _array(values: np.ndarray) -> pa.Array:
    return pa.array(np.ascontiguousarray(values))


def _numbers(array: pa.Array) -> np.ndarray:
    whole = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return whole[array.offset : array.offset + len(array)]


def _write(scratch: Location, name: str, batches: Sequence[pa.RecordBatch]) -> None:
    """A file of Arrow batches.  HistoryError where there is no room for it."""
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    try:
        with scratch.open_output(name) as stream, pa.ipc.new_file(stream, batches[0].schema, options=options) as file:
            for batch in batches:
                file.write_batch(batch)
    except OSError as error:
        raise HistoryError(f"{scratch / name}: cannot be written, to re-key histories: {error}") from None


def _opened(scratch: Location, name: str) -> Any:
    try:
        return scratch.open_input(name)
    except FileNotFoundError:
        raise HistoryError(f"{scratch / name}: not found; name a scratch directory that all workers reach") from None


def _links(scratch: Location, name: str) -> tuple[np.ndarray, np.ndarray]:
    with _opened(scratch, name) as stream:
        batch = pa.ipc.open_file(stream, options=ALONE).get_batch(0)
        return _numbers(batch.column(0)).copy(), _numbers(batch.column(1)).copy()


_known_links = functools.lru_cache(maxsize=8)(_links)
