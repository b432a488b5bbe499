"""Two-phase commit: each rule got wrong, and each other text, breaks what it is predicted to break, in the fewest
steps."""

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.properties.catalogue import Variant, protocols

STEPS = {
    "not-retained": {"aborted_as_decided": 9, "survives_until_decided": 9, "decided_commit_happens": 11},
    "second-pair-forgotten": {"one_answer": 9, "one_owner": 14},
    "taken-for-a-fence": {"nothing_after_the_answer": 13},
    "no-decision": {"stable_offset_moves": 6},
    "timed-out": {
        "only_the_newest_ends_it": 7, "aborted_as_decided": 8, "survives_until_decided": 8,
        "decided_commit_happens": 10,
    },
    "old-epoch-in-markers": {"nothing_hangs": 11, "nothing_open_after_a_fence": 13},
    "owner-ends": {"only_the_newest_ends_it": 8, "one_owner": 12},
    "older-answer-ends": {"only_the_newest_ends_it": 10, "one_owner": 14},
    "commits-undecided": {"committed_as_decided": 9, "survives_until_decided": 9},
    "aborts-undecided": {"decided_once": 9, "decided_commit_happens": 11, "aborted_as_decided": 11},
    "older-writer": {"decided_once": 11, "decided_commit_happens": 13, "aborted_as_decided": 13},
    "unpermitted": {"only_with_permission": 2},
    "unpermitted-restart": {"only_with_permission": 3},
    "unpermitted-heir": {"only_with_permission": 7},
    "nothing-to-find": {"restart_is_answered": 1},
}  # fmt: skip
"""The lengths of shortest runs; what follows a second transaction takes longer to search, and is in no table here."""
WRONG = [variant for variant in protocols()["two-phase"].variants if not variant.main]
LONG = {"not-raised-again", "retained-while-prepared", "any-state"}


@pytest.mark.parametrize(
    "variant",
    [pytest.param(v, id=v.name, marks=pytest.mark.nightly if v.name in LONG else ()) for v in WRONG],
)
def test_what_is_wrong_breaks_what_it_is_predicted_to(variant: Variant) -> None:
    found: dict[str, int | None] = {}
    stated = {n: p for n, p in variant.asked.items() if p.role in ("promise", "step")}
    if stated:
        made = explore(variant.spec, stated, dict(variant.bounds["smoke"]))
        found |= {name: made.traces.steps(name) for name in made.violated}
    owed = {n: p for n, p in variant.asked.items() if p.role == "progress"}
    for bounds in variant.progress_bounds:
        results = check_progress(explore(variant.spec, owed, bounds))
        found |= {name: len(r.trace) for name, r in results.items() if r.trace is not None}
    assert set(found) == set(variant.expected)
    assert STEPS.get(variant.name, found) == found
