"""Kernels about the transaction coordinator: its log, what it answers, and the markers that follow from it."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, Groups, first_equal, first_rows, looked_up, numbered
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind, State
from fencepost.properties.transactions.history.view import TransactionView

_IDLE = frozenset({State.Empty, State.CompleteCommit, State.CompleteAbort})
PREDECESSORS: dict[State, frozenset[State]] = {
    State.Empty: _IDLE,
    State.Ongoing: _IDLE | {State.Ongoing},
    State.PrepareCommit: frozenset({State.Ongoing}),
    State.PrepareAbort: frozenset({State.Ongoing}),
    State.CompleteCommit: frozenset({State.PrepareCommit}),
    State.CompleteAbort: frozenset({State.PrepareAbort}),
}
PREDECESSORS_V2 = PREDECESSORS | {State.PrepareAbort: _IDLE | {State.Ongoing}}  # an empty transaction is aborted too


def states_follow_on(view: TransactionView) -> Rows:
    """Records of the transaction log, against the one before; after an expiry only Empty may come.

    The first record of an id is not judged, since a log that was compacted starts anywhere.
    """
    rows = view.rows_of(Kind.txn_logged, Kind.id_expired)
    groups = Groups(rows, numbered(view.place[rows], view.at("txn_id", rows))[0])
    state, forgotten = view.at("state", groups.rows), len(State)
    is_record = view.columns["kind"][groups.rows] == Kind.txn_logged
    state = np.where(is_record, state, forgotten)
    before = np.append(NONE, groups.rows[:-1])[: len(rows)]
    came_from = np.append(forgotten, state[:-1])[: len(rows)]
    table = np.zeros((forgotten + 1, forgotten + 1), bool)
    for to, sources in (PREDECESSORS_V2 if view.is_v2 else PREDECESSORS).items():
        table[[*sources], to] = True
    table[forgotten, State.Empty] = True
    known = (state >= 0) & (state <= forgotten) & (came_from >= 0) & (came_from <= forgotten)
    allowed = table[np.where(known, came_from, forgotten), np.where(known, state, forgotten)]
    judged = is_record & groups.same
    return found(groups.rows[judged], ~allowed[judged], before[judged])


def _is_prepare(view: TransactionView, rows: np.ndarray) -> np.ndarray:
    state = view.columns["state"][rows]
    is_prepare: np.ndarray = (state == State.PrepareCommit) | (state == State.PrepareAbort)
    return is_prepare


def _prepared(view: TransactionView, rows: np.ndarray, bump: int = 0) -> np.ndarray:
    """For rows with a pair and an outcome: the first Prepare of the same, its epoch `bump` higher; or NEVER."""
    prepares = view.prepares
    wanted = (view.at("producer_id", rows), view.at("epoch", rows) + bump, view.at("outcome", rows))
    values = (view.at("producer_id", prepares), view.at("epoch", prepares), view.outcome_of(prepares))
    return first_equal(view.place, rows, wanted, prepares, values)


def _markers(view: TransactionView) -> np.ndarray:
    """Markers of which the Prepare records are shown."""
    markers = view.rows_of(Kind.marker_appended)
    shown: np.ndarray = markers[view.has_prepares(markers)]
    return shown


def markers_as_prepared(view: TransactionView) -> Rows:
    """Markers, against the Prepare records of their pair, at any time."""
    markers = _markers(view)
    return found(markers, _prepared(view, markers) == NEVER, np.full(len(markers), NEVER))


def markers_after_prepare(view: TransactionView) -> Rows:
    """Markers for which there is a Prepare record, against when it became durable."""
    markers = _markers(view)
    prepared = _prepared(view, markers)
    return found(markers, (prepared != NEVER) & (prepared > markers), prepared)


def ends_answered_as_logged(view: TransactionView) -> Rows:
    """Successful answers to EndTxn, against the Prepare records of the pair that was asked about."""
    handled, requests = view.fine(Kind.end_handled), view.numbers_of("request")
    sent = requests.first(view.rows_of(Kind.end_sent))[requests.of[handled]]
    handled, sent = handled[sent != NEVER], sent[sent != NEVER]
    prepared = _prepared(view, sent, bump=int(view.is_v2))
    return found(handled, prepared > handled, prepared)


def prepared_as_asked(view: TransactionView) -> Rows:
    """Prepare records, against what was asked of the coordinator before.

    A commit needs an EndTxn that asks for it. An abort needs one too, or a fence's bump: the coordinator's own aborts
    fence. Until KAFKA-19367 that is one more than an EndTxn's, but at the very last epoch, where there is no second
    one. Since then it is the same in v2, where the log says nothing of why a transaction was aborted.
    """
    log, bump = view.logged, int(view.is_v2)
    judged = _is_prepare(view, log.rows) & log.same
    before = np.append(NONE, log.rows[:-1])[: len(log.rows)][judged]
    prepares, sent = log.rows[judged], view.rows_of(Kind.end_sent)
    wanted = (view.at("producer_id", prepares), view.at("epoch", prepares) - bump, view.outcome_of(prepares))
    values = (view.at("producer_id", sent), view.at("epoch", sent), view.at("outcome", sent))
    asked = first_equal(view.place, prepares, wanted, sent, values)
    ids, epoch = view.columns["producer_id"], view.columns["epoch"]
    own = (ids[prepares] != ids[before]) | (epoch[prepares] >= view.at("epoch", before) + view.fence_bump)
    own |= epoch[prepares] >= view.max_epoch
    return found(prepares, (asked > prepares) & ~(own & (view.outcome_of(prepares) == ABORT)), asked)


def completed_after_markers(view: TransactionView) -> Rows:
    """Complete records, against the batches that were appended before their Prepare."""
    log, batches = view.logged, view.rows_of(Kind.batch_appended)
    follows = log.same & (view.columns["state"][log.rows] >= State.CompleteCommit)
    complete = np.full(view.size, NEVER)
    complete[log.rows[:-1][follows[1:]]] = log.rows[1:][follows[1:]]
    ids = view.numbers_of("producer_id")
    batches = batches[ids.of[batches] < ids.size]
    groups = Groups(view.prepares, ids.of[view.prepares])
    key = groups.number * (view.size + 1) + groups.rows
    at = looked_up(ids.of[batches] * (view.size + 1) + batches, key) + 1  # the first Prepare after the batch
    there = at < len(key)
    there[there] &= groups.number[at[there]] == ids.of[batches][there]
    done = np.full(len(batches), NEVER)
    done[there] = complete[groups.rows[at[there]]]
    late = (done != NEVER) & (view.decided[batches] > done)
    return Rows(len(batches), done[late], batches[late])


def markers_as_told(view: TransactionView) -> Rows:
    """Markers that close a transaction on a partition, against what its owner is told, at any time."""
    markers, owner = _decisions(view)
    commit = view.columns["outcome"][markers] == COMMIT
    told = np.where(commit, view.abort_told[owner], view.commit_told[owner])
    return found(markers, told != NEVER, told)


def markers_as_decided(view: TransactionView) -> Rows:
    """Commit markers that close a transaction on a partition, against whether its owner had asked for a commit."""
    markers, owner = _decisions(view)
    known = owner < view.numbers_of("txn").size
    commit = view.columns["outcome"][markers] == COMMIT
    asked = view.commit_asked[owner]
    return found(markers, known & commit & (asked > markers), asked)


def transactions_share_fate(view: TransactionView) -> Rows:
    """Markers that decide a record, against the first that decided a record of the same transaction."""
    markers, owner = _decisions(view)
    known = owner < view.numbers_of("txn").size
    markers, owner = markers[known], owner[known]
    order = np.argsort(markers, kind="stable")
    markers, owner = markers[order], owner[order]
    decided = first_rows(owner, markers, view.numbers_of("txn").size)[owner]
    return found(markers, view.columns["outcome"][markers] != view.columns["outcome"][decided], decided)


def _decisions(view: TransactionView) -> tuple[np.ndarray, np.ndarray]:
    """For each batch that is decided: the row of the marker, and the number of the transaction that owns the record."""
    batches = view.rows_of(Kind.batch_appended)
    markers = view.decided[batches]
    closed = markers != NEVER
    return markers[closed], view.owner(batches[closed])
