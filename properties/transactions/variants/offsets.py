"""Offsets in transactions in the catalogue, with what happens where they count too early, too late, or after all."""

from collections.abc import Mapping

from fencepost.model.releases import MISTAKE, TRANSACTIONAL, Kafka
from fencepost.properties.entries import Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.transactions.claims.parts.group_memory import GroupMemoryProperties
from fencepost.properties.transactions.claims.parts.offsets import (
    MarkerDroppedProperties,
    OffsetsDeletedProperties,
    TransactionalOffsetsProperties,
)
from fencepost.properties.transactions.variants.bounds import NOT_BOUNDED
from fencepost.properties.transactions.variants.scripts import SCRIPT

_SMALL = dict(records=3, producers=2, log=5, fail_overs=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, log=6),
    "nightly": dict(_SMALL, records=4, log=6),
}
_MEMORY = dict(writes=3, fail_overs=1, failed_appends=1)
_WRITTEN = "memory_is_what_was_written"
_DROPPED = ("as_the_coordinator_decided", "no_aborted_offset_fetched", "answered_in_the_end")


def _wrong(name: str, says: str, alternative: str, breaks: str) -> Variant:
    """A known mistake, asked for no more than what it breaks."""
    others = Names(
        lambda: (n for n, p in TransactionalOffsetsProperties.properties.items() if p.role != "lemma" and n != breaks)
    )
    return Variant(
        name, TransactionalOffsetsProperties, says, "txn.21", ("txn.21", alternative), {breaks: "violated"},
        {"smoke": dict(_SMALL, fail_overs=0)}, others, of=MISTAKE,
    )  # fmt: skip


TRANSACTIONAL_OFFSETS = ProtocolEntry(
    "transactional-offsets",
    "Offsets committed in transactions: pending until the marker, in the order of the log, the same when read again.",
    (
        Variant(
            "transactional-offsets",
            TransactionalOffsetsProperties,
            "a group's memory of one key, and its log",
            bounds=_BOUNDS,
            progress_bounds=(
                dict(records=2, producers=1, log=4, fail_overs=1),
                dict(records=2, producers=2, log=4, fail_overs=1),
            ),
            depth={"smoke": 5, "ci": 7, "nightly": 9},
            of=Kafka("4.0.0", settings=TRANSACTIONAL),
        ),
        Variant(
            "offsets-deleted",
            OffsetsDeletedProperties,
            "offsets are deleted while they are pending: the transaction commits, and they do not count",
            bounds=_BOUNDS,
            leaves_out=("pending_is_the_last", "tombstones_settle"),  # they say that a tombstone waits
            progress_bounds=(dict(records=2, producers=1, log=4, fail_overs=1),),
            proof=False,
            depth=NOT_BOUNDED,
            judged=(),
            of=Kafka("4.0.0", settings=TRANSACTIONAL),
        ),
        _wrong(
            "offsets-fetched-early",
            "a fetch does not wait for pending commits",
            "fetch: guard 1 dropped",
            "not_before_it_is_decided",
        ),
        _wrong(
            "offsets-by-completion",
            "the transaction that ends last wins",
            "in_order_of_completion",
            "memory_is_what_the_log_says",
        ),
        Variant(
            "offsets-left-pending",
            OffsetsDeletedProperties,
            "a tombstone leaves what is pending alone, and a marker brings the offset back",
            "txn.21",
            ("txn.21", "left_pending"),
            {"memory_is_what_the_log_says": "violated"},
            {"smoke": dict(_SMALL, fail_overs=0)},
            Names(lambda: (n for n in OffsetsDeletedProperties.properties if n != "memory_is_what_the_log_says")),
            proof=False,
            depth=NOT_BOUNDED,
            of=MISTAKE,
        ),
        Variant(
            "offsets-marker-dropped",
            MarkerDroppedProperties,
            "the marker of a group's partition without a leader counts as written, and the next one decides two "
            "transactions",
            "txn.26",
            expected=dict.fromkeys(_DROPPED, "violated"),
            bounds={"smoke": dict(_SMALL, records=2, producers=1, log=4, fail_overs=0, absences=1)},
            leaves_out=Names(lambda: (n for n in MarkerDroppedProperties.properties if n not in _DROPPED)),
            progress_bounds=(dict(records=1, producers=1, log=3, fail_overs=0, absences=1),),
            depth=NOT_BOUNDED,
            of=Kafka("4.3", settings=TRANSACTIONAL),
        ),
        Variant(
            "group-memory",
            GroupMemoryProperties,
            "all that a group's coordinator has in memory, its open batch, and its log",
            bounds={"smoke": _MEMORY, "nightly": dict(_MEMORY, writes=4, failed_appends=2)},
            judged=("txn.27",),
            depth={"smoke": 8, "ci": 10, "nightly": 12},
            of=Kafka("4.4.0"),
        ),
        Variant(
            "group-memory-empty-flush",
            GroupMemoryProperties,
            "before a large record an empty batch is given up, and with it what the operation has done to memory: its "
            "record is in the log, and memory lacks it (KAFKA-20845, from 4.1.1 and 4.2.0 on)",
            "txn.27",
            ("txn.27", "empty_one_fails"),
            {_WRITTEN: "violated"},
            {"smoke": dict(_MEMORY, writes=1)},
            Names(lambda: (n for n in GroupMemoryProperties.properties if n != _WRITTEN)),
            proof=False,
            depth=NOT_BOUNDED,
            of=Kafka("4.1", "4.3"),
        ),
    ),
    {
        "writes": "one that is given up, one that is written, and one that is under way",
        "failed_appends": "one batch that can't be written",
        "records": "two that compete, and one that replaces either, or takes it away",
        "producers": "two transactions that end in another order than they committed in",
        "log": "two commits, two markers, and one place more for what comes after them",
        "absences": "a partition is without a leader once, when a marker is due",
        "fail_overs": "each reads the log from its beginning; a second one does the same",
    },
    scenarios=(
        Scenario(
            "KAFKA-9346",
            "the next owner of a partition fetches an offset that a pending commit is about to change",
            "offsets-fetched-early",
            "transactional-offsets",
            script=SCRIPT,
        ),
        Scenario(
            "KAFKA-20845",
            "an empty batch that is given up takes back what is written right after",
            "group-memory-empty-flush",
            "group-memory",
        ),
    ),
)
