"""This module examines a cluster: what its logs break, which transactions are open, and what each of these is.

`examine(source, …)` reads partitions, then the transaction log and the coordinators, then all of these once more. So a
transaction counts as open if it was so before and after its coordinator was asked, since a marker is in its partition
before the coordinator says that the transaction is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.model.releases import NAMES, SETTINGS
from fencepost.proofs.doctor.checks import Checks
from fencepost.proofs.doctor.elsewhere import MOST_PLACES, Pair, Wanted, fates
from fencepost.proofs.doctor.futures import (
    BEYOND,
    NOT_RETAINED,
    STORED,
    Loaded,
    Model,
    Other,
    Seen,
    futures,
    models,
    reached,
    with_late_markers,
)
from fencepost.proofs.doctor.scanning import CUT, MOST, Scan, scanned
from fencepost.proofs.doctor.source import (
    NEVER_MS,
    OPEN,
    Active,
    DiskSource,
    Listed,
    Source,
    aborting,
    logged,
    places_of,
)
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.doctor.unmarked import unmarked
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import BEFORE_LENGTH_COUNTS, HEADER, Segment
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.proofs.recording.transactions.transaction_log import TOPIC as TRANSACTION_LOG
from fencepost.properties.transactions.events.kinds import State

SLOW_MS = 10_000
"""A transaction that is open for longer is worth a line, though nothing is wrong with it."""
LATE_MS = 60_000
"""A coordinator that is so late with a time-out or a marker is not at work on it (its timer runs every 10 s)."""
LOOKED_AT = 50
"""So many duplicates are read again, and compared byte by byte."""
TWO_PHASE = "transaction.two.phase.commit.enable"
"""Releases that know this setting have transactions without time-out."""
PHASES = {
    "Ongoing": "ONGOING",
    "PrepareCommit": "PREPARED",
    "PrepareAbort": "PREPARED",
    "PrepareEpochFence": "PREPARED",
}
OUTCOMES = {
    "PrepareCommit": "COMMIT", "CompleteCommit": "COMMIT", "PrepareAbort": "ABORT", "CompleteAbort": "ABORT",
    "Empty": "NONE",
}  # fmt: skip
Reading = Callable[[Place, int], None]  # so many bytes of a partition were read


class Prepared(NamedTuple):
    """A `Prepared` is the record of the transaction log that decided a transaction. `outcome` is COMMIT or ABORT, and
    `started_ms` when it began."""

    offset: int
    time_ms: int
    outcome: str
    started_ms: int
    places: tuple[Place, ...]


class Fenced(NamedTuple):
    """A `Fenced` is a transaction that was aborted under a new epoch before its time-out, of an id that was then
    initialised anew. `epoch` is the transaction's own."""

    transactional_id: str
    producer_id: int
    epoch: int
    started_ms: int
    aborted_ms: int
    again_ms: int
    again_epoch: int
    places: tuple[Place, ...]


class Copies(NamedTuple):
    """A `Copies` is a batch that stands twice: whether the records are the same bytes, and each copy's leader epoch."""

    same: bool
    epochs: tuple[int, int]


@dataclass(frozen=True)
class Opened:
    """An `Opened` is a transaction that is open in a partition, from `active.first_offset` on.

    `epoch` and `since_ms` are of its first batch, `listed` is its coordinator's entry, `prepared` the decision in the
    transaction log, and `waiting` the number of offsets that readers wait for. `verdict` is running, slow, overdue,
    stuck, undecided, which has no time-out and waits for an outside coordinator, hanging, torn, which is open here and
    decided elsewhere too early, or unexplained, which is what no model reaches; `ways` has the models in which it can
    come about, `late` the same with markers that come late, and `usual` the one without a fault. `pairs` has its other
    partitions; those of `unseen` were not looked at, and None are not known."""

    active: Active
    epoch: int
    since_ms: int
    listed: Listed | None
    transactional_id: str
    prepared: Prepared | None
    waiting: int
    seen: Seen | None = None
    verdict: str = "unexplained"
    ways: tuple[Loaded, ...] = ()
    usual: Loaded | None = None
    late: tuple[Loaded, ...] = ()
    pairs: tuple[Pair, ...] = ()
    unseen: tuple[Place, ...] | None = ()


