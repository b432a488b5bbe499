"""Kernels about readers: what a read_committed reader, or OffsetFetch, must return and must not."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import (
    NEVER,
    NONE,
    Groups,
    contained,
    first_equal,
    first_rows,
    joined,
    numbered,
)
from fencepost.properties.transactions.history.events import COMMIT, Kind
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


def commits_acknowledged(view: TransactionView) -> Rows:
    """Records of transactions told committed, by when they were first sent and acknowledged."""
    sent, records = view.rows_of(Kind.record_sent), view.numbers_of("record")
    sent = sent[view.sent[records.of[sent]] == sent]
    told = view.commit_told[view.owner(sent)]
    sent, told = sent[told != NEVER], told[told != NEVER]
    return found(sent, view.acked[records.of[sent]] > view.commit_asked[view.owner(sent)], told)


def transactions_whole(view: TransactionView) -> Rows:
    """Acknowledged records of transactions of which some reader was given a record."""
    reads, acks = view.rows_of(Kind.record_read), _acks(view)
    txns = view.numbers_of("txn")
    shown = np.zeros(txns.size + 1, bool)
    shown[view.owner(reads)] = True
    shown[txns.size] = False
    return _left_out(view, acks[shown[view.owner(acks)]])


def aborts_unread(view: TransactionView) -> Rows:
    """Records read, against what the owner was told at any time."""
    reads = view.rows_of(Kind.record_read)
    told = view.abort_told[view.owner(reads)]
    return found(reads, told != NEVER, told)


def open_unread(view: TransactionView) -> Rows:
    """Records read before the owner had asked for any end."""
    reads = view.rows_of(Kind.record_read)
    owner = view.owner(reads)
    asked = view.end_asked[owner]
    return found(reads, (owner < view.numbers_of("txn").size) & (asked > reads), asked)


def reads_as_decided(view: TransactionView) -> Rows:
    """Records read though the owner had asked only to abort."""
    reads = view.rows_of(Kind.record_read)
    owner = view.owner(reads)
    asked = view.end_asked[owner]
    return found(reads, (asked < reads) & (view.commit_asked[owner] > reads), asked)


def read_once(view: TransactionView) -> Rows:
    """Records returned by a partition, against the first time that it returned them, to whichever reader."""
    reads = view.rows_of(Kind.record_read, Kind.record_seen)
    first = _first(view, reads, "record", "partition")
    return found(reads, view.columns["offset"][reads] != view.columns["offset"][first], first)


def offsets_hold_one_record(view: TransactionView) -> Rows:
    """Records at offsets, as readers and owners are told of them."""
    rows = view.rows_of(Kind.record_read, Kind.record_seen, Kind.record_acked)
    rows = rows[view.columns["offset"][rows] >= 0]
    first = _first(view, rows, "partition", "offset")
    return found(rows, view.columns["record"][rows] != view.columns["record"][first], first)


def _first(view: TransactionView, rows: np.ndarray, *names: str) -> np.ndarray:
    """For each row, the first of `rows` with the same values in the columns."""
    number, size = numbered(view.place[rows], *(view.at(name, rows) for name in names))
    first: np.ndarray = first_rows(number, rows, size)[number]
    return first


def reads_in_order(view: TransactionView) -> Rows:
    """Records given to one reader from one partition, against the one before."""
    reads = view.rows_of(Kind.record_read)
    number, _ = numbered(view.place[reads], view.at("client", reads), view.at("partition", reads))
    groups = Groups(reads, number)
    offset = view.at("offset", groups.rows)
    before = np.append(NONE, groups.rows[:-1])[: len(reads)]
    back = groups.same & (offset <= view.columns["offset"][before])
    return found(groups.rows, back, before)


def reads_within_bound(view: TransactionView) -> Rows:
    """Records read, against the bounds of the reader's latest fetch from the partition."""
    rows = view.rows_of(Kind.fetched, Kind.record_read)
    number, _ = numbered(view.place[rows], view.at("client", rows), view.at("partition", rows))
    groups = Groups(rows, number)
    is_fetch = view.columns["kind"][groups.rows] == Kind.fetched
    fetch = groups.before(is_fetch)
    bounds = np.where(fetch == NONE, NEVER, groups.rows[fetch])[~is_fetch]
    reads = groups.rows[~is_fetch]
    offset, safe = view.at("offset", reads), np.where(bounds == NEVER, 0, bounds)
    inside = (offset >= view.columns["offset"][safe]) & (offset < view.columns["upto"][safe]) & (bounds != NEVER)
    return found(reads, ~inside, bounds)


def reads_as_marked(view: TransactionView) -> Rows:
    """Records read, against the batch at their offset and the marker that follows it."""
    reads = view.rows_of(Kind.record_read)
    batch, same = batch_at(view, reads)
    marker = np.where(same, view.decided[np.where(same, batch, 0)], NEVER)
    return found(reads, ~same | (view.outcome_at(marker) != COMMIT), np.where(same, marker, batch))


def batch_at(view: TransactionView, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For rows that name an offset: the first batch there (NEVER: none), and whether it holds the row's record."""
    batches = view.rows_of(Kind.batch_appended)
    wanted = (view.at("partition", rows), view.at("offset", rows))
    batch = first_equal(view.place, rows, wanted, batches, (view.at("partition", batches), view.at("offset", batches)))
    there = batch != NEVER
    return batch, there & (view.columns["record"][rows] == view.columns["record"][np.where(there, batch, 0)])


def fetches_stop_at_stable(view: TransactionView) -> Rows:
    """Ends of fetches, against the latest last stable offset of the partition, which is 0 at first."""
    rows = view.rows_of(Kind.stable_moved, Kind.fetched)
    groups = Groups(rows, numbered(view.place[rows], view.at("partition", rows))[0])
    is_fetch = view.columns["kind"][groups.rows] == Kind.fetched
    stable = groups.before(~is_fetch)
    moved = np.where(stable == NONE, NEVER, groups.rows[stable])[is_fetch]
    fetches = groups.rows[is_fetch]
    bound = np.where(moved == NEVER, 0, view.columns["upto"][np.where(moved == NEVER, 0, moved)])
    return found(fetches, view.columns["upto"][fetches] > bound, moved)
