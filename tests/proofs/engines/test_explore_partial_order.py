"""Partial order: fewer states, and the same verdicts in as many steps; each rule of the sets that leave steps out is
needed, and each statement on which they rest is true of arbitrary states."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fencepost
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language import Bool, Properties, Protocol, action, lemma, require
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Spec
from fencepost.proofs.engines.explore import Exploration, explore, graph, sets
from fencepost.proofs.engines.explore.reductions import partial_order
from fencepost.proofs.engines.explore.reductions.interference import Interference
from fencepost.proofs.engines.explore.reductions.partial_order import PartialOrder
from fencepost.proofs.readings.ground import Ground, Instance, Node, evaluate, ground
from fencepost.properties.catalogue import Variant, bounds_of, find, protocols
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties
from layouts import is_a_run
from random_models import BOUNDS, model

SPEC = settle(Kip618Yardstick.spec)
PROPERTIES = Kip618YardstickProperties.properties
MOST = 10_000
"""States within which verdicts are compared, of each kind of search."""


def reduced(spec: Spec, asked: Mapping[str, Property], bounds: Mapping[str, int], **options: Any) -> Exploration:
    return explore(spec, asked, bounds, partial_order=True, **options)


def all_states(made: Exploration) -> sets.Words:
    return sets.sort_unique(sets.join([tuple(c.copy() for c in level) for level in made.states]))


def check_same(asked: Mapping[str, Property], kept: Exploration, whole: Exploration) -> None:
    """Everything in as many steps, in states that the whole search has too."""
    for name in asked:
        assert (name in kept.traces) == (name in whole.traces), name
        assert name not in kept.traces or kept.traces.steps(name) == whole.traces.steps(name), name
    assert sets.size(sets.subtract(all_states(kept), all_states(whole))) == 0
    if whole.complete:
        assert kept.verdicts == whole.verdicts


# Hand-made models, each of which needs one of the rules: `bad` is reached in one order of steps alone.


class Spinning(Protocol):
    """A wheel that turns for ever beside a step that is bad: with a set of the wheel alone it would be put off."""

    wheel: Bool
    bad: Bool

    @action
    def turn(s) -> None:
        s.wheel = ~s.wheel

    @action
    def spoil(s) -> None:
        s.bad = True


class Either(Protocol):
    """Bad in either of two ways, and the first is a dead end."""

    ready: Bool
    bad: Bool
    worse: Bool

    @action
    def first(s) -> None:
        require(s.ready)
        s.bad = True

    @action
    def second(s) -> None:
        s.worse = True


class Enabled(Protocol):
    """Bad only after what allows it."""

    ready: Bool
    bad: Bool

    @action
    def prepare(s) -> None:
        s.ready = True

    @action
    def spoil(s) -> None:
        require(s.ready)
        s.bad = True


class Overtaken(Protocol):
    """Bad if the copy is made after the change, and it can be made once."""

    source: Bool
    copied: Bool
    bad: Bool

    @action
    def copy(s) -> None:
        require(~s.copied)
        s.copied = True
        s.bad = s.source

    @action
    def change(s) -> None:
        s.source = True


class ShutBetween(Protocol):
    """Bad if the copy is made when it was shut and opened again, between which something changes."""

    shut: Bool
    source: Bool
    copied: Bool
    bad: Bool

    @action
    def copy(s) -> None:
        require(~s.shut)
        require(~s.copied)
        s.copied = True
        s.bad = s.source

    @action
    def close(s) -> None:
        require(~s.shut)
        require(~s.source)
        s.shut = True
        s.source = True

    @action
    def open(s) -> None:
        require(s.shut)
        s.shut = False


def stays_good(protocol: type[Protocol]) -> type[Properties]:
    """With the lemma that nothing is bad."""

    def good(s: Any) -> Any:
        """Nothing is bad."""
        return ~s.bad

    return type(f"{protocol.__name__}Properties", (Properties,), {"good": lemma(good)}, of=protocol)  # type: ignore[call-overload, no-any-return]


class EitherProperties(Properties, of=Either):
    @lemma
    def good(s) -> Any:
        """Nothing is bad."""
        return ~s.bad & ~s.worse


def first_way_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a goal that can be met in several ways, one is led to."""
    goals = partial_order._goals

    def first(made: Ground) -> dict[str, Node]:
        [(name, goal)] = goals(made).items()
        assert goal.op == "not" and goal.args[0].op == "and"
        return {name: made.table.negate(goal.args[0].args[0])}

    monkeypatch.setattr(partial_order, "_goals", first)


def without_what_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances that the state does not allow ask for nothing."""
    close = PartialOrder._close

    def closed(self: PartialOrder, made: Any) -> None:
        way = self._way
        self._way = lambda node, value, made, at: np.zeros((at.size, self.words), np.uint64)  # type: ignore[method-assign]
        close(self, made)
        self._way = way  # type: ignore[method-assign]

    monkeypatch.setattr(PartialOrder, "_close", closed)


def without_spoilers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interference, "spoils", lambda self, number: frozenset())


def without_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conjuncts may become false and true again."""
    close = PartialOrder._close

    def closed(self: PartialOrder, made: Any) -> None:
        self._breaks = {number: [] for number in self._breaks}
        close(self, made)

    monkeypatch.setattr(PartialOrder, "_close", closed)


