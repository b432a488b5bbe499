"""What can be wrong in a history of task counts that the reference wrote, and what each property must then report.

The smallest edits were looked for that one property alone reports; where one thing breaks several, the others are named
too. Producer id 0 is the leader's, 1 and 2 are those of connector 0's tasks.
"""

from collections.abc import Mapping

from fencepost.properties.planting.bends import END, Plant, change, drop, put, swap
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import CONFLICT, OK

_MIDDLE = (Kind.asked, 3)  # when the second leader has begun
_IN_ROUND = (Kind.count_written, 5)  # in the last round, before its count
_ZOMBIE = {"node": 1, "connector": 0, "task": 1, "instance": 1, "set": 8, "producer_id": 2, "epoch": 0}
_FIRST = {"node": 0, "connector": 0, "task": 0, "instance": 0, "set": 8, "producer_id": 1}

PLANTS: Mapping[str, Plant] = {
    "a zombie commits": Plant(
        (put((Kind.transaction_refused, 0), Kind.transaction_committed, **_ZOMBIE), drop(Kind.transaction_refused, 0)),
        {"no_zombie_commits": 1, "producers_covered": 1, "fenced_never_commit": 1},
    ),
    "a covered zombie commits": Plant(
        (put(_MIDDLE, Kind.transaction_committed, **_FIRST, epoch=9),), {"no_zombie_commits": 1},
    ),
    "beyond every count": Plant(
        (change(Kind.transaction_committed, 5, task=3),), {"producers_covered": 1},
    ),
    "fails for good": Plant(
        (put(END, Kind.task_failed, node=0, connector=0, task=1, instance=10),), {"newest_set_polls": 1},
    ),
    "its worker is gone": Plant(
        (put(END, Kind.worker_stopped, node=0), put(END, Kind.worker_stopped, node=1)), {"newest_set_polls": 2},
    ),
    "fenced and commits": Plant(
        (change(Kind.transaction_committed, 7, epoch=1),), {"fenced_never_commit": 1},
    ),
    "the same epoch": Plant(
        (change(Kind.producer_opened, 3, epoch=1),), {"epochs_grow": 1},
    ),
    "names that collide": Plant(
        (put(END, Kind.producer_opened, connector=1, task=3, producer_id=2, epoch=9),), {"ids_of_their_own": 1},
    ),
    "sends unasked": Plant(
        (put(END, Kind.records_sent, **_FIRST | {"instance": 99}),), {"only_running_polls": 1},
    ),
    "sends when it is over": Plant(
        (put(END, Kind.records_sent, **_FIRST),), {"silent_when_over": 1},
    ),
    "polls without a count": Plant(
        (change(Kind.task_running, 5, set=30),), {"running_with_count": 1},
    ),
    "count of no set's size": Plant(
        (change(Kind.count_written, 5, count=3),), {"counts_are_sizes": 1},
    ),
    "count of the old size": Plant(
        (change(Kind.count_written, 2, count=2),),
        {"counts_are_sizes": 1, "rounds_fence_the_count": 1, "fenced_before_count": 1},
    ),
    "a task without a configuration": Plant(
        (drop(Kind.task_config_written, 6),), {"sets_whole": 2},
    ),
    "a task that the set does not have": Plant(
        (change(Kind.task_starting, 9, task=2),), {"sets_whole": 1},
    ),
    "one id less": Plant(
        (change(Kind.round_started, 2, count=1), drop(Kind.id_fenced, 1)),
        {"rounds_fence_the_count": 1, "fenced_before_count": 1},
    ),
    "a round for too many": Plant(
        (change(Kind.round_started, 3, count=5),), {"rounds_fence_the_count": 1},
    ),
    "another id fenced": Plant(
        (put(END, Kind.id_fenced, node=1, connector=0, task=1, producer_id=2, epoch=9, request=10),),
        {"fences_of_the_round": 1},
    ),
    "a fence that failed": Plant(
        (change(Kind.id_fenced, 1, error=7, producer_id=-1, epoch=-1),), {"fenced_before_count": 1},
    ),
    "a round that does not wait": Plant(
        (put(END, Kind.id_fenced, node=1, connector=0, task=1, error=51),), {"fencing_goes_on": 1},
    ),
    "count before the last fence": Plant(
        (swap((Kind.id_fenced, 1), (Kind.count_written, 2)),),
        {"fenced_before_count": 1, "checked_after_fencing": 1},
    ),
    "a round for an older set": Plant(
        (change(Kind.round_started, 2, set=8),), {"counts_of_newest_set": 1},
    ),
    "no look before the count": Plant(
        (drop(Kind.round_checked, 1),), {"checked_after_fencing": 1},
    ),
    "count against the look": Plant(
        (change(Kind.round_checked, 1, status=CONFLICT),), {"checked_after_fencing": 1},
    ),
    "claimed in between": Plant(
        (put(_IN_ROUND, Kind.topic_claimed, node=1, producer_id=0, epoch=2), change(Kind.count_written, 5, epoch=2)),
        {"not_reclaimed_since": 1},
    ),
    "a plain producer": Plant(
        (change(Kind.count_written, 1, producer_id=-1, epoch=-1),), {"writes_by_latest_claimant": 1},
    ),
    "a follower writes": Plant(
        (change(Kind.task_config_written, 4, node=2),), {"writes_by_latest_claimant": 1, "writes_while_leading": 1},
    ),
    "writes though it knows": Plant(
        (put(_MIDDLE, Kind.leadership_lost, node=1),), {"writes_while_leading": 3},
    ),
    "an assignment behind the counts": Plant(
        (change(Kind.assignment_made, -1, offset=48),), {"assignments_reach_counts": 1},
    ),
    "answered before the count": Plant(
        (swap((Kind.round_answered, 7), (Kind.count_written, 4)),), {"answers_with_count": 1},
    ),
    "opened after a refusal": Plant(
        (change(Kind.round_answered, 9, status=500),), {"opened_after_answer": 1},
    ),
    "opened without a look": Plant(
        (drop(Kind.task_checked, 9),), {"opened_after_check": 1},
    ),
    "a look that should not pass": Plant(
        (swap((Kind.task_checked, 8), (Kind.round_asked, 8)),), {"checked_with_count": 1},
    ),
    "no second look": Plant(
        (drop(Kind.task_checked_again, 9),), {"running_checked_again": 1},
    ),
    "second look first": Plant(
        (swap((Kind.task_checked_again, 9), (Kind.producer_opened, 9)),), {"running_checked_again": 1},
    ),
    "a second look that should not pass": Plant(
        (put(END, Kind.task_checked_again, **_ZOMBIE, status=OK),), {"checked_again_newest": 1},
    ),
}  # fmt: skip