@dataclass
class Examined:
    """An `Examined` is what was found in a cluster. Times are in ms since 1970; `first_ms` and `last_ms` are of the
    batches read, -1 if there were none. `release` is the column whose models are asked, and `known_release` what is
    known of it, such as 4.0, or empty."""

    name: str
    release: str
    known_release: str
    version: str
    now_ms: int = -1
    ids: int = 0
    places: tuple[Place, ...] = ()
    batches: int = 0
    first_ms: int = -1
    last_ms: int = -1
    broken: list[Broken] = field(default_factory=list)
    count: int = 0
    copies: dict[Broken, Copies] = field(default_factory=dict)
    opened: list[Opened] = field(default_factory=list)
    fenced: list[Fenced] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)


def column_of(release: str) -> str:
    """Return the column of `model.releases.NAMES` that a release such as 4.0 belongs to, or the newest."""
    if release == NAMES[-1] or not release:
        return NAMES[-1]
    line = tuple(map(int, release.split(".")[:2]))
    older = [name for name in NAMES[:-1] if tuple(map(int, name.split(".")[:2])) <= line]
    return older[-1] if older else NAMES[0]


def begun(source: Source) -> Examined:
    """Return what is known of a cluster before its logs are read: its release, transaction version, and ids."""
    levels = source.releases()
    newest = max((each for name, each in levels.items() if name.startswith("node ")), default="")
    release = column_of(newest)
    version = "2" if levels.get("transaction.version", "2" if release >= "4" else "0") == "2" else "1"
    return Examined(source.name, release, newest if newest != NAMES[-1] else "", version)


def examine(
    source: Source, topics: Collection[str] = (), transactional_ids: Collection[str] = (), since_ms: int = -1,
    reading: Reading = lambda place, size: None, workers: Callable[[int], Executor] | None = None, cut: int = CUT,
) -> Examined:  # fmt: skip
    """Return what is found in a cluster, of these topics and transactional ids, or of all, in batches not older than
    `since_ms`. Raise InputError for a topic or an id that is not there. `workers` makes what reads the partitions of a
    `DiskSource` elsewhere, in cuts of some `cut` bytes, for a number of partitions."""
    found = begun(source)
    data, logs = [*source.places(topics), *_internal(source, OFFSETS)], _internal(source, TRANSACTION_LOG)
    found.places = tuple(place for place in data if place.topic != OFFSETS)
    checks = Checks(complete=since_ms < 0 and not source.gaps, suspecting=True)
    reader = _Reader(source, checks, found, since_ms, reading)
    if workers is not None and data:
        assert isinstance(source, DiskSource)
        with workers(len(data)) as tasks:
            for place, scans in scanned(tasks, source, data, since_ms, cut, reading).items():
                reader.take(place, scans)
                source.producers[place] = scans[-1].producers
    for place in (*(data if workers is None else ()), *logs):
        reader.read(place)
    before = {(a.place, a.producer_id): a for place in data for a in source.active(place) if a.first_offset >= 0}
    ends = {place: checks.next_offset(place) for place in data}
    listed = {each.producer_id: each for each in source.listed(transactional_ids)}
    found.ids, found.now_ms = len(listed), source.now_ms()
    for missing in set(transactional_ids) - {each.transactional_id for each in listed.values()}:
        raise InputError(f"{source.name}: no transactional id {missing!r} at any coordinator; it may have expired")
    found.names = {each.producer_id: each.transactional_id for each in listed.values()}
    still = [
        a for place in sorted({place for place, _ in before}) for a in source.active(place)
        if (a.place, a.producer_id) in before and before[a.place, a.producer_id].first_offset == a.first_offset
    ]  # fmt: skip
    reader.settle()
    until = {place: checks.next_offset(place) for place in logs}
    for place in (*data, *logs):
        reader.read(place)
    reader.settle(last=True)
    reader.look_at_suspects(logs, until)
    opened = [_opened(source, each, listed.get(each.producer_id)) for each in still]
    decided = _decisions(source, logs, [each.active.producer_id for each in opened], found.names)
    others = _Others(source, ends, set(before), opened)
    found.opened = [_judged(each, decided, found, others) for each in opened]
    found.fenced = [
        each for each in reader.fenced
        if each.aborted_ms >= since_ms and (not topics or any(place.topic in topics for place in each.places))
    ]  # fmt: skip
    if transactional_ids:
        _restrict(found, transactional_ids)
    twice = [each for each in found.broken if each.kind == "duplicate" and each.first is not None]
    found.copies = {each: copies for each in twice[:LOOKED_AT] if (copies := _copies(source, each)) is not None}
    found.gaps = list(source.gaps)
    return found


def _internal(source: Source, topic: str) -> list[Place]:
    """Return the partitions of a topic of the coordinators, none where the cluster has no such topic yet."""
    with suppress(InputError):
        return list(source.places([topic]))
    return []


