"""Histories that are long: many short ones told as one, with names of their own, and random ones."""

import numpy as np
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.seeded_violations import SEEDED_HISTORIES, SeededHistory
from random_histories import doctored_story, random_events

Columns = dict[str, np.ndarray]
VALUES = frozenset({
    "history", "step", "time_us", "kind", "error", "outcome", "state", "status", "support", "epoch", "sequence",
    "coordinator_epoch", "length", "count", "task", "round", "runtime", "topic", "entries", "thread", "slot",
})  # fmt: skip
"""Columns that name nothing: they mean the same in every history."""
SHARED = 4
"""Every so manieth history goes on with the names of the one before, so that some keys have more events than others."""


def chained(columns: Columns, history: int = 0) -> Columns:
    """One history of many: what they name is different in each, but for some that share all names."""
    starts = starts_of(columns["history"])
    rows = len(columns["history"])
    place = np.repeat(np.arange(len(starts)), np.diff(starts, append=rows))
    lives = place - (place % SHARED == SHARED - 1)
    reported = {name: values.copy() for name, values in columns.items()}
    for name in reported.keys() - VALUES:
        stride = np.int64(columns[name].max(initial=0)) + 1
        kept = (columns[name] < 0) | (stride * (len(starts) + 1) > np.iinfo(columns[name].dtype).max)
        reported[name] = np.where(kept, columns[name], columns[name] + lives * stride).astype(columns[name].dtype)
    reported["history"] = np.full(rows, history)
    reported["step"], reported["time_us"] = np.arange(rows, dtype=np.int32), np.arange(rows)
    return reported


def seeded(protocol: str, histories: int, seed: int = 1) -> Columns:
    """One long history in which much is violated."""
    return chained(SEEDED_HISTORIES[protocol].seeded(seed, 0, histories, share=0.5)[0])


def doctored(protocol: str, histories: int, seed: int = 2) -> Columns:
    """One long history in which events were exchanged and changed at random."""
    example: SeededHistory = SEEDED_HISTORIES[protocol]
    rng = np.random.default_rng(seed)
    return chained(doctored_story(rng, example.history, example.vocabulary.kinds, VALUES, histories, 8, 0.4))


def noise(protocol: str, events: int, seed: int = 3) -> Columns:
    """Histories of random events: every column of each is filled, and names are seldom named twice, or often."""
    example: SeededHistory = SEEDED_HISTORIES[protocol]
    return noise_of(example.vocabulary, example.history.columns(), events, seed)


def noise_of(vocabulary: Vocabulary, example: Columns, events: int, seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    kinds = np.unique(example["kind"])
    few = {name: (-1, int(example[name].max(initial=0)) + 2) for name in vocabulary.names}
    many = {name: (-1, events if name not in VALUES else high) for name, (_, high) in few.items()}
    parts = []
    for history, ranges in enumerate((few, many, few)):
        part, _ = random_events(rng, vocabulary, kinds, _fitting(vocabulary, ranges), 1, events)
        while len(part["kind"]) < events:
            part, _ = random_events(rng, vocabulary, kinds, _fitting(vocabulary, ranges), 1, events)
        part["error"] = part["error"] * (rng.random(len(part["kind"])) < 0.2) if "error" in part else None
        part["history"][:] = history * 3
        part["time_us"] = np.arange(len(part["kind"]))
        parts.append({name: values for name, values in part.items() if values is not None})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _fitting(vocabulary: Vocabulary, ranges: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    widths = {column.name: np.iinfo(column.dtype).max for column in vocabulary.columns}
    return {name: (low, min(high, widths[name])) for name, (low, high) in ranges.items()}
