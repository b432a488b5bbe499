"""618.9: connectors that share a leader, its thread, its producer and the space of ids; what one feels of another."""

from dataclasses import replace

import pytest
from fencepost.model.language.derived.mutations import mutation
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.necessity.search import first_broken
from fencepost.properties.task_counts.variants.connectors import CONNECTORS

VARIANT = CONNECTORS.variant("connectors")
PROMISES = {n: p for n, p in VARIANT.asked.items() if p.role == "promise"}
ONE = dict(workers=1, connectors=2, instances=1, tasks=1, sets=2, elections=1, failures=0, deletions=0)
THREE_SETS = dict(ONE, tasks=2, sets=3)
LEADERS = dict(ONE, workers=2, elections=2, sets=3)

KILLED = [
    ("618.2", "whichever_connector_it_is_of", THREE_SETS, "covered", 12),
    ("618.6", "all_of_that_number", ONE, "only_its_own", 16),
    ("618.6", "create: guard 1 dropped", ONE, "only_its_own", 15),
    ("618.7", "check_round: guard 1 dropped", ONE, "covered", 13),
    ("618.15", "open_producer: guard 1 dropped", ONE, "covered", 7),
    ("618.19", "check_after: guard 1 dropped", ONE, "covered", 10),
    ("618.24", "anyone", dict(LEADERS, connectors=1), "covered", 12),
    ("618.43", "of_whatever_connector", THREE_SETS, "covered", 13),
    ("618.43", "as_far_as_one_connector_goes", LEADERS, "covered", 15),
]
"""(rule, mutation, bounds, the promise that fails first, fewest steps).  The last: the leader has lost its producer by
a write for one connector, and opens another one while it is between the check and the write for the other."""


@pytest.mark.parametrize(("rule", "name", "bound", "promise", "steps"), KILLED)
def test_killed(rule: str, name: str, bound: dict[str, int], promise: str, steps: int) -> None:
    """A promise fails, in the fewest steps, and the proof does not go through."""
    spec = mutation(VARIANT.properties.protocol.spec, rule, name).apply()
    found = first_broken(spec, PROMISES, bound)
    assert found is not None and (found[0], len(found[1])) == (promise, steps)
    assert prove(spec, VARIANT.kept).verdict() == "violated"


@pytest.mark.parametrize("name", sorted(PROMISES))
def test_no_promise_holds_without_guards(name: str) -> None:
    """Each promise rests on what the actions wait for: without any guard it is not inductive."""
    spec = VARIANT.spec
    free = replace(spec, actions={n: replace(a, guards=()) for n, a in spec.actions.items()})
    assert prove(free, {name: PROMISES[name]}).verdict() == "violated"


@pytest.mark.parametrize(("connectors", "broken"), [(1, []), (2, ["no_round_is_lost"])])
def test_one_write_that_fails_costs_every_connector(connectors: int, broken: list[str]) -> None:
    """The producer is dropped with the write, and a round of another connector finds none: with one connector there is
    no such round."""
    variant = CONNECTORS.variant("one-write-fails")
    bound = dict(variant.bounds["smoke"], connectors=connectors)
    found = explore(variant.spec, variant.asked, bound)
    assert (found.violated, found.complete) == (broken, True)
