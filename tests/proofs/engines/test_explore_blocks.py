"""What goes through states by blocks leaves none out: levels of as many states as a block has, of one more and of one
less, against a plain search over pairs of numbers."""

import functools
from collections.abc import Mapping
from importlib import import_module
from math import comb
from typing import Any

import pytest
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language import Nat, Protocol, action, danger, not_of_this, require
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property
from fencepost.model.language.tree.terms import boolean, both, constant, negation, state, term
from fencepost.model.language.tree.types import NAT, scalar
from fencepost.proofs.engines.explore import Exploration, explore, presences, search, traces
from fencepost.proofs.engines.explore.compiled_search import compiled
from fencepost.proofs.engines.explore.emit import kind_of
from fencepost.proofs.engines.explore.fewest_switches import fewest_switches
from fencepost.proofs.engines.explore.graph import graph
from fencepost.proofs.engines.explore.reductions import symmetry
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties
from layouts import outcome

TOP = 5
YARDSTICK = {"workers": 2, "tasks": 1, "log": 4}
Pair = tuple[int, int]


class Along(Nat, upto="top"):
    """How far along one side."""


class Grid(Protocol):
    """A walk from one corner of a grid to the other: its levels have 1, 2, … TOP + 1, … 2, 1 states."""

    x: Along
    y: Along
    outside = not_of_this("it is no protocol")

    @action
    def right(s):
        """One to the right."""
        require(s.x < TOP)
        s.x = s.x + 1

    @action
    def up(s):
        """One up."""
        require(s.y < TOP)
        s.y = s.y + 1

    @danger("zombie")
    def last_of_its_level(s):
        """At the edge, where levels end in the order of sets, or begin."""
        return (s.x == TOP) & (s.y == 1)


SPEC = settle(Grid.spec)


@functools.cache
def plainly() -> tuple[list[list[Pair]], int]:
    """The levels, and the number of steps."""
    levels, steps, seen = [[(0, 0)]], 0, {(0, 0)}
    while levels[-1]:
        following: list[Pair] = []
        for x, y in levels[-1]:
            for after in ((x + 1, y), (x, y + 1)):
                if max(after) <= TOP:
                    steps += 1
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
        levels.append(following)
    return levels[:-1], steps


def never_at() -> Mapping[str, Property]:
    """For each state: that it is never reached, so that leaving out any one is seen."""
    found, kind = {}, scalar(Along)
    for x, y in (pair for level in plainly()[0] for pair in level):
        here = both(*(boolean("eq", state(n, kind), constant(v, kind)) for n, v in (("x", x), ("y", y))))
        found[f"{x} {y}"] = Property(f"{x} {y}", "lemma", None, (negation(here),), (), None, "")
    return found


def no_right_from_the_middle() -> Property:
    """Broken by several steps of one level, of which the first is told."""
    kind = scalar(Along)
    x, after, y = state("x", kind), state("x", kind, True), state("y", kind)
    apart = negation(boolean("eq", term("add", (x, y), None, NAT), constant(4, NAT)))
    return Property(
        "s", "step", None, (negation(both(negation(apart), negation(boolean("eq", x, after)))),), (), None, ""
    )


