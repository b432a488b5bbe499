"""This module generates directories of histories with a simulator, on every core or on Spark, with the same rows
however it is run.

Workers write their own Parquet under names of their own; only manifest entries return. The driver then gives the files
of the attempts that counted their final names and writes the manifest last. A task that was retried or killed may leave
a file behind, which no manifest lists; it is removed at the end, or by the next run.

A simulator of a system in which several protocols are at work may report the same run in the vocabulary of each:

    class WholeSystem:
        def __call__(self, seed, config):
            return {PROTOCOL: rows, ANOTHER: rows, …}, faults               # by protocol, each with steps 0, 1, 2 …

        def vocabularies(self, config):                                     # what is stated about the histories of each
            return {PROTOCOL: {"config": config}, ANOTHER: {"variant": "shipped", "config": {…}}, …}

    simulate = WholeSystem()

`generate_set` writes a directory of each (see `fencepost.properties.history.sets`), and ``fencepost generate`` does so
by itself. The entries for a vocabulary are those of its `Manifest`: variant, config, observable, ordered, notes. The
config is what the properties and the model of that protocol are given, such as its mode and sizes. Every vocabulary
that the simulator ever uses is named; in a single run one may have no event, but for the protocol simulated."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from fencepost.proofs.scale.estimates import require_affordable
from fencepost.proofs.scale.jobs import cores_here
from fencepost.proofs.scale.memory import seldom_collected
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.scale.units import SparkSettings, require_reachable, run_units
from fencepost.properties.history import VOCABULARIES, HistoryError, HistoryFile, HistoryWriter, Manifest
from fencepost.properties.history.claiming import claimed
from fencepost.properties.history.location import Location
from fencepost.properties.history.manifest import ATTEMPT, total
from fencepost.properties.history.pieces import Rows, columns_of, parts_of
from fencepost.properties.history.sets import HistorySet
from fencepost.properties.history.writer import ROWS_PER_GROUP
from fencepost.properties.registry import PROTOCOLS, default


@dataclass(frozen=True)
class Unit:
    """A `Unit` is a range of histories that one worker simulates into one file."""

    number: int
    first_history: int
    histories: int


@dataclass(frozen=True)
class Written:
    """A `Written` has the files of a worker, one per dataset, the injected faults, and for runs of a model the broken
    promises."""

    number: int
    files: tuple[HistoryFile, ...]
    faults: Mapping[str, int]
    broken: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """A `Dataset` is the place of the histories in the vocabulary of one protocol. `given` has entries for the manifest
    of these histories."""

    protocol: str
    directory: Location
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        return str(self.given.get("variant", ""))


@dataclass(frozen=True)
class Recipe:
    """A `Recipe` has everything that a worker needs to write a unit. The first dataset is that of the simulated
    protocol. `several` means that the simulator returns rows by protocol."""

    datasets: tuple[Dataset, ...]
    simulator: str
    many: bool
    seed: int
    config: Mapping[str, Any]
    several: bool = False


GIVEN = frozenset({"variant", "config", "observable", "ordered", "notes"})
"""A simulator may state these entries about a vocabulary."""


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
    source: str = "simulated",
    spark: SparkSettings | None = None,
    cores: int | None = None,
    begins: Callable[[], object] = lambda: None,
) -> Manifest:
    """Simulate `histories` histories of a protocol (where none is named, the first of the registry), numbered from 0,
    into `directory`, and return its manifest.

    `simulator` is a `module:function`. The simulator is called as function(seed, config), with another seed for each
    history, and returns rows, or (rows, faults), where faults counts what it injected, by name. With `many` the
    simulator is called as function(seed, first history, number of histories, config) and returns (columns, faults) of
    many histories at once, or (columns, faults, broken): in how many of them each promise broke. Such a function may
    have `at_once(seed, config)`, how many to generate together. `source` is as in the manifest. `begins` is called when
    the simulator has accepted the config, and the work begins. Errors: `HistoryError` if the directory holds histories
    already, or the simulator is not found, cannot use the config, or returns wrong rows."""
    protocol, location, config = protocol or default(), Location.of(directory), dict(config or {})
    require_reachable(location, spark)
    _require_histories(protocol)
    if (several := vocabularies_of(simulator, config)) and not many:
        raise HistoryError(f"{simulator}: tells of {', '.join(several)}; make a set of these, with generate_set")
    given = {"variant": variant, "config": config, "notes": notes, "source": source}
    recipe = Recipe((Dataset(protocol, location, given),), simulator, many, seed, config)
    with claimed(location):
        ((manifest,), _) = _made(recipe, histories, spark, cores, begins)
        manifest.write(location)
    return manifest


def generate_set(
    directory: str | Path | Location,
    simulator: str,
    *,
    histories: int,
    seed: int,
    config: Mapping[str, Any] | None = None,
    protocol: str,
    variant: str = "",
    notes: str = "",
    spark: SparkSettings | None = None,
    cores: int | None = None,
    begins: Callable[[], object] = lambda: None,
) -> HistorySet:
    """Generate histories with a simulator of several vocabularies: a directory for each in `directory`, and the
    manifest of the set, which is written last and returned."""
    location, config = Location.of(directory), dict(config or {})
    require_reachable(location, spark)
    given = vocabularies_of(simulator, config)
    if protocol not in given:
        raise HistoryError(f"{simulator}: says nothing of {protocol}, which it simulates, in its vocabularies(config)")
    for name in given:
        _require_histories(name)
    names = (protocol, *(name for name in given if name != protocol))
    reported = {name: {"config": config, **given[name]} for name in names}
    reported[protocol].setdefault("variant", variant)
    datasets = tuple(Dataset(name, location.within(name), reported[name]) for name in names)
    recipe = Recipe(datasets, simulator, False, seed, config, several=True)
    with _all_claimed((location, *(dataset.directory for dataset in datasets))):
        manifests, faults = _made(recipe, histories, spark, cores, begins)
        for dataset, manifest in zip(datasets, manifests, strict=True):
            manifest.write(dataset.directory)
        entries = tuple(total(manifest.protocol, manifest.files) for manifest in manifests)
        whole = HistorySet(
            protocol, entries, histories,
            variant=variant, seed=seed, config=config, faults=faults, notes=notes,
        )  # fmt: skip
        whole.write(location)
    return whole


def vocabularies_of(simulator: str, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a simulator of several vocabularies states about the histories of each. The mapping is empty for a
    simulator of one vocabulary. Raise `HistoryError` for entries that are not allowed."""
    say = getattr(simulator_named(simulator), "vocabularies", None)
    if say is None:
        return {}
    try:
        manifest = {str(name): dict(entries) for name, entries in say(dict(config)).items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unusable(simulator, config, error) from error
    for name, entries in manifest.items():
        if strange := sorted(entries.keys() - GIVEN):
            raise HistoryError(f"{simulator}: says {strange[0]!r} of {name}; it may say {', '.join(sorted(GIVEN))}")
    return manifest


def _require_histories(protocol: str) -> None:
    if protocol not in VOCABULARIES:
        if protocol in PROTOCOLS:
            raise HistoryError(f"{protocol} has no histories: {VOCABULARIES.lacking(protocol)}")
        raise HistoryError(f"unknown protocol {protocol!r}; known: {', '.join(VOCABULARIES)}")


@contextmanager
def _all_claimed(places: Sequence[Location]) -> Iterator[None]:
    with ExitStack() as claims:
        for place in places:
            claims.enter_context(claimed(place))
        yield


def _made(
    recipe: Recipe, histories: int, spark: SparkSettings | None, cores: int | None, begins: Callable[[], object]
) -> tuple[list[Manifest], dict[str, int]]:
    """Write the histories and give the files their final names. Return the manifests of the histories, which are not
    written yet, and the faults."""
    units = _units(recipe, histories)
    begins()
    written = run_units(units, partial(write_unit, recipe=recipe), spark=spark, cores=cores, label="generate")
    faults, broken = _sums(unit.faults for unit in written), _sums(unit.broken for unit in written)
    manifests = []
    for place, dataset in enumerate(recipe.datasets):
        files = []
        for unit in sorted(written, key=lambda unit: unit.number):
            name, file = f"part-{unit.number:05d}.parquet", unit.files[place]
            dataset.directory.move(file.name, name)
            files.append(HistoryFile(name, file.rows, file.histories, file.row_groups))
        manifest = {"observable": tuple(VOCABULARIES[dataset.protocol].codes), **dataset.given}
        manifests.append(
            Manifest(dataset.protocol, files=tuple(files), seed=recipe.seed, faults=faults, broken=broken, **manifest)
        )
    if manifests[0].totals.histories != histories:
        empty = histories - manifests[0].totals.histories
        raise HistoryError(
            f"{recipe.simulator}: {empty} of {histories} histories have no event; every history needs one"
        )
    return manifests, faults


def _sums(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = dict[str, int]()
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def require_possible(
    directory: str | Path | Location, simulator: str, histories: int, config: Mapping[str, Any]
) -> None:
    """Raise `HistoryError`, with the estimated cost, if so many histories cannot be generated on this machine."""
    simulate = simulator_named(simulator)

    def once(tried: Mapping[str, Any]) -> int:
        rows, _ = _apart(simulate(seed_of(0, 0), dict(tried)))
        return sum(map(len, rows.values())) if isinstance(rows, Mapping) else len(rows)

    place = Location.of(directory)
    require_affordable(once, config, histories, cores_here(), place.path if place.is_local else None)


def write_unit(unit: Unit, recipe: Recipe) -> Written:
    """Simulate one unit in a worker, into files of this attempt's own, one per dataset."""
    simulate = simulator_named(recipe.simulator)
    faults: dict[str, int] = {}
    broken: Mapping[str, int] = {}
    name = f"part-{unit.number:05d}{ATTEMPT}{uuid4().hex}.parquet"
    with seldom_collected(), ExitStack() as files:
        writers = [
            files.enter_context(HistoryWriter(d.directory, name, VOCABULARIES[d.protocol], variant=d.variant))
            for d in recipe.datasets
        ]
        if recipe.many:
            columns, injected, *more = simulate(recipe.seed, unit.first_history, unit.histories, dict(recipe.config))
            for group in parts_of(columns, ROWS_PER_GROUP):
                writers[0].add(group)
            faults.update(injected)
            broken = more[0] if more else {}
        else:
            made: dict[str, list[Rows]] = {dataset.protocol: [] for dataset in recipe.datasets}
            waiting = 0
            for history in range(unit.first_history, unit.first_history + unit.histories):
                by_protocol, injected = _simulated(simulate, recipe, history)
                for protocol, rows in by_protocol.items():
                    if len(rows):
                        made[protocol].append((history, rows))
                        waiting += len(rows)
                for fault, count in injected.items():
                    faults[fault] = faults.get(fault, 0) + int(count)
                if waiting >= ROWS_PER_GROUP:  # rows take several times the memory of columns
                    _hand_over(made, writers)
                    waiting = 0
            _hand_over(made, writers)
    return Written(unit.number, tuple(writer.written for writer in writers), faults, broken)


def _hand_over(made: Mapping[str, list[Rows]], writers: Sequence[HistoryWriter]) -> None:
    for writer, (protocol, histories) in zip(writers, made.items(), strict=True):
        writer.add(columns_of(VOCABULARIES[protocol], histories))
        histories.clear()


def simulator_named(name: str) -> Callable[..., Any]:
    """Return the function called `module:function`. Raise `HistoryError` if the function does not exist."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise HistoryError(f"simulator {name!r}: not found ({error}); name it as module:function") from None
    except (Exception, SystemExit) as error:  # importing a user's module may raise any error
        raise HistoryError(f"simulator {name!r}: its import ended in {type(error).__name__}: {error}") from None
    if not callable(found):
        raise HistoryError(f"simulator {name!r}: is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def _simulated(
    simulate: Callable[..., Any], recipe: Recipe, history: int
) -> tuple[Mapping[str, Any], Mapping[str, int]]:
    """Return the rows of one history by protocol, and the faults in it."""
    rows, faults = _apart(simulate(seed_of(recipe.seed, history), dict(recipe.config)))
    known = [dataset.protocol for dataset in recipe.datasets]
    if not recipe.several and isinstance(rows, Mapping):
        raise HistoryError(
            f"{recipe.simulator}: returns rows of {', '.join(map(str, rows)) or 'nothing'}, and says nothing of them; "
            "give it a function vocabularies(config), as fencepost.proofs.scale.generate says"
        )
    if not recipe.several:
        return {known[0]: rows}, faults
    if not isinstance(rows, Mapping):
        raise HistoryError(f"{recipe.simulator}: returns rows of one protocol, and says that it tells of several")
    if strange := [name for name in rows if name not in known]:
        raise HistoryError(f"{recipe.simulator}: returns rows of {strange[0]}, and says it tells of {', '.join(known)}")
    return rows, faults


def _apart(made: Any) -> tuple[Any, Mapping[str, int]]:
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], Mapping):
        return made
    return made, {}


def _units(recipe: Recipe, histories: int) -> list[Unit]:
    """Return ranges of about one row group each, on average over the datasets. Histories are replayed side by side, and
    each costs less if more are in a row group. The size of the first history determines the ranges, so that files do
    not depend on the number of cores."""
    if histories < 1:
        return []
    simulate = simulator_named(recipe.simulator)
    try:
        if recipe.many and hasattr(simulate, "at_once"):
            size = int(simulate.at_once(recipe.seed, dict(recipe.config)))
            return _ranges(histories, size)
        if recipe.many:
            probe = len(simulate(recipe.seed, 0, 1, dict(recipe.config))[0]["history"])
        else:
            probe = sum(map(len, _simulated(simulate, recipe, 0)[0].values()))
    except HistoryError:
        raise
    except (KeyError, TypeError, ValueError) as error:  # what a config that it cannot use makes a simulator raise
        raise _unusable(recipe.simulator, recipe.config, error) from error
    return _ranges(histories, max(1, ROWS_PER_GROUP * len(recipe.datasets) // max(1, probe)))


def _ranges(histories: int, size: int) -> list[Unit]:
    return [Unit(number, first, min(size, histories - first)) for number, first in enumerate(range(0, histories, size))]


def _unusable(simulator: str, config: Mapping[str, Any], error: Exception) -> HistoryError:
    return HistoryError(f"{simulator}: cannot simulate with config {dict(config)}: {type(error).__name__}: {error}")
