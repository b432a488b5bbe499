"""This module judges histories that are larger than what a worker holds: Spark groups their events by the keys of the
properties, and each group is judged, as Arrow, with the kernels that judge whole histories. The findings are the same.

A property that needs all of its events in one place is undecided if there are too many, and so is one with too many
events of a single key. Checks that follow a history from its beginning to its end, such as the model's, are undecided
as well."""

import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scale.seeds import ODD, mixed
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryDirectory, HistoryError, Piece
from fencepost.properties.history.pieces import check_whole
from fencepost.properties.history.properties_of import HistoryProperties, properties_of
from fencepost.properties.history.reader import slices
from fencepost.properties.history.spreading import Link, Spread, spread_of
from pyarrow import compute
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

Answer = TypeVar("Answer")
Columns = dict[str, np.ndarray]
SLICE = 1 << 18
"""Row groups are read this many rows at a time."""
BUCKETS, FINER = 512, 4
"""A property has at most `BUCKETS` groups, and `FINER` for each time that its events fill a worker, since keys differ
in size."""
NODES = 4
"""An event that is judged takes as much memory as this many linking values while they are being connected."""
ALONE = 1 << 32
"""This value replaces the number of a link where a row has to stay together with no other."""
FIGURES = ""
"""This value stands for the figures where a property is named."""
FOLLOWED = "it is larger than what one worker holds, and is followed from its beginning to its end"
SIZES = ("count(*) rows", "min(step) least", "max(step) most")
SQL = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint"}


@dataclass(frozen=True)
class Rekeyed:
    """A `Rekeyed` is the part of a report on re-keyed histories: their number and events, the number of pieces of at
    most `limit` events, and by property what holds events together in a piece."""

    histories: int
    events: int
    pieces: int
    limit: int
    keys: dict[str, str]

    def lines(self) -> Iterator[str]:
        """Yield lines of text: how many histories were re-keyed, and by what their events were grouped."""
        what = "1 history was" if self.histories == 1 else f"{self.histories:,} histories were"
        yield (
            f"{what} re-keyed: {self.events:,} events, judged in {self.pieces:,} pieces of at most {self.limit:,} by "
            "what they have in common:"
        )
        for key in dict.fromkeys(self.keys.values()):
            yield f"    {key}: {', '.join(name_in_words(name) for name, by in self.keys.items() if by == key)}"


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """An `Outcome` has the answers on groups of large histories and on small histories. `unknown` has, by property (and
    `FIGURES`), why the property is undecided; `rekeyed` is None where all histories were small."""

    groups: list[Answer]
    small: list[Answer]
    unknown: dict[str, str]
    rekeyed: Rekeyed | None


@dataclass(frozen=True)
class _Route:
    """A `_Route` is one way of grouping: the events of large histories for the properties `names` (and `FIGURES`), or
    small histories as they are (no `spread`), where they are in a row group that is too large."""

    number: int
    spread: Spread | None
    names: tuple[str, ...]
    buckets: int = 1

    @property
    def is_linked(self) -> bool:
        return self.spread is not None and not self.spread.whole and len(self.spread.links) > 1


def units_of(opened: HistoryDirectory, limit: int) -> tuple[list[tuple[Piece, ...]], list[Piece]]:
    """Return the units that a worker can hold, each a row group or all parts of a history that is cut, and the
    remaining row groups."""
    cut: dict[int, list[Piece]] = {}
    for part in opened.parts:
        cut.setdefault(part.first_history, []).append(part)
    units = [*((piece,) for piece in opened.pieces), *map(tuple, cut.values())]
    fits = [unit for unit in units if sum(piece.rows for piece in unit) <= limit]
    return fits, [piece for unit in units if unit not in fits for piece in unit]


