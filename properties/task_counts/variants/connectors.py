"""Several connectors in the catalogue: side by side in one group, and in several with names whose ids collide."""

from collections.abc import Mapping

from fencepost.model.releases import ENABLED, Kafka
from fencepost.properties.entries import Claim, Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.task_counts.claims.collisions import CollidingNamesProperties
from fencepost.properties.task_counts.claims.connectors import ConnectorsProperties
from fencepost.properties.task_counts.variants.releases import SHIPPED

_SMALL = dict(workers=1, connectors=2, instances=1, tasks=2, sets=2, elections=1, failures=0, deletions=0)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, failures=1),
    "nightly": dict(_SMALL, workers=2, elections=2, tasks=1),
}
_FEATURES: Mapping[str, Mapping[str, int]] = {
    "writes that fail": dict(tasks=1, failures=1),
    "leaders": dict(workers=2, elections=2, tasks=1, sets=1),
    "leaders, and a connector that is deleted": dict(connectors=1, workers=2, elections=2, deletions=1),
    "old and new": dict(connectors=1, instances=2, failures=1),
    "deleted and created again": dict(connectors=1, instances=2, deletions=1),
}
_PROGRESS = (
    dict(_SMALL, tasks=1, failures=1),
    dict(_SMALL, connectors=1, tasks=1, failures=1, deletions=1),
    dict(_SMALL, connectors=1, workers=2, tasks=1, elections=2, failures=1),
)
_LOST = dict(_SMALL, tasks=1, sets=1, failures=1)
_ALIKE = dict(
    connectors=2, instances=1, tasks=1, sets=1, failures=0, collisions=1, workers=1, elections=1, deletions=0,
)  # fmt: skip
"""Workers, elections and deletions are those of `connectors`, with which the collision is compared."""
_DEPTH: Mapping[Profile, int] = {"smoke": 0, "ci": 7, "nightly": 10}
_NONE = dict.fromkeys(_DEPTH, 0)
_OTHERS = Names(lambda: (n for n in ConnectorsProperties.properties if n not in ("no_round_is_lost", "producer_gone")))
_SAFE = ("no_zombie", "covered")

CONNECTORS = ProtocolEntry(
    "task-count-connectors",
    "Rounds and task starts of several connectors side by side: what they share, and what one feels of another.",
    (
        Variant(
            "connectors",
            ConnectorsProperties,
            "connectors of one group: one leader at a time, its thread and its producer; ids of their own",
            bounds=_BOUNDS,
            features=_FEATURES,
            leaves_out=("no_round_is_lost", "producer_gone"),
            depth=_DEPTH,
            progress_bounds=_PROGRESS,
            judged=("618.2", "618.6"),
            of=SHIPPED,
        ),
        Variant(
            "one-write-fails",
            ConnectorsProperties,
            "a write fails for one connector, and the producer is gone for all, whose rounds fail until the next tick",
            "618.9",
            None,
            {"no_round_is_lost": "violated"},
            {"smoke": _LOST},
            _OTHERS,
            depth=_NONE,
            of=Kafka(settings=ENABLED),
        ),
        Variant(
            "names-may-collide",
            CollidingNamesProperties,
            "connectors of other groups may have the same ids: zombies are kept out all the same",
            bounds={
                "smoke": dict(_ALIKE, instances=2),
                "ci": dict(_ALIKE, instances=2, tasks=2),
            },
            features={"old and new": dict(connectors=1, tasks=2, sets=2, failures=1, collisions=0)},
            leaves_out=("only_its_own",),
            depth=_NONE,
            judged=(),
            of=SHIPPED,
        ),
        Variant(
            "names-collide",
            CollidingNamesProperties,
            "connector orders-1 of group connect, and connector 1 of group connect-orders, in one Kafka cluster",
            "618.49",
            None,
            {"only_its_own": "violated"},
            {"smoke": _ALIKE},
            (*_SAFE, "they_fence_one_another", "an_old_one_shut_out", "one_is_covered"),
            depth=_NONE,
            of=Kafka(settings=ENABLED),
        ),
    ),
    {
        "workers": "one leader; a former one and the one after it",
        "connectors": "two; what a third does to them, one of them does to the other",
        "instances": "one of each connector, or an old and a new one",
        "tasks": "two, so that something is fenced",
        "sets": "two: the second needs a round",
        "elections": "a leader, and the one after it; a former one claims the topic back without being elected",
        "failures": "a round or a write that fails leaves the other connectors alone, or it does not: one shows it",
        "deletions": "one connector that comes back",
        "collisions": "two connectors whose ids are the same",
    },
    claims=(
        Claim(
            "618.9",
            "connectors",
            (*_SAFE, "only_its_own"),
            ("rounds_side_by_side", "fenced_beside_another_round", "claimed_back"),
            "rounds of connectors that share a leader fence none but their own tasks, and let no zombie through where a "
            "round is gone as soon as its count is written (no release: core-shipped-lingering-round); but a write that "
            "fails for one takes the producer from all, until the leader's next tick",
        ),
        Claim(
            "618.49",
            "names-may-collide",
            _SAFE,
            ("they_fence_one_another",),
            "where ids collide, healthy tasks fence one another, and no zombie gets through",
        ),
    ),
    scenarios=(
        Scenario(
            "618.49",
            "a healthy task is shut out by one of a connector that its own cluster does not know",
            "names-collide",
            "connectors",
            script="fencepost.reference_impl.task_counts.scenarios:scenario",
        ),
    ),
)
