"""A start that is behind reads what compaction has left: in M the count of a later set passes for that of its own.

The set in between is gone from the topic, so that the worker sees a count after its set, and no newer set.  The second
look reads to the end (618.19), so that nothing comes of it; the model of M has no compaction, and follows no further.
"""

from fencepost.proofs.testing import agree
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.driving import make
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.roles import Named
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.interface import Call
from fencepost.properties.task_counts.translator import COMPACTED
from fencepost.reference_impl.systems.task_counts_cluster import reference

CONFIG = {"workers": 2, "connectors": 1, "max_tasks": 2, "protocol": "cooperative", "mode": "M"}
NOT_COUNTED = Call("run", spared="start_round")
SLOW = 1
BEHIND = [
    Call("run"), Call("configure", 0, 0, 2), NOT_COUNTED, Call("step", Named(("start_round", 0, 0, -1)), "failed"),
    Call("stall", SLOW), Call("expire", SLOW), Call("configure", 0, 0, 1), Call("run"),
    Call("configure", 0, 0, 1), NOT_COUNTED, Call("compact"), Call("resume", SLOW), NOT_COUNTED,
]  # fmt: skip
"""The first set's round fails, the second set is counted, the third is the newest when the topic is compacted."""


def test_its_start_gets_on_and_no_task_runs():
    system = reference({"seed": 0, "support": "enabled", "heartbeat_ms": 3000, **CONFIG})
    made = [make(system, call) for call in BEHIND]
    events = [event for one in made for event in one.events]
    mine = [e.kind for e in made[-1].events if e.node == SLOW and e.kind.startswith(("task_", "producer_"))]
    assert mine == ["task_checked", "producer_opened", "task_stopped"]
    rows = [(e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]) for e in events]
    found = conformance_kernel("M", {"mode": "M"}, "task-counts")(columns_of(TASK_COUNTS, [(0, rows)]))
    assert (found.violations, found.undecided) == ([], {COMPACTED: 1})


def test_it_is_followed_no_further():
    followed = {"protocol": "task-counts", "variant": "M", "config": CONFIG}
    report = agree(reference, prefixes=[BEHIND], max_examples=1, steps=1, **followed)
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.coverage.beyond == {COMPACTED: 1}
