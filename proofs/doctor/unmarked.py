"""This module finds decisions of version 1 without a marker in a partition, so that the next marker decides for them.

Transactions of version 1 that follow one another have the same epoch, and a batch that joins what stayed open is like
any other: only the transaction log has that there was a decision in between. A suspect is a transaction of a partition
in which, by their times, more than one decision of its producer falls, or one that was completed while it is open. One
of two is of version 1; the other may be a fence's, or of a time-out, which are of version 2.
Clocks differ, so a suspect is reported only if the partition has fewer markers than the log has completed decisions
that list it. Both are counted since the partition's first batch of the producer, if that has sequence number 0 and no
offset is missing behind it; a marker that came twice hides a missing one. Which decision is named goes by times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from fencepost.proofs.doctor.source import Source, logged, places_of
from fencepost.proofs.doctor.traces import Broken, Trace
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.properties.transactions.events.kinds import State

LOOKED_AT = 1_000
"""Of so many suspects the decisions are counted."""


class Suspect(NamedTuple):
    """A `Suspect` is a transaction that was opened at `time_ms`, and `ended` by a marker, or is open at that place.
    `since_ms` and `epoch` are of the first batch of its producer in the partition."""

    time_ms: int
    ended: Trace
    since_ms: int
    epoch: int


class _Decision(NamedTuple):
    trace: Trace
    places: Collection[Place]
    version: int


def spans(
    producer_ids: np.ndarray, begin_ms: np.ndarray, end_ms: np.ndarray, decided: np.ndarray, decided_ms: np.ndarray
) -> np.ndarray:
    """Return for each span of time, ends included, how many decisions of its producer are in it; `decided` has their
    producer ids."""
    times, rank = np.unique(np.concatenate([begin_ms, end_ms, decided_ms]), return_inverse=True)
    ids, number = np.unique(np.concatenate([producer_ids, decided]), return_inverse=True)
    assert len(ids) * len(times) < 2**62
    begin, end, at = np.split(rank, [len(begin_ms), 2 * len(begin_ms)])
    mine, its = np.split(number.astype(np.int64) * len(times), [len(producer_ids)])
    keys = np.sort(its + at)
    count: np.ndarray = np.searchsorted(keys, mine + end, "right") - np.searchsorted(keys, mine + begin, "left")
    return count


def unmarked(
    source: Source, logs: Sequence[Place], ends: Mapping[Place, int], suspects: Sequence[Suspect],
    markers: Mapping[tuple[Place, int], int],
) -> Iterator[Broken]:  # fmt: skip
    """Yield the suspects of which a decision has no marker. `ends` has for each partition of the transaction log the
    offset up to which it had been read before the partitions were read once more, and `markers` how many each partition
    has by now of a producer."""
    chosen = suspects[:LOOKED_AT]
    decisions = _completed(source, logs, ends, {each.ended.producer_id for each in chosen}) if chosen else {}
    for each in chosen:
        place, producer_id = each.ended.place, each.ended.producer_id
        mine = [one for one in decisions.get(producer_id, ()) if place in one.places
                and one.trace.epoch >= each.epoch and one.trace.time_ms >= each.since_ms]  # fmt: skip
        is_open = each.ended.what == "data"
        over = [one for one in mine if each.time_ms <= one.trace.time_ms
                and (is_open or one.trace.time_ms <= each.ended.time_ms)]  # fmt: skip
        older = [one.trace for one in over if one.version < 2]
        if older and (is_open or len(over) > 1) and len(mine) > markers[place, producer_id]:
            other = [one for one in older if each.ended.what not in ("data", one.what)]
            yield Broken("unmarked", (other or older)[0], each.ended)


def _completed(
    source: Source, logs: Sequence[Place], ends: Mapping[Place, int], producer_ids: Collection[int]
) -> Mapping[int, Sequence[_Decision]]:
    """Return the decisions that were completed, by producer id. The coordinator's own, by a fence or a time-out, are of
    version 2 where it is, whatever the client's are."""
    found, prepared = defaultdict[int, list[_Decision]](list), dict[int, _Decision]()
    for log in logs:
        for piece in source.segments(log):
            for offset, time_ms, _, state in logged(piece, producer_ids):
                if state is None or offset >= ends[log]:
                    continue
                kind, own = State(state.state), state.producer_id
                if kind in (State.PrepareCommit, State.PrepareAbort):
                    what = "commit" if kind == State.PrepareCommit else "abort"
                    trace = Trace(log, offset, time_ms, own, state.epoch, -1, what)
                    prepared[own] = _Decision(trace, places_of(state), state.client_version)
                elif kind in (State.CompleteCommit, State.CompleteAbort) and own in prepared:
                    found[own].append(prepared.pop(own))
    return found
