"""The transaction log in the catalogue, with a memory that runs ahead of it and a compaction that is too quick."""

from collections.abc import Mapping

from ..catalogue import Profile, ProtocolEntry, Variant
from .recovery import TransactionLogProperties

_SMALL = dict(ids=2, epochs=0, log=4, fail_overs=1, failures=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, ids=1, epochs=1, log=6),
    "nightly": dict(_SMALL, epochs=1, log=5, failures=2),
}
_PROPERTIES = TransactionLogProperties.properties


def _wrong(name: str, says: str, rule: str, alternative: str, log: int) -> Variant:
    """A known mistake, asked for no more than what it breaks."""
    breaks = "memory_is_what_the_log_says"
    others = tuple(n for n, p in _PROPERTIES.items() if p.role != "lemma" and n != breaks)
    return Variant(
        name, TransactionLogProperties, says, rule, (rule, alternative), {breaks: "violated"},
        {"smoke": dict(_SMALL, ids=1, log=log)}, others,
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
        "epochs": "an epoch goes along with the phase; it has to differ once, where the log is long enough",
        "log": "begun, open, prepared and complete: a whole transaction; more lets it expire, or another one begin",
        "fail_overs": "each reads the log from its beginning; a second one does the same",
        "failures": "one append that is given up, with its record in the log or not",
    },
)
