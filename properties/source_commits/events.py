"""The events of one source task, its offsets topic and its upstream system: kinds, columns, and who shows them.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 10 is what happens to instances of the task, from 10 on what becomes of records, from 20 on what becomes of
offsets, from 30 on what the connector is told of them, from 40 on what upstream does, from 50 on transactions, from 60
on what an auditor reads.

`partition` is a source partition throughout. `record` is the place of a record in it, from 1. `offset` is a source
offset: n stands for all records up to the n-th, so that a restart resumes with record n + 1, and 0 is none (a
tombstone). `output` and `position` are of the topics that records are sent to. An instance tells a record apart by
(partition, record); another instance may poll the same again.

Events of one step stand together, in this order: a `flush_begun` and then its `flush_entry` rows; a `told` and then its
`told_offset` rows, and what upstream discards because of it; a `transaction_committed` and then the `produced` and
`offset_written` rows that count from there on.
"""

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

TASK = "task"  # instances of the connector's task log it: what they are asked, told, and do
OUTPUT = "output"  # it stands in a topic that records are sent to
OFFSETS = "offsets"  # it stands in the offsets topic
UPSTREAM = "upstream"  # the external system shows it
AUDITOR = "auditor"  # who reads the output as far as it is committed, and the stored offsets

RECORD = "instance partition record"
OFFSET = "instance partition offset"
THREAD = "instance thread"


class Kind(EventKind):
    """What happened in one event: code, columns, and who shows it."""

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

    # upstream is told that everything up to here is safe, and has forgotten it
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
