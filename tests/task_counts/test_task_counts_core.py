"""The cores of KIP-618's task counts: proved without bounds, and each mechanism of theirs judged, with its figures.

A mechanism is necessary if a promise fails without it; for each of these the run to the broken 618.P1 is pinned as
well, since that is what it is all for, and redundant only if a proof says so.
"""

import pytest
from fencepost.model.language.derived.mutations import Mutation, mutations
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.necessity.search import Necessity, judge
from fencepost.properties.catalogue import Variant, features_of
from fencepost.properties.task_counts.variants.catalogue import CLAIMS, CORE, CORES, TASK_COUNTS

PROVED = [v.name for v in CORES if v.main]
MISREAD = [v.name for v in CORES if not v.main]

ONE_LEADER = dict(CORE)
TWO_LEADERS = dict(CORE, workers=2, elections=2)
COMES_BACK = dict(CORE, workers=2, elections=3)
FOUR_SETS = dict(CORE, generations=4)

NECESSARY = [
    ("core-shipped", "618.1", "write_count: count not updated", 9, 16, ONE_LEADER),
    ("core-shipped", "618.1", "write_count: count one less", 9, 15, ONE_LEADER),
    ("core-shipped", "618.2", "any_count", 10, 13, ONE_LEADER),
    ("core-shipped", "618.2", "never_looked", 7, 11, ONE_LEADER),
    ("core-shipped", "618.5", "at_most_one", 11, 19, ONE_LEADER),
    ("core-shipped", "618.5", "equal", None, 15, ONE_LEADER),
    ("core-shipped", "618.5", "new_is_one", 11, 15, ONE_LEADER),
    ("core-shipped", "618.5", "old_is_one", 11, 15, ONE_LEADER),
    ("core-shipped", "618.6", "as_many_as_the_new_set", 12, 17, ONE_LEADER),
    ("core-shipped", "618.6", "one_less", 12, 16, ONE_LEADER),
    ("core-shipped", "618.6", "start_round: left not updated", 12, 16, ONE_LEADER),
    ("core-shipped", "618.7", "check_round: guard 1 dropped", 12, 16, ONE_LEADER),
    ("core-shipped", "618.12", "fence: live not updated", 13, 17, ONE_LEADER),
    ("core-shipped", "618.15", "answer: guard 1 dropped", 7, 11, ONE_LEADER),
    ("core-shipped", "618.18", "fences_nobody", ("one_of_each", 12), 15, ONE_LEADER),
    ("core-shipped", "618.19", "a_count_stands_after", 9, 13, ONE_LEADER),
    ("core-shipped", "618.19", "before_the_producer", 13, 15, ONE_LEADER),
    ("core-shipped", "618.19", "on_a_stale_view", 9, 13, ONE_LEADER),
    ("core-shipped", "618.19", "unchecked", 9, 13, ONE_LEADER),
    ("core-shipped", "618.24", "anyone", 11, 16, TWO_LEADERS),
    ("core-shipped", "618.42", "of_the_old_set", 9, 16, ONE_LEADER),
    ("core-shipped", "618.43", "elect: guard 1 dropped", 12, 17, COMES_BACK),
    ("core-shipped", "618.43", "no_round_check", 14, 20, FOUR_SETS),
    ("core-shipped", "618.43", "reconfigure: guard 1 dropped", 10, 16, ONE_LEADER),
    ("core-A", "618.14", "check_before: guard 1 dropped", 7, 11, ONE_LEADER),
    ("core-A", "618.19", "a_count_stands_after", 13, 15, ONE_LEADER),
    ("core-A", "618.43", "elect: guard 1 dropped", 12, 17, COMES_BACK),
    ("core-A", "618.43", "reconfigure: guard 1 dropped", 10, 16, ONE_LEADER),
    ("core-M", "618.44", "check_before: guard 1 dropped", 7, 11, ONE_LEADER),
    ("core-B", "618.2", "any_count", 11, 15, ONE_LEADER),
    ("core-B", "618.2", "never_looked", 8, 13, ONE_LEADER),
]
"""(variant, rule, mutation, fewest steps to 618.P3 broken (None: 618.P1 breaks first; or the promise that does), to a
zombie (618.P1), and within which bounds that shows)."""

REDUNDANT = [
    ("core-shipped", "618.1", "write_count: count one more"),
    ("core-shipped", "618.4", "start_round: guard 1 dropped"),
    ("core-shipped", "618.4", "start_round: guard 1 looser"),
    ("core-B", "618.15", "answer: guard 1 dropped"),
    ("core-B", "618.16", "check_before: guard 1 dropped"),
]
"""Proved without: a round too many and an id too many are matters of cost; in B
the answer and the worker's own reading stand for one another, and `never_looked` takes out both."""

LIVENESS = [
    ("core-shipped", "618.4", "start_round: guard 1 stricter", 3),
    ("core-shipped", "618.42", "only_after_fencing", 4),
]


def mutant(variant: Variant, rule: str, name: str) -> Mutation:
    (found,) = [m for m in mutations(variant.properties.protocol.spec) if (m.rule, m.name) == (rule, name)]
    return found


def judged(variant: str, rule: str, name: str) -> Necessity:
    of = TASK_COUNTS.variant(variant)
    return judge(of, mutant(of, rule, name), "smoke")


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    """Every promise and lemma is inductive, nothing is unknown, every antecedent is possible and every action is
    enabled somewhere: workers, instances, tasks, sets and elections have no bounds here."""
    variant = TASK_COUNTS.variant(name)
    proof = prove(variant.spec, variant.properties.properties)
    assert proof.verdict() == "holds"
    assert {o.verdict for o in proof.obligations} == {"holds"}
    assert {"initial", "preserved", "step", "antecedent", "enabled"} == {o.kind for o in proof.obligations}
    assert {o.action for o in proof.obligations if o.kind == "enabled"} == set(variant.spec.actions)


