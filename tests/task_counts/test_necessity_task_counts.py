"""Rules of who may run misread, one at a time: the promise that fails, in how many steps, within which bounds.

The list is of mistakes known from the proposal's reviews and from bug reports (C01 to C30), each in the form of the
model in which it can be made; what the cores already judge is `fencepost necessity task-counts`.  C19, a deletion that
forgets the count, is B34 in tests/proofs/test_bugs_in_models.py.
"""

import pytest
from fencepost.model.language.derived.mutations import mutation, mutations
from fencepost.model.rules import RULES
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import first_broken, judge
from fencepost.properties.catalogue import Variant
from fencepost.properties.task_counts.variants.bounds import FULL, ONE_LEADER, PLAIN_LEADER, PROGRESS, STALLED
from fencepost.properties.task_counts.variants.catalogue import TASK_COUNTS
from fencepost.properties.task_counts.variants.full import FULL_SURVIVORS

ONE = dict(STALLED, workers=1, tasks=2)
FAILING = dict(ONE, failures=1)
THREE = dict(ONE, sets=3, log=6, generations=6)
FOUR = dict(ONE, sets=4, log=6, generations=6)
TWO = dict(STALLED, tasks=2)
LEADERS = dict(STALLED, instances=1, tasks=2, elections=2, sets=3)
EIGHT = dict(FOUR, log=8, generations=8)
AND_BACK = dict(LEADERS, elections=3)
LONG = dict(ONE_LEADER, log=8, generations=8)
GRAIN_ONE = dict(ONE_LEADER, log=4, generations=4)

KILLED = [
    ("C01", "shipped", "618.7", "none_at_all", ONE, "all_covered", 15),
    ("C01", "B", "618.7", "none_at_all", ONE, "all_covered", 16),
    ("C01", "A", "618.7", "none_at_all", ONE, "all_covered", 13),
    ("C02", "grain", "618.16", "check_before: guard 1 dropped", GRAIN_ONE, "all_covered", 7),
    ("C02", "shipped", "618.15", "answer: guard 1 dropped", ONE, "all_covered", 8),
    ("C02", "A", "618.14", "check_before: guard 1 dropped", ONE, "no_zombie", 14),
    ("C02", "M", "618.44", "check_before: guard 1 dropped", ONE, "all_covered", 7),
    ("C03", "grain", "618.2", "count_before", GRAIN_ONE, "all_covered", 7),
    ("C03", "shipped", "618.2", "any_count", ONE, "no_zombie", 15),
    ("C03", "B", "618.2", "any_count", ONE, "no_zombie", 17),
    ("C03", "A", "618.2", "any_count", ONE, "no_zombie", 14),
    ("C03", "M", "618.2", "any_count", ONE, "no_zombie", 14),
    ("C04", "shipped", "618.19", "unchecked", ONE, "all_covered", 10),
    ("C04", "B", "618.19", "unchecked", ONE, "all_covered", 11),
    ("C04", "A", "618.19", "unchecked", ONE, "all_covered", 14),
    ("C04", "M", "618.19", "unchecked", ONE, "all_covered", 14),
    ("C05", "shipped", "618.19", "before_the_producer", ONE, "no_zombie", 17),
    ("C07", "shipped", "618.19", "by_what_it_has_read", TWO, "all_covered", 11),
    ("C07", "A", "618.19", "by_what_it_has_read", TWO, "all_covered", 16),
    ("C08", "shipped", "618.7", "check_round: guard 1 dropped", ONE, "all_covered", 15),
    ("C11", "shipped", "618.5", "the_new_is_one", ONE, "all_covered", 14),
    ("C12", "shipped", "618.5", "the_old_is_one", ONE, "no_zombie", 17),
    ("C13", "shipped", "618.5", "they_are_equal", ONE, "no_zombie", 17),
    ("C14", "shipped", "618.42", "of_the_set_before", THREE, "all_covered", 17),
    ("C16", "shipped", "618.24", "anyone", LEADERS, "all_covered", 15),
    ("C16", "M", "618.24", "anyone", LEADERS, "all_covered", 12),
    ("C18", "shipped", "618.34", "anybody", LEADERS, "all_covered", 14),
    ("C20", "shipped", "618.7", "some_are_enough", FAILING, "all_covered", 17),
    ("C20", "A", "618.7", "some_are_enough", FAILING, "all_covered", 14),
    ("H4", "shipped", "618.19", "a_count_after_the_sets", ONE, "all_covered", 10),
    ("H4", "B", "618.19", "a_count_after_the_sets", ONE, "all_covered", 11),
    ("H12, first form", "grain", "618.43", "generations_not_compared", ONE_LEADER, "all_covered", 16),
    ("H12, first form", "shipped", "618.43", "generations_not_compared", FOUR, "all_covered", 18),
    ("H12, first form", "M", "618.43", "generations_not_compared", FOUR, "all_covered", 15),
    ("ids", "shipped", "618.6", "as_many_as_the_new_set", ONE, "all_covered", 15),
    ("ids", "shipped", "618.6", "one_less", ONE, "all_covered", 16),
    ("fencing", "shipped", "618.12", "fence: live not updated", ONE, "all_covered", 17),
    ("B36", "shipped", "618.18", "fences_nobody", FULL, "one_of_each", 14),
    ("failures ignored", "shipped", "618.15", "goes_on", FAILING, "no_zombie", 17),
    ("a stale leader answers", "shipped", "618.2", "by_what_it_has_read", LEADERS, "all_covered", 9),
    ("nothing to write", "shipped", "618.42", "nothing_to_write", ONE, "all_covered", 8),
    ("claims in between", "shipped", "618.43", "reclaims_in_between", AND_BACK, "all_covered", 16),
    ("claims in between", "A", "618.43", "reclaims_in_between", AND_BACK, "all_covered", 13),
]
"""(what it is known as, variant, rule, mutation, bounds, the promise that fails first, fewest steps)."""

