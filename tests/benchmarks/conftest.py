"""Writes the document of speed beside pytest-benchmark's report, which it is made of.

    pytest -n 0 -m "nightly or not nightly" tests/benchmarks --benchmark-json proofs/verdicts/speed.json

writes ``speed.json`` and ``speed.md``.  What a benchmark puts into its ``extra_info`` are the figures of its row.

What measures is of the night, when it has the machine to itself: beside another worker pytest-benchmark times nothing.
That kernels count what other engines count is tried in every run, by tests/sql, and that columns find what the plain
reading finds by the tests of conformance.
"""

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from speed import document, of_interest

LOAD = os.getloadavg()[0]
"""Of the last minute before the first benchmark."""


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    machine_info["load_before"] = round(LOAD, 2)
    machine_info["memory_gb"] = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]) -> None:
    kept = of_interest(output_json, shlex.join(["pytest", *config.invocation_params.args]))
    output_json.clear()
    output_json.update(kept)
    report: Path = config.getoption("benchmark_json")
    report.with_suffix(".md").write_text(document(kept))
