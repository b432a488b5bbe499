"""SourceTask.commit: what is proved, which rule is for what, and the shortest runs of what goes wrong.

A changed verdict is a changed model, and has to be argued for; a changed number of steps likewise.
"""

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.model.releases import TEXT, Kafka
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.search import Necessity, necessity
from fencepost.properties.catalogue import bounds_of, features_of, protocols

COMMITS = protocols()["source-commits"]
MAIN = [variant.name for variant in COMMITS.variants if variant.main and not variant.expected]
WRONG = [variant.name for variant in COMMITS.variants if not variant.main]
PROPOSED, ONCE, NULL = "proposed", "proposed-exactly-once", "null-offsets-left-out"
STORED, BACK, SKIPPED = "told_is_stored", "stored_only_grows", "nothing_skipped"
LOST, KEPT, ENDS, QUEUE = "nothing_lost_upstream", "kept_for_a_restart", "clean_end_covers_all", "leaves_the_queue"

Found = dict[tuple[str, str, str], Necessity]

JUDGED = [
    (PROPOSED, "src.2", "one_queue_for_all", "necessary", ENDS, 13),  # O02: one queue for all source partitions
    (PROPOSED, "src.2", "counted_twice", "necessary", ENDS, 12),  # O17: a second acknowledgement is counted
    (PROPOSED, "src.3", "newest_acknowledged", "necessary", SKIPPED, 7),  # O01: the newest one, without a prefix
    (PROPOSED, "src.3", "left_in_the_queue", "liveness", QUEUE, 17),  # O04: the queue is looked at and not emptied
    (PROPOSED, "src.4", "succeed: guard 1 dropped", "necessary", STORED, 7),  # O08: told before it is durable
    (PROPOSED, "src.4", "told_all_the_same", "necessary", STORED, 7),  # O09: told after a flush that failed
    (PROPOSED, "src.4", "begin: guard 1 dropped", "necessary", STORED, 8),  # two flushes at a time
    (PROPOSED, "src.4", "arrive: guard 1 dropped", "necessary", STORED, 15),  # writes overtake one another
    (PROPOSED, "src.5", "all_polled_if_empty", "necessary", STORED, 4),  # O15: an empty map means all
    (PROPOSED, "src.10", "forgotten", "necessary", ENDS, 11),  # O11: a failed flush loses the earlier offsets
    (PROPOSED, "src.10", "older_wins", "necessary", ENDS, 14),
    (PROPOSED, "src.11", "acknowledged", "necessary", SKIPPED, 6),  # O06: what will be sent again is acknowledged
    (PROPOSED, "src.11", "not_acknowledged", "liveness", QUEUE, 8),  # O07: a failure that is tolerated is not
    (PROPOSED, "src.12", "await_all: guard 1 dropped", "necessary", ENDS, 6),  # O16: the end waits for nothing
    (PROPOSED, "src.12", "timed_out_all_the_same", "necessary", ENDS, 6),  # O18: a time-out is a success
    (ONCE, "src.4", "tell: guard 1 dropped", "necessary", STORED, 3),  # O08 of a task with transactions
    (ONCE, "src.4", "told_all_the_same", "necessary", STORED, 3),  # O09 of one
    (ONCE, "src.5", "aborted_are_told", "necessary", STORED, 2),  # O19: told of what was aborted, and is not stored
    (ONCE, "src.5", "all_polled_if_empty", "necessary", STORED, 3),
    (NULL, "src.3", "collect: guard 1 dropped", "necessary", SKIPPED, 5),
    (NULL, "src.3", "left_in_the_queue", "liveness", QUEUE, 6),
    (NULL, "src.5", "erased", "necessary", STORED, 8),  # H7d: a record without an offset erases the stored one
]
"""Each way to get a rule wrong: (variant, rule, mutation, verdict, promise, steps), with the mutants O01 to O19 of a
list that was drawn up beforehand.  O13 (two threads) and O14 (the newest delivered record) are variants, below."""

BROKEN = {
    "last-polled": {STORED: 4, LOST: 5, KEPT: 5},  # B42
    "newest-acknowledged": {STORED: 5, KEPT: 6, LOST: 7},  # B45a, O14
    "ahead-of-the-flush": {STORED: 5, KEPT: 6},  # B45b
    "previous-snapshot": {STORED: 8, KEPT: 9},  # a repair of B45b that is none
    "first-of-several": {SKIPPED: 6, LOST: 9},  # B45c
    "failure-not-acknowledged": {},  # B43: see `test_a_queue_is_blocked`
    "empty-means-all": {STORED: 4, LOST: 5, KEPT: 5},  # H7c, O15
    "snapshot-only": {"told_is_the_latest": 10},  # H7a
    "told-by-two-threads": {"told_only_grows": 16},  # H7b, O13
    "taken-and-put-apart": {BACK: 18, STORED: 18, KEPT: 19},
    "null-offsets": {BACK: 8, STORED: 8},  # H7d
    "zombie": {BACK: 12, STORED: 14, KEPT: 15},
    "late-write": {BACK: 13, STORED: 15, KEPT: 16},
    "late-copy": {BACK: 16, STORED: 18, KEPT: 19},
    "altered-offsets": {BACK: 8, STORED: 10, KEPT: 11},  # H7e
    "failed-by-its-own-end": {SKIPPED: 7, LOST: 10},
}
"""What each mistake breaks, and in how few steps."""

