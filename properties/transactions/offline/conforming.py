"""Histories of transactions, held against the full model: one lane for each transactional id.

The model's numbers of producer ids lie as close to one another as the epochs in a lane allow, and lanes of about one
size are held against it together.  A lane that cannot be followed to its end (`unfollowed.py`) is followed until then.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from fencepost.model.transactions.detailed.expiry import Expiring
from fencepost.properties.conforming import Conforming, Laid, LaidOut, Recording, Settings
from fencepost.properties.cutting import Cut
from fencepost.properties.transactions.history.events import TRANSACTIONS
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.observations.belonging import LANES
from fencepost.properties.transactions.observations.beyond import BESIDE
from fencepost.properties.transactions.observations.histories import BY_VARIANT, COLUMNS, RELEASES, variant_of
from fencepost.properties.transactions.offline.excuses import Violations
from fencepost.properties.transactions.offline.laying_out import Layout
from fencepost.properties.transactions.offline.names import NOWHERE, SPARE
from fencepost.properties.transactions.offline.recorded import followable, recorded
from fencepost.properties.transactions.online.followed import MODELS

READ = (
    "history", "kind", "client", "txn_id", "producer_id", "epoch", "txn", "record", "partition", "sequence", "request",
    "outcome", "state", "coordinator_epoch", "error",
)  # fmt: skip
LASTS = (14, 30, 62, 126, 254, 510)
"""The model's last epoch, where Kafka's is not come near: as small as the epochs in a lane allow."""
TOGETHER = 62
"""Lanes have one last epoch up to here: few lanes by themselves take nearly as long as many together."""
CLASSES = (12, 32, 128, 512)
"""Lanes are held against the model together with those of the same class: transactions or clients, at most."""
EPOCH_MAX = 32767


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """``last``: the largest epoch that an owner is given.  Config: `max_epoch`, one more than that."""
    return (("last", int(config.get("max_epoch", EPOCH_MAX)) - 1),)


def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    """The rows of a piece (whole histories, sorted), lane by lane."""
    if not len(columns["kind"]):
        return LaidOut((), {})
    layout = layout_of(columns, variant, settings)
    cut, last = layout.cut, layout.last
    undecided: dict[int, str] = {}
    history = columns["history"][np.searchsorted(cut.history, np.arange(cut.histories))]
    for lane, reason in layout.stops.reasons().items():
        undecided.setdefault(int(history[cut.of_history[lane]]), reason)
    most = np.ones(len(last), np.int64)
    for name in ("client", "txn"):
        np.maximum.at(most, cut.lane[layout.kept], layout.values[name][layout.kept] + 1)
    group = last * len(CLASSES) + np.searchsorted(CLASSES, most)
    there = np.unique(group[np.unique(cut.lane[layout.kept])])
    return LaidOut(tuple(_part(layout, group == one) for one in there.tolist()), undecided)


def layout_of(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> Layout:
    """The lanes of a piece, which has events."""
    cut = Cut({name: columns[name].astype(np.int64, copy=False) for name in READ}, LANES)
    real = dict(settings)["last"]
    last = _lasts(real, np.maximum.reduceat(cut.e["epoch"][cut.row], np.searchsorted(cut.lane, range(len(cut.keys)))))
    return Layout(cut, last, real, bumps=variant in RELEASES.values(), verifies=variant == "v1-verified")


def _lasts(real: int, tops: np.ndarray) -> np.ndarray:
    """The model's last epochs for lanes with epochs up to these."""
    fitting = np.searchsorted(np.array(LASTS) - SPARE, tops)
    lasts = np.append(LASTS, LASTS[-1])[fitting]
    found: np.ndarray = np.minimum(real, np.maximum(lasts, lasts[lasts <= TOGETHER].max(initial=0)))
    return found


def _part(layout: Layout, chosen: np.ndarray) -> Laid:
    """The events of these lanes that are kept."""
    at = np.flatnonzero(layout.kept & chosen[layout.lane])
    lanes, lane = np.unique(layout.lane[at], return_inverse=True)
    values = {name: column[at] for name, column in layout.values.items()}
    largest = 3 + max(0, int(layout.pairs.all[chosen[layout.lane[layout.pairs.at]]].max(initial=0)))
    # No pair has this number, nor the ones before it.
    values["number"] = np.where(values["number"] == NOWHERE, largest, values["number"])
    sizes = {
        "clients": int(values["client"].max(initial=0)) + 1,
        "transactions": int(values["txn"].max(initial=0)) + 1,
        "partitions": int(values["partition"].max(initial=0)) + 1,
        "epochs": largest,
        "fail_overs": int(layout.last_terms[layout.cut.of_history[lanes]].max()),
    }
    constants = {"last": int(layout.last[lanes[0]])}
    return Laid(layout.row[at], lane, layout.kinds[at], values, sizes, constants, lambda lane: layout.told(lanes[lane]))


def excusing(columns: Mapping[str, np.ndarray], variant: str, config: Mapping[str, Any]) -> Violations:
    """Which violations the steps of the model excuse in whole histories."""
    return Violations(TransactionView(columns, config), layout_of(columns, variant, settings_of(variant, config)))


CONFORMING = Conforming(
    TRANSACTIONS, {**MODELS, RELEASES["4.3"]: Expiring}, COLUMNS, BY_VARIANT, variant_of, settings_of, lay_out,
    {"further_record": BESIDE}, excusing=excusing, recording=Recording(followable, recorded),
)  # fmt: skip
