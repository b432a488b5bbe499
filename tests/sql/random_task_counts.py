"""Histories of task counts that no protocol would make: the example with events changed at random, and pure noise.

The example keeps every promise, so that few violations hide among many rows that must not be reported; noise is dense
in violations of every kind at once.
"""

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.planted_task_counts import example
from fencepost.properties.history.task_count_events import TASK_COUNTS, Kind

KINDS = np.array([kind for kind in Kind for _ in range(3 if 20 <= kind < 30 or kind == 54 else 1)], np.int16)
RANGES = {
    "node": (-1, 2), "connector": (-1, 2), "task": (-1, 3), "instance": (-1, 5), "set": (-1, 12), "count": (-1, 4),
    "offset": (0, 12), "member": (-1, 3), "producer_id": (-1, 3), "epoch": (-1, 4), "request": (-1, 4),
    "support": (-1, 4),
}  # fmt: skip
NEVER_CHANGED = ("node", "error", "status", "support", "member")


def noise(seed: int, histories: int, events: int = 40) -> dict[str, np.ndarray]:
    """Columns of `histories` histories of 1 to 2 * `events` random events, all columns filled."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 2 * events + 1, histories)
    rows = int(lengths.sum())
    columns = absent_columns(TASK_COUNTS, rows)
    columns["history"] = np.repeat(np.cumsum(rng.integers(1, 4, histories)), lengths)
    columns["step"] = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    columns["kind"] = rng.choice(KINDS, rows)
    for name, (low, high) in RANGES.items():
        columns[name] = rng.integers(low, high, rows).astype(columns[name].dtype)
    columns["error"] = rng.choice(np.array([0, 0, 0, 90], np.int16), rows)
    columns["status"] = rng.choice(np.array([-1, 200, 200, 200, 409, 500], np.int32), rows)
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
            if rng.random() < 0.5:
                for name, values in columns.items():
                    if name not in ("history", "step", "time_us"):
                        values[[row, other]] = values[[other, row]]
                continue
            kind = Kind(int(columns["kind"][row])).name
            used = [name for name in TASK_COUNTS.used_by[kind] if name not in NEVER_CHANGED]
            if used:
                name = str(rng.choice(used))
                columns[name][row] = max(0, int(columns[name][row]) + int(rng.choice([-2, -1, 1, 2])))
    return columns
