"""What is told of a run: who takes each step, what it changes, and what holds after it."""

import pytest
from fencepost.model.language import Map, Nat, Properties, Protocol, Set, Sort, action, exists, forall, implies, lemma
from fencepost.model.language.tracing.methods import PASSIVE
from fencepost.model.language.tree.types import AtomsType
from fencepost.proofs.cli.shared.pages import story_of
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.pages.stories import CENTRE, Story, others_of
from fencepost.proofs.readings.failing import failing
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event, Trace
from fencepost.properties.catalogue import bounds_of, find, protocols


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
    said = "transaction 1, which was never asked to commit, is committed in partition 0"
    assert late.verdict == f"broken after {len(late.steps)} steps: {said}" and not late.good
    assert first.sentence == said and not any(one.sentence for one in late.properties[1:])
    assert late.about[0] == (
        "What fails for transaction 1, partition 0: if fate[t, p] = COMMITTED then choice[t] = COMMIT. "
        "There fate[1, 0] is COMMITTED, choice[1] is NONE."
    )
    assert first.broken_at == len(late.steps) == len(late.states) - 1
    assert first.holds == (*[True] * len(late.steps), False)
    others = [one for one in late.properties if one.name != late.asked]
    assert others and all(all(one.holds) for one in others)


def test_lanes_are_actors(late: Story) -> None:
    """The model says who takes a step and whom it reaches; the owner of a transaction is looked up."""
    assert late.lanes == ("client 0", "coordinator", "partition 0")
    for step in late.steps:
        assert step.lane not in step.reaches
    routes = {step.action: (late.lanes[step.lane], *(late.lanes[to] for to in step.reaches)) for step in late.steps}
    assert routes["start"] == ("client 0",)
    assert routes["ask to add partition"] == ("client 0", "coordinator")
    assert routes["add partition"] == ("coordinator", "client 0")
    assert (routes["ask"], routes["verify"]) == (("partition 0", "coordinator"), ("coordinator", "partition 0"))
    assert (routes["append"], routes["mark"]) == (("partition 0",), ("coordinator", "partition 0"))


def test_where_the_model_names_no_actor_the_first_sort_does() -> None:
    reported = story("group-fencing/draft", "nothing_twice")
    routes = {s.action: (reported.lanes[s.lane], *(reported.lanes[to] for to in s.reaches)) for s in reported.steps}
    assert CENTRE not in reported.lanes and routes["rebalance"][0] == "coordinator"
    assert routes["commit"] == ("member 1", "partition 0") and routes["send"] == ("member 1", "coordinator")
    said = "an input is processed twice in what is committed, by step 15, commit(member 1)"
    assert reported.verdict == f"broken after 15 steps: {said}"
    assert reported.about[0] == "What fails: not (twice). There twice is yes."


class Room(Sort, bound="rooms"):
    """A `Room` has a lamp."""


class Lamps(Protocol):
    on: Set[Room]
    level: Map[Room, Nat]

    @action
    def switch(s, r: Room):
        s.on[r] = True


class LampsProperties(Properties, of=Lamps):
    @lemma
    def no_pair(s):
        """No two rooms are lit."""
        return ~exists(Room, Room, lambda r, q: (r != q) & s.on[r] & s.on[q])

    @lemma
    def lit_by_level(s):
        """Each room is lit at a level."""
        return forall(Room, lambda r: (s.level[r] <= 3) & implies(s.on[r], s.level[r] >= 1))


def test_the_instance_that_fails() -> None:
    """The first, in order of the sorts' members; of a conjunction the part that is false, with its values."""
    plain = Plain(Lamps.spec, {}, {"rooms": 3})
    dark = plain.initial()
    lit = dark | {"on": {(1,): True, (2,): True}}
    event = Event("switch", {"r": 1})
    trace = Trace((dark, lit), (event,))
    properties = LampsProperties.properties
    pair = failing(plain, properties["no_pair"], trace, 1)
    assert pair is not None and pair.members == ("room 1", "room 2")
    assert pair.values == ("on[1] is yes", "on[2] is yes")
    assert pair.sentence == "on of room 1 is yes, and on of room 2 is yes"
    level = failing(plain, properties["lit_by_level"], trace, 1)
    assert level is not None and level.sentence == "on of room 1 is yes, and level of room 1 is below 1"
    assert (level.says, level.values) == ("if on[r] then 1 <= level[r]", ("on[1] is yes", "level[1] is 0"))


def test_parameters_are_words(late: Story) -> None:
    assert late.steps[-1].words == "partition 0, epoch 1, commit yes, term 0"


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
    said = "the record of transaction 0 in partition 0 stays undecided for ever"
    assert (reported.verdict, reported.broken_at, reported.loop) == (
        f"broken by a run that never ends: {said}",
        None,
        trace.loop,
    )


def test_every_promise_has_a_headline_of_its_own() -> None:
    """Of the main variants' promises and services; of what has none, such as lemmas, it is derived."""
    without = {
        f"{entry.name}/{variant.name}: {name}"
        for entry in protocols().values() for variant in entry.variants if variant.main
        for name, one in variant.asked.items()
        if one.role in ("promise", "step", "progress") and not one.broken
    }  # fmt: skip
    assert not without


def test_every_action_has_an_actor() -> None:
    """The model names it, or the first parameter of a sort is one; and whom it names has a lane."""
    for entry in protocols().values():
        for variant in entry.variants:
            for step in variant.spec.actions.values():
                first = next((kind.name for _, kind in step.parameters if isinstance(kind, AtomsType)), "")
                assert step.by or first not in {*PASSIVE, ""}, f"{entry.name}/{variant.name}: {step.name}"
            assert CENTRE not in others_of(variant.spec)
