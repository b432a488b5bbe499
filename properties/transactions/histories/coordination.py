"""This module has kernels about the coordinator, about fencing and about answers.

Kernels about the transaction coordinator judge its log, its answers, and the markers that follow from it.
"""

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, Groups, first_equal, first_rows, looked_up, numbered
from fencepost.properties.history.timelines import Timeline, taken
from fencepost.properties.transactions.events.kinds import ABORT, COMMIT, Kind, State
from fencepost.properties.transactions.histories.view import TransactionView, saying

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
    """Compare each record of the transaction log with the one before; after an expiry only Empty may come. The first
    record of an id is not judged, since a log that was compacted starts anywhere."""
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
    """Return, for rows with a pair and an outcome, the first Prepare record of the same with an epoch `bump` higher, or
    NEVER."""
    prepares = view.prepares
    wanted = (view.at("producer_id", rows), view.at("epoch", rows) + bump, view.at("outcome", rows))
    values = (view.at("producer_id", prepares), view.at("epoch", prepares), view.outcome_of(prepares))
    return first_equal(view.place, rows, wanted, prepares, values)


def _markers(view: TransactionView) -> np.ndarray:
    markers = view.rows_of(Kind.marker_appended)
    observed: np.ndarray = markers[view.has_prepares(markers)]
    return observed


def markers_as_prepared(view: TransactionView) -> Rows:
    """Compare each marker with the Prepare records of its pair, at any time."""
    markers = _markers(view)
    return found(markers, _prepared(view, markers) == NEVER, np.full(len(markers), NEVER))


def markers_after_prepare(view: TransactionView) -> Rows:
    """Compare each marker that has a Prepare record with the time when that record became durable."""
    markers = _markers(view)
    prepared = _prepared(view, markers)
    return found(markers, (prepared != NEVER) & (prepared > markers), prepared)


def ends_answered_as_logged(view: TransactionView) -> Rows:
    """Compare each successful answer to EndTxn with the Prepare records of the pair that was asked about."""
    handled = view.fine(Kind.end_handled)
    sent = _asked(view, handled, Kind.end_sent)
    handled, sent = handled[sent != NEVER], sent[sent != NEVER]
    prepared = _prepared(view, sent, bump=int(view.is_v2))
    return found(handled, prepared > handled, prepared)


def prepared_as_asked(view: TransactionView) -> Rows:
    """Compare each Prepare record with the requests that the coordinator got before.

    A commit needs an EndTxn that asks for it. An abort needs one too, or the epoch bump of a fence, because the
    coordinator's own aborts fence. Until KAFKA-19367 a fence's bump is one more than an EndTxn's, except at the very
    last epoch, where there is no second bump. Since then both are the same in v2, where the log has no reason for an
    abort.
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
    """Compare each Complete record with the batches that were appended before its Prepare record."""
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
    """Compare each marker that closes a transaction on a partition with what its owner is answered, at any time."""
    _, markers, owner = view.decisions
    commit = view.columns["outcome"][markers] == COMMIT
    reported = np.where(commit, view.abort_reported[owner], view.commit_reported[owner])
    return found(markers, reported != NEVER, reported)


def markers_as_decided(view: TransactionView) -> Rows:
    """Compare each commit marker that closes a transaction on a partition with whether its owner had asked for a
    commit."""
    _, markers, owner = view.decisions
    known = owner < view.numbers_of("txn").size
    commit = view.columns["outcome"][markers] == COMMIT
    asked = view.commit_asked[owner]
    return found(markers, known & commit & (asked > markers), asked)


def transactions_share_fate(view: TransactionView) -> Rows:
    """Compare each marker that decides a record with the first marker that decided a record of the same transaction."""
    _, markers, owner = view.decisions
    known = owner < view.numbers_of("txn").size
    markers, owner = markers[known], owner[known]
    order = np.argsort(markers, kind="stable")
    markers, owner = markers[order], owner[order]
    decided = first_rows(owner, markers, view.numbers_of("txn").size)[owner]
    return found(markers, view.columns["outcome"][markers] != view.columns["outcome"][decided], decided)


# Kernels about pairs of producer id and epoch: who is given which, and what an older instance may still do.

FENCED_ERRORS = (47, 90)  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED


def fence_before(view: TransactionView, writes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return, for rows with a pair and a transactional id, the fence reported before row `at` that fences the pair, or
    NEVER. Such a fence has a greater epoch of the same producer id. It may also have another producer id, since an id
    with no epochs left is replaced, if it was asked for after the row's producer id was first reported."""
    epoch = view.columns["epoch"]
    higher = _greatest_before(view.fences_of_id, epoch, view.numbers_of("producer_id").of[writes], at)
    behind = taken(epoch, higher, NONE) > epoch[writes]
    behind &= higher != NEVER
    return np.where(behind, higher, _replaced(view, writes, at))


