"""What each rule of producer id blocks is for: the verdict on every mutation, from one run (about a minute).

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

from collections.abc import Mapping

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.model.language.protocol import Spec
from fencepost.model.rules import RULES
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import Necessity, first_broken, necessity
from fencepost.proofs.results import Trace
from fencepost.properties.catalogue import Variant, bounds_of
from fencepost.properties.id_blocks.variants import ID_BLOCKS

Found = Mapping[tuple[str, str, str], Necessity]

TWICE, DISJOINT, PERSISTED, STUCK = "no_id_twice", "disjoint_blocks", "persisted_once", "an_id_in_the_end"

NECESSARY = [
    ("zookeeper", "730.2", "not_read_again", DISJOINT, 5),
    ("zookeeper", "730.2", "write: guard 1 dropped", DISJOINT, 4),
    ("bridge", "730.2", "controller_write: guard 1 dropped", DISJOINT, 6),
    ("zookeeper", "730.3", "kept", TWICE, 5),
    ("kraft", "730.3", "kept", TWICE, 9),
    ("kraft", "730.7", "answer: guard 1 dropped", DISJOINT, 7),
    ("kraft", "730.7", "answer: guard 1 looser", DISJOINT, 7),
    ("kraft", "730.8", "allocate: next not updated", DISJOINT, 7),
    ("kraft", "730.8", "allocate: next one less", DISJOINT, 7),
    ("kraft", "730.8", "first_release_starts_one_late", TWICE, 16),
    ("kraft", "730.8", "one_long", TWICE, 15),
    ("kraft-lengths", "730.8", "its_own_size", TWICE, 15),
    ("kraft", "730.10", "omitted", PERSISTED, 8),
    ("kraft", "730.10", "start_of_block", PERSISTED, 8),
    ("bridge", "730.14", "move: guard 1 dropped", DISJOINT, 8),
    ("bridge", "730.15", "last_id", DISJOINT, 9),
    ("bridge", "730.15", "not_carried_over", DISJOINT, 9),
    ("bridge", "730.15", "start_of_block", DISJOINT, 9),
    ("zookeeper", "730.16", "write: guard 1 dropped", DISJOINT, 6),
    ("zookeeper", "730.16", "write: guard 1 looser", DISJOINT, 6),
    ("kraft", "730.16", "allocate: guard 1 dropped", DISJOINT, 17),
    ("kraft", "730.16", "allocate: guard 1 looser", DISJOINT, 17),
    ("bridge", "730.16", "controller_write: guard 1 dropped", DISJOINT, 11),
    ("bridge", "730.16", "controller_write: guard 1 looser", DISJOINT, 11),
    ("kraft", "730.19", "take: guard 1 dropped", TWICE, 11),
]
"""Without it a promise fails: (variant, rule, mutation, promise, fewest steps)."""

LIVENESS = [
    ("zookeeper", "730.16", "write: guard 1 stricter", 5),
    ("kraft", "730.7", "answer: guard 1 stricter", 3),
    ("kraft", "730.16", "allocate: guard 1 stricter", 7),
    ("kraft", "730.19", "ask: guard 1 dropped", 5),
    ("kraft", "730.19", "ask: guards dropped together", 5),
    ("kraft", "730.20", "take: guard 1 stricter", 4),
]
"""Without it no promise fails, but a broker can wait for ever; steps up to the end of the trace."""

REDUNDANT = [
    ("kraft", "730.8", "allocate: next one more"),
    ("bridge", "730.16", "controller_write: guard 1 stricter"),
    ("kraft", "730.18", "allocate: guard 1 dropped"),
    ("bridge", "730.18", "controller_write: guard 1 dropped"),
    ("kraft", "730.19", "ask: guard 2 dropped"),
    ("kraft", "730.19", "take: outstanding not updated"),
    ("kraft", "730.20", "take: guard 1 dropped"),
    ("kraft", "730.20", "take: guard 1 looser"),
]
"""The promises are proved without it, and ids still come: a second line of defence, or a choice among right ones.  The
last block that ZooKeeper would not give comes from the controller, after the move."""

SHOWN = [
    ("kraft-answer-first", "730.7", DISJOINT, 7),
    ("kraft-snapshot-of-block", "730.10", PERSISTED, 8),
    ("kraft-own-length", "730.8", TWICE, 15),
    ("kraft-malformed-taken", "730.20", TWICE, 8),
    ("bridge-from-block-start", "730.15", DISJOINT, 9),
    ("bridge-from-last-id", "730.15", DISJOINT, 9),
    ("kraft-idempotent", "730.17", TWICE, 14),
    ("by-broker-id", "730.17", DISJOINT, 2),
    ("by-broker-id-durable", "730.17", DISJOINT, 2),
    ("kraft-threads-without-test", "730.19", TWICE, 11),
    ("kraft-faulty-controller-off-by-one", "730.20", TWICE, 12),
]
"""Rejected alternatives, literal readings and known bugs: what the documents predict does happen."""

MUTANTS = {
    "I01 answer before the commit, then a fail-over": ("kraft", "730.7", "answer: guard 1 dropped"),
    "I02 the next id is not advanced": ("kraft", "730.8", "allocate: next not updated"),
    "I04 the broker starts one late": ("kraft", "730.8", "first_release_starts_one_late"),
    "I05 ZooKeeper's write ignores the version": ("zookeeper", "730.2", "write: guard 1 dropped"),
    "I06 no reading again after a lost write": ("zookeeper", "730.2", "not_read_again"),
    "I08 the move while brokers still write to ZooKeeper": ("bridge", "730.14", "move: guard 1 dropped"),
    "I09 the snapshot leaves the record out": ("kraft", "730.10", "omitted"),
    "I11 an RPC idempotent per broker id": ("kraft-idempotent", "730.17", None),
    "I12 a stale broker epoch is accepted": ("kraft", "730.18", "allocate: guard 1 dropped"),
    "I13 a second delivery installs the block again": ("kraft", "730.19", "take: guard 1 dropped"),
    "I14 the block is kept over a restart": ("kraft", "730.3", "kept"),
    "I16 the broker's check off by one": ("kraft", "730.20", "take: guard 1 looser"),
    "I17 no check at the end of the ids": ("kraft", "730.16", "allocate: guard 1 dropped"),
    "I18 restored without raising the next id": ("bridge", "730.15", "not_carried_over"),
}
"""The mutants a suite for this protocol has to kill, and where they are among ours.  None: the variant itself."""

CONTROLS = ("I12", "I16")
"""Not to be killed: each is a second line of defence, and a property that fails without it is too strong."""


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run over everything, by variant, rule and mutation."""
    return {(n.variant, n.rule, n.mutation): n for n in necessity(ID_BLOCKS, "smoke")}


