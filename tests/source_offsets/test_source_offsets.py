"""Exactly-once source tasks: what is proved, which rule is for what, and the shortest runs of what goes wrong.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import Necessity, necessity
from fencepost.properties.catalogue import bounds_of, features_of, protocols

OFFSETS = protocols()["source-offsets"]
VIEW = "text-merged-view"
TWICE, ORDER = "nothing_twice", "in_order"
BEHIND, AHEAD, UPSTREAM = "resume_not_behind", "resume_not_ahead", "nothing_lost_upstream"

Found = dict[tuple[str, str, str], Necessity]

JUDGED = [
    (VIEW, "618.18", "not_fenced", "necessary", TWICE, 14),
    (VIEW, "618.19", "check: guard 1 dropped", "necessary", TWICE, 14),
    (VIEW, "618.27", "offsets_not_in_it", "necessary", BEHIND, 6),  # C24: two transactions
    (VIEW, "618.27", "beside_the_transaction", "necessary", AHEAD, 7),
    (VIEW, "618.31", "primary_first", "necessary", BEHIND, 13),  # B35
    (VIEW, "618.31", "nulls_override", "necessary", TWICE, 14),
    (VIEW, "618.31", "worker_wins", "necessary", TWICE, 20),
    (VIEW, "618.31", "before_commit", "necessary", AHEAD, 8),
]
"""Each way to get a rule wrong: (variant, rule, mutation, verdict, promise, steps)."""

BROKEN = {
    "separate-transactions": {BEHIND: 6, TWICE: 12},
    "beside-the-transaction": {AHEAD: 7},
    "tombstone-primary-first": {BEHIND: 13, TWICE: 20},
    "late-copies": {BEHIND: 16},
    "null-before-any": {BEHIND: 14},
    "nulls-override": {TWICE: 14},
    "worker-wins": {TWICE: 20},
    "written-before-commit": {AHEAD: 8},
    "topic-taken": {BEHIND: 9},
}
"""What each mistake breaks, and in how few steps."""


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run, by variant, rule and mutation."""
    return {(n.variant, n.rule, n.mutation): n for n in necessity(OFFSETS, "smoke")}


def test_proved() -> None:
    """Without bounds: every promise and lemma is inductive, and the committed output of a source partition is that of
    the interface; no lemma is empty, and every action can happen."""
    variant = OFFSETS.variant(VIEW)
    proof = prove(variant.spec, variant.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []
    assert {o.action for o in proof.obligations if o.property == "does_as_delivered"} > {"commit", "copy", "flush"}


def test_explored() -> None:
    """Every promise and lemma holds of each state within bounds, and each witness is reached in some feature."""
    variant = OFFSETS.variant(VIEW)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step", "sometimes")}
    made = [explore(variant.spec, asked, bounds) for bounds in features_of(variant, "smoke").values()]
    for name, item in asked.items():
        verdicts = {m.verdicts[name] for m in made}
        assert "holds" in verdicts if item.kind == "sometimes" else verdicts == {"holds"}


def test_progress() -> None:
    """What is owed comes in the end, also with an instance that fails, one that is gone, and one that is fenced."""
    variant = OFFSETS.variant(VIEW)
    asked = {n: p for n, p in variant.asked.items() if p.kind == "eventually"}
    for bounds in variant.progress_bounds:
        results = check_progress(explore(variant.spec, asked, bounds))
        assert {n: r.verdict for n, r in results.items()} == dict.fromkeys(asked, "holds")


@pytest.mark.parametrize(("variant", "rule", "name", "verdict", "promise", "steps"), JUDGED)
def test_judged(found: Found, variant: str, rule: str, name: str, verdict: str, promise: str, steps: int) -> None:
    """A promise fails, in this many steps and no fewer, or what is owed does not come."""
    judged = found[variant, rule, name]
    assert (judged.verdict, judged.promise, judged.steps) == (verdict, promise, steps)


def test_copies_are_not_awaited(found: Found) -> None:
    """A copy may fail without a word: a task that waits for it waits for ever."""
    judged = found[VIEW, "618.31", "copies_awaited"]
    assert (judged.verdict, judged.promise) == ("liveness", "everything_copied")


def test_every_mutation_is_judged(found: Found) -> None:
    """Two do no harm: a dropped record whose offset is stored, and a worker's topic that has no copies."""
    known = {key[:3] for key in JUDGED} | {(VIEW, "618.31", "copies_awaited")}
    rest = {key[1:]: n.verdict for key, n in found.items() if key[0] == VIEW and key not in known}
    assert rest == {("618.28", "noted"): "redundant", ("618.31", "never_copied"): "redundant"}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name: str) -> None:
    """What it breaks, after how many steps at the least."""
    variant = OFFSETS.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step") and p.role != "lemma"}
    made = explore(variant.spec, asked, bounds_of(variant, "smoke"))
    assert {n: made.traces.steps(n) for n in made.violated} == BROKEN[name]