@pytest.mark.parametrize(
    ("properties", "steps", "without"),
    [
        (stays_good(Spinning), 1, None),
        (EitherProperties, 1, first_way_only),
        (stays_good(Enabled), 2, without_what_allows),
        (stays_good(Overtaken), 2, without_spoilers),
        (stays_good(ShutBetween), 3, without_breaks),
    ],
)
def test_each_rule_is_needed(
    properties: type[Properties], steps: int, without: Callable[[pytest.MonkeyPatch], None] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With all of them the violation is found, in the fewest steps; without that one it is lost."""
    spec, asked = properties.protocol.spec, properties.properties
    kept, whole = reduced(spec, asked, {}), explore(spec, asked, {})
    check_same(asked, kept, whole)
    assert kept.verdicts == {"good": "violated"} and kept.traces.steps("good") == steps
    if without is not None:
        without(monkeypatch)
        assert reduced(spec, asked, {}).verdicts == {"good": "holds"}


def test_what_matters_to_nothing_is_never_taken() -> None:
    made = reduced(Spinning.spec, stays_good(Spinning).properties, {})
    assert made.taken == {"turn": 0, "spoil": 1} and made.distinct == 2


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.nightly(nights=20)) for seed in range(8, 208))]
)
def test_models_drawn_at_random(seed: int) -> None:
    """All properties together, and each alone."""
    spec, asked = model(seed)
    for some in (asked, *({name: item} for name, item in asked.items())):
        check_same(some, reduced(spec, some, BOUNDS), explore(spec, some, BOUNDS))


def test_models_drawn_at_random_have_what_can_go_wrong() -> None:
    """Of those, many properties are decided by a run, and many states are spared."""
    decided, kept, whole = 0, 0, 0
    for seed in range(12):
        spec, asked = model(seed)
        few, many = reduced(spec, {"one": asked["one"]}, BOUNDS), explore(spec, asked, BOUNDS)
        decided, kept, whole = decided + len(many.traces), kept + few.distinct, whole + many.distinct
    assert decided > 12 and kept < whole / 2


def step(instance: Instance, values: list[int]) -> list[int] | None:
    """The values of fields after it, if it is allowed."""
    if not evaluate([instance.enabled], values)[0]:
        return None
    changed = dict(
        zip((f for f, _ in instance.updates), evaluate([v for _, v in instance.updates], values), strict=True)
    )
    return [int(changed.get(n, value)) for n, value in enumerate(values)]


@pytest.mark.parametrize("name", ["id-blocks/kraft-threads", "group-fencing/draft"])
def test_what_instances_do_to_one_another(name: str) -> None:
    """In states within the ranges of fields, whether they are reachable or not: what gives a condition a value, and
    what comes too late after another, is among those that are said to."""
    variant = find(name)[1]
    assert variant is not None
    made = ground(variant.spec, {}, bounds_of(variant, "smoke"))
    known, draw = Interference(made), random.Random(7)
    spoils = {n: known.spoils(n) for n in known.taken}
    seen = {"makes": 0, "spoils": 0}
    for _ in range(40):
        target = draw.choice(known.taken)
        values = [draw.randint(0, field.high) for field in made.layout.fields]
        for _ in range(200):  # towards a state that allows it
            wrong = [n for n, part in enumerate(known.conjuncts[target]) if not evaluate([part], values)[0]]
            if not wrong:
                break
            near = draw.choice(sorted(known._fields(known.conjuncts[target][wrong[0]])))
            values[near] = draw.randint(0, made.layout.fields[near].high)
        for u in known.taken:
            after = step(made.instances[u], values)
            if after is None or any(not 0 <= v <= f.high for v, f in zip(after, made.layout.fields, strict=True)):
                continue
            for part in {p.number: p for t in known.taken for p in known.conjuncts[t]}.values():
                before, later = evaluate([part], values)[0], evaluate([part], after)[0]
                if before != later:
                    seen["makes"] += 1
                    assert u in known.makes(part, bool(later))
            for t in known.taken:
                other = step(made.instances[t], values)
                late = None if other is None else step(made.instances[t], after)
                if t != u and other is not None and late is not None and step(made.instances[u], other) != late:
                    seen["spoils"] += 1
                    assert u in spoils[t]
    assert min(seen.values()) > 0


def judged(variant: Variant) -> dict[str, Property]:
    kinds = ("always", "step", "sometimes")
    return {n: p for n, p in variant.asked.items() if p.kind in kinds and p.role != "refinement"}


NAMES = [f"{p}/{v.name}" for p, entry in protocols().items() for v in entry.variants if judged(v)]


@pytest.mark.parametrize(
    "name",
    [
        "id-blocks/kraft-answer-first",
        "transactions/v1-hanging",
        "task-counts/core-late-round",  # a step is what breaks something
        *(pytest.param(name, marks=pytest.mark.nightly(nights=20)) for name in NAMES),
    ],
)
def test_the_same_is_found(name: str) -> None:
    """All properties together, and some alone: what is decided within some thousand states is so in as many steps, by
    runs of the model."""
    variant = find(name)[1]
    assert variant is not None
    every = judged(variant)
    named = [n for n, p in every.items() if p.role in ("promise", "step")][:3]
    for asked in (every, *({n: every[n]} for n in named)):
        whole = explore(variant.spec, asked, bounds_of(variant, "smoke"), max_states=MOST)
        depth = None if whole.complete else len(whole.levels) - 1
        kept = reduced(variant.spec, asked, bounds_of(variant, "smoke"), max_depth=depth)
        check_same(asked, kept, whole)
        assert all(is_a_run(variant, kept, n) for n in kept.traces)


@pytest.mark.parametrize(
    ("name", "asked", "changes", "kept", "whole"),
    [
        ("end-to-end/ids-twice", None, {}, 3_431, 25_833),
        ("id-blocks/kraft-threads", "used_up_for_ever", {}, 6_120, 25_799),
        ("kip618-yardstick/yardstick", "counts_match", {}, 7_199, 18_301),
        pytest.param(
            "kip618-yardstick/yardstick", "counts_match", {"workers": 3, "tasks": 1, "log": 4}, 590_440, 2_667_283,
            marks=pytest.mark.nightly(nights=20),
        ),
    ],
)  # fmt: skip
def test_how_many_states_are_left(name: str, asked: str | None, changes: dict[str, int], kept: int, whole: int) -> None:
    from fencepost.proofs.engines.run_engines import run_explore

    entry, variant = find(name)
    assert variant is not None
    only = None if asked is None else [asked]
    counts = [
        run_explore(entry, variant, bounds_of(variant, "smoke", changes), only=only, partial_order=order)[1].distinct
        for order in (True, False)
    ]
    assert counts == [kept, whole]


def test_with_symmetry_threads_and_files(tmp_path: Path) -> None:
    """States up to names are fewer again; threads and an interruption change nothing."""
    bounds = {"workers": 2, "tasks": 1, "log": 3}
    whole, alone = explore(SPEC, PROPERTIES, bounds), reduced(SPEC, PROPERTIES, bounds, threads=1)
    alike = reduced(SPEC, PROPERTIES, bounds, symmetry=True)
    assert alike.distinct < alone.distinct < whole.distinct
    assert alike.verdicts == alone.verdicts == whole.verdicts
    assert all(alike.traces.steps(n) == alone.traces.steps(n) == whole.traces.steps(n) for n in whole.traces)
    reduced(SPEC, PROPERTIES, bounds, checkpoint=tmp_path, max_depth=9)
    for other in (
        reduced(SPEC, PROPERTIES, bounds, checkpoint=tmp_path),
        reduced(SPEC, PROPERTIES, bounds, threads=3),
    ):
        assert other.levels == alone.levels and other.taken == alone.taken
        for mine, its in zip(alone.states, other.states, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(mine, its, strict=True))
    assert explore(SPEC, PROPERTIES, bounds, checkpoint=tmp_path).levels == whole.levels


def test_where_it_cannot_be() -> None:
    bounds = {"workers": 2, "tasks": 1, "log": 2}
    with pytest.raises(InputError, match="nothing is asked of Kip618Yardstick, so that partial order would leave all"):
        reduced(SPEC, {}, bounds)
    with pytest.raises(ValueError, match="a search with partial order has not all states"):
        graph(reduced(SPEC, PROPERTIES, bounds))
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    with pytest.raises(InputError, match="engine='numba' takes all steps, without partial order"):
        reduced(SPEC, PROPERTIES, bounds, engine="numba")


def test_the_command_says_so(tmp_path: Path) -> None:
    words = ("explore", "kip618-yardstick/yardstick", "--reduce", "order", "--check", "counts match")
    ran = fencepost(*words, "--json", tmp_path / "r.json")
    assert ran.code == 0 and "7,199 states by partial order, " in ran.out
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["partial_order"] is True and document["verdicts"] == {"counts_match": "holds"}
    plain = fencepost(*words[:2], *words[4:], "--json", tmp_path / "w.json")
    assert "by partial order" not in plain.out
    whole = json.loads((tmp_path / "w.json").read_text())
    assert "partial_order" not in whole and (whole["distinct"], whole["verdicts"]) == (18_301, document["verdicts"])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("end-to-end/detailed", "--reduce", "order"), "is about all steps, of which partial order leaves some out"),
        (("id-blocks/kraft", "--check", "no id"), "kraft is not asked for a property 'no id'"),
        (("id-blocks/kraft", "--check", "an id even at the end"), "says what happens in the end"),
    ],
)
def test_the_command_refuses(words: tuple[str, ...], text: str) -> None:
    ran = fencepost("explore", *words)
    assert ran.code == 2 and text in ran.err and ran.err.strip().count("\n") == 0
