"""Sets of task configurations in the config topic: whole, whoever writes; and what each rule of writing is worth."""

import pytest
from fencepost.model.language.derived.mutations import mutations
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.necessity.search import judge
from fencepost.properties.task_counts.variants.full import WRITES

VARIANT = WRITES.variant("record-by-record")

JUDGED = {
    ("618.3", "at_once"): ("necessary", 9),
    ("618.3", "commit_set: guard 1 dropped"): ("necessary", 8),
    ("618.3", "commit_set: guard 2 dropped"): ("necessary", 9),
    ("618.3", "commit_set: guards dropped together"): ("necessary", 8),
    ("618.3", "however_many"): ("redundant", None),
    ("618.3", "put: written not updated"): ("liveness", 6),
    ("618.3", "put: written one less"): ("liveness", 6),
    ("618.3", "put: written one more"): ("liveness", 4),
    ("618.24", "anyone"): ("necessary", 8),
    ("618.25", "put: guard 1 dropped"): ("redundant", None),
    ("618.43", "claim: guard 1 dropped"): ("necessary", 10),
}
"""Redundant by proof: the reader's counting, while writers keep the order; and a transaction for each record, where
shipped Kafka has one for each call."""


def test_proved() -> None:
    """What is in effect is one call's, with any number of workers, tasks and calls."""
    proof = prove(VARIANT.spec, VARIANT.properties.properties)
    assert {o.verdict for o in proof.obligations} == {"holds"}


def test_every_mutation_is_judged() -> None:
    """No rule of writing is without a verdict."""
    assert {(m.rule, m.name) for m in mutations(VARIANT.properties.protocol.spec)} == set(JUDGED)


@pytest.mark.parametrize("mutation", mutations(VARIANT.properties.protocol.spec), ids=lambda m: f"{m.rule} {m.name}")
def test_judged(mutation) -> None:  # type: ignore[no-untyped-def]
    """A part of the source has two readers in the fewest steps, or the proof holds without the rule."""
    found = judge(VARIANT, mutation, "smoke")
    assert (found.verdict, found.steps) == JUDGED[mutation.rule, mutation.name]


@pytest.mark.parametrize("name", [v.name for v in WRITES.variants if not v.main])
def test_misread(name: str) -> None:
    """Each rule misread tears a set."""
    variant = WRITES.variant(name)
    assert explore(variant.spec, variant.asked, variant.bounds["smoke"]).violated == ["each_part_has_one_reader"]
