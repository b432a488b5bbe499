"""Kernels about pairs of producer id and epoch: who is given which, and what an older instance may still do."""

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.grouping import NEVER, NONE, first_equal
from fencepost.properties.history.timelines import Timeline, taken
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind
from fencepost.properties.transactions.history.view import TransactionView

FENCED_ERRORS = (47, 90)  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED


def fence_before(view: TransactionView, writes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """For rows that carry a pair and a transactional id: the fence told before row `at` that leaves them behind.

    That is one with a greater epoch of the same producer id; or, since an id with no epochs left is replaced, one with
    another producer id that was asked for after theirs was first told. NEVER if there is none.
    """
    epoch = view.columns["epoch"]
    higher = _greatest_before(view.fences_of_id, epoch, view.numbers_of("producer_id").of[writes], at)
    behind = taken(epoch, higher, NONE) > epoch[writes]
    behind &= higher != NEVER
    return np.where(behind, higher, _replaced(view, writes, at))


def _greatest_before(told: Timeline, column: np.ndarray, number: np.ndarray, before: np.ndarray) -> np.ndarray:
    """For numbers of groups: of the rows below `before`, the first that told the greatest value; or NEVER."""
    _, reached = told.greatest(column)
    return taken(reached, told.place_before(number, before), NEVER)


def _replaced(view: TransactionView, writes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Of the fences told before, that which was asked for last, if it gave another producer id, and late enough."""
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
    """The histories in which a pair that is told fenced sent anything, before or after."""
    return np.unique(view.columns["history"][_sent_behind(view)])


def _sent_behind(view: TransactionView) -> np.ndarray:
    sends = view.rows_of(Kind.record_sent, Kind.end_sent)
    behind: np.ndarray = sends[fence_before(view, sends, np.full(len(sends), view.size)) != NEVER]
    return behind


def _where_fenced(view: TransactionView, rows: np.ndarray) -> np.ndarray:
    """Which of these rows are of such a history: in the others nothing can be late, and nothing is judged.  Of a piece
    of a history the config says which they are."""
    key = fenced_somewhere.__name__
    if key in view.config:
        found: np.ndarray = np.isin(view.columns["history"][rows], view.config[key])
        return found
    if key not in view.related:
        view.related[key] = np.zeros(view.histories, bool)
        view.related[key][view.place[_sent_behind(view)]] = True
    where: np.ndarray = view.related[key][view.place[rows]]
    return where


def fenced_unread(view: TransactionView) -> Rows:
    """Records read where a pair was fenced, by when they were first sent."""
    reads = view.rows_of(Kind.record_read)
    sent = view.sent_at(reads)
    known = (sent != NEVER) & _where_fenced(view, reads)
    reads, sent = reads[known], sent[known]
    fence = fence_before(view, sent, sent)
    return found(reads, fence != NEVER, fence)


def fenced_appends_unread(view: TransactionView) -> Rows:
    """Records read where a pair was fenced, by when they were appended."""
    reads, records = view.rows_of(Kind.record_read), view.numbers_of("record")
    appended, sent = records.first(view.rows_of(Kind.batch_appended))[records.of[reads]], view.sent_at(reads)
    known = (appended != NEVER) & (sent != NEVER) & _where_fenced(view, reads)
    reads, appended, sent = reads[known], appended[known], sent[known]
    fence = fence_before(view, sent, appended)
    return found(reads, fence != NEVER, fence)


def fenced_never_commit(view: TransactionView) -> Rows:
    """Ends told as asked, a commit, where a pair was fenced, by when the owner first asked for a commit."""
    return _fenced_ends(view, COMMIT)


def fenced_never_abort(view: TransactionView) -> Rows:
    """Ends told as asked, an abort, by when the owner first asked for an abort."""
    return _fenced_ends(view, ABORT)


def _fenced_ends(view: TransactionView, outcome: int) -> Rows:
    told = view.fine(Kind.end_told)
    told = told[view.columns["outcome"][told] == outcome]
    asked = view.asked(outcome)[view.numbers_of("txn").of[told]]
    known = (asked != NEVER) & _where_fenced(view, told)
    told, asked = told[known], asked[known]
    fence = fence_before(view, asked, asked)
    return found(told, fence != NEVER, fence)


def init_bumps_epoch(view: TransactionView) -> Rows:
    """Pairs given by InitProducerId after others of the id, against those told before it was asked for."""
    fences = view.fences
    rows, asked = fences.rows[fences.asked >= 0], fences.asked[fences.asked >= 0]
    epoch, ids = view.columns["epoch"], view.numbers_of("producer_id")
    before = _greatest_before(view.timeline_of(("producer_id",), view.given), epoch, ids.of[rows], asked)
    rows, before = rows[before != NEVER], before[before != NEVER]
    return found(rows, epoch[rows] <= epoch[before], before)


def lone_client_never_fenced(view: TransactionView) -> Rows:
    """Instances told that they are fenced, in histories in which nobody can have fenced them.

    Another instance, an admin, a time-out or an expiry of the id may; so may a late copy of its own InitProducerId,
    which without a pair looks like that of a successor, and with the pair before the present one aborts what is open
    (TransactionCoordinator.scala, `prepareInitProducerIdTransit`); and so may a coordinator that takes over, since it
    does not remember the epoch before the last bump (as shipped: lastProducerEpoch is in no record).
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
    """Rows at which an InitProducerId was handled that is no attempt of its client's: without a pair, after one for the
    same id had succeeded; with one, after the client had taken an answer to this very request, or the next pair, which
    may be the answer to another attempt, made when this one's answer did not come in time."""
    handled, requests, txn_ids = view.rows_of(Kind.init_handled), view.numbers_of("request"), view.numbers_of("txn_id")
    request = requests.of[handled]
    sent = requests.first(view.rows_of(Kind.init_sent))[request]
    asked = np.where(sent == NEVER, handled, sent)
    plain = (sent == NEVER) | (view.columns["producer_id"][asked] < 0)
    again = handled > txn_ids.first(view.fine(Kind.init_handled))[txn_ids.of[handled]]
    answered = handled > requests.first(view.rows_of(Kind.init_taken))[request]
    pairs = view.timeline_of(("client",), view.fine(Kind.init_taken))
    given = pairs.after(view.numbers_of("client").of[asked], asked)
    repeated: np.ndarray = handled[np.where(plain, again, answered | (handled > given))]
    return repeated
