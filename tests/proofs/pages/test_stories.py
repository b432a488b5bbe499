"""What is told of a run: who takes each step, what it changes, and what holds after it."""

import pytest
from fencepost.proofs.cli.shared.pages import story_of
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.pages.stories import CENTRE, Story
from fencepost.properties.catalogue import bounds_of, find


def story(name: str, asked: str) -> Story:
    """A shortest run that breaks a property, or reaches it."""
    entry, variant = find(name)
    assert variant is not None
    bounds, prop = bounds_of(variant, "smoke"), variant.asked[asked]
    made = explore(variant.spec, {asked: prop}, bounds, stop_when_violated=True)
    return story_of(entry, variant, variant.spec, prop, bounds, made.traces[asked])


@pytest.fixture(scope="module")
def late() -> Story:
    """KAFKA-17754."""
    return story("transactions/v1-verified", "nothing_committed_unasked")


def test_what_is_broken_is_reported_where_it_is(late: Story) -> None:
    """The property that was asked for is the first, and breaks at the end of a shortest run and not before."""
    first = late.properties[0]
    assert (first.name, first.rule) == (late.asked, "txn.P3")
    assert late.verdict == f"broken after {len(late.steps)} steps" and not late.good
    assert first.broken_at == len(late.steps) == len(late.states) - 1
    assert first.holds == (*[True] * len(late.steps), False)
    others = [one for one in late.properties if one.name != late.asked]
    assert others and all(all(one.holds) for one in others)


def test_lanes_are_processes(late: Story) -> None:
    assert late.lanes == ("client 0", CENTRE, "partition 0")
    for step in late.steps:
        assert step.lane not in step.reaches
    by_name = {step.action: step for step in late.steps}
    assert late.lanes[by_name["start"].lane] == "client 0"
    appends = by_name["append"]
    assert (late.lanes[appends.lane], [late.lanes[to] for to in appends.reaches]) == (CENTRE, ["partition 0"])


def test_what_the_model_does_not_have_stands_with_the_verdict(late: Story) -> None:
    _, variant = find("transactions/v1-verified")
    assert variant is not None
    assert len(late.left_out) == len(variant.spec.outside) > 0


def test_steps_cite_the_rules_that_they_follow(late: Story) -> None:
    """Each is told once, in the words of the ledger."""
    cited = {number for step in late.steps for number in step.rules}
    assert cited == late.rules.keys()
    assert all(late.rules.values())


def test_a_witness_is_no_trouble() -> None:
    reported = story("kip618-yardstick/yardstick", "a_second_count")
    assert reported.good and reported.verdict == "reached after 7 steps"
    assert reported.properties[0].holds[-1] and not any(reported.properties[0].holds[:-1])
    assert reported.broken_at is None


def test_an_endless_run_has_no_step_that_breaks() -> None:
    """What is promised of the end is broken by no state, and by none of another promise."""
    entry, variant = find("transactions/v1-hanging")
    assert variant is not None
    [(name, asked)] = [
        (n, p) for n, p in variant.asked.items() if variant.expected.get(n) == "violated" and p.kind == "eventually"
    ][:1]
    for bounds in variant.progress_bounds:
        trace = check_progress(explore(variant.spec, {name: asked}, bounds))[name].trace
        if trace is not None:
            break
    assert trace is not None
    reported = story_of(entry, variant, variant.spec, asked, bounds, trace)
    assert (reported.verdict, reported.broken_at, reported.loop) == (
        "broken by a run that never ends",
        None,
        trace.loop,
    )
