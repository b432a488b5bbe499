"""How KIP-618 keeps its promises of who may run: rounds, starts and the leader's producer, held against all events."""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.related import IT, each, last, when
from fencepost.properties.history.spreading import Link, Spread, by
from fencepost.properties.task_counts.history import starting, topic
from fencepost.properties.task_counts.history.events import Kind
from fencepost.properties.task_counts.history.view import OK, SETS, TaskCountView, declared
from fencepost.properties.task_counts.history.words import saying

_HISTORY, _CONNECTOR = ("history",), ("history", "connector")
_TOPIC = SETS | {Kind.count_written, Kind.count_tombstoned}
_OF_ROUNDS = frozenset({Kind.round_started, Kind.id_fenced, Kind.round_checked, Kind.count_written})
_WRITES = frozenset(kind for kind in Kind if Kind.connector_written <= kind <= Kind.count_tombstoned)

CONNECTOR, INSTANCE, REQUEST, NODE = (("connector",), ("instance",), ("request",), ("node",))
ROUND, ASKER = ("node", "connector"), ("node", "connector", "task")  # several instances of a task may ask at one worker
PASSED = IT.status == OK
IS_COUNT = IT.kind == Kind.count_written  # and no tombstone

NEWEST = last(Kind.set_written, by=CONNECTOR)
COUNT = last(Kind.count_written, Kind.count_tombstoned, by=CONNECTOR, only=IS_COUNT)
COVERED = when(COUNT.missing, 0, COUNT.count)
NEWEST_OR_DELETED = last(Kind.set_written, Kind.connector_tombstoned, by=CONNECTOR)
ROUND_OF_WRITER = last(Kind.round_started, by=ROUND)
LOOKED = last(Kind.round_started, Kind.round_checked, by=ROUND)
CLAIMED = last(Kind.topic_claimed, by=NODE)
OWN_COUNT = last(Kind.count_written, by=NODE)
STARTED_FOR = last(Kind.round_started, by=REQUEST)
ASKED = last(Kind.round_asked, by=REQUEST)
NEWEST_THEN = last(Kind.set_written, by=CONNECTOR, asking=ASKED)
COUNT_THEN = last(Kind.count_written, Kind.count_tombstoned, by=CONNECTOR, only=IS_COUNT, asking=ASKED)
STARTED = last(Kind.task_starting, by=INSTANCE)
ANSWERED = last(Kind.round_answered, by=ASKER, where=PASSED)
CHECKED = last(Kind.task_checked, by=INSTANCE)
CHECK_PASSED = last(Kind.task_checked, by=INSTANCE, only=PASSED)
OPENED = last(Kind.producer_opened, by=INSTANCE)
PASSED_AGAIN = last(Kind.task_checked_again, by=INSTANCE, only=PASSED)

MECHANISMS: tuple[HistoryProperty[TaskCountView], ...] = (
    HistoryProperty(
        "sets_whole", "618.3",
        "a task starts from a set that was committed with the configuration of every task, its own among them",
        _CONNECTOR, starting.sets_whole, saying("not a whole set with this task:", "there is no such set"),
        SETS | {Kind.task_starting, Kind.task_config_written}, needs_order=True,
    ),
    declared(
        "rounds_fence_the_count", "618.6",
        "a round is to fence as many ids as the latest count says; none if that is 1, and 1 the size of the set",
        each(Kind.round_started, by=CONNECTOR),
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
        _CONNECTOR, topic.fenced_before_count, saying("not all fenced that are covered by"),
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
        _HISTORY, topic.checked_after_fencing, saying("no look at the topic since"),
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
        _HISTORY, topic.writes_by_latest_claimant, saying("the latest claim is", "nobody has claimed the topic"),
        _WRITES | {Kind.topic_claimed, Kind.worker_started}, needs_order=True,
        spread=Spread(
            _WRITES | {Kind.topic_claimed, Kind.worker_started},
            everywhere=frozenset({Kind.topic_claimed, Kind.worker_started}),
        ),
    ),
    HistoryProperty(
        "writes_while_leading", "618.24",
        "a worker writes configurations and sets only while, as far as it knows, it leads",
        ("history", "node"), topic.writes_while_leading, saying("after", "it was never made leader"),
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
        each(Kind.producer_opened, by=INSTANCE),
        CHECK_PASSED.missing, saying("the latest check is", "it has not looked"), explained=CHECKED,
        modes=("A", "M", "B"),
    ),
    HistoryProperty(
        "checked_with_count", "618.16",
        "that check passes only if a count stands after the latest set: in the topic (B), or as far as the worker read",
        _HISTORY, starting.checked_with_count, saying("no count after"),
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
        each(Kind.task_running, by=INSTANCE),
        OPENED.missing | (PASSED_AGAIN.at < OPENED.at),
        saying("no look passed since", "its producer was never opened"), explained=OPENED,
    ),
    declared(
        "checked_again_newest", "618.19",
        "that look passes only if the set that the task started from is still the newest, or what is newer is deleted",
        each(Kind.task_checked_again, by=CONNECTOR, where=PASSED),
        (NEWEST_OR_DELETED.offset > IT.set) & (NEWEST_OR_DELETED.kind == Kind.set_written),
        saying("newer is"), explained=NEWEST_OR_DELETED,
    ),
)  # fmt: skip
