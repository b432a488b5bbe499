"""The small models of task counts: deletion, several connectors, upgrades, the config topic as records.  What each rule
in them is for, what is proved, and from when on, with its figures.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

from collections.abc import Mapping

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import Necessity, first_broken, necessity
from fencepost.properties.catalogue import ProtocolEntry, Variant, bounds_of, features_of, protocols, whole_of

DELETION, CONNECTORS, UPGRADES, TOPIC = PARTS = (
    "task-count-deletion", "task-count-connectors", "exactly-once-upgrade", "config-topic",
)  # fmt: skip
ZOMBIE, COVERED, ASKED, ITS_OWN = "no_zombie", "covered", "nobody_asks_in_vain", "only_its_own"
FENCED, THAT_SET, NEWEST = "runs_what_was_fenced_for", "runs_that_set", "starts_from_the_newest"
BEFORE = "polls_before_it_as_well"

Found = Mapping[tuple[str, str, str], Necessity]

NECESSARY = [
    ("deletion", "618.12", "fence: live not updated", COVERED, 11),
    ("deletion", "618.16", "check_before: guard 1 dropped", COVERED, 6),
    ("deletion", "618.19", "counted_from_1_again", COVERED, 9),
    ("connectors", "618.2", "whichever_connector_it_is_of", COVERED, 12),
    ("connectors", "618.6", "all_of_that_number", ITS_OWN, 16),
    ("connectors", "618.6", "create: guard 1 dropped", ITS_OWN, 15),
    ("two-rolling-upgrades", "618.12", "ask: live not updated", COVERED, 12),
    ("two-rolling-upgrades", "618.15", "start: guard 1 dropped", COVERED, 8),
    ("two-rolling-upgrades", "618.24", "only_with_the_feature_on", COVERED, 12),
    ("two-rolling-upgrades", "618.35", "in_one_upgrade", COVERED, 10),
    ("two-rolling-upgrades", "618.35", BEFORE, ZOMBIE, 11),
    ("two-rolling-upgrades-read-committed", "618.50", "where_it_is_not_on", COVERED, 10),
    (TOPIC, "618.1", "one_less", COVERED, 7),
    (TOPIC, "618.1", "the_first_one", COVERED, 16),
    (TOPIC, "618.2", "whatever_the_order", FENCED, 12),
    (TOPIC, "618.3", "complete_or_not", THAT_SET, 13),
    (TOPIC, "618.3", "without_commit", THAT_SET, 10),
    (TOPIC, "618.19", "complete_sets_only", NEWEST, 18),
    (TOPIC, "618.19", "remembered_by_number", NEWEST, 18),
    (TOPIC, "618.42", "the_former_count", COVERED, 7),
]
"""Without it a promise fails: (variant, rule, mutation, promise, fewest steps)."""

WAITS = [("deletion", "618.2", "write_count: pending not updated")]
"""Without it what is promised in the end does not come."""

SHOWN = [
    ("tombstone-after-fencing-as-written", "618.38", COVERED, 11),
    ("tombstone-without-fencing", "618.38", COVERED, 9),
    ("deletion-clears-memory", "618.38", COVERED, 9),
    ("deletion-clears-generation", "618.38", COVERED, 9),
    ("names-collide", "618.49", ITS_OWN, 11),
    ("one-write-fails", "618.9", "no_round_is_lost", 11),
    ("one-rolling-upgrade", "618.35", COVERED, 10),
    ("plain-leaders-before", "618.24", COVERED, 12),
    ("endpoint-with-the-feature", "618.10", ASKED, 6),
    ("polls-before-the-end", "618.35", ZOMBIE, 11),
    ("claimed-early", "618.35", COVERED, 7),
    ("two-rolling-upgrades-as-shipped", "618.50", COVERED, 10),
    ("upgraded-restarted", "618.35", COVERED, 14),
    ("upgraded-counted", "618.35", COVERED, 13),
    ("one-worker-without-support", "618.33", COVERED, 5),
    ("foreign-set", "618.34", COVERED, 7),
    ("foreign-count", "618.34", COVERED, 5),
    ("slow-reader", "618.3", THAT_SET, 19),
    ("complete-sets-counted", "618.19", NEWEST, 18),
    ("numbers-remembered", "618.19", NEWEST, 18),
    ("order-not-kept", "618.2", FENCED, 14),
]
"""Rejected, or past a boundary, or as shipped: what is predicted happens."""

ZOMBIES = [
    ("tombstone-after-fencing-as-written", 17),
    ("tombstone-without-fencing", 15),
    ("deletion-clears-memory", 15),
    ("deletion-clears-generation", 13),
    ("one-rolling-upgrade", 13),
    ("plain-leaders-before", 14),
    ("polls-before-the-end", 11),
    ("claimed-early", 8),
    ("two-rolling-upgrades-as-shipped", 14),
    ("upgraded-restarted", 17),
    ("upgraded-counted", 14),
    ("one-worker-without-support", 6),
    ("foreign-set", 10),
    ("foreign-count", 8),
]
"""Where zombies commit (618.P1), and after how many steps at the least."""

SAFE_ALL_THE_SAME = [
    ("endpoint-with-the-feature", (ZOMBIE, COVERED)),
    ("leader-id-shared", (ZOMBIE, COVERED)),
]
"""What costs progress, or a healthy task, and no safety."""

MUTANTS = {
    "C18 followers write sets": "foreign-set",
    "C19 deletion clears the count": "deletion-clears-memory",
    "C21 a worker without support runs tasks": "one-worker-without-support",
    "C28 compaction does not keep the order": "order-not-kept",
}
"""The mutants about who may run that a suite for this protocol has to kill, as far as they are variants here."""

PROVED = [
    (DELETION, "deletion"),
    (DELETION, "tombstone-after-fencing"),
    (CONNECTORS, "connectors"),
    (CONNECTORS, "names-may-collide"),
    (UPGRADES, "two-rolling-upgrades"),
    (UPGRADES, "upgraded-counted-restarted"),
]
BOUNDED = [(UPGRADES, "mass-upgrade"), (TOPIC, "config-topic")]


def entry_of(variant: str) -> tuple[ProtocolEntry, Variant]:
    ((entry, found),) = [(protocols()[p], v) for p in PARTS for v in protocols()[p].variants if v.name == variant]
    return entry, found


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run over the four, by variant, rule and mutation."""
    return {(n.variant, n.rule, n.mutation): n for name in PARTS for n in necessity(protocols()[name], "smoke")}


