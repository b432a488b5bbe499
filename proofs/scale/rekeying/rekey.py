"""Histories that are larger than a worker's memory, judged in pieces that each hold all that matters to some events.

One shuffle: who reads a row group deals its rows out by the keys of the properties, to each the kinds and columns that
it looks at, and each property is judged piece by piece with the kernel that judges whole histories.  What is found is
the same.  Small histories in row groups that are too large are only dealt out, and judged as any other.

A property that needs all of its events in one place is undecided where these are too many, as is one of which the
events of a single key are; so is what follows a history from its beginning to its end, such as the model.  Rows,
histories and pieces are counted at each step and must add up.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scale.rekeying.scratch import scratch
from fencepost.proofs.scale.rekeying.shuffle import (
    Dealt,
    Plan,
    Read,
    Route,
    bring_together,
    deal,
    gathered,
    sizes,
    tied,
)
from fencepost.proofs.scale.units import SparkSettings, run_units
from fencepost.properties.history import HistoryDirectory, HistoryError, Piece
from fencepost.properties.history.checking import Finding, Violation
from fencepost.properties.history.grouping import NONE
from fencepost.properties.history.location import Location
from fencepost.properties.history.pieces import check_whole
from fencepost.properties.history.properties_of import HistoryProperties, properties_of
from fencepost.properties.history.reader import slices
from fencepost.properties.history.spreading import COMMON, Spread, spread_of

Whole = TypeVar("Whole")
Columns = dict[str, np.ndarray]

SLICES = 4
"""So many of what a worker holds are read and dealt out one after the other: it has them in several copies."""
LEAST, SLICE = 1 << 14, 1 << 22
"""Rows that are read and dealt out at a time, at least and at most: each time makes a file for each route."""
BUCKETS = 512
"""Into which rows are dealt out, at most: several make a piece, as many as fit."""
NODES = 4
"""So many values that hold events together take as much memory as an event that is judged, where it is found out which
are connected: 16 bytes for each pair, and what sorting and connecting them makes."""
FINER = 4
"""So many buckets for each piece, that pieces come out alike."""
FIGURES = ""
"""In place of a property: the figures."""
FOLLOWED = "it is larger than what one worker holds, and is followed from its beginning to its end"


@dataclass(frozen=True)
class Rekeyed:
    """What a report says of it: how many histories were taken apart, of how many events, into how many pieces of at
    most `limit` events; by property, what holds events together in a piece."""

    histories: int
    events: int
    pieces: int
    limit: int
    keys: dict[str, str]

    def lines(self) -> Iterator[str]:
        """In words: how many histories, and what they were dealt out by."""
        what = "1 history was" if self.histories == 1 else f"{self.histories:,} histories were"
        yield (
            f"{what} re-keyed: {self.events:,} events, judged in {self.pieces:,} pieces of at most {self.limit:,} by "
            "what they have in common:"
        )
        for key in dict.fromkeys(self.keys.values()):
            yield f"    {key}: {', '.join(name_in_words(n) for n, told in self.keys.items() if told == key)}"


@dataclass(frozen=True)
class Limits:
    """How many events a worker holds at a time, where what is dealt out lies, and who works."""

    events: int
    spark: SparkSettings | None = None
    cores: int | None = None
    scratch: Location | None = None


@dataclass(frozen=True)
class Outcome(Generic[Whole]):
    """The findings on large histories, and how many there are; what was found on each piece of small ones; rows and
    histories of all; by property why it is undecided, and the violating rows: history, step, and that of the event that
    explains it (-1: none); `events` are all columns of these, of the first alone where not all were asked for."""

    findings: dict[str, Finding]
    figures: dict[str, int]
    large: int
    small: list[Whole]
    rows: int
    histories: int
    unknown: dict[str, str]
    told: Rekeyed | None
    violating: dict[str, np.ndarray]
    events: Columns
    cpu_seconds: float


@dataclass(frozen=True)
class _Task:
    """A piece of what takes a route: how many rows it must have, and the files that they are in, with the buckets."""

    route: Route
    rows: int
    files: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class _Judged:
    """Of a piece: by property how many events were judged, and the violating rows."""

    rows: int
    small: Any = None
    histories: int = 0
    judged: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    violating: dict[str, np.ndarray] = field(default_factory=dict)
    figures: dict[str, int] = field(default_factory=dict)
    cpu_seconds: float = 0


def too_large(opened: HistoryDirectory, limit: int) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The row groups that a worker holds, and those that it does not; histories that are cut are among these."""
    fits = tuple(piece for piece in opened.pieces if piece.rows <= limit)
    return fits, (*(piece for piece in opened.pieces if piece.rows > limit), *opened.parts)