SHIPPED = {ENDS: 10, BACK: 17, STORED: 18, KEPT: 19, "told_only_grows": 20}
"""What Kafka breaks, whose committer takes and hands over in two steps."""


@pytest.fixture(scope="module")
def found() -> Found:
    """The verdicts of one run, by variant, rule and mutation."""
    return {(n.variant, n.rule, n.mutation): n for n in necessity(COMMITS, "smoke")}


@pytest.mark.parametrize("name", MAIN)
def test_proved(name: str) -> None:
    """Without bounds: every promise and lemma is inductive, no lemma is empty, and every action can happen."""
    variant = COMMITS.variant(name)
    proof = prove(variant.spec, variant.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []


@pytest.mark.parametrize("name", MAIN)
def test_explored(name: str) -> None:
    """Every promise and lemma holds of each state within bounds, and each witness is reached in some feature."""
    variant = COMMITS.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step", "sometimes")}
    made = [explore(variant.spec, asked, bounds) for bounds in features_of(variant, "smoke").values()]
    for name_of, item in asked.items():
        verdicts = {m.verdicts[name_of] for m in made}
        assert "holds" in verdicts if item.kind == "sometimes" else verdicts == {"holds"}


@pytest.mark.parametrize("name", MAIN)
def test_progress(name: str) -> None:
    """What is owed comes in the end, also with a record that fails and a flush that is given up."""
    variant = COMMITS.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind == "eventually"}
    for bounds in variant.progress_bounds:
        results = check_progress(explore(variant.spec, asked, bounds))
        assert {n: r.verdict for n, r in results.items()} == dict.fromkeys(asked, "holds")


@pytest.mark.parametrize(("variant", "rule", "name", "verdict", "promise", "steps"), JUDGED)
def test_judged(found: Found, variant: str, rule: str, name: str, verdict: str, promise: str, steps: int) -> None:
    """A promise fails, in this many steps and no fewer, or what is owed does not come."""
    judged = found[variant, rule, name]
    assert (judged.verdict, judged.promise, judged.steps) == (verdict, promise, steps)


def test_every_mutation_is_judged(found: Found) -> None:
    """Of all mutations of mechanisms one does no harm: taking a part of the longest prefix, and the rest later."""
    names = {variant.name for variant in COMMITS.variants if not variant.main}
    rest = {key: n.verdict for key, n in found.items() if key[0] not in names and key not in {j[:3] for j in JUDGED}}
    assert rest == {(PROPOSED, "src.3", "collect: guard 1 dropped"): "redundant"}


@pytest.mark.parametrize("name", WRONG)
def test_broken(name: str) -> None:
    """What it breaks, after how many steps at the least."""
    variant = COMMITS.variant(name)
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step") and p.role != "lemma"}
    made = explore(variant.spec, asked, bounds_of(variant, "smoke"))
    assert {n: made.traces.steps(n) for n in made.violated} == BROKEN[name]


def test_what_ships_and_what_would_mend_it() -> None:
    """What is taken goes to the writer in a step of its own: the stored offset goes back.  With the lock held until the
    writer has it nothing does; that this is enough is proved, and of no release."""
    ships, mended = COMMITS.variant("shipped"), COMMITS.variant("shipped-mended")
    assert isinstance(ships.of, Kafka) and ships.of.has("4.4.0", ships.of.settings) and mended.of == TEXT
    asked = {n: p for n, p in ships.asked.items() if p.kind in ("always", "step")}
    for bounds in features_of(ships, "smoke").values():
        made = explore(ships.spec, asked, bounds)
        assert {n: made.traces.steps(n) for n in made.violated} == SHIPPED
    assert set(SHIPPED) == ships.expected.keys() and not mended.expected
    found = explore(mutation(mended.spec, "src.13", "take: guard 1 dropped").apply(), asked, bounds_of(mended, "smoke"))
    assert BACK in found.violated


def blocked(name: str) -> tuple[str, int | None]:
    """What comes of a record that waits to leave its queue, where a failure is tolerated."""
    variant = COMMITS.variant(name)
    bounds = bounds_of(variant, "smoke") | {"failures": 1}
    asked = {QUEUE: variant.properties.properties[QUEUE]}
    result = check_progress(explore(variant.spec, asked, bounds))[QUEUE]
    return result.verdict, None if result.trace is None else len(result.trace)


def test_a_queue_is_blocked() -> None:
    """B43: without an acknowledgement the record that failed stays in its queue for ever, and all behind it."""
    assert blocked("failure-not-acknowledged") == ("violated", 5)
    assert blocked(PROPOSED) == ("holds", None)
