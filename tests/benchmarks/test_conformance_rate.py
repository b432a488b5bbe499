"""How fast histories are held against the model, beside the plain reading in the same run: read the ratios.

    pytest tests/benchmarks/test_conformance_rate.py --benchmark-only --benchmark-group-by=group

Both must find the same misfits, so that neither is fast by doing less.
"""

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pytest_benchmark", reason="benchmarks need pytest-benchmark: pip install -e '.[test]'")
from conformance_histories import Columns, first_histories, histories
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel
from fencepost.proofs.traces import kernel as made

HISTORIES = 1250  # 250,000 events: one row group
FEW = 50  # for the plain reading
LEAST_GAIN = 1.0  # measured for id blocks: 1.2 and 1.7, on two machines; columns of so few events are in a cache
LEAST_RATIO = 100  # measured: 560 to 920; a plain step copies maps and holds every value against its range


@pytest.fixture(scope="module")
def kernel() -> ConformanceKernel:
    return conformance_kernel("kraft", {"block_size": 10}, "id-blocks")


@pytest.fixture(scope="module")
def columns() -> Columns:
    """A row group of which one history in a hundred does not fit."""
    made = histories(range(HISTORIES), {})
    bent = (made["history"] % 100 == 7) & (made["producer_id"] >= 20)
    return {**made, "producer_id": made["producer_id"] + bent}


@pytest.mark.benchmark(group="conformance, one thread")
def test_columns(benchmark: Any, kernel: ConformanceKernel, columns: Columns) -> None:
    """250,000 events, all histories at once."""
    found = benchmark.pedantic(kernel.misfits, (columns,), rounds=5, warmup_rounds=1)
    assert found
    assert set(columns["history"][[m.row for m in found]] % 100) == {7}


@pytest.mark.benchmark(group="conformance, one thread")
def test_plainly(benchmark: Any, kernel: ConformanceKernel, columns: Columns) -> None:
    """10,000 events, one after another: multiply by 25 to compare."""
    few = first_histories(columns, FEW)
    found = benchmark.pedantic(kernel.misfits_plainly, (few,), rounds=2)
    assert found == kernel.misfits(few)


def test_columns_are_worth_their_while(kernel: ConformanceKernel, columns: Columns) -> None:
    """By processor time, a row group as columns is many times faster per event than the plain reading."""
    few = first_histories(columns, FEW)
    kernel.misfits(columns)
    rates = []
    for judge, piece in ((kernel.misfits, columns), (kernel.misfits_plainly, few)):
        started = time.process_time()
        judge(piece)
        rates.append(len(piece["kind"]) / (time.process_time() - started))
    assert rates[0] > LEAST_RATIO * rates[1], f"{rates[0]:,.0f} events/s as columns, {rates[1]:,.0f} plainly"


def test_compiled_code_is_worth_its_while(columns: Columns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By processor time, in one run: with compiled code a row group takes less than as columns, and finds the same."""
    pytest.importorskip("numba", reason="compiled code needs numba: pip install -e '.[fast]'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    judge = conformance_kernel("kraft", {"block_size": 10, "max_id": 100_000}, "id-blocks")
    made._compiled.cache_clear()
    spent, found = [], []
    for compiles in (False, True):
        assert not compiles or judge.compile()
        judge(columns)
        tries = []
        for _ in range(3):
            started = time.process_time()
            judged = judge(columns)
            tries.append(time.process_time() - started)
        spent.append(min(tries))
        found.append(judged)
    made._compiled.cache_clear()
    assert found[0] == found[1] and "compiled" in found[1].followed_by
    assert spent[0] > LEAST_GAIN * spent[1], f"{spent[0]:.3f} s as columns, {spent[1]:.3f} s compiled"
