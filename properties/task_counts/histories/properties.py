"""This module checks KIP-618's promises of who may run against what topics, coordinators and REST reveal."""

from collections.abc import Mapping
from types import MappingProxyType

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, each, first, greatest, last, when
from fencepost.properties.history.spreading import Link, Spread, by
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, put, swap
from fencepost.properties.task_counts.events import OUTSIDE, TASK_COUNTS, TOPIC, Kind
from fencepost.properties.task_counts.histories import view
from fencepost.properties.task_counts.histories.view import CONFLICT, NAMES, OK, SETS, TaskCountView, declared, saying

_CONNECTOR = ("history", "connector")
_TOPIC = SETS | {Kind.count_written, Kind.count_tombstoned}

CONNECTOR, PRODUCER, INSTANCE = (("connector",), ("producer_id",), ("instance",))
FINE = IT.error == 0
GIVEN = (Kind.producer_opened, Kind.id_fenced, Kind.topic_claimed)
"""The kinds of event in `GIVEN` raise the epoch of a producer id."""

LOADING, NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT = 14, 15, 16, 51
"""After the answers LOADING, NOT_AVAILABLE, NOT_COORDINATOR and CONCURRENT to InitProducerId the admin client asks
again, up to its time-out, which has a code of its own (FenceProducersHandler.handleError; Worker.fenceZombies gives it
90 s)."""

POLLED = greatest("set", Kind.task_running, by=CONNECTOR)
RAISED = greatest("epoch", *GIVEN, by=PRODUCER, where=FINE)
GIVEN_BEFORE = last(*GIVEN, by=PRODUCER, where=FINE)
FIRST_GIVEN = first(*GIVEN, by=PRODUCER, where=FINE)
RUNNING = last(Kind.task_running, by=INSTANCE)
OVER = last(Kind.task_abandoned, Kind.task_failed, Kind.task_stopped, by=INSTANCE)
SET_BELOW = last(Kind.set_written, by=CONNECTOR, along="offset")
LATEST_BELOW = last(Kind.set_written, Kind.connector_tombstoned, by=CONNECTOR, along="offset")