@pytest.mark.parametrize("name", PROVED)
def test_witnesses(name: str) -> None:
    """What the promises speak of happens: zombies shut out, late starts, former leaders about to write."""
    variant = TASK_COUNTS.variant(name)
    witnesses = {n: p for n, p in variant.asked.items() if p.role == "witness"}
    reached = set()
    for bounds in features_of(variant, "smoke").values():
        reached |= {n for n, verdict in explore(variant.spec, witnesses, bounds).verdicts.items() if verdict == "holds"}
    assert reached == set(witnesses)


@pytest.mark.parametrize(("variant", "rule", "name", "covered", "zombie", "bounds"), NECESSARY)
def test_necessary(
    variant: str, rule: str, name: str, covered: int | tuple[str, int] | None, zombie: int, bounds: dict[str, int]
) -> None:
    """A promise fails, in the fewest steps; and in the end a task of an earlier set commits beside a newer one."""
    found = judged(variant, rule, name)
    first = ("no_zombie", zombie) if covered is None else ("all_covered", covered)
    first = covered if isinstance(covered, tuple) else first
    assert (found.verdict, found.promise, found.steps) == ("necessary", *first)
    asked = {"no_zombie": TASK_COUNTS.variant(variant).asked["no_zombie"]}
    searched = explore(found.spec, asked, bounds, stop_when_violated=True)
    assert len(searched.traces["no_zombie"]) == zombie


@pytest.mark.parametrize(("variant", "rule", "name"), REDUNDANT)
def test_redundant(variant: str, rule: str, name: str) -> None:
    """Nothing fails, and every promise is proved without the rule."""
    found = judged(variant, rule, name)
    assert (found.verdict, found.engine) == ("redundant", "induction")


@pytest.mark.parametrize(("variant", "rule", "name", "steps"), LIVENESS)
def test_liveness(variant: str, rule: str, name: str, steps: int) -> None:
    """No promise fails, and a task of the newest set waits for ever (618.P4)."""
    found = judged(variant, rule, name)
    assert (found.verdict, found.promise, found.steps) == ("liveness", "polls_or_stops", steps)


def test_nothing_is_left_out() -> None:
    """Every mutation of what shipped is pinned above, so that a new one has to be understood."""
    pinned = {row[1:3] for table in (NECESSARY, REDUNDANT, LIVENESS) for row in table if row[0] == "core-shipped"}
    assert pinned == {(m.rule, m.name) for m in mutations(TASK_COUNTS.variant("core-shipped").properties.protocol.spec)}


def test_a_late_round_takes_four_sets() -> None:
    """H12: with three sets, no task of an earlier one comes to commit when the leader does not look for a newer one."""
    variant = TASK_COUNTS.variant("core-shipped")
    asked = {"no_zombie": variant.asked["no_zombie"], "all_covered": variant.asked["all_covered"]}
    late = mutant(variant, "618.43", "no_round_check").apply()
    assert explore(late, asked, dict(CORE, generations=3)).violated == []
    assert set(explore(late, asked, FOUR_SETS).violated) == {"no_zombie", "all_covered"}


def test_commits_that_come_late() -> None:
    """The cores stand on brokers that keep txn.P1: over brokers that take a commit of a producer that was fenced, two
    instances of one task commit after 13 steps, and a zombie after 16."""
    variant = TASK_COUNTS.variant("core-late-commits")
    found = explore(variant.spec, variant.asked, variant.bounds["smoke"])
    steps = {name: len(found.traces[name]) for name in found.violated}
    assert steps == {"one_of_each": 13, "all_covered": 14, "no_zombie": 16}


@pytest.mark.parametrize("name", MISREAD)
def test_misread(name: str) -> None:
    """What a rule misread breaks is what the catalogue says, and no more."""
    variant = TASK_COUNTS.variant(name)
    asked = {n: p for n, p in variant.properties.properties.items() if p.role in ("promise", "step")}
    found = explore(variant.spec, asked, variant.bounds["smoke"])
    assert set(found.violated) == set(variant.expected) == set(variant.asked)


def test_a_leader_that_is_behind() -> None:
    """A, as it is worded: a new leader that has not read its predecessor's last set counts the one before, and in the
    end a task of an earlier set commits beside a newer one."""
    variant = TASK_COUNTS.variant("core-A-behind")
    asked = {"no_zombie": variant.properties.properties["no_zombie"]}
    assert len(explore(variant.spec, asked, TWO_LEADERS, stop_when_violated=True).traces["no_zombie"]) == 17


def test_claims_speak_of_properties() -> None:
    """Each claim names promises that are proved of its variant, and witnesses that it has."""
    assert {c.rule for c in CLAIMS} == {"618.5", "618.22", "618.26", "618.40"}
    for claim in CLAIMS:
        asked = TASK_COUNTS.variant(claim.variant).asked
        assert {asked[n].kind for n in claim.properties} <= {"always", "step"}
        assert {asked[n].role for n in claim.witnesses} == {"witness"}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROVED)
def test_no_survivor(name: str) -> None:
    """In each form every mutation is necessary, redundant by proof, or a matter of liveness."""
    variant = TASK_COUNTS.variant(name)
    verdicts = {
        (m.rule, m.name): judge(variant, m, "smoke").verdict for m in mutations(variant.properties.protocol.spec)
    }
    assert {m for m, verdict in verdicts.items() if verdict == "survives-bounded"} == set()
