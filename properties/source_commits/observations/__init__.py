"""What the events of a source task say to the models of committing offsets.

Read `retelling` (what is on its way, and what is lost), `table` (which steps of the model, and which checks, each row
stands for).
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.source_commits.exactly_once import ExactlyOnce
from fencepost.model.source_commits.seen import SeenMended, SeenProposed
from fencepost.properties.retelling import Retelling
from fencepost.properties.shown import Shown
from fencepost.properties.source_commits.events import SOURCE_COMMITS
from fencepost.properties.source_commits.observations.retelling import TOLD, Flushes, Transactions
from fencepost.properties.source_commits.observations.table import COLUMNS, MENDED, ONCE, PROPOSED

MODELS = {
    "proposed": (SeenProposed, PROPOSED),
    "shipped-mended": (SeenMended, MENDED),
    "proposed-exactly-once": (ExactlyOnce, ONCE),
}
THREADS = 2
"""The task's own, and the committer."""


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """How many source partitions, records and threads there are; records without end are counted in the history."""
    return {**{name: config[name] for name in ("partitions", "records") if config.get(name)}, "threads": THREADS}


def _retelling(variant: str, given: Mapping[str, int]) -> Retelling:
    kinds = frozenset(observation.kind for observation in MODELS[variant][1])
    return Transactions(kinds) if variant == "proposed-exactly-once" else Flushes(kinds)


SHOWN = Shown(
    SOURCE_COMMITS,
    models={name: model for name, (model, _) in MODELS.items()},
    columns=COLUMNS,
    observations={name: table for name, (_, table) in MODELS.items()},
    given=_given,
    retelling=_retelling,
    told=TOLD,
)
