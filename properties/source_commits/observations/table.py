"""Which steps of the models of committing offsets a row of the retelling stands for, and what it checks."""

from fencepost.model.language import Bool, exists, forall, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.source_commits.at_least_once import Life, Offset, Partition, Stage, Thread
from fencepost.model.source_commits.exactly_once import Moment

COLUMNS = {
    "thread": Thread, "partition": Partition, "record": Offset, "offset": Offset, "outcome": Bool, "empty": Bool,
    "last": Bool,
}  # fmt: skip

T, P = {"t": "thread"}, {"p": "partition"}
PI, PO, PV = {**P, "i": "record"}, {**P, "i": "offset"}, {**P, "v": "offset"}


def _is_idle(s, e):
    return s.stage[e.thread] == Stage.IDLE


def _committer_is_idle(s, e):
    return ~e.last & _is_idle(s, e)


def _task_is_idle(s, e):
    return e.last & _is_idle(s, e)


def _is_left(s, e):
    """Something of the instance goes on."""
    return s.life != Life.GONE


def _is_stored(s, e):
    return s.stored[e.partition] == e.offset


def _is_told(s, e):
    return s.told[e.partition] == e.offset


def _is_taken(s, e):
    return s.taken[e.thread]


def _committer_takes(s, e):
    return _committer_is_idle(s, e) & ~s.taken[e.thread]


def _task_takes(s, e):
    return _task_is_idle(s, e) & ~s.taken[e.thread]


def _finds_nothing(s, e):
    """Nothing is collected that no thread has taken."""
    return forall(Partition, lambda p: s.merged[p] == 0)


def _has_its_turn(s, e):
    """No thread has taken offsets and not handed them over."""
    return ~exists(Thread, lambda u: s.taken[u])


def _is_ready(s, e):
    return s.stage[e.thread] == Stage.READY


READY = (
    Do("take_last", T, when=_task_is_idle),
    Do("take_nothing", T, when=_committer_is_idle),
)  # fmt: skip
"""A thread has looked, and there was nothing to take."""

WAIT_IN_VAIN = Do("wait_in_vain", T, when=_is_ready)
OVER = (Do("crash", {}, when=_is_left),)

INSTANCE = (
    Observation(
        "instance_started",
        (Do("restart", {}, when=lambda s, e: (s.life == Life.OVER) | (s.life == Life.GONE)),),
        after=lambda s, e: s.life == Life.RUNNING,
    ),
    Observation("resumed", before=_is_stored, rule="src.P2"),
    Observation(
        "stopping",
        (
            Do("hear_of_it", {}, when=lambda s, e: (s.life == Life.RUNNING) & s.fails),
            Do("stop", {}, when=lambda s, e: s.life == Life.RUNNING),
        ),
    ),
    Observation(
        "drained",
        (
            Do("await_all", {}, when=lambda s, e: e.outcome),
            Do("await_in_vain", {}, when=lambda s, e: ~e.outcome),
        ),
    ),
    Observation("instance_stopped", OVER),
    Observation("instance_failed", OVER),
    Observation("instance_killed", OVER),
)  # fmt: skip

RECORDS = (
    Observation("filtered", (Do("filter_out", PI),)),
    Observation("submitted", (Do("submit", PI),)),
    Observation("dropped", (Do("drop", PI),)),
    Observation("acknowledged", (Do("acknowledge", PI),)),
    Observation("given_up", (Do("tolerate", PI),)),
    Observation("send_failed", (Do("fail", PI),)),
    Observation("committable", (Do("collect", PO),)),
)

FLUSHES = (
    Observation(
        "snapshot_taken",
        (Do("take_last", T, when=_task_is_idle), Do("take", T, when=_committer_is_idle)),
        after=lambda s, e: s.data[e.partition] == e.offset,
        rule="src.10",
    ),
    Observation(
        "flush_begun",
        (*READY, Do("begin", T)),
        after=lambda s, e: (s.stage[e.thread] == Stage.WRITTEN) == e.empty,
        rule="src.10",
    ),
    Observation("flush_entry", before=lambda s, e: s.flushing[e.partition] == e.offset, rule="src.10"),
    Observation(
        "offset_written",
        (Do("arrive", PV, when=lambda s, e: s.sent[e.partition, e.offset]),),
        after=_is_stored,
        rule="src.4",
    ),
    Observation(
        "vanished",
        (Do("vanish", PV, when=lambda s, e: s.sent[e.partition, e.offset] & (s.flushing[e.partition] != e.offset)),),
    ),
    Observation(
        "flush_ended",
        (
            Do("succeed", T, when=lambda s, e: e.outcome & (s.stage[e.thread] == Stage.FLUSHING)),
            Do("give_up", T, when=lambda s, e: ~e.outcome),
        ),
    ),
    # Who waits in vain for the lock has taken nothing, and what was collected stays where it is.  Where nothing was,
    # the task's own thread may as well have taken that, and its last commit is over.
    Observation(
        "flush_refused",
        (Do("take_last", T, when=lambda s, e: _task_is_idle(s, e) & _finds_nothing(s, e)), WAIT_IN_VAIN),
    ),
    Observation("audited", before=_is_stored, rule="src.P1"),
    Observation(
        "discarded",
        (Do("release", P, when=lambda s, e: s.released[e.partition] < s.told[e.partition]),),
        after=lambda s, e: s.released[e.partition] == e.offset,
        rule="src.8",
    ),
)  # fmt: skip

