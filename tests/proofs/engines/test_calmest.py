"""The shortest run with the fewest changes of process: held against all shortest runs there are."""

from collections import Counter

import pytest
from fencepost.model.language.tree.types import bound_of
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.explore.fewest_switches import FewestSwitches, changes_of_process, fewest_switches
from fencepost.proofs.pages.stories import lane_of
from fencepost.proofs.readings.plain import Plain, freeze
from fencepost.proofs.results import Event, State, Trace
from fencepost.properties.catalogue import bounds_of, find

OBSERVED = [
    ("id-blocks/kraft-answer-first", "disjoint_blocks"),
    ("transactions/v1-hanging", "nothing_hangs"),
    ("group-fencing/draft", "one_producer"),
    ("kip618-yardstick/yardstick", "a_zombie_shut_out"),
]


def found(name: str, asked: str, most: int = 300_000) -> tuple[Plain, Trace, FewestSwitches | None]:
    """The model, the shortest run of a variant that was found first, and the one with the fewest changes."""
    _, variant = find(name)
    assert variant is not None
    item, bound = variant.asked[asked], bounds_of(variant, "smoke", {})
    made = explore(variant.spec, {asked: item}, bound, stop_when_violated=True)
    plain = Plain(variant.spec, {n: bound_of(bound, n) for n in variant.spec.constants}, bound)
    chosen = fewest_switches(made, item, lambda event: lane_of(variant.spec.actions[event.action], event), most)
    return plain, made.traces[asked], chosen


def changes(plain: Plain, events: tuple[Event, ...]) -> int:
    return changes_of_process([lane_of(plain.spec.actions[event.action], event) for event in events])


def every_shortest(plain: Plain, name: str, asked: str) -> list[tuple[Event, ...]]:
    """All shortest runs, step by step through the model, by levels of distinct states; what is budgeted counts too."""
    _, variant = find(name)
    item, bound = variant.asked[asked], bounds_of(variant, "smoke", {})
    budgets = {a.name: a.budget for a in variant.spec.actions.values() if a.budget is not None}
    start = (plain.initial(), Counter[str]())
    level = {key(*start): (*start, [()])}
    seen = set(level)
    while True:
        observed = [runs for state, _, runs in level.values() if plain.holds(item, state) == (item.kind == "sometimes")]
        if observed:
            return [run for runs in observed for run in runs]
        after: dict[object, tuple[State, Counter[str], list[tuple[Event, ...]]]] = {}
        for state, spent, runs in level.values():
            for event, reached in plain.successors(state):
                budget = budgets.get(event.action)
                now = spent + Counter([budget]) if budget else spent
                if reached is None or any(now[each] > bound[each] for each in now) or key(reached, now) in seen:
                    continue
                *_, known = after.setdefault(key(reached, now), (reached, now, []))
                known += [(*run, event) for run in runs]
        seen |= after.keys()
        level = after


def key(state: State, spent: Counter[str]) -> object:
    return freeze(state), tuple(sorted(spent.items()))


@pytest.mark.parametrize(("name", "asked"), OBSERVED[:2])
def test_no_other_shortest_run_has_fewer(name: str, asked: str) -> None:
    """Each one by one: as many as are told, and none with fewer changes."""
    plain, _, chosen = found(name, asked)
    runs = every_shortest(plain, name, asked)
    assert chosen is not None and chosen.of_all
    assert chosen.runs == len(runs)
    assert chosen.trace.events in runs
    assert chosen.changes == changes(plain, chosen.trace.events) == min(changes(plain, run) for run in runs)


@pytest.mark.parametrize(("name", "asked"), OBSERVED)
def test_it_is_a_shortest_run(name: str, asked: str) -> None:
    """Each step can be taken, it is shown at the end and not before, and no more often another's turn."""
    plain, trace, chosen = found(name, asked)
    _, variant = find(name)
    assert chosen is not None
    states, events = chosen.trace.states, chosen.trace.events
    assert (len(events), states[0]) == (len(trace), trace.states[0])
    for before, event, after in zip(states, events, states[1:], strict=False):
        assert plain.enabled(before, event) and plain.step(before, event) == after
    item = variant.asked[asked]
    ended = [plain.holds(item, state) == (item.kind == "sometimes") for state in states]
    assert ended == [False] * len(events) + [True]
    assert chosen.changes == changes(plain, events) <= changes(plain, trace.events)


def test_of_a_step_those_that_end_with_it() -> None:
    """A property of steps: the last step is the one that was found."""
    name, asked = next(
        (f"{entry}/{variant.name}", prop)
        for entry in ("transactions", "task-counts", "group-fencing", "id-blocks")
        for variant in find(entry)[0].variants
        for prop, verdict in variant.expected.items()
        if verdict == "violated" and prop in variant.asked and variant.asked[prop].kind == "step"
    )
    plain, trace, chosen = found(name, asked)
    assert chosen is not None and not chosen.of_all
    assert (len(chosen.trace), chosen.trace.events[-1]) == (len(trace), trace.events[-1])
    assert chosen.changes == changes(plain, chosen.trace.events) <= changes(plain, trace.events)
    for before, event, after in zip(chosen.trace.states, chosen.trace.events, chosen.trace.states[1:], strict=False):
        assert plain.step(before, event) == after


def test_where_there_are_too_many() -> None:
    assert found(*OBSERVED[0], most=3)[2] is None
