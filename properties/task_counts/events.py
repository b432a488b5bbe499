"""This module defines the events of exactly-once source connectors (KIP-618, who may run): their kinds, their columns,
and which columns each kind uses.

Codes and names are a file format: histories written years ago carry them. Add new codes at the end, and never renumber.
Codes below 10 are events of workers, from 10 on of the group, from 20 on of the config topic and its writers, from 40
on of fencing rounds, from 50 on of tasks, and from 60 on of what the tasks' producers write.

A set of task configurations is named by the offset of its commit record in the config topic, which is the same number
for every worker. Kafka's own generations are counted by each worker for itself.
"""

from types import MappingProxyType

from fencepost.model.language import Bool, Int
from fencepost.model.language.observations import Do, Observation
from fencepost.model.task_counts.abstract.core import Count, Generation, Instance, Round, Stage, Task, Worker
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.history.vocabulary import KAFKA_ERROR, Column, EventKind, Vocabulary

PAIR = "producer_id epoch"
RECORD = f"node connector task set count offset {PAIR}"
ROUND = f"node connector set count request {PAIR} status error"
TASK = f"node connector task instance set {PAIR} error"
GROUP = "node member offset"

TOPIC = "topic"  # a reader of the config topic sees it
OUTSIDE = "outside"  # what users, brokers and the group show besides


class Kind(EventKind):
    worker_started = 1, "node support", OUTSIDE
    # crashed or shut down; requests and transactions that it sent stay where they are
    worker_stopped = 2, "node", OUTSIDE
    worker_stalled = 3, "node", OUTSIDE  # stands still, and may go on later with what it knew
    worker_resumed = 4, "node", OUTSIDE
    # a user's request was accepted: a connector with so many tasks; -1 tasks: its deletion
    asked = 5, "node connector count", OUTSIDE

    joined = 10, GROUP  # the worker asks the group in
    member_expired = 11, GROUP  # the group's session of the worker ended: the others rebalance without it
    assignment_made = 12, GROUP  # by the leader, with the offset of the config topic that it carries
    assigned = 13, f"{GROUP} count"  # the worker takes its assignment; `count` is 1 if it leads
    task_assigned = 14, "node connector task member"
    task_revoked = 15, "node connector task member"

    topic_claimed = (
        20,
        f"node {PAIR}",
    )  # the leader's transactional producer is open: no other worker writes from now on
    claim_failed = 21, f"node {PAIR} error"
    leadership_lost = 22, f"node {PAIR} error"  # the worker knows now that it does not lead, or may not write
    connector_written = 23, RECORD, TOPIC  # this and the next five: a record is committed in the config topic
    connector_tombstoned = 24, RECORD, TOPIC
    task_config_written = 25, RECORD, TOPIC
    set_written = 26, RECORD, TOPIC  # the commit record; `set` is its offset
    count_written = 27, RECORD, TOPIC  # the count record; `set` is the latest set before it
    count_tombstoned = 28, RECORD, TOPIC
    write_refused = 29, "node connector error"
    topic_read = 30, "node offset"  # the worker has read the config topic on, up to the exclusive `offset`
    compacted = 31, "offset"  # the config topic, up to `offset`

    round_asked = 40, f"{ROUND} task"
    round_started = 41, ROUND  # `set`: the latest that the leader knows; `count`: ids to fence, from 0
    id_fenced = 42, f"{ROUND} task", OUTSIDE  # the admin's answer for one transactional id
    round_checked = 43, ROUND  # read to the end after fencing; status 409 if there is a newer set
    round_failed = 44, ROUND
    round_answered = 45, f"{ROUND} task"  # who asked takes the answer

    task_starting = 50, TASK  # `set`: the one that the instance starts from
    # before the producer is opened: status 200 if a count stands after the latest set, else 409
    task_checked = 51, f"{TASK} status"
    producer_opened = 52, TASK, OUTSIDE
    task_checked_again = 53, f"{TASK} status"  # after it: status 409 if there is a set newer than the instance's
    task_running = 54, TASK, OUTSIDE  # polls from now on
    task_abandoned = 55, TASK
    task_failed = 56, TASK, OUTSIDE
    task_stopped = 57, TASK, OUTSIDE
    task_left_running = 58, TASK  # did not stop in time, and is no longer waited for

    records_sent = 60, TASK, OUTSIDE  # of a transaction, open now
    transaction_committed = 61, TASK, OUTSIDE
    transaction_refused = 62, TASK, OUTSIDE  # the producer learns that it is fenced


SUPPORT = MappingProxyType({"none": 0, "disabled": 1, "preparing": 2, "enabled": 3})

