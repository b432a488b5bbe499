"""Several connectors in the catalogue: side by side, and with names whose ids collide."""

from collections.abc import Mapping

from ..catalogue import Claim, Profile, ProtocolEntry, Scenario, Variant
from .connectors import CollidingNamesProperties, ConnectorsProperties

_SMALL = dict(connectors=2, instances=1, tasks=2, sets=2, failures=0, collisions=0)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, sets=3),
    "nightly": dict(_SMALL, sets=3, failures=2),
}
_DEPTH: Mapping[Profile, int] = {"smoke": 0, "ci": 7, "nightly": 10}
_OLD_AND_NEW = dict(connectors=1, instances=2, failures=1)
_BESIDE = tuple(n for n, p in ConnectorsProperties.properties.items() if p.role == "witness")

CONNECTORS = ProtocolEntry(
    "task-count-connectors",
    "Rounds and task starts of several connectors side by side, which disturb one another only where ids collide.",
    (
        Variant(
            "connectors",
            ConnectorsProperties,
            "each connector has ids of its own",
            bounds=_BOUNDS,
            features={"old and new": _OLD_AND_NEW},
            depth=_DEPTH,
            progress_bounds=(dict(_SMALL, tasks=1, failures=1),),
        ),
        Variant(
            "names-may-collide",
            CollidingNamesProperties,
            "connectors of other groups may have the same ids: zombies are kept out all the same",
            bounds={
                "smoke": dict(_SMALL, instances=2, tasks=1, sets=1, collisions=1),
                "ci": dict(_SMALL, instances=2, sets=1, collisions=1),
            },
            leaves_out=("only_its_own", "counted_in_the_end", *_BESIDE),
            depth=dict.fromkeys(_DEPTH, 0),
            judged=(),
        ),
        Variant(
            "names-collide",
            CollidingNamesProperties,
            "connector orders-1 of group connect, and connector 1 of group connect-orders, in one Kafka cluster",
            "618.49",
            None,
            {"only_its_own": "violated"},
            {"smoke": dict(_SMALL, tasks=1, sets=1, collisions=1)},
            ("counted_in_the_end", "they_fence_one_another", *_BESIDE),
            depth=dict.fromkeys(_DEPTH, 0),
        ),
    ),
    {
        "connectors": "two; what a third does to them, one of them does to the other",
        "instances": "one of each connector, or an old and a new one",
        "tasks": "two, so that something is fenced",
        "sets": "two: the second needs a round",
        "failures": "a round that fails leaves the other one alone, or it does not: one shows it",
        "collisions": "two connectors whose ids are the same",
    },
    claims=(
        Claim(
            "618.9",
            "connectors",
            ("no_zombie", "covered", "only_its_own"),
            ("rounds_side_by_side", "fenced_beside_another_round"),
            "rounds of different connectors touch each other's tasks nowhere, at any time, however many there are",
        ),
        Claim(
            "618.49",
            "names-may-collide",
            ("no_zombie", "covered"),
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
            script="fencepost.reference_impl.connect.scenarios:scenario",
        ),
    ),
)
