"""The config topic as records in the catalogue: as it is, and where it is read or kept otherwise."""

from collections.abc import Mapping

from fencepost.model.releases import ENABLED, MISTAKE, TEXT, Kafka, Of
from fencepost.properties.entries import Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.task_counts.claims.compaction import (
    ConfigTopicProperties,
    ReorderingTopicProperties,
)

_SMALL = dict(workers=2, tasks=2, sets=3, log=7, removals=1, restarts=1, crashes=0)
_ONE_TASK = dict(tasks=1, log=6, restarts=0, removals=2, crashes=0)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, crashes=1),
    "nightly": dict(_SMALL, log=8, crashes=1),
}
_NO_CHECKS: Mapping[Profile, int] = {"smoke": 0, "ci": 0, "nightly": 6}
_WITNESSES = Names(lambda: (n for n, p in ConfigTopicProperties.properties.items() if p.role == "witness"))


def _read_otherwise(
    name: str, says: str, rule: str, alternative: str | None, breaks: str, *, of: Of, **bounds: int
) -> Variant:
    """Asked for no more than what it breaks."""
    others = Names(
        lambda: (n for n, p in ConfigTopicProperties.properties.items() if p.role == "promise" and n != breaks)
    )
    reading = None if alternative is None else (rule, alternative)
    return Variant(
        name, ConfigTopicProperties, says, rule, reading, {breaks: "violated"}, {"smoke": _SMALL | bounds},
        Names(lambda: (*others, *_WITNESSES)), depth=_NO_CHECKS, proof=False, of=of,
    )  # fmt: skip


CONFIG_TOPIC = ProtocolEntry(
    "config-topic",
    "The config topic record by record: sets that count from their commit on, and what compaction leaves of them.",
    (
        Variant(
            "config-topic",
            ConfigTopicProperties,
            "sets, commits and counts, compacted in order, and read from the start by who is restarted",
            bounds=_BOUNDS,
            features={"a leader falls silent": dict(tasks=1, log=6, crashes=1), "a third set begun": _ONE_TASK},
            depth=_NO_CHECKS,
            proof=False,
            of=TEXT,
        ),
        _read_otherwise(
            "slow-reader",
            "compaction takes a configuration from under a reader, who has one that was never committed in its place",
            "618.3",
            None,
            "runs_that_set",
            of=Kafka(settings=ENABLED),
            **_ONE_TASK | dict(log=5, crashes=1),
        ),
        _read_otherwise(
            "complete-sets-counted",
            "workers count a set only if they have all of its configurations (shipped)",
            "618.19",
            "complete_sets_only",
            "starts_from_the_newest",
            of=Kafka(settings=ENABLED),
            **_ONE_TASK,
        ),
        _read_otherwise(
            "numbers-remembered",
            "a number that one process has counted is compared by another one, which has read what compaction left",
            "618.19",
            "remembered_by_number",
            "starts_from_the_newest",
            of=MISTAKE,
            **_ONE_TASK | dict(restarts=1),
        ),
        Variant(
            "order-not-kept",
            ReorderingTopicProperties,
            "a compaction that does not keep the order: a count comes to stand after a set that nobody fenced for",
            "618.2",
            None,
            {"runs_what_was_fenced_for": "violated"},
            {"smoke": dict(_SMALL, workers=1, removals=0, restarts=0, reorderings=1)},
            Names(lambda: ("runs_that_set", "starts_from_the_newest", *_WITNESSES)),
            depth=_NO_CHECKS,
            proof=False,
            of=MISTAKE,
        ),
    ),
    {
        "workers": "one that read along, and one that read from the start",
        "tasks": "two, so that one configuration of a set can be gone, and the other be there",
        "sets": "two, and a third that is begun",
        "log": "a set of two, its commit and count, and a set of one with commit and count: seven records",
        "removals": "a configuration of an old set and one of the newest; more is slow-reader's",
        "restarts": "one worker reads from the start",
        "crashes": "one set that is begun and never committed",
        "reorderings": "one record that is moved",
    },
    scenarios=(
        Scenario(
            "compaction-order",
            "a count is moved behind a set that nobody fenced for",
            "order-not-kept",
            "config-topic",
            script="fencepost.reference_impl.task_counts.scenarios:scenario",
        ),
    ),
)
