"""Histories cut into lanes: the events of one key each, such as a transactional id, where a model has only one.

An event belongs to the key that it says, or else to that of a name in it; a protocol declares which (`Belonging`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from fencepost.properties.column_ops import before, dense, one_of, ordinals_of_sorted
from fencepost.properties.history.pieces import starts_of

Events = Mapping[str, np.ndarray]
"""The columns of a piece, int64."""


@dataclass(frozen=True)
class Belonging:
    """``key``: the column that says it.  ``names``: by column, the kinds of event in which a name belongs to the key
    that they say; ``owners``: by column, the kinds that without a key of their own belong to that of their name, the
    first that is known; what names nothing known belongs to the least key that there is by then.  ``everywhere``: kinds
    that happen in every lane; ``left_out``: in none."""

    key: str
    names: Mapping[str, tuple[int, ...]]
    owners: Mapping[str, tuple[int, ...]]
    everywhere: tuple[int, ...]
    left_out: tuple[int, ...]


class Cut:
    """The events of a piece, lane by lane.  Every history has at least one lane.

    Of each row of the piece: ``history``, from 0, and ``owner``, its key.  Of each event of a lane, sorted by (lane,
    row): ``lane`` and ``row``.  Of each lane: ``of_history`` and ``keys``.
    """

    def __init__(self, events: Events, belonging: Belonging) -> None:
        self.e, kind = events, events["kind"]
        starts = starts_of(events["history"])
        self.histories = len(starts)
        self.history = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(kind))))
        everywhere = one_of(kind, belonging.everywhere)
        self._dealt = ~everywhere & ~one_of(kind, belonging.left_out)
        self.owner = self._owners(belonging)
        self._deal(np.flatnonzero(everywhere))

    def last(self, name: str, *kinds: int) -> np.ndarray:
        """Of each row the last event of these kinds of its history that is equal in a column, wherever it stands; -1 if
        there is none."""
        return self._equal(name, np.flatnonzero(one_of(self.e["kind"], kinds)))

    def first(self, name: str, *kinds: int) -> np.ndarray:
        """The same, the first."""
        return self._equal(name, np.flatnonzero(one_of(self.e["kind"], kinds))[::-1])

    def _equal(self, name: str, rows: np.ndarray) -> np.ndarray:
        code, count = dense(self.history, self.e[name])
        table = np.full(count, -1)
        table[code[rows]] = rows
        found: np.ndarray = table[code]
        return found

    def _owners(self, belonging: Belonging) -> np.ndarray:
        kind, owner = self.e["kind"], self.e[belonging.key].copy()
        says = owner >= 0
        for name, kinds in belonging.owners.items():
            sources = np.flatnonzero(says & one_of(kind, belonging.names[name]))
            asking = np.flatnonzero((owner < 0) & one_of(kind, kinds))
            code, _ = dense(self.history, self.e[name])
            found = before(code[sources], sources, code[asking], asking)
            owner[asking] = np.where(found >= 0, np.append(owner[sources], -1)[found], owner[asking])
        strange = np.flatnonzero((owner < 0) & self._dealt)
        if len(strange):
            owner[strange] = self._least(owner, strange)
        return owner

    def _least(self, owner: np.ndarray, strange: np.ndarray) -> np.ndarray:
        """The least key with a lane before each of these rows; where there is none, 0 is one from then on."""
        none = np.iinfo(np.int64).max
        known = np.where(self._dealt & (owner >= 0), owner, none)
        least = dict[int, int]()  # by history
        row, found = 0, np.zeros(len(strange), np.int64)
        for place, stranger in enumerate(strange.tolist()):
            history = int(self.history[stranger])
            begin = max(row, int(np.searchsorted(self.history, history)))
            seen = min(int(known[begin:stranger].min(initial=none)), least.get(history, none))
            found[place] = 0 if seen == none else seen
            least[history], row = int(found[place]), stranger
        return found

    def _deal(self, everywhere: np.ndarray) -> None:
        rows = np.flatnonzero(self._dealt)
        alone = np.setdiff1d(np.arange(self.histories), self.history[rows])
        pairs = np.stack((np.append(self.history[rows], alone), np.append(self.owner[rows], np.zeros_like(alone))))
        code, count = dense(*pairs)
        there, used = np.zeros((count, 2), np.int64), np.zeros(count, bool)
        there[code], used[code] = pairs.T, True
        self.of_history, self.keys = there[used].T
        lane = (np.cumsum(used) - 1)[code[: len(rows)]]
        first = np.searchsorted(self.of_history, np.arange(self.histories + 1))
        many = np.diff(first)[self.history[everywhere]]
        shared = np.repeat(everywhere, many)
        lanes = np.repeat(first[self.history[everywhere]], many) + ordinals_of_sorted(shared)
        lane, rows = np.append(lane, lanes), np.append(rows, shared)
        order = np.argsort(lane * (len(self.history) + 1) + rows, kind="stable")
        self.lane, self.row = lane[order], rows[order]
