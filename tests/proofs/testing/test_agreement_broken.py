"""What is said of a defect: its rule, a promise that breaks in the end, and a program that fails by itself.

That every defect is found is for `tests/every_protocol/test_defects.py`.
"""

import importlib
import sys

import agreement_doubles
import pytest
from detection_runs import defects, found_after
from fencepost.proofs.testing import agree
from fencepost.reference_impl.defects.id_blocks import REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.systems.id_blocks import reference

BROKEN = "fencepost.reference_impl.defects.id_blocks"
RULES = {
    "answers_before_commit": "730.7",
    "double_prefetch": "730.19",
    "forgets_log_behind_snapshot": "730.8",
    "in_flight_kept_on_timeout": "730.P3",
    "backoff_never_over": "730.5",
    "length_one_too_long": "730.4",
    "migrates_before_upgrade": "730.14",
    "migrates_from_block_start": "730.15",
    "stale_epoch_accepted": "730.18",
    "wrong_error_for_stale_epoch": "730.18",
    "zk_write_ignores_version": "730.2",
}
"""The rule that the nearest step of the model names, where it is plain which one that must be."""
PROMISE_FAR_OFF = "migrates_before_upgrade"
"""An id twice takes more brokers than the ways of going on that are tried."""


def variant_of(name):
    return dict(REGISTRY[name].needs).get("mode", "kraft")


@pytest.mark.parametrize(("name", "rule"), RULES.items())
def test_broken_implementation_is_explained(name, rule):
    """By its rule, and the promise that breaks; the pasted program fails on it and not on the reference."""
    report = agree(f"{BROKEN}:{name}", variant=variant_of(name), seed=0)
    assert report.failure.conjuncts
    assert rule in report.failure.rules
    if REGISTRY[name].breaks is Breaks.PROMISE and name != PROMISE_FAR_OFF:
        assert "730.P" in report.failure.promise + report.failure.consequence
    with pytest.raises(AssertionError):
        exec(report.program, {})
    assert not asserts_on_reference(report.program, name)


def asserts_on_reference(program, name):
    """Does the assertion fail on the reference too?  Calls that only the broken one makes possible do not count."""
    corrected = program.replace(f"from {BROKEN} import {name} as factory\n", "")
    assert corrected != program
    try:
        exec(corrected, {"factory": reference})
    except AssertionError:
        return True
    except KeyError as error:
        assert "no message" in str(error)
    return False


@pytest.mark.parametrize("name", ["answers_before_commit", "backoff_ignored", "snapshot_omits_next_id", "zk_no_reread"])
def test_found_through_the_black_box(name):
    """Four kinds of event are enough to find these, too; the program then fails on the implementation as passed."""
    broken = REGISTRY[name]

    def factory(config):
        return agreement_doubles.BlackBox(broken(config))

    report = agree(factory, variant=variant_of(name), seed=0, max_examples=100)
    assert report.verdict == "violated"
    with pytest.raises(AssertionError):
        exec(report.program, {"factory": factory})


REFERENCE = "fencepost.reference_impl.systems.transactions:reference"
NUMBERS = "".join(f"NUMBER_{number} = {number}\n" for number in range(60, 255))


def calls():
    """What one search does, in numbers."""
    report = agree(
        REFERENCE, protocol="transactions", variant="v1-verified", promises_only=True, max_examples=5, seed=1
    )
    return report.coverage.calls


def test_numbers_in_other_code_change_nothing(tmp_path, monkeypatch):
    """A module full of numbers is imported, and the same search makes the same calls."""
    before = calls()
    (tmp_path / "full_of_numbers.py").write_text(NUMBERS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    importlib.import_module("full_of_numbers")
    assert calls() == before
    sys.modules.pop("full_of_numbers")


def test_clusters_drawn_apart_find_what_is_hard():
    """A controller that answers lost requests later is found by promises alone with each of these seeds.  Where
    Hypothesis makes one cluster like the one before, none of them finds it in 100 clusters."""
    lost = defects("id-blocks")["lost_requests_answered_later"]
    assert None not in [found_after("id-blocks", lost, seed, "promises") for seed in (1, 2, 3)]
