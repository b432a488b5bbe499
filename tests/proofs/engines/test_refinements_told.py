"""What is said of a refinement: why a step is none of the core's, which of the core's steps there were, and in the
reports of a variant."""

from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from command_line import fencepost
from fencepost.model.language import Properties, Protocol, action, each, promise, refinement, require, rule, witness
from fencepost.model.language.derived.refinements import Refinement
from fencepost.proofs.engines.explore import coverage, explore, unsaid
from fencepost.proofs.engines.refinements import explain
from fencepost.proofs.engines.run_engines import run_explore, run_induction
from fencepost.proofs.necessity.search import necessity
from fencepost.proofs.results import Result
from fencepost.proofs.verify import verify
from fencepost.properties.catalogue import ProtocolEntry, Variant
from refinement_leases import Flushed, FlushedTwice, FromArrival, FromGrant, Spare, Unchecked
from refinement_protocols import (
    AtFinish,
    Atomic,
    AtPrepare,
    Count,
    EachAtFinish,
    EachFromOne,
    EachUntilTwo,
    FromOne,
    Twice,
    TwoSteps,
)

BOUNDS = dict(nodes=2, counts=4, terms=4, losses=1, spare=2, slots=3)


def item_of(properties: type[Properties]) -> Refinement:
    (item,) = (p for p in properties.properties.values() if isinstance(p, Refinement))
    return item


WORDS = {
    AtPrepare: """\
prepare(n=0) is no step of Atomic, of which it changes
       has[0]: no -> yes
the nearest of its steps is commit(n=0), but
       it makes total 1, not 0""",
    Twice: """\
finish(n=0) is no step of Atomic, of which it changes
       total: 1 -> 2
the nearest of its steps is commit(n=0), but
       it needs not has[n]""",
    FromArrival: """\
grant(n=0) is no step of Lease, of which it changes
       term: 1 -> 2
       owner[2]: none -> 0
the nearest of its steps is acquire(n=0, t=2), but
       it makes holding[0] yes, not no""",
    Unchecked: """\
grant(n=0) is no step of Lease, of which it changes
       term: 2 -> 3
       holding[0]: no -> yes
       owner[3]: none -> 0
the nearest of its steps is acquire(n=0, t=3), but
       it needs for every m: not holding[m]""",
    FlushedTwice: """\
flush(e=0) is no step of Log, of which it changes
       log: (1, 0) -> (1, 0, 0)
the nearest of its steps is write(e=0), but
       it needs log at length of log != e""",
    FromOne: """\
the initial state is none of Atomic
       it starts as total 0, not 1""",
    EachUntilTwo: """\
finish(n=1) is no step of Single for n = 0, of which it changes
       has: yes -> no
the nearest of its steps is commit(), but
       it needs not has
       it makes has yes, not no""",
    EachFromOne: """\
the initial state is none of Single for n = 0
       it starts as has no, not yes""",
    Spare: """\
the initial state is none of OneSpare
       the constants do not satisfy its axioms""",
}


@pytest.mark.parametrize("properties", WORDS, ids=lambda p: p.__name__)
def test_why_a_step_is_none_of_the_core_s(properties: type[Properties]) -> None:
    """What it changes of the core, and the nearest of the core's steps with its false guard or wrong value."""
    item, spec = item_of(properties), properties.protocol.spec
    trace = explore(spec, properties.properties, BOUNDS).traces[item.name]
    assert "\n".join(explain(item, spec, BOUNDS, trace)) == WORDS[properties]


COVERED = {
    AtFinish: {"commit": ("finish",), "reset": ()},
    FromGrant: {"acquire": ("grant",), "release": ("give_back", "lose")},
    Flushed: {"write": ("flush",), "learn": ("learn",)},
    EachAtFinish: {"commit": ("finish",)},
}


@pytest.mark.parametrize("properties", COVERED, ids=lambda p: p.__name__)
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_which_steps_of_the_core_there_were(properties: type[Properties], engine: str) -> None:
    """By action of the core, and none for one that is never taken.  The second engine names one action for each."""
    item = item_of(properties)
    made = explore(properties.protocol.spec, {item.name: item}, BOUNDS, engine=engine)
    covered = coverage(made, item.name)
    if engine == "numpy":
        assert covered == COVERED[properties]
    else:
        assert {core: bool(by) for core, by in covered.items()} == {
            c: bool(by) for c, by in COVERED[properties].items()
        }
        assert all(set(by) <= set(COVERED[properties][core]) for core, by in covered.items())


def test_a_search_on_disk_is_of_one_mapping(tmp_path: Path) -> None:
    """Another mapping of that name is judged anew, and finds what it breaks; one that goes on says which steps there
    were."""
    for properties in (AtFinish, AtPrepare):
        item = replace(item_of(properties), name="refines")
        made = explore(properties.protocol.spec, {item.name: item}, BOUNDS, checkpoint=tmp_path)
        assert (made.resumed, bool(made.violated)) == (0, properties is AtPrepare)
        again = explore(properties.protocol.spec, {item.name: item}, BOUNDS, checkpoint=tmp_path)
        assert again.resumed == again.distinct and again.verdicts == made.verdicts
        if properties is AtFinish:
            taken = {core for core, by in coverage(again, item.name).items() if by}
            assert taken == {core for core, by in COVERED[properties].items() if by}


class Idle(Properties, of=TwoSteps):
    """A mapping that says nothing."""

    @refinement(of=Atomic)
    def atomic(s):
        """The core stands still."""
        return dict(total=0, has=each(lambda n: s.total < 0))


def test_a_refinement_that_only_stutters_is_noticed() -> None:
    """It holds, and none of the core's steps is ever taken."""
    made = explore(TwoSteps.spec, {"atomic": item_of(Idle)}, BOUNDS)
    assert made.verdicts == {"atomic": "holds"}
    assert coverage(made, "atomic") == {"commit": (), "reset": ()}


