"""KIP-447 in the catalogue: the draft, what repairs it, what shipped, and the new group protocol."""

from fencepost.properties.entries import Names, ProtocolEntry, Variant
from fencepost.properties.group_fencing.claims.classic import DraftPromises, ShippedLemmas
from fencepost.properties.group_fencing.variants.driven import IMPLEMENTATIONS, SIMULATORS

CORE = dict(members=2, partitions=1, epochs=2, inputs=1, rebalances=2, crashes=0)

REASONS = {
    "members": "a former owner and the one after it",
    "partitions": "one that changes its owner",
    "epochs": "one generation, and the one that follows it",
    "inputs": "one input, which is processed twice, or once",
    "rebalances": "the first, and the one that changes the owner",
    "crashes": "a member that loses its memory once",
}

SHIPPED = Variant("shipped", ShippedLemmas, "Kafka 2.5 and later", bounds={"smoke": CORE}, progress_bounds=(CORE,))
DRAFT = Variant(
    "draft", DraftPromises, "the draft", "447.8", None, {"nothing_twice": "violated"}, {"smoke": CORE},
    Names(lambda: (n for n in DraftPromises.properties if n != "nothing_twice")),
)  # fmt: skip

GROUP_FENCING = ProtocolEntry(
    "group-fencing", "Group-aware fencing.", (SHIPPED, DRAFT), REASONS, IMPLEMENTATIONS, SIMULATORS,
)  # fmt: skip
ENTRIES = (GROUP_FENCING,)
