"""Changed inputs, by the thousand: no traceback, no hang, and no exit code 0 where there can be no verdict."""

import pytest
from fuzzing import Beds, hold
from nights import night


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> Beds:
    """Histories of three protocols, and a cluster's logs."""
    return Beds(tmp_path_factory.mktemp("fuzz") / "beds")


def test_changed_inputs(beds: Beds) -> None:
    """500 in every run."""
    hold(beds, 500, night() or 1)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(20))
def test_many_changed_inputs(beds: Beds, part: int) -> None:
    """10,000 each night."""
    hold(beds, 500, (night() or 1) * 1000 + part)
