"""Free-running histories of a source task: the same in any process, of the documented shape, with every fault."""

import hashlib
import os
import subprocess
import sys

import pytest
from fencepost.properties.source_commits.scenarios.known import rows
from fencepost.reference_impl.connect.commits.config import COLUMNS, KIND_NAMES, readable
from fencepost.reference_impl.systems.source_commits import simulate, simulate_with_stats

DIGEST = """
import hashlib
from fencepost.reference_impl.systems.source_commits import simulate
rows = [simulate(seed, {}) for seed in range(4)]
print(hashlib.sha256(repr(rows).encode()).hexdigest())
"""
OF_TRANSACTIONS = {"transaction_begun", "transaction_committed", "transaction_aborted"}


def test_same_seed_gives_same_rows_in_any_process():
    """The rows do not depend on the process or on its hash seed."""
    here = hashlib.sha256(repr([simulate(seed, {}) for seed in range(4)]).encode()).hexdigest()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here


@pytest.mark.parametrize("events", [1, 300, 1500])
def test_rows_have_the_documented_shape(events):
    """As many rows as asked for, plain integers in column order, steps from 0."""
    made = simulate(11, {"events": events})
    assert len(made) == events
    assert all(len(row) == len(COLUMNS) and all(type(value) is int for value in row) for row in made)
    assert [row[0] for row in made] == list(range(events))


def test_every_kind_of_event_is_generated():
    """Together the modes produce every kind."""
    modes = ("proposed", "proposed-exactly-once", "shipped-mended")
    configs = [{"mode": mode, "tolerance": tolerance} for mode in modes for tolerance in ("none", "all")]
    kinds = {KIND_NAMES[row[2]] for seed in range(15) for config in configs for row in simulate(seed, config)}
    rough = {"linger": 0.3, "stop": 0.2, "delay_us": 200_000}
    kinds |= {KIND_NAMES[row[2]] for seed in range(60) for row in simulate(seed, rough)}
    assert kinds == set(KIND_NAMES.values())


def test_every_fault_is_injected():
    """And counted, where its mode has it."""
    counted = {}
    for seed in range(30):
        for mode in ("proposed", "proposed-exactly-once", "zombie"):
            for fault, count in simulate_with_stats(seed, {"mode": mode})[1].items():
                counted[fault] = counted.get(fault, 0) + count
    assert counted.keys() == {"kill", "stop", "abort", "leave_behind", "request_failure", "refusal", "time_out"}


def test_about_everything_happens_in_the_example():
    """But for what ends a task, and for transactions."""
    kinds = {readable(row).kind for row in rows()}
    others = {"instance_failed", "send_failed", "flush_refused", "looked_up"}
    assert kinds == set(KIND_NAMES.values()) - OF_TRANSACTIONS - others
