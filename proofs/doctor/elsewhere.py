"""This module looks for what became of an open transaction in its other partitions, so that tears can be judged.

A coordinator is asked between two readings of the partitions. What a partition had before, it had when the coordinator
was asked; what came later, it may not have had, and so it counts as unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from fencepost.proofs.doctor.futures import Loaded, Other
from fencepost.proofs.doctor.source import Source
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import CONTROL, TRANSACTIONAL
from fencepost.proofs.recording.transactions.partition_events import marker_events
from fencepost.properties.transactions.events.kinds import COMMIT

MOST_PLACES = 8
"""In so many other partitions of a transaction it is looked for."""
MOST_BYTES = 64 << 20
"""So much of a partition is read in search of a transaction's end: some three thousandths of a second each MB."""
MARGIN_MS = 600_000
"""The clocks of a producer, whose times batches have, and of its coordinator may differ by so much."""


class Pair(NamedTuple):
    """A `Pair` is what is seen in some other partitions, and in which models a transaction looks so there as well."""

    other: Other
    places: tuple[Place, ...]
    ways: tuple[Loaded, ...] = ()


class Wanted(NamedTuple):
    """A `Wanted` is a transaction with the `places` that it has, begun not before `since_ms`. Only under transaction
    version 2 it is alone in its epoch (`own_epoch`)."""

    producer_id: int
    epoch: int
    since_ms: int
    places: Sequence[Place]
    own_epoch: bool


def fates(source: Source, wanted: Wanted, opened: Mapping[Place, bool], ends: Mapping[Place, int]) -> dict[Place, str]:
    """Return what became of a transaction in its partitions, a member of `Fate`, where that is known. `opened` has the
    partitions in which it was open at some reading, and whether it was at both; `ends` has the first offset behind what
    was read before the coordinator was asked."""
    found = {place: "OPEN" for place in wanted.places if opened.get(place)}
    for place in wanted.places:
        if wanted.own_epoch and place not in opened and (fate := _decided(source, wanted, place, ends[place])):
            found[place] = fate
    return found


def _decided(source: Source, wanted: Wanted, place: Place, end: int) -> str:
    begun, read = False, 0
    for piece in source.segments(place, wanted.since_ms - MARGIN_MS):
        headers = piece.headers
        mine = (headers["producer_id"] == wanted.producer_id) & (headers["base_offset"] < end)
        for row in np.flatnonzero(mine & (headers["attributes"] & TRANSACTIONAL != 0)).tolist():
            if headers["attributes"][row] & CONTROL == 0:
                begun |= int(headers["epoch"][row]) == wanted.epoch
            elif begun:
                for outcome in marker_events(piece, np.array([row]), 0)["outcome"].tolist():
                    return "COMMITTED" if outcome == COMMIT else "ABORTED"
        read += int(headers["length"].sum())
        if read > MOST_BYTES or (len(headers) and int(headers["base_offset"][-1]) >= end):
            return ""
    return ""
