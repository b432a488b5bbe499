"""What Kafka Connect does that the text of KIP-618 does not have: what it breaks, in how many steps, and what mends it.

Proofs of the mends are `verify`'s; here each is held against the same bounds in which Kafka's form breaks.
"""

import pytest
from fencepost.model.language import action
from fencepost.model.language.derived.mutations import mutation, mutations
from fencepost.model.releases import each_of
from fencepost.model.task_counts.abstract.core import Worker
from fencepost.model.task_counts.detailed.lingering import LingeringEager, Released
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import judge
from fencepost.properties.catalogue import Variant, bounds_of, protocols
from fencepost.properties.task_counts.claims.full import CooperativePromises, EagerPromises
from fencepost.properties.task_counts.variants.bounds import CLAIMED_AND_ROUNDS, CLAIMED_TWO, FALLING_OUT, ROUNDS

BROKEN = [
    ("task-counts/core-shipped-lingering-round", {"no_zombie": 18, "all_covered": 15}),
    ("task-counts/core-shipped-claims", {"no_zombie": 14, "all_covered": 10}),
    ("task-counts/core-released", {"no_zombie": 14, "all_covered": 10}),
    ("task-counts/shipped-cooperative-claims", {"all_covered": 27}),
    ("task-counts/shipped-released", {"no_zombie": 32}),
    ("task-counts/shipped-released-eager", {"no_zombie": 32}),
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


RELEASED = ["shipped-released", "shipped-released-eager"]


class NeverTakenOut(Released):
    """A round that is over answers for good."""

    take_out = None


class PerhapsTakenOut(LingeringEager):
    """The thread that takes a round out need not go on."""

    @action
    def take_out(s, w: Worker):
        LingeringEager.take_out(s, w)


class NeverPromises(CooperativePromises, of=NeverTakenOut):
    """The same promises."""


class PerhapsPromises(EagerPromises, of=PerhapsTakenOut):
    """The same promises."""


@pytest.mark.parametrize("name", RELEASED)
def test_a_round_that_is_over_lets_a_set_through(name: str) -> None:
    """In full: a task that does not stop in time can commit while one of a newer set polls, which the round
    before has let through."""
    shipped = variant(f"task-counts/{name}")
    asked = {"no_zombie": shipped.asked["no_zombie"]}
    made = explore(shipped.spec, asked, bounds_of(shipped, "smoke"), stop_when_violated=True)
    taken = [event.action for event in made.traces["no_zombie"].events]
    assert (taken.count("answer"), taken.count("answer_by_round"), taken.count("leave_running")) == (1, 1, 1)


@pytest.mark.parametrize("name", RELEASED)
def test_all_poll_in_the_end_though_rounds_linger(name: str) -> None:
    """618.P4 of every release, where rounds that are over answer, with success and with failure."""
    shipped = variant(f"task-counts/{name}")
    asked = {"polls_in_the_end": shipped.asked["polls_in_the_end"]}
    assert shipped.progress_bounds == (FALLING_OUT, ROUNDS)
    for bound in shipped.progress_bounds:
        made = explore(shipped.spec, asked, bound)
        assert made.taken["answer_by_round"] and made.taken["take_out"]
        assert check_progress(made)["polls_in_the_end"].verdict == "holds"
    assert all(of.lacks == "" for of in each_of(shipped.of))


@pytest.mark.parametrize("bound", [FALLING_OUT, ROUNDS], ids=["falls out", "rounds"])
def test_whether_tasks_poll_is_tried_in_each_bound(bound: dict[str, int]) -> None:
    """Where a leader starts rounds only for some of those that it has to, a task waits for good, in either."""
    shipped = variant("task-counts/shipped-released")
    asked = {"polls_in_the_end": shipped.asked["polls_in_the_end"]}
    fewer = mutation(shipped.properties.protocol.spec, "618.4", "start_round: guard 1 stricter").apply()
    assert check_progress(explore(fewer, asked, bound))["polls_in_the_end"].verdict == "violated"


@pytest.mark.parametrize("promises", [NeverPromises, PerhapsPromises])
def test_a_round_that_failed_has_to_go(promises: type[CooperativePromises]) -> None:
    """Else a task that is restarted meets it again, and fails again, for good: no id need fail for that, since a set
    that overtakes a round fails it."""
    stuck = Variant("stuck", promises, "a round that stays")
    asked = {"polls_in_the_end": stuck.properties.properties["polls_in_the_end"]}
    found = check_progress(explore(stuck.spec, asked, dict(ROUNDS, failures=0)))["polls_in_the_end"]
    assert found.verdict == "violated" and found.trace is not None
    taken = [event.action for event in found.trace.events]
    assert taken[-3:] == ["ask", "answer_by_round", "fail"] and "check_round" in taken


def test_what_is_claimed_is_not_covered() -> None:
    """618.P3 of the released form as a whole, in as many steps as where no round lingers."""
    shipped = variant("task-counts/shipped-released")
    made = explore(shipped.spec, {"all_covered": shipped.asked["all_covered"]}, FALLING_OUT, stop_when_violated=True)
    assert len(made.traces["all_covered"]) == 27


@pytest.mark.nightly
def test_all_poll_in_the_end_with_claims_and_rounds_at_once() -> None:
    """While one task is claimed and another one wanted, and rounds linger, in eight million states."""
    shipped = variant("task-counts/shipped-released")
    asked = {"polls_in_the_end": shipped.asked["polls_in_the_end"]}
    made = explore(shipped.spec, asked, CLAIMED_AND_ROUNDS)
    assert check_progress(made)["polls_in_the_end"].verdict == "holds"
    met = ("let_through_uncounted", "meets_a_failure", "starts_a_claimed_task")
    met_at_once = explore(shipped.spec, {name: shipped.asked[name] for name in met}, CLAIMED_AND_ROUNDS)
    assert set(met_at_once.verdicts.values()) == {"holds"}
