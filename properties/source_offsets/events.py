"""This module defines the events of one source connector whose tasks write records and source offsets exactly once
(KIP-618): their kinds, their columns, and who observes them.

Codes and names are a file format: histories written years ago carry them. Add new codes at the end, and never renumber.
Codes below 10 are events of operators, from 10 on of instances of tasks, from 20 on of reading the offsets topics, from
30 on of polling and writing, from 50 on of the topics, from 60 on of what an auditor reads, and from 70 on of the
migration of the earlier text.

A record of the source is identified by partition, round and offset, which `RECORD` abbreviates: `offset` is the number
of records of its source partition up to and including it, so the first has 1. An offset of 0 in an offsets topic is a
tombstone (a null offset), and 0 always means none. The last record of each round but the final one has a null source
offset, so that a tombstone is stored for it: the source has that partition read again from its beginning, which is the
next round. `topic` 0 is the worker's global offsets topic, 1 the connector's separate one.

Each interaction of a task's thread with Kafka is one call, which ends before anything else happens: `record_sent` is
followed by `record_appended`, `end_sent` by the markers, and these by `end_told`. A call whose answer is lost has no
`…_told` event, but its effect in the topics remains.
"""

from fencepost.model.language import Bool, forall
from fencepost.model.language.observations import Do, Observation
from fencepost.model.source_offsets.core import Instance, Partition, Place, Stage
from fencepost.model.source_offsets.delivered import Offset
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.history.vocabulary import KAFKA_ERROR, Column, EventKind, Vocabulary

INSTANCE = "task instance"
TXN = f"{INSTANCE} producer_id epoch"
RECORD = "partition round offset"
READER = "task? instance? owner? topic position"

OPERATOR = "operator"  # who configures the connector and runs the workers knows
TASK = "task"  # instances log it
OUTPUT = "output"  # it stands in the topic of the records
OFFSETS = "offsets"  # it stands in an offsets topic
AUDITOR = "auditor"  # who reads the output as far as it is committed, and asks where a restart would resume


