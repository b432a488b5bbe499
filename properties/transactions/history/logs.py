"""Kernels about the logs of partitions: batches, markers, and the last stable offset."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, Groups, first_rows, joined, last_rows, numbered
from fencepost.properties.transactions.history.events import Kind, State
from fencepost.properties.transactions.history.reading import batch_at
from fencepost.properties.transactions.history.view import TransactionView

MAX_SEQUENCE = 2**31 - 1  # after it comes 0


def _before(groups: Groups) -> np.ndarray:
    """The row before each in its group's order; only meaningful where `groups.same`."""
    return np.append(NONE, groups.rows[:-1])[: len(groups.rows)]


def partition_epochs_never_fall(view: TransactionView) -> Rows:
    """Batches and markers of one producer id on one partition, by offset."""
    log = view.log
    before, epoch = _before(log), view.columns["epoch"]
    return found(log.rows, log.same & (epoch[log.rows] < epoch[before]), before)


def sequences_follow_on(view: TransactionView) -> Rows:
    """Batches, against the batch before of the same epoch; the first of an epoch, if the partition knows an older one.

    A partition that does not know the producer id at all takes any sequence number. Offsets that are committed carry
    none.
    """
    log = view.log
    batch = log.before(~view.log_is_marker)
    epoch, sequence = view.at("epoch", log.rows), view.at("sequence", log.rows)
    goes_on = (batch != NONE) & (epoch[batch] == epoch)
    due = np.where(goes_on, np.where(sequence[batch] == MAX_SEQUENCE, 0, sequence[batch] + 1), 0)
    judged = ~view.log_is_marker & (sequence >= 0)
    return found(log.rows[judged], (log.same & (sequence != due))[judged], _before(log)[judged])


def appended_once(view: TransactionView) -> Rows:
    """Batches, against the first with the same record on the partition; without a sequence number none is known."""
    rows = view.rows_of(Kind.batch_appended)
    rows = rows[view.columns["sequence"][rows] >= 0]
    number, size = numbered(view.place[rows], view.at("record", rows), view.at("partition", rows))
    first = first_rows(number, rows, size)[number]
    return found(rows, first != rows, first)


def duplicates_answered_rightly(view: TransactionView) -> Rows:
    """Batches answered with an old offset, against what lies there."""
    rows = view.rows_of(Kind.batch_duplicate)
    batch, same = batch_at(view, rows)
    return found(rows, ~same, batch)


def markers_agree(view: TransactionView) -> Rows:
    """Markers, against the first with the same pair, on whichever partition."""
    rows = view.rows_of(Kind.marker_appended)
    number, size = numbered(view.place[rows], view.at("producer_id", rows), view.at("epoch", rows))
    first = first_rows(number, rows, size)[number]
    return found(rows, view.columns["outcome"][rows] != view.columns["outcome"][first], first)


def coordinators_never_older(view: TransactionView) -> Rows:
    """Markers of one producer id on one partition, by offset, against the one before."""
    log = view.log
    marker = log.before(view.log_is_marker)
    epoch = view.at("coordinator_epoch", log.rows)
    older = view.log_is_marker & (marker != NONE) & (epoch < epoch[marker])
    judged = view.log_is_marker
    return found(log.rows[judged], older[judged], np.where(marker == NONE, NEVER, log.rows[marker])[judged])


def one_epoch_while_open(view: TransactionView) -> Rows:
    """Batches, against the batch right before of the same producer id: no marker lies between, so it is still open."""
    log = view.log
    before, is_batch = _before(log), ~view.log_is_marker
    follows = log.same & is_batch & np.append(False, is_batch[:-1])[: len(is_batch)]
    differs = follows & (view.columns["epoch"][log.rows] != view.columns["epoch"][before])
    return found(log.rows[is_batch], differs[is_batch], before[is_batch])


def appended_while_added(view: TransactionView) -> Rows:
    """Batches, against the coordinator's answers about their partition, producer id and epoch.

    The latest one must be younger than the marker before the batch: it is about this transaction, not an earlier one.
    """
    batches = view.rows_of(Kind.batch_appended)
    rows = np.sort(np.concatenate([batches, view.fine(Kind.partition_checked)]))
    number, _ = numbered(view.place[rows], *(view.at(name, rows) for name in ("partition", "producer_id", "epoch")))
    groups = Groups(rows, number)
    is_batch = view.columns["kind"][groups.rows] == Kind.batch_appended
    check = groups.before(~is_batch)
    checked = np.full(view.size, NONE)
    checked[groups.rows] = np.where(check == NONE, NONE, groups.rows[check])
    marker = view.log.before(view.log_is_marker)
    closed = np.full(view.size, NONE)
    closed[view.log.rows] = np.where(marker == NONE, NONE, view.log.rows[marker])
    return found(batches, checked[batches] <= closed[batches], closed[batches])


def stable_never_falls(view: TransactionView) -> Rows:
    """Last stable offsets of one partition, against the one before."""
    rows = view.rows_of(Kind.stable_moved)
    groups = Groups(rows, numbered(view.place[rows], view.at("partition", rows))[0])
    before, upto = _before(groups), view.columns["upto"]
    return found(groups.rows, groups.same & (upto[groups.rows] < upto[before]), before)


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
    """What is last on a partition of a producer id: a batch is open, and somebody must be about to close it."""
    log = view.log
    last = np.append(~log.same[1:], True)[: len(log.rows)]
    judged = log.rows[last]
    ids = view.numbers_of("producer_id")
    logged = view.rows_of(Kind.txn_logged)
    table = last_rows(ids.of[logged], logged, ids.size + 1)
    table[ids.size] = NONE
    latest = table[ids.of[judged]]
    ongoing = (latest != NONE) & (view.columns["state"][latest] == State.Ongoing)
    return found(judged, ~view.log_is_marker[last] & ~ongoing, np.where(latest == NONE, NEVER, latest))
