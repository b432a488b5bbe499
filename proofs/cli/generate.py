"""The command ``generate`` writes histories of a simulation, or of a model's runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import (
    BOUND,
    CORES,
    JSON,
    MASTER,
    PROFILE,
    PROTOCOL,
    SEED,
    complete_variant,
    config_option,
    import_from_here,
    parse_bounds,
    parse_config,
    the_one,
)
from fencepost.proofs.cli.shared.output import console, errors
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, find
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import PROTOCOLS, has, own

if TYPE_CHECKING:
    from fencepost.proofs.scale.units import SparkSettings
    from fencepost.proofs.schemas import Generated

STEPS = 100
LARGE = 1_000_000_000
"""Work of at least this many events goes to Spark unasked. Such work takes so long that a worker may die meanwhile, and
Spark repeats what a dead worker did. For fewer events, starting Spark costs more than it gains."""


def settings(
    master: str | None, cores: int | None, events: int, say: Callable[[str], object] | None = None
) -> "SparkSettings | None":
    """Return Spark's settings where a master was named, or where the work is large and no number of cores was named.
    Where processes of this machine do the work, the settings are None. ``say`` is called when the work goes to Spark
    unasked. By default, ``say`` prints to the error stream."""
    from fencepost.proofs.scale.units import SparkSettings

    if master is not None:
        return SparkSettings(master)
    if cores is not None or events < LARGE:
        return None
    from fencepost.proofs.scale.spark import missing_java

    without, chosen = missing_java(), SparkSettings()
    how = f"in processes here, since {without}" if without else f"on Spark ({chosen.master}), as --master would"
    (say or partial(errors.print, markup=False))(f"{quantity(events, 'event')} are many: {how}")
    return None if without else chosen


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT", shell_complete=complete_variant, type=PROTOCOL)
@click.argument("directory")
@click.option(
    "--histories",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="How many simulations, each with its own seed.",
)
@SEED
@config_option("Of the simulator: events, brokers, block_size, faults, broken …")
@click.option(
    "--from", "source", metavar="reference|model|MODULE:FUNCTION", default="reference", show_default=True,
    help="Whose histories: of the reference implementation, of the model, mistaken variants included, or of another "
    "simulator.",
)  # fmt: skip
@click.option("--steps", type=click.IntRange(1, 32_000), help=f"Of a run of the model, at most.  [default: {STEPS}]")
@BOUND
@PROFILE
@MASTER
@CORES
@JSON
def generate(
    name: str, directory: str, histories: int, seed: int, pairs: tuple[str, ...], source: str, steps: int | None,
    changes: tuple[str, ...], profile: Profile, master: str | None, cores: int | None, json_file: Path | None,
) -> int:  # fmt: skip
    """Make histories, simulated or of a model, in a directory.

    As many processes as there are cores write the Parquet files, or Spark's workers where --master names a cluster, and
    a manifest describes their content. The same seed gives the same histories however they are made.

    With --from model, the histories are runs of the variant's model within the bounds, mistaken variants included, and
    the manifest has the number of them in which each promise broke. In each step, every action that can be taken is
    equally likely, and so is then each choice of its parameters.

    Example: fencepost generate id-blocks/kraft made --histories 5000 --config broken=answers_before_commit
    """
    document: Generated = {"schema": SCHEMA, "events": 0, "histories": 0, "seed": seed, "faults": {}}
    with reported(json_file, lambda: document):
        if source == "model":
            if pairs:
                raise CatalogueError("--config is of the reference; of a model there are --bound and --steps")
            made = _of_model(
                name, directory, histories, seed, steps or STEPS, parse_bounds(changes), profile, master, cores
            )
        else:
            asks = click.get_current_context().get_parameter_source
            for option, flag in (("changes", "--bound"), ("steps", "--steps"), ("profile", "--profile")):
                if asks(option) is not click.core.ParameterSource.DEFAULT:
                    raise CatalogueError(f"{flag} is of a model; name --from model, or write --config NAME=VALUE")
            simulator = None if source == "reference" else source
            made = _of_simulator(name, directory, histories, seed, parse_config(pairs), simulator, master, cores)
        document["events"], document["histories"], document["faults"] = made.events, histories, dict(made.faults)
        if made.broken is not None:
            document["broken"] = dict(made.broken)
        if made.datasets:
            document["datasets"] = dict(made.datasets)
    console.print(f"{quantity(made.events, 'event')} in {quantity(histories, 'history')}, {made.files}, seed {seed}")
    for vocabulary, rows in made.datasets.items():
        console.print(f"    {vocabulary:<28} {quantity(rows, 'event')}", markup=False)
    if made.faults:
        console.print("faults: " + ", ".join(f"{count:,} {fault}" for fault, count in sorted(made.faults.items())))
    for promise, runs in (made.broken or {}).items():
        found = f"broke in {quantity(runs, 'history')}" if runs else "holds in all"
        console.print(f"    {name_in_words(promise):<28} {found}", markup=False)
    return 0


@dataclass(frozen=True)
class _Made:
    """A `_Made` describes histories that were written: the number of ``events``, the ``files`` and the injected
    ``faults``. For several vocabularies, ``datasets`` has the events of each. For a model, ``broken`` has the number of
    histories in which each promise broke."""

    events: int
    files: str
    faults: Mapping[str, int]
    datasets: Mapping[str, int] = field(default_factory=dict)
    broken: Mapping[str, int] | None = None


def _of_simulator(
    name: str, directory: str, histories: int, seed: int, changes: Mapping[str, Any], simulator: str | None,
    master: str | None, cores: int | None,
) -> _Made:  # fmt: skip
    from fencepost.proofs.scale.generate import generate as run
    from fencepost.proofs.scale.generate import generate_set, require_possible, vocabularies_of

    entry, variant = _what(name)
    known = {v: (function, config) for v, function, config in entry.simulators}
    if variant not in known and simulator is None:
        there = _unsimulated(entry) if entry.name in own() and not known else f"one of {_simulated(entry)}"
        raise CatalogueError(f"{name} has no simulator; name yours with --from MODULE:FUNCTION, or {there}")
    if simulator is not None:
        import_from_here()
    function, usual = known.get(variant, ("", {}))
    function, config = simulator or function, {**usual, **changes}
    if config.get("mode", variant) != variant:
        raise CatalogueError(f"--config mode={config['mode']} is not {name}; name the variant, and leave that out")
    if master is None:
        require_possible(directory, function, histories, config)
    each = config.get("events")
    waiting = list[str]()  # printed when the work begins, so that a refusal stays a single line
    where = settings(master, cores, histories * each if isinstance(each, int) else 0, waiting.append)

    def begins() -> None:
        for line in waiting:
            errors.print(line, markup=False)

    asked: dict[str, Any] = dict(
        histories=histories, seed=seed, config=config, protocol=entry.name, variant=variant, spark=where, cores=cores,
        begins=begins,
    )  # fmt: skip
    if not vocabularies_of(function, config):
        manifest = run(directory, function, **asked)
        return _Made(manifest.totals.rows, quantity(len(manifest.files), "file"), manifest.faults)
    every = generate_set(directory, function, **asked)
    datasets = {dataset.name: dataset.rows for dataset in every.datasets}
    return _Made(every.rows, f"{len(every.datasets)} vocabularies", every.faults, datasets)


def _of_model(
    name: str, directory: str, histories: int, seed: int, steps: int, changes: dict[str, int], profile: Profile,
    master: str | None, cores: int | None,
) -> _Made:  # fmt: skip
    from fencepost.proofs.scale.from_model.simulator import SIMULATOR, bounds_for, config_of, require_possible
    from fencepost.proofs.scale.generate import generate as run
    from fencepost.proofs.scale.jobs import cores_here

    entry, variant = the_one(name)
    config = config_of(entry, variant, bounds_for(entry, variant, profile, changes), steps)
    if master is None:
        require_possible(directory, seed, histories, config, cores or cores_here())
    manifest = run(
        directory, SIMULATOR, histories=histories, seed=seed, config=config, protocol=entry.name,
        variant=variant.name, many=True, source="model", spark=settings(master, cores, histories * steps), cores=cores,
    )  # fmt: skip
    return _Made(manifest.totals.rows, quantity(len(manifest.files), "file"), manifest.faults, broken=manifest.broken)


def _what(name: str) -> tuple[ProtocolEntry, str]:
    """Return the protocol that was named, and the named variant or the name of its only simulator."""
    protocol, _, variant = name.partition("/")
    entry, _ = find(protocol)
    if not variant:
        if len(entry.simulators) != 1:
            raise CatalogueError(f"{name} has several variants; name one that has a simulator: {_simulated(entry)}")
        return entry, entry.simulators[0][0]
    if variant not in entry.simulated:
        entry.variant(variant)  # raises with the names of the variants
    return entry, variant


def _simulated(entry: ProtocolEntry) -> str:
    return ", ".join(f"{entry.name}/{variant}" for variant, _, _ in entry.simulators) or "none"


def _unsimulated(entry: ProtocolEntry) -> str:
    lacking = [f"{part}.py" for part in ("events", "interface", "reference") if not has(entry.name, part)]
    return f"write {', '.join(lacking)} of {PROTOCOLS[entry.name]}"
