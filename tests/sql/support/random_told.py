"""What random histories of a protocol that is told as stories have in common: noise, and a story doctored."""

from collections.abc import Collection, Mapping
from enum import IntEnum

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.planting.bends import Written

Columns = dict[str, np.ndarray]


def random_events(
    rng: np.random.Generator,
    vocabulary: Vocabulary,
    kinds: np.ndarray,
    ranges: Mapping[str, tuple[int, int]],
    histories: int,
    events: int,
) -> tuple[Columns, np.ndarray]:
    """Columns of `histories` histories of 1 to 2 * `events` events, and their lengths; ranges exclude the upper end."""
    lengths = rng.integers(1, 2 * events + 1, histories)
    rows = int(lengths.sum())
    columns = absent_columns(vocabulary, rows)
    columns["history"] = np.repeat(np.cumsum(rng.integers(1, 4, histories)), lengths)
    columns["step"] = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    columns["kind"] = rng.choice(kinds, rows)
    for name, (low, high) in ranges.items():
        columns[name] = rng.integers(low, high, rows).astype(columns[name].dtype)
    return columns, lengths


def doctored_story(
    rng: np.random.Generator,
    example: Written,
    kinds: type[IntEnum],
    unchanged: Collection[str],
    histories: int,
    changes: int,
    exchanges: float,
) -> Columns:
    """The example in `histories` copies, each with up to `changes` of them; a share of `exchanges` puts one event in
    the place of another, the rest change a column that the event uses, but none that is `unchanged`."""
    copies = [example.columns(history) for history in range(histories)]
    columns = {name: np.concatenate([copy[name] for copy in copies]) for name in copies[0]}
    used_by = example.vocabulary.used_by
    size = len(copies[0]["kind"])
    for history in range(histories):
        for _ in range(int(rng.integers(1, changes + 1))):
            row, other = (history * size + int(place) for place in rng.integers(0, size, 2))
            if rng.random() < exchanges:
                for name, values in columns.items():
                    if name not in ("history", "step", "time_us"):
                        values[[row, other]] = values[[other, row]]
                continue
            used = [name for name in used_by[kinds(int(columns["kind"][row])).name] if name not in unchanged]
            if used:
                name = str(rng.choice(used))
                columns[name][row] = max(0, int(columns[name][row]) + int(rng.choice([-2, -1, 1, 2])))
    return columns
