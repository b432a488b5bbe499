"""How fast histories are held against the model, beside the plain reading in the same run: read the ratios.

    pytest -n 0 -m nightly tests/benchmarks/test_conformance_rate.py --benchmark-only --benchmark-group-by=group

Both must find the same misfits, so that neither is fast by doing less.
"""

import time
from typing import Any

import pytest

pytest.importorskip("pytest_benchmark", reason="benchmarks need pytest-benchmark: pip install -e '.[test]'")
from conformance_histories import Columns, first_histories, histories
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel

pytestmark = pytest.mark.nightly

HISTORIES = 1250  # 250,000 events: one row group
FEW = 50  # for the plain reading
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
