"""Kernels about the offsets that groups commit in transactions, and what OffsetFetch makes of them."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, Groups, contained, joined, numbered
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.history.view import TransactionView


def _offsets(view: TransactionView) -> np.ndarray:
    """Rows at which OffsetFetch returned an offset, or that there is none."""
    return view.fine(Kind.offset_fetched)


def group_offsets_kept(view: TransactionView) -> Rows:
    """Offsets fetched, against those acknowledged before, of transactions told committed."""
    acks = view.rows_of(Kind.record_acked)
    return _older_offsets(view, acks[view.commit_told[view.owner(acks)] != NEVER])


def group_offsets_forward(view: TransactionView) -> Rows:
    """Offsets fetched, against those fetched before."""
    return _older_offsets(view, _offsets(view))


def _older_offsets(view: TransactionView, known: np.ndarray) -> Rows:
    """Offsets fetched though one of a later transaction was `known` before; none at all is the oldest.

    Later is a transaction of the same transactional id that sent its first record when the one before was told
    committed already. Otherwise clients cannot tell: until the marker is written, a late copy of TxnOffsetCommit, which
    carries no sequence number, may undo what is younger.
    """
    fetched, records = _offsets(view), view.columns["record"]
    both = np.concatenate([known, fetched])
    partition = joined(view.place[both], view.columns["partition"][both])
    known = known[contained(partition[: len(known)], partition[len(known) :])]
    none = fetched[records[fetched] < 0]
    some = _against(view, fetched[records[fetched] >= 0], known, of_one_id=True)
    rest = _against(view, none, known, of_one_id=False)
    return Rows(len(fetched), np.concatenate([some.at, rest.at]), np.concatenate([some.other, rest.other]))


def _against(view: TransactionView, fetched: np.ndarray, known: np.ndarray, of_one_id: bool) -> Rows:
    txns = view.numbers_of("txn")
    rows = np.concatenate([fetched, known])
    order = np.argsort(rows, kind="stable")  # at one row, what is known there is not yet known to it
    rows, is_known = rows[order], order >= len(fetched)
    sent = view.sent_at(rows)
    ids = np.where(sent == NEVER, NONE, view.columns["txn_id"][np.where(sent == NEVER, 0, sent)]) * of_one_id
    groups = Groups(rows, numbered(view.place[rows], view.at("partition", rows), ids)[0])
    is_known = is_known[groups.order]
    start = txns.first(view.rows_of(Kind.record_sent))[view.owner(groups.rows)]
    newest = groups.greatest(np.where(is_known & (start != NEVER), start, NONE))
    told = np.where(view.columns["record"][groups.rows] < 0, NONE, view.commit_told[view.owner(groups.rows)])
    return found(groups.rows[~is_known], (told < newest)[~is_known], newest[~is_known])