class _Reader:
    """A `_Reader` reads each partition from where it ended before, and hands its pieces to the checks."""

    def __init__(self, source: Source, checks: Checks, found: Examined, since_ms: int, reading: Reading) -> None:
        self.source, self.checks, self.found, self.since_ms, self.reading = source, checks, found, since_ms, reading
        self.fenced: list[Fenced] = []
        self._epochs: dict[str, int] = {}
        self._aborted: dict[str, Fenced] = {}

    def read(self, place: Place) -> None:
        since_ms = self.since_ms if place.topic != TRANSACTION_LOG else -1  # what came before decides about what is new
        for piece in self.source.segments(place, since_ms, self.checks.next_offset(place)):
            self._add(self.checks.feed(place, piece))
            self.reading(place, int(piece.headers["length"].sum()))
            if place.topic == TRANSACTION_LOG:
                self._fences(piece)
            elif place.topic != OFFSETS and len(piece.headers):
                times = piece.headers["max_time"]
                self._seen(len(times), int(times.min()), int(times.max()))

    def _seen(self, batches: int, first_ms: int, last_ms: int) -> None:
        found = self.found
        found.batches += batches
        found.first_ms = min(found.first_ms, first_ms) if found.first_ms >= 0 else first_ms
        found.last_ms = max(found.last_ms, last_ms)

    def take(self, place: Place, scans: Sequence[Scan]) -> None:
        """Take what was read of a partition elsewhere, as if it had been read."""
        self.checks.take(place, scans[-1].ledger, [scan.marks for scan in scans])
        for scan in scans:
            self._count(scan.broken, scan.count)
            if place.topic != OFFSETS and scan.batches:
                self._seen(scan.batches, scan.first_ms, scan.last_ms)

    def settle(self, *, last: bool = False) -> None:
        self._add(self.checks.settle(last=last))

    def look_at_suspects(self, logs: Sequence[Place], until: Mapping[Place, int]) -> None:
        """Add decisions whose marker is missing; `until` is where the transaction log ended before partitions did."""
        suspects, markers = self.checks.suspects, self.checks.markers
        counts = {(one.place, one.producer_id): markers(one.place, one.producer_id) for _, one, _, _ in suspects}
        self._add(unmarked(self.source, logs, until, suspects, counts))

    def _add(self, broken: Iterable[Broken]) -> None:
        fresh = [each for each in broken if each.kind != "hanging"]  # judged by the model, with what coordinators say
        self._count(fresh, len(fresh))

    def _count(self, broken: Sequence[Broken], count: int) -> None:
        self.found.count += count
        self.found.broken += broken[: max(0, MOST - len(self.found.broken))]

    def _fences(self, piece: Segment) -> None:
        ids = aborting(piece) | {each.producer_id for each in self._aborted.values()}
        for _, time_ms, name, state in logged(piece, ids) if ids else ():
            old = self._aborted.pop(name, None)
            if state is None:
                continue
            kafka, epoch = State(state.state).name, self._epochs.get(name, -1)
            if kafka == "Ongoing":
                self._epochs[name] = state.epoch
            elif kafka == "PrepareAbort" and 0 <= epoch < state.epoch and time_ms - state.started_ms < state.timeout_ms:
                self._aborted[name] = Fenced(
                    name, state.producer_id, epoch, state.started_ms, time_ms, -1, -1, places_of(state)
                )
            elif kafka == "CompleteAbort" and old is not None:
                self._aborted[name] = old
            elif kafka == "Empty" and old is not None and len(self.fenced) < MOST:
                self.fenced.append(old._replace(again_ms=time_ms, again_epoch=state.epoch))


def _copies(source: Source, broken: Broken) -> Copies | None:
    """Return what the copies of a batch have in common; None if one of them has been deleted by now."""
    assert broken.first is not None
    found = []
    for trace in (broken.first, broken.second):
        piece = next(source.segments(trace.place, start=trace.offset), None)
        if piece is None:
            return None
        for row in np.flatnonzero(piece.headers["base_offset"] == trace.offset)[:1]:
            begin = int(piece.positions[row])
            end = begin + BEFORE_LENGTH_COUNTS + int(piece.headers["length"][row])
            content = piece.content[begin + HEADER.itemsize : end].tobytes()
            found.append((int(piece.headers["leader_epoch"][row]), content))
    if len(found) < 2:
        return None
    (first, mine), (second, other) = found
    return Copies(mine == other, (first, second))


