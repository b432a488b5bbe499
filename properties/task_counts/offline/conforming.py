"""Histories of source connectors, held against the core of their text: one lane for each connector (`lanes.py`).

The full models refine the cores, and agreement follows the same: sets, counts, rounds, starts and who can commit,
without what a worker has read and without the group, of which the history properties tell.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import numpy as np
from fencepost.properties.conforming import Conforming, Laid, LaidOut, Settings
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.layouts import FEW, one_of, renumbered
from fencepost.properties.task_counts.history.events import TASK_COUNTS, Kind
from fencepost.properties.task_counts.observations.events import BY_VARIANT, COLUMNS
from fencepost.properties.task_counts.offline.lanes import FOUND_COUNTED, RAISED, Events, Lane, certain, lanes_of
from fencepost.properties.task_counts.online.followed import MODELS

READ = (
    "history", "kind", "node", "connector", "task", "instance", "set", "producer_id", "epoch", "request", "support",
    "status", "error",
)  # fmt: skip
PUT = ("row", "kind", "worker", "task", "set", "newest", "instance")
ASKING = ("B", "shipped")
CLASSES = (4, 8, 16, 64, 256)
"""Lanes are held against the model together with those of the same class: threads of tasks at one time, at most."""
TOO_MANY = f"more than {CLASSES[-1]} threads, or {FEW} tasks, of one connector at one time"


def variant_of(manifest: Manifest) -> str:
    """The text that the config names.  Raises `HistoryError`."""
    mode = str(manifest.config.get("mode", "shipped"))
    if mode not in MODELS:
        raise HistoryError(f"no model for mode {mode!r}")
    return mode


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """None are needed."""
    return ()


@lru_cache
def _known(variant: str) -> frozenset[int]:
    """Codes of the kinds that mean something to the model."""
    observed = {observation.kind for observation in BY_VARIANT[variant]}
    return frozenset(int(kind) for kind in Kind if kind.name in observed)


def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    """The rows of a piece (whole histories, sorted), lane by lane."""
    events: Events = {name: columns[name].tolist() for name in READ}
    starts = starts_of(columns["history"]).tolist()
    fenced = np.zeros(len(columns["kind"]), bool)
    undecided, by_class = dict[int, str](), dict[int, list[Lane]]()
    raised = np.flatnonzero(one_of(columns["kind"], RAISED))
    many = set(columns["history"][np.maximum(columns["task"], columns["count"]) > FEW].tolist())
    for begin, end in pairwise([*starts, len(events["kind"])]):
        lanes, reason = lanes_of(events, begin, end, asks=variant in ASKING, known=_known(variant))
        if events["history"][begin] in many:
            lanes, reason = [], TOO_MANY
        of_producers = raised[slice(*np.searchsorted(raised, (begin, end)))].tolist()
        fenced[list(certain(events, of_producers))] = True
        for lane in lanes:
            size = next((c for c in CLASSES if lane.places <= c), 0)
            reason = reason or ("" if size else TOO_MANY)
            if size and lane.events:
                by_class.setdefault(size, []).append(lane)
        if reason:
            undecided[events["history"][begin]] = reason
    return LaidOut(tuple(_part(columns, fenced, size, lanes) for size, lanes in sorted(by_class.items())), undecided)


def _part(columns: Mapping[str, np.ndarray], fenced: np.ndarray, size: int, lanes: list[Lane]) -> Laid:
    """``fenced``: rows of refused transactions whose producer was fenced in an event that is shown, if at all."""
    lane = np.repeat(np.arange(len(lanes)), [len(one.events) for one in lanes])
    flat = chain.from_iterable(chain.from_iterable(one.events for one in lanes))
    table = np.fromiter(flat, np.int64, len(lane) * len(PUT)).reshape(-1, len(PUT)).T
    values = dict(zip(PUT, table, strict=True))
    values["worker"] = renumbered(values["worker"])
    rows, kinds = values.pop("row"), values.pop("kind")
    own = kinds == columns["kind"][rows]  # what stands between events says nothing else
    said = {name: np.where(own, columns[name][rows], 0) for name in ("count", "status", "error")}
    values |= said | {"count": np.maximum(said["count"], 0), "certain": own & fenced[rows]}
    most = max(int(values["task"].max(initial=0)) + 1, int(values["count"].max(initial=0)))
    sizes = {"instances": size, "tasks": most, "generations": max(one.newest for one in lanes) + 1}
    sizes["workers"] = int(values["worker"].max(initial=0)) + 1
    return Laid(rows, lane, kinds, values, sizes, {}, lambda number: _told(lanes[number]))


def _told(lane: Lane) -> str:
    sets = ", ".join(f"{number} is set {place}" for place, number in sorted(lane.sets.items()))
    return f"in the model of connector {lane.connector}: {sets or 'no set yet'}"


CONFORMING = Conforming(
    TASK_COUNTS, MODELS, COLUMNS, BY_VARIANT, variant_of, settings_of, lay_out, {"found_counted": FOUND_COUNTED}
)