PROMISES: tuple[HistoryProperty[TaskCountView], ...] = (
    declared(
        "no_zombie_commits", "618.P1",
        "once a task of a newer set of its connector polls, no task of an older set commits",
        each(Kind.transaction_committed, by=CONNECTOR),
        POLLED.set > IT.set, saying("though a newer set polls since"), explained=POLLED,
    ),
    HistoryProperty(
        "producers_covered", "618.P3",
        "a producer that commits is of the newest set, or every count that stood since a newer one came covers it",
        _CONNECTOR, view.producers_covered, saying("not covered by the count any more, after"),
        _TOPIC | {Kind.transaction_committed}, needs_order=True,
    ),
    HistoryProperty(
        "newest_set_polls", "618.P4",
        "at the end every task of the newest set polls",
        ("history",), view.newest_set_polls, saying("some task of it does not poll at the end"),
        SETS | {Kind.task_running, Kind.task_failed, Kind.task_stopped, Kind.worker_stopped},
        needs_quiet_end=True, spread=Spread(
            SETS | {Kind.task_starting, Kind.task_running, Kind.task_failed, Kind.task_stopped, Kind.worker_stopped},
            whole=True,
        ),
    ),
    declared(
        "fencing_goes_on", "618.P4",
        "no round gives up on an id for an answer after which Kafka's admin client asks again",
        each(Kind.id_fenced),
        (IT.error == LOADING) | (IT.error == NOT_AVAILABLE) | (IT.error == NOT_COORDINATOR) | (IT.error == CONCURRENT),
        saying("the answer is of now, and no failure: the same request succeeds later"),
    ),
    declared(
        "fenced_never_commit", "618.18",
        "no producer commits once a greater epoch of its id was given to another, or to the leader that fenced it",
        each(Kind.transaction_committed, by=PRODUCER),
        RAISED.epoch > IT.epoch, saying("fenced before by"), explained=RAISED,
    ),
    declared(
        "epochs_grow", "618.12",
        "each client that opens or fences a transactional id gets a greater epoch of it than all before",
        each(*GIVEN, by=PRODUCER, where=FINE),
        ~GIVEN_BEFORE.missing & (IT.epoch <= GIVEN_BEFORE.epoch), saying("not above that of"),
        explained=GIVEN_BEFORE,
    ),
    declared(
        "ids_of_their_own", "618.49",
        "a transactional id belongs to one task of one connector, or to the leader",
        each(*GIVEN, by=PRODUCER, where=FINE),
        (IT.connector != FIRST_GIVEN.connector) | (IT.task != FIRST_GIVEN.task), saying("the same id as"),
        explained=FIRST_GIVEN,
    ),
    declared(
        "only_running_polls", "618.20",
        "only tasks that were allowed to poll send and commit",
        each(Kind.records_sent, Kind.transaction_committed, by=INSTANCE),
        RUNNING.missing, saying("it was never allowed to poll"),
    ),
    declared(
        "silent_when_over", "618.20",
        "a task that gave up, failed or stopped sends nothing more",
        each(Kind.records_sent, by=INSTANCE),
        ~OVER.missing, saying("it was over by"), explained=OVER,
    ),
    HistoryProperty(
        "running_with_count", "618.2",
        "a task polls only when a count has come to stand after its set, while that was the newest",
        _CONNECTOR, view.running_with_count, saying("there is a count only by", "there is no such count"),
        SETS | {Kind.task_running, Kind.count_written}, needs_order=True,
    ),
    declared(
        "counts_are_sizes", "618.42",
        "a count is the size of the set that it stands after, or 0 if the connector was deleted since",
        each(Kind.count_written, by=CONNECTOR),
        (IT.count != SET_BELOW.count) & ~((LATEST_BELOW.kind == Kind.connector_tombstoned) & (IT.count == 0)),
        saying("not the size of"), explained=SET_BELOW, given=~SET_BELOW.missing,
    ),
)  # fmt: skip


# These properties are the mechanisms by which KIP-618 fulfils its promises of who may run: rounds, starts and the
# leader's producer, checked against all events.

_HISTORY, _MECHANISMS_CONNECTOR = ("history",), ("history", "connector")
_OF_ROUNDS = frozenset({Kind.round_started, Kind.id_fenced, Kind.round_checked, Kind.count_written})
_WRITES = frozenset(kind for kind in Kind if Kind.connector_written <= kind <= Kind.count_tombstoned)

MECHANISMS_CONNECTOR, MECHANISMS_INSTANCE, REQUEST, NODE = (("connector",), ("instance",), ("request",), ("node",))
ROUND, ASKER = ("node", "connector"), ("node", "connector", "task")  # several instances of a task may ask at one worker
PASSED = IT.status == OK
IS_COUNT = IT.kind == Kind.count_written  # and no tombstone

NEWEST = last(Kind.set_written, by=MECHANISMS_CONNECTOR)
COUNT = last(Kind.count_written, Kind.count_tombstoned, by=MECHANISMS_CONNECTOR, only=IS_COUNT)
COVERED = when(COUNT.missing, 0, COUNT.count)
NEWEST_OR_DELETED = last(Kind.set_written, Kind.connector_tombstoned, by=MECHANISMS_CONNECTOR)
ROUND_OF_WRITER = last(Kind.round_started, by=ROUND)
LOOKED = last(Kind.round_started, Kind.round_checked, by=ROUND)
CLAIMED = last(Kind.topic_claimed, by=NODE)
OWN_COUNT = last(Kind.count_written, by=NODE)
STARTED_FOR = last(Kind.round_started, by=REQUEST)
ASKED = last(Kind.round_asked, by=REQUEST)
NEWEST_THEN = last(Kind.set_written, by=MECHANISMS_CONNECTOR, asking=ASKED)
COUNT_THEN = last(Kind.count_written, Kind.count_tombstoned, by=MECHANISMS_CONNECTOR, only=IS_COUNT, asking=ASKED)
STARTED = last(Kind.task_starting, by=MECHANISMS_INSTANCE)
ANSWERED = last(Kind.round_answered, by=ASKER, where=PASSED)
CHECKED = last(Kind.task_checked, by=MECHANISMS_INSTANCE)
CHECK_PASSED = last(Kind.task_checked, by=MECHANISMS_INSTANCE, only=PASSED)
OPENED = last(Kind.producer_opened, by=MECHANISMS_INSTANCE)
PASSED_AGAIN = last(Kind.task_checked_again, by=MECHANISMS_INSTANCE, only=PASSED)

