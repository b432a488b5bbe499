"""Readers of transactions in the catalogue, with the ways in which brokers and clients got it wrong."""

from collections.abc import Mapping

from fencepost.model.language.properties import Properties
from fencepost.model.releases import MISTAKE, TRANSACTIONAL, UNCLEAN, Kafka
from fencepost.properties.entries import Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.transactions.claims.parts.cleaning import (
    CleanedProperties,
    EntriesTooSoonPromises,
    MarkersAsRecordsPromises,
    MarkersTooSoonPromises,
    WithoutHorizonPromises,
)
from fencepost.properties.transactions.claims.parts.reading import ReadCommittedProperties, UncleanReadingPromises
from fencepost.properties.transactions.variants.bounds import NOT_BOUNDED
from fencepost.properties.transactions.variants.scripts import SCRIPT

_SMALL = dict(producers=2, transactions=2, readers=1, log=4, fail_overs=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, transactions=3, log=5, fail_overs=0),
    "nightly": dict(_SMALL, readers=2),
}
_CLEANED = dict(producers=1, transactions=2, readers=1, log=3, fail_overs=0, cleanings=2, deletions=0, restarts=0)
_GIVEN = ("only_what_was_committed", "given_is_not_aborted", "never_back")
_ONE = dict(_CLEANED, transactions=1)


def _wrong(name: str, says: str, alternative: str, breaks: str = "only_what_was_committed") -> Variant:
    """A known mistake, asked for no more than what it breaks."""
    others = Names(
        lambda: (n for n, p in ReadCommittedProperties.properties.items() if p.role != "lemma" and n != breaks)
    )
    return Variant(
        name, ReadCommittedProperties, says, "txn.17", ("txn.17", alternative), {breaks: "violated"},
        {"smoke": dict(_SMALL, fail_overs=0)}, others, of=MISTAKE,
    )  # fmt: skip


def _uncleanly(
    name: str, properties: type[Properties], says: str, *breaks: str, **bounds: int
) -> Variant:  # fmt: skip
    """A cleaner that takes something too soon, asked for what that breaks."""
    others = Names(lambda: (n for n in properties.properties if n not in breaks))
    return Variant(
        name, properties, says, "txn.26", expected=dict.fromkeys(breaks, "violated"),
        bounds={"smoke": dict(_ONE, **bounds)}, leaves_out=others, depth=NOT_BOUNDED, of=MISTAKE,
    )  # fmt: skip


READ_COMMITTED = ProtocolEntry(
    "read-committed",
    "Reading a partition with transactions: no reader gets a record of an open or aborted one, nor misses a committed "
    "one.",
    (
        Variant(
            "read-committed",
            ReadCommittedProperties,
            "readers stop below the last stable offset, and skip the aborted ranges that come with a piece",
            bounds=_BOUNDS,
            depth={"smoke": 5, "ci": 9, "nightly": 11},
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
            depth=NOT_BOUNDED,
            leaves_out=("one_of_two",),
            progress_bounds=(dict(_ONE, log=2, deletions=1, restarts=1),),
            judged=(),
            of=Kafka(settings=TRANSACTIONAL),
        ),
        _uncleanly(
            "cleaned-without-horizon",
            WithoutHorizonPromises,
            "a marker goes while a replica that lags has read of its transaction and not of the end",
            "ended_is_known_again",
        ),
        _uncleanly(
            "cleaned-markers-too-soon",
            MarkersTooSoonPromises,
            "a marker goes, and its entry in the index, while records of its transaction are left",
            "only_what_was_committed",
            "ended_is_known_again",
        ),
        _uncleanly(
            "cleaned-markers-as-records",
            MarkersAsRecordsPromises,
            "a marker goes since a later record has the bytes of its key, and the entry in the index stays",
            "all_that_was_committed",
            "ended_is_known_again",
            transactions=2,
            log=4,
            cleanings=1,
        ),
        _uncleanly(
            "cleaned-index-too-soon",
            EntriesTooSoonPromises,
            "the index loses an aborted transaction of which records are left",
            "only_what_was_committed",
        ),
        Variant(
            "read-committed-unclean",
            UncleanReadingPromises,
            "a leader takes over that lacks what readers were given, or the marker behind it: the last stable offset "
            "goes back, and what was given is gone, or is aborted yet",
            "txn.26",
            expected=dict.fromkeys(_GIVEN, "violated"),
            bounds={"smoke": dict(producers=1, transactions=1, readers=1, log=2, fail_overs=1)},
            leaves_out=Names(lambda: (n for n in UncleanReadingPromises.properties if n not in _GIVEN)),
            depth=NOT_BOUNDED,
            of=Kafka(settings=TRANSACTIONAL | UNCLEAN),
        ),
        _wrong("read-committed-inclusive", "the last stable offset taken for the last one to read", "inclusive"),
        _wrong("read-committed-short-list", "only what is aborted within the piece is listed", "only_if_it_ends_there"),
        _wrong("read-committed-first-entry", "an abort marker ends the producer's first range", "whatever_comes_first"),
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
        Scenario(
            "Redpanda-3036",
            "one record past the last stable offset is read, of a transaction that is open",
            "read-committed-inclusive",
            "read-committed",
            script=SCRIPT,
        ),
        Scenario(
            "AutoMQ-754",
            "the list of aborted transactions is cut at the end of the piece",
            "read-committed-short-list",
            "read-committed",
            script=SCRIPT,
        ),
        Scenario(
            "librdkafka-3369",
            "the marker of an empty aborted transaction takes the entry of a later one out of the list",
            "read-committed-first-entry",
            "read-committed",
            script=SCRIPT,
        ),
        Scenario(
            "KAFKA-13727",
            "the cleaner stops within a segment, and takes abort markers of transactions whose records it left",
            "cleaned-markers-too-soon",
            "cleaned",
            script=SCRIPT,
        ),
        Scenario(
            "KAFKA-14055",
            "the cleaner takes a marker for a record with the same key as a later one",
            "cleaned-markers-as-records",
            "cleaned",
            script=SCRIPT,
        ),
    ),
)
