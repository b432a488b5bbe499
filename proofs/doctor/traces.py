"""This module has what `checks` reports, and how far a log has been given to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import Segment


class Trace(NamedTuple):
    """A `Trace` is one batch, marker or record of the transaction log. `offset` is the first of a batch, `time_ms` the
    batch's greatest, `sequence` its first or -1, and `what` is data, commit, abort, or the name of a state."""

    place: Place
    offset: int
    time_ms: int
    producer_id: int
    epoch: int
    sequence: int
    what: str


class Broken(NamedTuple):
    """A `Broken` is a rule that a log breaks, by a kind of `checks.KINDS`: `second` breaks it, and `first` is what it
    contradicts, if that is known. `transactional_id` is empty where it is not known."""

    kind: str
    first: Trace | None
    second: Trace
    transactional_id: str = ""


@dataclass
class Extent:
    """An `Extent` is how much of a log was given: from offset `begins` (-1: nothing) to `next_offset`, without `holes`
    offsets that a cleaner removed; `batches` of them."""

    begins: int = -1
    next_offset: int = -1
    holes: int = 0
    batches: int = 0

    def rows(self, segment: Segment) -> slice:
        """Return the batches that were not given before."""
        if self.next_offset < 0:
            return slice(0, None)
        return slice(int(np.searchsorted(segment.headers["base_offset"].astype(np.int64), self.next_offset)), None)

    def extend(self, base: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take in batches, at least one, from their first and last offsets. Return for each how many offsets are
        missing before it, and its number."""
        if self.begins < 0:
            self.begins = self.next_offset = int(base[0])
        holes = self.holes + np.cumsum(base - np.append(self.next_offset, last[:-1] + 1))
        number = self.batches + np.arange(len(base))
        self.holes, self.next_offset, self.batches = int(holes[-1]), int(last[-1]) + 1, self.batches + len(base)
        return holes, number
