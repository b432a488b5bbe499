"""Kept runs: what is found replays; what no longer fits says at which step, and why; progress has to be fair."""

from dataclasses import replace
from pathlib import Path

import pytest
from fencepost.model.language import (
    Bool,
    Map,
    Properties,
    Protocol,
    Sort,
    action,
    fault,
    forall,
    implies,
    leads_to,
    progress,
    promise,
    require,
    rule,
    step,
    witness,
)  # fmt: skip
from fencepost.model.language.derived.mutations import mutated
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity.saved_runs import DoesNotFit, KeptRun, keep, read_runs, replay, write_runs


class Visitor(Sort, bound="visitors"):
    """A visitor."""


class Gate(Protocol):
    """Visitors enter while the gate is open, and are served; the guard on duty looks up and down meanwhile."""

    open: Bool
    opened: Bool
    up: Bool
    inside: Map[Visitor, Bool]
    served: Map[Visitor, Bool]

    @action
    def unlock(s):
        require(~s.open)
        s.open = True
        s.opened = True

    @action
    def enter(s, v: Visitor):
        require(s.open, rule="730.7")
        require(~s.inside[v])
        s.inside[v] = True

    @action(fair="weak")
    def serve(s, v: Visitor):
        require(s.inside[v])
        require(~s.served[v], rule="730.9")
        with rule("730.8"):
            s.served[v] = True

    @action(fair="weak")
    def look(s):
        s.up = ~s.up

    @fault(budget="storms")
    def storm(s):
        require(s.open)
        s.open = False


class GateProperties(Properties, of=Gate):
    """What visitors rely on."""

    @promise(rule="730.P1")
    def by_the_gate(s):
        """Who is inside came when the gate had been opened."""
        return forall(Visitor, lambda v: implies(s.inside[v], s.opened))

    @step(rule="730.P1")
    def stays(old, new):
        """Who is inside stays."""
        return forall(Visitor, lambda v: implies(old.served[v], new.served[v]))

    @progress(rule="730.P3")
    def served_in_the_end(s, v: Visitor):
        """Who is inside is served."""
        return leads_to(s.inside[v], s.served[v])

    @witness(of="by_the_gate")
    def one_inside(s):
        """A visitor is inside."""
        return ~forall(Visitor, lambda v: ~s.inside[v])

    @witness(of="stays")
    def one_served(s):
        """A visitor is served."""
        return ~forall(Visitor, lambda v: ~s.served[v])


SPEC, PROPERTIES = Gate.spec, GateProperties.properties
BOUNDS = dict(visitors=2, storms=1)
NO_GATE = (("730.7", "enter: guard 1 dropped"),)
UNSERVED = (("730.8", "serve: served not updated"),)


def killing(name: str, *steps: str, without: tuple[tuple[str, str], ...] = NO_GATE, loop: int | None = None) -> KeptRun:
    return KeptRun(name, without, "", steps, loop)


def check(run: KeptRun) -> None:
    replay(run, SPEC, PROPERTIES[run.property], BOUNDS)


def test_what_an_exploration_finds_replays(tmp_path: Path) -> None:
    """A run that was found, written and read again has the states that were found; without the mutation it is none."""
    found = explore(mutated(SPEC, NO_GATE), PROPERTIES, BOUNDS).traces["by_the_gate"]
    run = keep("by_the_gate", NO_GATE, "", found)
    write_runs(tmp_path / "kept" / "runs.json", [run])
    [again] = read_runs(tmp_path / "kept" / "runs.json")
    assert again == run
    assert replay(again, SPEC, PROPERTIES["by_the_gate"], BOUNDS).states == found.states
    with pytest.raises(DoesNotFit, match=r"step 1, enter\(v=0\): it is not enabled: open is false \[730.7\]"):
        check(replace(again, without=()))


