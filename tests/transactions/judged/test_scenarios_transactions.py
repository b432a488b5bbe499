"""Bugs of transactions that are publicly known, in the model: with the bug a promise fails, mended it holds.

The same scenarios in the reference implementation are in tests/transactions/reference/test_transactions_scenarios.py.
"""

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import first_broken
from fencepost.properties.catalogue import Scenario, Variant, bounds_of
from fencepost.properties.transactions.scenarios.known import KNOWN_BUGS
from fencepost.properties.transactions.variants.catalogue import TRANSACTIONS

SCENARIOS = {known.name: known for known in TRANSACTIONS.scenarios}
SHORTEST = {
    "KAFKA-17754": ("nothing_committed_unasked", 21),
    "KAFKA-17754-verified": ("nothing_committed_unasked", 23),
    "KAFKA-14402": ("nothing_hangs", 13),
    "KAFKA-14884": ("nothing_hangs", 9),
    "KAFKA-14884-ABA": ("nothing_hangs", 15),
    "KAFKA-6119": ("nothing_hangs", 7),
    "KAFKA-5231": ("nothing_hangs", 7),
    "KAFKA-18575": ("nothing_hangs", 12),
    "KAFKA-18464": ("never_fenced_before_the_end", 14),
    "KAFKA-19367": ("no_epoch_past_the_last", 18),
    "KAFKA-20090": ("no_epoch_past_the_last", 23),
    "KAFKA-19999": ("ends_in_the_end", None),
    "KAFKA-20357": ("never_fenced_by_a_fail_over", 10),
    "KAFKA-20310": ("no_epoch_past_the_last", 16),
    "KIP-1228": ("nothing_committed_unasked", 17),
    "KAFKA-19446": ("ends_in_the_end", None),
    "late-marker-v1": ("nothing_committed_unasked", 15),
    "deposed-coordinator": ("no_zombie_write", 17),
    "deposed-coordinator-prompt": ("as_told", 19),
    "KAFKA-18019": ("fenced_for_good", None),
}
"""What breaks, and in how many steps at least."""
ONLY_THE_REFERENCE = {
    "KAFKA-14884-ABA", "KAFKA-20357", "KAFKA-19446", "deposed-coordinator", "deposed-coordinator-prompt",
}  # fmt: skip
"""Those that are played in test_transactions_scenarios.py."""


def variants(known: Scenario) -> tuple[Variant, Variant, dict[str, int]]:
    """With the bug, without it, and the bounds that the bug needs."""
    broken, fixed = TRANSACTIONS.variant(known.broken), TRANSACTIONS.variant(known.fixed)
    return broken, fixed, bounds_of(broken, "smoke")


def test_every_scenario_is_told() -> None:
    """The list above is the catalogue's, and the implementation has a script for each."""
    assert list(SHORTEST) == list(SCENARIOS)
    assert all(known.played for known in SCENARIOS.values())
    assert set(SCENARIOS) - set(KNOWN_BUGS) == ONLY_THE_REFERENCE


@pytest.mark.parametrize("name", SCENARIOS)
def test_broken(name: str) -> None:
    """The promise fails, in the fewest steps."""
    broken, _, bound = variants(SCENARIOS[name])
    promise, steps = SHORTEST[name]
    item = broken.asked[promise]
    if item.role == "progress":
        found = check_progress(explore(broken.spec, {promise: item}, bound))[promise]
        assert found.verdict == "violated"
        return
    first = first_broken(broken.spec, {promise: item}, bound)
    assert first is not None
    assert steps is None or len(first[1]) == steps


@pytest.mark.parametrize("name", SCENARIOS)
def test_mended(name: str) -> None:
    """Within the same bounds every promise that the mended protocol keeps holds, the broken one among them."""
    _, fixed, bound = variants(SCENARIOS[name])
    promise, _ = SHORTEST[name]
    assert promise in fixed.kept or promise in fixed.leaves_out
    within = {n: v for n, v in bound.items() if n in bounds_of(fixed, "smoke")}
    assert first_broken(fixed.spec, fixed.kept, within) is None
    item = fixed.properties.properties[promise]
    if item.role == "progress":
        assert check_progress(explore(fixed.spec, {promise: item}, within))[promise].verdict == "holds"