@pytest.mark.parametrize(("variant", "rule", "name", "promise", "steps"), NECESSARY)
def test_necessary(found: Found, variant: str, rule: str, name: str, promise: str, steps: int) -> None:
    """A promise fails, in this many steps and no fewer, and the run is told."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.promise, verdict.steps) == ("necessary", promise, steps)
    assert verdict.trace is not None
    assert sum(line[:3].strip().isdigit() for line in verdict.evidence) == steps
    assert verdict.bound is not None


@pytest.mark.parametrize(("variant", "rule", "name", "steps"), LIVENESS)
def test_liveness(found: Found, variant: str, rule: str, name: str, steps: int) -> None:
    """A broker waits for ever, in a state or a cycle that is told."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.promise, verdict.steps) == ("liveness", STUCK, steps)
    assert verdict.evidence[-1].endswith("for ever")


@pytest.mark.parametrize(("variant", "rule", "name"), REDUNDANT)
def test_redundant(found: Found, variant: str, rule: str, name: str) -> None:
    """Proved without bounds, from lemmas that are named."""
    verdict = found[variant, rule, name]
    assert (verdict.verdict, verdict.engine, verdict.bound, verdict.promise) == ("redundant", "induction", None, None)
    assert verdict.evidence[0].startswith("every promise is proved from: ")
    assert verdict.evidence[1].startswith("an id in the end: holds of ")