def test_files_do_not_depend_on_the_order(tmp_path: Path) -> None:
    """The same runs make the same file, a run a line."""
    runs = [killing("by_the_gate", f"enter(v={v})") for v in range(2)]
    write_runs(tmp_path / "one.json", runs)
    write_runs(tmp_path / "two.json", reversed(runs))
    text = (tmp_path / "one.json").read_text()
    assert text == (tmp_path / "two.json").read_text()
    assert len(text.splitlines()) == len(runs) + 2
    assert read_runs(tmp_path / "none.json") == []


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (killing("by_the_gate", "unlock()", "leave(v=0)"), r"step 2, leave\(v=0\): there is no such action"),
        (killing("by_the_gate", "enter(w=0)"), r"step 1, enter\(w=0\): its parameters are v"),
        (killing("by_the_gate", "enter(v=2)"), r"step 1, enter\(v=2\): v is beyond the bounds"),
        (killing("by_the_gate", "look()", "enter(v=0)", "enter(v=0)"), r"step 3, .*: not inside\[v\] is false"),
        (killing("by_the_gate", "unlock()", "storm()", "unlock()", "storm()"), "step 4, .*: there is no storms left"),
        (killing("by_the_gate", "look()"), "by_the_gate holds after the last step"),
        (killing("stays", "enter(v=0)", "serve(v=0)"), "stays holds after the last step"),
        (killing("stays"), "stays holds after the last step"),
        (killing("by_the_gate", "enter(v=0)", without=(("730.7", "enter: guard 9 dropped"),)), "has no mutation"),
        (killing("by_the_gate", "look()", "enter(v=0)", loop=0), "does not come back"),
    ],
)  # fmt: skip
def test_what_does_not_fit(run: KeptRun, why: str) -> None:
    """Each way in which a run can have gone stale is refused, with the step."""
    with pytest.raises(DoesNotFit, match=why):
        check(run)


def test_several_mutations() -> None:
    """A run of a protocol without two of its rules."""
    both = (*NO_GATE, ("730.9", "serve: guard 1 dropped"))
    check(killing("by_the_gate", "look()", "enter(v=1)", "serve(v=1)", "serve(v=1)", without=both))


def test_progress_that_an_engine_refutes_replays() -> None:
    """The lasso that the progress check finds."""
    item = PROPERTIES["served_in_the_end"]
    found = check_progress(explore(mutated(SPEC, UNSERVED), {item.name: item}, BOUNDS))[item.name].trace
    assert found is not None
    run = keep(item.name, UNSERVED, "", found)
    assert replay(run, SPEC, item, BOUNDS).states == found.states


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (("unlock()", "enter(v=0)"), "goes on for ever, and this one ends"),
        (("unlock()", "enter(v=0)", 2), r"not fair: serve\(v=0\) stays enabled"),
        (("unlock()", "enter(v=0)", "look()", "look()", 2), r"not fair: serve\(v=0\) stays enabled"),
        (("unlock()", "look()", "look()", 1), "what served_in_the_end promises comes"),
        (("unlock()", "enter(v=0)", "serve(v=0)", "look()", "look()", 3), "what served_in_the_end promises comes"),
    ],
)
def test_progress_that_is_not_broken(run: tuple[str | int, ...], why: str) -> None:
    """What ends, is unfair, waits for nothing or is served breaks no progress; the protocol is as it should be."""
    steps = tuple(part for part in run if isinstance(part, str))
    loop = run[-1] if isinstance(run[-1], int) else None
    with pytest.raises(DoesNotFit, match=why):
        check(killing("served_in_the_end", *steps, without=(), loop=loop))


def test_a_fair_round_without_what_is_promised() -> None:
    """A round in which all that is owed is done, and which is served by an action that changes nothing."""
    steps = ("unlock()", "enter(v=0)", "look()", "serve(v=0)", "look()")
    check(killing("served_in_the_end", *steps, without=UNSERVED, loop=2))
    with pytest.raises(DoesNotFit, match=r"not fair: serve\(v=0\)"):
        check(killing("served_in_the_end", *steps[:3], "look()", without=UNSERVED, loop=2))