@pytest.mark.parametrize(("variant", "rule", "name", "promise", "steps"), NECESSARY)
def test_necessary(found: Found, variant: str, rule: str, name: str, promise: str, steps: int) -> None:
    """A promise fails, in this many steps and no fewer, and the run is told."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.promise, verdict.steps) == ("necessary", promise, steps)
    told = [line for line in verdict.evidence if not line.startswith("no promise fails, but the claim")]
    assert told[0].startswith("  1  ")


@pytest.mark.parametrize(("variant", "rule", "promise", "steps"), SHOWN)
def test_shown(found: Found, variant: str, rule: str, promise: str, steps: int) -> None:
    """What is predicted of it happens."""
    (verdict,) = [n for n in found.values() if n.variant == variant]
    assert (verdict.rule, verdict.verdict, verdict.promise, verdict.steps) == (rule, "shown", promise, steps)


def test_every_verdict_is_pinned(found: Found) -> None:
    """No mutation goes unnamed here, and none survives."""
    named = {row[:3] for row in NECESSARY} | set(WAITS)
    assert {found[key].verdict for key in WAITS} == {"liveness"}
    assert {key for key in found if key[0] not in {row[0] for row in SHOWN}} == named


@pytest.mark.parametrize("name", MUTANTS)
def test_listed_mutants_are_killed(found: Found, name: str) -> None:
    """Each breaks a promise."""
    (verdict,) = [n for n in found.values() if n.variant == MUTANTS[name]]
    assert (verdict.verdict, verdict.trace is not None) == ("shown", True)


@pytest.mark.parametrize(("variant", "steps"), ZOMBIES)
def test_zombies_commit(variant: str, steps: int) -> None:
    """618.P1 itself fails, and not just what leads to it."""
    _, wrong = entry_of(variant)
    run = first_broken(wrong.spec, {ZOMBIE: wrong.asked[ZOMBIE]}, bounds_of(wrong, "smoke"))
    assert run is not None
    assert len(run[1]) == steps


@pytest.mark.parametrize(("variant", "promises"), SAFE_ALL_THE_SAME)
def test_safety_is_not_touched(variant: str, promises: tuple[str, ...]) -> None:
    """Whom a stranger fences, or nobody answers, is no danger to anyone."""
    _, wrong = entry_of(variant)
    made = explore(wrong.spec, {n: wrong.asked[n] for n in promises}, bounds_of(wrong, "smoke"))
    assert (made.violated, made.complete) == ([], True)


@pytest.mark.parametrize(("protocol", "name"), PROVED)
def test_proved(protocol: str, name: str) -> None:
    """Without bounds: every promise and lemma is inductive, no lemma is empty, and every action can happen."""
    variant = protocols()[protocol].variant(name)
    proof = prove(variant.spec, variant.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []


@pytest.mark.parametrize(("protocol", "name"), [*PROVED, *BOUNDED])
def test_explored(protocol: str, name: str) -> None:
    """Every promise and lemma holds of each state within bounds, and each witness is reached in some feature."""
    variant = protocols()[protocol].variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "sometimes")}
    made = [explore(variant.spec, asked, bounds) for bounds in features_of(variant, "smoke").values()]
    for name_of, item in asked.items():
        verdicts = {m.verdicts[name_of] for m in made}
        assert "holds" in verdicts if item.kind == "sometimes" else verdicts == {"holds"}


@pytest.mark.parametrize("name", ["deletion", "connectors"])
def test_counted_in_the_end(name: str) -> None:
    """618.P4: a set gets its count, with a round that fails or a leader that restarts in between."""
    _, variant = entry_of(name)
    for bounds in variant.progress_bounds:
        for found in check_progress(explore(variant.spec, {"p": variant.asked["counted_in_the_end"]}, bounds)).values():
            assert found.verdict == "holds"


def test_they_are_parts() -> None:
    """The table of task-counts has their verdicts."""
    assert set(PARTS) <= {entry.name for entry in whole_of(protocols()["task-counts"])}


def test_claims_rest_on_proofs() -> None:
    """Each claim names promises that are proved here, and witnesses that are reached."""
    claims = [(p, claim) for p in PARTS for claim in protocols()[p].claims]
    assert {claim.rule for _, claim in claims} == {"618.9", "618.35", "618.38", "618.49"}
    for protocol, claim in claims:
        assert (protocol, claim.variant) in PROVED
        asked = protocols()[protocol].variant(claim.variant).kept
        assert {asked[n].role for n in claim.properties} == {"promise"}
        assert {asked[n].role for n in claim.witnesses} == {"witness"}
