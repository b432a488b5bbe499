"""Up to names: one of the states that differ in the names of interchangeable elements alone is kept, and no verdict is
another one."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import fencepost
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.tree.terms import boolean, constant, local, term
from fencepost.model.language.tree.types import BOOL
from fencepost.proofs.engines.explore import Exploration, explore, graph, kernels, sets
from fencepost.proofs.engines.run_engines import run_features
from fencepost.proofs.readings.ground import ground
from fencepost.properties.catalogue import PROFILES, Profile, Variant, bounds_of, find, protocols, wider_of
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties
from layouts import LAYOUTS, is_a_run, outcome

SPEC = settle(Kip618Yardstick.spec)
PROPERTIES = Kip618YardstickProperties.properties
MOST = 40_000
"""States within which verdicts are compared, of each kind of search."""


def found(variant: Variant, *, symmetry: bool) -> Exploration | str:
    """What a search finds, or why there is none."""
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step", "sometimes")}
    try:
        return explore(variant.spec, asked, bounds_of(variant, "smoke"), symmetry=symmetry, max_states=MOST)
    except InputError as error:
        return str(error)


def names() -> list[str]:
    return [f"{protocol}/{variant.name}" for protocol, entry in protocols().items() for variant in entry.variants]


@pytest.mark.parametrize(
    ("bounds", "states"),
    [
        ({"workers": 2, "tasks": 2, "log": 2}, 8_167),  # of 16,333: but for the initial one, each has a twin
        ({"workers": 3, "tasks": 1, "log": 2}, None),
        ({"workers": 2, "tasks": 2, "log": 3}, 315_619),  # as TLC counts with its SYMMETRY, of 631,237
    ],
)
def test_of_alike_states_one_is_searched(bounds: dict[str, int], states: int | None) -> None:
    """The one that the least of its renamings is; and each renaming of it is a state of the whole search."""
    kept, whole = (explore(SPEC, PROPERTIES, bounds, symmetry=symmetry) for symmetry in (True, False))
    symmetry = kept.kernels.symmetry
    assert symmetry is not None and [sort.name for sort in symmetry.sorts] == ["Worker"]
    assert states in (None, kept.distinct)
    assert kept.verdicts == whole.verdicts and kept.depth == whole.depth
    for few, many in zip(kept.states, whole.states, strict=True):
        least = sets.sort_unique(sets.to_set_order(symmetry.least(sets.to_words(many))))
        assert all(np.array_equal(a, b) for a, b in zip(least, few, strict=True))
        renamed = [move(sets.to_words(few)) for move in symmetry.moves]
        images = sets.sort_unique(sets.join([few, *map(sets.to_set_order, renamed)]))
        assert all(np.array_equal(a, b) for a, b in zip(images, many, strict=True))


@pytest.mark.parametrize(
    ("layout", "bounds"),
    [
        ("one word", {"workers": 2, "tasks": 2, "log": 2}),
        ("two words", {"workers": 3, "tasks": 1, "log": 2}),
        ("shared bits", {"workers": 3, "tasks": 1, "log": 3}),
    ],
)
def test_engines_agree(layout: str, bounds: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled one keeps the same states, and finds the same runs."""
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    monkeypatch.setattr(kernels, "pack_fields", LAYOUTS[layout])
    first, second = (explore(SPEC, PROPERTIES, bounds, symmetry=True, engine=engine) for engine in ("numba", "numpy"))
    assert outcome(first) == outcome(second)


@pytest.mark.parametrize(
    "name",
    [
        "kip618-yardstick/any-writer",
        "id-blocks/kraft-answer-first",
        "id-blocks/kraft-threads-without-test",
        "transactions/v1-hanging",
        "task-counts/core-late-round",  # a step is what breaks something
        "group-fencing/draft",
        "transactions/core-v1-not-fated",  # a refinement is what breaks, and its mapping tells no element apart
        "source-offsets/migration-sentinel",  # … and this one holds, up to the names of two sorts
        *(pytest.param(name, marks=pytest.mark.nightly(nights=20)) for name in names()),
    ],
)
def test_the_same_is_found(name: str) -> None:
    """What is violated and reached within some thousand states is so in as many steps, by a run that anybody can
    check; of what has no alike states nothing is searched."""
    variant = find(name)[1]
    assert variant is not None
    kept, whole = found(variant, symmetry=True), found(variant, symmetry=False)
    if isinstance(kept, str) or isinstance(whole, str):
        # The second is of bounds that the smoke profile does not have, and then of both.
        assert "no sort of" in str(kept) or kept == whole
        return
    for prop in whole.traces:
        if prop in kept.traces or kept.complete:
            assert kept.traces.steps(prop) == whole.traces.steps(prop)
            assert is_a_run(variant, kept, prop)
    if kept.complete and whole.complete:
        assert kept.verdicts == whole.verdicts
        assert kept.distinct < whole.distinct


