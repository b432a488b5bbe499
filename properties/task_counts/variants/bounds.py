"""This module has the bounds of the full models and the releases that variants describe.

The full models are explored within these bounds, one feature at a time, and each bound has its reason.
"""

from collections.abc import Mapping

from fencepost.model.releases import ENABLED, Kafka
from fencepost.properties.entries import Wider

FULL = dict(
    workers=2, tasks=1, instances=2, log=4, generations=4, sets=2, elections=1, failures=0, stops=0, duplicates=1,
)  # fmt: skip
"""The bounds `FULL` allow an old task and a new one, on two workers of which one leads, or one task twice."""
FEATURES: dict[str, Mapping[str, int]] = {
    "former leaders and crashes": dict(instances=1, elections=2, stops=1, duplicates=0),
    "two tasks and a round that fails": dict(workers=1, tasks=2, failures=1, duplicates=0),
}
TWO_WORKERS: Mapping[str, int] = dict(workers=2, tasks=2, duplicates=0)
"""The bounds `TWO_WORKERS` allow two tasks on two workers, so that a round fences what another worker runs."""
IN_FULL: Mapping[str, dict[str, Mapping[str, int]]] = {
    "A": {"two old tasks and a new one, on two workers": dict(TWO_WORKERS, instances=3)},
    "B": {
        "two tasks on two workers": TWO_WORKERS,
        "two old tasks and a new one": dict(workers=1, tasks=2, instances=3, failures=1, duplicates=0),
    },
    "shipped": {"two tasks on two workers": TWO_WORKERS},
}
"""The bounds `IN_FULL` allow the race of 618.40 where rounds fence."""
THREE_INSTANCES = dict(FULL, tasks=2, duplicates=0, instances=3)
"""The bounds `THREE_INSTANCES` allow the race of 618.40 with three instances, for forms with millions of states."""
CI = dict(FULL, elections=3, stops=1)
NIGHTLY = dict(FULL, tasks=2, elections=2, stops=1)
WIDER: Wider = {
    "ci": {"a third worker": dict(FULL, workers=3)},
    "nightly": {"a third worker": dict(CI, workers=3)},
}
"""The nightly bounds have as many elections as workers, and one task: with two tasks, A's search was not over after 97
s, at 1.9 million states."""
PROGRESS = (
    dict(FULL, workers=1, tasks=2, failures=1, duplicates=0),
    dict(FULL, instances=1, elections=2, duplicates=0),
)
"""Progress is about the time after the last fault, so the bounds have one fault of each kind to recover from."""

REBALANCING = dict(
    workers=2, tasks=2, instances=3, log=4, generations=4, sets=2, failures=0, stops=0, stalls=0, left_running=1,
)  # fmt: skip
"""The bounds `REBALANCING` allow two sets of up to two tasks: two old tasks, one that does not stop, and a new one."""
REBALANCING_FEATURES: Mapping[str, Mapping[str, int]] = {
    "a worker that falls out": dict(
        tasks=1, instances=2, sets=1, log=2, generations=2, stalls=1, left_running=0,
    ),
    "a round that fails, and a crash": dict(workers=1, failures=1, stops=1),
}  # fmt: skip
REBALANCING_PROGRESS = (
    dict(REBALANCING, **REBALANCING_FEATURES["a worker that falls out"]),
    dict(REBALANCING, instances=2),
)
"""A stalled worker occupies the places of its starts, so with two tasks there would have to be four places."""
CLAIMED = dict(REBALANCING, tasks=1, instances=1, stalls=1, left_running=0)
"""A worker falls out of the group, and the connector is given no tasks, so only a claimed task could be started."""
CLAIMED_TWO = dict(CLAIMED, tasks=2, instances=2)
FALLING_OUT = dict(REBALANCING, tasks=1, instances=2, stalls=1, left_running=0)
ROUNDS = dict(
    REBALANCING, workers=1, instances=2, log=6, generations=6, sets=3, failures=1, left_running=0,
)  # fmt: skip
"""A round ends or fails, and is not removed, while a newer set comes, which exercises the two threads of one worker."""
LINGERING = dict(ROUNDS, left_running=1)
LINGERING_FEATURES: Mapping[str, Mapping[str, int]] = {"a worker that falls out": FALLING_OUT}
"""A task that does not stop in time occupies its place forever, so the bounds of progress have no such task."""
CLAIMED_AND_ROUNDS = dict(FALLING_OUT, log=5, generations=5, sets=3)
"""The bounds `CLAIMED_AND_ROUNDS` allow a claimed task, and a round that answers for a newer wanted set."""

GRAIN = dict(workers=2, tasks=1, instances=2, log=3, generations=3, failures=0)
GRAIN_FEATURES: Mapping[str, Mapping[str, int]] = {
    "two tasks and a round that fails": dict(workers=1, tasks=2, log=4, generations=4, failures=1),
}
YARDSTICK = dict(GRAIN, tasks=2, log=4, generations=4)
"""`YARDSTICK` are the bounds of the yardstick, with two instances at a time instead of its four."""
ONE_LEADER = dict(GRAIN, workers=1, tasks=2, log=6, generations=6)
"""A wrong count has its effect one set later: sets of 2, 1, 2 and 1 tasks, with the second one's count late."""
PLAIN_LEADER = dict(GRAIN, tasks=2, log=5, generations=5)

STALLED = dict(FULL, duplicates=0)
"""The bounds `STALLED` allow a start that wakes up late and no other fault."""
FAILING = dict(STALLED, instances=1, failures=1)
"""The bounds `FAILING` allow one start at a time, so that none wakes up late, and one failure."""

REASONS = {
    "log": "set, count, set, count: old tasks run, are fenced, and new ones run; the same again for each set more",
    "sets": "the one that runs and the one that takes its place; a third, with one worker, meets two old ones",
    "stops": "a crash leaves a place for another start; a second one leaves another",
    "stalls": "a worker falls out of the group, and may come back; a second one leaves none",
    "left_running": "one task that does not stop in time",
    "duplicates": "one task that two workers have",
}


# These are the releases of Kafka that the variants of task counts describe, and what the variants lack.

SHIPPED = Kafka(
    settings=ENABLED,
    lacks="a fencing round that is over answers until another thread takes it away (DistributedHerder."
    "activeZombieFencings), and a worker that was paused past its session starts a task again that the newest set has not",
)
"""The release `SHIPPED` lacks two steps of what shipped, which variants named "released" have as well."""
UPGRADING = Kafka(settings={"exactly.once.source.support": "upgrading"})