def _greatest_before(timeline: Timeline, column: np.ndarray, number: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return, for numbers of groups, the first of the rows below `before` that reported the greatest value, or
    NEVER."""
    _, reached = timeline.greatest(column)
    return taken(reached, timeline.place_before(number, before), NEVER)


def _replaced(view: TransactionView, writes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return, of the fences reported before, the one that was asked for last, if it gave another producer id late
    enough."""
    ids, txn_ids, asked = view.numbers_of("producer_id"), view.numbers_of("txn_id"), view.fence_asked
    own = txn_ids.of[writes]
    row = _greatest_before(view.fences_of_txn_id, asked, own, at)
    there = np.flatnonzero((row != NEVER) & (own < txn_ids.size))
    of, own_id = row[there], ids.of[writes[there]]
    late = there[(ids.of[of] != own_id) & (asked[of] > view.first_given[own_id])]
    replaced = np.full(len(writes), NEVER)
    replaced[late] = row[late]
    return replaced


def fenced_somewhere(view: TransactionView) -> np.ndarray:
    """Return the histories in which a pair that is reported fenced sent anything, before or after."""
    return np.unique(view.columns["history"][_sent_behind(view)])


def _sent_behind(view: TransactionView) -> np.ndarray:
    sends = view.rows_of(Kind.record_sent, Kind.end_sent)
    behind: np.ndarray = sends[fence_before(view, sends, np.full(len(sends), view.size)) != NEVER]
    return behind


def _where_fenced(view: TransactionView, rows: np.ndarray) -> np.ndarray:
    """Return which of these rows are in a history with a fenced pair that sent something; in the others no row is
    judged. For a piece of a history the config names those histories."""
    key = fenced_somewhere.__name__
    if key in view.config:
        found: np.ndarray = np.isin(view.columns["history"][rows], view.config[key])
        return found
    if key not in view.related:
        view.related[key] = np.zeros(view.histories, bool)
        view.related[key][view.place[_sent_behind(view)]] = True
    where: np.ndarray = view.related[key][view.place[rows]]
    return where


def _fenced_by(view: TransactionView, rows: np.ndarray, sent: np.ndarray, at: np.ndarray) -> Rows:
    """Return the rows whose pair was fenced, by what was ``sent`` with it and when that counts; NEVER if one is not
    known."""
    known = (sent != NEVER) & (at != NEVER) & _where_fenced(view, rows)
    rows, sent, at = rows[known], sent[known], at[known]
    fence = fence_before(view, sent, at)
    return found(rows, fence != NEVER, fence)


def fenced_unread(view: TransactionView) -> Rows:
    """Judge each record that was read although its pair was fenced when it was first sent."""
    reads = view.rows_of(Kind.record_read)
    sent = view.sent_at(reads)
    return _fenced_by(view, reads, sent, sent)


def fenced_appends_unread(view: TransactionView) -> Rows:
    """Judge each record that was read although its pair was fenced when it was appended."""
    reads, records = view.rows_of(Kind.record_read), view.numbers_of("record")
    appended = records.first(view.rows_of(Kind.batch_appended))[records.of[reads]]
    return _fenced_by(view, reads, view.sent_at(reads), appended)


def fenced_never_commit(view: TransactionView) -> Rows:
    """Judge each end that is reported as the commit that was asked for, if the pair was fenced when its owner first
    asked."""
    return _fenced_ends(view, COMMIT)


def fenced_never_abort(view: TransactionView) -> Rows:
    """Judge each end that is reported as the abort that was asked for, if the pair was fenced when its owner first
    asked."""
    return _fenced_ends(view, ABORT)


def _fenced_ends(view: TransactionView, outcome: int) -> Rows:
    reported = view.fine(Kind.end_told)
    reported = reported[view.columns["outcome"][reported] == outcome]
    asked = view.asked(outcome)[view.numbers_of("txn").of[reported]]
    return _fenced_by(view, reported, asked, asked)


def init_bumps_epoch(view: TransactionView) -> Rows:
    """Compare each pair that InitProducerId gave after others of the id with the pairs reported before it was asked
    for."""
    fences = view.fences
    rows, asked = fences.rows[fences.asked >= 0], fences.asked[fences.asked >= 0]
    epoch, ids = view.columns["epoch"], view.numbers_of("producer_id")
    before = _greatest_before(view.timeline_of(("producer_id",), view.given), epoch, ids.of[rows], asked)
    rows, before = rows[before != NEVER], before[before != NEVER]
    return found(rows, epoch[rows] <= epoch[before], before)


def lone_client_never_fenced(view: TransactionView) -> Rows:
    """Judge each instance that was informed of a fence, in histories in which no client can have fenced it.

    Another instance, an admin, a time-out or an expiry of the id may fence. So may a late copy of its own
    InitProducerId, which without a pair looks like that of a successor, and with the pair before the present one aborts
    what is open (TransactionCoordinator.scala, `prepareInitProducerIdTransit`). So may a coordinator that takes over,
    since it does not remember the epoch before the last bump (as shipped: lastProducerEpoch is in no record).
    """
    failed = view.rows_of(Kind.client_failed)
    failed = failed[np.isin(view.columns["error"][failed], FENCED_ERRORS)]
    if not len(failed):
        return Rows(0, failed, failed)
    client, txn_ids, asked = view.columns["client"], view.numbers_of("txn_id"), view.rows_of(Kind.init_sent)
    own = first_equal(view.place, failed, (client[failed],), asked, (client[asked],))
    known = (own != NEVER) & (client[failed] >= 0)
    known &= txn_ids.of[np.where(known, own, 0)] < txn_ids.size
    failed, own = failed[known], own[known]
    first = np.minimum(txn_ids.first(asked)[txn_ids.of[asked]], asked)
    rivals = [asked[client[asked] != client[first]], view.rows_of(Kind.fence_told, Kind.timed_out, Kind.id_expired)]
    excused = np.zeros(txn_ids.size + 1, bool)
    excused[txn_ids.of[np.concatenate([*rivals, _repeated_inits(view)])]] = True
    moved = np.zeros(len(view.place) + 1, bool)  # by history
    moved[view.place[view.rows_of(Kind.coordinator_loaded)]] = True
    alone = ~excused[txn_ids.of[own]] & ~moved[view.place[failed]]
    return found(failed, alone, np.full(len(failed), NEVER))


def _repeated_inits(view: TransactionView) -> np.ndarray:
    """Return the rows at which an InitProducerId was handled that is no attempt of its client's.

    That is one without a pair, after one for the same id had succeeded; or one with a pair, after the client had taken
    an answer to this very request, or the next pair, which may be the answer to another attempt that was made when this
    answer did not come in time.
    """
    handled, requests, txn_ids = view.rows_of(Kind.init_handled), view.numbers_of("request"), view.numbers_of("txn_id")
    request = requests.of[handled]
    sent = _asked(view, handled, Kind.init_sent)
    asked = np.where(sent == NEVER, handled, sent)
    plain = (sent == NEVER) | (view.columns["producer_id"][asked] < 0)
    again = handled > txn_ids.first(view.fine(Kind.init_handled))[txn_ids.of[handled]]
    answered = handled > requests.first(view.rows_of(Kind.init_taken))[request]
    pairs = view.timeline_of(("client",), view.fine(Kind.init_taken))
    given = pairs.after(view.numbers_of("client").of[asked], asked)
    repeated: np.ndarray = handled[np.where(plain, again, answered | (handled > given))]
    return repeated


# An instance that was fenced gets no answer with which it could go on, whatever it asks for (txn.P1).
#
# The readers' side of the promise, that none of its records is ever read, can be checked only where there is something
# to be read; these properties are checked at the answer. A producer is fenced if another was given a greater pair
# before the request was first sent: an answer to a request that left before may be as late as it likes. They are
# checked on driven runs alone (see `DRIVEN`), whose driver knows whether the id may have been forgotten since
# (`TransactionsContext.allows`).

_GIVEN = frozenset({Kind.init_sent, Kind.init_taken, Kind.end_told, Kind.fence_told})


def fenced_never_given(view: TransactionView) -> Rows:
    """Judge each pair that InitProducerId gave to a client which had named a fenced pair."""
    taken = view.fine(Kind.init_taken)
    return _asked_while_fenced(view, taken, _asked(view, taken, Kind.init_sent))


def fenced_never_added(view: TransactionView) -> Rows:
    """Judge each AddPartitionsToTxn and AddOffsetsToTxn that succeeded although its pair was fenced."""
    taken = view.fine(Kind.add_taken)
    return _asked_while_fenced(view, taken, _asked(view, taken, Kind.add_sent))


def fenced_never_acknowledged(view: TransactionView) -> Rows:
    """Judge each record or offset that was acknowledged although its pair was fenced when it was first sent."""
    acked = view.rows_of(Kind.record_acked)
    return _asked_while_fenced(view, acked, view.sent_at(acked))


def _asked(view: TransactionView, rows: np.ndarray, kind: Kind) -> np.ndarray:
    requests = view.numbers_of("request")
    asked: np.ndarray = requests.first(view.rows_of(kind))[requests.of[rows]]
    return asked


def _asked_while_fenced(view: TransactionView, rows: np.ndarray, asked: np.ndarray) -> Rows:
    named = asked != NEVER
    named[named] &= view.columns["producer_id"][asked[named]] >= 0
    rows, asked = rows[named], asked[named]
    fence = fence_before(view, asked, asked)
    return found(rows, fence != NEVER, fence)


ANSWERS = (
    HistoryProperty(
        "fenced_never_given", "txn.P1", "InitProducerId gives nothing to who names a pair that was told fenced before",
        ("history",), fenced_never_given, saying("asked for after its pair had been fenced by"), _GIVEN,
        needs_order=True,
    ),
    HistoryProperty(
        "fenced_never_added", "txn.P1", "no partition is added for who was told fenced before asking for it",
        ("history",), fenced_never_added, saying("asked for after its pair had been fenced by"),
        _GIVEN | {Kind.add_sent, Kind.add_taken}, needs_order=True,
    ),
    HistoryProperty(
        "fenced_never_acknowledged", "txn.P1", "no record is acknowledged that was first sent by who was told fenced",
        ("history",), fenced_never_acknowledged, saying("first sent after its pair had been fenced by"),
        _GIVEN | {Kind.record_sent, Kind.record_acked}, needs_order=True, modes=("v1-verified", "v2"),
    ),
)  # fmt: skip
