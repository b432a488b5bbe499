"""What a configuration consists of whose `mode` is the name of a variant.

`text-merged-view` is the later text of KIP-618, `migration-sentinel` the earlier one, each as it is right.  Those that
begin with `shipped` are Kafka as it is released, by what operators do with the connector's offsets topic, and the two
that end with `alone` are halves of a mend: `stores/released.py`.  The others are mistakes: what they do is in
`defects`, under the name that `DEFECT_OF` says; what they show in is here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

RIGHT = ("text-merged-view", "migration-sentinel")
TOMBSTONES = {"rounds": 2, "separate": True}
SWITCHED_ON = {"separate": False}  # until an operator gives the connector a topic of its own

CONFIGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "migration-sentinel": SWITCHED_ON,
    "migration-race": SWITCHED_ON,
    "stale-topic": {"downgrades": True},
    "tombstone-primary-first": TOMBSTONES,
    "late-copies": TOMBSTONES,
    "copied": SWITCHED_ON,
    "up-to-the-last-stable": {},
    "separate-transactions": {},
    "shipped": {"given": False},
    "shipped-own-topic-from-the-start": {},
    "shipped-own-topic-later": SWITCHED_ON,
    "shipped-own-topic-taken": {"separate": True, "taken": True},
    "falls-back-alone": {"separate": True},
    "copies-when-committed-alone": SWITCHED_ON,
})  # fmt: skip

SEPARATE_BY_MODE: Mapping[str, bool] = MappingProxyType({"shipped": False, "shipped-own-topic-from-the-start": True})
"""Of modes that are about a connector without a topic of its own, or with one from when it is created."""

DEFECT_OF: Mapping[str, str] = MappingProxyType({
    "migration-race": "owners_not_fenced",
    "tombstone-primary-first": "tombstone_primary_first",
    "copied": "copied_by_tasks",
    "up-to-the-last-stable": "reads_to_the_last_stable",
    "separate-transactions": "offsets_in_another_transaction",
})  # fmt: skip
"""Of a mode that is a mistake, the defect that it has; `stale-topic` has none, it is what an operator
does; nor has `late-copies`: tombstones, and copies in the worker's topic that come late, are enough."""

MODES = ("text-merged-view", *CONFIGS)
MIGRATING = ("migration-sentinel", "migration-race")
"""Those of the earlier text, in which the separate topic alone is read."""
