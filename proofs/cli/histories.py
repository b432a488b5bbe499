"""``generate``, ``replay`` and ``record``: histories made by simulation, checked, and taken from real logs."""

from pathlib import Path
from typing import Any

import click
from fencepost.proofs.cli.output import console, errors
from fencepost.proofs.cli.searches import JSON
from fencepost.proofs.report import write_json
from fencepost.properties.catalogue import CatalogueError, find

SPARK = click.option(
    "--spark/--no-spark", default=True, show_default=True, help="On Spark, or on this machine's processes alone."
)
MASTER = click.option("--master", default="local[2]", show_default=True, help="Spark's master.")
CORES = click.option("--cores", type=int, help="Without Spark: how many processes.")


def settings(spark: bool, master: str) -> Any:
    """Spark's settings, or None where Spark is not wanted."""
    from fencepost.proofs.units import SparkSettings

    return SparkSettings(master) if spark else None


def parse_config(pairs: tuple[str, ...]) -> dict[str, Any]:
    """``["broken=stale_answer", "drop=0.1"]`` as a dict with numbers where they are numbers."""
    import json

    parsed: dict[str, Any] = {}
    for text in pairs:
        name, equals, value = text.partition("=")
        if not equals:
            raise CatalogueError(f"--config {text!r} is not NAME=VALUE; write --config events=1000")
        try:
            parsed[name] = json.loads(value)
        except json.JSONDecodeError:
            parsed[name] = value
    return parsed


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT")
@click.argument("directory", type=str)
@click.option(
    "--histories",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="How many simulations, each with its own seed.",
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--config",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the simulator: events, brokers, block_size, faults, broken …",
)
@click.option("--simulator", help="Another simulator, as module:function.")
@SPARK
@MASTER
@CORES
@JSON
def generate(
    name: str, directory: str, histories: int, seed: int, pairs: tuple[str, ...], simulator: str | None,
    spark: bool, master: str, cores: int | None, json_file: Path | None,
) -> int:  # fmt: skip
    """Simulate histories into DIRECTORY (Parquet and a manifest), in the workers of Spark."""
    from fencepost.proofs.generate import generate as run

    entry, variant = find(name)
    if variant is None:
        raise CatalogueError(f"{name} has several variants; name one: {', '.join(v for v, _, _ in entry.simulators)}")
    known = {v: (function, config) for v, function, config in entry.simulators}
    if variant.name not in known and simulator is None:
        raise CatalogueError(
            f"no simulator is known for {name}; there is one for {', '.join(known)}, or name yours with --simulator"
        )
    function, config = known.get(variant.name, ("", {}))
    manifest = run(
        directory, simulator or function, histories=histories, seed=seed, config={**config, **parse_config(pairs)},
        protocol=entry.name, variant=variant.name, spark=settings(spark, master), cores=cores,
    )  # fmt: skip
    totals = manifest.totals
    console.print(f"{totals.rows:,} events in {totals.histories:,} histories, {len(manifest.files)} files, seed {seed}")
    if manifest.faults:
        console.print("faults: " + ", ".join(f"{count:,} {fault}" for fault, count in sorted(manifest.faults.items())))
    if json_file is not None:
        write_json(
            json_file,
            {"events": totals.rows, "histories": totals.histories, "seed": seed, "faults": dict(manifest.faults)},
        )
    return 0


@click.command()
@click.argument("directory", type=str)
@click.option("--check", "checks", multiple=True, help="Only this history property; may be repeated.")
@click.option(
    "--conformance/--no-conformance", default=True, show_default=True, help="Also hold each history against the model."
)
@SPARK
@MASTER
@CORES
@JSON
def replay(
    directory: str,
    checks: tuple[str, ...],
    conformance: bool,
    spark: bool,
    master: str,
    cores: int | None,
    json_file: Path | None,
) -> int:
    """Hold the histories in DIRECTORY against the history properties, and against the model."""
    from fencepost.proofs.conformance import conformance_of
    from fencepost.proofs.replay import replay as run
    from fencepost.properties.history import Manifest
    from fencepost.properties.history.location import Location

    further = {"conformance": conformance_of(Manifest.read(Location.of(directory)))} if conformance else {}
    report = run(directory, spark=settings(spark, master), cores=cores, checks=checks or None, further=further)
    console.print(
        f"{report.events:,} events, {report.histories:,} histories, {report.pieces} pieces, "
        f"{report.events_per_second:,.0f} events/s"
    )
    for name, judged in report.judged.items():
        broken = report.violations.get(name)
        if broken:
            console.print(f"    {name:<28} [red]violated[/] {broken['count']} times; first: {broken['first']}")
        else:
            console.print(f"    {name:<28} [green]holds[/] ({judged:,} judged)")
    for name, reason in report.unknown.items():
        console.print(f"    {name:<28} [yellow]unknown[/]: {reason}")
    if json_file is not None:
        write_json(json_file, report.as_dict())
    return 0 if report.holds else 1


@click.command()
@click.argument("log_dirs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG_DIR...")
@click.option(
    "--clients",
    type=click.Path(path_type=Path),
    help="What clients were given: a file of observations, one JSON object a line.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Directory to write the history to.")
@click.option("--block-size", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--kafka-version", default="unknown", show_default=True, help="For the record.")
def record(log_dirs: tuple[Path, ...], clients: Path | None, out: Path, block_size: int, kafka_version: str) -> int:
    """Read the metadata logs of all KRaft controllers (LOG_DIR: the log directory of each) into a history that
    replays."""
    from fencepost.proofs.recording import record as run

    summary = run(list(log_dirs), clients, out, block_size=block_size, kafka_version=kafka_version)
    for line in str(summary).splitlines():
        console.print(line, markup=False)
    errors.print(f"written to {out}; check it with: fencepost replay {out}", markup=False)
    return 0