@pytest.mark.parametrize(("variant", "rule", "promise", "steps"), SHOWN)
def test_shown(found: Found, variant: str, rule: str, promise: str, steps: int) -> None:
    """What the documents predict of a rejected alternative is there."""
    verdict = found[variant, rule, ID_BLOCKS.variant(variant).says]
    assert (verdict.verdict, verdict.promise, verdict.steps) == ("shown", promise, steps)


def test_nothing_is_left_out(found: Found) -> None:
    """The tables above are the whole run, and every mechanism and rejected alternative of the proposal is in it."""
    pinned = {tuple(row[:3]) for row in (*NECESSARY, *LIVENESS, *REDUNDANT)}
    pinned |= {(variant, rule, ID_BLOCKS.variant(variant).says) for variant, rule, *_ in SHOWN}
    assert pinned == set(found)
    judged = {n for n, rule in RULES.items() if n.startswith("730.") and rule.kind in ("mechanism", "rejected")}
    assert {n.rule for n in found.values()} == judged


@pytest.mark.parametrize("mutant", MUTANTS)
def test_named_mutants(found: Found, mutant: str) -> None:
    """Each is killed by a promise, but for the controls, which are proved redundant."""
    variant, rule, name = MUTANTS[mutant]
    verdict = found[variant, rule, name or ID_BLOCKS.variant(variant).says]
    if mutant.startswith(CONTROLS):
        assert verdict.verdict == "redundant"
    else:
        assert verdict.verdict in ("necessary", "shown")
        assert verdict.promise in (TWICE, DISJOINT, PERSISTED)


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if not m.startswith((*CONTROLS, "I11"))])
def test_named_mutants_hand_out_an_id_twice(found: Found, mutant: str) -> None:
    """Where blocks overlap first, an id is handed out twice later: the mutant breaks that promise by itself."""
    variant, rule, name = MUTANTS[mutant]
    verdict = found[variant, rule, str(name)]
    asked = {TWICE: ID_BLOCKS.variant(variant).asked[TWICE]}
    broken = first_broken(verdict.spec, asked, bounds_of(ID_BLOCKS.variant(variant), "smoke"))
    assert broken is not None
    assert len(broken[1]) >= (verdict.steps or 0)


def test_two_harmless_mistakes_that_do_harm_together() -> None:
    """I12 with I11: the answer cache gives a restarted broker its old block even before it has registered again."""
    variant = ID_BLOCKS.variant("kraft-idempotent")
    bound = bounds_of(variant, "smoke")
    both = mutation(variant.properties.protocol.spec, "730.18", "answer_again: guard 1 dropped").apply()
    asked = {TWICE: variant.asked[TWICE]}
    alone, together = first_broken(variant.spec, asked, bound), first_broken(both, asked, bound)
    assert alone is not None
    assert together is not None
    assert (len(alone[1]), len(together[1])) == (14, 13)
    assert "register" in {event.action for event in alone[1].events}
    assert "register" not in {event.action for event in together[1].events}


@pytest.mark.parametrize("name", ["fail: in_flight not updated", "end_back_off: never"])
def test_seeded_livelocks(name: str) -> None:
    """730.5: the in-flight flag is never cleared, or the back-off never ends; progress says so, and how."""
    variant = ID_BLOCKS.variant("kraft")
    spec = mutation(variant.properties.protocol.spec, "730.5", name).apply()
    trace = _stuck(variant, spec, STUCK)
    last = trace.states[-1]
    assert trace.loop is not None
    assert last["in_flight"] if name.startswith("fail") else last["backing_off"]


def test_retry_at_the_end_of_the_ids_is_a_fair_cycle() -> None:
    """Brokers ask for ever when no ids are left: a cycle in which they ask and are refused, again and again."""
    variant = ID_BLOCKS.variant("kraft")
    trace = _stuck(variant, variant.spec, "an_id_even_at_the_end")
    assert trace.loop is not None
    assert {"ask", "refuse", "fail", "end_back_off"} <= {event.action for event in trace.events[trace.loop :]}
    assert trace.states[-1] == trace.states[trace.loop]


def _stuck(variant: Variant, spec: Spec, name: str) -> Trace:
    exploration = explore(spec, {name: variant.asked[name]}, variant.progress_bounds[0])
    found = check_progress(exploration)[name]
    assert found.verdict == "violated"
    assert found.trace is not None
    return found.trace
