"""Histories of task counts that no protocol would make: the example with events changed at random, and pure noise.

The example keeps every promise, so that few violations hide among many rows that must not be reported; noise is dense
in violations of every kind at once.
"""

import numpy as np
from fencepost.properties.task_counts.events import TASK_COUNTS, Kind
from fencepost.properties.task_counts.histories.properties import BED
from random_told import Columns, doctored_story, random_events

KINDS = np.array([kind for kind in Kind for _ in range(3 if 20 <= kind < 30 or kind == 54 else 1)], np.int16)
RANGES = {
    "node": (-1, 2), "connector": (-1, 2), "task": (-1, 3), "instance": (-1, 5), "set": (-1, 12), "count": (-1, 4),
    "offset": (0, 12), "member": (-1, 3), "producer_id": (-1, 3), "epoch": (-1, 4), "request": (-1, 4),
    "support": (-1, 4),
}  # fmt: skip
NEVER_CHANGED = ("node", "error", "status", "support", "member")


def noise(seed: int, histories: int, events: int = 40) -> Columns:
    """Columns of `histories` histories of 1 to 2 * `events` random events, all columns filled."""
    rng = np.random.default_rng(seed)
    columns, lengths = random_events(rng, TASK_COUNTS, KINDS, RANGES, histories, events)
    rows = int(lengths.sum())
    columns["error"] = rng.choice(np.array([0, 0, 0, 90, 51], np.int16), rows)
    columns["status"] = rng.choice(np.array([-1, 200, 200, 200, 409, 500], np.int32), rows)
    return columns


def doctored(seed: int, histories: int, changes: int = 12) -> Columns:
    """The planted example in `histories` copies, in each of which some events are exchanged or changed."""
    return doctored_story(np.random.default_rng(seed), BED.history, Kind, NEVER_CHANGED, histories, changes, 0.5)
