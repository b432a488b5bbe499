"""The events of producer id blocks (KIP-730): kinds, columns, and which column speaks in which kind.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
"""

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

BLOCK = "first length"

OUTSIDE = "outside"  # what every implementation can show


class Kind(EventKind):
    """What happened in one event: code, columns, and who shows it."""

    broker_started = 1, "broker broker_epoch"  # (re)started with an empty memory and registered under that epoch
    broker_stopped = 2, "broker"  # crashed: its blocks, its outstanding request and its back-off are gone
    request_sent = 3, "broker broker_epoch request", OUTSIDE  # AllocateProducerIds leaves the broker
    # the active controller appended the record; it is not committed yet
    block_recorded = 4, f"node broker broker_epoch request grant {BLOCK}"
    block_committed = 5, f"broker broker_epoch grant {BLOCK}"  # the record is majority-committed
    # the controller answers; with an error, grant and first are absent
    answer_sent = 6, f"node broker request grant {BLOCK} error", OUTSIDE
    answer_taken = 7, f"broker request grant {BLOCK}"  # the broker accepted the block as its next, prefetched one
    # ignored: late, or a second copy, and so not for the outstanding request
    answer_dropped = 8, "broker request error"
    # malformed, or starts at or below the last id held: back-off starts
    answer_refused = 9, f"broker request grant {BLOCK}"
    answer_failed = 10, "broker request error"  # an error answers the outstanding request: back-off starts
    request_timed_out = 11, "broker request"  # given up: the in-flight flag is cleared, without a back-off
    # the prefetched block becomes the current one; the in-flight flag is cleared
    block_installed = 12, f"broker {BLOCK}"
    id_handed_out = 13, "broker producer_id", OUTSIDE  # a client's InitProducerId was answered with this id
    id_refused = 14, "broker error", OUTSIDE  # a client's InitProducerId was answered with an error
    backoff_over = 15, "broker"  # the back-off deadline has passed; seen at the next demand after it
    controller_elected = 16, "node"  # a controller became active; uncommitted records and waiting requests are gone
    snapshot_taken = 17, "node first"  # a snapshot that says `first` is the next free id; the log before it is dropped
    zk_read = 18, "broker first"  # read ZooKeeper's block node; `first` is the first id it will try to take
    zk_written = 19, f"broker request {BLOCK}"  # the conditional write won: the block is taken
    zk_conflict = 20, "broker request"  # the conditional write lost
    migrated = 21, "first"  # KRaft took over from ZooKeeper with next free id `first`
    broker_upgraded = 22, "broker"  # from now on the broker uses the RPC instead of ZooKeeper
    # the controller refuses; the answer_sent with the same error follows
    request_refused = 23, "node broker request error"


COLUMNS = (
    Column("node", "int32", "controller node that acted"),
    Column("broker", "int32", "broker that acted or is addressed; for ZooKeeper events, absent = the controller"),
    Column("broker_epoch", "int64", "epoch under which the broker registered"),
    Column("request", "int64", "correlation number of an AllocateProducerIds request, unique in its history"),
    Column("grant", "int64", "ordinal of the record in the order of appending, lost records counted", "records"),
    Column("first", "int64", "first id of a block, inclusive; in snapshot_taken and migrated: next free id", "ids"),
    Column("length", "int32", "number of ids in the block", "ids"),
    Column("producer_id", "int64", "the id that a client was given"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", "int16", "Kafka error code of an answer; 0 = none", absent=0),
)

ID_BLOCKS = Vocabulary("id-blocks", Kind, COLUMNS, public=(OUTSIDE,))
