"""Random walks through a model: aimed ones reach what plain ones miss, by runs from the initial state that anybody can
check."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from fencepost.proofs.engines.explore import explore, sets
from fencepost.proofs.engines.explore.emit import columns
from fencepost.proofs.engines.explore.fewest_switches import changes_of_process
from fencepost.proofs.engines.explore.traces import runs_to, state_at
from fencepost.proofs.engines.simulate import Starts, Wandering, shortening, starts, wander
from fencepost.proofs.engines.simulate.distance import distance, lower
from fencepost.proofs.engines.simulate.walks import Walker
from fencepost.proofs.pages.stories import lane_of
from fencepost.proofs.results import Event, Trace
from fencepost.properties.catalogue import Variant, bounds_of, find, protocols

BUDGET = 10_000
"""Steps, those of the runs at the start included: a fifth of what plain walks spend in vain (the nightly test)."""
MISTAKES = ("any-writer", "reclaim", "no-check-after", "fence-new-count")
SHORTEST = {"any-writer": 6, "reclaim": 7, "no-check-after": 17, "fence-new-count": 17}


def variant_of(name: str) -> Variant:
    variant = find(f"kip618-yardstick/{name}")[1]
    assert variant is not None
    return variant


BOUNDS = bounds_of(variant_of("reclaim"), "smoke")


@pytest.fixture(scope="module")
def sources() -> Starts:
    """Runs of the yardstick as it should be, near to where its promises would break.  (About 8 s.)"""
    variant = variant_of("yardstick")
    near = {n: p for n, p in variant.asked.items() if p.role in ("promise", "witness")}
    return starts(variant.spec, near, BOUNDS, 160, seed=1)


def walker_of(variant: Variant, bounds: dict[str, int]) -> Walker:
    return Walker(variant.spec, {n: p for n, p in variant.asked.items() if p.role == "promise"}, bounds)


def assert_is_a_run(variant: Variant, trace: Trace, promise: str) -> None:
    """From the initial state, each step allowed, to where the promise is broken and not before."""
    walker = walker_of(variant, BOUNDS)
    walk, broken = walker.follow(trace.events)
    assert (walk.states, walk.events, broken) == (list(trace.states), list(trace.events), promise)


@pytest.mark.parametrize("name", ["no-check-after", "fence-new-count"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(2, 6))])
def test_aimed_walks_reach_the_deep_mistakes(name: str, seed: int, sources: Starts) -> None:
    """Both are found within the budget, and the run that is told is hardly longer than a shortest."""
    variant = variant_of(name)
    found = wander(variant, BOUNDS, seed=seed, steps=BUDGET, aims=["near"], sources=sources)
    assert found.promise == "no_zombie"
    assert found.trace is not None
    assert SHORTEST[name] <= len(found.trace) <= SHORTEST[name] + 5
    assert_is_a_run(variant, found.trace, "no_zombie")


def test_plain_walks_find_a_shallow_mistake() -> None:
    """Without any aim the machine works as well; it takes what is near."""
    variant = variant_of("any-writer")
    found = wander(variant, BOUNDS, seed=1, steps=BUDGET, aims=[])
    assert (found.promise, found.explored, found.aims) == ("counts_match", 0, ())
    assert found.trace is not None
    assert len(found.trace) == SHORTEST["any-writer"]
    assert_is_a_run(variant, found.trace, "counts_match")


@pytest.mark.parametrize(("name", "seed"), [("kraft-answer-first", 2), ("kraft-threads-without-test", 3)])
def test_what_a_walk_finds_is_made_as_short_as_can_be(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving parts out is not enough for these; the explorer finds no shorter one.  Where the search for a shorter end
    is not let go so far, the run is one all the same, and is not called a shortest."""
    variant = protocols()["id-blocks"].variant(name)
    bounds = bounds_of(variant, "smoke")
    found = wander(variant, bounds, seed=seed, steps=20_000, aims=[])
    assert found.promise is not None and found.trace is not None
    asked = {found.promise: variant.asked[found.promise]}
    made = explore(variant.spec, asked, bounds, stop_when_violated=True)
    assert (found.shortest, len(found.trace)) == (True, made.traces.steps(found.promise))
    monkeypatch.setattr(shortening, "SEARCHED", 1)
    longer = wander(variant, bounds, seed=seed, steps=20_000, aims=[])
    assert longer.trace is not None and longer.promise == found.promise
    assert not longer.shortest and len(found.trace) < len(longer.trace) < longer.raw == found.raw


