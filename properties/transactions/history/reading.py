"""Kernels about readers: what a read_committed reader, or OffsetFetch, must return and must not."""

import numpy as np
from fencepost.properties.history.checking import Rows
from fencepost.properties.history.grouping import (
    NEVER,
    contained,
    joined,
)
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.history.view import TransactionView

PAIRS = 4_000_000  # of a fetch and a record that it covers, looked at together


def _left_out(view: TransactionView, acks: np.ndarray) -> Rows:
    """Each of these acknowledged records against each fetch that covers its offset: is the reader given it?"""
    fetches = _whole_fetches(view)
    begin, end = view.at("offset", fetches), view.at("upto", fetches)
    rows = np.concatenate([acks, fetches, fetches])
    key = joined(
        view.place[rows], view.columns["partition"][rows], np.concatenate([view.at("offset", acks), begin, end])
    )
    of_acks, first, last = np.split(key, [len(acks), len(acks) + len(fetches)])
    order = np.argsort(of_acks, kind="stable")
    low, high = np.searchsorted(of_acks[order], first), np.searchsorted(of_acks[order], last)
    many = np.where(begin < end, high - low, 0)
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
        ack = acks[order[np.arange(len(fetch)) - np.repeat(np.cumsum(times) - times - low[part], times)]]
        out = ~contained(reader[fetch] * (numbers.size + 1) + numbers.of[ack], given)
        found_at.append(fetch[out])
        found_ack.append(ack[out])
    return Rows(int(many.sum()), np.concatenate(found_at), np.concatenate(found_ack))


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
    acks = _acks(view)
    return _left_out(view, acks[view.commit_told[view.owner(acks)] != NEVER])


def transactions_whole(view: TransactionView) -> Rows:
    """Acknowledged records of transactions of which some reader was given a record."""
    reads, acks = view.rows_of(Kind.record_read), _acks(view)
    txns = view.numbers_of("txn")
    shown = np.zeros(txns.size + 1, bool)
    shown[view.owner(reads)] = True
    shown[txns.size] = False
    return _left_out(view, acks[shown[view.owner(acks)]])