COLUMNS = (
    Column("node", "int32", "worker that acted; -1: somebody outside the cluster"),
    Column("connector", "int32", "connector, numbered from 0"),
    Column("task", "int32", "number of the task within its connector, from 0"),
    Column("instance", "int64", "a task's thread, unique in its history: every start is another one"),
    Column("set", "int64", "set of task configurations: the offset of its commit record in the config topic"),
    Column("count", "int32", "tasks: of a set, of a count record, asked for; ids to fence", "tasks"),
    Column("offset", "int64", "offset in the config topic", "records"),
    Column("member", "int32", "generation of the workers' group", "rebalances"),
    Column("producer_id", "int64", "producer id: one for each transactional id"),
    Column("epoch", "int32", "producer epoch", "bumps"),
    Column("request", "int64", "number of a request for a round, unique in its history"),
    Column("support", "int8", "exactly.once.source.support: 0 not there yet, 1 disabled, 2 preparing, 3 enabled"),
    Column("status", "int32", "HTTP status of an answer; of a check 200 if it passed, 409 if not"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    KAFKA_ERROR,
)  # fmt: skip

TASK_COUNTS = Vocabulary("task-counts", Kind, COLUMNS, public=(TOPIC, OUTSIDE))


# Which events of exactly-once source connectors detect a danger; see `fencepost.properties.history.signs`.


def _sets(e: Events, least: int, most: int | None = None) -> int:
    written = e.of(Kind.set_written)
    sizes = e["count"][written]
    return int(((sizes >= least) & ((sizes <= most) if most is not None else True)).sum())


def _fencing_rounds(e: Events) -> int:
    return int((e["count"][e.of(Kind.round_started)] > 1).sum())


def _without_support(e: Events) -> int:
    started = e.of(Kind.worker_started)
    return int((e["support"][started] < SUPPORT["enabled"]).sum())


SIGNS = (
    events("client-crash", "workers that end", Kind.worker_stopped),
    events("zombie", "workers that stand still and go on", Kind.worker_resumed),
    events("time-out", "tasks that are no longer waited for, and sessions that end",
           Kind.task_left_running, Kind.member_expired),
    events("cleaning", "compactions of the config topic", Kind.compacted),
    Sign("rebalance", "assignments made while tasks of the connector run",
         lambda e: len(e.after(e.of(Kind.assignment_made), e.of(Kind.task_running)))),
    events("leader-in-a-call", "writes of a leader that learns that it is none",
           Kind.write_refused, Kind.leadership_lost),
    Sign("worker-without-support", "workers that start without support, or with it not on", _without_support),
    Sign("empty-set", "sets of no tasks", lambda e: _sets(e, 0, 0)),
    Sign("one-task", "sets of one task", lambda e: _sets(e, 1, 1)),
    Sign("several-tasks", "rounds with several ids to fence", _fencing_rounds),
    Sign("several-connectors", "connectors beside the first",
         lambda e: e.further(e.of(Kind.connector_written), (), "connector")),
    events("deletion", "connectors deleted", Kind.connector_tombstoned),
    Sign("re-creation", "connectors created again",
         lambda e: len(e.after(e.of(Kind.connector_written), e.of(Kind.connector_tombstoned), "connector"))),
)  # fmt: skip


# These observations relate the events of a Connect cluster to the core of one connector and its steps.
#
# These columns are computed, not stored: ``instance`` is a place of the model for a task's thread, free again when the
# thread has ended; ``set`` numbers the connector's sets from 1; ``newest`` is the number of the last set; ``certain``
# is false where a transactional id may have been fenced without a client being notified. A deposed leader's round goes
# on with what it has under way, so the model deposes the leader only when the round is over.

MODEL_COLUMNS = {
    "worker": Worker, "task": Task, "instance": Instance, "set": Generation, "count": Count, "status": Int,
    "error": Int, "certain": Bool, "newest": Generation,
}  # fmt: skip

OK = 200

_leader = {"w": "worker"}
_instance = {"k": "instance"}


def _ends(kind):
    return Observation(kind, (Do("stop", _instance, when=lambda s, e: s.stage[e.instance] != Stage.NONE),))


def _skipped(s):
    return (s.generation <= s.counted) | (s.counted == 0) | ((s.count == 1) & (s.size == 1))


def _fences(s, e):
    return (s.round[e.worker] == Round.FENCING) & s.left[e.worker, e.task]


LEADERS = (
    Observation("assigned", (Do("lead", _leader, when=lambda s, e: e.count == 1),)),
    Observation("topic_claimed", (Do("elect", _leader, when=lambda s, e: s.owner != e.worker),), rule="618.24"),
    Observation(
        "leadership_lost",
        (
            Do(
                "depose", _leader,
                when=lambda s, e: s.leads[e.worker] & (s.owner != e.worker) & (s.round[e.worker] == Round.NONE),
            ),
        ),
    ),
    Observation(
        "set_written",
        (Do("reconfigure", {"w": "worker", "n": "count", "g": "set"}),),
        after=lambda s, e: s.generation == e.set,
        rule="618.3",
    ),
    Observation(
        "round_started",
        (
            Do("fail_round", _leader, when=lambda s, e: s.round[e.worker] != Round.NONE),
            Do("start_round", _leader, when=lambda s, e: s.counted < s.generation),
        ),
        before=lambda s, e: (s.generation == e.set) & (_skipped(s) | (e.count == s.count)),
        rule="618.6",
    ),
    Observation(
        "id_fenced",
        (
            Do("fence", {"w": "worker", "i": "task"}, when=lambda s, e: (e.error == 0) & _fences(s, e)),
            Do("fence_late", {"i": "task"}, when=lambda s, e: (e.error == 0) & ~_fences(s, e)),
        ),
    ),
    Observation(
        "round_checked",
        (Do("check_round", _leader, when=lambda s, e: s.round[e.worker] == Round.FENCING),),
        before=lambda s, e: s.all_fenced(e.worker),
        after=lambda s, e: (s.round[e.worker] == Round.CHECKED) == (e.status != 409),
        rule="618.43",
    ),
    Observation(
        "count_written",
        (
            Do("check_round", _leader, when=lambda s, e: s.round[e.worker] == Round.FENCING),
            Do("write_count", _leader),
        ),
        before=lambda s, e: s.generation == e.set,
        after=lambda s, e: s.count == e.count,
        rule="618.42",
    ),
    Observation(
        "write_refused",
        (
            Do(
                "write_refused", _leader,
                when=lambda s, e: (s.round[e.worker] == Round.CHECKED) & (s.owner != e.worker),
            ),
        ),
        rule="618.26",
    ),
    Observation("round_failed", (Do("fail_round", _leader, when=lambda s, e: s.round[e.worker] != Round.NONE),)),
)  # fmt: skip


def _second_look(s, e):
    return (e.status != OK) | (s.generation == s.of[e.instance])


TASKS = (
    Observation("task_starting", (Do("assign", {"k": "instance", "i": "task", "g": "set"}),)),
    Observation("producer_opened", (Do("open_producer", _instance),), rule="618.18"),
    Observation(
        "task_checked_again",
        (
            Do(
                "check_after", {"k": "instance", "seen": "newest"},
                when=lambda s, e: (e.status == OK) | (s.generation != s.of[e.instance]),
            ),
        ),
        before=_second_look,
        rule="618.19",
    ),
    Observation(
        "task_running",
        (
            Do(
                "check_after", {"k": "instance", "seen": "newest"},
                when=lambda s, e: s.stage[e.instance] == Stage.PRODUCER,
            ),
        ),
        after=lambda s, e: s.stage[e.instance] == Stage.RUNNING,
        rule="618.20",
    ),
    *map(_ends, ("task_stopped", "task_failed", "task_abandoned")),
    Observation("records_sent", before=lambda s, e: s.stage[e.instance] == Stage.RUNNING, rule="618.20"),
    Observation("transaction_committed", before=lambda s, e: s.can_commit(e.instance), rule="618.P1"),
    Observation(
        "transaction_refused",
        before=lambda s, e: ~e.certain | ~s.live[e.instance],
        rule="618.18",
    ),
)  # fmt: skip

OWN_VIEW = Observation(
    "task_checked",
    (Do("check_before", _instance, when=lambda s, e: e.status == OK),),
    rule="618.14",
)


def _newer_than_assigned(s, e):
    """Return whether a task that waited starts from a newer set than its assigned one, because that set is the one it
    finds counted in the end."""
    return (e.status == OK) & (s.of[e.instance] != e.set)


AWAITED = Observation(
    "task_checked",
    (
        Do("stop", _instance, when=_newer_than_assigned),
        Do(
            "assign", {"k": "instance", "i": "task", "g": "set"},
            when=lambda s, e: (e.status == OK) & (s.stage[e.instance] == Stage.NONE),
        ),
        Do("check_before", _instance, when=lambda s, e: e.status == OK),
    ),
    rule="618.44",
)  # fmt: skip

IN_ASSIGNMENT = Observation(
    "round_started",
    (
        Do("lead", _leader, when=lambda s, e: ~s.leads[e.worker]),
        *next(o.steps for o in LEADERS if o.kind == "round_started"),
    ),
    before=next(o.before for o in LEADERS if o.kind == "round_started"),
    rule="618.6",
)  # the leader has heard it from the group, and no other worker has yet


def _waits(s, e):
    return (s.stage[e.instance] == Stage.ASSIGNED) & (s.generation <= s.counted)


ASKING = Observation("found_counted", (Do("answer", _instance, when=_waits),), rule="618.15")

B_ASKING = Observation(
    "found_counted", (Do("answer", _instance, when=lambda s, e: _waits(s, e) & ~s.answered[e.instance]),), rule="618.15"
)

SHIPPED = (
    *LEADERS, *TASKS, ASKING,
    Observation(
        "round_answered",
        before=lambda s, e: (e.status != OK) | (s.stage[e.instance] == Stage.CHECKED),
        rule="618.15",
    ),
)  # fmt: skip

BY_VARIANT = {
    "A": (*(o for o in LEADERS if o.kind != "round_started"), IN_ASSIGNMENT, *TASKS, OWN_VIEW),
    "M": (*LEADERS, *TASKS, AWAITED),
    "B": (
        *LEADERS, *TASKS, OWN_VIEW, B_ASKING,
        Observation(
            "round_answered", before=lambda s, e: (e.status != OK) | s.answered[e.instance], rule="618.15"
        ),
    ),
    "shipped": SHIPPED,
    "shipped-claims": (*SHIPPED, Observation("task_claimed", (Do("assign_claimed", _instance),), rule="618.52")),
}  # fmt: skip
