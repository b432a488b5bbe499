"""The promises and mechanisms of exactly-once source connectors (KIP-618, who may run), held against histories.

`HISTORY` holds both tables, `figures` counts what became of tasks and rounds. `RECORDINGS` names what is usually
recorded: what shows from outside, the config topic alone, or all.
"""

from collections.abc import Mapping
from types import MappingProxyType

from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.spreading import Spread, by
from fencepost.properties.task_counts.history.events import OUTSIDE, TASK_COUNTS, TOPIC, Kind
from fencepost.properties.task_counts.history.mechanisms import MECHANISMS
from fencepost.properties.task_counts.history.promises import PROMISES
from fencepost.properties.task_counts.history.view import TaskCountView
from fencepost.properties.task_counts.history.words import NAMES

PROPERTIES = in_a_table(*PROMISES, *MECHANISMS)
COLUMNS = ("history", "step", "kind", *(name for name in TASK_COUNTS.names if name != "member"))

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "topic": TASK_COUNTS.shown_by(TOPIC),
        "outside": TASK_COUNTS.shown_by(TOPIC, OUTSIDE),
        "all": tuple(TASK_COUNTS.codes),
    }
)
"""Kinds of event by recording."""


def figures(view: TaskCountView) -> dict[str, int]:
    """What became of the sets of one piece; the figures of several pieces add up.

    sets and counts (written), ids_fenced, claims (of the config topic), started, running, abandoned and failed (tasks),
    committed and refused (their transactions).
    """
    kinds = {
        "sets": Kind.set_written, "counts": Kind.count_written, "claims": Kind.topic_claimed,
        "started": Kind.task_starting, "running": Kind.task_running, "abandoned": Kind.task_abandoned,
        "failed": Kind.task_failed, "committed": Kind.transaction_committed, "refused": Kind.transaction_refused,
    }  # fmt: skip
    counted = {name: len(view.rows_of(kind)) for name, kind in kinds.items()}
    return counted | {"ids_fenced": len(view.fine(Kind.id_fenced))}


HISTORY = HistoryProperties(
    TASK_COUNTS,
    PROPERTIES,
    view=TaskCountView,
    columns=COLUMNS,
    mode="shipped",
    figures=figures,
    values=NAMES,
    spread_of_figures=Spread(links=by("connector")),
)