def _opened(source: Source, active: Active, listed: Listed | None) -> Opened:
    _, _, high = source.ends(active.place)
    epoch, since_ms = active.epoch, active.last_ms
    for piece in source.segments(active.place, start=active.first_offset):
        mine = piece.headers[piece.headers["producer_id"] == active.producer_id]
        if len(mine):
            epoch, since_ms = int(mine["epoch"][0]), int(mine["base_time"][0])
            break
    name = listed.transactional_id if listed is not None else ""
    return Opened(active, epoch, since_ms, listed, name, None, high - active.first_offset)


class _Decided(NamedTuple):
    """A `_Decided` has Prepare records, by producer id and the epoch of the transaction, and by producer id the
    transaction version that its client used last."""

    prepared: dict[tuple[int, int], Prepared]
    versions: dict[int, str]


def _decisions(source: Source, logs: Sequence[Place], producer_ids: Sequence[int], names: dict[int, str]) -> _Decided:
    """Return what the transaction log has of these producers. A Prepare record of transaction version 2 has the epoch
    after the transaction's own. Of version 1, where one epoch has many transactions, which record is whose is not in
    the log, and none is returned."""
    found = _Decided({}, {})
    if not producer_ids:
        return found
    for place in logs:
        for piece in source.segments(place):
            for offset, time_ms, name, state in logged(piece, producer_ids):
                if state is None:
                    continue
                names.setdefault(state.producer_id, name)
                kafka = State(state.state).name
                if kafka in ("Ongoing", "PrepareCommit"):  # the coordinator may abort with its own version
                    found.versions[state.producer_id] = "2" if state.client_version >= 2 else "1"
                if kafka.startswith("Prepare") and state.client_version >= 2:
                    prepared = Prepared(offset, time_ms, OUTCOMES[kafka], state.started_ms, places_of(state))
                    found.prepared[state.producer_id, state.epoch - 1] = prepared
    return found


class _Others:
    """An `_Others` finds the other partitions of open transactions. `before` has where a producer had something open
    before the coordinators were asked, and `opened` what was open then and after."""

    def __init__(
        self, source: Source, ends: Mapping[Place, int], before: Collection[tuple[Place, int]], opened: Sequence[Opened]
    ) -> None:
        self.source, self.ends, self.before, self.opened = source, ends, before, opened

    def of(self, opened: Opened, seen: Seen, version: str) -> tuple[tuple[Pair, ...], tuple[Place, ...] | None]:
        """Return what is seen in other partitions of a transaction, and which were not looked at, None if no log says
        which these are."""
        mine, prepared, listed = opened.active, opened.prepared, opened.listed
        own = listed is not None and listed.state in OPEN and seen.behind == 0 and mine.place in listed.places
        open_too = {
            each.active.place for each in self.opened
            if (each.active.producer_id, each.epoch) == (mine.producer_id, opened.epoch)
        }  # fmt: skip
        stated = prepared.places if prepared is not None else listed.places if listed is not None and own else ()
        places = sorted({*stated, *open_too} - {mine.place})
        later = seen.phase != "IDLE" and seen.listed is False and prepared is not None and seen.behind != 0
        looked = [
            place for place in places
            if place in self.ends and not (later and listed is not None and place not in listed.places)
        ][:MOST_PLACES]  # fmt: skip
        at_some = {place for place, producer_id in self.before if producer_id == mine.producer_id}
        since_ms = prepared.started_ms if prepared is not None else listed.start_ms if listed is not None else -1
        wanted = Wanted(mine.producer_id, opened.epoch, max(since_ms, 0) or opened.since_ms, looked, version == "2")
        known = fates(self.source, wanted, {place: place in open_too for place in at_some | open_too}, self.ends)
        found: dict[Other, tuple[Place, ...]] = {}
        for place in looked:
            there = None if listed is None or seen.phase == "PREPARED" else place in listed.places
            other = Other(known.get(place), there)
            found[other] = (*found.get(other, ()), place)
        unseen = tuple(place for place in places if place not in looked)
        return tuple(Pair(*each) for each in found.items()), unseen if prepared is not None or own else None


