"""What the steps of the cores of one connector show: the rows of a history that each of them is.

Every instance is on a worker of its own.  What no step of a core is, and may happen at any time, is shown where it
matters: when a task begins to poll, all that can commit then do.
"""

from fencepost.model.language import when
from fencepost.model.task_counts.abstract.as_shipped import Claiming, Lingering
from fencepost.model.task_counts.abstract.core import Instance, Round, Stage, Task
from fencepost.model.task_counts.abstract.cores import ABehindCore, ACore, BCore, MCore, ShippedCore
from fencepost.properties.emitted_events import Kept, Note, Number, Row, Showing
from fencepost.properties.task_counts.events import OK

CONFLICT, FENCED = 409, 47
LEADERS_ID = 0
"""The producer id of the leaders; each task's is one more than its number."""

_offset = {"connector": 0, "offset": Number("offset")}
_last = Kept("offset", at=0)
_claim = {"producer_id": LEADERS_ID, "epoch": Kept("claim", at="w")}


def _set(of):
    return Kept("set", at=of)


def _newest(s, p):
    return s.generation


_round = {"node": "w", "connector": 0, "request": Kept("request", at="w")}
_fencing = _set(lambda s, p: s.fencing[p.w])


def _task(k):
    """Of an instance, as it is before the step."""
    return {
        "node": k, "connector": 0, "task": lambda s, p: s.task[getattr(p, k)], "instance": Kept("instance", at=k),
        "set": _set(lambda s, p: s.of[getattr(p, k)]), "producer_id": lambda s, p: s.task[getattr(p, k)] + 1,
        "epoch": Kept("own", at=k),
    }  # fmt: skip


_mine = _task("k")


def _started(of):
    """A round for a set; the ids that it is to fence begin with 0."""
    return [
        Note("ids", at="w", value=0),
        Note("ids", at="w", value=lambda s, p: p.i + 1, each={"i": Task}, when=lambda s, p, t: t.left[p.w, p.i]),
        Row("round_started", node="w", connector=0, request=Number("request", at="w"), set=_set(of),
            count=Kept("ids", at="w")),
    ]  # fmt: skip


def _runs(s, p, t):
    return t.stage[p.k] == Stage.RUNNING


def _may_commit(s, p, t):
    return _runs(s, p, t) & t.can_commit(p.j)


def _passed(s, p, t):
    return when(_runs(s, p, t), OK, CONFLICT)


def _committing(kind):
    """Of all that can, as they are after the step, which changes none of them but the one that begins."""
    return Row(kind, each={"j": Instance}, when=_may_commit, **_task("j"))


CORE = {
    "elect": [
        Row("assigned", node="w", count=1),
        Row("topic_claimed", node="w", producer_id=LEADERS_ID, epoch=Number("epoch")),
        Note("claim", at="w", value=Kept("epoch", at=0)),
    ],
    "depose": [
        Row("round_failed", when=lambda s, p: s.round[p.w] != Round.NONE, **_round, set=_fencing),
        Row("leadership_lost", node="w", **_claim, error=FENCED),
    ],
    "reconfigure": [
        Row("task_config_written", each={"i": Task}, when=lambda s, p: p.i < p.n, node="w", **_offset, task="i",
            **_claim),
        Row("set_written", node="w", **_offset, set=_last, count="n", **_claim),
        Note("set", at="g", value=_last),
    ],
    "start_round": _started(_newest),
    "start_round_behind": _started(lambda s, p: s.old),
    "fence": [
        Row("id_fenced", **_round, set=_fencing, task="i", producer_id=lambda s, p: p.i + 1, epoch=Number("epoch")),
    ],
    "check_round": [
        Row("round_checked", **_round, set=_fencing,
            status=lambda s, p, t: when(t.round[p.w] == Round.CHECKED, OK, CONFLICT)),
    ],
    "write_count": [
        Row("count_written", node="w", **_offset, set=_set(_newest), count=lambda s, p, t: t.count, **_claim),
        Note("covered", at=_newest, value=_last),
    ],
    "write_refused": [Row("write_refused", node="w", connector=0, error=FENCED)],
    "fail_round": [Row("round_failed", **_round, set=_fencing)],
    "assign": [
        Row("task_starting", node="k", connector=0, task="i", instance=Number("instance", at="k"), set=_set("g")),
    ],
    "open_producer": [
        Note("own", at="k", value=Number("epoch")),
        Row("producer_opened", **_mine),
    ],
    "check_after": [
        Row("task_checked_again", **_mine, status=_passed),
        Row("task_running", when=_runs, **_mine),
        Row("task_abandoned", when=lambda s, p, t: ~_runs(s, p, t), **_mine),
        _committing("records_sent"),
        _committing("transaction_committed"),
    ],
    "stop": [Row("task_stopped", **_mine)],
}  # fmt: skip
ASKING = {
    **CORE,
    "answer": [
        Row("round_asked", node="k", connector=0, task=_mine["task"], request=Number("request", at="k")),
        Row("round_answered", node="k", connector=0, task=_mine["task"], request=Kept("request", at="k"), status=OK),
    ],
    "check_before": [Row("task_checked", **_mine, status=OK)],
}
OWN_VIEW = {
    **CORE,
    "check_before": [
        Row("topic_read", node="k", offset=Kept("covered", at=lambda s, p: s.of[p.k], plus=1)),
        Row("task_checked", **_mine, status=OK),
    ],
}


def _config(bounds):
    return {}


def _showing(mode, rows):
    """No event tells of a late fence."""
    return Showing(mode, rows, never=("fence_late",), config=_config)


SHOWING = {
    Lingering: "when a round is over, and still answers, is in no history of a model's steps",
    Claiming: "which tasks a worker claims is in no history",
    ABehindCore: _showing("A", OWN_VIEW),
    ACore: _showing("A", OWN_VIEW),
    MCore: _showing("M", OWN_VIEW),
    BCore: _showing("B", ASKING),
    ShippedCore: _showing("shipped", ASKING),
}