class Kind(EventKind):
    # The newest set of so many tasks, numbered by `generation`; their offsets go to this topic. What it does not run
    # on has been stopped, fenced or left behind before: see `fenced`.
    configured = 1, "generation count topic runtime", OPERATOR
    topic_deleted = 2, "topic", OPERATOR  # and made anew, empty
    # The transactional id of that task has this pair from here on, asked for before a new set starts, or by the next
    # instance: earlier producers of it are refused, and what they had open is decided.
    fenced = 3, "task producer_id epoch"

    instance_started = 10, f"{INSTANCE} generation runtime", TASK
    # initTransactions() has its answer
    producer_opened = 11, f"{TXN}! error?", TASK
    instance_checked = 12, f"{INSTANCE} outcome", TASK  # 1: it is of the newest set, and goes on; 0: it is not
    # Its offsets are found, and `SourceTask.start` has returned
    instance_running = 13, INSTANCE, TASK
    instance_stopped = 14, f"{INSTANCE} runtime", TASK  # in order, as it was asked to
    instance_failed = 15, f"{INSTANCE} runtime error?", TASK  # what it had open stays open
    instance_killed = 16, f"{INSTANCE} runtime", TASK  # its process is gone
    stalled = 17, INSTANCE, TASK  # its process stands still
    resumed = 18, INSTANCE, TASK

    # The end of a topic, asked with read_uncommitted: the position behind its last entry or marker
    end_asked = 20, READER, TASK
    # Consumed, with read_committed, up to this position, which is not below the end that was asked
    end_reached = 21, READER, TASK
    # Where the instance begins with a partition: what it found, and in which topic; -1 and 0: nowhere
    offset_found = 22, f"{INSTANCE} topic? partition offset", TASK

    polled = 30, f"{INSTANCE} {RECORD}", TASK  # `SourceTask.poll` hands it over
    filtered = 31, f"{INSTANCE} {RECORD}", TASK  # a transformation drops it
    txn_begun = 32, TXN, TASK
    record_sent = 33, f"{INSTANCE} producer_id? epoch? {RECORD}", TASK
    batch_ended = 34, INSTANCE, TASK  # all records of one poll are sent or filtered
    # The connector wants the transaction to end with this batch: 1 committed, 0 aborted
    boundary_asked = 35, f"{INSTANCE} outcome", TASK
    # One source offset is sent, in the open transaction of this producer, or (-1) outside any
    offset_sent = 36, f"{INSTANCE} producer_id? epoch? topic partition offset", TASK
    end_sent = 37, f"{TXN} outcome", TASK
    end_told = 38, f"{TXN} outcome error?", TASK
    # The connector has had its transaction aborted: it is not written, and its source offset is in the next commit
    given_up = 39, f"{INSTANCE} {RECORD}", TASK
    commit_called = 40, INSTANCE, TASK  # `SourceTask.commit`, also where there was nothing to commit
    # The same source offset is sent to the worker's topic, outside any transaction; no thread waits for that
    copy_sent = 41, f"{INSTANCE} topic partition offset", TASK
    copy_told = 42, f"{INSTANCE} topic partition offset error?", TASK

    # An entry stands at this position; -1: outside any transaction. Without partition it is the migration's sentinel.
    entry_appended = 50, "topic position partition? offset? producer_id? epoch?", OFFSETS
    topic_marked = 51, "topic position producer_id epoch outcome", OFFSETS  # 1: committed, 0: aborted
    record_appended = 52, f"position {RECORD} producer_id? epoch?", OUTPUT
    output_marked = 53, "position producer_id epoch outcome", OUTPUT

    output_read = 60, f"position {RECORD}", AUDITOR  # a committed record
    # Where a restart would resume now, as no transaction is open: what is found, and in which topic; `round` is the one
    # that the partition is in, as far as the output is committed
    audited = 61, "partition topic? round offset", AUDITOR

    owner_started = 70, "owner", TASK  # a worker has the Connector, and looks after its separate topic
    looked = 71, "owner outcome", TASK  # the topic has an entry (1), or is empty (0) as far as it was read
    # A source offset (without partition: the sentinel) goes from the global topic to the separate one, in a transaction
    migrated = 72, "owner producer_id? epoch? partition? offset?", TASK
    owner_done = 73, "owner outcome", TASK  # 1: the Connector starts; 0: it has failed, or is gone
    owner_stalled = 74, "owner", TASK
    owner_resumed = 75, "owner", TASK


