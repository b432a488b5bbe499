"""Group-aware fencing (KIP-447): what is proved, which rule is for what, and the shortest runs of what goes wrong.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

import pytest
from fencepost.model.language.derived.mutations import mutated
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.necessity.search import Necessity, first_broken, necessity
from fencepost.properties.catalogue import bounds_of, features_of, protocols

GROUP = protocols()["group-fencing"]
MAIN = [variant.name for variant in GROUP.variants if variant.main]
PROVED = [name for name in MAIN if GROUP.variant(name).proof]
"""All but what has requests and answers of its own, whose refinement is explored."""
TWICE, OWNERS, TAKEN = "nothing_twice", "one_producer", "owner_is_taken"
SHIPPED, BY_GENERATION, BY_ASSIGNMENT = "shipped", "draft-repaired-by-generation", "draft-repaired-by-assignment"
NEW, RELAXED = "new-protocol", "new-protocol-relaxed"

Found = dict[tuple[str, str, str], Necessity]

NECESSARY = [
    (SHIPPED, "447.9", "fetch: guard 1 dropped", OWNERS, 9),
    (SHIPPED, "447.16", "accept: guard 1 dropped", OWNERS, 9),
    (SHIPPED, "447.16", "generation_alone", OWNERS, 8),
    (SHIPPED, "447.16", "give: guard 1 dropped", OWNERS, 8),
    (SHIPPED, "447.16", "the_one_before", TAKEN, 5),
    (SHIPPED, "447.18", "at_once", "nothing_skipped", 5),
    (SHIPPED, "447.18", "outside_the_transaction", "offsets_agree", 4),
    (BY_GENERATION, "447.8", "with_the_last", OWNERS, 11),
    (BY_ASSIGNMENT, "447.3", "sees_its_own_id_only", OWNERS, 8),
    (BY_ASSIGNMENT, "447.5", "answer: guard 1 dropped", OWNERS, 8),
    (BY_ASSIGNMENT, "447.5", "only_aborted", OWNERS, 9),
    (BY_ASSIGNMENT, "447.6", "in_memory_alone", OWNERS, 9),
    (BY_ASSIGNMENT, "447.6", "keyed_by_group_alone", OWNERS, 11),
    (BY_ASSIGNMENT, "447.17", "fetch: guard 1 dropped", OWNERS, 6),
    (BY_ASSIGNMENT, "447.19", "equal_is_refused", TAKEN, 14),
    (NEW, "447.21", "known_is_enough", OWNERS, 12),
    (NEW, "447.21", "not_later", OWNERS, 12),
    (NEW, "447.21", "withdraw: guard 1 dropped", OWNERS, 10),
    (RELAXED, "447.21", "assigned_then", OWNERS, 12),
    (RELAXED, "447.21", "exact_epoch", TAKEN, 7),
    (RELAXED, "447.21", "come_back: guard 1 dropped", OWNERS, 16),
    (RELAXED, "447.21", "owned_now", OWNERS, 16),
    (RELAXED, "447.21", "some_of_them", OWNERS, 15),
    ("new-protocol-listener-metadata-at-send", "447.21", "fall_out: guard 1 dropped", OWNERS, 13),
]
"""Without it a promise fails: (variant, rule, mutation, promise, fewest steps)."""

REDUNDANT = [
    (SHIPPED, "447.16", "member_alone"),
    (BY_GENERATION, "447.2", "answer: guard 1 dropped"),
    (BY_GENERATION, "447.9", "fetch: guard 1 dropped"),
    (BY_GENERATION, "447.17", "fetch: guard 1 dropped"),
    (BY_ASSIGNMENT, "447.8", "nobody_looks"),
]
"""Proved without: with generations compared, nothing that the draft asks of the transaction coordinator is needed."""

TWICE_IN = [
    ("draft", 15),
    ("draft-static-members", 14),
    ("group-id-only", 13),
    ("late-copies", 21),
    ("dropped-marker", 17),
    ("torn-transaction", 15),
    ("probed-version", 16),
    ("new-protocol-metadata-at-send", 17),
    ("new-protocol-relaxed-metadata-at-send", 17),
    ("new-protocol-owner-metadata-at-send", 20),
    ("new-protocol-pattern-changed", 16),
    ("new-protocol-epoch-again", 17),
    ("new-protocol-revoked-in-the-background", 17),
    ("upgrade", 16),
    ("upgrade-without-map", 16),
    ("upgrade-without-waiting", 16),
    ("upgrade-as-shipped", 16),
]
"""Where an input is processed twice in committed output (447.P1), and after how many steps at the least."""


TORN = [("nothing_skipped", 7), ("offsets_agree", 7), (OWNERS, 11), ("starts_from_what_counts", 9)]
"""What else half of a transaction breaks: the offsets may be committed, or dropped, before the outputs are decided."""

EITHER_WAIT = [(BY_GENERATION, 15), (BY_ASSIGNMENT, 16)]
"""Steps to an input processed twice, without the waits of 447.2 and of 447.9."""


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run, by variant, rule and mutation."""
    return {(n.variant, n.rule, n.mutation): n for n in necessity(GROUP, "smoke")}


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    """Without bounds: every promise and lemma is inductive, no lemma is empty, and every action can happen."""
    variant = GROUP.variant(name)
    proof = prove(variant.spec, variant.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []


@pytest.mark.parametrize("name", MAIN)
def test_explored(name: str) -> None:
    """Every promise and lemma holds of each state within bounds, and each witness is reached in some feature."""
    variant = GROUP.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "sometimes")}
    made = [explore(variant.spec, asked, bounds) for bounds in features_of(variant, "smoke").values()]
    for name_of, item in asked.items():
        verdicts = {m.verdicts[name_of] for m in made}
        assert "holds" in verdicts if item.kind == "sometimes" else verdicts == {"holds"}