LATER = [
    ("H12, first form", "M", "618.43", "generations_not_compared", EIGHT, "no_zombie", 21),
    (
        "H12, first form",
        "shipped",
        "618.43",
        "generations_not_compared",
        EIGHT,
        "no_zombie",
        27,
    ),
]
"""Four generations: the promise that fails after the first one, when a task of the wrong count's set is left over."""

DEEP = [
    ("H12, second form", "A", "618.24", "anyone", dict(LEADERS, instances=2, log=5, generations=5), "no_zombie", 18),
    (
        "H12, first form",
        "grain",
        "618.43",
        "generations_not_compared",
        dict(ONE_LEADER, log=8, generations=8),
        "no_zombie",
        22,
    ),
    ("H12, second form", "grain", "618.24", "anyone", PLAIN_LEADER, "no_zombie", 16),
]

LIVENESS = [
    ("A", "618.8", "at_once"),
    ("M", "618.21", "ask: never"),
    ("M", "618.21", "restart: never"),
    ("M", "618.11", "fence_fails: failed not updated"),
    ("B", "618.15", "check_before: guard 1 dropped"),
    ("B", "618.42", "nothing_to_write"),
    ("shipped", "618.18", "open_producer: live not updated"),
]
"""Nobody is harmed, and somebody waits for ever."""

MECHANISMS = {"618.2", "618.6", "618.7", "618.12", "618.14", "618.15", "618.16", "618.18", "618.19", "618.24"}
MECHANISMS |= {"618.42", "618.43", "618.44"}


def broken(variant: Variant, rule: str, name: str, bound: dict[str, int], *asked: str) -> tuple[str, int] | None:
    promises = {n: p for n, p in variant.properties.properties.items() if p.role == "promise"}
    coarse = ("counts_match", "one_generation")
    chosen = {n: p for n, p in promises.items() if n in asked or (not asked and n not in coarse)}
    spec = mutation(variant.properties.protocol.spec, rule, name).apply()
    found = first_broken(spec, chosen, bound)
    return None if found is None else (found[0], len(found[1]))


@pytest.mark.parametrize(("known", "name", "rule", "mutant", "bound", "promise", "steps"), KILLED)
def test_killed(known: str, name: str, rule: str, mutant: str, bound: dict[str, int], promise: str, steps: int) -> None:
    """A promise fails, in the fewest steps."""
    assert broken(TASK_COUNTS.variant(name), rule, mutant, bound) == (promise, steps)


@pytest.mark.parametrize(("known", "name", "rule", "mutant", "bound", "promise", "steps"), LATER)
def test_killed_later(
    known: str, name: str, rule: str, mutant: str, bound: dict[str, int], promise: str, steps: int
) -> None:
    """Another promise fails as well, after more steps."""
    assert broken(TASK_COUNTS.variant(name), rule, mutant, bound, promise) == (promise, steps)


@pytest.mark.nightly
@pytest.mark.parametrize(("known", "name", "rule", "mutant", "bound", "promise", "steps"), DEEP)
def test_killed_deep(
    known: str, name: str, rule: str, mutant: str, bound: dict[str, int], promise: str, steps: int
) -> None:
    """The same where that takes millions of states."""
    assert broken(TASK_COUNTS.variant(name), rule, mutant, bound, promise) == (promise, steps)


@pytest.mark.parametrize(("name", "rule", "mutant"), LIVENESS)
def test_liveness(name: str, rule: str, mutant: str) -> None:
    """No promise fails, and a task of the newest set never polls."""
    variant = TASK_COUNTS.variant(name)
    assert broken(variant, rule, mutant, STALLED) is None
    spec = mutation(variant.properties.protocol.spec, rule, mutant).apply()
    asked = {"polls_in_the_end": variant.asked["polls_in_the_end"]}
    verdicts = {check_progress(explore(spec, asked, bound))["polls_in_the_end"].verdict for bound in PROGRESS}
    assert "violated" in verdicts


@pytest.mark.parametrize(("name", "rule"), [("A", "618.8"), ("M", "618.21")])
def test_what_the_cores_lack_is_judged_in_full(name: str, rule: str) -> None:
    """`necessity` finds each mutation of the rules that only the full model has to leave somebody waiting, or to keep
    every promise."""
    variant = TASK_COUNTS.variant(name)
    assert variant.judged == (rule,)
    found = {m.name: judge(variant, m, "smoke") for m in mutations(variant.properties.protocol.spec) if m.rule == rule}
    assert found and {verdict.verdict for verdict in found.values()} == {"liveness"}


@pytest.mark.parametrize(("rule", "mutant"), FULL_SURVIVORS)
def test_survivors(rule: str, mutant: str) -> None:
    """What is said to survive in the full models does, with former leaders, two tasks and three sets."""
    for bound in (LEADERS, THREE, TWO):
        assert broken(TASK_COUNTS.variant("shipped"), rule, mutant, bound) is None


def test_every_mechanism_is_here() -> None:
    """Each mechanism of who may run, but for those that the cores alone have, is killed by a promise above or leaves
    somebody waiting; and those named are mechanisms."""
    assert all(RULES[rule].kind == "mechanism" for rule in MECHANISMS)
    assert {row[2] for row in KILLED} >= MECHANISMS
    assert {row[1] for row in LIVENESS} >= {"618.8", "618.21"}
