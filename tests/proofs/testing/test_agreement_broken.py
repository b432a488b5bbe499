"""Every implementation with one thing wrong is found by agreement alone, with a short program that fails by itself
(about 35 s).

The examples in the table are those needed at this seed; the bound in the test leaves room for changes of the machine.
"""

import agreement_doubles
import pytest
from fencepost.proofs.testing import agree
from fencepost.reference_impl.id_blocks import reference
from fencepost.reference_impl.id_blocks.defects.broken import REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks

BROKEN = "fencepost.reference_impl.id_blocks.defects.broken"
SECONDS, EXAMPLES = 30, 100

CONTROLS = {name for name, broken in REGISTRY.items() if broken.breaks is Breaks.NOTHING}

FOUND = {
    "advanced_one_too_little": (1, 4),
    "answers_before_commit": (3, 2),
    "backoff_ignored": (3, 7),
    "backoff_never_over": (3, 15),
    "begins_again_at_the_end": (3, 18),
    "block_kept_over_restart": (3, 6),
    "blocks_begin_at_multiples": (3, 5),
    "controller_remembers_its_block": (51, 12),
    "double_prefetch": (3, 2),
    "duplicate_answer_installed": (3, 5),
    "duplicate_answer_taken": (3, 6),
    "forgets_log_behind_snapshot": (7, 6),
    "idempotent_per_broker": (1, 7),
    "idempotent_per_broker_epoch": (1, 7),
    "idempotent_per_request": (3, 4),
    "ids_shifted_everywhere": (3, 5),
    "ids_shifted_on_even_brokers": (2, 5),
    "in_flight_kept_on_error": (3, 15),
    "in_flight_kept_on_timeout": (3, 3),
    "length_one_too_long": (1, 3),
    "lost_race_taken_for_won": (1, 1),
    "lost_requests_answered_later": (57, 4),
    "migrates_before_upgrade": (5, 1),
    "migrates_from_block_start": (3, 4),
    "migrates_from_inclusive_end": (3, 4),
    "next_id_not_advanced": (1, 7),
    "no_exhaustion_check": (3, 9),
    "numbers_begin_again": (3, 5),
    "old_memory_trusted": (91, 12),
    "own_length": (3, 6),
    "prefetched_block_saved": (16, 11),
    "prefetched_block_stays": (1, 6),
    "resigning_controller_answers": (37, 3),
    "shared_claim_counter": (1, 9),
    "snapshot_keeps_the_first": (3, 5),
    "snapshot_omits_next_id": (3, 5),
    "snapshot_writes_block_start": (3, 5),
    "stale_answer_installed": (3, 5),
    "stale_epoch_accepted": (11, 3),
    "uncoordinated": (3, 1),
    "wrong_error_for_stale_epoch": (11, 3),
    "zk_no_reread": (1, 8),
    "zk_write_ignores_version": (1, 7),
}
"""Name: clusters driven until one failed, and calls in the program after shrinking, at seed 0."""

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

PROMISE_FAR_OFF = {
    "duplicate_answer_installed",
    "ids_shifted_on_even_brokers",
    "migrates_before_upgrade",
    "numbers_begin_again",
    "old_memory_trusted",
    "own_length",
    "stale_answer_installed",
}  # fmt: skip
"""An id twice takes more brokers, or more of the same fault, than the ways of going on that are tried."""


def variant_of(name):
    return dict(REGISTRY[name].needs).get("mode", "kraft")


def test_registry_is_all_in_the_table():
    """A new broken implementation gets a line here, and a control none."""
    assert sorted(FOUND) == sorted(set(REGISTRY) - CONTROLS)
    assert len(FOUND) >= 12


@pytest.mark.parametrize("name", sorted(FOUND))
def test_broken_implementation_is_found(name):
    """Found, shrunk, explained, and the pasted program fails on it and not on the reference."""
    report = agree(f"{BROKEN}:{name}", variant=variant_of(name), seed=0, max_examples=EXAMPLES)
    assert report.verdict == "violated"
    assert report.seconds < SECONDS
    examples, calls = FOUND[name]
    assert report.examples <= 3 * examples + 15
    assert report.failure.calls <= calls + 6
    assert report.failure.conjuncts
    assert RULES.get(name) in (None, *report.failure.rules)
    if REGISTRY[name].breaks is Breaks.PROMISE and name not in PROMISE_FAR_OFF:
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


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_controls_are_not_found(name):
    """A defect that nothing can show is left alone."""
    assert agree(f"{BROKEN}:{name}", variant=variant_of(name), seed=0, max_examples=EXAMPLES).verdict == "holds"


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
