"""The promises and mechanisms of exactly-once source connectors (KIP-618, who may run), held against histories.

`PROPERTIES` holds both tables. `check` runs them over one piece (all its histories at once), `undecidable` says which a
recording cannot answer, `figures` counts what became of tasks and rounds. `RECORDINGS` names what is usually recorded:
what shows from outside, the config topic alone, or all.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.checking import Finding, HistoryProperty, not_promised, reasons
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.pieces import Columns
from fencepost.properties.task_counts.history.events import OUTSIDE, TASK_COUNTS, TOPIC, Kind
from fencepost.properties.task_counts.history.mechanisms import MECHANISMS
from fencepost.properties.task_counts.history.promises import PROMISES
from fencepost.properties.task_counts.history.view import TaskCountView

__all__ = ["COLUMNS", "PROPERTIES", "RECORDINGS", "check", "figures", "undecidable", "unpromised"]

PROPERTIES: Mapping[str, HistoryProperty[TaskCountView]] = {told.name: told for told in (*PROMISES, *MECHANISMS)}
COLUMNS = ("history", "step", "kind", *(name for name in TASK_COUNTS.names if name != "member"))
NO_CONFIG: Mapping[str, Any] = MappingProxyType({})
DEFAULT_MODE = "shipped"

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "topic": TASK_COUNTS.shown_by(TOPIC),
        "outside": TASK_COUNTS.shown_by(TOPIC, OUTSIDE),
        "all": tuple(TASK_COUNTS.codes),
    }
)
"""Kinds of event by recording."""


def check(
    columns: Columns, names: Iterable[str] = tuple(PROPERTIES), config: Mapping[str, Any] = NO_CONFIG
) -> tuple[dict[str, Finding], dict[str, int]]:
    """The findings of the properties called `names`, and the figures, of one piece: `COLUMNS` of whole histories.

    `config`: `mode` (A, M, B or shipped, if it does not say).
    """
    view = TaskCountView(columns, config)
    return {name: PROPERTIES[name].on(view, columns) for name in names}, figures(view)


def undecidable(manifest: Manifest) -> dict[str, str]:
    """The properties that these histories cannot answer, each with the reason."""
    return reasons(PROPERTIES.values(), manifest, DEFAULT_MODE)


def unpromised(manifest: Manifest) -> dict[str, str]:
    """The properties that are not asked of histories of this mode, each with the reason."""
    return not_promised(PROPERTIES.values(), manifest, DEFAULT_MODE)


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
