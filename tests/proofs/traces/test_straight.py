"""The code that is compiled for each variant finds what columns find, on right histories and on bent ones.

It is run here as it is written, by Python: what numba makes of it is tried once, on a small protocol."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conformance_histories import ROUGH, Columns, histories
from fencepost.proofs import kept_code
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import Judged
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel, conformance_of, kernel
from fencepost.properties.catalogue import protocols
from fencepost.properties.conforming import CONFORMING
from fencepost.properties.history import VOCABULARIES, HistoryDirectory, read_piece
from fencepost.properties.history.location import Location

BENT, FOUND = 40, 2
SIMULATED = [
    (name, variant, simulator, config)
    for name, entry in protocols().items()
    if name in CONFORMING
    for variant, simulator, config in entry.verified_simulators
    if config.get("mode", variant) not in ("migration-sentinel",)  # of which there is no model
]


def as_written(source: str) -> Any:
    """The module, not compiled."""
    space: dict[str, Any] = {"numba": SimpleNamespace(njit=lambda **_: lambda function: function)}
    exec(source.replace("import numba\n", ""), space)
    return SimpleNamespace(**space)


@pytest.fixture
def straight(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels follow lanes with the code as it is written."""
    monkeypatch.setattr(kept_code, "is_possible", lambda: True)
    monkeypatch.setattr(kept_code, "is_kept", lambda source, function: True)
    monkeypatch.setattr(kept_code, "load", as_written)
    kernel._compiled.cache_clear()
    yield
    kernel._compiled.cache_clear()


def by_columns(judge: ConformanceKernel, columns: Columns) -> Judged:
    """What is found without that code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_code, "is_possible", lambda: False)
        kernel._compiled.cache_clear()
        found = judge(columns)
    kernel._compiled.cache_clear()
    assert "compiled" not in found.followed_by
    return found


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


@pytest.mark.usefixtures("straight")
@pytest.mark.parametrize(
    ("protocol", "variant", "simulator", "config"), SIMULATED, ids=[f"{p}/{v}" for p, v, *_ in SIMULATED]
)
def test_straight_code_finds_what_columns_find(
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
    right = judge(columns)
    assert right.violations == [] and set(right.followed_by) == {"compiled"}
    assert right == by_columns(judge, columns)
    wrong = bent(columns, judge, BENT, seed=1)
    found = judge(wrong)
    assert found == by_columns(judge, wrong)
    assert len(found.violations) >= FOUND and found.followed_by["columns"] > 0


@pytest.mark.usefixtures("straight")
def test_every_bent_history_by_itself() -> None:
    """Which lanes are left to columns decides nothing: one by one the histories are judged as they are together."""
    judge = conformance_kernel("kraft", {"block_size": 10, "max_id": 100_000}, "id-blocks")
    wrong = bent(histories(range(4), ROUGH), judge, 12, seed=2)
    together = judge(wrong).violations
    parts = [{name: column[wrong["history"] == h] for name, column in wrong.items()} for h in range(12)]
    assert [violation for part in parts for violation in judge(part).violations] == together
    assert 0 < len(together) < 12


@pytest.mark.usefixtures("straight")
def test_what_may_leave_int64_is_left_to_columns() -> None:
    """Columns beyond its numbers are followed without it, and sums beyond them are looked at again: it misses none."""
    judge = conformance_kernel("kraft", {"block_size": 10, "max_id": 100_000}, "id-blocks")
    columns = histories(range(2), {})
    columns["first"][columns["first"] >= 0] += 2**60
    assert judge(columns) == by_columns(judge, columns)
    assert judge(columns).followed_by["columns"] > 0
    columns["first"][columns["first"] >= 0] += 2**62
    assert set(judge(columns).followed_by) <= {"columns", "plain"}
    assert judge(columns) == by_columns(judge, columns)


def test_numba_compiles_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled it finds the same; then it is kept, and taken from the cache by the next process (10 s and more)."""
    pytest.importorskip("numba", reason="compiled code needs numba: pip install -e '.[fast]'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    judge = conformance_kernel("kraft", {"block_size": 10, "max_id": 100_000}, "id-blocks")
    wrong = bent(histories(range(4), ROUGH), judge, 12, seed=2)
    expected = by_columns(judge, wrong)
    assert judge(wrong).followed_by.keys() == {"columns"}
    assert judge.compile()
    found = judge(wrong)
    assert found == expected and found.violations and found.followed_by["compiled"] > 0
    kernel._compiled.cache_clear()
    assert judge(wrong).followed_by == found.followed_by
    kernel._compiled.cache_clear()
