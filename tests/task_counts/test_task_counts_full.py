"""The full models of task counts: as coarse as the yardstick they say what it says, every step is one of their core's,
races are reached and harmless, and every task polls in the end unless a stalled worker costs one."""

from dataclasses import replace

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.proofs.engines.explore import coverage, explore, unsaid
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.ledger import Verdicts, _claimed
from fencepost.proofs.necessity.search import first_broken
from fencepost.proofs.variants import judge_main
from fencepost.proofs.verify import Verification, _claims
from fencepost.properties.catalogue import bounds_of, features_of
from fencepost.properties.task_counts.variants.bounds import (
    FALLING_OUT,
    FULL,
    PROGRESS,
    REBALANCING,
    STALLED,
    THREE_INSTANCES,
    YARDSTICK,
)
from fencepost.properties.task_counts.variants.catalogue import TASK_COUNTS
from fencepost.properties.task_counts.variants.full import FULL_SCENARIOS

FORMS = ("shipped", "B", "A", "M")
EVERYTHING = dict(FULL, workers=1, tasks=2, failures=1, duplicates=0)


@pytest.mark.parametrize(
    ("rule", "name", "breaks", "states"),
    [
        ("618.24", "anyone", "counts_match", 7),
        ("618.43", "reclaims_in_between", "counts_match", 8),
        ("618.19", "unchecked", "one_generation", 18),
        ("618.6", "as_many_as_the_new_set", "one_generation", 18),
    ],
)
def test_the_yardsticks_verdicts(rule: str, name: str, breaks: str, states: int) -> None:
    """With no feature on, the yardstick's four mistakes break its promises by traces as short as there."""
    grain = TASK_COUNTS.variant("grain")
    asked = {n: grain.properties.properties[n] for n in ("counts_match", "one_generation")}
    found = explore(
        mutation(grain.properties.protocol.spec, rule, name).apply(), asked, YARDSTICK, stop_when_violated=True
    )
    assert found.violated == [breaks]
    assert len(found.traces[breaks].states) == states


@pytest.mark.parametrize("name", FORMS)
def test_every_step_is_one_of_the_core(name: str) -> None:
    """The mapping holds with two tasks and a failing round, and the steps are those that it names; but for who loses
    the topic, each step of the core is taken."""
    variant = TASK_COUNTS.variant(name)
    found = explore(variant.spec, {"does_as_the_core": variant.asked["does_as_the_core"]}, EVERYTHING)
    assert found.violated == [] and found.complete
    never = {step for step, by in coverage(found, "does_as_the_core").items() if not by}
    assert never <= {"depose", "write_refused"}
    assert unsaid(found, "does_as_the_core") == []


@pytest.mark.parametrize(("name", "woken", "twice"), [("shipped", 14, 15), ("B", 16, 17), ("A", 15, 15), ("M", 15, 15)])
def test_the_race_is_reached_and_harmless(name: str, woken: int, twice: int) -> None:
    """F wakes up, opens its producer and fences O's task (618.40); two workers poll for one task (B36): promises
    hold."""
    variant = TASK_COUNTS.variant(name)
    asked = {n: p for n, p in variant.properties.properties.items() if p.role in ("promise", "witness")}
    found = explore(variant.spec, asked, FULL)
    assert found.violated == [] and found.complete
    assert len(found.traces["woken_up_late"]) == woken
    assert len(found.traces["one_task_twice"]) == twice


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("bound", PROGRESS)
def test_every_task_polls_in_the_end(name: str, bound: dict[str, int]) -> None:
    """Once faults are over, every task of the newest set polls and can commit (618.P4)."""
    variant = TASK_COUNTS.variant(name)
    found = check_progress(explore(variant.spec, {"polls_in_the_end": variant.asked["polls_in_the_end"]}, bound))
    assert found["polls_in_the_end"].verdict == "holds"
    assert found["polls_in_the_end"].waiting > 0


def test_a_stalled_start_costs_a_task() -> None:
    """H5: the run of F and O, to the end where O's task stays FAILED; a user who restarts it mends that."""
    lost, mended = TASK_COUNTS.variant("shipped-unattended"), TASK_COUNTS.variant("shipped-attended")
    asked = {"polls_in_the_end": lost.asked["polls_in_the_end"]}
    found = check_progress(explore(lost.spec, asked, STALLED))["polls_in_the_end"]
    assert found.verdict == "violated" and found.trace is not None
    actions = [event.action for event in found.trace.events]
    assert actions[-4:] == ["check_after", "open_producer", "check_after", "notice"]
    assert len(actions) == 17
    asked = {"polls_in_the_end": mended.asked["polls_in_the_end"]}
    assert check_progress(explore(mended.spec, asked, STALLED))["polls_in_the_end"].verdict == "holds"


@pytest.mark.parametrize("name", FORMS)
def test_nobody_has_to_stop_before_a_rebalance(name: str) -> None:
    """618.22, C29: where workers never stop superseded tasks, every promise holds and every step is the core's."""
    variant = TASK_COUNTS.variant(name)
    spec = mutation(variant.properties.protocol.spec, "618.22", "revoke: never").apply()
    asked = {n: p for n, p in variant.asked.items() if p.role in ("promise", "refinement")}
    for bound in (STALLED, EVERYTHING):
        found = explore(spec, asked, bound)
        assert found.violated == [] and found.complete


