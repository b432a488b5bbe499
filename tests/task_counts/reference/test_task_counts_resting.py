"""Two clusters are compared by what they come to rest at, whichever ids their members have."""

from __future__ import annotations

import pytest
from fencepost.properties.task_counts.scenarios.resting import came_to, compared, differences, drawn
from fencepost.reference_impl.defects import task_counts as defects
from fencepost.reference_impl.systems.task_counts import released
from fencepost.reference_impl.systems.task_counts_cluster import RELEASED

IDS = 77
SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_other_ids_come_to_the_same(seed: int) -> None:
    """A cluster with other members' ids moves other work to other workers."""
    assert not differences(drawn(seed), lambda config: released({**config, "member_order": IDS}), released)


def test_a_claim_of_one_that_led_names_no_leader() -> None:
    """A worker that led goes on after another does, claims the topic once more, and hears of the other."""
    paused, returned = 3, 4
    rests = [*came_to(released({**drawn(7).config, "member_order": 30}), drawn(7))]
    assert rests[paused].workers == (((0, 0),),)
    assert rests[returned].workers == ((), ((0, 0),))


def test_ids_make_a_difference() -> None:
    """So one order of the members would not do."""
    programs = [drawn(seed) for seed in SEEDS]
    ended = [
        {str([*came_to(released({**each.config, "member_order": order}), each)]) for order in range(1, 20)}
        for each in programs
    ]
    assert max(map(len, ended)) > 1


@pytest.mark.parametrize(
    "defect", ["no_fencing", "fence_new_count", "fence_one_less", "counts_one_less", "record_old_count", "does_not_ask"]
)
def test_a_mechanism_that_is_off_is_seen(defect: str) -> None:
    """By some of these programs."""

    def broken(config: object) -> object:
        return getattr(defects, defect)({**RELEASED, **config})

    def differs(seed: int) -> bool:
        seen = tuple(came_to(released({**drawn(seed).config, "member_order": IDS}), drawn(seed)))
        return bool(compared(drawn(seed), seen, broken, 20))

    assert any(map(differs, SEEDS))
