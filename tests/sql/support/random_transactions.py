"""Histories of transactions that no protocol would make: stories with events changed at random, and pure noise.

A story keeps most promises, so that few violations hide among many rows that must not be reported; noise is dense in
violations of every kind at once.
"""

import numpy as np
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind
from fencepost.properties.transactions.histories.properties import BED
from random_told import Columns, doctored_story, random_events

KINDS = np.array([kind for kind in Kind for _ in range(1 if kind < 50 else 2)], np.int16)
RANGES = {
    "client": (-1, 3), "txn_id": (-1, 2), "producer_id": (-1, 2), "epoch": (-1, 4), "txn": (-1, 4), "record": (-1, 6),
    "partition": (0, 2), "offset": (-1, 6), "sequence": (-1, 3), "request": (-1, 8), "outcome": (0, 2),
    "state": (-1, 6), "coordinator_epoch": (0, 3), "upto": (-1, 7),
}  # fmt: skip
NEVER_CHANGED = ("node", "error")
FAR = 2**62  # added in some histories, where numbers then no longer fit beside one another into a key


def noise(seed: int, histories: int, events: int = 40) -> Columns:
    """Columns of `histories` histories of 1 to 2 * `events` random events, all columns filled."""
    rng = np.random.default_rng(seed)
    columns, lengths = random_events(rng, TRANSACTIONS, KINDS, RANGES, histories, events)
    rows = int(lengths.sum())
    columns["error"] = rng.choice(np.array([0, 0, 0, 0, 47, 90], np.int16), rows)
    far = np.repeat(rng.random(histories) < 0.2, lengths) & (rng.random(rows) < 0.5)
    for name in ("producer_id", "offset", "record", "upto"):
        columns[name] = np.where(far & (columns[name] >= 0), columns[name] + FAR, columns[name])
    return columns


def doctored(seed: int, histories: int, changes: int = 6) -> Columns:
    """The planted example in `histories` copies, in each of which some events are exchanged or changed."""
    columns = doctored_story(np.random.default_rng(seed), BED.history, Kind, NEVER_CHANGED, histories, changes, 0.4)
    columns["state"] = np.minimum(columns["state"], 5).astype(columns["state"].dtype)
    columns["outcome"] = np.minimum(columns["outcome"], 1).astype(columns["outcome"].dtype)
    return columns
