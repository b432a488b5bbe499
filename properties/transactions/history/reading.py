"""Kernels about readers: what a read_committed reader, or OffsetFetch, must return and must not."""

from dataclasses import dataclass

import numpy as np
from fencepost.properties.history.checking import Rows
from fencepost.properties.history.grouping import NEVER, contained, joined
from fencepost.properties.history.packing import sorted_stably
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.history.view import TransactionView

PAIRS = 4_000_000  # of a fetch and a record that it covers, looked at together


@dataclass(frozen=True)
class Covered:
    """Acknowledged records against the fetches that cover their offsets.

    In `order` of partition and offset, those from `low` up to `high` are covered by a fetch. `fetch` and `ack` are the
    pairs of which the reader is not given the record: a row, and a place among the records.
    """

    order: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fetch: np.ndarray
    ack: np.ndarray

    @classmethod
    def of(cls, view: TransactionView, acks: np.ndarray) -> "Covered":
        """Of the records acknowledged at these rows."""
        fetches = _whole_fetches(view)
        begin, end = view.at("offset", fetches), view.at("upto", fetches)
        rows = np.concatenate([acks, fetches, fetches])
        key = joined(
            view.place[rows], view.columns["partition"][rows], np.concatenate([view.at("offset", acks), begin, end])
        )
        of_acks, first, last = np.split(key, [len(acks), len(acks) + len(fetches)])
        order, of_acks = sorted_stably(of_acks)
        low, high = np.searchsorted(of_acks, first), np.searchsorted(of_acks, last)
        high = np.where(begin < end, high, low)
        many = high - low
        reads, numbers = view.rows_of(Kind.record_read), view.numbers_of("record")
        both = view.rows_of(Kind.fetched, Kind.record_read)
        reader = view.numbers(both, view.at("client", both)).of
        given = reader[reads] * (numbers.size + 1) + numbers.of[reads]
        found_at, found_ack = [acks[:0]], [acks[:0]]
        # Readers that all start over cover a record again and again: so many pairs at once, and no more.
        portions = np.cumsum(many) // PAIRS
        for part in np.split(np.arange(len(fetches)), np.flatnonzero(portions[1:] > portions[:-1]) + 1):
            times = many[part]
            fetch = np.repeat(fetches[part], times)
            ack = order[np.arange(len(fetch)) - np.repeat(np.cumsum(times) - times - low[part], times)]
            out = ~contained(reader[fetch] * (numbers.size + 1) + numbers.of[acks[ack]], given)
            found_at.append(fetch[out])
            found_ack.append(ack[out])
        return cls(order, low, high, np.concatenate(found_at), np.concatenate(found_ack))


def _left_out(view: TransactionView, committed: bool) -> Rows:
    """Each acknowledged record, of the transactions told committed or of those of which some reader was given a record,
    against each fetch that covers its offset: is the reader given it?"""
    key = "covered by fetches"
    if key not in view.related:
        acks, reads, txns = _acks(view), view.rows_of(Kind.record_read), view.numbers_of("txn")
        shown = np.zeros(txns.size + 1, bool)
        shown[view.owner(reads)] = True
        shown[txns.size] = False
        owner = view.owner(acks)
        told, shown = view.commit_told[owner] != NEVER, shown[owner]
        of_some = told | shown
        acks = acks[of_some]
        view.related[key] = acks, told[of_some], shown[of_some], Covered.of(view, acks)
    acks, told, shown, covered = view.related[key]
    chosen = told if committed else shown
    before = np.concatenate([[0], np.cumsum(chosen[covered.order])])  # so many of the chosen, by place in order
    judged = int((before[covered.high] - before[covered.low]).sum())
    out = chosen[covered.ack]
    return Rows(judged, covered.fetch[out], acks[covered.ack[out]])


def _whole_fetches(view: TransactionView) -> np.ndarray:
    """Fetches but the one at the very end of a history, which may be cut short, unless it says that it is complete."""
    fetches = view.rows_of(Kind.fetched)
    if view.quiet_end:
        return fetches
    reads = view.rows_of(Kind.record_read)
    final = np.append(view.place[fetches][1:] != view.place[fetches][:-1], True)[: len(fetches)]
    end = np.searchsorted(view.place, view.place[fetches[final]], side="right")
    after = np.searchsorted(reads, end) - np.searchsorted(reads, fetches[final])
    cut = np.zeros(len(fetches), bool)
    cut[final] = after == end - fetches[final] - 1  # nothing but records read comes after it
    whole: np.ndarray = fetches[~cut]
    return whole


def _acks(view: TransactionView) -> np.ndarray:
    """Rows at which an owner took a success that says where the record lies."""
    acks = view.rows_of(Kind.record_acked)
    placed: np.ndarray = acks[view.columns["offset"][acks] >= 0]
    return placed


def commits_kept(view: TransactionView) -> Rows:
    """Acknowledged records of transactions told committed."""
    return _left_out(view, committed=True)


def transactions_whole(view: TransactionView) -> Rows:
    """Acknowledged records of transactions of which some reader was given a record."""
    return _left_out(view, committed=False)
