"""What can be wrong in a history of transactions that the reference wrote, and what each property must then report.

The smallest edits were looked for that one property alone reports; where the promises imply one another, the others are
named too. Producer id 0 of the example is shifted with the history.
"""

from collections.abc import Mapping

from fencepost.properties.planting.bends import END, Plant, change, drop, move, put, swap
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind, State

_AMID = (Kind.init_sent, 1)  # while transaction 3 is open
_MIDDLE = (Kind.txn_begun, 4)  # before the second client's transaction
_LAST_PAIR = {"producer_id": 0, "epoch": 11}
_REFUSED_AGAIN = tuple(
    each
    for txn in (90, 91, 92)
    for each in (
        put(_MIDDLE, Kind.txn_begun, client=9, txn_id=1, txn=txn, producer_id=-1, epoch=-1),
        put(_MIDDLE, Kind.record_failed, client=9, txn=txn, partition=0, error=45),
    )
)
_READS_ABORTED = (
    put(END, Kind.fetched, client=1002, partition=0, offset=3, upto=4),
    put(END, Kind.record_read, client=1002, partition=0, offset=3, record=4),
)

PLANTS: Mapping[str, Plant] = {
    "transaction lost": Plant(
        tuple(drop(Kind.record_read, nth) for nth in (3, 4, 5)), {"commits_kept": 3},
    ),
    "record lost": Plant(
        (drop(Kind.record_read, 5),), {"commits_kept": 1, "transactions_whole": 1},
    ),
    "torn, its end untold": Plant(
        (drop(Kind.record_read, 7),), {"transactions_whole": 1},
    ),
    "committed unacknowledged": Plant(
        (drop(Kind.record_acked, 8),), {"commits_acknowledged": 1},
    ),
    "aborted and read": Plant(
        _READS_ABORTED,
        {"aborts_unread": 1, "reads_as_decided": 1, "reads_as_marked": 1, "transactions_whole": 3},
    ),
    "aborted, untold, and read": Plant(
        (*_READS_ABORTED, drop(Kind.end_told, 1)),
        {"reads_as_decided": 1, "reads_as_marked": 1, "transactions_whole": 3},
    ),
    "read while open": Plant(
        (move((Kind.end_sent, 2), _AMID),),
        {"open_unread": 3, "markers_as_decided": 4, "prepared_as_asked": 1, "group_offsets_stable": 1},
    ),
    "seen at two offsets": Plant(
        (put(END, Kind.record_seen, client=1001, partition=0, offset=2, record=2),), {"read_once": 1},
    ),
    "two records at one offset": Plant(
        (change(Kind.record_seen, 9, record=21),), {"offsets_hold_one_record": 1},
    ),
    "read again": Plant(
        (put(END, Kind.record_read, client=1000, partition=1, offset=10, record=19),), {"reads_in_order": 1},
    ),
    "read beyond the bound": Plant(
        (change(Kind.fetched, 9, upto=10),), {"reads_within_bound": 1},
    ),
    "sent by a zombie": Plant(
        (change(Kind.record_sent, 14, epoch=3),), {"fenced_unread": 1, "fenced_appends_unread": 1},
    ),
    "appended for a zombie": Plant(
        (change(Kind.record_sent, 14, epoch=3), move((Kind.record_sent, 14), _AMID)), {"fenced_appends_unread": 1},
    ),
    "committed by a zombie": Plant(
        (change(Kind.end_sent, 4, epoch=3),),
        {"fenced_never_commit": 1, "prepared_as_asked": 1, "ends_answered_as_logged": 1},
    ),
    "pair given twice": Plant(
        (change(Kind.init_taken, 3, epoch=8), move((Kind.init_sent, 4), _MIDDLE)), {"pairs_have_one_owner": 1},
    ),
    "epoch told falls": Plant(
        (change(Kind.end_told, 4, epoch=9),), {"epochs_never_fall": 1},
    ),
    "last epoch told": Plant(
        (change(Kind.end_told, 4, epoch=32767),), {"epochs_in_range": 1},
    ),
    "no bump": Plant(
        (change(Kind.init_taken, 3, epoch=7),), {"init_bumps_epoch": 1},
    ),
    "offset of an abort": Plant(
        (change(Kind.offset_fetched, 1, record=7),), {"group_offsets_stable": 1},
    ),
    "offset lost": Plant(
        (change(Kind.offset_fetched, 2, record=3),), {"group_offsets_kept": 1},
    ),
    "offset goes back": Plant(
        (change(Kind.offset_fetched, 3, record=3), drop(Kind.end_told, 2)), {"group_offsets_forward": 1},
    ),
    "fenced alone": Plant(
        (put(END, Kind.init_sent, client=9, txn_id=1, request=999),
         put(END, Kind.client_failed, client=9, error=90)),
        {"lone_client_never_fenced": 1},
    ),
    "left without an answer": Plant(
        (put(END, Kind.init_sent, client=9, txn_id=1, request=999),), {"calls_come_to_an_end": 1},
    ),
    "refused on and on": Plant(_REFUSED_AGAIN, {"clients_get_on": 1}),
    "told committed, marked aborted": Plant(
        (put(END, Kind.end_told, client=1, txn=3, outcome=COMMIT), drop(Kind.record_acked, 12)),
        {"markers_as_told": 1},
    ),
    "marked committed unasked": Plant(
        (change(Kind.marker_appended, 9, outcome=COMMIT),), {"markers_as_decided": 1, "markers_as_prepared": 1},
    ),
    "two fates": Plant(
        (change(Kind.marker_appended, 10, outcome=ABORT),),
        {"transactions_share_fate": 1, "markers_as_prepared": 1, "markers_agree": 1, "reads_as_marked": 1},
    ),
    "older epoch appended": Plant(
        (change(Kind.batch_appended, 16, epoch=2), change(Kind.partition_checked, 13, epoch=2)),
        {"partition_epochs_never_fall": 1},
    ),
    "sequence skipped": Plant(
        (change(Kind.batch_appended, 2, sequence=2),), {"sequences_follow_on": 1},
    ),
    "appended twice": Plant(
        (change(Kind.batch_appended, 6, record=4),), {"appended_once": 1},
    ),
    "answered with another's offset": Plant(
        (change(Kind.batch_duplicate, 0, offset=4),), {"duplicates_answered_rightly": 1},
    ),
    "newer epoch while open": Plant(
        (change(Kind.batch_appended, 10, epoch=3, sequence=0), change(Kind.batch_appended, 12, sequence=1),
         put((Kind.check_asked, 7), Kind.partition_checked, txn_id=0, partition=0, producer_id=0, epoch=3)),
        {"one_epoch_while_open": 1},
    ),
    "appended unasked": Plant(
        (drop(Kind.partition_checked, 7),), {"appended_while_added": 1},
    ),
    "marker of nothing": Plant(
        (put(END, Kind.marker_appended, partition=0, producer_id=0, epoch=12, outcome=ABORT, offset=17,
              coordinator_epoch=0),),
        {"markers_as_prepared": 1},
    ),
    "marker before its Prepare": Plant(
        (swap((Kind.txn_logged, 17), (Kind.marker_appended, 9)),), {"markers_after_prepare": 1},
    ),
    "markers of two minds": Plant(
        (put(END, Kind.marker_appended, partition=0, **_LAST_PAIR, outcome=ABORT, offset=17, coordinator_epoch=0),),
        {"markers_agree": 1, "markers_as_prepared": 1},
    ),
    "marker of an older coordinator": Plant(
        (change(Kind.marker_appended, 12, coordinator_epoch=3),), {"coordinators_never_older": 1},
    ),
    "read where nothing lies": Plant(
        (change(Kind.record_read, 7, offset=7),), {"reads_as_marked": 1},
    ),
    "fetched too far": Plant(
        (change(Kind.fetched, 9, upto=13),), {"fetches_stop_at_stable": 1},
    ),
    "stable offset falls": Plant(
        (change(Kind.stable_moved, 17, upto=3),), {"stable_never_falls": 1},
    ),
    "stable offset too early": Plant(
        (swap((Kind.marker_appended, 15), (Kind.stable_moved, 15)),), {"stable_below_open": 1},
    ),
    "left hanging": Plant(
        (put(END, Kind.partition_checked, txn_id=0, partition=0, **_LAST_PAIR),
         put(END, Kind.batch_appended, partition=0, **_LAST_PAIR, sequence=0, record=30, offset=17)),
        {"none_hanging": 1},
    ),
    "completed twice": Plant(
        (change(Kind.txn_logged, 31, state=State.CompleteCommit),), {"states_follow_on": 1},
    ),
    "logged epoch falls": Plant(
        (change(Kind.txn_logged, 31, epoch=9),), {"logged_epochs_never_fall": 1},
    ),
    "fence without a bump": Plant(
        (change(Kind.txn_logged, 17, epoch=3), change(Kind.marker_appended, 9, epoch=3)),
        {"ends_bump_epoch": 1, "prepared_as_asked": 1, "markers_agree": 1},
    ),
    "fence with half a bump": Plant(
        (change(Kind.txn_logged, 17, epoch=4), change(Kind.marker_appended, 9, epoch=4)), {"prepared_as_asked": 1},
    ),
    "end answered early": Plant(
        (swap((Kind.txn_logged, 34), (Kind.end_handled, 5)),), {"ends_answered_as_logged": 1},
    ),
    "init answered early": Plant(
        (swap((Kind.txn_logged, 25), (Kind.init_handled, 3)),), {"init_answered_when_idle": 1},
    ),
    "completed before a marker": Plant(
        (swap((Kind.txn_logged, 35), (Kind.marker_appended, 17)), drop(Kind.stable_moved, 17)),
        {"completed_after_markers": 1},
    ),
}  # fmt: skip
