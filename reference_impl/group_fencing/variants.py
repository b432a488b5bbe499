"""What a configuration consists of whose `mode` is the name of a variant.

A repaired draft fences by one of two means; what an application leaves out makes a variant of what shipped.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

AT_SEND = {"listener": False, "metadata_at": "send"}

VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "draft-repaired-by-generation": {"mode": "draft-repaired", "repair": "generation", "static": False},
    "draft-repaired-by-assignment": {"mode": "draft-repaired", "repair": "assignment"},
    "draft-static-members": {
        "mode": "draft-repaired", "repair": "generation", "static": True, "stable_ids": False, "identities": 2,
    },
    "group-id-only": {"mode": "shipped", "metadata": False},
    "new-protocol-metadata-at-send": {"mode": "new-protocol", **AT_SEND},
    "new-protocol-relaxed-metadata-at-send": {"mode": "new-protocol-relaxed", **AT_SEND},
})  # fmt: skip
