"""The explorer against a search over plain dicts: the same counts, cuts, verdicts and traces of random protocols."""

import functools

import pytest
from fencepost.model.language.properties import Property
from fencepost.proofs.engines.explore import Exploration, explore, kernels, reachable_sample, search, traces
from fencepost.proofs.readings.plain import Plain, freeze
from layouts import LAYOUTS
from random_protocols import BOUNDS, PlainSearch, plain_search, random_protocol

LARGEST = 150
BLOCKS = (1 << 15, 1, 2, 3, 4, 7)
"""Sizes of the blocks in which states are gone through: frontiers are a multiple of it, one more, one less."""


@functools.cache
def expected(seed: int) -> PlainSearch:
    return plain_search(*random_protocol(seed), BOUNDS)


def agree(found: Exploration, expected: PlainSearch) -> None:
    assert found.levels == expected.levels
    assert found.generated == expected.generated
    assert found.taken == expected.taken
    assert found.cut == expected.cut
    assert {name: len(trace.states) for name, trace in found.traces.items()} == expected.first


def check_traces(found: Exploration, plain: Plain, properties: dict[str, Property]) -> None:
    """Every trace is a behaviour of the protocol and ends where its property is decided."""
    for name, trace in found.traces.items():
        assert trace.states[0] == plain.initial()
        for before, event, after in zip(trace.states, trace.events, trace.states[1:], strict=False):
            assert plain.enabled(before, event)
            assert plain.step(before, event) == after
        if properties[name].role == "step":
            assert not plain.holds(properties[name], trace.states[-2], trace.states[-1])
        else:
            assert plain.holds(properties[name], trace.states[-1]) == (properties[name].role == "witness")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "part", [*range(3), *(pytest.param(part, marks=pytest.mark.nightly(nights=8)) for part in range(3, 6))]
)
def test_random_protocols_agree(part: int, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels, steps, cuts, verdicts and traces are those of the plain search, for ten random protocols at a time,
    however large the blocks are."""
    monkeypatch.setattr(kernels, "pack_fields", LAYOUTS[layout])
    for module in (search, traces):
        monkeypatch.setattr(module, "BLOCK", BLOCKS[part])
    compared = 0
    for seed in range(10 * part, 10 * part + 10):
        spec, properties = random_protocol(seed)
        found = explore(spec, properties, BOUNDS, max_states=LARGEST)
        if not found.complete:
            continue
        compared += 1
        agree(found, expected(seed))
        check_traces(found, Plain(spec, {"size": BOUNDS["size"]}, BOUNDS), properties)
        assert found.verdicts["p"] == ("violated" if "p" in found.traces else "holds")
        assert found.verdicts["w"] == ("holds" if "w" in found.traces else "violated")
    assert compared >= 3


def test_samples_are_reachable() -> None:
    """A sample holds distinct reachable states, the same ones for the same seed, and all of them if it may."""
    seed = next(seed for seed in range(60) if 20 < len(expected(seed).states) < LARGEST)
    found = explore(*random_protocol(seed), BOUNDS)
    reachable = {freeze(s) for s in expected(seed).states}
    sample = reachable_sample(found, 15, seed=3)
    assert len({freeze(s) for s in sample}) == 15
    assert {freeze(s) for s in sample} <= reachable
    assert sample == reachable_sample(found, 15, seed=3)
    assert {freeze(s) for s in reachable_sample(found, 10**6, seed=1)} == reachable
