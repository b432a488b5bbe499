"""What goes wrong with task counts where a rule is broken or the guarantee ends, in model and implementation: with the
mistake a promise fails, in the fewest steps, and mended it holds."""

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.necessity.search import first_broken
from fencepost.properties.catalogue import ProtocolEntry, Scenario, bounds_of, protocols

ENTRIES = [
    protocols()[name]
    for name in ("task-count-deletion", "task-count-connectors", "exactly-once-upgrade", "config-topic")
]
SCENARIOS = {known.name: (entry, known) for entry in ENTRIES for known in entry.scenarios}
STEPS = {
    "B34": (
        "no_zombie",
        "create start_round write_count assign check_before open_producer check_after delete "
        "create_again start_round write_count assign check_before open_producer check_after",
    ),
    "618.49": (
        "only_its_own",
        "named_alike reconfigure start_round write_count assign open_producer "
        "reconfigure start_round write_count assign open_producer",
    ),
    "618.33": ("no_zombie", "comes_without elect reconfigure start_plain reconfigure start_plain"),
    "618.34": ("no_zombie", "elect reconfigure ask write_count start reconfigure foreign_count start"),
    "follower-writes-a-set": (
        "no_zombie",
        "elect reconfigure ask foreign_set write_count start reconfigure ask write_count start",
    ),
    "618.35": (
        "covered",
        "restart restart restart elect reconfigure ask count_aborted start reconfigure restart",
    ),
    "rolling-upgrade-in-one": (
        "no_zombie",
        "restart elect reconfigure elect ask reconfigure write_count start reconfigure ask write_count restart start",
    ),
    "no-preparing-leaders": (
        "covered",
        "restart restart restart elect reconfigure elect ask reconfigure write_count start restart reconfigure",
    ),
    "endpoint-missing": ("nobody_asks_in_vain", "restart restart restart elect reconfigure ask_in_vain"),
    "compaction-order": (
        "runs_what_was_fenced_for",
        "begin_set write_config commit begin_set write_config commit fence move_to_the_end "
        "read read read read read read",
    ),
}
RUNS = {name: (promise, steps.split()) for name, (promise, steps) in STEPS.items()}
"""The promise that fails, and a shortest run to it, but for the order of what is independent."""
PLAYED = {"B34", "618.33", "618.34", "618.49", "follower-writes-a-set", "compaction-order"}
"""Those that the implementation has as well: known bugs, and what goes beyond in test_task_counts_beyond.py."""


def test_the_known_ones() -> None:
    """Each has a run written down, and is in the implementation as well where it says so."""
    assert set(SCENARIOS) == set(RUNS)
    assert {name for name, (_, known) in SCENARIOS.items() if known.played} == PLAYED


def known(name: str) -> tuple[ProtocolEntry, Scenario, dict[str, int]]:
    """Where the mistake is in the catalogue, and the bounds that it needs."""
    entry, scenario = SCENARIOS[name]
    return entry, scenario, bounds_of(entry.variant(scenario.broken), "smoke")


@pytest.mark.parametrize("name", RUNS)
def test_broken(name: str) -> None:
    """The promise fails in the fewest steps, which are these."""
    entry, scenario, bound = known(name)
    promise, steps = RUNS[name]
    variant = entry.variant(scenario.broken)
    found = first_broken(variant.spec, {promise: variant.asked[promise]}, bound)
    assert found is not None
    assert sorted(event.action for event in found[1].events) == sorted(steps)


@pytest.mark.parametrize("name", RUNS)
def test_mended(name: str) -> None:
    """Within the same bounds the protocol as it should be keeps every promise, and does something."""
    entry, scenario, bound = known(name)
    variant = entry.variant(scenario.fixed)
    asked = {n: p for n, p in variant.asked.items() if p.role == "promise"}
    made = explore(variant.spec, asked, bound)
    assert made.violated == []
    assert made.complete
    assert sum(made.taken.values()) > 400
