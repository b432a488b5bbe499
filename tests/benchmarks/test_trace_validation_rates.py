"""How fast simulated histories are followed by their models, laying them out included: as columns.

    pytest -n 0 -m nightly tests/benchmarks/test_trace_validation_rates.py

In events a processor second of one core, of one row group in memory.
"""

import time
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.traces import conformance_of
from fencepost.properties.catalogue import protocols
from fencepost.properties.history import VOCABULARIES, HistoryDirectory, read_piece

EVENTS = 100_000
VARIANTS = (
    "id-blocks/kraft",
    "transactions/v2",
    "transactions/v1",
    "group-fencing/new-protocol",
    "source-offsets/text-merged-view",
    "task-counts/A",
)


@pytest.mark.nightly
@pytest.mark.parametrize("name", VARIANTS)
def test_followed(name: str, tmp_path: Path, benchmark: Any) -> None:
    """The best of three of each."""
    protocol, _, variant = name.partition("/")
    simulator, usual = next((made, config) for v, made, config in protocols()[protocol].simulators if v == variant)
    made = generate(
        tmp_path / "h", simulator, histories=max(1, EVENTS // int(usual.get("events", 200))), seed=3, config=usual,
        protocol=protocol, variant=variant, cores=1,
    )  # fmt: skip
    opened = HistoryDirectory.open(tmp_path / "h")
    columns, _ = read_piece(opened.pieces[0], opened.vocabulary, VOCABULARIES[protocol].schema.names)
    judge: Any = conformance_of(made)
    assert judge(columns).violations == []
    tries = []
    for _ in range(3):
        started = time.process_time()
        judge(columns)
        tries.append(time.process_time() - started)
    benchmark.pedantic(judge, (columns,), rounds=1)
    events = len(columns["kind"])
    benchmark.extra_info |= {"events": events, "columns, events/s": round(events / min(tries))}