def _judged(opened: Opened, decided: _Decided, found: Examined, others: _Others) -> Opened:
    """Return what an open transaction is. It hangs if no run of the release's model without a partition's fault reaches
    what is seen of it in its partition, and it is torn if none reaches what is seen in another one as well, unless it
    is open there too: then that part hangs, and is found there."""
    prepared = decided.prepared.get((opened.active.producer_id, opened.epoch))
    version = decided.versions.get(opened.active.producer_id, found.version)
    name = opened.transactional_id or found.names.get(opened.active.producer_id, "")
    opened = replace(opened, transactional_id=name, prepared=prepared)
    seen = _seen(opened, prepared, version)
    if seen is None:
        return opened
    first, *faulty = models(found.release, version)
    usual = futures(first, seen)
    pairs, unseen = others.of(opened, seen, version)
    unfit = [each for each in pairs if not _fits(first, seen._replace(other=each.other))] if usual.fitting else []
    torn = [each for each in unfit if each.other.fate != "OPEN"]
    pairs = tuple(each for each in pairs if each in torn or each not in unfit)
    late = with_late_markers(first, found.release, version)
    if usual.fitting and not torn:
        verdict, tried, ways = _timely(opened, prepared, found), [first], [usual]
        if verdict == "undecided":
            stored = [seen._replace(store=each) for each in STORED] if version == "2" else []
            ways = [loaded for each in stored for loaded in _ways([Model(NOT_RETAINED)], each)]
            return replace(opened, seen=seen, verdict=verdict, usual=usual, ways=tuple(ways))
        if verdict == "running":
            return replace(opened, seen=seen, verdict=verdict, usual=usual, ways=(usual,), unseen=unseen)
    elif torn:
        tried, ways = [*faulty, *([late] if late is not None else [])], [usual]
        explained = all(any(_fits(each, seen._replace(other=pair.other)) for each in tried) for pair in torn)
        verdict = "torn" if explained else "unexplained"
    else:
        ways = [loaded for model in faulty if (loaded := futures(model, seen)).fitting]
        tried, verdict = [loaded.model for loaded in ways], "hanging" if ways else "unexplained"
    return replace(
        opened, seen=seen, verdict=verdict, usual=usual, ways=tuple(ways), unseen=unseen,
        pairs=tuple(pair._replace(ways=_ways(tried, seen._replace(other=pair.other))) for pair in pairs),
        late=_ways([model for each in ways if (model := with_late_markers(each.model, found.release, version))], seen),
    )  # fmt: skip


def _fits(model: Model, seen: Seen) -> bool:
    return bool(reached(model, seen).columns.shape[1])


def _ways(tried: Sequence[Model], seen: Seen) -> tuple[Loaded, ...]:
    return tuple(loaded for loaded in (futures(model, seen) for model in tried) if loaded.fitting)


def _seen(opened: Opened, prepared: Prepared | None, version: str) -> Seen | None:
    """Return what is seen of the transaction in the model's terms; None if its epoch is above its coordinator's."""
    listed, result = opened.listed, prepared.outcome if prepared is not None else None
    if listed is None:
        return Seen("IDLE", None, None, False, result)
    phase, behind = PHASES.get(listed.state, "IDLE"), listed.epoch - opened.epoch
    if behind < 0:
        return None
    if result is None and behind == 0 and phase == "ONGOING" and version == "2":
        result = "NONE"  # each end raises the epoch
    outcome, mine = None if phase == "ONGOING" else OUTCOMES.get(listed.state), opened.active.place in listed.places
    if phase == "PREPARED" and mine and listed.coordinator < 0:
        return Seen(phase, outcome, min(behind, BEYOND), None, result)  # a log does not say which markers are missing
    elsewhere = Other(None, True) if phase != "IDLE" and not mine and listed.places else None
    return Seen(phase, outcome, min(behind, BEYOND), mine, result, elsewhere)


def _timely(opened: Opened, prepared: Prepared | None, found: Examined) -> str:
    assert opened.listed is not None
    now_ms, knows_two_phases = found.now_ms, SETTINGS[TWO_PHASE].knows(found.release, "true")
    if opened.listed.state == "Ongoing":
        if opened.listed.timeout_ms == NEVER_MS and knows_two_phases:
            return "undecided" if now_ms > opened.listed.start_ms + SLOW_MS else "running"
        if now_ms > opened.listed.start_ms + opened.listed.timeout_ms + LATE_MS:
            return "overdue"
        return "slow" if now_ms > opened.listed.start_ms + SLOW_MS else "running"
    since_ms = prepared.time_ms if prepared is not None else opened.active.last_ms
    return "stuck" if opened.listed.state in OPEN and now_ms > since_ms + LATE_MS else "running"


def _restrict(found: Examined, transactional_ids: Collection[str]) -> None:
    def mine(producer_id: int, name: str = "") -> bool:
        return (name or found.names.get(producer_id, "")) in transactional_ids

    found.broken = [each for each in found.broken if mine(each.second.producer_id, each.transactional_id)]
    found.count = len(found.broken)
    found.opened = [each for each in found.opened if mine(each.active.producer_id, each.transactional_id)]
    found.fenced = [each for each in found.fenced if each.transactional_id in transactional_ids]
