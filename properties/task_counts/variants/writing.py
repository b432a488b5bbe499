"""The writing of sets in the catalogue: configurations one by one, in effect at their commit record."""

from collections.abc import Mapping

from fencepost.model.releases import MISTAKE
from fencepost.properties.entries import Names, Profile, ProtocolEntry, Variant
from fencepost.properties.task_counts.claims.writing import WritingPromises
from fencepost.properties.task_counts.variants.releases import SHIPPED

_SMALL = dict(workers=2, tasks=2, calls=3, parts=1)
_DEPTH: Mapping[Profile, int] = {"smoke": 6, "ci": 10, "nightly": 12}
_WITNESSES = Names(lambda: (n for n, p in WritingPromises.properties.items() if p.role == "witness"))


def _misread(name: str, says: str, rule: str, mutation: str) -> Variant:
    return Variant(
        name, WritingPromises, says, rule, (rule, mutation), {"each_part_has_one_reader": "violated"},
        {"smoke": _SMALL}, Names(lambda: (*_WITNESSES, "in_effect_in_the_end")),
        depth=dict.fromkeys(_DEPTH, 0), of=MISTAKE,
    )  # fmt: skip


WRITES = ProtocolEntry(
    "config-topic-writes",
    "Sets of task configurations, written record by record by leaders that change.",
    (
        Variant(
            "record-by-record", WritingPromises, "a transaction for every record, and a commit record at the end",
            bounds={"smoke": _SMALL, "nightly": dict(_SMALL, workers=3, calls=4)}, depth=_DEPTH,
            progress_bounds=(dict(_SMALL, calls=2),), of=SHIPPED,
        ),
        _misread(
            "in-effect-at-once", "a configuration takes effect when it is read, without a commit record", "618.3",
            "at_once",
        ),
        _misread(
            "commit-record-first", "the commit record does not wait for the configurations", "618.3",
            "commit_set: guard 1 dropped",
        ),
        _misread("former-leaders-write", "the leader writes with a plain producer", "618.24", "anyone"),
        _misread(
            "claimed-in-a-call", "the leader claims the topic back in the middle of a call", "618.43",
            "claim: guard 1 dropped",
        ),
    ),
    {
        "workers": "a leader and the one that takes over from it",
        "tasks": "two, so that a set can be torn",
        "parts": "one that two tasks of two sets may read; another one is read in the same way",
        "calls": "one that was never finished, one in effect and one under way",
    },
)  # fmt: skip
