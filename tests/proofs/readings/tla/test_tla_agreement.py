"""TLC finds what the explorer finds: as many states and steps in every protocol, and the same counterexamples.

TLC counts as the explorer does: the start and one for each step that is taken, also to a state that is known, for each
choice of an action's parameters.  One difference is by design of TLA+: a property of steps, ``[][…]_vars``, says
nothing of a step that changes nothing.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.proofs.engines.explore import Exploration, explore
from fencepost.proofs.readings.tla import files, of_variant, write
from fencepost.proofs.readings.tla.module import Source, exported
from fencepost.properties.catalogue import Variant, bounds_of, find
from random_protocols import BOUNDS as OF_RANDOM
from random_protocols import random_protocol
from tla_protocols import BOUNDS, Corners, CornersProperties
from tla_variants import AS_THEY_ARE, MISTAKEN, QUICK, SMALLER
from tlc import Checked, tlc


def explored(variant: Variant, bounds: Mapping[str, int], *, until: bool = False) -> Exploration:
    """As `fencepost explore` has it, perhaps only until something is violated."""
    asked = {name: item for name, item in variant.asked.items() if item.kind != "eventually"}
    spec = without_unread_ghosts(variant.spec, asked.values())
    return explore(spec, asked, bounds, stop_when_violated=until)


def checked(name: str, changes: Mapping[str, int], place: Path) -> tuple[Variant, dict[str, int], Checked]:
    """A variant within the smoke bounds with some changes, as TLC has it."""
    entry, variant = find(name)
    assert variant is not None
    bounds = bounds_of(variant, "smoke", changes)
    made = of_variant(entry, variant, bounds)
    write(place, files([made]))
    return variant, bounds, tlc(place, made.stem)


def tried(names: Iterable[str]) -> list[ParameterSet]:
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.nightly(nights=8)) for n in names]


@pytest.mark.parametrize("name", tried([*AS_THEY_ARE, *SMALLER]))
def test_as_many_states_and_steps(name: str, tmp_path: Path) -> None:
    """Distinct and generated, and the depth of the search; no property fails."""
    variant, bounds, found = checked(name, SMALLER.get(name, {}), tmp_path)
    made = explored(variant, bounds)
    assert (found.distinct, found.generated, found.depth) == (made.distinct, made.generated, made.depth)
    assert made.distinct > 300 and made.complete
    assert found.violated == ()


@pytest.mark.parametrize("name", tried(MISTAKEN))
def test_the_same_counterexample(name: str, tmp_path: Path) -> None:
    """What fails first does, in as many steps."""
    variant, bounds, found = checked(name, {}, tmp_path)
    made = explored(variant, bounds, until=True)
    lengths = {name: made.traces.steps(name) for name in made.violated}
    (violated,) = found.violated
    assert lengths[violated] == found.steps == min(lengths.values()) > 0


def test_one_of_each_thing(tmp_path: Path) -> None:
    """The waiting room: what fails first, and, when that is not asked, all states and steps."""
    asked = CornersProperties.properties
    made = explore(without_unread_ghosts(settle(Corners.spec), asked.values()), asked, BOUNDS)
    lengths = {name: made.traces.steps(name) for name in made.violated}
    assert set(lengths) == {"never_calm", "calls_grow_by_one"}
    source = Source("Corners", "a/b", "c", settle(Corners.spec), asked, BOUNDS, {}, Corners, CornersProperties)
    write(tmp_path, files([exported(source)]))
    found = tlc(tmp_path, "Corners")
    assert (lengths[found.violated[0]], found.steps) == (min(lengths.values()), min(lengths.values()))
    configuration = tmp_path / "Corners.cfg"
    configuration.write_text(
        "".join(f"{x}\n" for x in configuration.read_text().splitlines() if x.strip() not in lengths)
    )
    found = tlc(tmp_path, "Corners")
    assert (found.distinct, found.generated, found.violated) == (made.distinct, made.generated, ())


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.nightly(nights=16)) for n in range(3, 60))]
)
def test_random_protocols(seed: int, tmp_path: Path) -> None:
    """Counts, and which properties fail; of those of steps, by a step that changes something."""
    spec, asked = random_protocol(seed)
    made = explore(spec, asked, OF_RANDOM)
    write(tmp_path, files([exported(Source("Random", "a/b", "c", spec, asked, OF_RANDOM, {}))]))
    found = tlc(tmp_path, "Random", "-continue")
    assert (found.distinct, found.generated) == (made.distinct, made.generated)
    broken = {name for name in made.violated if asked[name].kind != "sometimes"}
    assert set(found.violated) <= broken
    for name in broken - set(found.violated):
        *_, before, after = made.traces[name].states
        assert asked[name].kind == "step"
        assert before == after


def test_symmetry(tmp_path: Path) -> None:
    """Two workers differ by name alone: but for the start, each state has a twin."""
    entry, variant = find("kip618-yardstick/yardstick")
    assert variant is not None
    made = of_variant(entry, variant, {"workers": 2, "tasks": 2, "log": 2}, symmetry=True)
    write(tmp_path, files([made]))
    assert tlc(tmp_path, made.stem).distinct == (16_333 + 1) // 2
