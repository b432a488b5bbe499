"""618.30, .31, .36, .39, .45: an offsets topic of a connector's own, as both texts have it, and after a downgrade.

A changed number of steps is a changed model, and has to be argued for.
"""

import pytest
from fencepost.model.language.derived.mutations import mutations
from fencepost.proofs.engines.explore import coverage, explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.results import Trace
from fencepost.properties.entries import Profile, Variant, bounds_of
from fencepost.properties.source_offsets.variants import MIGRATING_VARIANTS

BY_NAME = {variant.name: variant for variant in MIGRATING_VARIANTS}
MAIN = [variant for variant in MIGRATING_VARIANTS if variant.main]
WRONG = [variant for variant in MIGRATING_VARIANTS if not variant.main]
RESUMES, OLDER, GROWS, BEGINS = "resumes_in_step", "older_in_step", "separate_only_grows", "begins"

BROKEN = {
    "migration-race": {GROWS: 16, RESUMES: 18},  # H8
    "migration-fenced-late": {GROWS: 16, RESUMES: 18},
    "copied": {RESUMES: 8},
    "migration-piecemeal": {RESUMES: 9},
    "migration-not-waited-for": {RESUMES: 3},
    "migration-without-sentinel": {BEGINS: 6},
    "stale-topic": {RESUMES: 9},
    "downgrade-before-copies": {OLDER: 5},
}
"""What each mistake breaks, and in how few steps."""

MUTATIONS = {
    ("merged-at-the-start", "618.31", "global_first"): {RESUMES, GROWS},
    ("merged-at-the-start", "618.31", "separate_alone"): {RESUMES},
    ("migration-sentinel", "618.30", "each_by_itself"): {RESUMES, GROWS},
    ("migration-sentinel", "618.30", "fill: guard 1 dropped"): {RESUMES},
    ("migration-sentinel", "618.30", "filled_again"): {RESUMES, GROWS},
    ("migration-sentinel", "618.30", "no_sentinel"): {BEGINS},
    ("migration-sentinel", "618.30", "over_running_tasks"): {RESUMES},
    ("migration-sentinel", "618.45", "by_whomever"): {RESUMES, GROWS},
    ("migration-sentinel", "618.45", "not_waited_for"): {RESUMES, GROWS},
    ("downgrade-and-back", "618.31", "global_first"): {RESUMES, OLDER},
    ("downgrade-and-back", "618.31", "separate_alone"): {RESUMES, OLDER},
    ("downgrade-and-back", "618.36", "at_once"): {RESUMES, OLDER},
    ("downgrade-and-back", "618.36", "delete_topic: never"): {BEGINS},
    ("downgrade-and-back", "618.36", "fence_older: guard 1 dropped"): {RESUMES},
}
"""What fails where a rule is read wrongly."""


def failed(variant: Variant, spec: object, bounds: dict[str, int]) -> dict[str, int]:
    """Which promises, and which progress, with the number of steps."""
    asked = {n: p for n, p in variant.asked.items() if p.role in ("promise", "step", "progress")}
    made = explore(spec, asked, bounds)  # type: ignore[arg-type]
    found = {n: made.traces.steps(n) for n in made.violated}
    for name, result in check_progress(made).items():
        if result.verdict == "violated":
            assert result.trace is not None
            found[name] = len(result.trace)
    return found


def trace_of(name: str, promise: str) -> Trace:
    variant = BY_NAME[name]
    return explore(variant.spec, {promise: variant.asked[promise]}, bounds_of(variant, "smoke")).traces[promise]


@pytest.mark.parametrize("variant", MAIN, ids=lambda v: v.name)
def test_proved(variant: Variant) -> None:
    """Without bounds: the promises, and that all this is to tasks one topic that nothing is moved out of."""
    proof = prove(variant.spec, variant.kept)
    assert [o for o in proof.obligations if o.verdict != "holds"] == []
    assert proof.verdicts["as_one_topic"] == proof.verdicts[RESUMES] == "holds"


@pytest.mark.parametrize("variant", MAIN, ids=lambda v: v.name)
@pytest.mark.parametrize("profile", ["smoke", pytest.param("nightly", marks=pytest.mark.nightly)])
def test_explored(variant: Variant, profile: Profile) -> None:
    """Each state within bounds is as it should be, and each witness is reached."""
    made = explore(variant.spec, variant.asked, bounds_of(variant, profile))
    assert made.complete
    assert {n: v for n, v in made.verdicts.items() if v != "holds"} == {}


