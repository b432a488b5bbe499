"""What verdicts rest on, over all protocols: claims on promises that are proved of a variant, mutants that survive on a
reason, promises on guards, and refinements on steps that are all taken; and what shortest runs to a violation are like.

The verdicts themselves are computed by `verify` (tests/test_readme.py), and compared with the golden files.
"""

from dataclasses import replace

import golden
import pytest
from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.properties import Property
from fencepost.model.rules import RULES
from fencepost.proofs.engines.explore import coverage, explore, unsaid
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.results import Trace
from fencepost.properties.catalogue import Claim, ProtocolEntry, Variant, bounds_of, features_of, find, protocols
from fencepost.properties.task_counts.variants.full import FULL_SURVIVORS

VERIFIED = [entry for entry in protocols().values() if entry.verified]
CLAIMS = [pytest.param(entry, claim, id=f"{entry.name}-{claim.rule}-{claim.variant}")
          for entry in VERIFIED for claim in entry.claims]  # fmt: skip


def variant_of(name: str) -> Variant:
    found = find(name)[1]
    assert found is not None
    return found


@pytest.mark.parametrize(("entry", "claim"), CLAIMS)
def test_a_claim_rests_on_promises_and_witnesses(entry: ProtocolEntry, claim: Claim) -> None:
    """Of a variant that is as it should be; at least one of each."""
    variant = entry.variant(claim.variant)
    assert variant.main
    assert claim.properties and {variant.promised[n].role for n in claim.properties} <= {"promise", "step", "progress"}
    assert claim.witnesses and {variant.asked[n].role for n in claim.witnesses} == {"witness"}


@pytest.mark.parametrize("entry", VERIFIED, ids=lambda entry: entry.name)
def test_survivors_are_argued_for(entry: ProtocolEntry) -> None:
    """What is neither refuted nor proved has a reason in the catalogue; of the full models of task counts, which are
    not judged by `necessity`, test_rule_mistakes.py finds that nothing refutes them."""
    rows = [line.split(" | ") for line in golden.recorded("necessity", entry.name)]
    surviving = {(row[2], row[3]) for row in rows if row[4] == "survives-bounded"}
    assert surviving == set(entry.survivors) - (set(FULL_SURVIVORS) if entry.name == "task-counts" else set())


QUICK = ("transaction-log", "transactional-offsets", "task-count-connectors")


BY_EFFECTS = {"one_newest_by_the_interface"}
"""Promises that need no guard: to open a producer fences the others of its id, and a mutant without that breaks it."""


def promised(variant: Variant) -> dict[str, Property]:
    """What documents promise of it, and is to be proved."""
    asked = {n: p for n, p in variant.promised.items() if p.role in ("promise", "step") and p.rule}
    return {n: p for n, p in asked.items() if RULES[p.rule or ""].kind in ("promise", "claim")}


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(one, id=f"{name}/{one.name}", marks=() if name in QUICK else pytest.mark.nightly(nights=6))
        for name, entry in protocols().items()
        for one in entry.variants
        if one.main and one.proof and promised(one)
    ],
)
def test_no_promise_holds_without_guards(variant: Variant) -> None:
    """Where any step may happen at any time every promise fails, but for those that an effect alone keeps: one that did
    not would be how the model is written."""
    bare = {name: replace(action, guards=()) for name, action in variant.spec.actions.items()}
    for name, item in promised(variant).items():
        found = prove(replace(variant.spec, actions=bare), {name: item}, counterexamples=False, rlimit=20_000_000)
        assert (found.verdicts.get(name) == "holds") == (name.rpartition(".")[2] in BY_EFFECTS), name


REFINED: dict[str, set[str]] = {
    "group-fencing/shipped-by-requests": {"replace"},
    "group-fencing/shipped-over-core-v2": {"replace"},
    "transactions/core-v2-fated": set(),
    "transactions/core-v2-overlapping-fated": set(),
    "transactions/core-v2-timed-out-fated": set(),
    "task-counts/shipped": set(),
    "task-counts/A": set(),
    "task-counts/B": set(),
    "task-counts/M": set(),
    "source-offsets/reading": set(),
    "source-offsets/merged-at-the-start": set(),
    "source-offsets/migration-sentinel": set(),
    "source-offsets/downgrade-and-back": set(),
}
"""Variants, and the steps of what they refine that theirs never are: static members are in no variant by itself."""


