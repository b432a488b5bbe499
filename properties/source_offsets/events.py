"""The events of one source connector whose tasks write records and source offsets exactly once (KIP-618): kinds,
columns, and who shows them.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 10 is what operators do, from 10 on what happens to instances of tasks, from 20 on what they read of the offsets
topics, from 30 on what they poll and write, from 50 on what stands in the topics, from 60 on what an auditor reads,
from 70 on the migration of the earlier text.

A record of the source is known by partition, round and offset, of which `RECORD` is short: `offset` is the number of
records of its source partition up to and including it, the first has 1. An offset of 0 in an offsets topic is a
tombstone (a null offset), and 0 means none throughout. The last record of each round but the final one has a null
source offset, so that a tombstone is stored for it: the source has that partition read again from its beginning, which
is the next round. `topic` 0 is the worker's global offsets topic, 1 the connector's separate one.

What a task's thread does with Kafka is one call each, which has its end before anything else happens: `record_sent` is
followed by `record_appended`, `end_sent` by the markers, and these by `end_told`. A call whose answer is lost has no
`…_told`; what it did in the topics is there.
"""

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

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
    """What happened in one event: code, columns, and who shows it."""

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
    # One source offset is sent, in the open transaction of this producer, or (-1) beside any
    offset_sent = 36, f"{INSTANCE} producer_id? epoch? topic partition offset", TASK
    end_sent = 37, f"{TXN} outcome", TASK
    end_told = 38, f"{TXN} outcome error?", TASK
    # The connector has had its transaction aborted: it is not written, and its source offset is in the next commit
    given_up = 39, f"{INSTANCE} {RECORD}", TASK
    commit_called = 40, INSTANCE, TASK  # `SourceTask.commit`, also where there was nothing to commit
    # The same source offset is sent to the worker's topic, beside any transaction; nobody waits for that
    copy_sent = 41, f"{INSTANCE} topic partition offset", TASK
    copy_told = 42, f"{INSTANCE} topic partition offset error?", TASK

    # An entry stands at this position; -1: beside any transaction. Without partition it is the migration's sentinel.
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
    Column("error", "int16", "Kafka error code of an answer; 0 = none", absent=0),
)  # fmt: skip

SOURCE_OFFSETS = Vocabulary("source-offsets", Kind, COLUMNS, public=(OPERATOR, TASK, AUDITOR))
