"""Exactly-once source tasks: what is proved, which rule is for what, and the shortest runs of what goes wrong.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

import pytest
from fencepost.model.releases import TEXT, Kafka
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import Necessity, necessity
from fencepost.properties.catalogue import bounds_of, features_of, protocols

OFFSETS = protocols()["source-offsets"]
VIEW = "text-merged-view"
ONE_TOPIC = ("shipped", "shipped-own-topic-from-the-start")
TWICE, ORDER = "nothing_twice", "in_order"
BEHIND, AHEAD, UPSTREAM = "resume_not_behind", "resume_not_ahead", "nothing_lost_upstream"

Found = dict[tuple[str, str, str], Necessity]

PROVED = pytest.mark.parametrize(
    "name", [VIEW, *(pytest.param(name, marks=pytest.mark.nightly) for name in (*ONE_TOPIC, "both-mends"))]
)
"""`fencepost verify` judges all of them each time."""

JUDGED = [
    (VIEW, "618.18", "not_fenced", "necessary", TWICE, 14),
    (VIEW, "618.19", "check: guard 1 dropped", "necessary", TWICE, 14),
    (VIEW, "618.27", "offsets_not_in_it", "necessary", BEHIND, 6),  # C24: two transactions
    (VIEW, "618.27", "beside_the_transaction", "necessary", AHEAD, 6),
    (VIEW, "618.31", "primary_first", "necessary", BEHIND, 13),  # B35
    (VIEW, "618.31", "nulls_override", "necessary", TWICE, 15),
    (VIEW, "618.31", "worker_wins", "necessary", TWICE, 20),
    (VIEW, "618.31", "before_commit", "necessary", AHEAD, 8),
]
"""Each way to get a rule wrong: (variant, rule, mutation, verdict, promise, steps)."""

BROKEN = {
    "separate-transactions": {BEHIND: 6, TWICE: 12},
    "beside-the-transaction": {AHEAD: 6},
    "tombstone-primary-first": {BEHIND: 13, TWICE: 20},
    "late-copies": {BEHIND: 16},
    "null-before-any": {BEHIND: 14},
    "worker-wins": {TWICE: 20},
    "topic-taken": {BEHIND: 9, TWICE: 16, ORDER: 17},
    "shipped-own-topic-later": {BEHIND: 8, TWICE: 15, ORDER: 16},
    "shipped-own-topic-taken": {BEHIND: 8, AHEAD: 9, TWICE: 15, ORDER: 16, UPSTREAM: 18},
    "falls-back-alone": {AHEAD: 8, UPSTREAM: 17},
    "copies-when-committed-alone": {BEHIND: 8, TWICE: 15, ORDER: 16},
}
"""What each mistake breaks, each release that a connector's own offsets topic breaks, and each half of a mend, and in
how few steps."""


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run, by variant, rule and mutation."""
    return {(n.variant, n.rule, n.mutation): n for n in necessity(OFFSETS, "smoke")}


@PROVED
def test_proved(name: str) -> None:
    """Without bounds: every promise and lemma is inductive, and the committed output of a source partition is that of
    the interface; no lemma is empty, and every action can happen.  So it is of the text, of Kafka with one topic, and
    of Kafka with both mends."""
    variant = OFFSETS.variant(name)
    proof = prove(variant.spec, variant.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []
    assert {o.action for o in proof.obligations if o.property == "does_as_delivered"} > {"commit", "flush", "resume"}


@PROVED
def test_explored(name: str) -> None:
    """Every promise and lemma holds of each state within bounds, and each witness is reached in some feature."""
    variant = OFFSETS.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step", "sometimes")}
    made = [explore(variant.spec, asked, bounds) for bounds in features_of(variant, "smoke").values()]
    for name_of, item in asked.items():
        verdicts = {m.verdicts[name_of] for m in made}
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
    """Two do no harm: a dropped record whose offset is stored, and a worker's topic that has no copies. One only keeps
    a task from going on."""
    known = {key[:3] for key in JUDGED} | {(VIEW, "618.31", "copies_awaited")}
    rest = {key[1:]: n.verdict for key, n in found.items() if key[0] == VIEW and key not in known}
    assert rest == {
        ("618.28", "noted"): "redundant", ("618.31", "never_copied"): "redundant",
        ("618.28", "discarding_awaited"): "liveness",
    }  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name: str) -> None:
    """What it breaks, after how many steps at the least."""
    variant = OFFSETS.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step") and p.role != "lemma"}
    made = explore(variant.spec, asked, bounds_of(variant, "smoke"))
    assert {n: made.traces.steps(n) for n in made.violated} == BROKEN[name]


def test_what_ships_and_what_would_mend_it() -> None:
    """No release reads both topics as the text has it: each is judged by what it does, the text is of none, and each
    half of a mend breaks something."""
    judged = {name: OFFSETS.variant(name) for name in (VIEW, *ONE_TOPIC, *BROKEN, "both-mends")}
    shipped = {name for name, variant in judged.items() if isinstance(variant.of, Kafka)}
    assert shipped == {*ONE_TOPIC, "shipped-own-topic-later", "shipped-own-topic-taken"}
    assert all(judged[name].of.has("4.4.0", judged[name].of.settings) for name in shipped)
    assert {name for name in shipped if not judged[name].expected} == {*ONE_TOPIC}
    assert judged[VIEW].of == TEXT
    assert not {BEHIND, AHEAD} & judged["both-mends"].expected.keys()
    assert AHEAD in judged["falls-back-alone"].expected and BEHIND in judged["copies-when-committed-alone"].expected
    assert {s.fixed for s in OFFSETS.scenarios if s.broken in shipped} == {"both-mends", "topic-taken"}
