"""An auditor of group histories checks that every input record is once in the committed output, and that the group's
offsets agree. It relies on what it reads, and on nothing that the cluster reports about itself."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from fencepost.properties.group_fencing.histories import FENCED
from fencepost.reference_impl.kafka.group_environment import Kind
from fencepost.reference_impl.simulation.config import split
from fencepost.reference_impl.systems.group_fencing import FreeRun, Run

CALM_US = 4_000_000
FRESH = 1
"""This is the number of an auditor that has read nothing yet."""
QUIET_US = 12_000_000
"""A correct cluster has copied everything this long after the last fault, with time to spare."""


def played(seed: int, **config: Any) -> FreeRun:
    """Return a history whose faults end, and in which everything left is copied afterwards if it can be."""
    of_run, of_cluster = split({"calm_us": CALM_US, **config}, FreeRun.run_type, FreeRun.config_type)
    run = Run(**of_run)
    needs, parts = FreeRun.implementation(run.broken)
    cluster = FreeRun.config_type.parse({**FreeRun.cluster_defaults, **needs, **of_cluster, "seed": seed})
    history = FreeRun(run, cluster, parts)
    history.kernel.advance(run.calm_us)
    while history.kernel.now < QUIET_US and min(history.system.audit()[1]) < cluster.records:
        history.kernel.advance(200_000)
    history.kernel.advance(cluster.transaction_timeout_ms * 1_000 + 500_000)  # no open transaction hides anything
    return history


def duplicates(copies: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(place for place, times in Counter(copies).items() if times > 1)


def wrong(history: FreeRun) -> set[str]:
    """Return what is wrong at the end: `twice`, `lost` (below the group's offset, and not copied), `ahead` (copied, and
    not below it), `stuck` (not all was copied), `ended` (an instance, by an error that is no fence)."""
    copies, offsets = history.system.audit(FRESH)
    found = {"twice"} if duplicates(copies) else set()
    behind = {(partition, offset) for partition, upto in enumerate(offsets) for offset in range(upto)}
    if behind - set(copies):
        found.add("lost")
    if set(copies) - behind:
        found.add("ahead")
    if min(offsets) < history.config.records:
        found.add("stuck")
    if any(row[2] == Kind.INSTANCE_FAILED and row[-1] not in FENCED for row in history.rows):
        found.add("ended")
    return found
