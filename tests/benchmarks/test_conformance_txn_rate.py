"""How fast histories of transactions are held against the full model, beside the plain reading in the same run.

    pytest -n 0 -m nightly tests/benchmarks/test_conformance_txn_rate.py --benchmark-only --benchmark-group-by=group

Reading the events, one transactional id at a time, is part of both, and takes about half of the time of columns.
"""

import time
from typing import Any

import pytest

pytest.importorskip("pytest_benchmark", reason="benchmarks need pytest-benchmark: pip install -e '.[test]'")
from conformance_histories import Columns, first_histories
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel
from transaction_edits import histories

pytestmark = pytest.mark.nightly

HISTORIES = 400  # 120,000 events
FEW = 5  # for the plain reading
LEAST_RATIO = 20  # measured: 28 beside ten busy processes, 200,000 events a second and 7,000
TRIES = 3  # the best of which counts: what runs beside disturbs the wide arrays of one more than small dicts


@pytest.fixture(scope="module")
def kernel() -> ConformanceKernel:
    return conformance_kernel("v2", {"mode": "v2"}, "transactions")


@pytest.fixture(scope="module")
def columns() -> Columns:
    return histories(range(HISTORIES), {"mode": "v2"})


@pytest.mark.benchmark(group="conformance of transactions, one thread")
def test_transactions_as_columns(benchmark: Any, kernel: ConformanceKernel, columns: Columns) -> None:
    """120,000 events, all lanes at once."""
    judged = benchmark.pedantic(kernel, (columns,), rounds=3, warmup_rounds=1)
    assert judged.violations == [] and sum(judged.undecided.values()) < HISTORIES // 20


def test_columns_of_transactions_are_worth_their_while(kernel: ConformanceKernel, columns: Columns) -> None:
    """By processor time, a row group as columns is many times faster per event than the plain reading."""
    few = first_histories(columns, FEW)
    kernel.misfits(few)
    rates = []
    for judge, piece in ((kernel.misfits, columns), (kernel.misfits_plainly, few)):
        spent = []
        for _ in range(TRIES):
            started = time.process_time()
            judge(piece)
            spent.append(time.process_time() - started)
        rates.append(len(piece["kind"]) / min(spent))
    assert rates[0] > LEAST_RATIO * rates[1], f"{rates[0]:,.0f} events/s as columns, {rates[1]:,.0f} plainly"
