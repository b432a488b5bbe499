"""``generate``: histories of a simulation, or of a model's runs."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.interrupts import when_interrupted
from fencepost.proofs.cli.shared.options import (
    BOUND,
    JSON,
    MASTER,
    PROFILE,
    PROTOCOL,
    SEED,
    complete_variant,
    import_from_here,
    parse_bounds,
    the_one,
)
from fencepost.proofs.cli.shared.output import console, errors
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA, write_json
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, find
from fencepost.properties.registry import PROTOCOLS, has, own

if TYPE_CHECKING:
    from fencepost.proofs.schemas import Generated

SPARK = click.option("--spark/--no-spark", default=None, hidden=True, help="Older names: with, or without, --master.")
CORES = click.option("--cores", type=click.IntRange(1, 1024), help="How many processes work.  [default: one a core]")
STEPS = 100
LARGE = 1_000_000_000
"""Events from which on the work goes to Spark by itself: it takes long enough that a worker may die meanwhile, and
Spark does again what that one did.  Below, to start Spark costs more than it gives."""


def settings(spark: bool | None, master: str | None, events: int, say: Callable[[str], object] | None = None) -> Any:
    """Spark's settings where it was asked for, or the work is large; None for processes of this machine.  ``say``: what
    is told that the work goes to Spark of itself; by default the error stream."""
    from fencepost.proofs.scale.units import SparkSettings

    if spark is False or not (spark or master or events >= LARGE):
        return None
    chosen = SparkSettings(master) if master else SparkSettings()
    if not (spark or master):
        from fencepost.proofs.scale.spark import missing_java

        without = missing_java()
        how = f"in processes here, since {without}" if without else f"on Spark ({chosen.master}), as --master would"
        (say or partial(errors.print, markup=False))(f"{events:,} events are many: {how}")
        if without:
            return None
    return chosen


NAMES = frozenset({"release"})
"""Keys of which no value is a number, though 4.3 looks like one."""


def parse_config(pairs: tuple[str, ...]) -> dict[str, Any]:
    """``["broken=answers_before_commit", "drop=0.1"]`` as a dict with numbers where they are numbers."""
    import json

    parsed: dict[str, Any] = {}
    for text in pairs:
        name, equals, value = text.partition("=")
        if not equals:
            raise CatalogueError(f"--config {text!r} is not NAME=VALUE; write --config events=1000")
        try:
            read = json.loads(value)
            parsed[name] = read if isinstance(read, str) or name not in NAMES else value
        except json.JSONDecodeError:
            parsed[name] = value
    return parsed


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
@click.option(
    "--config",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the simulator: events, brokers, block_size, faults, broken …",
)
@click.option("--simulator", metavar="MODULE:FUNCTION", help="Another simulator than the reference implementation's.")
@click.option(
    "--from",
    "source",
    type=click.Choice(("reference", "model")),
    default="reference",
    show_default=True,
    help="Whose histories: runs of the model are made many at a time, those of mistaken variants too.",
)
@click.option("--steps", type=click.IntRange(1, 32_000), help=f"Of a run of the model, at most.  [default: {STEPS}]")
@BOUND
@PROFILE
@SPARK
@MASTER
@CORES
@JSON
def generate(
    name: str, directory: str, histories: int, seed: int, pairs: tuple[str, ...], simulator: str | None, source: str,
    steps: int | None, changes: tuple[str, ...], profile: Profile, spark: bool | None, master: str | None,
    cores: int | None, json_file: Path | None,
) -> int:  # fmt: skip
    """Make histories, simulated or of a model, in a directory.

    As many processes as there are cores write the Parquet files, Spark's workers where --master names one, and a
    manifest says what they hold; the same seed gives the same histories however they are made.

    With --from model they are runs of the variant's model within the bounds, mistaken variants included, and the
    manifest says in how many of them each promise broke.  In each step every action that can be taken is as likely,
    and then each choice of its parameters.

    Example: fencepost generate id-blocks/kraft made --histories 5000 --config broken=answers_before_commit
    """
    if source == "model":
        if pairs or simulator is not None:
            raise CatalogueError(
                "--config and --simulator are of the reference; of a model there are --bound and --steps"
            )
        return _of_model(
            name, directory, histories, seed, steps or STEPS, changes, profile, spark, master, cores, json_file
        )
    asks = click.get_current_context().get_parameter_source
    for option in ("changes", "steps", "profile"):
        if asks(option) is not click.core.ParameterSource.DEFAULT:
            flag = "--bound" if option == "changes" else f"--{option}"
            raise CatalogueError(f"{flag} is of a model; name --from model, or write --config NAME=VALUE")
    from fencepost.proofs.scale.generate import generate as run
    from fencepost.proofs.scale.generate import generate_set, require_possible, vocabularies_of

    entry, variant = _what(name)
    known = {v: (function, config) for v, function, config in entry.simulators}
    if variant not in known and simulator is None:
        there = _unsimulated(entry) if entry.name in own() and not known else f"one of {_simulated(entry)}"
        raise CatalogueError(f"{name} has no simulator; name yours with --simulator, or {there}")
    if simulator is not None:
        import_from_here()
    function, usual = known.get(variant, ("", {}))
    function, config = simulator or function, {**usual, **parse_config(pairs)}
    if config.get("mode", variant) != variant:
        raise CatalogueError(f"--config mode={config['mode']} is not {name}; name the variant, and leave that out")
    if master is None:
        require_possible(directory, function, histories, config)
    each = config.get("events")
    told = list[str]()  # when it begins: what cannot be simulated is one line, and no other
    where = settings(spark, master, histories * each if isinstance(each, int) else 0, told.append)

    def begins() -> None:
        for line in told:
            errors.print(line, markup=False)

    asked: dict[str, Any] = dict(
        histories=histories, seed=seed, config=config, protocol=entry.name, variant=variant, spark=where, cores=cores,
        begins=begins,
    )  # fmt: skip
    with when_interrupted(lambda: _none_yet(json_file, seed)):
        if vocabularies_of(function, config):
            whole = generate_set(directory, function, **asked)
            events, faults, files = whole.rows, whole.faults, f"{len(whole.datasets)} vocabularies"
            by_vocabulary = {dataset.name: dataset.rows for dataset in whole.datasets}
        else:
            manifest = run(directory, function, **asked)
            events, faults, files = manifest.totals.rows, manifest.faults, f"{len(manifest.files)} files"
            by_vocabulary = {}
    _tell(events, histories, files, seed, faults, by_vocabulary)
    if json_file is not None:
        document: Generated = {
            "schema": SCHEMA, "events": events, "histories": histories, "seed": seed, "faults": dict(faults),
        }  # fmt: skip
        if by_vocabulary:
            document["datasets"] = by_vocabulary
        write_json(json_file, document)
    return 0


def _of_model(
    name: str, directory: str, histories: int, seed: int, steps: int, changes: tuple[str, ...], profile: Profile,
    spark: bool | None, master: str | None, cores: int | None, json_file: Path | None,
) -> int:  # fmt: skip
    """Runs of a model, and in how many of them each of its promises broke."""
    from fencepost.proofs.scale.from_model.simulator import SIMULATOR, bounds_for, config_of, require_possible
    from fencepost.proofs.scale.generate import generate as run
    from fencepost.proofs.scale.jobs import cores_here

    entry, variant = the_one(name)
    config = config_of(entry, variant, bounds_for(entry, variant, profile, parse_bounds(changes)), steps)
    if master is None:
        require_possible(directory, seed, histories, config, cores or cores_here())
    where = settings(spark, master, histories * steps)
    with when_interrupted(lambda: _none_yet(json_file, seed)):
        manifest = run(
            directory, SIMULATOR, histories=histories, seed=seed, config=config, protocol=entry.name,
            variant=variant.name, many=True, source="model", spark=where, cores=cores,
        )  # fmt: skip
    _tell(manifest.totals.rows, histories, f"{len(manifest.files)} files", seed, manifest.faults)
    for promise, runs in manifest.broken.items():
        found = f"broke in {runs:,} histories" if runs else "holds in all"
        console.print(f"    {name_in_words(promise):<28} {found}", markup=False)
    if json_file is not None:
        document: Generated = {
            "schema": SCHEMA, "events": manifest.totals.rows, "histories": histories, "seed": seed,
            "faults": dict(manifest.faults), "broken": dict(manifest.broken),
        }  # fmt: skip
        write_json(json_file, document)
    return 0


def _none_yet(json_file: Path | None, seed: int) -> None:
    if json_file is not None:
        document: Generated = {
            "schema": SCHEMA, "interrupted": True, "events": 0, "histories": 0, "seed": seed, "faults": {},
        }  # fmt: skip
        write_json(json_file, document)


def _tell(
    events: int, histories: int, files: str, seed: int, faults: Mapping[str, int],
    by_vocabulary: Mapping[str, int] = MappingProxyType({}),
) -> None:  # fmt: skip
    console.print(f"{events:,} events in {histories:,} histories, {files}, seed {seed}")
    for vocabulary, rows in by_vocabulary.items():
        console.print(f"    {vocabulary:<28} {rows:,} events", markup=False)
    if faults:
        console.print("faults: " + ", ".join(f"{count:,} {fault}" for fault, count in sorted(faults.items())))


def _what(name: str) -> tuple[ProtocolEntry, str]:
    """The protocol that was named, and the variant of it, or what its only simulator is called."""
    protocol, _, variant = name.partition("/")
    entry, _ = find(protocol)
    if not variant:
        if len(entry.simulators) != 1:
            raise CatalogueError(f"{name} has several variants; name one that has a simulator: {_simulated(entry)}")
        return entry, entry.simulators[0][0]
    if variant not in entry.simulated:
        entry.variant(variant)  # which says what there is
    return entry, variant


def _simulated(entry: ProtocolEntry) -> str:
    return ", ".join(f"{entry.name}/{variant}" for variant, _, _ in entry.simulators) or "none"


def _unsimulated(entry: ProtocolEntry) -> str:
    """What a protocol of one's own lacks to be simulated."""
    lacking = [f"{part}.py" for part in ("events", "interface", "reference") if not has(entry.name, part)]
    return f"write {', '.join(lacking)} of {PROTOCOLS[entry.name]}"