@pytest.mark.parametrize("name", REFINED)
def test_each_step_of_what_is_refined_is_taken(name: str) -> None:
    """Within the bounds that `verify` explores, and no action is another step than the refinement says.  One under
    which every step leaves the core alone would hold as well."""
    variant = variant_of(name)
    [item] = [p for p in variant.asked.values() if isinstance(p, Refinement)]
    taken: dict[str, set[str]] = {}
    for bounds in features_of(variant, "smoke").values():
        made = explore(variant.spec, {item.name: item}, bounds)
        assert made.verdicts[item.name] == "holds" and unsaid(made, item.name) == []
        for step, actions in coverage(made, item.name).items():
            taken.setdefault(step, set()).update(actions)
    assert {step for step, by in taken.items() if not by and item.core.actions[step].dead is None} == REFINED[name]


RUNS = [
    # H8: an owner takes what is in the global topic and stalls; its copy then takes back what tasks committed since
    ("source-offsets/migration-race", "resumes_in_step", "fill commit fill start"),
    # the stalled owner looks before, and opens its producer after the other one has filled the topic
    ("source-offsets/migration-fenced-late", "resumes_in_step", "look fill open_producer"),
    # 618.39: the copy is taken while a task of the set before commits more
    ("source-offsets/copied", "resumes_in_step", "take commit_older fence_older start"),
    # 618.36: a record that the old software has committed is repeated
    ("source-offsets/stale-topic", "resumes_in_step", "downgrade -delete_topic"),
    # 618.32: the end that the task asks for is before a transaction of another task, and before what it has to read
    ("source-offsets/up-to-the-last-stable", "begins_with_all", "write write_of_mine ask finish"),
    # H5: the run of F and O, to the end where O's task stays FAILED
    ("task-counts/shipped-unattended", "polls_in_the_end", "check_after open_producer check_after notice"),
    # a round that is over lets the task of a newer set through, beside one that does not stop in time
    ("task-counts/shipped-released", "no_zombie", "leave_running answer_by_round"),
    ("task-counts/shipped-released-eager", "no_zombie", "leave_running answer_by_round"),
    # 730.16: at the end of the ids brokers ask for ever, and are refused
    ("id-blocks/kraft", "an_id_even_at_the_end", "end_back_off ask refuse"),
    # the answer cache gives a restarted broker its old block once it has registered again
    ("id-blocks/kraft-idempotent", "no_id_twice", "register"),
    # the owner asked for it, was sent away, and finds it done, though no append for it has succeeded
    ("transactions/core-v2-timed-out", "committed_unheard", "commit time_out_end find_ended"),
    # a late EndTxn of v1 with verification ends a transaction that its owner has not begun; in v1 a record comes late
    ("transactions/core-v1-verified-not-fated", "does_as_fated", "begin end."),
    ("transactions/core-v1-not-fated", "does_as_fated", "begin append."),
]
"""A variant, a property that fails, and what happens on the way in this order; with a dash, what does not; with a
full stop, what is the last."""


def shortest(variant: Variant, name: str) -> Trace:
    item = variant.asked[name]
    if item.kind == "eventually":
        every = [check_progress(explore(variant.spec, {name: item}, each))[name] for each in variant.progress_bounds]
        return next(found.trace for found in every if found.trace is not None)
    return explore(variant.spec, {name: item}, bounds_of(variant, "smoke"), stop_when_violated=True).traces[name]


@pytest.mark.parametrize(("name", "broken", "steps"), RUNS, ids=[f"{run[0]} {run[1]}" for run in RUNS])
def test_what_a_shortest_run_is_like(name: str, broken: str, steps: str) -> None:
    actions = [event.action for event in shortest(variant_of(name), broken).events]
    left = iter([*actions[:-1], f"{actions[-1]}.", actions[-1]])
    assert all(step in left for step in steps.split() if not step.startswith("-")), actions
    assert not {step[1:] for step in steps.split() if step.startswith("-")} & set(actions)


@pytest.mark.parametrize("name", ["zookeeper", "bridge"])
def test_weak_fairness_is_enough_for_ids(name: str) -> None:
    """730.P3 needs no luck at the node: the loser of a race has lost it to a block that is used up, and ids end."""
    variant = variant_of(f"id-blocks/{name}")
    assert {action.fair for action in variant.spec.actions.values()} == {"", "weak"}
    assert variant.asked["an_id_in_the_end"].kind == "eventually" and variant.progress_bounds
