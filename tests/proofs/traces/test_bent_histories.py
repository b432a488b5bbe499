"""Columns and the plain reading find the same events that do not fit, in right histories and in bent ones."""

from pathlib import Path
from typing import Any

import bending
import numpy as np
import pytest
from conformance_histories import ROUGH, Columns, histories
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel, conformance_of, kernel
from fencepost.properties.catalogue import protocols
from fencepost.properties.history import VOCABULARIES, HistoryDirectory, read_piece
from fencepost.properties.history.location import Location
from fencepost.properties.trace_spec import CONFORMING

BENT, FOUND = 40, 2
SIMULATED = [
    (name, variant, simulator, config)
    for name, entry in protocols().items()
    if name in CONFORMING
    for variant, simulator, config in entry.verified_simulators
    if config.get("mode", variant) not in ("migration-sentinel",)  # of which there is no model
]


def bent(columns: Columns, judge: ConformanceKernel, copies: int, seed: int) -> Columns:
    """Copies of the first histories of a piece, each with one row that is a step of the model changed, left out, told
    twice or changed for the one before."""
    protocol, (_, phases) = judge.protocol, kernel.model(judge.protocol, judge.variant)
    kinds = [kind for kind, of_kind in phases.items() if any(phase.action for phase in of_kind)]
    chance, names = np.random.default_rng(seed), VOCABULARIES[protocol].names
    numbers, parts = np.unique(columns["history"]), []
    for copy in range(copies):
        rows = np.flatnonzero(columns["history"] == numbers[copy % len(numbers)])
        says = 1 + np.flatnonzero(np.isin(columns["kind"][rows[1:-1]], kinds))
        at = int(chance.choice(says))
        order = [rows, np.delete(rows, at), np.insert(rows, at, rows[at]), rows.copy()][copy % 4]
        if copy % 4 == 3:
            order[[at, at - 1]] = order[[at - 1, at]]
        part = {name: column[order] for name, column in columns.items()}
        if copy % 4 == 0:
            used = [name for name in names if part[name].min() < part[name].max()]
            name = used[int(chance.integers(len(used)))]
            others = part[name][part[name] != part[name][at]]
            part[name][at] = others[int(chance.integers(len(others)))]
        part["history"][:], part["step"] = copy, np.arange(len(order), dtype=part["step"].dtype)
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in columns}


@pytest.mark.parametrize(
    ("protocol", "variant", "simulator", "config"), SIMULATED, ids=[f"{p}/{v}" for p, v, *_ in SIMULATED]
)
def test_columns_find_what_the_plain_reading_finds(
    tmp_path: Path, protocol: str, variant: str, simulator: str, config: dict[str, Any]
) -> None:
    """Right histories fit in both; of bent ones the same events do not, for the same reason, and there are some."""
    few = {**config, "events": 120}
    generate(tmp_path / "h", simulator, histories=6, seed=3, config=few, protocol=protocol, variant=variant, cores=1)
    opened = HistoryDirectory.open(Location.of(tmp_path / "h"))
    vocabulary = VOCABULARIES[protocol]
    columns, _ = read_piece(opened.pieces[0], vocabulary, vocabulary.schema.names)
    judge = conformance_of(opened.manifest)
    assert isinstance(judge, ConformanceKernel)
    assert judge.misfits(columns) == []
    wrong = bent(columns, judge, BENT, seed=1)
    found = judge.misfits(wrong)
    assert found == judge.misfits_plainly(wrong)
    assert len(found) >= FOUND


def test_every_bent_history_by_itself() -> None:
    """One by one the histories are judged as they are together."""
    judge = conformance_kernel("kraft", {"block_size": 10, "max_id": 100_000}, "id-blocks")
    wrong = bent(histories(range(4), ROUGH), judge, 12, seed=2)
    together = judge(wrong).violations
    parts = [{name: column[wrong["history"] == h] for name, column in wrong.items()} for h in range(12)]
    assert [violation for part in parts for violation in judge(part).violations] == together
    assert 0 < len(together) < 12


def test_what_may_leave_int64_is_followed_plainly() -> None:
    """Sums beyond the numbers of columns are looked at again by the plain reading: none is missed."""
    judge = conformance_kernel("kraft", {"block_size": 10, "max_id": 100_000}, "id-blocks")
    columns = histories(range(2), {})
    columns["first"][columns["first"] >= 0] += 2**60
    assert judge.misfits(columns) == judge.misfits_plainly(columns)
    assert judge(columns).followed_by["columns"] > 0
    columns["first"][columns["first"] >= 0] += 2**62
    assert set(judge(columns).followed_by) <= {"columns", "plain"}
    assert judge.misfits(columns) == judge.misfits_plainly(columns)


QUICK = ("id-blocks/kraft", "group-fencing/shipped", "source-commits/proposed")
"""The others are of the night; bent transactions of every run are in test_conformance_transactions."""
KEPT = bending.kept()


def test_every_variant_is_recorded() -> None:
    """Whose histories are verified."""
    assert KEPT.keys() == bending.SIMULATED.keys()


@pytest.mark.parametrize("name", bending.SIMULATED)
def test_no_comparison_is_gone(name: str) -> None:
    """Nor is there one of which it is not known whether a bent history fails it."""
    assert bending.stated_by(bending.judge_of(name)) == KEPT[name].keys()


@pytest.mark.parametrize("name", QUICK)
def test_bent_histories_fail_what_they_often_do(name: str, tmp_path: Path) -> None:
    """Each comparison of which that is so is the first that fails, of some."""
    _, found = bending.found_in(name, tmp_path / "h", bending.FEW)
    assert {one for one, how in KEPT[name].items() if how == "often"} <= found.keys()


@pytest.mark.nightly(nights=8)
@pytest.mark.parametrize("name", bending.SIMULATED)
def test_bent_histories_fail_every_comparison(name: str, tmp_path: Path) -> None:
    """Also what they seldom do, in many."""
    _, found = bending.found_in(name, tmp_path / "h", bending.MANY)
    assert {one for one, how in KEPT[name].items() if how in ("often", "seldom")} <= found.keys()
