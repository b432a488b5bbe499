"""The promises of producer id blocks (KIP-730), held against histories.

`HISTORY` is the table: name, rule, meaning, what a recording must show for it to be decided. `figures` counts what
became of the ids.
"""

from collections.abc import Mapping

import numpy as np
from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.spreading import Spread, by
from fencepost.properties.id_blocks.history import kernels, words
from fencepost.properties.id_blocks.history.events import ID_BLOCKS, Kind
from fencepost.properties.id_blocks.history.view import COLUMNS, NEVER, IdBlockView

_OF_HISTORY = ("history",)
_GRANTS = frozenset({Kind.block_committed, Kind.zk_written})
_BESIDE_GRANTS = Spread(_GRANTS | {Kind.id_handed_out}, by("producer_id", blank=True), everywhere=_GRANTS)
"""Ids are as many as events, and blocks are few: every piece has all of these."""

GRANT_KINDS: Mapping[str, frozenset[Kind]] = {
    "kraft": frozenset({Kind.block_committed}),
    "zookeeper": frozenset({Kind.zk_written}),
    "bridge": frozenset({Kind.block_committed, Kind.zk_written, Kind.migrated}),
}

PROPERTIES = in_a_table(
    HistoryProperty(
        "ids_unique",
        "730.P1",
        "no producer id is handed out twice",
        key=("history", "producer_id"),
        kernel=kernels.ids_unique,
        tell=words.again,
        needs=frozenset({Kind.id_handed_out}),
    ),
    HistoryProperty(
        "blocks_disjoint",
        "730.P2",
        "no two blocks share an id",
        key=_OF_HISTORY,
        kernel=kernels.blocks_disjoint,
        tell=words.overlap,
        needs=frozenset(),
        needs_in=GRANT_KINDS,
        spread=Spread(_GRANTS, whole=True),
    ),
    HistoryProperty(
        "answers_disjoint",
        "730.P2",
        "no two successful answers carry blocks that share an id",
        key=_OF_HISTORY,
        kernel=kernels.answers_disjoint,
        tell=words.overlap,
        needs=frozenset({Kind.answer_sent}),
    ),
    HistoryProperty(
        "answered_after_commit",
        "730.7",
        "a block's record is committed before the answer with the block is sent",
        key=("history", "grant"),
        kernel=kernels.answered_after_commit,
        tell=words.uncommitted_answer,
        needs=frozenset({Kind.answer_sent, Kind.block_committed}),
        needs_order=True,
        modes=("kraft", "bridge"),
    ),
    HistoryProperty(
        "handed_out_after_grant",
        "730.7",
        "an id is handed out only after a block that holds it was committed, or written to ZooKeeper",
        key=_OF_HISTORY,
        kernel=kernels.handed_out_after_grant,
        tell=words.too_early,
        needs=frozenset({Kind.id_handed_out}),
        needs_in=GRANT_KINDS,
        needs_order=True,
        spread=_BESIDE_GRANTS,
    ),
    HistoryProperty(
        "ids_within_blocks",
        "730.4",
        "every id handed out lies in some block, both ends as the answer says: start inclusive, length ids",
        key=_OF_HISTORY,
        kernel=kernels.ids_within_blocks,
        tell=words.outside,
        needs=frozenset({Kind.id_handed_out}),
        needs_in=GRANT_KINDS,
        spread=_BESIDE_GRANTS,
    ),
    HistoryProperty(
        "ids_increase",
        "730.20",
        "the ids of one broker increase between its starts",
        key=("history", "broker"),
        kernel=kernels.ids_increase,
        tell=words.back,
        needs_order=True,
        needs=frozenset({Kind.id_handed_out, Kind.broker_started}),
    ),
    HistoryProperty(
        "blocks_contiguous",
        "730.8",
        "a block starts where the one before it ends, or where KRaft took over from ZooKeeper",
        key=_OF_HISTORY,
        kernel=kernels.blocks_contiguous,
        tell=words.apart,
        needs=frozenset(),
        needs_in=GRANT_KINDS,
    ),
    HistoryProperty(
        "blocks_well_formed",
        "730.16",
        "a block holds at least one id, none negative, and ends at or below the last id there is",
        key=_OF_HISTORY,
        kernel=kernels.blocks_well_formed,
        tell=words.malformed,
        needs=frozenset(),
        needs_in=GRANT_KINDS,
        spread=Spread(_GRANTS),
    ),
)


def figures(view: IdBlockView) -> dict[str, int]:
    """What became of the ids of one piece; the figures of several pieces add up.

    blocks, ids_granted (their lengths), ids_handed_out (distinct), ids_lost (granted, never handed out: exact where
    blocks are disjoint), blocks_leaked (not one id of theirs was handed out).
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
