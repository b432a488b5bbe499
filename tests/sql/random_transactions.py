"""Histories of transactions that no protocol would make: stories with events changed at random, and pure noise.

A story keeps most promises, so that few violations hide among many rows that must not be reported; noise is dense in
violations of every kind at once.
"""

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.planted_transactions import example
from fencepost.properties.history.transaction_events import TRANSACTIONS, Kind

KINDS = np.array([kind for kind in Kind for _ in range(1 if kind < 50 else 2)], np.int16)
RANGES = {
    "client": (-1, 3), "txn_id": (-1, 2), "producer_id": (-1, 2), "epoch": (-1, 4), "txn": (-1, 4), "record": (-1, 6),
    "partition": (0, 2), "offset": (-1, 6), "sequence": (-1, 3), "request": (-1, 8), "outcome": (0, 2),
    "state": (-1, 6), "coordinator_epoch": (0, 3), "upto": (-1, 7),
}  # fmt: skip
FAR = 2**62  # added in some histories, where numbers then no longer fit beside one another into a key


def noise(seed: int, histories: int, events: int = 40) -> dict[str, np.ndarray]:
    """Columns of `histories` histories of 1 to 2 * `events` random events, all columns filled."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 2 * events + 1, histories)
    rows = int(lengths.sum())
    columns = absent_columns(TRANSACTIONS, rows)
    columns["history"] = np.repeat(np.cumsum(rng.integers(1, 4, histories)), lengths)
    columns["step"] = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    columns["kind"] = rng.choice(KINDS, rows)
    for name, (low, high) in RANGES.items():
        columns[name] = rng.integers(low, high, rows).astype(columns[name].dtype)
    columns["error"] = rng.choice(np.array([0, 0, 0, 0, 47, 90], np.int16), rows)
    far = np.repeat(rng.random(histories) < 0.2, lengths) & (rng.random(rows) < 0.5)
    for name in ("producer_id", "offset", "record", "upto"):
        columns[name] = np.where(far & (columns[name] >= 0), columns[name] + FAR, columns[name])
    return columns


def doctored(seed: int, histories: int, changes: int = 6) -> dict[str, np.ndarray]:
    """The planted example in `histories` copies, in each of which some events are exchanged or changed."""
    rng = np.random.default_rng(seed)
    copies = [example().columns(history) for history in range(histories)]
    columns = {name: np.concatenate([copy[name] for copy in copies]) for name in copies[0]}
    size = len(copies[0]["kind"])
    for history in range(histories):
        for _ in range(int(rng.integers(1, changes + 1))):
            row, other = (history * size + int(place) for place in rng.integers(0, size, 2))
            if rng.random() < 0.4:
                for name, values in columns.items():
                    if name not in ("history", "step", "time_us"):
                        values[[row, other]] = values[[other, row]]
                continue
            kind = Kind(int(columns["kind"][row])).name
            name = str(rng.choice([name for name in TRANSACTIONS.used_by[kind] if name not in ("node", "error")]))
            columns[name][row] = max(0, int(columns[name][row]) + int(rng.choice([-2, -1, 1, 2])))
    columns["state"] = np.minimum(columns["state"], 5).astype(columns["state"].dtype)
    columns["outcome"] = np.minimum(columns["outcome"], 1).astype(columns["outcome"].dtype)
    return columns
