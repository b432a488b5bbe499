"""Known bugs of source tasks, and what the proposal leaves open: each scenario breaks what it is known for, and keeps
every promise where it is done right."""

import pytest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind
from fencepost.properties.source_commits.histories import HISTORY
from fencepost.reference_impl.source_commits.scenarios import SCENARIOS, scenario

AHEAD = {"upstream_not_ahead", "upstream_has_what_is_resumed", "nothing_skipped"}
BROKEN = {
    "KAFKA-15091": AHEAD,
    "newest-acknowledged": AHEAD,
    "ahead-of-the-flush": AHEAD,
    "previous-snapshot": AHEAD,
    "first-of-several": {"stored_is_done"},
    "KAFKA-14079": {"everything_stored"},
    "H7a": {"map_is_what_was_flushed"},
    "late-time-out": set(),
    "H7b": {"told_in_order"},
    "put-late": {"stored_in_order", "upstream_has_what_is_resumed"},
    "put-late-and-told": {"stored_in_order", "resumes_from_what_was_told", "upstream_has_what_is_resumed"},
    "H7c": AHEAD,
    "H7d": {"told_in_order", "stored_in_order", "resumes_from_what_was_told", "upstream_has_what_is_resumed"},
    "H7f": {"told_is_durable", "told_is_where_it_resumes", "resumes_from_what_was_told", "upstream_not_ahead"},
    "aborted-acknowledged": {"acknowledged_is_there"},
    "KAFKA-9184": {"stored_in_order"},
}
TO_THE_END = {"KAFKA-14079"}
"""Nothing is left to happen."""


def broken_by(name, broken):
    """The promises, and the rules of commitRecord and of the map, that the events of a scenario break."""
    mode = dict(SCENARIOS[name].broken if broken else SCENARIOS[name].fixed).get("mode", "proposed")
    rows = [(step, 0, int(Kind[event.kind]), *event[3:]) for step, event in enumerate(scenario(name, broken))]
    config = {"mode": mode, "quiet_end": name in TO_THE_END}
    findings, _ = HISTORY.check(columns_of(SOURCE_COMMITS, [(0, rows)]), config=config)
    return {
        found
        for found, finding in findings.items()
        if finding.violations
        and HISTORY.properties[found].not_promised(mode) is None
        and (name in TO_THE_END or not HISTORY.properties[found].needs_quiet_end)
    }


def test_all_are_here():
    """Each scenario, and nothing else."""
    assert SCENARIOS.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_a_scenario_breaks_what_it_is_known_for(name):
    """And nothing where it is done right."""
    assert broken_by(name, True) >= BROKEN[name]
    assert broken_by(name, False) == set()


def test_what_is_stored_may_not_be_told():
    """The wait for a flush times out as the flush ends: nothing is wrong with what is told, which is nothing."""
    events = scenario("late-time-out", True)
    assert [event.offset for event in events if event.kind == "offset_written"] == [2]
    assert [event.entries for event in events if event.kind == "told"] == [0]


def test_unknown_name_is_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="put-late"):
        scenario("put-early", True)
