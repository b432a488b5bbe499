"""Generates directories of histories with a simulator, on every core or on Spark: the same rows however it is run.

Workers write their own Parquet under names of their own; only manifest entries return. The driver then gives the files
of the attempts that counted their final names and writes the manifest last. A task that was retried or killed may leave
a file behind, which no manifest lists; it goes away in the end, and if that was missed, with the next run.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from fencepost.proofs.scale.estimates import require_affordable
from fencepost.proofs.scale.jobs import cores_here
from fencepost.proofs.scale.units import SparkSettings, require_reachable, run_units
from fencepost.properties.history import VOCABULARIES, HistoryError, HistoryFile, HistoryWriter, Manifest
from fencepost.properties.history.claiming import claimed
from fencepost.properties.history.location import Location
from fencepost.properties.history.manifest import ATTEMPT
from fencepost.properties.history.pieces import Rows, columns_of
from fencepost.properties.history.writer import ROWS_PER_GROUP
from fencepost.properties.registry import PROTOCOLS, default

_ODD = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


@dataclass(frozen=True)
class Unit:
    """A range of histories that one worker simulates into one file."""

    number: int
    first_history: int
    histories: int


@dataclass(frozen=True)
class Written:
    """The file that a worker wrote, and the faults that the simulator injected."""

    number: int
    file: HistoryFile
    faults: dict[str, int]


@dataclass(frozen=True)
class Recipe:
    """Everything a worker needs to write a unit."""

    directory: Location
    protocol: str
    simulator: str
    many: bool
    seed: int
    config: Mapping[str, Any]
    variant: str = ""


def generate(
    directory: str | Path | Location,
    simulator: str,
    *,
    histories: int,
    seed: int,
    config: Mapping[str, Any] | None = None,
    protocol: str | None = None,
    variant: str = "",
    notes: str = "",
    many: bool = False,
    spark: SparkSettings | None = None,
    cores: int | None = None,
) -> Manifest:
    """Simulate `histories` histories of a protocol (where none is named, the first of the registry), numbered from 0,
    into `directory`, and return its manifest.

    `simulator` is a `module:function`. It is called as function(seed, config), with another seed for each history, and
    returns rows, or (rows, faults), where faults counts what it injected, by name. With `many` it is called as
    function(seed, first history, number of histories, config) and returns (columns, faults) of many histories at once.
    Raises `HistoryError` if the directory holds histories already, or the simulator is not found, cannot use the
    config, or makes rows that are wrong.
    """
    protocol = protocol or default()
    location = Location.of(directory)
    require_reachable(location, spark)
    if protocol not in VOCABULARIES:
        if protocol in PROTOCOLS:
            raise HistoryError(f"{protocol} has no histories: {VOCABULARIES.lacking(protocol)}")
        raise HistoryError(f"unknown protocol {protocol!r}; known: {', '.join(VOCABULARIES)}")
    recipe = Recipe(location, protocol, simulator, many, seed, dict(config or {}), variant)
    with claimed(location):
        units = _units(recipe, histories)
        written = run_units(units, partial(write_unit, recipe=recipe), spark=spark, cores=cores, label="generate")
        return _finished(recipe, histories, written, notes)


def _finished(recipe: Recipe, histories: int, written: Sequence[Written], notes: str) -> Manifest:
    """Gives the files their final names, and writes the manifest of them."""
    files, faults = [], dict[str, int]()
    for unit in sorted(written, key=lambda unit: unit.number):
        name = f"part-{unit.number:05d}.parquet"
        recipe.directory.move(unit.file.name, name)
        files.append(HistoryFile(name, unit.file.rows, unit.file.histories, unit.file.row_groups))
        for fault, count in unit.faults.items():
            faults[fault] = faults.get(fault, 0) + count
    manifest = Manifest(
        recipe.protocol, tuple(VOCABULARIES[recipe.protocol].codes), tuple(files),
        variant=recipe.variant, seed=recipe.seed, config=recipe.config, faults=faults, notes=notes,
    )  # fmt: skip
    if manifest.totals.histories != histories:
        empty = histories - manifest.totals.histories
        raise HistoryError(
            f"{recipe.simulator}: {empty} of {histories} histories have no event; every history needs one"
        )
    manifest.write(recipe.directory)
    return manifest


def require_possible(
    directory: str | Path | Location, simulator: str, histories: int, config: Mapping[str, Any]
) -> None:
    """Raises `HistoryError` if so many histories cannot be made on this machine, with what they would take."""
    simulate = simulator_named(simulator)

    def once(tried: Mapping[str, Any]) -> int:
        made = simulate(seed_of(0, 0), dict(tried))
        return len(made[0] if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], Mapping) else made)

    place = Location.of(directory)
    require_affordable(once, config, histories, cores_here(), place.path if place.is_local else None)


def seed_of(base: int, history: int) -> int:
    """The seed of one history: 64 bits, distinct for distinct histories of one base seed (splitmix64 is one-to-one)."""
    mixed = (base + (history + 1) * _ODD) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


def write_unit(unit: Unit, recipe: Recipe) -> Written:
    """Simulate one unit into a file of this attempt's own; runs in a worker."""
    vocabulary = VOCABULARIES[recipe.protocol]
    simulate = simulator_named(recipe.simulator)
    faults: dict[str, int] = {}
    name = f"part-{unit.number:05d}{ATTEMPT}{uuid4().hex}.parquet"
    with HistoryWriter(recipe.directory, name, vocabulary, variant=recipe.variant) as writer:
        if recipe.many:
            columns, injected = simulate(recipe.seed, unit.first_history, unit.histories, dict(recipe.config))
            writer.add(columns)
            faults.update(injected)
        else:
            made: list[Rows] = []
            for history in range(unit.first_history, unit.first_history + unit.histories):
                rows, injected = _simulated(simulate, recipe, history)
                made.append((history, rows))
                for fault, count in injected.items():
                    faults[fault] = faults.get(fault, 0) + int(count)
            writer.add(columns_of(vocabulary, made))
    return Written(unit.number, writer.written, faults)


def simulator_named(name: str) -> Callable[..., Any]:
    """The function called `module:function`. Raises `HistoryError` if there is none."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise HistoryError(f"simulator {name!r}: not found ({error}); name it as module:function") from None
    except (Exception, SystemExit) as error:  # of a module of anybody's, which was run for the first time
        raise HistoryError(f"simulator {name!r}: its import ended in {type(error).__name__}: {error}") from None
    if not callable(found):
        raise HistoryError(f"simulator {name!r}: is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def _simulated(simulate: Callable[..., Any], recipe: Recipe, history: int) -> tuple[Any, Mapping[str, int]]:
    made = simulate(seed_of(recipe.seed, history), dict(recipe.config))
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], Mapping):
        return made
    return made, {}


def _units(recipe: Recipe, histories: int) -> list[Unit]:
    """Ranges of about one row group each. The size of the first history sets it, so that cores have no say in files."""
    if histories < 1:
        return []
    simulate = simulator_named(recipe.simulator)
    try:
        if recipe.many:
            probe = len(simulate(recipe.seed, 0, 1, dict(recipe.config))[0]["history"])
        else:
            probe = len(_simulated(simulate, recipe, 0)[0])
    except (KeyError, TypeError, ValueError) as error:  # what a config that it cannot use makes a simulator raise
        raise HistoryError(
            f"{recipe.simulator}: cannot simulate with config {dict(recipe.config)}: {type(error).__name__}: {error}"
        ) from error
    size = max(1, ROWS_PER_GROUP // max(1, probe))
    return [Unit(number, first, min(size, histories - first)) for number, first in enumerate(range(0, histories, size))]
