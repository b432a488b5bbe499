"""The KIP-618 yardstick has exactly the states that other model checkers count, and its mistakes are found as soon."""

import pytest
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs.engines.explore import Exploration, explore
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties

PROPERTIES = Kip618YardstickProperties.properties
LEVELS_223 = [
    1, 2, 6, 30, 144, 532, 1598, 3856, 7530, 12022, 15954, 18198, 19764, 23552, 30968, 40258, 49676, 57532, 62252,
    62904, 59288, 51874, 41674, 30346, 19854, 11506, 5842, 2628, 1038, 328, 72, 8,
]  # fmt: skip


def count(workers: int, tasks: int, log: int) -> Exploration:
    found = explore(settle(Kip618Yardstick.spec), PROPERTIES, {"workers": workers, "tasks": tasks, "log": log})
    assert found.verdicts["no_zombie"] == found.verdicts["counts_match"] == "holds"
    assert found.deadlocks == 0
    return found


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [
        ((2, 2, 2), (16_333, 123_007, 27)),
        ((2, 1, 4), (18_301, 110_873, 22)),
        ((2, 2, 3), (631_237, 5_879_559, 32)),
    ],
)
def test_counts_agree_with_other_checkers(bounds: tuple[int, int, int], counts: tuple[int, int, int]) -> None:
    """States, steps and levels are those of TLC, and of SPIN where it counted."""
    found = count(*bounds)
    assert (found.distinct, found.generated, found.depth) == counts


def test_levels_agree_with_tlc() -> None:
    """Level by level the states are as many as TLC lists."""
    assert count(2, 2, 3).levels == LEVELS_223


def test_a_topic_of_four_agrees_with_spin() -> None:
    """The bound at which everything fits: 9.6 million states (some seconds).  Both witnesses are found."""
    found = count(2, 2, 4)
    assert (found.distinct, found.generated, found.depth) == (9_601_875, 93_295_805, 35)
    assert found.verdicts["a_zombie_shut_out"] == found.verdicts["a_second_count"] == "holds"


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_a_topic_of_five() -> None:
    """102 million states in one word of shared bits, some minutes."""
    found = count(2, 2, 5)
    assert found.kernels.packing.words == 1
    assert (found.distinct, found.generated, found.depth) == (102_209_305, 1_027_658_929, 40)


@pytest.mark.parametrize(
    ("rule", "name", "breaks", "states"),
    [
        ("618.24", "anyone", "counts_match", 7),
        ("618.43", "reclaims_in_between", "counts_match", 8),
        ("618.19", "unchecked", "no_zombie", 18),
        ("618.6", "as_many_as_the_new_set", "no_zombie", 18),
    ],
)
def test_mistakes_are_found_in_the_fewest_steps(rule: str, name: str, breaks: str, states: int) -> None:
    """Each known mistake breaks its promise by a trace as short as TLC's."""
    broken = mutation(Kip618Yardstick.spec, rule, name).apply()
    found = explore(broken, PROPERTIES, {"workers": 2, "tasks": 2, "log": 4}, stop_when_violated=True)
    assert found.violated == [breaks]
    assert len(found.traces[breaks].states) == states