COLUMNS = (
    Column("task", "int32", "slot of a task, from 0, which is its transactional id: one instance after another has it"),
    Column("instance", "int64", "one run of a task, unique in its history"),
    Column("generation", "int32", "set of tasks, numbered in the order in which they are configured, from 0"),
    Column("owner", "int64", "one run of the Connector, unique in its history"),
    Column("topic", "int8", "offsets topic: 0 the worker's global one, 1 the connector's separate one"),
    Column("position", "int64", "place in a topic partition, from 0"),
    Column("partition", "int32", "source partition, from 0"),
    Column("round", "int32", "how often the source partition was begun anew, by a committed tombstone"),
    Column("offset", "int64", "source offset: records of the partition up to and including this one; 0: none"),
    Column("producer_id", "int64", "producer id"),
    Column("epoch", "int32", "producer epoch"),
    Column("count", "int32", "number of tasks"),
    Column("runtime", "int8", "0: exactly once; 1: the feature is off; 2: software from before it, without own topics"),
    Column("outcome", "int8", "1: commit, as it should be; 0: abort, as it should not"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    KAFKA_ERROR,
)  # fmt: skip

SOURCE_OFFSETS = Vocabulary("source-offsets", Kind, COLUMNS, public=(OPERATOR, TASK, AUDITOR))


# Which variants the reference implementation has, and how histories of each are simulated.

REFERENCE = "fencepost.reference_impl.systems.source_offsets"

FROM_THE_START = "shipped-own-topic-from-the-start"
RIGHT = ("text-merged-view", "migration-sentinel", "shipped", FROM_THE_START)
REFUTED = frozenset({"shipped-own-topic-later", "shipped-own-topic-taken"})
"""The shipped modes in `REFUTED` break promises, and are driven and simulated to observe that."""
MISTAKES = REFUTED | {
    "migration-race", "stale-topic", "tombstone-primary-first", "late-copies", "copied", "up-to-the-last-stable",
    "separate-transactions", "falls-back-alone", "copies-when-committed-alone",
}  # fmt: skip
"""The mistakes in `MISTAKES` are driven and simulated as well, and no release makes those that are not in `REFUTED`."""
NOW_AND_THEN = MISTAKES | {FROM_THE_START}
"""`fencepost verify` drives and simulates these modes on request."""

CONFIG = {"events": 400, "partitions": 3, "tasks": 3, "records": 12, "quiet_end": True}
"""Simulated histories have faults for ``events`` events, and then the source is read to its end, if it can be."""

WITH_TOMBSTONES = ("tombstone-primary-first", "late-copies")
SWITCHED_ON = (
    "copies-when-committed-alone", "shipped-own-topic-later", "shipped", "copied", "migration-race",
    "migration-sentinel",
)  # fmt: skip
"""The modes in `SWITCHED_ON` need an offsets topic that the connector gets only later, or never."""

DRIVEN = (*RIGHT, *sorted(MISTAKES))
IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN)
SIMULATORS = tuple(
    (
        mode,
        f"{REFERENCE}:simulate_with_stats",
        {"mode": mode, **CONFIG, "rounds": 1 + (mode in WITH_TOMBSTONES), "separate": mode not in SWITCHED_ON},
    )
    for mode in DRIVEN
)


# Which events of source tasks detect a danger; see `fencepost.properties.history.signs`.

FENCED = (47, 90)
"""The error codes in `FENCED` are INVALID_PRODUCER_EPOCH and PRODUCER_FENCED."""


def _fenced(e: Events) -> int:
    rows = e.of(Kind.instance_failed)
    return int(sum((e["error"][rows] == code).sum() for code in FENCED))


def _late_commits(e: Events) -> int:
    return max(0, len(e.of(Kind.end_sent)) - len(e.of(Kind.end_told)))


def _later_sets(e: Events) -> int:
    return int((e["generation"][e.of(Kind.configured)] > 0).sum())


def _given_up(e: Events) -> int:
    """Return how many transactions are aborted although no client has asked for that."""
    ended = e.of(Kind.output_marked)
    return int((e["outcome"][ended] == 0).sum())


SIGNS = (
    events("client-crash", "instances whose process is gone", Kind.instance_killed),
    Sign("client-crash", "transactions that are aborted", _given_up),
    events("zombie", "instances that stand still and go on", Kind.resumed),
    Sign("zombie", "instances that are fenced", _fenced),
    Sign("lost-answer", "ends of transactions that are not answered", _late_commits),
    Sign("rebalance", "sets of tasks that take the place of others", _later_sets),
    Sign("several-partitions", "source partitions of an instance beside its first",
         lambda e: e.further(e.of(Kind.offset_found), ("instance",), "partition")),
    Sign("several-tasks", "tasks beside the first", lambda e: e.further(e.of(Kind.instance_started), (), "task")),
)  # fmt: skip


# These observations state which steps of the model of source offsets a row of the translation stands for, and what it
# checks.

MODEL_COLUMNS = {
    "instance": Instance, "partition": Partition, "record": Offset, "offset": Offset, "outcome": Bool, "failed": Bool,
    "separate": Bool, "sent": Bool,
}  # fmt: skip

N = {"n": "instance"}
NP = {**N, "p": "partition"}
NPI = {**NP, "i": "record"}


def _runs(s, e):
    return ~s.over[e.instance] & (s.stage[e.instance] != Stage.NEW)