PROPOSED = (
    *INSTANCE, *RECORDS, *FLUSHES,
    Observation("told", (Do("tell", T),), before=lambda s, e: s.flushes_nothing() == e.empty, rule="src.5"),
    Observation("told_offset", before=_is_told, rule="src.5"),
)  # fmt: skip
PUT = Do("put", T, when=_is_taken)
HANDED_OVER = (
    Do("take_last", T, when=_task_takes),
    PUT,
    Do("take_nothing", T, when=_committer_is_idle),
)  # fmt: skip
"""What a thread has taken goes to the writer when it is to begin its flush."""
APART = tuple(
    {
        "snapshot_taken": Observation(
            "snapshot_taken",
            (Do("take_last", T, when=_task_takes), Do("take", T, when=_committer_takes)),
            after=lambda s, e: s.holds[e.thread, e.partition] == e.offset,
            rule="src.13",
        ),
        "flush_begun": Observation(
            "flush_begun",
            (*HANDED_OVER, Do("begin", T)),
            after=lambda s, e: (s.stage[e.thread] == Stage.WRITTEN) == e.empty,
            rule="src.10",
        ),
        "flush_refused": Observation(
            "flush_refused",
            (
                Do("take_last", T, when=lambda s, e: _task_takes(s, e) & _finds_nothing(s, e) & _has_its_turn(s, e)),
                PUT,
                WAIT_IN_VAIN,
            ),
        ),
    }.get(observation.kind, observation)
    for observation in FLUSHES
)
MENDED = (
    *INSTANCE, *RECORDS, *APART,
    Observation("told", (Do("tell", T),)),
    Observation("looked_up", before=_is_told, rule="src.P1"),
)  # fmt: skip


def _runs(s, e):
    return ~s.over


def _works(s, e):
    return s.moment == Moment.WORKING


def _is_asked(s, e):
    return s.moment == Moment.ASKED


ONCE_OVER = (Do("crash", {}, when=_runs),)
ONCE = (
    Observation("instance_started", (Do("restart", {}, when=lambda s, e: s.over),), after=_runs),
    Observation("resumed", before=_is_stored, rule="src.P2"),
    Observation("filtered", (Do("filter_out", PI),)),
    Observation("submitted", (Do("submit", PI),)),
    Observation("transaction_aborted", (Do("abort_batch", {}, when=lambda s, e: e.outcome),)),
    Observation("flush_begun", (Do("end", {}),)),
    Observation("flush_entry", before=lambda s, e: s.flushing[e.partition] == e.offset, rule="src.5"),
    Observation(
        "transaction_committed",
        (Do("commit", {}, when=_is_asked),),
        # One whose only record the producer refused is empty, and its end is one of nothing.
        before=lambda s, e: _is_asked(s, e) | ((s.moment == Moment.COMMITTED) & s.flushes_nothing() & ~s.is_open()),
        rule="src.4",
    ),
    Observation("offset_written", before=_is_stored, rule="src.4"),
    Observation("instance_stopped", ONCE_OVER),
    Observation("instance_failed", ONCE_OVER),
    Observation("instance_killed", ONCE_OVER),
    Observation(
        "told",
        (Do("end", {}, when=_works), Do("tell", {})),
        after=lambda s, e: implies(e.empty, s.moment == Moment.WORKING),
    ),
    Observation("told_offset", before=_is_told, rule="src.5"),
    Observation(
        "discarded",
        (Do("release", P, when=lambda s, e: s.released[e.partition] < s.told[e.partition]),),
        after=lambda s, e: s.released[e.partition] == e.offset,
        rule="src.8",
    ),
    Observation("audited", before=_is_stored, rule="src.P1"),
)  # fmt: skip
