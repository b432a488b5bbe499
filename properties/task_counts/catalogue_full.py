"""The full models of task counts in the catalogue: A, M, B and what shipped, and H5, a stalled worker that costs a task.

`catalogue.py` has the entry; the cores there are proved, and every step explored here is checked to be one of theirs.
"""

from collections.abc import Mapping
from typing import Any

from ..catalogue import Claim, Profile, Scenario, Variant
from .bounds import CI, FEATURES, FULL, GRAIN, NIGHTLY, NOT_BOUNDED, PROGRESS, STALLED, YARDSTICK
from .full import (
    APromises,
    AttendedPromises,
    BPromises,
    GrainPromises,
    MPromises,
    ShippedPromises,
    UnattendedPromises,
)

Bounds = Mapping[Profile, Mapping[str, int]]
_WIDE: Bounds = {"smoke": FULL, "ci": CI, "nightly": NIGHTLY}
_BOTH = ("no_zombie", "all_covered")


def _full(name: str, properties: Any, says: str, **more: Any) -> Variant:
    settings: dict[str, Any] = dict(
        bounds=_WIDE, features=FEATURES, proof=False, depth=NOT_BOUNDED, judged=(), progress_bounds=PROGRESS,
    )  # fmt: skip
    return Variant(name, properties, says, **(settings | more))


_ALONE: dict[str, Any] = dict(
    bounds=_WIDE | {"smoke": STALLED}, leaves_out=("one_task_twice",), progress_bounds=PROGRESS[:1],
)  # fmt: skip
"""One task twice is left to B and shipped, and to the wider profiles: what tells the forms apart has no part in it."""

FULL_VARIANTS = (
    _full(
        "grain", GrainPromises, "what all forms share, step for step the yardstick's", features={}, progress_bounds=(),
        bounds={"smoke": GRAIN, "ci": dict(YARDSTICK, tasks=1), "nightly": YARDSTICK},
        leaves_out=("a_zombie_shut_out", "woken_up_late", "two_of_one_set", "a_second_count"),
    ),
    _full("shipped", ShippedPromises, "each start asks for a round, and takes the answer for the check"),
    _full("B", BPromises, "each start asks for a round, and reads to the end"),
    _full("A", APromises, "the leader fences in the rebalance, and hands out the offset that it has read to", **_ALONE),
    _full("M", MPromises, "the Connector's owner asks for rounds, and starts wait for the count", **_ALONE),
    Variant(
        "shipped-unattended", UnattendedPromises, "a start that wakes up late costs a healthy task, and nobody restarts it",
        "618.P4", None, {"polls_in_the_end": "violated"}, {"smoke": STALLED}, ("one_task_twice",), (STALLED,), depth=NOT_BOUNDED,
    ),
    Variant(
        "shipped-attended", AttendedPromises, "the same, and a user restarts every task that failed", "618.P4", None, {},
        {"smoke": STALLED}, ("one_task_twice",), (STALLED,), depth=NOT_BOUNDED,
    ),
)  # fmt: skip
