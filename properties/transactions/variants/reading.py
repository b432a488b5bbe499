"""This module has variants of offsets in transactions, of reading, and of recovery from the log, and what happens where
offsets count too early, too late, or though aborted."""

from collections.abc import Mapping

from fencepost.model.language.properties import Properties
from fencepost.model.releases import TRANSACTIONAL, UNCLEAN, V1, V2, Kafka
from fencepost.model.transactions.parts.cleaning import EntriesTooSoon, MarkersAsRecords, MarkersTooSoon, WithoutHorizon
from fencepost.model.transactions.parts.metadata_timed_out import MetadataTimedOut
from fencepost.properties.entries import Profile, ProtocolEntry, Scenario, Variant, all_but, wrong
from fencepost.properties.transactions.claims.offsets import (
    GroupMemoryProperties,
    MarkerDroppedProperties,
    OffsetsDeletedProperties,
    TransactionalOffsetsProperties,
)
from fencepost.properties.transactions.claims.reading import (
    CleanedPromises,
    CleanedProperties,
    ReadCommittedProperties,
    UncleanReadingPromises,
)
from fencepost.properties.transactions.claims.recovery import (
    MetadataInDoubt,
    MetadataInTheLog,
    MetadataPromises,
    TransactionLogProperties,
)
from fencepost.properties.transactions.variants.bounds import played

_SMALL = dict(records=3, producers=2, log=5, fail_overs=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, log=6),
    "nightly": dict(_SMALL, records=4, log=6),
}
_MEMORY = dict(writes=3, fail_overs=1, failed_appends=1)
_WRITTEN = "memory_is_what_was_written"
_DROPPED = ("as_the_coordinator_decided", "no_aborted_offset_fetched", "answered_in_the_end")


def _misread(
    name: str, properties: type[Properties], says: str, rule: str, bounds: Mapping[str, int], breaks: str, reading: str
) -> Variant:
    """Return a known mistake as a variant, with the properties that are proved where the mistake is not made."""
    rest = all_but(properties, breaks, roles=("lemma",))
    return wrong(name, properties, says, rule, bounds, breaks, reading=reading, leaves_out=rest)


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
            of=Kafka("4.0.0", settings=TRANSACTIONAL),
        ),
        Variant(
            "offsets-deleted",
            OffsetsDeletedProperties,
            "offsets are deleted while they are pending: the transaction commits, and they do not count",
            bounds=_BOUNDS,
            leaves_out=("pending_is_the_last", "tombstones_settle"),  # both need that a tombstone waits
            progress_bounds=(dict(records=2, producers=1, log=4, fail_overs=1),),
            proof=False,
            judged=(),
            of=Kafka("4.0.0", settings=TRANSACTIONAL),
        ),
        _misread(
            "offsets-fetched-early",
            TransactionalOffsetsProperties,
            "a fetch does not wait for pending commits",
            "txn.21",
            dict(_SMALL, fail_overs=0),
            "not_before_it_is_decided",
            "fetch: guard 1 dropped",
        ),
        _misread(
            "offsets-by-completion",
            TransactionalOffsetsProperties,
            "the transaction that ends last wins",
            "txn.21",
            dict(_SMALL, fail_overs=0),
            "memory_is_what_the_log_says",
            "in_order_of_completion",
        ),
        wrong(
            "offsets-left-pending",
            OffsetsDeletedProperties,
            "a tombstone leaves what is pending alone, and a marker brings the offset back",
            "txn.21",
            dict(_SMALL, fail_overs=0),
            "memory_is_what_the_log_says",
            reading="left_pending",
            proof=False,
        ),
        wrong(
            "offsets-marker-dropped",
            MarkerDroppedProperties,
            "the marker of a group's partition without a leader counts as written, and the next one decides two "
            "transactions",
            "txn.26",
            dict(_SMALL, records=2, producers=1, log=4, fail_overs=0, absences=1),
            *_DROPPED,
            progress_bounds=(dict(records=1, producers=1, log=3, fail_overs=0, absences=1),),
            of=Kafka("4.3", settings=TRANSACTIONAL),
        ),
        Variant(
            "group-memory",
            GroupMemoryProperties,
            "all that a group's coordinator has in memory, its open batch, and its log",
            bounds={"smoke": _MEMORY, "nightly": dict(_MEMORY, writes=4, failed_appends=2)},
            judged=("txn.27",),
            of=Kafka("4.4.0"),
        ),
        wrong(
            "group-memory-empty-flush",
            GroupMemoryProperties,
            "before a large record an empty batch is given up, and with it what the operation has done to memory: "
            "its record is in the log, and memory lacks it (KAFKA-20845, from 4.1.1 and 4.2.0 on)",
            "txn.27",
            dict(_MEMORY, writes=1),
            _WRITTEN,
            reading="empty_one_fails",
            proof=False,
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
        played(
            "KAFKA-9346",
            "the next owner of a partition fetches an offset that a pending commit is about to change",
            "offsets-fetched-early",
            "transactional-offsets",
        ),
        Scenario(
            "KAFKA-20845",
            "an empty batch that is given up takes back what is written right after",
            "group-memory-empty-flush",
            "group-memory",
        ),
    ),
)


