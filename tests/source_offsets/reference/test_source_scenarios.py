"""Known bugs and holes as scenarios: each breaks a promise where it is played with its defect, and nothing without."""

import pytest
from fencepost.reference_impl.source_offsets.events import readable
from fencepost.reference_impl.source_offsets.scenarios import KNOWN, SCENARIOS
from source_runs import PROMISES, wrong_in

ONLY_A_MECHANISM = {"618.27-flush"}
"""The offsets of the next transaction, which has some, cover those that were left out."""


def played(name, broken):
    """The system in which a scenario was played."""
    known = KNOWN.find(name)
    script = KNOWN.script(broken=broken, **(known.broken if broken else known.fixed))
    known.play(script)
    return script.system


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_shows_its_symptom_only_when_broken(name):
    """What an auditor reads is the source, each record once, unless something is broken."""
    broken = wrong_in(played(name, True))
    assert broken if name in ONLY_A_MECHANISM else broken & PROMISES
    assert wrong_in(played(name, False)) == set()


@pytest.mark.parametrize(
    ("name", "broken", "correct"),
    [
        ("KAFKA-15018", (0, 1), (1, 1)),  # the worker's topic shows again; the tombstone was not committed
        ("7.9", (-1, 0), (0, 1)),  # nulls hide the worker's; the worker's topic is read beside
        ("7.8", (0, 1), (-1, 0)),  # what was aborted; nothing
        ("7.8-taken", (0, 1), (-1, 0)),  # the same, where the own topic is read no more
        ("618.36-aborted", (0, 2), (1, 1)),  # what was aborted; what was committed
    ],
)
def test_where_a_restart_resumes(name, broken, correct):
    """The topic and the offset that the last start has found is what goes wrong."""
    for is_broken, expected in ((True, broken), (False, correct)):
        events = [readable(row) for row in played(name, is_broken).env.log.rows]
        found = [event for event in events if event.kind == "offset_found"][-1]
        assert (found.topic, found.offset) == expected
