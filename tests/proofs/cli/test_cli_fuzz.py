"""Changed inputs, by the thousand: no traceback, no hang, and no exit code 0 where there can be no verdict."""

import os

import pytest
from fuzzing import Beds, hold

SEED = "FENCEPOST_SEED"
"""The environment variable with the first seed; the nightly run gives another each time."""


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> Beds:
    """Histories of three protocols, and a cluster's logs."""
    return Beds(tmp_path_factory.mktemp("fuzz") / "beds")


def test_changed_inputs(beds: Beds) -> None:
    """500 in every run."""
    hold(beds, 500, int(os.environ.get(SEED, "1")))


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(20))
def test_many_changed_inputs(beds: Beds, part: int) -> None:
    """10,000 each night."""
    hold(beds, 500, int(os.environ.get(SEED, "1")) * 1000 + part)