def test_a_mapping_that_names_an_element() -> None:
    """The same refinement, of which a part speaks of the first transaction, is judged of all states alone."""
    variant = find("transactions/core-v2-fated")[1]
    assert variant is not None
    asked = {"does_as_fated": variant.asked["does_as_fated"]}
    bounds = bounds_of(variant, "smoke")
    alike = explore(variant.spec, asked, bounds, symmetry=True, max_depth=2).kernels.symmetry
    assert alike is not None and len(alike.sorts) == 1
    [kind], item = alike.sorts, asked["does_as_fated"]
    is_first = boolean("eq", local("t.odd", kind), constant(0, kind))
    named = term("exists", (is_first,), (("t.odd", kind),), BOOL)
    odd = replace(item, terms=(boolean("and", item.term, named), *item.terms[1:]))
    assert explore(variant.spec, {item.name: odd}, bounds, max_depth=2).distinct > 2
    with pytest.raises(InputError, match=r"no sort of .* has several elements that differ by name alone"):
        explore(variant.spec, {item.name: odd}, bounds, symmetry=True)
    at_first = replace(item, terms=(item.term, boolean("or", item.terms[1], named)))  # asked of the initial state alone
    assert explore(variant.spec, {item.name: at_first}, bounds, symmetry=True, max_depth=2).kernels.symmetry is not None


def test_where_it_cannot_be() -> None:
    """Nothing is alike where a sort has one element; progress needs all states."""
    one = {"workers": 1, "tasks": 1, "log": 2}
    with pytest.raises(InputError, match="no sort of Kip618Yardstick has several elements that differ by name alone"):
        explore(SPEC, PROPERTIES, one, symmetry=True)
    small = {"workers": 2, "tasks": 1, "log": 2}
    with pytest.raises(ValueError, match="a search up to names has not all states"):
        graph(explore(SPEC, PROPERTIES, small, symmetry=True))


def test_the_command_says_so(tmp_path: Path) -> None:
    words = ("explore", "kip618-yardstick/yardstick", "--reduce", "symmetry", "--bound", "tasks=1")
    ran = fencepost(*words, "--json", tmp_path / "r.json", "--checkpoint", tmp_path / "kept")
    assert ran.code == 0 and "states up to the names of workers" in ran.out
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["symmetry"] == ["workers"] and "resumed" not in document
    whole = fencepost(*words[:2], *words[4:], "--json", tmp_path / "w.json", "--checkpoint", tmp_path / "kept")
    assert "up to the names" not in whole.out
    assert json.loads((tmp_path / "w.json").read_text())["distinct"] > document["distinct"]
    refused = fencepost("explore", "end-to-end/abstract", "--reduce", "symmetry")
    assert refused.code == 2 and refused.err.count("\n") == 1


def widened(profile: Profile) -> list[str]:
    every = ((protocol, v) for protocol, entry in protocols().items() for v in entry.variants)
    return [f"{protocol}/{variant.name}" for protocol, variant in every if wider_of(variant, profile)]


def test_wider_bounds_have_more_elements_of_a_sort() -> None:
    """Of one that is interchangeable, or nothing would be gained; in the first profile there are none."""
    assert not widened("smoke")
    assert len(widened("ci")) == len(widened("nightly")) > 10
    for name in widened("nightly"):
        _, variant = find(name)
        assert variant is not None and variant.main
        for profile in PROFILES:
            own = bounds_of(variant, profile)
            for wide in wider_of(variant, profile).values():
                alike = kernels.Kernels(ground(variant.spec, {}, wide), ()).symmetry
                assert alike is not None
                assert any(own[sort.bound] < wide[sort.bound] for sort in alike.sorts), name


def test_a_profile_goes_beyond_its_bounds_up_to_names() -> None:
    """The verdicts are those of the whole search within the same bounds, which are told with the states that were
    kept of them."""
    entry, found = find("kip618-yardstick/yardstick")
    assert found is not None
    few = {"workers": 2, "tasks": 1, "log": 2}
    variant = replace(
        found, bounds={"smoke": few, "ci": few}, wider={"ci": {"a third worker": {"workers": 3}}}, progress_bounds=(),
    )  # fmt: skip
    results, explored = run_features(entry, variant, "ci")
    ((feature, bound),) = wider_of(variant, "ci").items()
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step", "sometimes")}
    whole = explore(variant.spec, asked, bound)
    assert explored[feature].verdicts == whole.verdicts
    assert explored[feature].levels[:3] != whole.levels[:3] and explored[feature].depth == whole.depth
    kept = {feature: {"bound": bound, "distinct": explored[feature].distinct}}
    assert all(r.evidence["symmetry"] == kept for r in results)
    assert 5 * explored[feature].distinct < whole.distinct
    assert all("symmetry" not in r.evidence for r in run_features(entry, variant, "smoke")[0])


@pytest.mark.nightly(nights=12)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", widened("ci"))
def test_wider_verdicts_are_those_of_the_whole(name: str) -> None:
    """Millions of states without symmetry: a minute each."""
    _, variant = find(name)
    assert variant is not None
    asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step", "sometimes")}
    for bound in wider_of(variant, "ci").values():
        alike, whole = (explore(variant.spec, asked, bound, symmetry=symmetry) for symmetry in (True, False))
        assert alike.verdicts == whole.verdicts and alike.complete and alike.depth == whole.depth
        assert {n: alike.traces.steps(n) for n in alike.traces} == {n: whole.traces.steps(n) for n in whole.traces}
