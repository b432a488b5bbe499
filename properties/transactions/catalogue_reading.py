"""Readers of transactions in the catalogue, with the ways in which brokers and clients got it wrong."""

from collections.abc import Mapping

from ..catalogue import Profile, ProtocolEntry, Scenario, Variant
from .reading import ReadCommittedProperties

_SMALL = dict(producers=2, transactions=2, readers=1, log=4, fail_overs=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, transactions=3, log=5, fail_overs=0),
    "nightly": dict(_SMALL, readers=2),
}


def _wrong(name: str, says: str, alternative: str, breaks: str = "only_what_was_committed") -> Variant:
    """A known mistake, asked for no more than what it breaks."""
    others = tuple(n for n, p in ReadCommittedProperties.properties.items() if p.role != "lemma" and n != breaks)
    return Variant(
        name, ReadCommittedProperties, says, "txn.17", ("txn.17", alternative), {breaks: "violated"},
        {"smoke": dict(_SMALL, fail_overs=0)}, others,
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
    },
    scenarios=(
        Scenario(
            "Redpanda-3036",
            "one record past the last stable offset is read, of a transaction that is open",
            "read-committed-inclusive",
            "read-committed",
        ),
        Scenario(
            "AutoMQ-754",
            "the list of aborted transactions is cut at the end of the piece",
            "read-committed-short-list",
            "read-committed",
        ),
        Scenario(
            "librdkafka-3369",
            "the marker of an empty aborted transaction takes the entry of a later one out of the list",
            "read-committed-first-entry",
            "read-committed",
        ),
    ),
)
