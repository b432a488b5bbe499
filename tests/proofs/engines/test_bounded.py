"""Bounded model checking finds what a plain breadth-first search finds, at the same depth, by paths that can really
be walked."""

import pytest
from fencepost.model.language import ModelError
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs.engines.bounded import check
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.readings.plain import Plain
from random_models import BOUNDS, model
from z3_protocols import (
    ALLOCATION_BOUNDS,
    JOURNAL_BOUNDS,
    LOCK_BOUNDS,
    Allocation,
    AllocationProperties,
    Journal,
    JournalProperties,
    TicketLock,
    TicketLockProperties,
)

RACE = mutation(TicketLock.spec, "730.2", "enter: guard 1 dropped").apply()
OVERLAP = mutation(Allocation.spec, "730.8", "overlap").apply()
CASES = {
    "lock": (settle(TicketLock.spec), TicketLockProperties.properties, LOCK_BOUNDS, 8),
    "race": (RACE, TicketLockProperties.properties, LOCK_BOUNDS, 8),
    "allocation": (settle(Allocation.spec), AllocationProperties.properties, ALLOCATION_BOUNDS, 8),
    "overlap": (OVERLAP, AllocationProperties.properties, ALLOCATION_BOUNDS, 8),
    "journal": (settle(Journal.spec), JournalProperties.properties, JOURNAL_BOUNDS, 3),
}


def shortest(spec, properties, bounds, depth):
    """Depth of the first witness or violation of each property, by breadth-first search over plain states and spent
    budgets."""
    plain = Plain(spec, {name: bounds[name] for name in spec.constants}, bounds)
    budgets = sorted({a.budget for a in spec.actions.values() if a.budget})
    found, layer = {}, {repr((plain.initial(), [0] * len(budgets))): (plain.initial(), [0] * len(budgets))}
    seen = set(layer)
    for level in range(depth + 1):
        following = {}
        for state, spent in layer.values():
            for name, item in properties.items():
                if item.kind != "step" and plain.holds(item, state) == (item.kind == "sometimes"):
                    found.setdefault(name, level)
            for event, after in plain.successors(state) if level < depth else ():
                budget = spec.actions[event.action].budget
                now = [n + (b == budget) for n, b in zip(spent, budgets, strict=True)]
                if after is None or any(n > bounds[b] for n, b in zip(now, budgets, strict=True)):
                    continue
                for name, item in properties.items():
                    if item.kind == "step" and not plain.holds(item, state, after):
                        found.setdefault(name, level + 1)
                following.setdefault(key := repr((_sorted(after), now)), (after, now))
                if key in seen:
                    del following[key]
        seen.update(following)
        layer = following
    return found


def _sorted(state):
    return {k: sorted(v.items(), key=repr) if isinstance(v, dict) else v for k, v in state.items()}


@pytest.mark.parametrize("case", CASES)
def test_shortest_paths_are_as_long_as_breadth_first_search_says(case):
    """Every property is decided as by the search, at the depth of the search, and the trace is a path of the plain
    reading."""
    spec, properties, bounds, depth = CASES[case]
    result = check(spec, properties, bounds, depth)
    assert {n: f.depth for n, f in result.findings.items() if f.trace} == shortest(spec, properties, bounds, depth)
    plain = Plain(spec, {name: bounds[name] for name in spec.constants}, bounds)
    for name, finding in result.findings.items():
        item, trace = properties[name], finding.trace
        if trace is None:
            assert finding.verdict == ("unknown" if item.kind == "sometimes" else "holds")
            continue
        assert finding.verdict == ("holds" if item.kind == "sometimes" else "violated")
        assert trace.states[0] == plain.initial()
        for before, event, after in zip(trace.states, trace.events, trace.states[1:], strict=False):
            assert plain.enabled(before, event)
            assert plain.step(before, event) == after
        last = trace.states[-2:] if item.kind == "step" else trace.states[-1:]
        assert plain.holds(item, *last) == (item.kind == "sometimes")


def test_no_order_of_steps_is_left_out():
    """Of models drawn at random every property is decided at the depth of the search: steps that are not independent,
    or of which a property of steps tells the last, are not taken for others in another order."""
    for seed in range(8, 48):
        spec, properties = model(seed)
        searched = explore(spec, properties, BOUNDS, max_depth=5).traces.items()
        found = check(spec, properties, BOUNDS, 5).findings.items()
        expected = {name: len(trace) for name, trace in searched if len(trace) <= 5}
        assert {name: one.depth for name, one in found if one.trace is not None} == expected, seed


def test_budgets_are_respected():
    """With one crash allowed no path takes two, and with none the crash is never taken."""
    spec, properties, bounds, _ = CASES["overlap"]
    for crashes in (0, 1):
        result = check(spec, properties, bounds | {"crashes": crashes}, 8)
        for finding in result.findings.values():
            if finding.trace:
                assert [e.action for e in finding.trace.events].count("crash") <= crashes


def test_a_protocol_that_comes_to_an_end_is_checked_completely():
    """With three tickets the lock is over after three visits; no path is longer than nine steps."""
    spec, properties, _, _ = CASES["lock"]
    promises = {n: p for n, p in properties.items() if p.kind == "always"}
    result = check(spec, promises, {"customers": 2, "tickets": 3}, 50)
    assert all(f.verdict == "holds" and f.complete for f in result.findings.values())
    assert {f.depth for f in result.findings.values()} == {10}


def test_an_exhausted_limit_is_unknown():
    """With next to no resources Z3 gives up, and says how deep it came."""
    spec, properties, bounds, _ = CASES["allocation"]
    findings = check(spec, properties, bounds, 8, rlimit=1).findings.values()
    assert {f.verdict for f in findings} <= {"unknown", "holds"}
    assert any(f.verdict == "unknown" and f.depth < 8 for f in findings)


def test_bounds_that_say_too_little_are_refused():
    """A missing budget, and a constant against its axiom, are errors that name what is wrong."""
    spec, properties, bounds, _ = CASES["allocation"]
    with pytest.raises(ModelError, match="crashes"):
        check(spec, properties, {k: v for k, v in bounds.items() if k != "crashes"}, 1)
    with pytest.raises(ModelError, match="axiom"):
        check(spec, properties, bounds | {"size": 0}, 1)