@pytest.mark.parametrize(("variant", "rule", "name", "promise", "steps"), NECESSARY)
def test_necessary(found: Found, variant: str, rule: str, name: str, promise: str, steps: int) -> None:
    """A promise fails, in this many steps and no fewer."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.promise, verdict.steps) == ("necessary", promise, steps)


@pytest.mark.parametrize(("variant", "rule", "name"), REDUNDANT)
def test_redundant(found: Found, variant: str, rule: str, name: str) -> None:
    """Nothing fails, and every promise is proved without the rule."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.engine) == ("redundant", "induction")


@pytest.mark.parametrize(("variant", "steps"), TWICE_IN)
def test_processed_twice(variant: str, steps: int) -> None:
    """447.P1 itself fails, and not just what leads to it."""
    wrong = GROUP.variant(variant)
    run = first_broken(wrong.spec, {TWICE: wrong.asked[TWICE]}, bounds_of(wrong, "smoke"))
    assert run is not None
    assert len(run[1]) == steps


@pytest.mark.parametrize(("promise", "steps"), TORN)
def test_torn(promise: str, steps: int) -> None:
    """By a coordinator that sends markers of a Prepare record that is lost."""
    torn = GROUP.variant("torn-transaction")
    run = first_broken(torn.spec, {promise: torn.asked[promise]}, bounds_of(torn, "smoke"))
    assert run is not None
    assert len(run[1]) == steps


@pytest.mark.parametrize(("name", "steps"), EITHER_WAIT)
def test_somebody_has_to_wait(name: str, steps: int) -> None:
    """Each of two rules can be left out, the wait at the initialisation and that at the fetch; without both, an owner
    starts from an offset that a pending commit changes.  An initialisation that fences another member waits for the
    markers of that one besides (txn.3), which takes a step more to get round."""
    variant = GROUP.variant(name)
    spec = mutated(
        variant.properties.protocol.spec,
        [("447.2", "answer: guard 1 dropped"), ("447.9", "fetch: guard 1 dropped")],
    )
    run = first_broken(spec, {TWICE: variant.asked[TWICE]}, bounds_of(variant, "smoke"))
    assert run is not None
    assert len(run[1]) == steps


def test_survivors_are_argued_for(found: Found) -> None:
    """What is neither refuted nor proved is named in the catalogue, with the reason."""
    surviving = {(n.rule, n.mutation) for n in found.values() if n.verdict == "survives-bounded"}
    assert surviving == set(GROUP.survivors)