# These are the variants of readers of transactions, with known mistakes of brokers and clients.

_READING_SMALL = dict(producers=2, transactions=2, readers=1, log=4, fail_overs=1)
_READING_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _READING_SMALL,
    "ci": dict(_READING_SMALL, transactions=3, log=5, fail_overs=0),
    "nightly": dict(_READING_SMALL, readers=2),
}
_CLEANED = dict(producers=1, transactions=2, readers=1, log=3, fail_overs=0, cleanings=2, deletions=0, restarts=0)
_GIVEN = ("only_what_was_committed", "given_is_not_aborted", "never_back")
_ONE = dict(_CLEANED, transactions=1)


READ_COMMITTED = ProtocolEntry(
    "read-committed",
    "Reading a partition with transactions: no reader gets a record of an open or aborted one, nor misses a committed "
    "one.",
    (
        Variant(
            "read-committed",
            ReadCommittedProperties,
            "readers stop below the last stable offset, and skip the aborted ranges that come with a piece",
            bounds=_READING_BOUNDS,
            progress_bounds=(
                dict(producers=1, transactions=1, readers=1, log=3, fail_overs=1),
                dict(producers=2, transactions=2, readers=1, log=2, fail_overs=1),
            ),
            of=Kafka(settings=TRANSACTIONAL),
        ),
        Variant(
            "cleaned",
            CleanedProperties,
            "the cleaner takes aborted and replaced records, then their markers; the log is cut at its beginning",
            bounds={
                "smoke": _CLEANED,
                "ci": dict(_CLEANED, log=4),
                "nightly": dict(_CLEANED, producers=2, log=4, cleanings=3),
            },
            features={
                "read again": dict(transactions=1, restarts=1),
                "cut": dict(transactions=1, cleanings=1, deletions=1, fail_overs=1),
            },
            leaves_out=("one_of_two",),
            progress_bounds=(dict(_ONE, log=2, deletions=1, restarts=1),),
            judged=(),
            of=Kafka(settings=TRANSACTIONAL),
        ),
        wrong(
            "cleaned-without-horizon",
            CleanedPromises.asked_of(WithoutHorizon),
            "a marker goes while a replica that lags has read of its transaction and not of the end",
            "txn.26",
            _ONE,
            "ended_is_known_again",
        ),
        wrong(
            "cleaned-markers-too-soon",
            CleanedPromises.asked_of(MarkersTooSoon),
            "a marker goes, and its entry in the index, while records of its transaction are left",
            "txn.26",
            _ONE,
            "only_what_was_committed",
            "ended_is_known_again",
        ),
        wrong(
            "cleaned-markers-as-records",
            CleanedPromises.asked_of(MarkersAsRecords),
            "a marker goes since a later record has the bytes of its key, and the entry in the index stays",
            "txn.26",
            dict(_ONE, transactions=2, log=4, cleanings=1),
            "all_that_was_committed",
            "ended_is_known_again",
        ),
        wrong(
            "cleaned-index-too-soon",
            CleanedPromises.asked_of(EntriesTooSoon),
            "the index loses an aborted transaction of which records are left",
            "txn.26",
            _ONE,
            "only_what_was_committed",
        ),
        wrong(
            "read-committed-unclean",
            UncleanReadingPromises,
            "a leader takes over that lacks what readers were given, or the marker behind it: the last stable "
            "offset goes back, and what was given is gone, or is aborted yet",
            "txn.26",
            dict(producers=1, transactions=1, readers=1, log=2, fail_overs=1),
            *_GIVEN,
            of=Kafka(settings=TRANSACTIONAL | UNCLEAN),
        ),
        _misread(
            "read-committed-inclusive",
            ReadCommittedProperties,
            "the last stable offset taken for the last one to read",
            "txn.17",
            dict(_READING_SMALL, fail_overs=0),
            "only_what_was_committed",
            "inclusive",
        ),
        _misread(
            "read-committed-short-list",
            ReadCommittedProperties,
            "only what is aborted within the piece is listed",
            "txn.17",
            dict(_READING_SMALL, fail_overs=0),
            "only_what_was_committed",
            "only_if_it_ends_there",
        ),
        _misread(
            "read-committed-first-entry",
            ReadCommittedProperties,
            "an abort marker ends the producer's first range",
            "txn.17",
            dict(_READING_SMALL, fail_overs=0),
            "only_what_was_committed",
            "whatever_comes_first",
        ),
    ),
    {
        "producers": "two, so that their transactions lie between one another; a third is to either as they are",
        "transactions": "one that is aborted and one that is committed; a third lets a producer begin again",
        "readers": "readers do not see each other; one is enough",
        "log": "two transactions between one another take four places, the shortest log in which ranges overlap",
        "fail_overs": "one loss separates what is replicated from what is not",
        "cleanings": "one takes the record of a transaction, another its marker",
        "deletions": "the log is cut once, anywhere",
        "restarts": "a broker that reads the log again begins anywhere already, since reading takes its time",
    },
    scenarios=(
        played(
            "Redpanda-3036",
            "one record past the last stable offset is read, of a transaction that is open",
            "read-committed-inclusive",
            "read-committed",
        ),
        played(
            "AutoMQ-754",
            "the list of aborted transactions is cut at the end of the piece",
            "read-committed-short-list",
            "read-committed",
        ),
        played(
            "librdkafka-3369",
            "the marker of an empty aborted transaction takes the entry of a later one out of the list",
            "read-committed-first-entry",
            "read-committed",
        ),
        played(
            "KAFKA-13727",
            "the cleaner stops within a segment, and takes abort markers of transactions whose records it left",
            "cleaned-markers-too-soon",
            "cleaned",
        ),
        played(
            "KAFKA-14055",
            "the cleaner takes a marker for a record with the same key as a later one",
            "cleaned-markers-as-records",
            "cleaned",
        ),
    ),
)


