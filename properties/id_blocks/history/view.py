"""What the properties of id blocks look at: the ids, blocks and answers of many histories, ordered once and shared.

Keys put the history first, so that one sorted array holds all histories one after another and neighbours, running
maxima and binary searches never reach over from one into the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from fencepost.properties.history.packing import BITS, bits_for, narrowed, packed, sorted_stably
from fencepost.properties.history.pieces import Columns, starts_of
from fencepost.properties.id_blocks.history.events import Kind

MAX_ID = 2**63 - 1  # 730.16: ids end at Long.MAX_VALUE, which is never the first of a next block
NEVER = np.iinfo(np.int64).max
COLUMNS = ("history", "step", "kind", "broker", "grant", "first", "length", "producer_id", "error")


@dataclass(frozen=True)
class Blocks:
    """Blocks in order of (history, first id, row): their rows, and packed (history, id) keys of both ends."""

    rows: np.ndarray
    first: np.ndarray
    last: np.ndarray


class IdBlockView:
    """Lazily computed parts of one piece. `columns` are sorted by (history, step) and hold whole histories."""

    def __init__(self, columns: Columns, _: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.columns = columns
        starts = starts_of(columns["history"])
        lengths = np.diff(starts, append=len(columns["history"]))
        self.place = np.repeat(np.arange(len(starts)), lengths)  # 0, 1, 2 … for the histories of the piece

    def rows_of(self, *kinds: Kind) -> np.ndarray:
        """Rows of these kinds, ascending."""
        kind = self.columns["kind"]
        chosen = kind == kinds[0]
        for other in kinds[1:]:
            chosen |= kind == other
        return np.flatnonzero(chosen)

    @cached_property
    def grants(self) -> np.ndarray:
        """Rows by which a block came into being: a committed record, or a conditional write that won."""
        return self.rows_of(Kind.block_committed, Kind.zk_written)

    @cached_property
    def answers(self) -> np.ndarray:
        """Rows by which a controller answered with a block."""
        sent = self.rows_of(Kind.answer_sent)
        answers: np.ndarray = sent[self.columns["error"][sent] == 0]
        return answers

    @cached_property
    def ids(self) -> np.ndarray:
        """Rows by which a client got an id."""
        return self.rows_of(Kind.id_handed_out)

    def is_well_formed(self, rows: np.ndarray) -> np.ndarray:
        """Whether each row's block holds at least one id and none below 0 or above the last id there is."""
        first, length = self.columns["first"][rows], self.columns["length"][rows].astype(np.int64)
        well_formed: np.ndarray = (first >= 0) & (length >= 1) & (first <= MAX_ID - np.maximum(length, 0))
        return well_formed

    @cached_property
    def _scale(self) -> tuple[dict[str, np.ndarray], int]:
        """Ids and ends of granted and answered blocks on one narrow scale."""
        granted = self.grants[self.is_well_formed(self.grants)]
        answered = self.answers[self.is_well_formed(self.answers)]
        first, length = self.columns["first"], self.columns["length"]
        raw = [self.columns["producer_id"][self.ids]]
        for rows in (granted, answered):
            raw += [first[rows], first[rows] + (length[rows] - 1)]
        room = BITS - bits_for(len(self.place)) * 2  # for the history, and for the place that is sorted along
        (ids, *ends), bits = narrowed(raw, room)
        names = ("granted_first", "granted_last", "answered_first", "answered_last")
        return {"ids": ids, "granted": granted, "answered": answered, **dict(zip(names, ends, strict=True))}, bits

    def _blocks(self, which: str) -> Blocks:
        scale, bits = self._scale
        rows = scale[which]
        order, first = sorted_stably(packed(self.place[rows], scale[f"{which}_first"], bits))
        last = packed(self.place[rows], scale[f"{which}_last"], bits)
        return Blocks(rows[order], first, last[order])

    @cached_property
    def granted(self) -> Blocks:
        """The well-formed blocks that came into being."""
        return self._blocks("granted")

    @cached_property
    def answered(self) -> Blocks:
        """The well-formed blocks in successful answers."""
        return self._blocks("answered")

    @cached_property
    def ids_in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, packed keys) of the ids handed out, in order of (history, id, row)."""
        scale, bits = self._scale
        order, key = sorted_stably(packed(self.place[self.ids], scale["ids"], bits))
        return self.ids[order], key

    @cached_property
    def granted_since(self) -> np.ndarray:
        """For each of `ids_in_order`, the row at which the first block that holds it was granted, or NEVER.

        Blocks cut the line of ids into intervals. A block covers a run of them; the run is written as two overlapping
        windows of a power of two, and the windows are then halved level by level, keeping the least row. So blocks that
        overlap (a violation elsewhere) still give the exact answer, in O(n log n), and disjoint ones need one level.
        """
        blocks = self.granted
        _, key = self.ids_in_order
        edges = np.unique(np.concatenate([blocks.first, blocks.last + 1]))
        begin, end = np.searchsorted(edges, blocks.first), np.searchsorted(edges, blocks.last + 1)
        level = np.frexp((end - begin).astype(float))[1] - 1
        since = np.full(len(edges) + 1, NEVER)
        for height in range(int(level.max(initial=0)), -1, -1):
            here = level == height
            np.minimum.at(since, begin[here], blocks.rows[here])
            np.minimum.at(since, end[here] - (1 << height), blocks.rows[here])
            if height:
                half = 1 << (height - 1)
                halved = since.copy()
                halved[half:] = np.minimum(halved[half:], since[:-half])
                since = halved
        cuts = np.searchsorted(key, edges)
        interval = np.repeat(np.arange(-1, len(edges)), np.diff(cuts, prepend=0, append=len(key)))
        return since[interval]  # before the first edge: -1, the extra last element, NEVER