def _is_followed(s, e):
    """Return whether the instance is followed, which one of an older set is not that has opened its producer late."""
    return s.stage[e.instance] != Stage.NEW


def _is_to_resume(s, e):
    return _runs(s, e) & (s.stage[e.instance] == Stage.CHECKED)


def _is_older(s, e):
    """Return whether the instance finds that a newer set has replaced its own."""
    return _runs(s, e) & (s.stage[e.instance] == Stage.OPENED) & ~s.is_newest(e.instance)


def _works(s, e):
    return _runs(s, e) & ((s.stage[e.instance] == Stage.WORKING) | (s.stage[e.instance] == Stage.ASKED))


def _place(s, e):
    return s.place[e.instance, e.partition, e.record]


def _is_copied(s, e):
    return (0 < s.copying[e.instance, e.partition]) & (s.copying[e.instance, e.partition] == e.offset)


OVER = (Do("crash", N, when=_runs), Do("forget", N))

SETS = (
    Observation("configured", (Do("give_own_topic", {}, when=lambda s, e: e.separate & ~s.separate),),
                after=lambda s, e: s.separate == e.separate),
    Observation("given", (Do("assign", NP, when=lambda s, e: s.newest[e.partition] != e.instance),)),
    Observation("fenced", (Do("fence", N, when=lambda s, e: _is_followed(s, e) & ~s.fenced[e.instance]),)),
)  # fmt: skip
INSTANCES = (
    Observation("producer_opened", (Do("open", N),)),
    Observation(
        "instance_checked",
        (Do("check", N, when=lambda s, e: e.outcome), Do("abandon", N, when=lambda s, e: ~e.outcome & _is_older(s, e))),
    ),
    Observation("end_reached", (Do("resume", N, when=_is_to_resume),)),
    Observation("offset_found", before=lambda s, e: s.polled[e.instance, e.partition] == e.offset, rule="618.31"),
    Observation("instance_running", before=lambda s, e: s.stage[e.instance] == Stage.WORKING, rule="618.20"),
    Observation("instance_stopped", OVER),
    Observation(
        "instance_failed",
        (Do("find_out", N, when=lambda s, e: _runs(s, e) & s.fenced[e.instance]), Do("fail", N, when=_works), *OVER),
    ),
    Observation("instance_killed", OVER),
)  # fmt: skip
RECORDS = (
    Observation("filtered", (Do("filter_out", NPI),)),
    Observation("record_sent", (Do("submit", NPI),)),
    Observation("given_up", (Do("abort_batch", N, when=lambda s, e: _place(s, e) == Place.INSIDE),),
                after=lambda s, e: _place(s, e) == Place.LEFT_OUT),
    Observation("offset_sent", before=lambda s, e: s.data[e.instance, e.partition] == e.offset, rule="618.27"),
    Observation("flushed", before=lambda s, e: (0 < s.data[e.instance, e.partition]) == e.sent, rule="618.27"),
    Observation("end_sent", (Do("flush", N),)),
    Observation("topic_marked", (Do("commit", N),)),
    Observation(
        "commit_called",
        (Do("call_commit", N, when=lambda s, e: (s.stage[e.instance] == Stage.COMMITTED) | s.has_polled(e.instance)),),
        before=lambda s, e: (s.stage[e.instance] == Stage.COMMITTED)
        | forall(Partition, lambda p: s.data[e.instance, p] == 0),
        after=lambda s, e: s.stage[e.instance] == Stage.WORKING,
        rule="618.28",
    ),
    Observation(
        "copy_told",
        (
            Do("copy", NP, when=lambda s, e: ~e.failed & _is_copied(s, e)),
            Do("copy_in_vain", NP, when=lambda s, e: e.failed & _is_copied(s, e)),
        ),
    ),
    Observation("output_read", before=lambda s, e: e.record <= s.found(e.partition), rule="618.P2"),
    Observation("audited", before=lambda s, e: s.found(e.partition) == e.offset, rule="618.P2"),
)  # fmt: skip

TABLE = (*SETS, *INSTANCES, *RECORDS)
