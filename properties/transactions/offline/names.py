"""The model's numbers for pairs of producer id and epoch in the lanes of a piece, and for coordinators.

Producer ids get numbers in the order in which they appear in their lane, coordinators in that in which they loaded the
log: one that went away before has done nothing.
"""

from collections.abc import Sequence

import numpy as np
from fencepost.properties.cutting import Cut
from fencepost.properties.layouts import PLACES, Said, dense, first_seen
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.observations.beyond import MOST

NOWHERE = -2  # the number of a pair that there is not
SPARE = 4  # epochs that a producer id has left, where the model's last one is not Kafka's


class Numbers:
    """Numbers for pairs of producer id and epoch (`online/numbering.py` says which), named in ``said``; ``last`` and
    ``epochs`` are by lane and by pair."""

    def __init__(self, lane: np.ndarray, said: Sequence[Said], epochs: Sequence[np.ndarray], last: np.ndarray) -> None:
        at = np.concatenate([one.at for one in said])
        ids, epoch = np.concatenate([one.values for one in said]), np.concatenate(list(epochs))
        named = np.concatenate([one.at * PLACES + one.place for one in said])
        lanes = lane[at]
        step = last[lanes] + 2
        pair = (ids >= 0) & (epoch >= 0)
        self.too_large = pair & (epoch > last[lanes] + 1)
        born = pair & ~self.too_large
        rank, first = np.full(len(ids), -1), np.full(len(ids), -1)
        there = np.flatnonzero(ids >= 0)
        rank[there], first[there] = first_seen(lanes[there], ids[there], np.where(born, named, -1)[there])
        starts = np.sort(np.unique(first[born & (first == named)]))
        per_lane = np.searchsorted(starts, np.searchsorted(lane, np.arange(len(last))) * PLACES)
        by_then = np.searchsorted(starts, named, side="right") - per_lane[lanes]
        known = (rank >= 0) & (first <= named)
        number = np.where(self.too_large, NOWHERE, np.where(born, 1 + rank * step + epoch, 0))
        next_base = 1 + (np.where(known, rank, by_then) + 1) * step
        cuts = np.cumsum([len(one.values) for one in said])[:-1]
        self.numbers, self.next_bases = np.split(number, cuts), np.split(next_base, cuts)
        self.epochs, self.all, self.at = epoch, number, at
        self._ids, self._rank, self._lanes, self._named, self._born = ids, rank, lanes, named, born

    def of_lane(self, lane: int, upto: int) -> dict[int, int]:
        """Producer id by rank, of those in a lane that are named before event ``upto``."""
        chosen = (self._lanes == lane) & self._born & (self._named < upto * PLACES)
        return dict(sorted(zip(self._rank[chosen].tolist(), self._ids[chosen].tolist(), strict=True)))


def terms(cut: Cut) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of the piece the place of its coordinator among those that loaded the log, a stranger's is one too
    many; and of each history one more than any coordinator's."""
    epoch = cut.e["coordinator_epoch"]
    loaded = np.flatnonzero(cut.e["kind"] == Kind.coordinator_loaded)
    first = np.searchsorted(loaded, np.searchsorted(cut.history, np.arange(cut.histories + 1)))
    last_term = np.minimum(np.diff(first), MOST["fail_overs"]) + 1
    code, count = dense(cut.history, epoch)
    table = np.full(count, np.iinfo(np.int64).max)
    table[code[loaded]] = 1 + np.arange(len(loaded)) - first[cut.history[loaded]]
    return np.where(epoch <= 0, 0, np.minimum(table[code], last_term[cut.history])), last_term
