"""Histories of id blocks that no protocol would make: small, dense in violations, and at the edges of the integers."""

import numpy as np
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind

MAX = 2**63 - 1
KINDS = (
    Kind.broker_started,
    Kind.block_committed,
    Kind.answer_sent,
    Kind.id_handed_out,
    Kind.id_handed_out,
    Kind.zk_written,
    Kind.migrated,
    Kind.request_sent,
)
# Dense small ranges collide; mixed with ids at the end of the range they no longer fit into one packed key.
BASES = {"low": (0,), "high": (MAX - 12,), "both ends": (0, MAX - 12), "everywhere": (-1, 7, 2**31 - 3, 2**62, MAX - 5)}


def random_histories(seed: int, histories: int, base: str, events: int = 12) -> dict[str, np.ndarray]:
    """Columns of `histories` random histories of 1 to 2 * `events` events."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 2 * events + 1, histories)
    rows = int(lengths.sum())
    columns = absent_columns(ID_BLOCKS, rows)
    # Gaps between the numbers of histories, and numbers near 2^63, must not matter.
    numbers = np.cumsum(rng.integers(1, 4, histories)) + rng.choice([0, 2**62])
    columns["history"] = np.repeat(numbers, lengths)
    columns["step"] = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    columns["kind"] = rng.choice(np.array(KINDS, np.int16), rows)
    columns["broker"] = rng.integers(-1, 3, rows).astype(np.int32)
    columns["grant"] = rng.integers(-1, 4, rows)
    columns["error"] = rng.choice(np.array([0, 0, 0, 14, -1], np.int16), rows)
    columns["first"] = _near(rng, BASES[base], rows)
    columns["producer_id"] = _near(rng, BASES[base], rows)
    columns["length"] = rng.choice(np.array([-(2**31), -1, 0, 1, 2, 3, 5, 2**31 - 1], np.int32), rows)
    usual = rng.random(rows) < 0.8
    columns["length"] = np.where(usual, rng.integers(1, 5, rows), columns["length"]).astype(np.int32)
    return columns


def _near(rng: np.random.Generator, bases: tuple[int, ...], rows: int) -> np.ndarray:
    base = rng.choice(np.array(bases, np.int64), rows)
    return base + np.minimum(rng.integers(0, 13, rows), MAX - base)