def explored(size: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> Exploration:
    """The grid, in blocks of this size."""
    for module in (search, traces, presences):
        monkeypatch.setattr(module, "BLOCK", size)
    monkeypatch.setattr(search, "SMALL", 1)
    monkeypatch.setattr(search, "CHUNK", 3)
    return explore(SPEC, {**never_at(), "s": no_right_from_the_middle()}, {"top": TOP}, threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_no_state_is_left_out(size: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is expanded, and asked whether it breaks something, at its level."""
    levels, steps = plainly()
    found = explored(size, threads, monkeypatch)
    assert found.levels == [len(level) for level in levels]
    assert (found.generated - 1, found.complete, found.deadlocks) == (steps, True, 1)
    depths = {f"{x} {y}": depth for depth, level in enumerate(levels) for x, y in level}
    assert {name: found.traces.steps(name) for name in found.violated} == {**depths, "s": 5}
    assert found.traces["s"] == explored(1 << 15, 1, monkeypatch).traces["s"]
    assert found.met == {"last_of_its_level": TOP + 1}
    for name, depth in depths.items():
        assert len(found.traces[name].events) == depth


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_graphs_and_calm_runs(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph has every step, and a calmest run is found among all that are as short, of which no count is smaller."""
    found = explored(search.BLOCK, 1, monkeypatch)
    for module in ("graph", "fewest_switches"):
        monkeypatch.setattr(import_module(f"fencepost.proofs.engines.explore.{module}"), "BLOCK", size)
    made = graph(found)
    assert (made.states, made.source.size) == (found.distinct, plainly()[1])
    for name, asked in never_at().items():
        x, y = map(int, name.split())
        run = fewest_switches(found, asked, lambda event: event.action)
        assert run is not None and (run.runs, run.changes) == (comb(x + y, x), min(x, y, 1))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_least_names_of_every_state(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of states that differ in names alone the same ones are kept."""
    spec, properties = settle(Kip618Yardstick.spec), Kip618YardstickProperties.properties
    given: dict[str, Any] = {"symmetry": True, "threads": 1, "max_depth": 5}
    whole = explore(spec, properties, YARDSTICK, **given)
    monkeypatch.setattr(symmetry, "BLOCK", size)
    assert outcome(explore(spec, properties, YARDSTICK, **given)) == outcome(whole)


@pytest.mark.parametrize("threads", [1, 3])
def test_compiled_code_takes_every_row(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns of three rows, and of one where that is left."""
    pytest.importorskip("numba", reason="needs the extra fast")
    spec, properties = settle(Kip618Yardstick.spec), Kip618YardstickProperties.properties
    expected = outcome(explore(spec, properties, YARDSTICK, max_depth=9))
    for name, value in (("FEWEST_ROWS", 1), ("ROWS", 3), ("CHECKED", 3), ("SMALL", 8)):
        monkeypatch.setattr(compiled, name, value)
    found = explore(spec, properties, YARDSTICK, max_depth=9, threads=threads, engine="numba")
    assert outcome(found) == expected and 1 in {count % 3 for count in found.levels[1:-1]}


@pytest.mark.parametrize("size", [1, 3, 1 << 15])
def test_a_step_that_one_state_of_a_level_breaks(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found wherever the state lies in its block."""
    for module in (search, traces):
        monkeypatch.setattr(module, "BLOCK", size)
    kind = scalar(Along)
    x, after, y = state("x", kind), state("x", kind, True), state("y", kind)
    for at, other in plainly()[0][4]:
        here = both(*(boolean("eq", n, constant(v, kind)) for n, v in ((x, at), (y, other))))
        stays = negation(both(here, negation(boolean("eq", x, after))))
        found = explore(SPEC, {"s": Property("s", "step", None, (stays,), (), None, "")}, {"top": TOP})
        assert found.traces.steps("s") == 5
        assert found.traces["s"].states[-2] == {"x": at, "y": other}


class Far(Nat, upto="far"):
    """A number that takes more than a byte."""


class Near(Nat, upto="near"):
    """One that takes no more."""


class Rest(Protocol):
    """What is left of a number."""

    far: Far
    near: Near

    @action
    def further(s):
        """One more."""
        s.far = s.far + 1

    @action
    def look(s):
        """How much it is beyond 200."""
        s.near = s.far - 200


def test_numbers_beyond_a_byte_leave_small_differences() -> None:
    """A difference is computed in a column wide enough for what it is a difference of."""
    found = explore(settle(Rest.spec), {}, {"far": 300, "near": 100})
    assert found.distinct == sum(max(0, far - 200) + 1 for far in range(301))


def test_columns_are_as_wide_as_their_numbers() -> None:
    """No column of a kernel is narrower than a number in it, at both ends of each width; beyond the widest is an
    error."""
    ends = {"U8": (0, 255), "I16": (-(2**15), 2**15 - 1), "I32": (-(2**31), 2**31 - 1), "I64": (-(2**63), 2**63 - 1)}
    for kind, (low, high) in ends.items():
        assert (kind_of(low, high), kind_of(0, high)) == (kind, kind)
        assert kind_of(low, 0) == kind
    wider = [kind_of(0, high + 1) for _, high in [*ends.values()][:-1]] + [kind_of(-1, 0)]
    assert wider == ["I16", "I32", "I64", "I16"]
    for low, high in ((0, 2**63), (-(2**63) - 1, 0)):
        with pytest.raises(OverflowError, match="beyond 64 bits"):
            kind_of(low, high)