def rekey(
    opened: HistoryDirectory, pieces: Sequence[Piece], names: Sequence[str], limits: Limits,
    whole: Callable[[Columns, int], Whole], *, every_column: bool, every_violation: bool = False,
) -> Outcome[Whole]:  # fmt: skip
    """Judge the histories of these row groups by the properties `names`; `whole` judges small histories, which it is
    given with all columns, or with those that properties read, and how many there are.

    Raises `HistoryError` where something does not add up, or there is no room."""
    protocol, config = opened.manifest.protocol, dict(opened.manifest.config)
    properties = properties_of(protocol)
    run = partial(run_units, spark=limits.spark, cores=limits.cores)
    ordered = sorted(pieces, key=lambda piece: (piece.first_history, piece.first_step))
    size = max(LEAST, min(SLICE, limits.events // SLICES))
    counts = _sizes(opened, ordered, size, run)
    large = {history: many for history, many in counts.items() if many > limits.events}
    small = {history: many for history, many in counts.items() if history not in large}
    columns = properties.vocabulary.schema.names if every_column else properties.columns
    routes = _routes(properties, names, sum(large.values()), small, limits.events, tuple(columns))
    with scratch(limits.spark, limits.scratch) as place:
        plan = Plan(protocol, place, routes, tuple(sorted(large)), size, {})
        links, unlinked = _links(ordered, plan, limits.events, run)
        taken = tuple(route for route in routes if route.number in links or not route.is_linked)
        plan = replace(plan, links=links, routes=taken)
        read: list[Read] = run(ordered, partial(deal, plan=plan), label="dealing out")
        _require_whole(ordered, read)
        tasks, too_many = _tasks(plan, [dealt for one in read for dealt in one.dealt], limits.events)
        unknown = {**unlinked, **too_many}
        judge = partial(
            _judge, plan=plan, config=_knowing(tasks, plan, config, run), whole=whole, every=every_violation
        )  # fmt: skip
        judged: list[_Judged] = run(tasks, judge, label="judging pieces")
        violating = _together(judged)
        firsts = {name: rows if every_violation else rows[:1] for name, rows in violating.items()}
        wanted = {(history, step) for rows in firsts.values() for history, *steps in rows.tolist() for step in steps}
        events = rows_at(ordered, read, properties, wanted, run)
    for task, one in zip(tasks, judged, strict=True):
        if task.rows != one.rows:
            raise HistoryError(f"{opened.location}: a piece has {one.rows} rows of the {task.rows} dealt out to it")
    begun = sum(one.begun for one in read)
    if sum(one.histories for one in judged) != begun - len(large):
        raise HistoryError(f"{opened.location}: {begun} histories begin, and {len(large)} are large; some were lost")
    of_large = [task for task in tasks if task.route.spread is not None]
    keys = {name: route.spread.told for route in routes if route.spread for name in route.names}
    told = Rekeyed(len(large), sum(large.values()), len(of_large), limits.events, keys) if large else None
    return Outcome(
        findings=_told(properties.view_of(events, config), properties, names, judged, firsts),
        figures={} if FIGURES in unknown else _sums(one.figures for one in judged),
        large=len(large),
        small=[one.small for one in judged if one.histories],
        rows=sum(one.rows for one in read),
        histories=begun,
        unknown={name: why for name, why in unknown.items() if name != FIGURES},
        told=told,
        violating=firsts,
        events=events,
        cpu_seconds=sum(one.cpu_seconds for one in read) + sum(one.cpu_seconds for one in judged),
    )


def _sizes(opened: HistoryDirectory, pieces: Sequence[Piece], size: int, run: Callable[..., Any]) -> dict[int, int]:
    """How many events each history has, in order of history."""
    counts: dict[int, int] = {}
    for part in opened.parts:
        counts[part.first_history] = counts.get(part.first_history, 0) + part.rows
    several = [piece for piece in pieces if piece.first_history not in opened.manifest.cut]
    count = partial(sizes, protocol=opened.manifest.protocol, rows=size)
    for found in run(several, count, label="sizes of histories"):
        counts |= found
    return dict(sorted(counts.items()))


def _routes(
    properties: HistoryProperties,
    names: Sequence[str],
    large: int,
    small: Mapping[int, int],
    limit: int,
    columns: tuple[str, ...],
) -> tuple[Route, ...]:
    """What is dealt out alike: small histories, and of large ones the properties that are held together alike."""
    groups: dict[Any, list[tuple[str, Spread]]] = {}
    for name, spread in ((name, spread_of(properties.properties[name])) for name in names):
        groups.setdefault(_alike(spread), []).append((name, spread))
    groups.setdefault(_alike(properties.spread_of_figures), []).append((FIGURES, properties.spread_of_figures))
    found = []
    if small:
        bounds = _bounds(small, limit)
        found.append(Route(0, None, (), False, columns, len(bounds), bounds))
    for members in groups.values() if large else ():
        spreads = [spread for _, spread in members]
        kinds = frozenset[Any]().union(*(spread.kinds for spread in spreads))
        together = replace(spreads[0], kinds=kinds if all(spread.kinds for spread in spreads) else frozenset())
        read = {*COMMON, *properties.reads_always}.union(*(spread.columns or properties.columns for spread in spreads))
        read |= {name for link in together.links for name in link.columns}
        found.append(
            Route(
                len(found), together, tuple(name for name, _ in members if name), any(not name for name, _ in members),
                tuple(name for name in properties.vocabulary.schema.names if name in read),
                _buckets(large, limit),
            )
        )  # fmt: skip
    return tuple(found)


def _alike(spread: Spread) -> Any:
    return spread.links, spread.everywhere, spread.ends, spread.somewhere, spread.kinds if spread.whole else None


def _bounds(small: Mapping[int, int], limit: int) -> tuple[int, ...]:
    """The histories with which pieces begin, if as many as fit are in each."""
    bounds, rows = list[int](), limit
    for history, many in small.items():
        if rows + many > limit:
            bounds.append(history)
            rows = 0
        rows += many
    return tuple(bounds)


def _buckets(rows: int, limit: int) -> int:
    return max(1, min(BUCKETS, FINER * -(-rows // limit)))


def _links(
    pieces: Sequence[Piece], plan: Plan, limit: int, run: Callable[..., Any]
) -> tuple[dict[int, str], dict[str, str]]:
    """Of each route that is linked, the file that says which nodes are connected; and the properties for which they
    are too many for one worker, with that as the reason."""
    linked = [route.number for route in plan.routes if route.is_linked]
    if not linked:
        return {}, {}
    found = run(pieces, partial(tied, plan=plan), label="what stays together")
    unknown = dict[str, str]()
    for route in plan.routes:
        if route.is_linked and route.spread and (many := sum(one[route.number][1] for one in found)) > NODES * limit:
            linked.remove(route.number)
            why = f"of a history that was re-keyed {many:,} values of {route.spread.told} hold events together, "
            unknown |= dict.fromkeys(_names(route), f"{why}and a worker holds {NODES * limit:,}")
    together = partial(_bring, scratch=plan.scratch, files={n: tuple(one[n][0] for one in found) for n in linked})
    return dict(zip(linked, run(linked, together, label="what stays together"), strict=True)), unknown


def _names(route: Route) -> tuple[str, ...]:
    """What is undecided if it is not taken."""
    return (*route.names, *([FIGURES] if route.figures else []))


def _bring(number: int, scratch: Location, files: Mapping[int, tuple[str, ...]]) -> str:
    return bring_together(scratch, number, files[number])


def _require_whole(pieces: Sequence[Piece], read: Sequence[Read]) -> None:
    """Raises `HistoryError` unless each row group has its rows, and goes on where the one before it ended."""
    for piece, one in zip(pieces, read, strict=True):
        if one.rows != piece.rows:
            raise HistoryError(f"{piece.where}: has {one.rows} rows, its footer says {piece.rows}")
    for (piece, one), (_, before) in pairwise(reversed(list(zip(pieces, read, strict=True)))):
        history, step, at = one.first
        if step and (history, step - 1) != before.last[:2]:
            raise HistoryError(f"{piece.where}: history {history} does not go on with step {step}; a part is missing")
        if step and piece.timed and at < before.last[2]:
            raise HistoryError(f"{piece.where}: history {history} runs backwards at step {step}")
    for piece, one in zip(pieces[:1], read[:1], strict=True):
        if one.first[1]:
            raise HistoryError(f"{piece.where}: history {one.first[0]} begins with step {one.first[1]}")


def _tasks(plan: Plan, dealt: Sequence[Dealt], limit: int) -> tuple[list[_Task], dict[str, str]]:
    """The pieces, as many buckets in each as fit; and the properties of which a piece is too large, with the reason.
    Those of its pieces that fit are judged all the same: what is violated there is."""
    tasks, unknown = list[_Task](), dict[str, str]()
    for route in plan.routes:
        mine = [one for one in dealt if one.route == route.number]
        counts = np.sum([one.counts for one in mine], axis=0) if mine else np.zeros(route.buckets + 1, np.int64)
        shared, sums = int(counts[-1]), counts[:-1].tolist()
        most = max((many + shared for many in sums if many), default=0)
        if most > limit and route.spread is not None:
            why = f"of a history that was re-keyed {most:,} events {_where(route.spread)}, and a worker holds {limit:,}"
            unknown |= dict.fromkeys(_names(route), why)
        waiting, rows = list[int](), shared
        for bucket, many in [*enumerate(sums), (-1, limit + 1)]:
            if waiting and rows + many > limit:
                tasks.append(_Task(route, rows, _files(mine, [*waiting, route.buckets])))
                waiting, rows = [], shared
            if many and many + shared <= limit and bucket >= 0:
                waiting.append(bucket)
                rows += many
    return tasks, unknown


def _where(spread: Spread) -> str:
    """Why so many events are in a piece."""
    if spread.whole:
        return "have to be in one place"
    kinds = ", ".join(sorted(kind.name for kind in spread.everywhere))
    held = f"are held together by {spread.told}" if spread.links else "are in each piece"
    return f"{held}, with all {kinds}" if kinds else held


def _files(dealt: Sequence[Dealt], buckets: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The files that have rows in these buckets, with those in which they have."""
    found = {one.file: tuple(bucket for bucket in buckets if one.counts[bucket]) for one in dealt}
    return {file: there for file, there in found.items() if there}


def _knowing(
    tasks: Sequence[_Task], plan: Plan, config: Mapping[str, Any], run: Callable[..., Any]
) -> Mapping[str, Any]:
    """The config, and what pieces have to know of the rest of their histories."""
    asking = [task for task in tasks if task.route.spread is not None and task.route.spread.somewhere is not None]
    found = run(asking, partial(_found_somewhere, plan=plan, config=config), label="what is found somewhere")
    known: dict[str, np.ndarray] = {}
    for name, histories in found:
        known[name] = np.union1d(known.get(name, np.zeros(0, np.int64)), histories)
    return {**config, **known}


def _found_somewhere(task: _Task, plan: Plan, config: Mapping[str, Any]) -> tuple[str, np.ndarray]:
    """In a worker."""
    spread = task.route.spread
    assert spread is not None and spread.somewhere is not None
    view = properties_of(plan.protocol).view_of(gathered(plan, task.route, task.files), config)
    return spread.somewhere.__name__, spread.somewhere(view)


def _judge(
    task: _Task, plan: Plan, config: Mapping[str, Any], whole: Callable[[Columns, int], Any], every: bool
) -> _Judged:
    """Judge one piece.  In a worker."""
    began = time.thread_time()
    columns = gathered(plan, task.route, task.files)
    rows = len(columns["history"])
    if task.route.spread is None:
        histories = check_whole(columns, "small histories that were dealt out")
        return _Judged(rows, whole(columns, histories), histories, cpu_seconds=time.thread_time() - began)
    properties = properties_of(plan.protocol)
    view = properties.view_of(columns, config)
    judged, counts, violating = dict[str, int](), dict[str, int](), dict[str, np.ndarray]()
    for name in task.route.names:
        found = properties.properties[name].kernel(view)
        at, other = (found.at, found.other) if every else _first(found.at, found.other)
        judged[name], counts[name] = found.judged, len(found.at)
        steps = np.append(columns["step"], NONE)
        violating[name] = np.stack([columns["history"][at], steps[at], steps[other]], axis=1).astype(np.int64)
    figures = properties.figures(view) if task.route.figures else {}
    return _Judged(rows, None, 0, judged, counts, violating, figures, time.thread_time() - began)


def _first(at: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first violation, which is the one of the least row."""
    least = np.array([np.argmin(at)] if len(at) else [], np.intp)
    return at[least], other[least]


def _together(judged: Sequence[_Judged]) -> dict[str, np.ndarray]:
    """By property the violating rows of all pieces, in order of history and step."""
    parts: dict[str, list[np.ndarray]] = {}
    for one in judged:
        for name, rows in one.violating.items():
            parts.setdefault(name, []).append(rows)
    found = {}
    for name, several in parts.items():
        rows = np.concatenate(several)
        found[name] = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return found


def _told(
    view: Any, properties: HistoryProperties, names: Sequence[str], judged: Sequence[_Judged],
    violating: Mapping[str, np.ndarray],
) -> dict[str, Finding]:  # fmt: skip
    """The findings, with the first violation of each in words."""
    findings, place = {}, places(view.columns)
    for name in names:
        first = None
        rows = violating.get(name)
        if rows is not None and len(rows):
            history, step, other = rows[0].tolist()
            told = properties.properties[name].tell(view, place[history, step], place.get((history, other), NONE))
            first = Violation(history, step, name, told, other)
        counts = (sum(one.judged.get(name, 0) for one in judged), sum(one.counts.get(name, 0) for one in judged))
        findings[name] = Finding(*counts, first)
    return findings


def places(columns: Columns) -> dict[tuple[int, int], int]:
    """The row of each event, by its history and step."""
    return {at: row for row, at in enumerate(zip(columns["history"].tolist(), columns["step"].tolist(), strict=True))}


def rows_at(
    pieces: Sequence[Piece], read: Sequence[Read], properties: HistoryProperties, wanted: Iterable[tuple[int, int]],
    run: Callable[..., Any],
) -> Columns:  # fmt: skip
    """All columns of some events, in order of history and step; of those that there are."""
    asked = sorted(wanted)
    units = [
        (piece, mine) for piece, one in zip(pieces, read, strict=True)
        if (mine := tuple(at for at in asked if one.first[:2] <= at <= one.last[:2]))
    ]  # fmt: skip
    found: list[Columns] = run(units, partial(_picked, protocol=properties.vocabulary.protocol), label="violations")
    names = properties.vocabulary.schema.names
    if not found:
        return {name: np.zeros(0, np.int64) for name in names}
    return {name: np.concatenate([part[name] for part in found]) for name in names}


def _picked(unit: tuple[Piece, tuple[tuple[int, int], ...]], protocol: str) -> Columns:
    """The rows of some events of a row group.  In a worker."""
    piece, asked = unit
    vocabulary = properties_of(protocol).vocabulary
    names, wanted = vocabulary.schema.names, set(asked)
    parts: list[Columns] = [{name: np.zeros(0, np.int64) for name in names}]
    histories, steps = (np.unique([at[part] for at in asked]) for part in range(2))
    for columns in slices(piece, vocabulary, names, LEAST):
        likely = np.flatnonzero(np.isin(columns["step"], steps) & np.isin(columns["history"], histories))
        pairs = zip(columns["history"][likely].tolist(), columns["step"][likely].tolist(), strict=True)
        mine = likely[[at in wanted for at in pairs]] if len(likely) else likely
        parts += [{name: values[mine] for name, values in columns.items()}] if len(mine) else []
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _sums(figures: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for some in figures:
        for name, value in some.items():
            sums[name] = sums.get(name, 0) + value
    return sums
