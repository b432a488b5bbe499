"""Free-running histories of a source task: with every kind of event, and every fault."""

from fencepost.properties.source_commits.scenarios.known import rows
from fencepost.reference_impl.connect.commits.config import KIND_NAMES, readable
from fencepost.reference_impl.systems.source_commits import simulate, simulate_with_stats

OF_TRANSACTIONS = {"transaction_begun", "transaction_committed", "transaction_aborted"}


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
