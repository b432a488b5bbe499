"""How KIP-618 keeps its promises of who may run: rounds, starts and the leader's producer, held against all events."""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.task_counts.history import starting, topic
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import TaskCountView
from fencepost.properties.task_counts.history.words import saying

_HISTORY, _CONNECTOR, _INSTANCE = ("history",), ("history", "connector"), ("history", "instance")
_SETS = frozenset({Kind.set_written, Kind.connector_written, Kind.connector_tombstoned})
_TOPIC = _SETS | {Kind.count_written, Kind.count_tombstoned}
_WRITES = frozenset(kind for kind in Kind if Kind.connector_written <= kind <= Kind.count_tombstoned)

MECHANISMS: tuple[HistoryProperty[TaskCountView], ...] = (
    HistoryProperty(
        "sets_whole", "618.3",
        "a task starts from a set that was committed with the configuration of every task, its own among them",
        _CONNECTOR, starting.sets_whole, saying("not a whole set with this task:", "there is no such set"),
        _SETS | {Kind.task_starting, Kind.task_config_written}, needs_order=True,
    ),
    HistoryProperty(
        "rounds_fence_the_count", "618.6",
        "a round is to fence as many ids as the latest count says; none if that is 1, and 1 the size of the set",
        _CONNECTOR, topic.rounds_fence_the_count, saying("not as many as stand in"),
        _TOPIC | {Kind.round_started}, needs_order=True,
    ),
    HistoryProperty(
        "fences_of_the_round", "618.6",
        "the ids fenced are those from 0 to what the round is to fence",
        ("history", "request"), topic.fences_of_the_round, saying("not of", "there is no such round"),
        frozenset({Kind.round_started, Kind.id_fenced}), needs_order=True,
    ),
    HistoryProperty(
        "fenced_before_count", "618.7",
        "a count is written once all ids of the count before were fenced since the newest set, or both are 1 [618.5]",
        _CONNECTOR, topic.fenced_before_count, saying("not all fenced that are covered by"),
        _TOPIC | {Kind.id_fenced}, needs_order=True,
    ),
    HistoryProperty(
        "counts_of_newest_set", "618.43",
        "a count is written by a round for the newest set there is",
        _CONNECTOR, topic.counts_of_newest_set, saying("its round knew nothing of"),
        _SETS | {Kind.round_started, Kind.count_written}, needs_order=True,
    ),
    HistoryProperty(
        "checked_after_fencing", "618.43",
        "after fencing, the leader looks for a newer set before it writes the count, and writes none if there is",
        _HISTORY, topic.checked_after_fencing, saying("no look at the topic since"),
        frozenset({Kind.round_started, Kind.id_fenced, Kind.round_checked, Kind.count_written}), needs_order=True,
        modes=("M", "B", "shipped"),
    ),
    HistoryProperty(
        "not_reclaimed_since", "618.43",
        "the leader does not regain the right to write between its look at the topic and the count",
        ("history", "node"), topic.not_reclaimed_since, saying("claimed anew by"),
        frozenset({Kind.round_started, Kind.round_checked, Kind.topic_claimed, Kind.count_written}), needs_order=True,
    ),
    HistoryProperty(
        "writes_by_latest_claimant", "618.26",
        "the leader's records are written with the producer of the latest who claimed the topic",
        _HISTORY, topic.writes_by_latest_claimant, saying("the latest claim is", "nobody has claimed the topic"),
        _WRITES | {Kind.topic_claimed, Kind.worker_started}, needs_order=True,
    ),
    HistoryProperty(
        "writes_while_leading", "618.24",
        "a worker writes configurations and sets only while, as far as it knows, it leads",
        ("history", "node"), topic.writes_while_leading, saying("after", "it was never made leader"),
        _WRITES | {Kind.topic_claimed, Kind.assigned, Kind.leadership_lost, Kind.worker_started, Kind.worker_stopped},
        needs_order=True,
    ),
    HistoryProperty(
        "assignments_reach_counts", "618.8",
        "the offset that goes out with an assignment lies after every count that the leader has written",
        ("history", "node"), topic.assignments_reach_counts, saying("at or before"),
        frozenset({Kind.assignment_made, Kind.count_written}), needs_order=True, modes=("A",),
    ),
    HistoryProperty(
        "answers_with_count", "618.15",
        "a round is answered with success only if a count stood after the newest set at some time since it was asked",
        _HISTORY, topic.answers_with_count, saying("no count came after"),
        _TOPIC | {Kind.round_asked, Kind.round_answered}, needs_order=True, modes=("M", "B", "shipped"),
    ),
    HistoryProperty(
        "opened_after_answer", "618.15",
        "a task opens its producer after the leader has answered with success, since it started",
        _HISTORY, starting.opened_after_answer,
        saying("the latest success is", "there was no answer"),
        frozenset({Kind.task_starting, Kind.round_answered, Kind.producer_opened}), needs_order=True,
        modes=("B", "shipped"),
    ),
    HistoryProperty(
        "opened_after_check", "618.16",
        "a task opens its producer after it has found a count after the latest set",
        _INSTANCE, starting.opened_after_check, saying("the latest check is", "it has not looked"),
        frozenset({Kind.task_checked, Kind.producer_opened}), needs_order=True, modes=("A", "M", "B"),
    ),
    HistoryProperty(
        "checked_with_count", "618.16",
        "that check passes only if a count stands after the latest set: in the topic (B), or as far as the worker read",
        _HISTORY, starting.checked_with_count, saying("no count after"),
        _TOPIC | {Kind.task_checked}, needs_in={"A": frozenset({Kind.topic_read}), "M": frozenset({Kind.topic_read}),
                                                "B": frozenset()},
        needs_order=True, modes=("A", "M", "B"),
    ),
    HistoryProperty(
        "running_checked_again", "618.19",
        "a task polls only when it has looked for a newer set once more, with its producer open",
        _INSTANCE, starting.running_checked_again, saying("no look passed since", "its producer was never opened"),
        frozenset({Kind.producer_opened, Kind.task_checked_again, Kind.task_running}), needs_order=True,
    ),
    HistoryProperty(
        "checked_again_newest", "618.19",
        "that look passes only if the set that the task started from is still the newest",
        _CONNECTOR, starting.checked_again_newest, saying("newer is"),
        _SETS | {Kind.task_checked_again}, needs_order=True,
    ),
)  # fmt: skip
