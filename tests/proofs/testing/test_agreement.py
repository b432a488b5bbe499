"""The reference implementation agrees with the model, and the search is shown to have looked everywhere (about 25
s)."""

import json
import subprocess
import sys

import agreement_doubles
import pytest
from fencepost.proofs.testing import agree

REFERENCE = "fencepost.reference_impl.systems.id_blocks:reference"

EXAMPLES = {"kraft": 300, "zookeeper": 60, "bridge": 150}
UNOBSERVABLE = {
    "kraft": set(),
    "zookeeper": {"write_unseen"},  # the plug has no way to lose ZooKeeper's answer to a write that it made
    "bridge": {"write_unseen"},
}


@pytest.fixture(scope="module", params=sorted(EXAMPLES))
def report(request):
    """One search on the reference in each mode."""
    return agree(REFERENCE, variant=request.param, seed=1, max_examples=EXAMPLES[request.param])


def test_reference_agrees(report):
    """Nothing that the reference shows is beyond the model, in any mode."""
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.verdict == "holds"
    assert report.program == ""


def test_every_action_is_reached(report):
    """The model takes every action that a driver can cause, in each variant; of those that are declared dead (reject,
    proved unreachable) none is listed as left untried, and no guard of one."""
    assert report.never["actions"] == []
    assert set(report.never["unobservable actions"]) == UNOBSERVABLE[report.variant]
    assert {each.dead is None for each in report.coverage.spec.actions.values()} == {
        report.variant == "zookeeper",
        True,
    }
    assert not any(guard.startswith("reject:") for listed in report.never.values() for guard in listed)


def test_every_guard_is_seen_both_ways(report):
    """Each conjunct of each guard is true in some state visited, and false in another."""
    assert report.never["guards never true"] == []
    assert report.never["guards never false"] == []


def test_most_guards_decide(report):
    """Nearly every conjunct was, in some state, the only thing in the way of its action."""
    guards = sum(len(a.guards) for a in report.coverage.spec.actions.values())
    assert len(report.never["guards never decisive"]) <= guards / 6


def test_every_rule_that_guards_cite_is_exercised(report):
    """A rule that an action cites counts as exercised when the action is taken: all of them are, but for those of the
    dead one and of the one that no event stands for."""
    every = report.coverage.spec.actions.values()
    taken = [a for a in every if not a.dead and a.name not in UNOBSERVABLE[report.variant]]
    cited = {g.rule for a in taken for g in a.guards}
    assert cited - {None} <= set(report.coverage.rules)


def test_error_codes_are_reached():
    """All codes that a call on the plug can cause: no id at hand, exhausted, no permission, not the controller,
    stale epoch."""
    report = agree(REFERENCE, seed=2, max_examples=80, config={"controller_discovery": "at_sending"})
    assert report.verdict == "holds", str(report.failure)
    assert set(report.coverage.errors) == {14, -1, 31, 41, 77}


@pytest.mark.parametrize("variant", sorted(EXAMPLES))
def test_black_box_agrees(variant):
    """Of an implementation that shows only the four necessary kinds, the rest is guessed, and no guess goes wrong."""
    report = agree(agreement_doubles.black_box, variant=variant, seed=3, max_examples=40)
    assert report.verdict == "holds", str(report.failure) + "\n" + report.program
    assert set(report.observed) == set(agreement_doubles.MAPPING)
    assert report.coverage.actions["hand_out"] > 50


SCRIPT = """
import json
from fencepost.proofs.testing import agree
report = agree("fencepost.reference_impl.defects.id_blocks:stale_epoch_accepted", seed=5, max_examples=40)
print(json.dumps([report.examples, report.program, str(report.failure), sorted(report.coverage.actions.items())]))
"""


def test_same_seed_same_report_in_any_process():
    """Examples, program, words and counts are the same in two processes with different hash seeds."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])[1].startswith("from fencepost.reference_impl")


def test_another_seed_drives_otherwise():
    """The seed is what decides: another one takes other steps."""
    first, second = (agree(REFERENCE, seed=seed, max_examples=10) for seed in (1, 2))
    assert first.coverage.calls != second.coverage.calls
