"""Simulators and checks for the tests of generation and replay; workers import them by name."""

import gc
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.scale.memory import YOUNG
from fencepost.proofs.scale.replay import Judged
from fencepost.properties.history import ABSENT, HistoryError
from fencepost.properties.history.checking import Violation
from fencepost.properties.id_blocks.events import Kind
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY

Row = tuple[int, ...]
NOT_A_FUNCTION = 3


def counting(seed: int, config: Mapping[str, Any]) -> tuple[list[Row], dict[str, int]]:
    """As many hand-outs as the seed says, so that different seeds show; one fault in histories of odd seeds."""
    rows = [_hand_out(step, seed % 2**63) for step in range(1 + seed % config.get("most", 7))]
    return rows, {"odd": seed % 2}


def rows_only(seed: int, _: Mapping[str, Any]) -> list[Row]:
    return [_hand_out(0, seed % 1000)]


def watching_the_collector(seed: int, _: Mapping[str, Any]) -> tuple[list[Row], dict[str, int]]:
    """As a fault: the collector of cycles runs seldom."""
    return [_hand_out(0, seed % 1000)], {"seldom collected": int(gc.get_threshold()[0] == YOUNG)}


def empty(_: int, __: Mapping[str, Any]) -> list[Row]:
    return []


def short_rows(_: int, __: Mapping[str, Any]) -> list[Row]:
    return [(0, 1, 13)]


def failing(seed: int, config: Mapping[str, Any]) -> list[Row]:
    """Fails in the middle of the work, not at the first history that generation probes."""
    if seed % config["fails_at"] == 0:
        raise RuntimeError("the simulator broke down")
    return [_hand_out(0, seed % 1000)]


def dying_once(seed: int, first: int, histories: int, config: Mapping[str, Any]) -> Any:
    """The first attempt at the second unit leaves half a file behind and dies without a word."""
    marker = Path(config["directory"], "died")
    if first > 0 and not marker.exists():
        marker.touch()
        Path(config["directory"], "part-00001.attempt-lost.parquet").write_bytes(b"PAR1 half a file")
        os._exit(1)
    return SEEDED_HISTORY.seeded(seed, first, histories, share=0.01)


def late_ids(columns: dict[str, np.ndarray]) -> Judged:
    """A further check: hand-outs beyond step 250, told one by one."""
    rows = np.flatnonzero((columns["step"] > 250) & (columns["kind"] == Kind.id_handed_out))
    assert set(columns) >= {"node", "time_us"}
    return Judged([
        Violation(int(columns["history"][row]), int(columns["step"][row]), "late", f"node {columns['node'][row]}")
        for row in rows
    ])  # fmt: skip


def refusing(columns: dict[str, np.ndarray]) -> Judged:
    """A further check that finds the histories unusable."""
    raise HistoryError(f"{len(columns['history'])} rows of no use")


def breaking(_: dict[str, np.ndarray]) -> Judged:
    """A further check with a mistake in it."""
    raise ZeroDivisionError("a mistake in a check")


def _hand_out(step: int, producer_id: int) -> Row:
    absent = ABSENT
    return (step, step, Kind.id_handed_out, absent, 0, absent, absent, absent, absent, absent, producer_id, 0)
