"""The core of one connector, as it is followed through a cluster under way.

What is followed is the core of each text, which the full models refine: sets, counts, rounds, starts and who can
commit, without what a worker has read and without the group.
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.specs import without_limits
from fencepost.model.language.tree.types import unlimited
from fencepost.model.task_counts.abstract.loose import LooseA, LooseB, LooseM, LooseShipped
from fencepost.properties.agreement import Followed
from fencepost.properties.task_counts.observations.calls import CALLS
from fencepost.properties.task_counts.observations.events import BY_VARIANT, COLUMNS
from fencepost.properties.task_counts.online.interpreter import PLACES, TaskCountsInterpreter

MODELS = {"shipped": LooseShipped, "A": LooseA, "M": LooseM, "B": LooseB}


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    """The model of a cluster."""
    return _followed(variant, config["workers"], max(3, config["max_tasks"]))


@lru_cache(maxsize=256)
def _followed(variant: str, workers: int, tasks: int) -> Followed:
    spec = without_limits(settle(MODELS[variant].spec))
    return Followed(
        variant=variant,
        spec=spec,
        constants={},
        bounds=unlimited(spec.types, {"workers": workers, "instances": PLACES, "tasks": tasks}),
        columns=COLUMNS,
        observations=BY_VARIANT[variant],
        calls=CALLS,
        interpreter=partial(TaskCountsInterpreter, variant in ("B", "shipped")),
    )
