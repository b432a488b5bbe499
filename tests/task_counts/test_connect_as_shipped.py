"""What Kafka Connect does that the text of KIP-618 does not have: what it breaks, in how many steps, and what mends it.

Proofs of the mends are `verify`'s; here each is held against the same bounds in which Kafka's form breaks.
"""

import pytest
from fencepost.model.language.derived.mutations import mutations
from fencepost.model.releases import each_of
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import judge
from fencepost.properties.catalogue import Variant, bounds_of, protocols
from fencepost.properties.task_counts.variants.bounds import CLAIMED_TWO

BROKEN = [
    ("task-counts/core-shipped-lingering-round", {"no_zombie": 18, "all_covered": 15}),
    ("task-counts/core-shipped-claims", {"no_zombie": 14, "all_covered": 10}),
    ("task-counts/core-released", {"no_zombie": 14, "all_covered": 10}),
    ("task-counts/shipped-cooperative-claims", {"all_covered": 27}),
    ("exactly-once-upgrade/two-rolling-upgrades-as-shipped", {"no_zombie": 14, "covered": 10}),
]
"""Kafka's form, and the fewest steps to each promise that it breaks."""

MENDED = [
    ("task-counts/core-rounds-by-set", "task-counts/core-shipped-lingering-round"),
    ("task-counts/core-claims-taken", "task-counts/core-shipped-claims"),
    ("task-counts/core-claims-refused", "task-counts/core-shipped-claims"),
    ("task-counts/cooperative-claims-taken", "task-counts/shipped-cooperative-claims"),
    ("task-counts/cooperative-claims-refused", "task-counts/shipped-cooperative-claims"),
    (
        "exactly-once-upgrade/two-rolling-upgrades-read-committed",
        "exactly-once-upgrade/two-rolling-upgrades-as-shipped",
    ),
]
"""What mends it, and Kafka's form, within whose bounds it is to hold."""

PROOF = pytest.mark.nightly  # takes seconds
ALTERNATIVES = [
    ("task-counts/core-rounds-by-set", "as_many_tasks", ("necessary", "no_zombie", 18)),
    pytest.param("task-counts/core-claims-refused", "at_the_start", ("redundant", None, None), marks=PROOF),
    pytest.param("task-counts/core-claims-refused", "at_the_second_look", ("redundant", None, None), marks=PROOF),
]
"""Other mends: that the count of tasks is compared instead of the set does not help; a task's number may be compared at
its start or at its second look, and either is proved enough."""


def variant(name: str) -> Variant:
    protocol, _, of = name.partition("/")
    return protocols()[protocol].variant(of)


@pytest.mark.parametrize(("name", "steps"), BROKEN)
def test_kafka_breaks_them(name: str, steps: dict[str, int]) -> None:
    """Every release from 3.6 on has it, and what it breaks is what the catalogue says, in the fewest steps."""
    shipped = variant(name)
    asked = {n: p for n, p in shipped.asked.items() if p.role == "promise"}
    made = explore(shipped.spec, asked, bounds_of(shipped, "smoke"))
    assert (made.complete, {n: len(made.traces[n]) for n in made.violated}) == (True, steps)
    assert {(of.since, of.until) for of in each_of(shipped.of)} == {("3.6", "trunk")}


@pytest.mark.parametrize(("mend", "shipped"), MENDED)
def test_mended(mend: str, shipped: str) -> None:
    """Where Kafka's form breaks it, this one does not."""
    mended = variant(mend)
    asked = {n: mended.asked[n] for n in variant(shipped).expected}
    made = explore(mended.spec, asked, bounds_of(variant(shipped), "smoke"))
    assert (made.complete, made.violated) == (True, [])


@pytest.mark.parametrize(("name", "alternative", "expected"), ALTERNATIVES)
def test_other_mends(name: str, alternative: str, expected: tuple[str, str | None, int | None]) -> None:
    """Enough by proof, or not enough by the fewest steps."""
    of = variant(name)
    judged = of.judged or ()
    (found,) = [m for m in mutations(of.properties.protocol.spec) if m.name == alternative and m.rule in judged]
    verdict = judge(of, found, "smoke")
    assert (verdict.verdict, verdict.promise, verdict.steps) == expected


@pytest.mark.parametrize("name", ["shipped-late-fence", "shipped-unanswered"])
def test_a_task_is_left_failed(name: str) -> None:
    """A healthy task, or one that only asked, is FAILED for good; where a user restarts what failed, it polls."""
    for of, verdict in (
        (variant(f"task-counts/{name}"), "violated"),
        (variant("task-counts/shipped-attended"), "holds"),
    ):
        asked = {"polls_in_the_end": of.asked["polls_in_the_end"]}
        made = explore(of.spec, asked, of.progress_bounds[-1])
        assert check_progress(made)["polls_in_the_end"].verdict == verdict


@pytest.mark.nightly
def test_a_claimed_task_commits_beside_a_newer_set() -> None:
    """618.P1 as well, with two tasks: one of the newest set polls, and the one that is no more commits beside it."""
    shipped = variant("task-counts/shipped-cooperative-claims")
    asked = {"no_zombie": shipped.properties.properties["no_zombie"]}
    made = explore(shipped.spec, asked, CLAIMED_TWO, stop_when_violated=True)
    assert len(made.traces["no_zombie"]) == 32
