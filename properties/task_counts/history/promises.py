"""What KIP-618 promises of who may run, held against what topics, coordinators and REST show from outside."""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.task_counts.history import commits, starting, topic
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import TaskCountView
from fencepost.properties.task_counts.history.words import saying

_CONNECTOR, _PRODUCER, _INSTANCE = ("history", "connector"), ("history", "producer_id"), ("history", "instance")
_SETS = frozenset({Kind.set_written, Kind.connector_written, Kind.connector_tombstoned})
_TOPIC = _SETS | {Kind.count_written, Kind.count_tombstoned}
_GIVEN = frozenset({Kind.producer_opened, Kind.id_fenced, Kind.topic_claimed})
_OVER = frozenset({Kind.task_abandoned, Kind.task_failed, Kind.task_stopped})

PROMISES: tuple[HistoryProperty[TaskCountView], ...] = (
    HistoryProperty(
        "no_zombie_commits", "618.P1",
        "once a task of a newer set of its connector polls, no task of an older set commits",
        _CONNECTOR, commits.no_zombie_commits, saying("though a newer set polls since"),
        frozenset({Kind.task_running, Kind.transaction_committed}), needs_order=True,
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
        _OVER | _SETS | {Kind.task_running, Kind.worker_stopped},
        needs_quiet_end=True,
    ),
    HistoryProperty(
        "fenced_never_commit", "618.18",
        "no producer commits once a greater epoch of its id was given to another, or to the leader that fenced it",
        _PRODUCER, commits.fenced_never_commit, saying("fenced before by"),
        _GIVEN | {Kind.transaction_committed}, needs_order=True,
    ),
    HistoryProperty(
        "epochs_grow", "618.12",
        "whoever opens or fences a transactional id gets a greater epoch of it than anybody before",
        _PRODUCER, commits.epochs_grow, saying("not above that of"),
        _GIVEN, needs_order=True,
    ),
    HistoryProperty(
        "ids_of_their_own", "618.49",
        "a transactional id belongs to one task of one connector, or to the leader",
        _PRODUCER, commits.ids_of_their_own, saying("the same id as"),
        _GIVEN,
    ),
    HistoryProperty(
        "only_running_polls", "618.20",
        "only tasks that were allowed to poll send and commit",
        _INSTANCE, commits.only_running_polls, saying("it was never allowed to poll"),
        frozenset({Kind.task_running, Kind.records_sent, Kind.transaction_committed}), needs_order=True,
    ),
    HistoryProperty(
        "silent_when_over", "618.20",
        "a task that gave up, failed or stopped sends nothing more",
        _INSTANCE, commits.silent_when_over, saying("it was over by"),
        _OVER | {Kind.records_sent}, needs_order=True,
    ),
    HistoryProperty(
        "running_with_count", "618.2",
        "a task polls only when a count has come to stand after its set, while that was the newest",
        _CONNECTOR, starting.running_with_count, saying("there is a count only by", "there is no such count"),
        _SETS | {Kind.task_running, Kind.count_written}, needs_order=True,
    ),
    HistoryProperty(
        "counts_are_sizes", "618.42",
        "a count is the size of the set that it stands after, or 0 if the connector was deleted since",
        _CONNECTOR, topic.counts_are_sizes, saying("not the size of"),
        _SETS | {Kind.count_written},
    ),
)  # fmt: skip
