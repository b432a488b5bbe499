"""Which variants the reference implementation has: what a configuration says of each, and how histories are simulated.

What shipped is safe whichever way an application asks for its metadata; under the new protocol it is if that has a
rebalance listener, or asks at the poll.
"""

from collections.abc import Mapping
from typing import Any

REFERENCE = "fencepost.reference_impl.group_fencing"

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "shipped": {"mode": "shipped"},
    "new-protocol": {"mode": "new-protocol"},
    "new-protocol-relaxed": {"mode": "new-protocol-relaxed"},
    "draft-repaired-by-generation": {"mode": "draft-repaired", "repair": "generation", "static": False},
    "draft-repaired-by-assignment": {"mode": "draft-repaired", "repair": "assignment"},
    "draft": {"mode": "draft"},
    "draft-static-members": {"mode": "draft-repaired", "repair": "generation", "static": True, "stable_ids": False},
    "group-id-only": {"mode": "shipped", "metadata": False},
    "new-protocol-metadata-at-send": {"mode": "new-protocol", "listener": False, "metadata_at": "send"},
    "new-protocol-relaxed-metadata-at-send": {
        "mode": "new-protocol-relaxed", "listener": False, "metadata_at": "send",
    },
}  # fmt: skip

MISTAKES = frozenset(list(VARIANTS)[5:])
"""Which are driven and simulated to see what they break."""

CONFIG = {"events": 400, "records": 8, "transaction_timeout_ms": 400, "quiet_end": True}
"""Of simulated histories: faults for so many events, and then all there is gets copied, if it can be."""

IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", name) for name in VARIANTS)
SIMULATORS = tuple(
    (name, f"{REFERENCE}.generator:simulate_with_stats", {**said, **CONFIG}) for name, said in VARIANTS.items()
)