MECHANISMS: tuple[HistoryProperty[TaskCountView], ...] = (
    HistoryProperty(
        "sets_whole", "618.3",
        "a task starts from a set that was committed with the configuration of every task, its own among them",
        _MECHANISMS_CONNECTOR, view.sets_whole, saying("not a whole set with this task:", "there is no such set"),
        SETS | {Kind.task_starting, Kind.task_config_written}, needs_order=True,
    ),
    declared(
        "rounds_fence_the_count", "618.6",
        "a round is to fence as many ids as the latest count says; none if that is 1, and 1 the size of the set",
        each(Kind.round_started, by=MECHANISMS_CONNECTOR),
        (IT.count != COVERED) & ~((COVERED == 1) & (NEWEST.count == 1) & (IT.count == 0)),
        saying("not as many as stand in"), explained=when(COUNT.missing, NEWEST.at, COUNT.at),
        given=NEWEST.at > COUNT.at,
    ),
    declared(
        "fences_of_the_round", "618.6",
        "the ids fenced are those from 0 to what the round is to fence",
        each(Kind.id_fenced, by=REQUEST),
        (IT.task < 0) | (IT.task >= STARTED_FOR.count), saying("not of", "there is no such round"),
        explained=STARTED_FOR,
    ),
    HistoryProperty(
        "fenced_before_count", "618.7",
        "a count is written once all ids of the count before were fenced since the newest set; or again, or both are 1",
        _MECHANISMS_CONNECTOR, view.fenced_before_count, saying("not all fenced that are covered by"),
        _TOPIC | {Kind.id_fenced}, needs_order=True,
    ),
    declared(
        "counts_of_newest_set", "618.43",
        "a count is written by a round for the newest set there is",
        each(Kind.count_written, by=ROUND),
        (NEWEST_OR_DELETED.offset > ROUND_OF_WRITER.set) & (NEWEST_OR_DELETED.kind == Kind.set_written),
        saying("its round knew nothing of"), explained=NEWEST_OR_DELETED, given=~ROUND_OF_WRITER.missing,
    ),
    HistoryProperty(
        "checked_after_fencing", "618.43",
        "after fencing, the leader looks for a newer set before it writes the count, and writes none if there is",
        _HISTORY, view.checked_after_fencing, saying("no look at the topic since"),
        _OF_ROUNDS, needs_order=True, modes=("M", "B", "shipped"),
        spread=Spread(_OF_ROUNDS, (Link(("node", "connector")), *by("request"))),
    ),
    declared(
        "not_reclaimed_since", "618.43",
        "the leader does not regain the right to write between its look at the topic and the count",
        each(Kind.count_written, by=ROUND),
        CLAIMED.at > LOOKED.at, saying("claimed anew by"), explained=CLAIMED, given=~LOOKED.missing,
    ),
    HistoryProperty(
        "writes_by_latest_claimant", "618.26",
        "the leader's records are written with the producer of the latest who claimed the topic",
        _HISTORY, view.writes_by_latest_claimant, saying("the latest claim is", "the topic was never claimed"),
        _WRITES | {Kind.topic_claimed, Kind.worker_started}, needs_order=True,
        spread=Spread(
            _WRITES | {Kind.topic_claimed, Kind.worker_started},
            everywhere=frozenset({Kind.topic_claimed, Kind.worker_started}),
        ),
    ),
    HistoryProperty(
        "writes_while_leading", "618.24",
        "a worker writes configurations and sets only while, as far as it knows, it leads",
        ("history", "node"), view.writes_while_leading, saying("after", "it was never made leader"),
        _WRITES | {Kind.topic_claimed, Kind.assigned, Kind.leadership_lost, Kind.worker_started, Kind.worker_stopped},
        needs_order=True,
    ),
    declared(
        "assignments_reach_counts", "618.8",
        "the offset that goes out with an assignment lies after every count that the leader has written",
        each(Kind.assignment_made, by=NODE),
        IT.offset <= OWN_COUNT.offset, saying("at or before"), explained=OWN_COUNT, given=~OWN_COUNT.missing,
        modes=("A",),
    ),
    declared(
        "answers_with_count", "618.15",
        "a round is answered with success only if a count stood after the newest set at some time since it was asked",
        each(Kind.round_answered, by=REQUEST, where=PASSED & (IT.connector >= 0)),
        ~NEWEST_THEN.missing & (COUNT.at <= ASKED.at) & (COUNT_THEN.at <= NEWEST_THEN.at),
        saying("no count came after"), explained=NEWEST_THEN, given=~ASKED.missing, modes=("M", "B", "shipped"),
    ),
    declared(
        "opened_after_answer", "618.15",
        "a task opens its producer after the leader has answered with success, since it started",
        each(Kind.producer_opened, by=ASKER, where=IT.instance >= 0),
        ANSWERED.missing | (ANSWERED.at < STARTED.at), saying("the latest success is", "there was no answer"),
        explained=when(ANSWERED.missing, STARTED.at, ANSWERED.at), modes=("B", "shipped"),
    ),
    declared(
        "opened_after_check", "618.16",
        "a task opens its producer after it has found a count after the latest set",
        each(Kind.producer_opened, by=MECHANISMS_INSTANCE),
        CHECK_PASSED.missing, saying("the latest check is", "it has not looked"), explained=CHECKED,
        modes=("A", "M", "B"),
    ),
    HistoryProperty(
        "checked_with_count", "618.16",
        "that check passes only if a count stands after the latest set: in the topic (B), or as far as the worker read",
        _HISTORY, view.checked_with_count, saying("no count after"),
        _TOPIC | {Kind.task_checked},
        needs_in={"A": frozenset({Kind.topic_read}), "M": frozenset({Kind.topic_read}), "B": frozenset()},
        needs_order=True, modes=("A", "M", "B"),
        spread=Spread(
            _TOPIC | {Kind.task_checked, Kind.topic_read, Kind.compacted}, by("connector"),
            everywhere=frozenset({Kind.topic_read, Kind.compacted}),
        ),
    ),
    declared(
        "running_checked_again", "618.19",
        "a task polls only when it has looked for a newer set once more, with its producer open",
        each(Kind.task_running, by=MECHANISMS_INSTANCE),
        OPENED.missing | (PASSED_AGAIN.at < OPENED.at),
        saying("no look passed since", "its producer was never opened"), explained=OPENED,
    ),
    declared(
        "checked_again_newest", "618.19",
        "that look passes only if the set that the task started from is still the newest, or what is newer is deleted",
        each(Kind.task_checked_again, by=MECHANISMS_CONNECTOR, where=PASSED),
        (NEWEST_OR_DELETED.offset > IT.set) & (NEWEST_OR_DELETED.kind == Kind.set_written),
        saying("newer is"), explained=NEWEST_OR_DELETED,
    ),
)  # fmt: skip


