"""What the events of source tasks say to the model of their offsets.

Read `retelling` (whose source partitions are an instance's, and which instances are followed), `table` (which steps of
the model, and which checks, each row stands for).
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.source_offsets.seen import SeenMergedView, SeenOwnTopic
from fencepost.properties.history import HistoryError
from fencepost.properties.retelling import Retelling
from fencepost.properties.shown import Shown
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS
from fencepost.properties.source_offsets.observations.retelling import ENDS, TOLD, Tasks
from fencepost.properties.source_offsets.observations.table import COLUMNS, TABLE

MODELS = {
    "text-merged-view": SeenMergedView,
    "shipped": SeenMergedView,  # with one topic there is nothing to merge
    "shipped-own-topic-from-the-start": SeenOwnTopic,
}


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """How many source partitions and records there are, and what is of the first set of tasks, which is there before
    anything is shown."""
    if not isinstance(config.get("partitions"), int):
        raise HistoryError("the config does not say how many partitions the source has, which instances share")
    if int(config.get("rounds", 1)) > 1:
        raise HistoryError("partitions that begin anew are followed by no model")
    separate = config.get("separate", False) if variant == "text-merged-view" else variant != "shipped"
    first = {"tasks": int(config.get("tasks", 1)), "separate": int(separate)}
    return first | {name: config[name] for name in ("partitions", "records") if config.get(name)}


def _retelling(variant: str, given: Mapping[str, int]) -> Retelling:
    kinds = frozenset(observation.kind for observation in TABLE)
    return Tasks(kinds, given["partitions"], given["tasks"], bool(given["separate"]))


SHOWN = Shown(
    SOURCE_OFFSETS,
    models=MODELS,
    columns=COLUMNS,
    observations=dict.fromkeys(MODELS, TABLE),
    names={"instance": ENDS},
    given=_given,
    retelling=_retelling,
    told=TOLD,
    beside=("tasks", "separate"),
)
