"""The full models of task counts have rounds that fence within the bounds of every run, a claim that holds within
bounds and is reported so, and finished rounds that have to be removed.

The mistakes and what they break are in tests/every_protocol/data/mistakes.txt, and each verdict is a golden row.
"""

from dataclasses import replace

import pytest
from fencepost.model.language import action
from fencepost.model.task_counts.abstract.core import Worker
from fencepost.model.task_counts.detailed.lingering import LingeringEager, Released
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.ledger import Verdicts, _claimed
from fencepost.proofs.variants import judge_main
from fencepost.proofs.verify import Verification, _claims
from fencepost.properties.catalogue import Variant, features_of
from fencepost.properties.task_counts.claims.full import CooperativePromises, EagerPromises
from fencepost.properties.task_counts.variants.bounds import ROUNDS
from fencepost.properties.task_counts.variants.catalogue import TASK_COUNTS


@pytest.mark.parametrize("variant", ["shipped-eager", "shipped-cooperative"])
def test_both_rebalance_protocols_work(variant: str) -> None:
    """618.41: The claim holds within bounds, and `verify` and the ledger report that."""
    entry = replace(TASK_COUNTS, claims=tuple(c for c in TASK_COUNTS.claims if c.variant == variant))
    (claim,) = entry.claims
    assert claim.rule == "618.41"
    judged = judge_main(entry, entry.variant(variant), "smoke")
    made = Verification(results=[found for _, found in judged.results])
    ((_, reported),) = _claims(made, entry)
    assert (reported.verdict, reported.engine) == ("holds", "explore")
    assert reported.bound is not None
    (words,) = _claimed("618.41", entry, Verdicts())
    assert words.startswith(f"**holds-bounded** in {variant}: ")
    less = Verification(results=[r for r in made.results if r.property != "polls_in_the_end"])
    assert [r.verdict for _, r in _claims(less, entry)] == ["unknown"]


@pytest.mark.parametrize("name", ["grain", "shipped", "B", "A", "shipped-eager", "shipped-cooperative"])
def test_rounds_fence(name: str) -> None:
    """Within the bounds of every run a round fences, fails, meets a task with a late request, and is checked. With two
    workers, a round of one fences the other's tasks."""
    variant = TASK_COUNTS.variant(name)
    explored = features_of(variant, "smoke")
    taken = {a for bound in explored.values() for a, times in explore(variant.spec, {}, bound).taken.items() if times}
    assert {"fence", "fence_late", "check_round", "fence_fails", "stop"} <= taken
    assert any(bound["workers"] > 1 and bound["tasks"] > 1 for bound in explored.values()) or name == "grain"


class NeverTakenOut(Released):
    """In this model a finished round answers for ever."""

    take_out = None


class PerhapsTakenOut(LingeringEager):
    """In this model the thread that removes a round need not proceed."""

    @action
    def take_out(s, w: Worker):
        LingeringEager.take_out(s, w)


class NeverPromises(CooperativePromises, of=NeverTakenOut):
    """These are the cooperative promises, of a model that never removes rounds."""


class PerhapsPromises(EagerPromises, of=PerhapsTakenOut):
    """These are the eager promises, of a model that may never remove rounds."""


@pytest.mark.parametrize("promises", [NeverPromises, PerhapsPromises])
def test_a_round_that_failed_has_to_go(promises: type[CooperativePromises]) -> None:
    """A failed round that stays fails each restarted task for ever. No id need fail for that, since a set that
    overtakes a round fails it."""
    stuck = Variant("stuck", promises, "a round that stays")
    asked = {"polls_in_the_end": stuck.properties.properties["polls_in_the_end"]}
    found = check_progress(explore(stuck.spec, asked, dict(ROUNDS, failures=0)))["polls_in_the_end"]
    assert found.verdict == "violated" and found.trace is not None
    taken = [event.action for event in found.trace.events]
    assert taken[-3:] == ["ask", "answer_by_round", "fail"] and "check_round" in taken
