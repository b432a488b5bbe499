"""The transaction log in the catalogue, with a memory that runs ahead of it and a compaction that is too quick."""

from collections.abc import Mapping

from fencepost.model.releases import MISTAKE, V1, V2, Kafka, Of
from fencepost.properties.entries import Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.transactions.claims.parts.metadata import (
    MetadataInDoubt,
    MetadataInDoubtPromises,
    MetadataInTheLog,
    MetadataPromises,
)
from fencepost.properties.transactions.claims.parts.recovery import TransactionLogProperties
from fencepost.properties.transactions.variants.bounds import NOT_BOUNDED
from fencepost.properties.transactions.variants.scripts import SCRIPT

_SMALL = dict(ids=2, epochs=0, log=4, fail_overs=1, failures=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, ids=1, epochs=1, log=6),
    "nightly": dict(_SMALL, epochs=1, log=5, failures=2),
}


def _wrong(name: str, says: str, rule: str, alternative: str, log: int) -> Variant:
    """A known mistake, asked for no more than what it breaks."""
    breaks = "memory_is_what_the_log_says"
    others = Names(
        lambda: (n for n, p in TransactionLogProperties.properties.items() if p.role != "lemma" and n != breaks)
    )
    return Variant(
        name, TransactionLogProperties, says, rule, (rule, alternative), {breaks: "violated"},
        {"smoke": dict(_SMALL, ids=1, log=log)}, others, of=MISTAKE,
    )  # fmt: skip


_METADATA: Mapping[Profile, Mapping[str, int]] = {
    "smoke": dict(partitions=2, epochs=5, producer_ids=3, timeouts=1, last=3, losses=1, fail_overs=1, failed_appends=1),
    "nightly": dict(
        partitions=2, epochs=5, producer_ids=4, timeouts=1, last=3, losses=2, fail_overs=2, failed_appends=1
    ),
}
_RETRIES = ("retries_are_answered", "retries_are_answered_before_the_end")


def _not_in_the_log(name: str, says: str, alternative: str, *breaks: str, of: Of) -> Variant:
    """A coordinator that takes over and lacks what a release does not write."""
    others = Names(lambda: (n for n in MetadataPromises.properties if n not in breaks))
    return Variant(
        name, MetadataPromises, says, "txn.25", ("txn.25", alternative), dict.fromkeys(breaks, "violated"),
        _METADATA, others, proof=False, depth=NOT_BOUNDED, of=of,
    )  # fmt: skip


TRANSACTION_LOG = ProtocolEntry(
    "transaction-log",
    "The coordinator's log: who takes over knows of every transaction what was durable, and ends it in the same way.",
    (
        Variant(
            "transaction-log",
            TransactionLogProperties,
            "transitions that count once their record is durable, compaction, and reading it all again",
            bounds=_BOUNDS,
            progress_bounds=(dict(ids=1, epochs=0, log=5, fail_overs=1, failures=1),),
            depth={"smoke": 6, "ci": 9, "nightly": 11},
            of=(Kafka("4.0.0", settings=V2), Kafka(settings=V1, lacks="the epoch before the present one is not in its log")),
        ),
        Variant(
            "metadata", MetadataInTheLog, "all that a coordinator knows of an id, every field of it in the log",
            bounds=_METADATA, judged=("txn.25",), depth={"smoke": 7, "ci": 9, "nightly": 11},
            of=Kafka("trunk", settings=V2),
        ),
        Variant(
            "metadata-retries", MetadataPromises, "the same with a producer that repeats what it is not told of",
            expected={"retries_are_answered": "violated"}, bounds=_METADATA, judged=(), proof=False, depth=NOT_BOUNDED,
            of=Kafka("trunk", settings=V2),
        ),
        _not_in_the_log(
            "metadata-4.3", "the epoch before the present one is not in the log: a retry is refused after a fail-over "
            "(KAFKA-20357)", "no_last_epoch", "all_of_it_is_in_the_log", *_RETRIES, of=Kafka("4.3", "4.4.0", V2),
        ),
        _not_in_the_log(
            "metadata-4.2", "nor are the producer ids before and after: a fail-over while the id changes hands out the "
            "last epoch (KAFKA-20310)", "no_other_ids", "all_of_it_is_in_the_log", *_RETRIES, "no_reserved_epoch",
            of=Kafka("4.0.0", "4.2", V2),
        ),
        Variant(
            "metadata-timed-out", MetadataInDoubt,
            "appends time out, and their records are in the log all the same: a commit that memory has not",
            expected={"all_of_it_is_in_the_log": "violated"}, bounds=_METADATA, judged=(), leaves_out=("all_fields",),
            depth=NOT_BOUNDED, of=Kafka("trunk", settings=V2),
        ),
        Variant(
            "metadata-retries-timed-out", MetadataInDoubtPromises,
            "the same with a producer that repeats what it is not told of",
            expected=dict.fromkeys(("all_of_it_is_in_the_log", "retries_are_answered"), "violated"),
            bounds=_METADATA, judged=(), proof=False, depth=NOT_BOUNDED, leaves_out=("all_fields",),
            of=Kafka("trunk", settings=V2),
        ),
        Variant(
            "metadata-4.3-timed-out", MetadataInDoubtPromises,
            "no answer is lost: an append times out, and the epoch before the one in its record is not in the log",
            "txn.25", ("txn.25", "no_last_epoch"), dict.fromkeys(_RETRIES, "violated"),
            {"smoke": dict(_METADATA["smoke"], losses=0)},
            Names(lambda: (n for n in MetadataInDoubtPromises.properties if n not in _RETRIES)), proof=False, depth=NOT_BOUNDED,
            of=Kafka("4.3", "4.4.0", V2),
        ),
        _wrong(
            "memory-ahead-of-log",
            "memory changes before the record is durable",
            "txn.8",
            "acknowledge: guard 1 dropped",
            log=1,
        ),
        _wrong(
            "tombstones-removed-early",
            "tombstones do not stay for as long as it takes to read the log",
            "txn.19",
            "remove_tombstone: guard 1 dropped",
            log=2,
        ),
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
        Scenario("KAFKA-20310", "a coordinator takes over while the producer id changes, and does not know the next",
                 "metadata-4.2", "metadata-retries",
                 script=SCRIPT),
        Scenario("KAFKA-20357-in-doubt", "an append times out, its record is replicated after that, and the retry "
                 "meets a coordinator that read it and does not know the epoch before", "metadata-4.3-timed-out",
                 "metadata-retries-timed-out"),
    ),
)  # fmt: skip
