"""In which order the events of many histories are taken: as few groups as the order within each history allows.

Within a history order matters, between histories it does not. Kinds of event take turns; a round of turns takes from
each history its next events for as long as they come in turn, and a turn of a round is one group: events of one kind,
one per history at most.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Turn:
    """One group: events ``begin`` to ``end`` of those of ``kind``."""

    kind: int
    begin: int
    end: int


@dataclass(frozen=True)
class Schedule:
    """``rows[kind]``: the events of each kind, as row numbers, in the order in which ``turns`` take them."""

    rows: list[np.ndarray]
    turns: list[Turn]


def schedule(history: np.ndarray, starts: np.ndarray, kind: np.ndarray, kinds: int) -> Schedule:
    """``kind``: 0 … ``kinds`` - 1 of each event, sorted by history; ``starts``: the rows at which histories begin."""
    place = _places(history, kind, kinds)
    turn = place[kind]
    again = np.zeros(len(kind), np.int32)
    again[1:] = turn[1:] <= turn[:-1]
    rounds = np.cumsum(again)
    rounds -= rounds[starts][history]
    width = int(rounds.max(initial=0)) + 1
    key = kind * width + rounds
    order = np.argsort(key.astype(np.uint16) if kinds * width < 1 << 16 else key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.append(begins[1:], len(kind))
    its_kind, its_round = np.divmod(ordered[begins], width)
    firsts = np.searchsorted(ordered, np.arange(kinds + 1) * width)
    groups = np.lexsort((place[its_kind], its_round)).tolist()
    base = firsts[its_kind]
    which, begin, end = its_kind.tolist(), (begins - base).tolist(), (ends - base).tolist()
    rows = [order[firsts[k] : firsts[k + 1]] for k in range(kinds)]
    return Schedule(rows, [Turn(which[g], begin[g], end[g]) for g in groups])


def _places(history: np.ndarray, kind: np.ndarray, kinds: int) -> np.ndarray:
    """The place of each kind in a round. Any will do; few rounds come of placing kinds after those that they often
    follow."""
    together = history[1:] == history[:-1]
    pairs = (kind[:-1] * kinds + kind[1:])[together]
    follows = np.bincount(pairs, minlength=kinds * kinds).reshape(kinds, kinds)
    left, early, late = list(range(kinds)), list[int](), list[int]()
    while left:
        inner = follows[np.ix_(left, left)]
        balance = inner.sum(axis=1) - inner.sum(axis=0)
        most, least = int(np.argmax(balance)), int(np.argmin(balance))
        if balance[most] >= -balance[least]:
            early.append(left.pop(most))
        else:
            late.append(left.pop(least))
    place = np.empty(kinds, np.int64)
    place[[*early, *reversed(late)]] = np.arange(kinds)
    return place
