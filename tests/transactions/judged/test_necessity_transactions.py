"""Rules of transactions misread, one at a time: the promise that fails, in how many steps, within which bounds.

The list is of mistakes known from proposals, reviews and bug reports.  `fencepost necessity transactions` judges every
mutation of every mechanism; here stand those that must be found, and the whole run is nightly.
"""

import pytest
from fencepost.model.language.derived.mutations import mutations
from fencepost.model.rules import RULES
from fencepost.proofs.necessity.search import first_broken, judge
from fencepost.properties.transactions.variants.catalogue import TRANSACTIONS

KILLED = [
    ("core-v2", "txn.1", "initialize: guard 1 looser", "one_owner", 2),
    ("core-v2", "txn.3", "initialize: guard 1 dropped", "nothing_hangs", 7),
    ("core-v1-prompt", "txn.3", "old_epoch", "nothing_hangs", 7),
    ("core-v2", "txn.3", "while_prepared", "nothing_open_after_a_fence", 8),
    ("core-v1-prompt", "txn.12", "append: guard 1 dropped", "nothing_hangs", 7),
    ("core-v2", "txn.7", "end: guard 1 dropped", "one_owner", 9),
    ("core-v2", "txn.9", "end: guard 1 dropped", "one_owner", 7),
    ("core-v2", "txn.15", "append: guard 1 dropped", "nothing_hangs", 5),
    ("core-v1-verified", "txn.15", "append: guard 2 dropped", "nothing_hangs", 9),
    ("core-v1-verified", "txn.15", "any_question", "nothing_hangs", 15),
    ("core-v2", "txn.23", "not_older", "nothing_committed_unasked", 17),
    ("v2", "txn.5", "refuse_end: guard 1 dropped", "never_fenced_before_the_end", 14),
    ("v2", "txn.4", "stays", "no_epoch_past_the_last", 19),
    ("v2", "txn.4", "one_late", "no_epoch_past_the_last", 13),
    ("v2", "txn.2", "ask_for_epoch: guard 1 dropped", "fenced_for_good", 10),
    ("core-v2", "txn.8", "answer_again: guard 1 dropped", "one_owner", 9),
    ("core-v2", "txn.16", "any_epoch", "nothing_hangs", 12),
    ("core-v1-prompt", "txn.11", "mark: guard 1 dropped", "nothing_committed_unasked", 14),
    ("core-v1-prompt", "txn.18", "take_over: guard 1 looser", "nothing_hangs", 7),
    ("v1-prompt", "txn.18", "append_fails: fence_failed not updated", "no_epoch_past_the_last", 14),
    ("core-v2", "txn.22", "fence_producers: guard 1 looser", "nothing_open_after_a_fence", 7),
    ("core-versions", "txn.24", "by_none", "nothing_lost", 17),
    ("v2-trunk", "txn.25", "not_in_the_log", "never_fenced_before_the_end", 10),
]
"""(variant, rule, mutation, the promise that fails first, fewest steps)."""

LIVENESS = [
    ("core-versions", "txn.24", "by_the_feature", "ends_in_the_end"),
    ("v2", "txn.10", "by_name_alone", "ends_in_the_end"),
    ("core-v2", "txn.23", "only_newer", "ends_in_the_end"),
    ("core-v2", "txn.12", "append: guard 1 stricter", "appended_in_the_end"),
    ("core-v1-prompt", "txn.12", "append: guard 1 stricter", "appended_in_the_end"),
    ("core-v2", "txn.19", "fail_over: markers not updated", "ends_in_the_end"),
]

REDUNDANT = [
    ("core-v2", "txn.15", "append: guard 2 dropped"),
    ("core-v2", "txn.15", "any_question"),
    ("core-v2", "txn.11", "mark: guard 1 dropped"),
    ("core-v1-prompt", "txn.8", "answer_again: guard 1 dropped"),
    ("core-v2", "txn.1", "initialize: guard 1 stricter"),
    ("core-v2", "txn.9", "end: guard 1 stricter"),
    ("core-v2", "txn.18", "take_over: guard 1 stricter"),
]
"""Proved: in v2 the epoch of a marker stands in for looking again, and for the coordinator epoch; in v1 whoever waits
has the present epoch, and so the present outcome.  And an epoch may go up by two at a time: a partition that takes
nothing but a newer epoch takes no second transaction of v1 at all, and none in v2 whose marker told it the epoch."""

ALSO = [
    ("core-v1-prompt", "txn.3", "old_epoch", "no_zombie_write"),
    ("core-v1-prompt", "txn.12", "append: guard 1 dropped", "no_zombie_write"),
    ("core-v1-verified-prompt", "txn.15", "any_question", "nothing_committed_unasked"),
    ("core-v1-prompt", "txn.18", "take_over: guard 1 looser", "no_zombie_write"),
    ("core-v2", "txn.22", "fence_producers: guard 1 looser", "no_zombie_write"),
]
"""Promises that fail as well, later than the first."""


def judged(name: str, rule: str, mutation: str):  # type: ignore[no-untyped-def]
    variant = TRANSACTIONS.variant(name)
    (mutant,) = [m for m in mutations(variant.properties.protocol.spec) if (m.rule, m.name) == (rule, mutation)]
    return judge(variant, mutant, "smoke")


@pytest.mark.parametrize(("variant", "rule", "mutation", "promise", "steps"), KILLED)
def test_killed(variant: str, rule: str, mutation: str, promise: str, steps: int) -> None:
    """A promise fails, in the fewest steps, and the bounds in which it does are kept."""
    found = judged(variant, rule, mutation)
    assert (found.verdict, found.promise, found.steps) == ("necessary", promise, steps)
    assert found.bound and found.evidence


@pytest.mark.parametrize(("variant", "rule", "mutation", "promise"), LIVENESS)
def test_liveness(variant: str, rule: str, mutation: str, promise: str) -> None:
    """No promise fails, but somebody waits for ever."""
    found = judged(variant, rule, mutation)
    assert (found.verdict, found.promise) == ("liveness", promise)


@pytest.mark.parametrize(("variant", "rule", "mutation"), REDUNDANT)
def test_redundant(variant: str, rule: str, mutation: str) -> None:
    """Every promise is proved without it."""
    assert judged(variant, rule, mutation).verdict == "redundant"


@pytest.mark.parametrize(("name", "rule", "mutation", "promise"), ALSO)
def test_fails_as_well(name: str, rule: str, mutation: str, promise: str) -> None:
    """The promise that the proposals have in mind fails too, though another fails sooner."""
    variant = TRANSACTIONS.variant(name)
    (mutant,) = [m for m in mutations(variant.properties.protocol.spec) if (m.rule, m.name) == (rule, mutation)]
    bound = variant.bounds["smoke"]
    assert first_broken(mutant.apply(), {promise: variant.asked[promise]}, bound) is not None


def test_survivors_have_reasons() -> None:
    """What may survive is a mutation that there is, of a mechanism, with a sentence that says why."""
    known = {
        (m.rule, m.name)
        for v in TRANSACTIONS.variants
        if v.main
        for m in mutations(v.properties.protocol.spec)
    }  # fmt: skip
    for mutation, reason in TRANSACTIONS.survivors.items():
        assert mutation in known and RULES[mutation[0]].kind == "mechanism" and len(reason) > 40