# These edits seed violations in a history of task counts that the reference wrote, with what each property must then
# report.
#
# Each edit is the smallest that only one property reports. Where an edit breaks several properties, the others are
# named too. Producer id 0 is the leader's, 1 and 2 are those of connector 0's tasks.

_MIDDLE = (Kind.asked, 3)  # when the second leader has begun
_IN_ROUND = (Kind.count_written, 5)  # in the last round, before its count
_ZOMBIE = {"node": 1, "connector": 0, "task": 1, "instance": 1, "set": 8, "producer_id": 2, "epoch": 0}
_FIRST = {"node": 0, "connector": 0, "task": 0, "instance": 0, "set": 8, "producer_id": 1}

VIOLATIONS: Mapping[str, Seeded] = {
    "a zombie commits": Seeded(
        (put((Kind.transaction_refused, 0), Kind.transaction_committed, **_ZOMBIE), drop(Kind.transaction_refused, 0)),
        {"no_zombie_commits": 1, "producers_covered": 1, "fenced_never_commit": 1},
    ),
    "a covered zombie commits": Seeded(
        (put(_MIDDLE, Kind.transaction_committed, **_FIRST, epoch=9),), {"no_zombie_commits": 1},
    ),
    "beyond every count": Seeded(
        (change(Kind.transaction_committed, 5, task=3),), {"producers_covered": 1},
    ),
    "fails for good": Seeded(
        (put(END, Kind.task_failed, node=0, connector=0, task=1, instance=10),), {"newest_set_polls": 1},
    ),
    "its worker is gone": Seeded(
        (put(END, Kind.worker_stopped, node=0), put(END, Kind.worker_stopped, node=1)), {"newest_set_polls": 2},
    ),
    "fenced and commits": Seeded(
        (change(Kind.transaction_committed, 7, epoch=1),), {"fenced_never_commit": 1},
    ),
    "the same epoch": Seeded(
        (change(Kind.producer_opened, 3, epoch=1),), {"epochs_grow": 1},
    ),
    "names that collide": Seeded(
        (put(END, Kind.producer_opened, connector=1, task=3, producer_id=2, epoch=9),), {"ids_of_their_own": 1},
    ),
    "sends unasked": Seeded(
        (put(END, Kind.records_sent, **_FIRST | {"instance": 99}),), {"only_running_polls": 1},
    ),
    "sends when it is over": Seeded(
        (put(END, Kind.records_sent, **_FIRST),), {"silent_when_over": 1},
    ),
    "polls without a count": Seeded(
        (change(Kind.task_running, 5, set=30),), {"running_with_count": 1},
    ),
    "count of no set's size": Seeded(
        (change(Kind.count_written, 5, count=3),), {"counts_are_sizes": 1},
    ),
    "count of the old size": Seeded(
        (change(Kind.count_written, 2, count=2),),
        {"counts_are_sizes": 1, "rounds_fence_the_count": 1, "fenced_before_count": 1},
    ),
    "a task without a configuration": Seeded(
        (drop(Kind.task_config_written, 6),), {"sets_whole": 2},
    ),
    "a task that the set does not have": Seeded(
        (change(Kind.task_starting, 9, task=2),), {"sets_whole": 1},
    ),
    "one id less": Seeded(
        (change(Kind.round_started, 2, count=1), drop(Kind.id_fenced, 1)),
        {"rounds_fence_the_count": 1, "fenced_before_count": 1},
    ),
    "a round for too many": Seeded(
        (change(Kind.round_started, 3, count=5),), {"rounds_fence_the_count": 1},
    ),
    "another id fenced": Seeded(
        (put(END, Kind.id_fenced, node=1, connector=0, task=1, producer_id=2, epoch=9, request=10),),
        {"fences_of_the_round": 1},
    ),
    "a fence that failed": Seeded(
        (change(Kind.id_fenced, 1, error=7, producer_id=-1, epoch=-1),), {"fenced_before_count": 1},
    ),
    "a round that does not wait": Seeded(
        (put(END, Kind.id_fenced, node=1, connector=0, task=1, error=51),), {"fencing_goes_on": 1},
    ),
    "count before the last fence": Seeded(
        (swap((Kind.id_fenced, 1), (Kind.count_written, 2)),),
        {"fenced_before_count": 1, "checked_after_fencing": 1},
    ),
    "a round for an older set": Seeded(
        (change(Kind.round_started, 2, set=8),), {"counts_of_newest_set": 1},
    ),
    "no look before the count": Seeded(
        (drop(Kind.round_checked, 1),), {"checked_after_fencing": 1},
    ),
    "count against the look": Seeded(
        (change(Kind.round_checked, 1, status=CONFLICT),), {"checked_after_fencing": 1},
    ),
    "claimed in between": Seeded(
        (put(_IN_ROUND, Kind.topic_claimed, node=1, producer_id=0, epoch=2), change(Kind.count_written, 5, epoch=2)),
        {"not_reclaimed_since": 1},
    ),
    "a plain producer": Seeded(
        (change(Kind.count_written, 1, producer_id=-1, epoch=-1),), {"writes_by_latest_claimant": 1},
    ),
    "a follower writes": Seeded(
        (change(Kind.task_config_written, 4, node=2),), {"writes_by_latest_claimant": 1, "writes_while_leading": 1},
    ),
    "writes though it knows": Seeded(
        (put(_MIDDLE, Kind.leadership_lost, node=1),), {"writes_while_leading": 3},
    ),
    "an assignment behind the counts": Seeded(
        (change(Kind.assignment_made, -1, offset=48),), {"assignments_reach_counts": 1},
    ),
    "answered before the count": Seeded(
        (swap((Kind.round_answered, 7), (Kind.count_written, 4)),), {"answers_with_count": 1},
    ),
    "opened after a refusal": Seeded(
        (change(Kind.round_answered, 9, status=500),), {"opened_after_answer": 1},
    ),
    "opened without a look": Seeded(
        (drop(Kind.task_checked, 9),), {"opened_after_check": 1},
    ),
    "a look that should not pass": Seeded(
        (swap((Kind.task_checked, 8), (Kind.round_asked, 8)),), {"checked_with_count": 1},
    ),
    "no second look": Seeded(
        (drop(Kind.task_checked_again, 9),), {"running_checked_again": 1},
    ),
    "second look first": Seeded(
        (swap((Kind.task_checked_again, 9), (Kind.producer_opened, 9)),), {"running_checked_again": 1},
    ),
    "a second look that should not pass": Seeded(
        (put(END, Kind.task_checked_again, **_ZOMBIE, status=OK),), {"checked_again_newest": 1},
    ),
}  # fmt: skip