def rekey(
    opened: HistoryDirectory, pieces: Sequence[Piece], names: Sequence[str], limit: int, spark: SparkSettings | None,
    whole: Callable[[Columns, int], Answer], group: Callable[[Columns, Sequence[str], Mapping[str, Any]], Answer],
) -> Outcome[Answer]:  # fmt: skip
    """Judge the histories of these row groups by the properties `names` in groups of at most `limit` events. `whole`
    judges small histories, and `group` the events of a group by some of the names (and `FIGURES`), with what the config
    must contain about other groups. Raise `HistoryError` where events are missing, or Spark is not running."""
    if spark is None:
        raise HistoryError(
            f"{pieces[0].where}: a history or row group has more than the {limit:,} events that a worker holds, and "
            f"Spark is not running, which groups them: fencepost replay {opened.location} --master 'local[2]'"
        )
    from fencepost.proofs.scale.spark import expr, session, translated

    properties = properties_of(opened.manifest.protocol)
    with session(spark) as running, translated():
        running.conf.set("spark.sql.shuffle.partitions", _tasks(running))
        events = _events(running, pieces, properties)
        sizes = {row.history: row for row in events.groupBy("history").agg(*map(expr, SIZES)).collect()}
        for history, row in sizes.items():
            if (row.least, row.most + 1) != (0, row.rows):
                raise HistoryError(f"{opened.location}: history {history} has {row.rows} events, and not one each step")
        if sum(row.rows for row in sizes.values()) != sum(piece.rows for piece in pieces):
            raise HistoryError(f"{opened.location}: row groups have other numbers of rows than their footers say")
        large = sorted(history for history, row in sizes.items() if row.rows > limit)
        small = {history: row.rows for history, row in sorted(sizes.items()) if row.rows <= limit}
        many = sum(sizes[history].rows for history in large)
        routes = _routes(properties, names, many, limit, bool(small))
        grouped, unknown = _grouped(running, events, routes, limit, large, small)
        known, asking = dict(opened.manifest.config), [r for r in routes if r.spread and r.spread.somewhere]
        somewhere = partial(_somewhere, config=known, protocol=properties.vocabulary.protocol)
        for name, histories, _ in _each(grouped, asking, somewhere):
            known[name] = np.union1d(known.get(name, np.zeros(0, np.int64)), histories)
        answers = _each(grouped, routes, partial(_judged, config=known, whole=whole, group=group))
        due = grouped.count()
    if sum(rows for *_, rows in answers) != due:
        raise HistoryError(f"{opened.location}: groups have {due} events, and others were judged")
    of_large = [answer for is_small, answer, _ in answers if not is_small]
    keys = {name: route.spread.text for route in routes if route.spread for name in route.names if name != FIGURES}
    return Outcome(
        of_large, [answer for is_small, answer, _ in answers if is_small], unknown,
        Rekeyed(len(large), many, len(of_large), limit, keys) if large else None,
    )  # fmt: skip


