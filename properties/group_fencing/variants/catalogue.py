"""KIP-447 in the catalogue: the draft, what repairs it, what shipped, and the new group protocol.

What a rule misread leads to, and what an application, a client or a release does otherwise, is a variant of its own.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.properties.entries import Claim, Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.group_fencing.claims.classic import (
    ByAssignmentLemmas,
    ByGenerationLemmas,
    ByGenerationStaticPromises,
    DraftPromises,
    GroupIdOnlyPromises,
    ProbingPromises,
    ShippedLemmas,
)
from fencepost.properties.group_fencing.claims.modern import (
    AtSendPromises,
    ModernLemmas,
    OwnedAtSendPromises,
    RelaxedAtSendPromises,
    RelaxedLemmas,
)
from fencepost.properties.group_fencing.variants.driven import IMPLEMENTATIONS, MISTAKES, SIMULATORS

Bounds = Mapping[Profile, Mapping[str, int]]

GENERATIONS = dict(members=2, partitions=1, epochs=2, inputs=1, rebalances=1, crashes=0, restarts=0)
EPOCHS = dict(members=2, partitions=1, epochs=5, inputs=1, rebalances=1, crashes=0)
COORDINATED = dict(GENERATIONS, fail_overs=1)
CLASSIC_FEATURES: Mapping[str, Mapping[str, int]] = {
    "two inputs, and a member that crashes": dict(inputs=2, crashes=1),
    "two partitions": dict(partitions=2, inputs=1),
    "three generations": dict(epochs=3, rebalances=2),
    "a static member restarts": dict(restarts=1),
}
DYNAMIC_FEATURES = {name: more for name, more in CLASSIC_FEATURES.items() if "restarts" not in more}
EPOCH_FEATURES: Mapping[str, Mapping[str, int]] = {
    "two inputs": dict(inputs=2, epochs=4),
    "two partitions": dict(partitions=2, epochs=3),
}
DEPTH: Mapping[Profile, int] = {"smoke": 7, "ci": 9, "nightly": 12}
NOT_BOUNDED: Mapping[Profile, int] = dict.fromkeys(DEPTH, 0)

REASONS = {
    "members": "a former owner and the one after it; a third is the second again",
    "partitions": "one that changes its owner; a second one shares its transaction",
    "epochs": "the generation of a former owner, and that of the one after it; with epochs of members: two that join, one "
    "that is put out, and joins again",
    "inputs": "one that is processed once, or twice; a second one follows it in the transaction, or in the next",
    "rebalances": "one that changes the owner; a second one changes it back",
    "crashes": "a member that loses its memory once, with a transaction open",
    "restarts": "a static member that is replaced once",
    "fail_overs": "a coordinator that forgets once",
}


def _main(name: str, properties: Any, says: str, bounds: Mapping[str, int], **more: Any) -> Variant:
    settings: dict[str, Any] = dict(progress_bounds=(bounds,), depth=NOT_BOUNDED)
    return Variant(name, properties, says, bounds=_profiles(bounds), **(settings | more))


def _wrong(
    name: str, properties: Any, says: str, rule: str, bounds: Mapping[str, int], *breaks: str, **more: Any
) -> Variant:
    """What is asked for no more than what it breaks."""
    others = Names(lambda: (n for n in properties.properties if n not in breaks))
    return Variant(
        name, properties, says, rule, None, dict.fromkeys(breaks, "violated"), _profiles(bounds), others,
        depth=NOT_BOUNDED, **more,
    )  # fmt: skip


def _profiles(bounds: Mapping[str, int]) -> Bounds:
    return {"smoke": bounds}


OUTPUT = ("nothing_twice", "nothing_skipped", "offsets_agree")
ALL = (*OUTPUT, "one_producer", "only_owners")
TWICE = ("nothing_twice", "one_producer", "only_owners", "starts_from_what_counts")

VARIANTS = (
    _main(
        "shipped", ShippedLemmas, "Kafka 2.5 and later: a commit needs a member of the group's generation", GENERATIONS,
        features=CLASSIC_FEATURES, depth=DEPTH,
    ),
    _wrong("draft", DraftPromises, "the draft: another producer is refused after a later commit only (H1)", "447.8",
           COORDINATED, *TWICE),
    _main(
        "draft-repaired-by-generation", ByGenerationLemmas,
        "the draft, comparing with the generation that the group has; members are dynamic",
        COORDINATED, features=DYNAMIC_FEATURES,
    ),
    _wrong("draft-static-members", ByGenerationStaticPromises,
           "that repair, where a static member restarts in its generation under another producer id (H2)", "447.19",
           dict(COORDINATED, restarts=1), *TWICE),
    _main(
        "draft-repaired-by-assignment", ByAssignmentLemmas,
        "the draft, where an initialisation fences whoever was initialised for a partition of it",
        COORDINATED, features=CLASSIC_FEATURES, leaves_out=("only_owners", "owner_is_not_fenced", "stale_one_asks", "sent_by_another"),
    ),
    _wrong("draft-equal-generation", ByAssignmentLemmas,
           "there a former instance of a static member, in the same generation, fences the one that is in its place",
           "447.19", dict(COORDINATED, restarts=1), "owner_is_not_fenced"),
    _wrong("group-id-only", GroupIdOnlyPromises, "clients that send no generation and no member id are taken unasked",
           "447.16", GENERATIONS, *TWICE),
    _wrong("probed-version", ProbingPromises, "clients ask one broker for its version, and an older one coordinates the group",
           "447.20", COORDINATED, *TWICE),
    _main("new-protocol", ModernLemmas, "KIP-848 until 4.2: a commit needs the member's epoch, read at the poll", EPOCHS,
          leaves_out=("owner_is_taken", "sends_in_time"), features=EPOCH_FEATURES),
    _wrong("new-protocol-owner-refused", ModernLemmas, "an owner is refused whose epoch went on since its poll", "447.21",
           EPOCHS, "owner_is_taken"),
    _main("new-protocol-relaxed", RelaxedLemmas, "KIP-1251: an older epoch is taken for what was assigned by then", EPOCHS,
          features=EPOCH_FEATURES),
    _wrong("new-protocol-metadata-at-send", AtSendPromises, "the application reads the group's metadata as it sends", "447.21",
           EPOCHS, *TWICE),
    _wrong("new-protocol-relaxed-metadata-at-send", RelaxedAtSendPromises, "the same, with KIP-1251", "447.21", EPOCHS, *TWICE),
    _wrong("new-protocol-owner-metadata-at-send", OwnedAtSendPromises,
           "the same, if the coordinator asked who owns the partition", "447.21", EPOCHS, "nothing_twice"),
)  # fmt: skip

GROUP_FENCING = ProtocolEntry(
    "group-fencing",
    "Group-aware fencing (KIP-447): a group that reads, processes and writes, each input once.",
    VARIANTS,
    REASONS,
    IMPLEMENTATIONS,
    SIMULATORS,
    on_request=MISTAKES,
    claims=(
        Claim("447.15", "draft-repaired-by-assignment", OUTPUT, ("copies_part",),
              "a second copy of the assignment, which parts from the group's, does no harm where it fences only"),
    ),
    scenarios=(
        Scenario("KAFKA-9365", "a client that names the group alone commits what another one has processed", "group-id-only",
                 "shipped"),
    ),
)  # fmt: skip
ENTRIES = (GROUP_FENCING,)
