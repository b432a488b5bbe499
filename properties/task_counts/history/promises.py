"""What KIP-618 promises of who may run, held against what topics, coordinators and REST show from outside."""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.related import IT, each, first, greatest, last
from fencepost.properties.history.spreading import Spread
from fencepost.properties.task_counts.history import commits, starting
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import SETS, TaskCountView, declared
from fencepost.properties.task_counts.history.words import saying

_CONNECTOR = ("history", "connector")
_TOPIC = SETS | {Kind.count_written, Kind.count_tombstoned}

CONNECTOR, PRODUCER, INSTANCE = (("connector",), ("producer_id",), ("instance",))
FINE = IT.error == 0
GIVEN = (Kind.producer_opened, Kind.id_fenced, Kind.topic_claimed)
"""By which the epoch of a producer id is raised."""

LOADING, NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT = 14, 15, 16, 51
"""Answers to InitProducerId after which the admin client asks again, up to its time-out, which has a code of its own
(FenceProducersHandler.handleError; Worker.fenceZombies gives it 90 s)."""

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
        _CONNECTOR, commits.producers_covered, saying("not covered by the count any more, after"),
        _TOPIC | {Kind.transaction_committed}, needs_order=True,
    ),
    HistoryProperty(
        "newest_set_polls", "618.P4",
        "at the end every task of the newest set polls",
        ("history",), commits.newest_set_polls, saying("some task of it does not poll at the end"),
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
        "whoever opens or fences a transactional id gets a greater epoch of it than anybody before",
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
        _CONNECTOR, starting.running_with_count, saying("there is a count only by", "there is no such count"),
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
