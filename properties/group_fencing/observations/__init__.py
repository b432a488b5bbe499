"""What the events of a consumer group say to the models of group fencing.

Read `retelling` (what of an application, and of a classic group, is told when), `table` (which steps of the model, and
which checks, each row stands for).
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.group_fencing.classic import ByAssignment, ByGeneration, Shipped
from fencepost.model.group_fencing.modern import Modern, Relaxed
from fencepost.properties.group_fencing.events import GROUP_FENCING
from fencepost.properties.group_fencing.observations.retelling import (
    TOLD,
    Applications,
    ClassicRetelling,
    ModernRetelling,
)
from fencepost.properties.group_fencing.observations.table import BY_ASSIGNMENT, CLASSIC, COLUMNS, DRAFT, MODERN
from fencepost.properties.history import HistoryError
from fencepost.properties.shown import Shown

MODELS = {
    "shipped": (Shipped, CLASSIC),
    "draft-repaired-by-generation": (ByGeneration, DRAFT),
    "draft-repaired-by-assignment": (ByAssignment, BY_ASSIGNMENT),
    "new-protocol": (Modern, MODERN),
    "new-protocol-relaxed": (Relaxed, MODERN),
}
JUDGED_BY_GENERATION = ("shipped", "draft-repaired-by-generation")


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """How many partitions there are.  Raises `HistoryError` where a history may have what the models leave out."""
    if int(config.get("old", 0)) or not config.get("group_aware", True):
        raise HistoryError("applications with a producer for each partition are followed by no model")
    if config.get("transactions", "v2") != "v2":
        raise HistoryError(
            "before transaction.version 2 a late copy of a commit may be taken, which the models leave out"
        )
    if config.get("identities", 0) and variant != "shipped":
        raise HistoryError("instances that share a transactional id are in no model")
    return {"partitions": config["inputs"]} if "inputs" in config else {}


def _retelling(variant: str, given: Mapping[str, int]) -> Applications:
    """Of a group with generations, or with epochs of its members."""
    is_new = variant.startswith("new-protocol")
    return ModernRetelling() if is_new else ClassicRetelling(variant in JUDGED_BY_GENERATION)


SHOWN = Shown(
    GROUP_FENCING,
    models={name: model for name, (model, _) in MODELS.items()},
    columns=COLUMNS,
    observations={name: table for name, (_, table) in MODELS.items()},
    names={"client": (), "other": ()},
    given=_given,
    retelling=_retelling,
    told=TOLD,
)