def test_a_run_stays_with_a_process_for_as_long_as_it_can() -> None:
    """Two owners who take turns, where nothing asks them to."""
    variant = protocols()["id-blocks"].variant("kraft-answer-first")
    bounds = bounds_of(variant, "smoke")
    walker = Walker(variant.spec, {n: p for n, p in variant.asked.items() if p.role in ("promise", "step")}, bounds)
    found = wander(variant, bounds, seed=1, steps=20_000, aims=[])
    assert found.promise is not None and found.trace is not None

    def changes(run: Sequence[Event]) -> int:
        return changes_of_process([lane_of(variant.spec.actions[event.action], event) for event in run])

    orders = [walker.follow(order) for order in permutations(found.trace.events)]
    others = [
        walk.events for walk, broken in orders if broken == found.promise and len(walk.events) == len(found.trace)
    ]
    assert changes(found.trace.events) == min(map(changes, others)) < max(map(changes, others))


def test_the_yardstick_itself_breaks_nothing(sources: Starts) -> None:
    """All aims at once, on a protocol whose promises hold: every step is spent."""
    found = wander(variant_of("yardstick"), BOUNDS, seed=1, steps=4000, sources=sources)
    assert (found.promise, found.trace) == (None, None)
    assert found.steps >= 4000
    assert sum(found.actions.values()) == found.steps


def without_time(found: Wandering) -> Wandering:
    return replace(found, seconds=0.0)


@pytest.mark.parametrize("aims", [(), ("starts", "near", "weights", "targets")], ids=["plain", "aimed"])
def test_the_same_seed_gives_the_same_report(aims: tuple[str, ...]) -> None:
    """Everything but the time; another seed goes elsewhere."""
    small = {"workers": 2, "tasks": 1, "log": 4}

    def once(seed: int) -> Wandering:
        return without_time(wander(variant_of("yardstick"), small, seed=seed, steps=1500, aims=aims))  # type: ignore[arg-type]

    assert once(1) == once(1)
    assert once(1).actions != once(2).actions


@pytest.mark.parametrize("name", ["kip618-yardstick/yardstick", "transactions/core-v2", "id-blocks/zookeeper"])
def test_distances_of_both_readings_are_the_same(name: str) -> None:
    """The plain function and the explorer's column agree, and are 0 exactly where the condition is as sought."""
    variant = find(name)[1]
    assert variant is not None
    bounds = bounds_of(variant, "smoke")
    made = explore(variant.spec, {}, bounds, max_states=3000)
    walker = walker_of(variant, bounds)
    assert made.kernels.ground.lowering is not None
    for item in variant.asked.values():
        if item.role in ("promise", "witness"):
            measure = columns(made.kernels.packing, [lower(made.kernels.ground.lowering, item)])
            far = distance(walker.plain, item)
            for depth in range(0, made.depth, 3):
                level = made.states[depth]
                state = state_at(made.kernels, level, 0)
                assert int(measure(sets.to_words(level))[0][0]) == far(state, None)
                assert (far(state, None) == 0) == (walker.plain.holds(item, state) == (item.role == "witness"))


def test_runs_lead_where_they_should() -> None:
    """Many at once, to states of all depths: each is as long as its level says, and ends in that state."""
    variant = protocols()["id-blocks"].variant("zookeeper")
    bounds = bounds_of(variant, "smoke")
    made = explore(variant.spec, {}, bounds, max_states=20_000)
    places = [(depth, made.levels[depth] // 2) for depth in (*range(made.depth), 3)]
    walker = walker_of(variant, bounds)
    for (depth, row), run in zip(places, runs_to(made.kernels, made.states, places), strict=True):
        walk, _ = walker.follow(run)
        assert (len(run), walk.state) == (depth, state_at(made.kernels, made.states[depth], row))


@pytest.mark.nightly
@pytest.mark.parametrize("name", MISTAKES)
def test_plain_walks_and_the_mistakes(name: str) -> None:
    """Two are found in 50,000 plain steps, and the deep ones are not: what aiming is for.  (A minute each.)"""
    found = wander(variant_of(name), BOUNDS, seed=1, steps=50_000, aims=[])
    assert (found.promise is None) == (SHORTEST[name] > 10)
