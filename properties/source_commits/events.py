"""This module defines the events of one source task, its offsets topic and its upstream system: their kinds, their
columns, and who observes them.

Codes and names are a file format: histories written years ago carry them. Add new codes at the end, and never renumber.
Codes below 10 are events of instances of the task, from 10 on of records, from 20 on of offsets, from 30 on of
notifications to the connector, from 40 on of upstream, from 50 on of transactions, and from 60 on of what an auditor
reads.

`partition` is always a source partition. `record` is the place of a record in it, from 1. `offset` is a source offset:
n stands for all records up to the n-th, so that a restart resumes with record n + 1, and 0 is none (a tombstone).
`output` and `position` are of the topics that records are sent to. An instance distinguishes a record by (partition,
record), and another instance may poll the same record again.

Events of one step stand together, in this order: a `flush_begun` and then its `flush_entry` rows; a `told` and then its
`told_offset` rows, and what upstream discards because of it; a `transaction_committed` and then the `produced` and
`offset_written` rows that count from there on.
"""

from fencepost.model.language import Bool, exists, forall, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.source_commits.at_least_once import Life, Offset, Partition, Stage, Thread
from fencepost.model.source_commits.exactly_once import Moment
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

TASK = "task"  # instances of the connector's task log it: what they are asked, answered, and do
OUTPUT = "output"  # it stands in a topic that records are sent to
OFFSETS = "offsets"  # it stands in the offsets topic
UPSTREAM = "upstream"  # the external system reveals it
AUDITOR = "auditor"  # who reads the output as far as it is committed, and the stored offsets

RECORD = "instance partition record"
OFFSET = "instance partition offset"
THREAD = "instance thread"


class Kind(EventKind):
    instance_started = 1, "instance", TASK  # its producer is there; it has not read its offsets yet
    # one row for each source partition: the stored offset that it goes on from
    resumed = 2, OFFSET, TASK
    stopping = 3, "instance outcome", TASK  # its loop is over: outcome 1 it was asked to stop, 0 by an error
    instance_stopped = 4, "instance", TASK  # it has ended in order, all that it had in flight is decided or lost
    instance_failed = 5, "instance", TASK  # it has ended after an error
    instance_killed = 6, "instance", TASK  # its process is gone, with its memory and (but for zombies) its requests

    polled = 10, f"{RECORD} offset", TASK  # poll() returns it, with the source offset that it carries
    filtered = 11, f"{RECORD} offset", TASK  # a transformation dropped it: commitRecord(record, null)
    submitted = 12, f"{RECORD} offset output"  # it is tracked, and the producer has it
    dropped = 13, f"{RECORD} offset"  # the producer refused it at once: it is tracked no more, and sent again later
    # it counts for read_committed readers from here on; of a transaction, when that is committed
    produced = 14, f"{RECORD} output position", OUTPUT
    acknowledged = 15, f"{RECORD} offset output position", TASK  # commitRecord(record, metadata)
    # commitRecord(record, null): it will not be sent (any more), as a failure of it is tolerated, or as its transaction
    # is aborted at the connector's own wish
    given_up = 16, f"{RECORD} offset", TASK
    send_failed = 17, RECORD  # it was not acknowledged, and that is not tolerated: the task will fail

    # the task's thread takes the acknowledged heads off a queue; `offset`: of the last one
    committable = 20, OFFSET
    # one row for each source partition: a committing thread takes what became committable since it was taken last
    snapshot_taken = 21, f"{THREAD} partition offset"
    flush_begun = 22, f"{THREAD} flush entries"  # with so many source partitions; 0: nothing is to be flushed
    flush_entry = 23, f"{OFFSET} flush"
    # a restart resumes from it from here on; of a transaction, when that is committed. It may be of a flush that was
    # given up by then, and of an instance that has ended
    offset_written = 24, f"{OFFSET} flush position", OFFSETS
    # outcome 1: all of it is written, and known to be; 0: some of it failed, or it took too long, and all is merged
    # back
    flush_ended = 25, f"{THREAD} flush outcome"
    flush_refused = 26, THREAD  # another flush took too long, and this thread gives up before it begins one
    # the final wait for records in flight is over; outcome 1: all of them are acknowledged, 0: it took too long
    drained = 27, "instance outcome"

    told = 30, f"{THREAD} entries", TASK  # commit(map) is called, with so many entries; entries -1: commit() is
    told_offset = 31, f"{THREAD} partition offset", TASK  # an entry of the map
    # what the connector reads of the offsets topic when commit() is called; 0: nothing is stored
    looked_up = 32, OFFSET, TASK
    telling_failed = 33, THREAD, TASK  # commit threw an exception, which is logged and ignored

    # upstream is informed that everything up to here is safe, and has forgotten it
    discarded = 40, OFFSET, UPSTREAM

    transaction_begun = 50, "instance"
    transaction_committed = 51, "instance", OUTPUT
    # outcome 1: at the connector's own wish, 0: by the next instance, which begins with it
    transaction_aborted = 52, "instance outcome", OUTPUT

    output_read = 60, "output position partition record", AUDITOR  # a committed record
    audited = 61, "partition offset", AUDITOR  # the stored offset; 0: none


