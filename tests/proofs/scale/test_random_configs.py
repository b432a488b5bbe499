"""Histories of the reference under configurations drawn at random: nothing is violated but as predicted."""

import pytest
from random_configs import SEED, SIZES, VARIANTS, WHOLE, drawn, judged, named

CONFIGURATIONS, HISTORIES = 60, 300


def test_configurations_differ() -> None:
    """Each variant has its turn, and what may be another is a key of its configuration."""
    assert CONFIGURATIONS > 2 * len(VARIANTS)
    for which in {which.partition("/")[0]: which for which in VARIANTS}.values():
        assert SIZES[which.partition("/")[0]].keys() <= named(which)[2].keys(), which
    found = [drawn(number) for number in range(4)]
    assert [which for which, _ in found] == list(VARIANTS[:4])
    assert found[3] == drawn(3) != drawn(3, SEED + 1)


@pytest.mark.nightly(nights=3)
@pytest.mark.parametrize("number", range(CONFIGURATIONS))
def test_no_alarm_whatever_the_configuration(number: int) -> None:
    """Neither a promise that the variant is not known to break, nor conformance."""
    which, config, told = judged(number, HISTORIES)
    print(f"configuration {number} of seed {SEED}: {which} {config}")
    assert told["histories"] == (HISTORIES // 10 if which == WHOLE else HISTORIES)
    assert told["violations"] == {}, (which, config)
