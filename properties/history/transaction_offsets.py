"""Kernels about the offsets that groups commit in transactions, and what OffsetFetch makes of them."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, Groups, numbered
from fencepost.properties.history.transaction_events import Kind
from fencepost.properties.history.transaction_view import TransactionView


def _offsets(view: TransactionView) -> np.ndarray:
    """Rows at which OffsetFetch returned an offset, or that there is none."""
    return view.fine(Kind.offset_fetched)


def group_offsets_stable(view: TransactionView) -> Rows:
    """Offsets fetched, of transactions that were told aborted, or whose commit nobody has asked for yet."""
    rows = _offsets(view)
    rows = rows[view.columns["record"][rows] >= 0]
    owner = view.owner(rows)
    told, asked = view.abort_told[owner], view.commit_asked[owner]
    bad = (owner < view.numbers_of("txn").size) & ((told != NEVER) | (asked > rows))
    return found(rows, bad, np.where(told != NEVER, told, asked))


def group_offsets_kept(view: TransactionView) -> Rows:
    """Offsets fetched, against those acknowledged before, of transactions told committed."""
    acks = view.rows_of(Kind.record_acked)
    return _older_offsets(view, acks[view.commit_told[view.owner(acks)] != NEVER])


def group_offsets_forward(view: TransactionView) -> Rows:
    """Offsets fetched, against those fetched before."""
    return _older_offsets(view, _offsets(view))


def _older_offsets(view: TransactionView, known: np.ndarray) -> Rows:
    """Offsets fetched though one that was sent only after they were acknowledged was `known` before.

    Of two records sent to an offsets partition while neither was acknowledged, clients cannot know which is the later.
    """
    fetched = _offsets(view)
    rows = np.concatenate([fetched, known])
    order = np.argsort(rows, kind="stable")  # at one row, what is known there is not yet known to it
    number, _ = numbered(view.place[rows[order]], view.at("partition", rows[order]))
    groups, is_known = Groups(rows[order], number), order >= len(fetched)
    is_known = is_known[groups.order]
    sent = view.sent_at(groups.rows)
    newest = groups.greatest(np.where(is_known & (sent != NEVER), sent, NONE))
    acked = view.acked[view.numbers_of("record").of[groups.rows]]
    acked = np.where(view.columns["record"][groups.rows] < 0, NONE, acked)
    judged = ~is_known
    return found(groups.rows[judged], (acked < newest)[judged], newest[judged])
