"""Histories of transactions, held against the full model: one lane for each transactional id (`lanes.py`).

The model's numbers of producer ids lie as close to one another as the epochs in a lane allow, and lanes of about one
size are held against it together.  A lane that cannot be followed to its end (`unfollowed.py`) is followed until then.
"""

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Any

import numpy as np
from fencepost.properties.conforming import Conforming, Laid, LaidOut, Settings
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.transactions.history.events import TRANSACTIONS
from fencepost.properties.transactions.observations.histories import BY_VARIANT, COLUMNS
from fencepost.properties.transactions.offline.lanes import Cut, Events
from fencepost.properties.transactions.offline.laying_out import NAMES, Layout
from fencepost.properties.transactions.offline.names import NOWHERE, SPARE
from fencepost.properties.transactions.online.followed import MODELS

READ = (
    "history", "kind", "client", "txn_id", "producer_id", "epoch", "txn", "record", "partition", "sequence", "request",
    "outcome", "state", "coordinator_epoch", "error",
)  # fmt: skip
LASTS = (14, 30, 62, 126, 254, 510)
"""The model's last epoch, where Kafka's is not come near: as small as the epochs in a lane allow."""
CLASSES = (12, 32, 128, 512)
"""Lanes are held against the model together with those of the same class: transactions or clients, at most."""
EPOCH_MAX = 32767


def variant_of(manifest: Manifest) -> str:
    """The mode that the config names.  Raises `HistoryError`."""
    mode = str(manifest.config.get("mode", "v2"))
    if mode not in MODELS:
        raise HistoryError(f"no model for mode {mode!r}")
    return mode


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """``last``: the largest epoch that an owner is given.  Config: `max_epoch`, one more than that."""
    return (("last", int(config.get("max_epoch", EPOCH_MAX)) - 1),)


def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    """The rows of a piece (whole histories, sorted), lane by lane."""
    events: Events = {name: columns[name].tolist() for name in READ}
    starts = starts_of(columns["history"]).tolist()
    real = dict(settings)["last"]
    undecided: dict[int, str] = {}
    by_class: dict[tuple[int, int], list[Layout]] = {}
    for begin, end in pairwise([*starts, len(events["kind"])]):
        cut = Cut(events, begin, end)
        for lane in cut.lanes:
            last = _last(real, max((events["epoch"][row] for row in lane.rows), default=0))
            layout = Layout(events, cut, lane, last=last, cut_short=last < real, bumps=variant == "v2")
            layout.lay_out()
            if layout.reason:
                undecided.setdefault(events["history"][begin], layout.reason)
            if layout.rows:
                most = max(len(layout.names.txns), len(layout.names.clients))
                by_class.setdefault((last, next(c for c in CLASSES if most <= c)), []).append(layout)
    return LaidOut(tuple(_part(last, layouts) for (last, _), layouts in sorted(by_class.items())), undecided)


def _last(real: int, top: int) -> int:
    """The model's last epoch for a lane with epochs up to this one."""
    return min(real, next((last for last in LASTS if top + SPARE <= last), LASTS[-1]))


def _part(last: int, layouts: list[Layout]) -> Laid:
    largest = 3 + max(layout.names.largest for layout in layouts)  # nobody has this number, nor the ones before it
    lane = np.repeat(np.arange(len(layouts)), [len(layout.rows) for layout in layouts])
    flat = chain.from_iterable(chain.from_iterable(layout.values for layout in layouts))
    table = np.fromiter(flat, np.int64, len(lane) * len(NAMES)).reshape(-1, len(NAMES))
    values = {name: table[:, place] for place, name in enumerate(NAMES)}
    values["number"] = np.where(values["number"] == NOWHERE, largest, values["number"])
    sizes = {
        "clients": max(1, *(len(layout.names.clients) for layout in layouts)),
        "transactions": max(1, *(len(layout.names.txns) for layout in layouts)),
        "partitions": int(values["partition"].max(initial=0)) + 1,
        "epochs": largest,
        "fail_overs": max(layout.names.last_term for layout in layouts),
    }
    rows = np.fromiter(chain.from_iterable(layout.rows for layout in layouts), np.int64, len(lane))
    kinds = np.fromiter(chain.from_iterable(layout.kinds for layout in layouts), np.int64, len(lane))
    return Laid(rows, lane, kinds, values, sizes, {"last": last}, lambda lane: _told(layouts[lane]))


def _told(layout: Layout) -> str:
    return f"in the model of transactional id {layout.lane.txn_id}: {layout.names.told()}"


CONFORMING = Conforming(TRANSACTIONS, MODELS, COLUMNS, BY_VARIANT, variant_of, settings_of, lay_out)
