"""What the events of a Connect cluster say about the core of one connector, and its steps.

Computed, not stored: ``instance`` is a place of the model's for a task's thread, free again when that has ended;
``set`` numbers the connector's sets from 1, ``newest`` is the number of the last; ``certain`` is false where a
transactional id may have been fenced without anybody being told.  A deposed leader's round goes on in what it has under
way: so the model deposes it only when that is over.
"""

from fencepost.model.language import Bool, Int
from fencepost.model.language.observations import Do, Observation
from fencepost.model.task_counts.abstract.core import Count, Generation, Instance, Round, Stage, Task, Worker

COLUMNS = {
    "worker": Worker, "task": Task, "instance": Instance, "set": Generation, "count": Count, "status": Int,
    "error": Int, "certain": Bool, "newest": Generation,
}  # fmt: skip

OK = 200
NO_SET = "a round of a former leader for a connector that has no set since its deletion, which the model does not know"
DELETED = "a start or a round of a set that was deleted meets another round, and the model knows no deletions (618.38)"

_leader = {"w": "worker"}
_instance = {"k": "instance"}


def _ends(kind):
    return Observation(kind, (Do("stop", _instance, when=lambda s, e: s.stage[e.instance] != Stage.NONE),))


def _skipped(s):
    return (s.generation <= s.counted) | (s.counted == 0) | ((s.count == 1) & (s.size == 1))


def _fences(s, e):
    """For a round under way."""
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
    """A task that waited starts from the set that it finds counted in the end."""
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
)  # the leader has been told by the group, and nobody else has yet


def _waits(s, e):
    return (s.stage[e.instance] == Stage.ASSIGNED) & (s.generation <= s.counted)


ASKING = Observation("found_counted", (Do("answer", _instance, when=_waits),), rule="618.15")

B_ASKING = Observation(
    "found_counted", (Do("answer", _instance, when=lambda s, e: _waits(s, e) & ~s.answered[e.instance]),), rule="618.15"
)

BY_VARIANT = {
    "A": (*(o for o in LEADERS if o.kind != "round_started"), IN_ASSIGNMENT, *TASKS, OWN_VIEW),
    "M": (*LEADERS, *TASKS, AWAITED),
    "B": (
        *LEADERS, *TASKS, OWN_VIEW, B_ASKING,
        Observation(
            "round_answered", before=lambda s, e: (e.status != OK) | s.answered[e.instance], rule="618.15"
        ),
    ),
    "shipped": (
        *LEADERS, *TASKS, ASKING,
        Observation(
            "round_answered",
            before=lambda s, e: (e.status != OK) | (s.stage[e.instance] == Stage.CHECKED),
            rule="618.15",
        ),
    ),
}  # fmt: skip