@pytest.mark.parametrize("variant", MAIN, ids=lambda v: v.name)
def test_each_step_of_the_one_topic_is_taken(variant: Variant) -> None:
    """No part of the refinement is idle."""
    item = variant.asked["as_one_topic"]
    found = coverage(explore(variant.spec, {item.name: item}, bounds_of(variant, "smoke")), item.name)
    assert found and all(found.values())


@pytest.mark.parametrize("variant", [v for v in MAIN if v.progress_bounds], ids=lambda v: v.name)
def test_tasks_begin(variant: Variant) -> None:
    """What they wait for comes in the end."""
    for bounds in variant.progress_bounds:
        made = explore(variant.spec, {BEGINS: variant.asked[BEGINS]}, bounds)
        assert check_progress(made)[BEGINS].verdict == "holds"


@pytest.mark.parametrize("variant", WRONG, ids=lambda v: v.name)
def test_broken(variant: Variant) -> None:
    """What each mistake breaks, after how many steps at the least."""
    bounds = dict(variant.progress_bounds[0] if variant.progress_bounds else bounds_of(variant, "smoke"))
    assert failed(variant, variant.spec, bounds) == BROKEN[variant.name]
    assert set(BROKEN[variant.name]) == set(variant.expected)


@pytest.mark.parametrize("key", MUTATIONS, ids=" ".join)
def test_every_part_of_a_rule_is_needed(key: tuple[str, str, str]) -> None:
    """A part of a rule that is left out costs one of these."""
    variant = BY_NAME[key[0]]
    mutated = next(m for m in mutations(variant.properties.protocol.spec) if (m.rule, m.name) == key[1:]).apply()
    bounds = bounds_of(variant, "smoke") | ({"records": 3} if "workers" in bounds_of(variant, "smoke") else {})
    assert set(failed(variant, mutated, bounds)) == MUTATIONS[key]


def test_no_part_is_left_out() -> None:
    """These are all ways to get these rules wrong."""
    found = {(v.name, m.rule, m.name) for v in MAIN for m in mutations(v.properties.protocol.spec)}
    assert found == set(MUTATIONS)


def test_a_stale_copy_is_written_over_newer_offsets() -> None:
    """H8: one owner takes what is in the global topic and stalls; another one fills the topic, tasks commit more, and
    then the first one's copy takes them back."""
    trace = trace_of("migration-race", RESUMES)
    actions = [event.action for event in trace.events]
    assert actions.count("take") == actions.count("fill") == 2
    late = len(actions) - 1 - actions[::-1].index("fill")
    assert "commit" in actions[:late] and "commit" not in actions[late:]
    assert trace.states[late]["in_separate"][(0,)] > trace.states[late + 1]["in_separate"][(0,)]
    assert actions[-1] == "start"


def test_a_fence_after_the_look_is_none() -> None:
    """The stalled owner looks before, and opens its producer after the other one has filled the topic."""
    actions = [event.action for event in trace_of("migration-fenced-late", RESUMES).events]
    assert actions.index("look") < actions.index("fill") < len(actions) - 1 - actions[::-1].index("open_producer")


def test_a_copy_misses_what_tasks_store_meanwhile() -> None:
    """618.39: the copy is taken when tasks of the set before run, one of which commits more; in the same order of
    events the merged view has it, since nothing is read before those tasks are fenced."""
    trace = trace_of("copied", RESUMES)
    actions = [event.action for event in trace.events]
    assert actions.index("take") < actions.index("commit_older") < actions.index("fence_older") < actions.index("start")
    last = trace.states[-1]
    assert any(last["in_global"][p] == last["output"][p] > last["position"].get(p, 0) for p in last["in_global"])


def test_a_stale_topic_has_the_last_word() -> None:
    """618.36: a record that the old software has committed is repeated, as the separate topic was never deleted."""
    actions = [event.action for event in trace_of("stale-topic", RESUMES).events]
    assert "downgrade" in actions and "delete_topic" not in actions
    assert "commit_older" in actions[actions.index("downgrade") :] and actions[-1] == "start"


def test_deleting_does_not_help_a_downgrade_that_came_too_soon() -> None:
    """What was not yet copied to the global topic is repeated by the old software itself, with or without deletion."""
    actions = [event.action for event in trace_of("downgrade-before-copies", OLDER).events]
    assert actions[-1] == "downgrade" and "copy" not in actions
