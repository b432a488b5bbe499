"""This module has what must hold of histories of id blocks: a view of them, the kernels, and the properties.

The properties use the ids, blocks and answers of many histories, which are ordered once and shared.

Keys put the history first, so that one sorted array holds all histories one after another, and neighbours, running
maxima and binary searches never reach from one history into the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.pieces import BITS, bits_for, narrowed, packed, sorted_stably
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, evaluated, first, last, when
from fencepost.properties.history.spreading import Spread, by
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind
from fencepost.properties.seeded_violations import Seeded, SeededHistory, change, swap

MAX_ID = 2**63 - 1  # 730.16: ids end at Long.MAX_VALUE, which is never the first of a next block
NEVER = np.iinfo(np.int64).max
WELL_FORMED = (IT.first >= 0) & (IT.length >= 1) & (IT.first <= MAX_ID - IT.length)
"""A well-formed block holds at least one id, and none below 0 or above the greatest possible id."""
COLUMNS = ("history", "step", "kind", "broker", "grant", "first", "length", "producer_id", "error")


@dataclass(frozen=True)
class Blocks:
    """A `Blocks` has rows of blocks in order of (history, first id, row), with packed keys of both ends."""

    rows: np.ndarray
    first: np.ndarray
    last: np.ndarray


class IdBlockView(EventView):
    """An `IdBlockView` computes the blocks, answers and ids of one piece lazily."""

    @cached_property
    def grants(self) -> np.ndarray:
        """Return the rows by which a block was granted: a committed record, or a conditional write that won."""
        return self.rows_of(Kind.block_committed, Kind.zk_written)

    @cached_property
    def ids(self) -> np.ndarray:
        return self.rows_of(Kind.id_handed_out)

    def is_well_formed(self, rows: np.ndarray) -> np.ndarray:
        well_formed: np.ndarray = evaluated(WELL_FORMED, self, {IT: rows})
        return well_formed

    @cached_property
    def _scale(self) -> tuple[dict[str, np.ndarray], int]:
        """Return ids and ends of granted and answered blocks on one narrow scale."""
        granted, answers = self.grants[self.is_well_formed(self.grants)], self.fine(Kind.answer_sent)
        answered = answers[self.is_well_formed(answers)]
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
        return self._blocks("granted")

    @cached_property
    def answered(self) -> Blocks:
        return self._blocks("answered")

    @cached_property
    def ids_in_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (rows, packed keys) of the ids handed out, in order of (history, id, row)."""
        scale, bits = self._scale
        order, key = sorted_stably(packed(self.place[self.ids], scale["ids"], bits))
        return self.ids[order], key

    @cached_property
    def granted_since(self) -> np.ndarray:
        """Return, for each of `ids_in_order`, the row at which the first block that holds it was granted, or NEVER.

        Blocks cut the line of ids into intervals. A block covers a run of intervals. The run is written as two
        overlapping windows of a power of two, and the windows are then halved level by level, with the least row
        winning. So blocks that overlap (a violation elsewhere) still give the exact answer, in O(n log n), and disjoint
        ones need one level.
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


# A violated id block property is reported in one line that names the events concerned and their steps.


def again(view: IdBlockView, at: int, other: int) -> str:
    return f"{_handed_out(view, at)}; broker {_at(view, 'broker', other)} did so at step {_at(view, 'step', other)}"


def overlap(view: IdBlockView, at: int, other: int) -> str:
    return f"{_block(view, at)} overlaps {_block(view, other)}"


def uncommitted_answer(view: IdBlockView, at: int, other: int) -> str:
    when = "is never committed" if other < 0 else f"is committed only at step {_at(view, 'step', other)}"
    return f"{_block(view, at)}, but its record {_at(view, 'grant', at)} {when}"


def too_early(view: IdBlockView, at: int, other: int) -> str:
    return f"{_handed_out(view, at)}, before {_block(view, other)}"


def outside(view: IdBlockView, at: int, _: int) -> str:
    return f"{_handed_out(view, at)}, which no block of this history holds"


def back(view: IdBlockView, at: int, other: int) -> str:
    return f"{_handed_out(view, at)}, after {_handed_out(view, other)} in the same lifetime"


def apart(view: IdBlockView, at: int, other: int) -> str:
    if view.columns["kind"][other] == Kind.migrated:
        due = f"KRaft took over at step {_at(view, 'step', other)} with next free id {_at(view, 'first', other)}"
    else:
        due = f"after {_block(view, other)}"
    return f"{_block(view, at)}, {due}"


def malformed(view: IdBlockView, at: int, _: int) -> str:
    return f"{_block(view, at)}: not a range of ids between 0 and 2^63 - 2"


def _at(view: IdBlockView, column: str, row: int) -> int:
    return int(view.columns[column][row])


def _handed_out(view: IdBlockView, row: int) -> str:
    broker, producer_id, step = (_at(view, name, row) for name in ("broker", "producer_id", "step"))
    return f"broker {broker} hands out id {producer_id} at step {step}"


def _block(view: IdBlockView, row: int) -> str:
    """Return `broker 1's block 1000..1999 (block_committed at step 7)`, or first id and a broken length."""
    broker, first, length = (_at(view, name, row) for name in ("broker", "first", "length"))
    owner = "the controller's" if broker < 0 else f"broker {broker}'s"
    ids = f"{first}..{first + length - 1}" if length > 0 else f"from {first} of length {length}"
    return f"{owner} block {ids} ({Kind(_at(view, 'kind', row)).name} at step {_at(view, 'step', row)})"


# The kernels of the id block properties find which rows of a piece violate what, in a few NumPy passes each.
#
# A block is granted by a committed record (KRaft) or a conditional write that won (ZooKeeper). The table of `id_blocks`
# has the wording of the rules.


def ids_unique(view: IdBlockView) -> Rows:
    """Check that no id is handed out twice. The second time is the next row of equal key."""
    rows, key = view.ids_in_order
    again = np.flatnonzero(key[1:] == key[:-1]) + 1
    return Rows(len(rows), rows[again], rows[again - 1])


def blocks_disjoint(view: IdBlockView) -> Rows:
    return _overlaps(view.granted)


def answers_disjoint(view: IdBlockView) -> Rows:
    """Check that no two blocks in answers overlap, which is all that a recording from outside contains."""
    return _overlaps(view.answered)


def _overlaps(blocks: Blocks) -> Rows:
    """Return the blocks that start at or below the greatest last id before them, within each history."""
    reach = np.maximum.accumulate(blocks.last)
    late = np.flatnonzero(blocks.first[1:] <= reach[:-1]) + 1
    other = blocks.rows[np.searchsorted(reach, reach[late - 1])]  # where the running maximum was first reached
    return Rows(len(blocks.rows), blocks.rows[late], other)


def handed_out_after_grant(view: IdBlockView) -> Rows:
    """Check that no id is handed out before a block that holds it was granted."""
    rows, _ = view.ids_in_order
    early = (view.granted_since > rows) & (view.granted_since != NEVER)
    return Rows(len(rows), rows[early], view.granted_since[early])


def ids_within_blocks(view: IdBlockView) -> Rows:
    rows, _ = view.ids_in_order
    outside = view.granted_since == NEVER
    return Rows(len(rows), rows[outside], np.full(int(outside.sum()), -1))


# `HISTORY` is the table: name, rule, meaning, and what a recording must contain for the property to be decided.
# `figures` counts what became of the ids.

_OF_HISTORY = ("history",)
_GRANTS = frozenset({Kind.block_committed, Kind.zk_written})
_WITH_GRANTS = Spread(_GRANTS | {Kind.id_handed_out}, by("producer_id", blank=True), everywhere=_GRANTS)
"""There are as many ids as events and few blocks, so every piece has all blocks."""

GRANT_KINDS: Mapping[str, frozenset[Kind]] = {
    "kraft": frozenset({Kind.block_committed}),
    "zookeeper": frozenset({Kind.zk_written}),
    "bridge": frozenset({Kind.block_committed, Kind.zk_written, Kind.migrated}),
}

COMMITTED = first(Kind.block_committed, by=("grant",))
OF_BROKER = last(Kind.id_handed_out, Kind.broker_started, by=("broker",), blank=True)
BLOCK_BEFORE = last(
    Kind.block_committed, Kind.zk_written, Kind.migrated, by=(), in_place=True,
    where=WELL_FORMED | (IT.kind == int(Kind.migrated)),
)  # fmt: skip
BLOCK_END = BLOCK_BEFORE.first + when(BLOCK_BEFORE.kind == int(Kind.migrated), 0, BLOCK_BEFORE.length)

PROPERTIES = in_a_table(
    HistoryProperty(
        "ids_unique",
        "730.P1",
        "no producer id is handed out twice",
        key=("history", "producer_id"),
        kernel=ids_unique,
        describe=again,
        needs=frozenset({Kind.id_handed_out}),
    ),
    HistoryProperty(
        "blocks_disjoint",
        "730.P2",
        "no two blocks share an id",
        key=_OF_HISTORY,
        kernel=blocks_disjoint,
        describe=overlap,
        needs=frozenset(),
        needs_in=GRANT_KINDS,
        spread=Spread(_GRANTS, whole=True),
    ),
    HistoryProperty(
        "answers_disjoint",
        "730.P2",
        "no two successful answers carry blocks that share an id",
        key=_OF_HISTORY,
        kernel=answers_disjoint,
        describe=overlap,
        needs=frozenset({Kind.answer_sent}),
    ),
    declared(
        "answered_after_commit", "730.7", "a block's record is committed before the answer with the block is sent",
        each(Kind.answer_sent, by=("grant",), where=IT.error == 0), COMMITTED.at > IT.at, uncommitted_answer,
        explained=COMMITTED, modes=("kraft", "bridge"),
    ),
    HistoryProperty(
        "handed_out_after_grant",
        "730.7",
        "an id is handed out only after a block that holds it was committed, or written to ZooKeeper",
        key=_OF_HISTORY,
        kernel=handed_out_after_grant,
        describe=too_early,
        needs=frozenset({Kind.id_handed_out}),
        needs_in=GRANT_KINDS,
        needs_order=True,
        spread=_WITH_GRANTS,
    ),
    HistoryProperty(
        "ids_within_blocks",
        "730.4",
        "every id handed out lies in some block, both ends as the answer says: start inclusive, length ids",
        key=_OF_HISTORY,
        kernel=ids_within_blocks,
        describe=outside,
        needs=frozenset({Kind.id_handed_out}),
        needs_in=GRANT_KINDS,
        spread=_WITH_GRANTS,
    ),
    declared(
        "ids_increase", "730.20", "the ids of one broker increase between its starts",
        each(Kind.id_handed_out),
        (OF_BROKER.kind == int(Kind.id_handed_out)) & (IT.producer_id <= OF_BROKER.producer_id), back,
        explained=OF_BROKER,
    ),
    declared(
        "blocks_contiguous", "730.8",
        "a block starts where the one before it ends, or where KRaft took over from ZooKeeper",
        each(Kind.block_committed, Kind.zk_written, where=WELL_FORMED),
        ~BLOCK_BEFORE.missing & (IT.first != BLOCK_END), apart,
        explained=BLOCK_BEFORE, needs=frozenset(), needs_in=GRANT_KINDS,
    ),
    declared(
        "blocks_well_formed", "730.16",
        "a block holds at least one id, none negative, and ends at or below the last id there is",
        each(Kind.block_committed, Kind.zk_written), ~WELL_FORMED, malformed,
        needs=frozenset(), needs_in=GRANT_KINDS, spread=Spread(_GRANTS),
    ),
)  # fmt: skip


def figures(view: IdBlockView) -> dict[str, int]:
    """Return what became of the ids of one piece. The figures of several pieces can be added.

    The figures are blocks, ids_granted (their lengths), ids_handed_out (distinct), ids_lost (granted, never handed out:
    exact where blocks are disjoint), blocks_leaked (none of their ids was handed out).
    """
    rows, key = view.ids_in_order
    fresh = np.append(True, key[1:] != key[:-1])[: len(rows)]
    granted = int(view.columns["length"][view.granted.rows].sum(dtype=np.int64))
    within = int((fresh & (view.granted_since != NEVER)).sum())
    begin, end = np.searchsorted(key, view.granted.first), np.searchsorted(key, view.granted.last, side="right")
    return {
        "blocks": len(view.granted.rows),
        "ids_granted": granted,
        "ids_handed_out": int(fresh.sum()),
        "ids_lost": granted - within,
        "blocks_leaked": int((begin == end).sum()),
    }


HISTORY = HistoryProperties(
    ID_BLOCKS, PROPERTIES, view=IdBlockView, columns=COLUMNS, mode="kraft", figures=figures,
    spread_of_figures=Spread(_GRANTS | {Kind.id_handed_out}, whole=True),
)  # fmt: skip


# These are histories of id blocks with seeded violations, with what each property must then report.

SIZE, BLOCKS = 40, 6
LAST = (BLOCKS - 1) * SIZE  # the first id of the last block, which the last broker gets, and hands out as each third id

_COMMIT, _ANSWER, _FIRST_ID = (Kind.block_committed, -1), (Kind.answer_sent, -1), (Kind.id_handed_out, -3 * SIZE + 2)

VIOLATIONS: Mapping[str, Seeded] = {
    "id twice": Seeded(
        (change(Kind.id_handed_out, _FIRST_ID[1] + 3, producer_id=LAST),), {"ids_unique": 1, "ids_increase": 1},
    ),
    "answer first": Seeded((swap(_COMMIT, _ANSWER),), {"answered_after_commit": 1}),
    "commit last": Seeded(
        (swap(_COMMIT, _FIRST_ID),), {"answered_after_commit": 1, "handed_out_after_grant": 1},
    ),
    "off by one": Seeded(
        (change(Kind.id_handed_out, -1, producer_id=LAST + SIZE),), {"ids_within_blocks": 1},
    ),
    "overlap": Seeded(
        (change(*_COMMIT, first=LAST - 1, length=SIZE + 1),), {"blocks_disjoint": 1, "blocks_contiguous": 1},
    ),
    "answer overlaps": Seeded(
        (change(*_ANSWER, first=LAST - 1, length=SIZE + 1),), {"answers_disjoint": 1},
    ),
    "empty block": Seeded((change(*_COMMIT, length=0),), {"blocks_well_formed": 1, "ids_within_blocks": SIZE}),
}  # fmt: skip

EXAMPLE = "fencepost.reference_impl.systems.id_blocks:rows"
SEEDED_HISTORY = SeededHistory(ID_BLOCKS, EXAMPLE, VIOLATIONS, shifted=("first", "producer_id"))
simulate_many = SEEDED_HISTORY.simulate_many