def _routes(
    properties: HistoryProperties, names: Sequence[str], large: int, limit: int, small: bool
) -> list[_Route]:  # fmt: skip
    alike: dict[Any, list[tuple[str, Spread]]] = {}
    spreads = [*((name, spread_of(properties.properties[name])) for name in names)]
    for name, spread in [*spreads, (FIGURES, properties.spread_of_figures)] if large else ():
        key = (spread.links, spread.everywhere, spread.ends, spread.somewhere, spread.kinds if spread.whole else None)
        alike.setdefault(key, []).append((name, spread))
    buckets = max(1, min(BUCKETS, FINER * -(-large // limit)))
    found = [_Route(0, None, ())] if small else []
    for number, members in enumerate(alike.values(), 1):
        every = [spread.kinds for _, spread in members]
        together = replace(members[0][1], kinds=frozenset().union(*every) if all(every) else frozenset())
        found.append(_Route(number, together, tuple(name for name, _ in members), buckets))
    return found


def _events(spark: Any, pieces: Sequence[Piece], properties: HistoryProperties) -> Any:
    schema = ", ".join(f"{column.name} {SQL[str(column.type)]}" for column in properties.vocabulary.schema)
    units = spark.createDataFrame([(pickle.dumps(piece),) for piece in pieces], "piece binary")
    read = partial(_read, protocol=properties.vocabulary.protocol)
    return _mapped(units.repartition(min(len(pieces), _tasks(spark))), read, schema).persist()


def _read(batches: Iterator[pa.RecordBatch], protocol: str) -> Iterator[pa.RecordBatch]:
    vocabulary = properties_of(protocol).vocabulary
    names = vocabulary.schema.names
    for batch in batches:
        for piece in map(pickle.loads, batch.column(0).to_pylist()):
            for columns in slices(piece, vocabulary, names, SLICE):
                yield pa.record_batch([pa.array(columns[name]) for name in names], list(names))


def _tasks(spark: Any) -> int:
    return FINER * int(spark.sparkContext.defaultParallelism)


def _grouped(
    spark: Any, events: Any, routes: Sequence[_Route], limit: int, large: Sequence[int], small: Mapping[int, int]
) -> tuple[Any, dict[str, str]]:
    """Return all rows of groups that a worker can hold, with their `route` and `bucket`, and by property why it is not
    judged, or not on all groups. Violations in the other groups remain valid."""
    from fencepost.proofs.scale.spark import broadcast, expr

    unknown, roots = dict[str, str](), dict[int, tuple[np.ndarray, np.ndarray]]()
    linked = [route for route in routes if route.is_linked]
    pairs = _mapped(
        events, partial(_pairs, routes=linked, large=large), "route int, head bigint, node bigint"
    ).distinct()
    many = {row.route: row.rows for row in pairs.groupBy("route").agg(expr(SIZES[0])).collect()} if linked else {}
    for route in linked:
        if route.spread and many.get(route.number, 0) > NODES * limit:
            why = f"{many[route.number]:,} pairs of values of {route.spread.text} hold events together"
            why = f"of a history that was re-keyed {why}, and a worker holds {NODES * limit:,}"
            unknown |= dict.fromkeys(route.names, why)
    if fit := [number for number, pairs_of in many.items() if pairs_of <= NODES * limit]:
        table = pairs.where(pairs.route.isin(fit)).toArrow()
        for number in fit:
            mine = table.filter(compute.field("route") == number)
            roots[number] = _connected(*(mine[name].to_numpy() for name in ("head", "node")))
    taken = [route for route in routes if not {*route.names} & {*unknown}]
    deal = partial(_deal, routes=taken, large=large, bounds=_bounds(small, limit), roots=roots)
    schema = ", ".join(("route int, bucket bigint", *(f"{name} {kind}" for name, kind in events.dtypes)))
    every = _mapped(events, deal, schema).repartition(_tasks(spark), "route", "bucket").persist()
    sizes = every.groupBy("route", "bucket").agg(expr(SIZES[0])).where(f"rows > {limit}").collect()
    for route in taken:
        most = max((size.rows for size in sizes if size.route == route.number), default=0)
        if most and route.spread:
            why = f"of a history that was re-keyed {most:,} events {_where(route.spread)}, and a worker holds {limit:,}"
            unknown |= dict.fromkeys(route.names, why)
    if sizes:
        left_out = spark.createDataFrame([(s.route, s.bucket) for s in sizes], "route int, bucket bigint")
        every = every.join(broadcast(left_out), ["route", "bucket"], "left_anti")
    return every, unknown


def _mapped(events: Any, function: Callable[..., Iterator[pa.RecordBatch]], schema: str) -> Any:
    shipped = _shipped(function)
    return events.mapInArrow(lambda batches: shipped(batches), schema)  # noqa: PLW0108 - Spark wants a plain function


def _bounds(small: Mapping[int, int], limit: int) -> list[int]:
    bounds, rows = list[int](), limit
    for history, many in small.items():
        rows += many
        if rows > limit:
            bounds.append(history)
            rows = many
    return bounds


def _slices(batches: Iterator[pa.RecordBatch]) -> Iterator[Columns]:
    return ({name: batch[name].to_numpy() for name in batch.schema.names} for batch in batches)


def _nodes(columns: Columns, links: Sequence[Link]) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each link and row, the same where the history and the link's columns are equal, and whether
    the link applies. Rows that get the same number by chance stay together, which is harmless."""
    nodes = np.stack([_hashed(columns, link.columns, at) for at, link in enumerate(links)])
    there = np.ones(nodes.shape, bool)
    for at, link in enumerate(links):
        if link.kinds:
            there[at] = np.isin(columns["kind"], [*map(int, link.kinds)])
        for name in () if link.blank else link.columns:
            there[at] &= columns[name] >= 0
    return nodes, there


def _hashed(columns: Columns, names: Sequence[str], seed: int) -> np.ndarray:
    found = mixed(columns["history"].astype(np.int64).view(np.uint64) + np.uint64(seed))
    for name in names:
        found = mixed((found ^ columns[name].astype(np.int64).view(np.uint64)) + ODD)
    return found.view(np.int64)


def _chosen(spread: Spread, columns: Columns, large: Sequence[int]) -> Columns:
    rows = np.isin(columns["history"], large)
    taken = rows & np.isin(columns["kind"], [*map(int, spread.kinds)]) if spread.kinds else rows.copy()
    if spread.ends:  # of each kind the last here, among which is that of the history
        at = np.flatnonzero(rows)[::-1]
        pair = columns["history"][at].astype(np.int64) * (1 << 16) + columns["kind"][at]
        taken[at[np.unique(pair, return_index=True)[1]]] = True
    return {name: values[taken] for name, values in columns.items()}


def _pairs(
    batches: Iterator[pa.RecordBatch], routes: Sequence[_Route], large: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    for columns in _slices(batches):
        for route in routes:
            assert route.spread is not None
            nodes, there = _nodes(_chosen(route.spread, columns, large), route.spread.links)
            heads = np.broadcast_to(nodes[np.argmax(there, axis=0), np.arange(nodes.shape[1])], nodes.shape)
            further = there & (nodes != heads)
            number = np.full(int(further.sum()), route.number, np.int32)
            arrays = [pa.array(values) for values in (number, heads[further], nodes[further])]
            yield pa.record_batch(arrays, ["route", "head", "node"])


def _deal(
    batches: Iterator[pa.RecordBatch], routes: Sequence[_Route], large: Sequence[int], bounds: Sequence[int],
    roots: Mapping[int, tuple[np.ndarray, np.ndarray]],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    for columns in _slices(batches):
        for route in routes:
            if route.spread is None:
                small = ~np.isin(columns["history"], large)
                rows = {name: values[small] for name, values in columns.items()}
                buckets = np.searchsorted(bounds, rows["history"], side="right") - 1
            else:
                rows = _chosen(route.spread, columns, large)
                buckets = _key(route.spread, rows, roots.get(route.number)) % route.buckets
                if route.spread.everywhere:
                    to_all = np.isin(rows["kind"], [*map(int, route.spread.everywhere)])
                    times = np.where(to_all, route.buckets, 1)
                    rows = {name: np.repeat(values, times) for name, values in rows.items()}
                    among = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
                    buckets = np.where(np.repeat(to_all, times), among, np.repeat(buckets, times))
            there = {"route": np.full(len(buckets), route.number, np.int32), "bucket": buckets.astype(np.int64), **rows}
            yield pa.record_batch([pa.array(values) for values in there.values()], [*there])


def _key(spread: Spread, rows: Columns, roots: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """Return a number for each row, the same for rows that must stay together."""
    alone = _hashed(rows, () if spread.whole else ("step",), ALONE)
    if spread.whole or not spread.links:
        return alone
    nodes, there = _nodes(rows, spread.links)
    heads = nodes[np.argmax(there, axis=0), np.arange(nodes.shape[1])]
    if roots is not None and len(roots[0]):
        every, least = roots  # a number without a partner has no entry
        at = np.searchsorted(every, heads).clip(max=len(every) - 1)
        heads = np.where(every[at] == heads, least[at], heads)
    return np.where(there.any(axis=0), heads, alone)


def _connected(nodes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    every, at = np.unique(np.concatenate([nodes, others]), return_inverse=True)
    pairs = coo_matrix((np.ones(len(nodes), np.int8), (at[: len(nodes)], at[len(nodes) :])), (len(every), len(every)))
    _, label = connected_components(pairs, directed=False)
    return every, every[np.unique(label, return_index=True)[1]][label]


def _where(spread: Spread) -> str:
    if spread.whole:
        return "have to be in one place"
    kinds = ", ".join(sorted(kind.name for kind in spread.everywhere))
    held = f"are held together by {spread.text}" if spread.links else "are in each piece"
    return f"{held}, with all {kinds}" if kinds else held


def _shipped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for workers, which have another import path. The function stays pickled until it is called."""
    path, pickled = tuple(sys.path), pickle.dumps(function)

    def work(*arguments: Any) -> Any:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        return pickle.loads(pickled)(*arguments)

    return work


def _each(grouped: Any, routes: Sequence[_Route], function: Callable[[_Route, Columns], Any]) -> list[Any]:
    if not routes:
        return []
    shipped = _shipped(partial(_answer, {route.number: partial(function, route) for route in routes}))

    def answer(key: Any, rows: Any) -> Any:
        return shipped(key, rows)

    chosen = grouped.where(grouped.route.isin([route.number for route in routes]))
    answers = chosen.groupBy("route", "bucket").applyInArrow(answer, "answer binary").collect()
    return [pickle.loads(row.answer) for row in answers]


def _answer(functions: Mapping[int, Callable[[Columns], Any]], key: Any, rows: pa.Table) -> pa.Table:
    rows = rows.sort_by([("history", "ascending"), ("step", "ascending")])
    columns = {name: rows[name].to_numpy() for name in rows.column_names if name not in ("route", "bucket")}
    return pa.table({"answer": pa.array([pickle.dumps(functions[key[0].as_py()](columns))], pa.binary())})


def _somewhere(
    route: _Route, columns: Columns, protocol: str, config: Mapping[str, Any]
) -> tuple[str, np.ndarray, int]:
    assert route.spread is not None and route.spread.somewhere is not None
    return route.spread.somewhere.__name__, route.spread.somewhere(properties_of(protocol).view_of(columns, config)), 0


def _judged(
    route: _Route, columns: Columns, config: Mapping[str, Any], whole: Callable[[Columns, int], Answer],
    group: Callable[[Columns, Sequence[str], Mapping[str, Any]], Answer],
) -> tuple[bool, Answer, int]:  # fmt: skip
    if route.spread is None:
        answer = whole(columns, check_whole(columns, "small histories in large row groups"))
    else:
        answer = group(columns, route.names, config)
    return route.spread is None, answer, len(columns["history"])