# The histories with seeded violations are of mode B.

EXAMPLE = "fencepost.properties.task_counts.scenarios.known:rows"
SEEDED_HISTORY = SeededHistory(TASK_COUNTS, EXAMPLE, VIOLATIONS, {"mode": "B"})
simulate_many = SEEDED_HISTORY.simulate_many


# `HISTORY` has both tables, and `figures` counts what became of tasks and rounds. `RECORDINGS` names what is usually
# recorded: what can be observed from outside, the config topic alone, or everything.

PROPERTIES = in_a_table(*PROMISES, *MECHANISMS)
COLUMNS = ("history", "step", "kind", *(name for name in TASK_COUNTS.names if name != "member"))

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "topic": TASK_COUNTS.observed_by(TOPIC),
        "outside": TASK_COUNTS.observed_by(TOPIC, OUTSIDE),
        "all": tuple(TASK_COUNTS.codes),
    }
)
"""`RECORDINGS` maps each recording to the kinds of event that it has."""


def figures(view: TaskCountView) -> dict[str, int]:
    """Return what became of the sets of one piece. The figures of several pieces can be added.

    The figures count sets and counts (written), ids_fenced, claims (of the config topic), started, running, abandoned
    and failed (tasks), committed and refused (their transactions).
    """
    kinds = {
        "sets": Kind.set_written, "counts": Kind.count_written, "claims": Kind.topic_claimed,
        "started": Kind.task_starting, "running": Kind.task_running, "abandoned": Kind.task_abandoned,
        "failed": Kind.task_failed, "committed": Kind.transaction_committed, "refused": Kind.transaction_refused,
    }  # fmt: skip
    counted = {name: len(view.rows_of(kind)) for name, kind in kinds.items()}
    return counted | {"ids_fenced": len(view.fine(Kind.id_fenced))}


HISTORY = HistoryProperties(
    TASK_COUNTS,
    PROPERTIES,
    view=TaskCountView,
    columns=COLUMNS,
    mode="shipped",
    figures=figures,
    values=NAMES,
    spread_of_figures=Spread(links=by("connector")),
)
