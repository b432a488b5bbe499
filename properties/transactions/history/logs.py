"""Kernels about the logs of partitions: batches, markers, and the last stable offset."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, Groups, joined, last_rows
from fencepost.properties.transactions.history.events import Kind, State
from fencepost.properties.transactions.history.view import TransactionView


def stable_below_open(view: TransactionView) -> Rows:
    """Last stable offsets, against the batches below them and the markers that close these."""
    moves, batches = view.rows_of(Kind.stable_moved), view.rows_of(Kind.batch_appended)
    rows = np.concatenate([batches, moves])
    partition = joined(view.place[rows], view.columns["partition"][rows])
    key = joined(partition, np.concatenate([view.at("offset", batches), view.at("upto", moves)]))
    groups = Groups(batches, partition[: len(batches)], by=key[: len(batches)])
    latest = groups.greatest(np.minimum(view.decided[groups.rows], view.size))
    at = np.searchsorted(key[groups.order], key[len(batches) :]) - 1  # strictly below
    there = at >= 0
    there[there] &= groups.number[at[there]] == partition[len(batches) :][there]
    safe = np.where(there, at, 0)
    if not len(batches):
        return Rows(len(moves), moves[:0], moves[:0])
    return found(moves, there & (latest[safe] > moves), groups.rows[groups.reached(latest)[safe]])


def none_hanging(view: TransactionView) -> Rows:
    """What is last on a partition of a producer id: a batch is open, and somebody must be about to close it.

    Where the transaction log is cut, only producer ids that it shows are judged.
    """
    log = view.log
    last = np.append(~log.same[1:], True)[: len(log.rows)]
    judged = log.rows[last]
    ids = view.numbers_of("producer_id")
    logged = view.rows_of(Kind.txn_logged)
    table = last_rows(ids.of[logged], logged, ids.size + 1)
    table[ids.size] = NONE
    latest = table[ids.of[judged]]
    if view.cut_logs:
        last[last] = latest != NONE
        judged, latest = log.rows[last], latest[latest != NONE]
    ongoing = (latest != NONE) & (view.columns["state"][latest] == State.Ongoing)
    return found(judged, ~view.log_is_marker[last] & ~ongoing, np.where(latest == NONE, NEVER, latest))
