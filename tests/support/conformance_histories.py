"""Histories for the tests of conformance: simulated ones as columns, and ways to doctor them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.id_blocks.events import Kind
from fencepost.reference_impl.systems.id_blocks import simulate

Columns = dict[str, np.ndarray]

ROUGH = {"events": 250, "duplicate": 0.1, "delay": 0.1, "fail_over": 0.03, "restart": 0.03, "snapshot": 0.03}


def histories(seeds: Iterable[int], config: Mapping[str, Any]) -> Columns:
    """One history for each seed, all columns."""
    rows = [(number, simulate(seed, {"block_size": 10, **config})) for number, seed in enumerate(seeds)]
    return columns_of(VOCABULARIES["id-blocks"], rows)


def first_histories(columns: Columns, count: int) -> Columns:
    """The histories numbered below ``count``."""
    chosen = columns["history"] < count
    return {name: column[chosen] for name, column in columns.items()}


def place_of(columns: Columns, kind: Kind, nth: int = 0) -> int:
    """The row of the nth event of a kind."""
    return int(np.flatnonzero(columns["kind"] == kind)[nth])


def rearranged(columns: Columns, rows: Iterable[int]) -> Columns:
    """The events of one history in another order, or fewer or more of them, with steps that count up again."""
    order = list(rows)
    chosen = {name: column[order] for name, column in columns.items()}
    return {**chosen, "step": np.arange(len(chosen["step"]), dtype=np.int32)}


def without(columns: Columns, row: int) -> Columns:
    return rearranged(columns, (i for i in range(len(columns["kind"])) if i != row))


def swapped(columns: Columns, one: int, other: int) -> Columns:
    order = list(range(len(columns["kind"])))
    order[one], order[other] = order[other], order[one]
    return rearranged(columns, order)


def changed(columns: Columns, row: int, **values: int) -> Columns:
    """One event with other values in some columns."""
    copy = {name: column.copy() for name, column in columns.items()}
    for name, value in values.items():
        copy[name][row] = value
    return copy
