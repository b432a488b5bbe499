"""The steps of a shortest run in the order with the fewest changes of process: held against every order there is."""

from itertools import permutations

import pytest
from command_line import fencepost
from fencepost.model.language.tree.types import bound_of
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.pages.orders import Ordered, changes_of_process, with_fewest_changes
from fencepost.proofs.pages.stories import lane_of
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Trace
from fencepost.properties.catalogue import bounds_of, find


def ordered(name: str, asked: str, most: int = 20_000) -> tuple[Plain, Trace, Ordered]:
    """The model, a shortest run of the variant that breaks or reaches it, and its steps in another order."""
    _, variant = find(name)
    item, bound = variant.asked[asked], bounds_of(variant, "smoke", {})
    trace = explore(variant.spec, {asked: item}, bound, stop_when_violated=True).traces[asked]
    plain = Plain(variant.spec, {n: bound_of(bound, n) for n in variant.spec.constants}, bound)
    return plain, trace, with_fewest_changes(variant.spec, item, plain, trace, most)


def changes(plain: Plain, trace: Trace) -> int:
    return changes_of_process([lane_of(plain.spec.actions[event.action], event) for event in trace.events])


def states(plain: Plain, trace: Trace, order: tuple[int, ...]) -> list[object] | None:
    """The states of an order of the steps, if it is a run."""
    found = [trace.states[0]]
    for place in order:
        event = trace.events[place]
        after = plain.step(found[-1], event) if plain.enabled(found[-1], event) else None
        if after is None:
            return None
        found.append(after)
    return list(found)


@pytest.mark.parametrize(
    ("name", "asked"),
    [("id-blocks/kraft-answer-first", "disjoint_blocks"), ("transactions/v1-hanging", "nothing_hangs")],
)
def test_no_other_order_has_fewer(name: str, asked: str) -> None:
    """All orders of seven and of eight steps, through the model."""
    plain, trace, found = ordered(name, asked)
    _, variant = find(name)
    runs = {
        order: run
        for order in permutations(range(len(trace)))
        if (run := states(plain, trace, order)) is not None and not plain.holds(variant.asked[asked], run[-1])
    }
    assert (len(runs) > 1) == (name != "transactions/v1-hanging"), "of that one there is a single order"
    lanes = [lane_of(plain.spec.actions[event.action], event) for event in trace.events]
    assert found.is_least
    assert found.changes == changes(plain, found.trace) == min(
        changes_of_process([lanes[place] for place in order]) for order in runs
    )  # fmt: skip
    assert list(found.trace.states) in list(runs.values())


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("transactions/v1-verified", "nothing_committed_unasked"),
        ("group-fencing/draft", "one_producer"),
    ],
)
def test_it_is_a_run_of_the_same_length(name: str, asked: str) -> None:
    """Each step can be taken, the property breaks with the last one, and it is never more often another's turn."""
    plain, trace, found = ordered(name, asked)
    _, variant = find(name)
    assert sorted(map(str, found.trace.events)) == sorted(map(str, trace.events))
    for before, event, after in zip(found.trace.states, found.trace.events, found.trace.states[1:], strict=False):
        assert plain.enabled(before, event) and plain.step(before, event) == after
    item = variant.asked[asked]
    held = [plain.holds(item, state) for state in found.trace.states]
    assert held == [True] * len(trace) + [False]
    assert found.changes <= changes(plain, trace)


def test_it_is_told() -> None:
    """With how often; KAFKA-14402's is the same run as without."""
    ran = fencepost("show", "id-blocks/kraft-answer-first", "disjoint blocks", "--fewest-changes")
    assert "It is another process's turn 3 times: no order of these steps has fewer." in " ".join(ran.out.split())
    assert "broken after 7 steps, and not in fewer" in ran.out


def test_where_trying_takes_too_long() -> None:
    """The run is as it was, and it is not said that no other has fewer."""
    plain, trace, found = ordered("id-blocks/kraft-answer-first", "disjoint_blocks", most=5)
    assert found == Ordered(trace, changes(plain, trace), False)