@pytest.mark.parametrize("name", ["shipped-eager", "shipped-cooperative"])
def test_nobody_has_to_stop_before_rejoining(name: str) -> None:
    """618.22, C29: the same where members rejoin with all their tasks running, revoked ones among them."""
    variant = TASK_COUNTS.variant(name)
    spec = mutation(variant.properties.protocol.spec, "618.22", "rejoin: guard 1 dropped").apply()
    asked = {n: p for n, p in variant.asked.items() if p.role in ("promise", "refinement")}
    found = explore(spec, asked, REBALANCING)
    assert found.violated == [] and found.complete
    assert found.distinct > explore(variant.spec, {}, REBALANCING).distinct


@pytest.mark.parametrize("variant", ["shipped-eager", "shipped-cooperative"])
def test_both_rebalance_protocols_work(variant: str) -> None:
    """618.41 holds within bounds, by the explorer and by progress, and is said so in `verify` and in the ledger."""
    entry = replace(TASK_COUNTS, claims=tuple(c for c in TASK_COUNTS.claims if c.variant == variant))
    (claim,) = entry.claims
    assert claim.rule == "618.41"
    judged = judge_main(entry, entry.variant(variant), "smoke")
    made = Verification(results=[found for _, found in judged.results])
    ((_, told),) = _claims(made, entry)
    assert (told.verdict, told.engine) == ("holds", "explore")
    assert told.bound is not None
    (words,) = _claimed("618.41", entry, Verdicts())
    assert words.startswith(f"**holds-bounded** in {variant}: ")
    progress = {"polls_in_the_end": entry.variant(variant).asked["polls_in_the_end"]}
    found = check_progress(explore(entry.variant(variant).spec, progress, REBALANCING))
    assert found["polls_in_the_end"].verdict == "holds"
    less = Verification(results=[r for r in made.results if r.property != "polls_in_the_end"])
    assert [r.verdict for _, r in _claims(less, entry)] == ["unknown"]


@pytest.mark.parametrize("name", ["grain", "shipped", "B", "A", "shipped-eager", "shipped-cooperative"])
def test_rounds_fence(name: str) -> None:
    """Within the bounds of every run a round fences, fails, meets a task with a late request, and is checked; with two
    workers, one of them fences in a round what the other has."""
    variant = TASK_COUNTS.variant(name)
    explored = features_of(variant, "smoke")
    taken = {a for bound in explored.values() for a, times in explore(variant.spec, {}, bound).taken.items() if times}
    assert {"fence", "fence_late", "check_round", "fence_fails", "stop"} <= taken
    assert any(bound["workers"] > 1 and bound["tasks"] > 1 for bound in explored.values()) or name == "grain"


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["shipped", "B", "M"])
def test_two_old_tasks_and_a_new_one(name: str) -> None:
    """618.40 with three instances on two workers, whose old tasks a round fences."""
    variant = TASK_COUNTS.variant(name)
    asked = {n: p for n, p in variant.properties.properties.items() if n in ("no_zombie", "all_covered", "one_of_each")}
    found = explore(variant.spec, asked, THREE_INSTANCES)
    assert found.violated == [] and found.complete and found.taken["fence"]


def test_a_connector_without_tasks() -> None:
    """A's words spare the round where a set has no task and the count says one; the next set's tasks then poll beside
    the one that nobody fenced."""
    variant = TASK_COUNTS.variant("A-shortcut-as-worded")
    found = explore(variant.spec, variant.asked, bounds_of(variant, "smoke"))
    assert {name: len(found.traces[name]) for name in found.violated} == {"all_covered": 12, "no_zombie": 20}


def test_assignments_have_to_come_to_rest() -> None:
    """Where each rebalance gives to another worker what the one before revoked, a task of the newest set never
    polls."""
    variant = TASK_COUNTS.variant("shipped-cooperative-unsteady")
    (bound,) = variant.progress_bounds
    found = check_progress(explore(variant.spec, variant.asked, bound))["polls_in_the_end"]
    assert found.verdict == "violated"


@pytest.mark.nightly
@pytest.mark.parametrize("variant", ["shipped-eager", "shipped-cooperative"])
def test_a_worker_falls_out_between_two_sets(variant: str) -> None:
    """With a stalled worker and two sets as well: promises, mapping and progress hold, and F fences O's task."""
    form = TASK_COUNTS.variant(variant)
    asked = {n: p for n, p in form.properties.properties.items() if p.role != "progress"}
    found = explore(form.spec, asked, FALLING_OUT)
    unseen = {name for name, verdict in found.verdicts.items() if verdict != "holds"}
    assert unseen == {"left_running"}
    progress = {"polls_in_the_end": form.asked["polls_in_the_end"]}
    assert check_progress(explore(form.spec, progress, FALLING_OUT))["polls_in_the_end"].verdict == "holds"


@pytest.mark.parametrize("known", FULL_SCENARIOS, ids=lambda known: known.name)
def test_known_holes(known) -> None:  # type: ignore[no-untyped-def]
    """With the mistake a promise, or progress, fails; mended nothing does within the same bounds."""
    broken, fixed = TASK_COUNTS.variant(known.broken), TASK_COUNTS.variant(known.fixed)
    bound = bounds_of(broken, "smoke")
    expected = [n for n, verdict in broken.expected.items() if verdict == "violated"]
    for name in expected:
        item = broken.asked[name]
        if item.role == "progress":
            assert check_progress(explore(broken.spec, {name: item}, bound))[name].verdict == "violated"
            assert check_progress(explore(fixed.spec, {name: item}, bound))[name].verdict == "holds"
        elif item.role == "promise":
            assert first_broken(broken.spec, {name: item}, bound) is not None
    promises = {n: p for n, p in fixed.asked.items() if p.role == "promise"}
    assert explore(fixed.spec, promises, bound).violated == []