# These are the variants of the transaction log, with a memory that runs ahead of it and a compaction that is too early.

_RECOVERY_SMALL = dict(ids=2, epochs=0, log=4, fail_overs=1, failures=1)
_RECOVERY_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _RECOVERY_SMALL,
    "ci": dict(_RECOVERY_SMALL, ids=1, epochs=1, log=6),
    "nightly": dict(_RECOVERY_SMALL, epochs=1, log=5, failures=2),
}


_METADATA: Mapping[Profile, Mapping[str, int]] = {
    "smoke": dict(partitions=2, epochs=5, producer_ids=3, timeouts=1, last=3, losses=1, fail_overs=1, failed_appends=1),
    "nightly": dict(
        partitions=2, epochs=5, producer_ids=4, timeouts=1, last=3, losses=2, fail_overs=2, failed_appends=1
    ),
}
_RETRIES = ("retries_are_answered", "retries_are_answered_before_the_end")


TRANSACTION_LOG = ProtocolEntry(
    "transaction-log",
    "The coordinator's log: who takes over knows of every transaction what was durable, and ends it in the same way.",
    (
        Variant(
            "transaction-log",
            TransactionLogProperties,
            "transitions that count once their record is durable, compaction, and reading it all again",
            bounds=_RECOVERY_BOUNDS,
            progress_bounds=(dict(ids=1, epochs=0, log=5, fail_overs=1, failures=1),),
            of=(Kafka("4.0.0", settings=V2), Kafka(settings=V1, lacks="the epoch before the present one is not in its log")),
        ),
        Variant(
            "metadata", MetadataInTheLog, "all that a coordinator knows of an id, every field of it in the log",
            bounds=_METADATA, judged=("txn.25",),
            of=Kafka("trunk", settings=V2),
        ),
        Variant(
            "metadata-retries", MetadataPromises, "the same with a producer that repeats what it is not told of",
            expected={"retries_are_answered": "violated"}, bounds=_METADATA, judged=(), proof=False,
            of=Kafka("trunk", settings=V2),
        ),
        wrong("metadata-4.3", MetadataPromises,
              "the epoch before the present one is not in the log: a retry is refused after a fail-over (KAFKA-20357)",
              "txn.25", _METADATA, "all_of_it_is_in_the_log", *_RETRIES, reading="no_last_epoch", proof=False,
              of=Kafka("4.3", "4.4.0", V2)),
        wrong("metadata-4.2", MetadataPromises,
              "nor are the producer ids before and after: a fail-over while the id changes hands out the last epoch "
              "(KAFKA-20310)", "txn.25", _METADATA, "all_of_it_is_in_the_log", *_RETRIES, "no_reserved_epoch",
              reading="no_other_ids", proof=False, of=Kafka("4.0.0", "4.2", V2)),
        Variant(
            "metadata-timed-out", MetadataInDoubt,
            "appends time out, and their records are in the log all the same: a commit that memory has not",
            expected={"all_of_it_is_in_the_log": "violated"}, bounds=_METADATA, judged=(), leaves_out=("all_fields",),
            of=Kafka("trunk", settings=V2),
        ),
        Variant(
            "metadata-retries-timed-out", MetadataPromises.asked_of(MetadataTimedOut, MetadataInDoubt),
            "the same with a producer that repeats what it is not told of",
            expected=dict.fromkeys(("all_of_it_is_in_the_log", "retries_are_answered"), "violated"),
            bounds=_METADATA, judged=(), proof=False, leaves_out=("all_fields",),
            of=Kafka("trunk", settings=V2),
        ),
        wrong("metadata-4.3-timed-out", MetadataPromises.asked_of(MetadataTimedOut, MetadataInDoubt),
              "no answer is lost: an append times out, and the epoch before the one in its record is not in the log",
              "txn.25", dict(_METADATA["smoke"], losses=0), *_RETRIES, reading="no_last_epoch", proof=False,
              of=Kafka("4.3", "4.4.0", V2)),
        _misread("memory-ahead-of-log", TransactionLogProperties, "memory changes before the record is durable",
                 "txn.8", dict(_RECOVERY_SMALL, ids=1, log=1), "memory_is_what_the_log_says",
                 "acknowledge: guard 1 dropped"),
        _misread("tombstones-removed-early", TransactionLogProperties,
                 "tombstones do not stay for as long as it takes to read the log", "txn.19",
                 dict(_RECOVERY_SMALL, ids=1, log=2), "memory_is_what_the_log_says",
                 "remove_tombstone: guard 1 dropped"),
    ),
    {
        "ids": "two, since what is kept of one must not depend on the other",
        "epochs": "an epoch goes along with the phase, and has to differ once, where the log is long enough; with "
        "metadata: those of a producer id, one for markers, and one that must not be there",
        "producer_ids": "the first, the next, and one after that",
        "partitions": "two, so that one is added to another",
        "timeouts": "a time-out that is none",
        "last": "a retry well before the last epoch of a producer id, and one at it",
        "losses": "one lost answer makes a retry",
        "log": "begun, open, prepared and complete: a whole transaction; more lets it expire, or another one begin",
        "fail_overs": "each reads the log from its beginning; a second one does the same",
        "failures": "one append that is given up, with its record in the log or not",
        "failed_appends": "one append is given up, with its record in the log or not",
    },
    scenarios=(
        played("KAFKA-20310", "a coordinator takes over while the producer id changes, and does not know the next",
                 "metadata-4.2", "metadata-retries"),
        Scenario("KAFKA-20357-in-doubt", "an append times out, its record is replicated after that, and the retry "
                 "meets a coordinator that read it and does not know the epoch before", "metadata-4.3-timed-out",
                 "metadata-retries-timed-out"),
    ),
)  # fmt: skip
