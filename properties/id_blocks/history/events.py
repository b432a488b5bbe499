"""The events of producer id blocks (KIP-730): kinds, columns, and which column speaks in which kind.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
"""

from enum import IntEnum
from types import MappingProxyType

import pyarrow as pa
from fencepost.properties.history.vocabulary import Column, Vocabulary


class Kind(IntEnum):
    """What happened in one event; the code is what stands in the `kind` column."""

    broker_started = 1  # (re)started with an empty memory and registered under that epoch
    broker_stopped = 2  # crashed: its blocks, its outstanding request and its back-off are gone
    request_sent = 3  # AllocateProducerIds leaves the broker
    block_recorded = 4  # the active controller appended the record; it is not committed yet
    block_committed = 5  # the record is majority-committed
    answer_sent = 6  # the controller answers; with an error, grant and first are absent
    answer_taken = 7  # the broker accepted the block as its next, prefetched one
    answer_dropped = 8  # ignored: late, or a second copy, and so not for the outstanding request
    answer_refused = 9  # malformed, or starts at or below the last id held: back-off starts
    answer_failed = 10  # an error answers the outstanding request: back-off starts
    request_timed_out = 11  # given up: the in-flight flag is cleared, without a back-off
    block_installed = 12  # the prefetched block becomes the current one; the in-flight flag is cleared
    id_handed_out = 13  # a client's InitProducerId was answered with this id
    id_refused = 14  # a client's InitProducerId was answered with an error
    backoff_over = 15  # the back-off deadline has passed; seen at the next demand after it
    controller_elected = 16  # a controller became active; uncommitted records and waiting requests are gone
    snapshot_taken = 17  # a snapshot that says `first` is the next free id; the log before it is dropped
    zk_read = 18  # read ZooKeeper's block node; `first` is the first id it will try to take
    zk_written = 19  # the conditional write won: the block is taken
    zk_conflict = 20  # the conditional write lost
    migrated = 21  # KRaft took over from ZooKeeper with next free id `first`
    broker_upgraded = 22  # from now on the broker uses the RPC instead of ZooKeeper
    request_refused = 23  # the controller refuses; the answer_sent with the same error follows


COLUMNS = (
    Column("node", pa.int32(), "controller node that acted"),
    Column("broker", pa.int32(), "broker that acted or is addressed; for ZooKeeper events, absent = the controller"),
    Column("broker_epoch", pa.int64(), "epoch under which the broker registered"),
    Column("request", pa.int64(), "correlation number of an AllocateProducerIds request, unique in its history"),
    Column("grant", pa.int64(), "ordinal of the record in the order of appending, lost records counted", "records"),
    Column("first", pa.int64(), "first id of a block, inclusive; in snapshot_taken and migrated: next free id", "ids"),
    Column("length", pa.int32(), "number of ids in the block", "ids"),
    Column("producer_id", pa.int64(), "the id that a client was given"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", pa.int16(), "Kafka error code of an answer; 0 = none", absent=0),
)

_BLOCK = ("first", "length")
USED_BY = MappingProxyType(
    {
        "broker_started": ("broker", "broker_epoch"),
        "broker_stopped": ("broker",),
        "request_sent": ("broker", "broker_epoch", "request"),
        "block_recorded": ("node", "broker", "broker_epoch", "request", "grant", *_BLOCK),
        "block_committed": ("broker", "broker_epoch", "grant", *_BLOCK),
        "answer_sent": ("node", "broker", "request", "grant", *_BLOCK, "error"),
        "answer_taken": ("broker", "request", "grant", *_BLOCK),
        "answer_dropped": ("broker", "request", "error"),
        "answer_refused": ("broker", "request", "grant", *_BLOCK),
        "answer_failed": ("broker", "request", "error"),
        "request_timed_out": ("broker", "request"),
        "block_installed": ("broker", *_BLOCK),
        "id_handed_out": ("broker", "producer_id"),
        "id_refused": ("broker", "error"),
        "backoff_over": ("broker",),
        "controller_elected": ("node",),
        "snapshot_taken": ("node", "first"),
        "zk_read": ("broker", "first"),
        "zk_written": ("broker", "request", *_BLOCK),
        "zk_conflict": ("broker", "request"),
        "migrated": ("first",),
        "broker_upgraded": ("broker",),
        "request_refused": ("node", "broker", "request", "error"),
    }
)

ID_BLOCKS = Vocabulary("id-blocks", Kind, COLUMNS, USED_BY)
