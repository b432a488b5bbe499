"""The events of a consumer group that copies its input exactly once (KIP-447): kinds, columns, and who shows them.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 10 is what happens to instances of the application, from 10 on what their consumers see, from 20 on what their
producers send and hear, from 40 on what the group's coordinator does, from 50 on the transactions' coordinator, from 60
on what an auditor reads.

A copy is known by the place of the record that it is a copy of: `partition` and `offset` are of the input throughout,
`output` and `position` of the output. A committed offset is that of the next record to read, as in Kafka.
"""

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

CLIENT = "slot client"
PRODUCER = f"{CLIENT} txn producer_id epoch"
PLACE = "partition offset"
COMMIT = f"generation member instance {PLACE} producer_id epoch"

APPLICATION = "application"  # instances log it
AUDITOR = "auditor"  # who reads the output as far as it is committed, and asks for the group's offsets
OFFSETS = "offsets"  # it stands in the log that the group's offsets are kept in


class Kind(EventKind):
    """What happened in one event: code, columns, and who shows it."""

    instance_started = 1, CLIENT, APPLICATION  # an instance of the application, or its successor in the slot
    instance_stopped = 2, f"{CLIENT} error?", APPLICATION  # it ends in order, or was killed: what it sent stays
    instance_failed = 3, f"{CLIENT} error?", APPLICATION  # error: of its consumer or producer, if known
    paused = 4, CLIENT, APPLICATION  # the process stands still, heartbeats included
    resumed = 5, CLIENT, APPLICATION

    joined = 10, f"{CLIENT} generation member instance?", APPLICATION  # it knows that it is in this generation
    assigned = 11, f"{CLIENT} partition generation", APPLICATION  # it takes a partition that it did not have
    revoked = 12, f"{CLIENT} partition", APPLICATION  # it gives it up as the group wants it to
    lost = 13, f"{CLIENT} partition", APPLICATION  # it gives it up since it is out of the group
    offset_fetched = 14, f"{CLIENT} {PLACE}? error?", APPLICATION  # where it begins; -1: nothing is committed
    consumed = 15, f"{CLIENT} {PLACE} generation", APPLICATION  # a record is handed to the application
    left = 16, f"{CLIENT} generation? member? instance?", APPLICATION

    init_told = 20, f"{PRODUCER}! error?", APPLICATION  # initTransactions() has its answer
    txn_begun = 21, PRODUCER, APPLICATION
    output_sent = 22, f"{PRODUCER} output {PLACE}", APPLICATION  # the copy of one record is sent
    offset_sent = 23, f"{PRODUCER} {PLACE} generation? member? instance?", APPLICATION  # with what it says of itself
    end_sent = 24, f"{PRODUCER} outcome", APPLICATION
    end_told = 25, f"{PRODUCER} outcome error?", APPLICATION
    offset_put = 26, f"{CLIENT} {PLACE} generation?", APPLICATION  # committed beside any transaction

    generation_begun = 40, "generation", OFFSETS
    member_removed = 41, "member instance? generation"
    offset_taken = 42, COMMIT, OFFSETS  # one offset of a commit in a transaction: it is pending
    offset_refused = 43, f"{COMMIT} error"
    fetch_held = 44, "partition error"  # no offset is told, as one is pending
    coordinator_loaded = 45, "generation", OFFSETS  # another coordinator goes on with this generation
    # the transaction of a pending offset has ended: outcome 1, and it counts, or 0, and it is no more
    offset_settled = 46, f"{PLACE} producer_id epoch outcome", OFFSETS
    # outcome 1 where the member asks for what no transaction can change any more (require_stable)
    fetch_answered = 47, f"{PLACE} outcome generation? member?"
    # under the new protocol (KIP-848): the member is at this epoch from now on; -2: a static one left for a while
    epoch_given = 48, "member generation", OFFSETS
    # outcome 1: it has the partition from this epoch on; 0: the partition is free again, and the epoch follows
    partition_given = 49, "member partition generation outcome", OFFSETS

    # by an initialisation of who was assigned that partition in that generation
    producer_fenced = 50, "generation? member? partition? txn? producer_id epoch"
    init_refused = 51, "generation? member? txn? producer_id? epoch? error"

    output_read = 60, f"output position {PLACE}", AUDITOR  # a committed copy
    audited = 61, PLACE, AUDITOR  # the group's offset in a partition; -1: none


COLUMNS = (
    Column("slot", "int32", "place of an instance, from 0: one after another holds it"),
    Column("client", "int64", "instance of the application, unique in its history"),
    Column("member", "int64", "member id in the group, numbered in the order in which they are given out"),
    Column("generation", "int64", "generation of a classic group; member epoch under the new protocol (KIP-848)"),
    Column("instance", "int32", "group.instance.id of a static member"),
    Column("partition", "int32", "partition of the input"),
    Column("offset", "int64", "offset in the input: of a record; of a commit, that of the next record to read"),
    Column("output", "int32", "partition of the output"),
    Column("position", "int64", "offset in the output"),
    Column("txn", "int64", "transactional id"),
    Column("producer_id", "int64", "producer id"),
    Column("epoch", "int32", "producer epoch"),
    Column("outcome", "int8", "1: commit, stable; 0: abort, whatever is there"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", "int16", "Kafka error code of an answer; 0 = none", absent=0),
)  # fmt: skip

GROUP_FENCING = Vocabulary("group-fencing", Kind, COLUMNS, public=(APPLICATION, AUDITOR))