COLUMNS = (
    Column("instance", "int64", "run of the task, numbered from 0 over the whole history"),
    Column("thread", "int8", "who commits offsets: 0 the task's own thread (the final commit), 1 the committer"),
    Column("partition", "int32", "source partition"),
    Column("record", "int64", "place of a record in its source partition, from 1"),
    Column("offset", "int64", "source offset: stands for so many records of the partition; 0: none"),
    Column("output", "int32", "partition that a record is sent to"),
    Column("position", "int64", "place in it, or in the offsets topic, from 0"),
    Column("flush", "int64", "flush of offsets, numbered over the whole history"),
    Column("entries", "int32", "how many source partitions a flush or a map has"),
    Column("outcome", "int8", "1: as it should be, 0: not; see the kind"),
)

SOURCE_COMMITS = Vocabulary("source-commits", Kind, COLUMNS, public=(TASK, OUTPUT, OFFSETS, UPSTREAM, AUDITOR))


# Which events of a source task detect a danger; see `fencepost.properties.history.signs`.


def _failed(e: Events, *kinds: Kind) -> int:
    rows = e.of(*kinds)
    return int((e["outcome"][rows] == 0).sum())


def _out_of_order(e: Events) -> int:
    """Return how many acknowledgements come after that of a later record of their instance and source partition."""
    rows = e.of(Kind.acknowledged)
    groups = e.groups(rows, "instance", "partition")
    newest: dict[int, int] = {}
    late = 0
    for group, record in zip(groups.tolist(), e["record"][rows].tolist(), strict=True):
        late += record < newest.get(group, 0)
        newest[group] = max(record, newest.get(group, 0))
    return late


def _answers_lost(e: Events) -> int:
    """Return how many records are in the output although their instance takes them for failed."""
    return len(e.after(e.of(Kind.given_up, Kind.send_failed), e.of(Kind.produced), "instance", "partition", "record"))


SIGNS = (
    events("client-crash", "processes of the task that are gone", Kind.instance_killed),
    Sign("time-out", "final waits that take too long", lambda e: _failed(e, Kind.drained)),
    events("time-out", "commits that give up before they flush", Kind.flush_refused),
    Sign("failed-append", "flushes that fail or take too long", lambda e: _failed(e, Kind.flush_ended)),
    Sign("lost-answer", "records that were taken for failed and are there", _answers_lost),
    Sign("reordering", "records acknowledged after later ones", _out_of_order),
    Sign("several-partitions", "source partitions of an instance beside its first",
         lambda e: e.further(e.of(Kind.polled), ("instance",), "partition")),
)  # fmt: skip


# These observations state which steps of the models of committing offsets a row of the translation stands for, and what
# it checks.

MODEL_COLUMNS = {
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
    """Return whether some activity of the instance goes on."""
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
    """Return whether no offset is collected that no thread has taken."""
    return forall(Partition, lambda p: s.merged[p] == 0)


def _has_its_turn(s, e):
    """Return whether no thread has taken offsets without handing them over."""
    return ~exists(Thread, lambda u: s.taken[u])


def _is_ready(s, e):
    return s.stage[e.thread] == Stage.READY


READY = (
    Do("take_last", T, when=_task_is_idle),
    Do("take_nothing", T, when=_committer_is_idle),
)  # fmt: skip
"""The steps in `READY` are taken when a thread has looked for offsets to take and there were none."""

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
"""The steps in `HANDED_OVER` hand the offsets that a thread has taken to the writer before its flush begins."""
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