class Twins(Protocol):
    """A core with two actions that do the same, and one that does nothing."""

    total: Count

    @action
    def one(s):
        s.total = s.total + 1

    @action
    def other(s):
        s.total = s.total + 1

    @action
    def same(s):
        s.total = s.total


class OfTwins(Properties, of=TwoSteps):
    """Of which the refinement names the second, and for another action nothing."""

    @refinement(of=Twins, actions=dict(finish=["other"], prepare=()))
    def twins(s):
        """The total is the total."""
        return {}


class OfTwinsWrongly(Properties, of=TwoSteps):
    """Of which the refinement says the wrong thing."""

    @refinement(of=Twins, actions=dict(finish=(), prepare=["one"]))
    def twins(s):
        """The total is the total."""
        return {}


def test_what_the_search_did_not_come_to_is_looked_for_again() -> None:
    """Each step of the full protocol is both twins; the one that leaves all as it is, no step is told to be."""
    made = explore(TwoSteps.spec, OfTwins.properties, BOUNDS)
    assert coverage(made, "twins") == {"one": ("finish",), "other": ("finish",), "same": ()}
    assert unsaid(made, "twins") == []


def test_hints_decide_nothing_and_wrong_ones_are_reported() -> None:
    """The verdict is the same; the step that the refinement takes for none is reported."""
    made = explore(TwoSteps.spec, OfTwinsWrongly.properties, BOUNDS)
    assert made.verdicts == {"twins": "holds"}
    assert unsaid(made, "twins") == [("finish", "one")]


# In the reports


class Kept(Protocol):
    """What is counted takes two steps, of which the core has one."""

    total: Count
    twice: Count

    @action
    def begin(s):
        require(s.twice == 0)
        s.twice = 1

    @action
    def finish(s):
        require(s.twice == 1)
        s.twice = 0
        with rule("730.8"):
            s.total = s.total + 1


class StableProperties(Properties, of=Kept):
    """A promise that is less than the refinement."""

    @promise(rule="730.P1")
    def few(s):
        """At most one at a time."""
        return s.twice < 2

    @witness(of="few")
    def some(s):
        """One."""
        return s.twice == 1

    @refinement(of=Twins, actions=dict(begin=["other"], finish=["one"]))
    def goes_as_the_twins(s):
        """What is finished counts."""
        return {}


ENTRY = ProtocolEntry(
    "kept", "Kept.", (Variant("main", StableProperties, "as it is", bounds={"smoke": dict(counts=3)}),), {}
)  # fmt: skip


def of_refinement(results: list[Result]) -> Result:
    (found,) = (r for r in results if r.property == "goes_as_the_twins")
    return found


def test_a_line_for_each_engine() -> None:
    """Explored and proved like a step property, with the steps of the core that there were."""
    variant = ENTRY.variants[0]
    explored, _ = run_explore(ENTRY, variant, dict(counts=3))
    found = [of_refinement(r) for r in (explored, run_induction(ENTRY, variant))]
    assert [(r.engine, r.kind, r.verdict) for r in found] == [
        ("explore", "step", "holds"), ("induction", "step", "holds"),
    ]  # fmt: skip
    assert found[0].evidence["taken"] == {"one": ["finish"], "other": ["finish"]}
    assert found[0].evidence["never"] == ["same"]


def test_verify_leaves_open_what_no_step_is() -> None:
    """A step of the core that is never taken is one sentence."""
    made = verify(ENTRY, "smoke", 1, lambda *_: None)
    assert "kept/main: no explored step is Twins's same" in made.open
    assert of_refinement([r for r in made.results if r.engine == "explore"]).as_expected


def test_what_breaks_it_is_reported_in_the_report() -> None:
    """The nearest step of the core, after the run."""
    variant = Variant("wrong", AtPrepare, "too early", bounds={"smoke": BOUNDS})
    entry = replace(ENTRY, variants=(variant,))
    results, _ = run_explore(entry, variant, BOUNDS)
    (found,) = (r for r in results if r.property == "atomic")
    assert found.verdict == "violated"
    assert found.evidence["words"][-4:] == WORDS[AtPrepare].splitlines()


def test_a_refinement_is_no_promise() -> None:
    """A mutant that breaks it and keeps every promise is not killed: the promises are still proved, and its rule is not
    called redundant only because nothing here says that work gets done."""
    found = {n.mutation: n for n in necessity(ENTRY, "smoke", rule="730.8")}
    mutant = found["finish: total one more"]
    assert (mutant.verdict, mutant.promise) == ("survives-bounded", None)
    assert mutant.evidence[0] == "no property of this variant says that work still gets done"
    item = StableProperties.properties["goes_as_the_twins"]
    assert explore(mutant.spec, {item.name: item}, dict(counts=3)).violated == [item.name]


def test_only_main_variants_are_asked() -> None:
    """A rejected alternative need not refine anything."""
    variant = replace(ENTRY.variants[0], rule="730.17")
    assert "goes_as_the_twins" in ENTRY.variants[0].asked
    assert "goes_as_the_twins" not in variant.asked


def test_show_ends_with_the_nearest_step() -> None:
    """The command line tells the run that breaks a refinement, and why it does."""
    entry = replace(ENTRY, variants=(Variant("wrong", AtPrepare, "too early", bounds={"smoke": BOUNDS}),))
    with mock.patch("fencepost.properties.catalogue.protocols", lambda: {entry.name: entry}):
        ran = fencepost("show", "kept/wrong", "atomic")
    assert WORDS[AtPrepare] in ran.out
    assert ran.code == 1
