"""Rumur finds what the explorer finds: as many states and steps in every protocol, and the same counterexamples.

Rumur counts one rule that is fired for each step, also to a state that is known; the explorer counts the start besides.
What is a property of steps is not exported, so that it is not asked of the explorer here.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.proofs.engines.explore import Exploration, explore
from fencepost.proofs.readings import murphi, tla
from fencepost.proofs.readings.murphi.module import exported
from fencepost.proofs.readings.tla.module import Source
from fencepost.properties.catalogue import Variant, bounds_of, find
from random_protocols import BOUNDS as OF_RANDOM
from random_protocols import random_protocol
from rumur import Checked, rumur
from tla_counts import COUNTED, MISTAKEN
from tla_protocols import BOUNDS, Corners, CornersProperties

QUICK = frozenset(
    {
        "id-blocks/zookeeper",
        "transactions/core-v1-verified",
        "idempotence/answered-again",
        "read-committed/cleaned",
        "transactional-offsets/offsets-deleted",
        "transaction-log/metadata",
        "transaction-partitions/parked-v1-verified",
        "task-counts/core-M",
        "config-topic-writes/record-by-record",
        "task-count-deletion/tombstone-without-fencing",
        "task-count-connectors/names-collide",
        "exactly-once-upgrade/mass-upgrade",
        "config-topic/config-topic",
        "kip618-yardstick/yardstick",
        "group-fencing/draft",
        "source-commits/null-offsets-left-out",
        "source-offsets/downgrade-and-back",
        "end-to-end/group-delivers",
    }
)
"""Those that every run tries, one of each protocol; the others take a night."""
NIGHTLY = pytest.mark.nightly(nights=2)


def explored(variant: Variant, bounds: Mapping[str, int]) -> Exploration:
    """Until an invariant fails, with the ghosts of all properties, which the module has as well."""
    asked = {name: item for name, item in variant.asked.items() if item.kind != "eventually"}
    spec = without_unread_ghosts(variant.spec, asked.values())
    return explore(spec, {n: p for n, p in asked.items() if p.kind == "always"}, bounds, stop_when_violated=True)


def checked(name: str, changes: Mapping[str, int], place: Path) -> tuple[Variant, dict[str, int], Checked]:
    """A variant within the smoke bounds with some changes, as Rumur has it."""
    entry, variant = find(name)
    assert variant is not None
    bounds = bounds_of(variant, "smoke", changes)
    made = murphi.of_variant(entry, variant, bounds)
    tla.write(place, murphi.files([made]))
    return variant, bounds, rumur(place, made.stem, made.command)


@pytest.mark.parametrize(
    ("name", "changes", "counts"),
    [pytest.param(*row, id=row[0], marks=() if row[0] in QUICK else NIGHTLY) for row in COUNTED],
)  # fmt: skip
def test_as_many_states_and_steps(name: str, changes: dict[str, int], counts: tuple[int, int], tmp_path: Path) -> None:
    """Those that the explorer and TLC counted, and no invariant fails."""
    _, _, found = checked(name, changes, tmp_path)
    assert (found.distinct, found.fired + 1, found.violated) == (*counts, None)


@pytest.mark.parametrize(
    ("name", "changes"),
    [pytest.param(*row[:2], id=row[0], marks=() if row[0] in QUICK else NIGHTLY) for row in MISTAKEN],
)
def test_the_same_counterexample(name: str, changes: dict[str, int], tmp_path: Path) -> None:
    """The invariant that fails first does, in as many steps; where only a property of steps fails, all states are
    found."""
    variant, bounds, found = checked(name, changes, tmp_path)
    made = explored(variant, bounds)
    lengths = {name: made.traces.steps(name) for name in made.violated}
    if not lengths:
        assert (found.distinct, found.fired + 1, found.violated) == (made.distinct, made.generated, None)
        return
    assert found.violated is not None
    assert (lengths[found.violated], found.steps) == (min(lengths.values()), min(lengths.values()))


def test_one_of_each_thing(tmp_path: Path) -> None:
    """The waiting room: what fails first, and, when that is not asked, all states and steps."""
    asked = dict(CornersProperties.properties)
    for left_out in ("", "never_calm"):
        asked.pop(left_out, None)
        source = Source("Corners", "a/b", "c", settle(Corners.spec), asked, BOUNDS, {}, Corners, CornersProperties)
        made = exported(source)
        tla.write(tmp_path, murphi.files([made]))
        found = rumur(tmp_path, "Corners", made.command)
        explored = explore(without_unread_ghosts(settle(Corners.spec), asked.values()), asked, BOUNDS)
        if left_out:
            assert (found.distinct, found.fired + 1, found.violated) == (explored.distinct, explored.generated, None)
        else:
            assert (found.violated, found.steps) == ("never_calm", explored.traces.steps("never_calm"))


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.nightly(nights=4)) for n in range(2, 60))]
)
def test_random_protocols(seed: int, tmp_path: Path) -> None:
    """Counts, where no invariant is asked; and that one fails if one does."""
    spec, asked = random_protocol(seed)
    always = {name: item for name, item in asked.items() if item.kind == "always"}
    steps = {name: item for name, item in asked.items() if item.kind == "step"}
    for properties in (always, steps):
        kept = without_unread_ghosts(spec, properties.values())
        found, explored = _random(kept, properties, tmp_path), explore(kept, properties, OF_RANDOM)
        broken = {name for name in explored.violated if name in always}
        assert (found.violated is not None) == bool(broken)
        if broken and properties is always:
            assert found.violated in broken
            assert found.steps == min(explored.traces.steps(name) for name in broken)
        else:
            assert (found.distinct, found.fired + 1) == (explored.distinct, explored.generated)


def _random(spec: object, asked: object, place: Path) -> Checked:
    made = exported(Source("Random", "a/b", "c", spec, asked, OF_RANDOM, {}))  # type: ignore[arg-type]
    tla.write(place, murphi.files([made]))
    return rumur(place, "Random", made.command)


def test_symmetry(tmp_path: Path) -> None:
    """Two brokers differ by name alone: Rumur is left with as many states as TLC is."""
    entry, variant = find("id-blocks/zookeeper")
    assert variant is not None
    made = murphi.of_variant(entry, variant, bounds_of(variant, "smoke", {}), symmetry=True)
    tla.write(tmp_path, murphi.files([made]))
    found = rumur(tmp_path, made.stem, made.command)
    assert (found.distinct, found.violated) == (566, None)
