"""Every planted defect breaks a promise in simulated histories, or what it says; the controls break nothing."""

import pytest
from fencepost.reference_impl.defects.source_offsets import REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks
from source_runs import PROMISES, judged

PIECE, MOST = 10, 200
"""Histories at a time, and altogether."""

BY_ITS_MECHANISM = {
    "abort_ignored": "aborted_as_asked",  # what the connector does not want is written, as often as anything else
    "empty_batch_forgotten": "commit_is_called",
    # With tombstones late copies break promises, whatever else does (mode late-copies): these are told apart by what
    # they do.
    "tombstone_primary_first": "tombstones_beside_first",
    "tombstones_not_copied": "tombstones_beside_first",
    "tombstones_left_out": "offsets_with_records",
    "flush_not_awaited": "offsets_with_records",
}
DRIVEN_ONLY = {"refusal_forgets_boundary", "stops_one_early"}
"""What driving finds in few connectors, and free-running histories in none of hundreds."""
CAUGHT = [name for name, defect in REGISTRY.items() if defect.breaks is not Breaks.NOTHING and name not in DRIVEN_ONLY]
CONTROLS = [name for name, defect in REGISTRY.items() if defect.breaks is Breaks.NOTHING]


def first_found(name):
    """What the first histories that show anything of a defect violate."""
    expected = {BY_ITS_MECHANISM[name]} if name in BY_ITS_MECHANISM else PROMISES
    for first in range(0, MOST, PIECE):
        wrong = judged(PIECE, first, broken=name)[0]
        if expected & wrong.keys():
            return wrong
    return {}


@pytest.mark.parametrize("name", CAUGHT)
def test_a_defect_is_found(name):
    """By a promise; where that says nothing of it, by the mechanism that it breaks."""
    assert first_found(name)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_breaks_nothing(name):
    """What is a matter of taste raises no alarm, and says why."""
    assert REGISTRY[name].why
    assert judged(60, broken=name)[0] == {}


@pytest.mark.nightly
def test_tombstones_in_one_topic_break_nothing():
    """There is no copy that could come late."""
    assert judged(200, mode="shipped", rounds=2)[0] == {}


def test_tombstones_break_nothing_but_by_late_copies():
    """The released view, in which nulls hide the worker's topic, does not look at a copy there that comes late: with it
    tombstones are safe. In the view of the text they are not."""
    assert judged(60, mode="shipped-own-topic-from-the-start", rounds=2)[0].keys() == {"copied_when_committed"}
    late = judged(100, mode="late-copies")[0]
    assert {"nothing_skipped", "resume_not_ahead"} <= late.keys()
    assert not late.keys() & {"tombstones_beside_first", "offsets_with_records", "copied_when_committed"}
