"""What a verdict on transactions rests on: guards, and bounds in which the dangers that it names meet.

Each was an experiment that showed a verdict to say more than its model does.
"""

from dataclasses import replace

import pytest
from fencepost.model.language.derived.mutations import mutations
from fencepost.model.language.properties import Property
from fencepost.model.rules import RULES
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.properties.catalogue import Variant, protocols
from fencepost.properties.entries import features_of
from fencepost.properties.transactions.variants.catalogue import TRANSACTIONS

QUICK = ("transaction-log", "transactional-offsets")
V2 = TRANSACTIONS.variant("v2")
FEATURES = features_of(V2, "smoke")
RETRY = FEATURES["a retry at the last epoch"]


def promised(variant: Variant) -> dict[str, Property]:
    """What documents promise of it, and is to be proved."""
    asked = {n: p for n, p in variant.kept.items() if p.role in ("promise", "step") and p.rule}
    return {n: p for n, p in asked.items() if RULES[p.rule or ""].kind in ("promise", "claim")}


def proved() -> list[object]:
    """Every variant that is proved: of the logs of coordinators in every run, of all protocols at night."""
    return [
        pytest.param(variant, id=f"{name}/{variant.name}", marks=() if name in QUICK else pytest.mark.nightly)
        for name, entry in protocols().items()
        for variant in entry.variants
        if variant.main and variant.proof and promised(variant)
    ]


@pytest.mark.parametrize("variant", proved())
def test_no_promise_holds_without_guards(variant: Variant) -> None:
    """Where any step may happen at any time every promise fails: one that did not would be how the model is written."""
    bare = {name: replace(action, guards=()) for name, action in variant.spec.actions.items()}
    for name, item in promised(variant).items():
        found = prove(replace(variant.spec, actions=bare), {name: item}, counterexamples=False, rlimit=20_000_000)
        assert found.verdicts.get(name) != "holds", name


def test_a_rotation_lost_over_a_fail_over_is_found() -> None:
    """KAFKA-20310: at the last epoch a coordinator takes over between the two records, within bounds of v2 itself."""
    broken = TRANSACTIONS.variant("v2-rotation-lost")
    asked = {name: broken.properties.properties[name] for name in broken.expected}
    found = explore(broken.spec, asked, FEATURES["the last epoch"])
    assert {name: found.traces.steps(name) for name in found.violated} == {
        "epochs_go_up": 13,
        "no_epoch_past_the_last": 16,
        "never_fenced_before_the_end": 19,
    }


@pytest.mark.parametrize(
    ("name", "alone", "known", "over"), [("v2", 9, 9, 17), ("v2-trunk", 9, 9, 0), ("v2-mended", 9, 0, 0)]
)
def test_a_retry_is_refused_for_each_of_its_causes(name: str, alone: int, known: int, over: int) -> None:
    """A late copy of the first request refutes txn.P8 in all, the last epoch until it is mended, and a fail-over in the
    releases; nothing else does.  0: it holds."""
    variant = TRANSACTIONS.variant(name)
    steps = {
        "alone_never_fenced": alone,
        "alone_and_known_never_fenced": known,
        "never_fenced_by_a_fail_over": over,
        "never_fenced_before_the_end": 0,
    }
    found = explore(variant.spec, {n: variant.properties.properties[n] for n in steps}, RETRY)
    assert {n: found.traces.steps(n) if n in found.violated else 0 for n in steps} == steps
    assert {n for n, most in steps.items() if most} <= {n for n, v in variant.expected.items() if v == "violated"}


def test_the_trunk_is_refuted_by_a_late_copy_alone() -> None:
    """With KAFKA-20357 a retry over a fail-over is answered, and a late copy of the first request fences its sender."""
    trunk = TRANSACTIONS.variant("v2-trunk")
    asked = {name: trunk.asked[name] for name in ("alone_never_fenced", "never_fenced_by_a_fail_over")}
    own, copies = (features_of(trunk, "smoke")[name] for name in ("", "late copies"))
    assert explore(trunk.spec, asked, own).violated == []
    found = explore(trunk.spec, asked, copies)
    assert {name: found.traces.steps(name) for name in found.violated} == {"alone_never_fenced": 9}


@pytest.mark.nightly
def test_where_a_promise_can_be_broken() -> None:
    """Where the epochs come to their end some mutation gives out the reserved one; with a fail-over alone none can."""
    within = ("", "fail-over", "the last epoch", "a retry at the last epoch")
    promise = {"no_epoch_past_the_last": V2.properties.properties["no_epoch_past_the_last"]}
    broken = {
        name
        for name in within
        for mutation in mutations(V2.spec)
        if explore(mutation.apply(), promise, FEATURES[name], max_states=150_000, stop_when_violated=True).violated
    }
    assert broken == {"the last epoch", "a retry at the last epoch"}
