"""Known bugs and holes as scenarios: each shows its symptom with the defect, and not without."""

from collections import Counter

import pytest
from fencepost.reference_impl.group_fencing.scenarios import SCENARIOS, scenario

NOT_COPIED = {"447.11", "447.11-shipped", "848-static-join"}
"""An instance fails, though it is alone; every other scenario ends in a record that is copied twice."""

SHUT_DOWN = {"447.9-old"}
"""An old client fails that would only have had to wait."""
LEFT = {"447.12-stuck"}
"""The only instance left fails, and some of the input is not copied."""


def copied_twice(events):
    """Whether some record is twice in the committed output."""
    copies = Counter((e.partition, e.offset) for e in events if e.kind == "output_read")
    return max(copies.values(), default=0) > 1


def fails(events):
    """Whether an instance fails."""
    return "instance_failed" in {e.kind for e in events}


def fails_alone(events):
    """Whether an instance fails, and nothing is copied."""
    kinds = {e.kind for e in events}
    return "instance_failed" in kinds and "output_read" not in kinds


def stays_behind(events):
    """Whether an instance fails, and not everything is copied."""
    copies = {(e.partition, e.offset) for e in events if e.kind == "output_read"}
    return "instance_failed" in {e.kind for e in events} and len(copies) < len(
        {(e.partition, e.offset) for e in events if e.kind == "consumed"}
    )


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_scenario_shows_its_symptom_only_when_broken(name):
    """Each known bug breaks what it is known for, and without it everything is copied once."""
    kinds = [(LEFT, stays_behind), (NOT_COPIED, fails_alone), (SHUT_DOWN, fails)]
    symptom = next((symptom for names, symptom in kinds if name in names), copied_twice)
    assert symptom(scenario(name, True))
    correct = scenario(name, False)
    assert name not in SHUT_DOWN or not fails(correct)
    assert not copied_twice(correct)
    copies = {(e.partition, e.offset) for e in correct if e.kind == "output_read"}
    offsets = {e.partition: e.offset for e in correct if e.kind == "audited"}
    assert copies == {(partition, offset) for partition, upto in offsets.items() for offset in range(upto)}
    assert copies


def test_nothing_but_the_draft_s_text_is_wrong_in_h1():
    """H1 step by step: the zombie commits under generation 1 while its successor has been assigned in generation 2,
    nobody was fenced, and no commit was refused."""
    events = scenario("H1", True)
    taken = [(e.generation, e.offset) for e in events if e.kind == "offset_taken"]
    assert taken == [(1, 1), (2, 1)]
    assert not [e for e in events if e.kind in ("producer_fenced", "instance_failed")]
    assert not [e for e in events if e.kind == "offset_refused" and e.error != 51]


def test_who_is_fenced_where_the_draft_is_repaired():
    """By assignment the zombie's producer is fenced before its successor may fetch; by generation its commit is
    refused."""
    assert [e.kind for e in scenario("H1", False) if e.kind == "producer_fenced"]
    refused = [e.error for e in scenario("H1-generation", False) if e.kind == "offset_refused" and e.error != 51]
    assert refused == [22]


def test_the_new_epoch_commits_for_another_member():
    """447.21: the commit taken wrongly has the current epoch of its member, which was assigned nothing in it."""
    events = scenario("447.21-relaxed", True)
    (first, _) = [e for e in events if e.kind == "offset_taken"]
    assigned = [e.generation for e in events if e.kind == "assigned" and e.slot == 0]
    joined = [e.generation for e in events if e.kind == "joined" and e.slot == 0]
    assert first.generation == joined[-1]
    assert first.generation not in assigned


def test_unknown_name_is_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="H1"):
        scenario("H0", True)
