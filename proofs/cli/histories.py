"""``generate`` and ``replay``: histories made by simulation, and any histories checked."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.exits import HOLDS, NOT_SO, REFUSED
from fencepost.proofs.cli.interrupts import when_interrupted
from fencepost.proofs.cli.options import JSON, PROTOCOL, SEED, complete_variant, import_from_here
from fencepost.proofs.cli.output import SIGNS, console, errors, read_from
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA, cut_short, write_json
from fencepost.properties.catalogue import CatalogueError, ProtocolEntry, find, protocols
from fencepost.properties.nearest import instead, underscored
from fencepost.properties.registry import PROTOCOLS, has, own
from rich.markup import escape

if TYPE_CHECKING:
    from fencepost.proofs.scale.replay import ReplayReport
    from fencepost.proofs.schemas import Generated
    from fencepost.properties.history import Manifest

CONFORMANCE = "conformance"
PREDICTED = "[green]violated as predicted[/]"
SPARK = click.option("--spark/--no-spark", default=None, hidden=True, help="Older names: with, or without, --master.")
MASTER = click.option(
    "--master", metavar="URL", help="Work on Spark, with this master, such as local[2], rather than in processes here."
)
CORES = click.option("--cores", type=click.IntRange(1, 1024), help="How many processes work.  [default: one a core]")
LARGE = 1_000_000_000
"""Events from which on the work goes to Spark by itself: it takes long enough that a worker may die meanwhile, and
Spark does again what that one did.  Below, to start Spark costs more than it gives."""


def settings(spark: bool | None, master: str | None, events: int) -> Any:
    """Spark's settings where it was asked for, or the work is large; None for processes of this machine."""
    from fencepost.proofs.scale.units import SparkSettings

    if spark is False or not (spark or master or events >= LARGE):
        return None
    chosen = SparkSettings(master) if master else SparkSettings()
    if not (spark or master):
        from fencepost.proofs.scale.spark import missing_java

        without = missing_java()
        how = f"in processes here, since {without}" if without else f"on Spark ({chosen.master}), as --master would"
        errors.print(f"{events:,} events are many: {how}", markup=False)
        if without:
            return None
    return chosen


def parse_config(pairs: tuple[str, ...]) -> dict[str, Any]:
    """``["broken=answers_before_commit", "drop=0.1"]`` as a dict with numbers where they are numbers."""
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
@SPARK
@MASTER
@CORES
@JSON
def generate(
    name: str, directory: str, histories: int, seed: int, pairs: tuple[str, ...], simulator: str | None,
    spark: bool | None, master: str | None, cores: int | None, json_file: Path | None,
) -> int:  # fmt: skip
    """Simulate histories into a directory.

    As many processes as there are cores write the Parquet files, Spark's workers where --master names one, and a
    manifest says what they hold; the same seed gives the same histories however they are made.

    Example: fencepost generate id-blocks/kraft made --histories 5000 --config broken=answers_before_commit
    """
    from fencepost.proofs.scale.generate import generate as run
    from fencepost.proofs.scale.generate import require_possible

    entry, variant = find(name)
    if variant is None and len(entry.simulators) == 1:
        variant = entry.variant(entry.simulators[0][0])
    if variant is None:
        raise CatalogueError(f"{name} has several variants; name one that has a simulator: {_simulated(entry)}")
    known = {v: (function, config) for v, function, config in entry.simulators}
    if variant.name not in known and simulator is None:
        there = _unsimulated(entry) if entry.name in own() and not known else f"one of {_simulated(entry)}"
        raise CatalogueError(f"{name} has no simulator; name yours with --simulator, or {there}")
    if simulator is not None:
        import_from_here()
    function, usual = known.get(variant.name, ("", {}))
    config = {**usual, **parse_config(pairs)}
    if config.get("mode", variant.name) != variant.name:
        raise CatalogueError(f"--config mode={config['mode']} is not {name}; name the variant, and leave that out")
    if master is None:
        require_possible(directory, simulator or function, histories, config)
    each = config.get("events")
    where = settings(spark, master, histories * each if isinstance(each, int) else 0)

    def none_yet() -> None:
        if json_file is not None:
            document: Generated = {
                "schema": SCHEMA, "interrupted": True, "events": 0, "histories": 0, "seed": seed, "faults": {},
            }  # fmt: skip
            write_json(json_file, document)

    with when_interrupted(none_yet):
        manifest = run(
            directory, simulator or function, histories=histories, seed=seed, config=config,
            protocol=entry.name, variant=variant.name, spark=where, cores=cores,
        )  # fmt: skip
    totals = manifest.totals
    console.print(f"{totals.rows:,} events in {totals.histories:,} histories, {len(manifest.files)} files, seed {seed}")
    if manifest.faults:
        console.print("faults: " + ", ".join(f"{count:,} {fault}" for fault, count in sorted(manifest.faults.items())))
    if json_file is not None:
        document: Generated = {
            "schema": SCHEMA, "events": totals.rows, "histories": totals.histories, "seed": seed,
            "faults": dict(manifest.faults),
        }  # fmt: skip
        write_json(json_file, document)
    return 0


def _simulated(entry: ProtocolEntry) -> str:
    return ", ".join(f"{entry.name}/{variant}" for variant, _, _ in entry.simulators) or "none"


def _unsimulated(entry: ProtocolEntry) -> str:
    """What a protocol of one's own lacks to be simulated."""
    lacking = [f"{part}.py" for part in ("events", "interface", "reference") if not has(entry.name, part)]
    return f"write {', '.join(lacking)} of {PROTOCOLS[entry.name]}"


@click.command()
@click.argument("directory")
@click.option(
    "--protocol", type=PROTOCOL, metavar="PACKAGE", help="Of histories of a protocol of your own: the package it is in."
)
@click.option("--check", "checks", multiple=True, metavar="PROPERTY", help="Only this property; may be repeated.")
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="PROPERTY",
    help="Fail if this property, or conformance, is not decided; repeatable; `all`: all that the mode promises.",
)
@click.option("--strict", is_flag=True, help="Fail if anything that applies to the protocol is not decided.")
@click.option(
    "--conformance/--no-conformance", default=True, show_default=True, help="Also hold each history against the model."
)
@click.option(
    "--expecting",
    multiple=True,
    metavar="PROPERTY",
    help="In a recording, violations of this property may be as predicted of its variant, as in simulated histories; "
    "repeatable; `all`: of each that the variant breaks by design.",
)
@SPARK
@MASTER
@CORES
@JSON
def replay(
    directory: str,
    protocol: str | None,
    checks: tuple[str, ...],
    required: tuple[str, ...],
    strict: bool,
    conformance: bool,
    expecting: tuple[str, ...],
    spark: bool | None,
    master: str | None,
    cores: int | None,
    json_file: Path | None,
) -> int:
    """Hold histories against their properties and the model.

    DIRECTORY is what `fencepost generate` or `fencepost record` wrote.  What a recording does not show, or what there
    was nothing to judge of, is `unknown`, with the reason; what its mode does not know is `not promised`; a history
    that the model cannot follow to its end is `undecided`.  A violation is `as predicted`, and no failure, where its
    variant breaks the property by design and the model, following the same history, takes the step that allows it.
    Exit code 1 if something is violated, or if what --require names is not decided; --strict is --require all.  Exit
    code 2 if nothing at all was decided.

    The report is the same in processes here and on Spark, timings aside. Example: fencepost replay made --require all
    """
    from fencepost.proofs.scale.replay import replay as run
    from fencepost.proofs.traces import conformance_of, predicted_of
    from fencepost.properties.history import Manifest
    from fencepost.properties.history.location import Location
    from fencepost.properties.history.properties_of import properties_of

    manifest = Manifest.read(Location.of(directory))
    _require_protocol(manifest, directory, protocol)
    checks = tuple(_history_property(manifest, "--check", name) for name in checks)
    further = {CONFORMANCE: conformance_of(manifest)} if conformance else {}
    wanted = _required(manifest, (*required, *(["all"] if strict else [])), checks, conformance)
    entry = protocols()[manifest.protocol]
    variants = [v for v in entry.variants if v.name == manifest.variant] or entry.variants
    read = read_from(variants, properties_of(entry.name).module)
    where = settings(spark, master, manifest.totals.rows)
    excuses = predicted_of(manifest, _expected(manifest, expecting))
    under_way: list[Callable[[], ReplayReport]] = []

    def so_far() -> None:
        """What was found in the pieces that were checked when an interrupt came."""
        if json_file is not None:
            found = under_way[0]()
            fields = {"sources": read, "required": list(wanted), "unmet": found.unmet(wanted)}
            write_json(json_file, cut_short({"schema": SCHEMA, **found.as_dict(), **fields}))

    with when_interrupted(so_far, lambda: under_way):
        report = run(
            directory, spark=where, cores=cores, checks=checks or None, further=further, excuses=excuses,
            started=under_way.append,
        )  # fmt: skip
    console.print(
        f"{report.events:,} events, {report.histories:,} histories, {report.pieces} pieces, "
        f"{report.events_per_second:,.0f} events/s"
    )
    for name, judged in report.judged.items():
        broken = report.violations.get(name)
        if broken:
            first = escape(str(broken["first"]))
            console.print(f"    {name_in_words(name):<28} [red]violated[/] {broken['count']:,} times; first: {first}")
        elif name not in report.unknown and name not in report.predicted:
            share = report.followed(name) if name in further else None
            of_all = f", {share:.1%} of the histories" if share is not None and share < 1 else ""
            console.print(f"    {name_in_words(name):<28} [green]holds[/] ({judged:,} judged{of_all})")
        if by := report.predicted.get(name):
            steps = ", ".join(f"{excuse.partition(':')[0]} {count:,}" for excuse, count in by.items())
            console.print(f"    {name_in_words(name):<28} {PREDICTED} {sum(by.values()):,} times: {escape(steps)}")
    _tell_predicted(report.predicted, str(manifest.config.get("mode", manifest.variant)))
    for name, reasons in report.undecided.items():
        for reason, histories in reasons.items():
            console.print(
                f"    {name_in_words(name):<28} [yellow]undecided[/] in {histories:,} histories: {escape(reason)}"
            )
    for name, reason in report.unknown.items():
        console.print(f"    {name_in_words(name):<28} [yellow]unknown[/]: {escape(reason)}")
    for name, reason in report.not_promised.items():
        console.print(f"    {name_in_words(name):<28} {SIGNS['not promised']}: {escape(reason)}")
    unmet = report.unmet(wanted)
    for name, reason in unmet.items():
        errors.print(f"[red]required, and not decided:[/] {name_in_words(name)}: {escape(reason)}")
    if not report.decided:
        errors.print("[red]nothing was decided:[/] every property is unknown or not promised, which is no success")
    if json_file is not None:
        further_fields = {"sources": read, "required": list(wanted), "unmet": unmet}
        write_json(json_file, {"schema": SCHEMA, **report.as_dict(), **further_fields})
    if not report.holds or unmet:
        return NOT_SO
    return HOLDS if report.decided else REFUSED


def _tell_predicted(predicted: dict[str, dict[str, int]], variant: str) -> None:
    """What of it is no defect, and why."""
    totals = dict[str, int]()
    for by in predicted.values():
        for excuse, count in by.items():
            totals[excuse] = totals.get(excuse, 0) + count
    if not totals:
        return
    console.print(
        f"{sum(totals.values()):,} violations are as predicted of {variant}, and no defect: it declares that it breaks "
        "these properties, and its model, following the same history, takes the step that allows this violation:",
        markup=False,
    )
    for excuse, count in sorted(totals.items()):
        console.print(f"    {count:,} by {excuse}", markup=False)


def _expected(manifest: "Manifest", names: tuple[str, ...]) -> tuple[str, ...]:
    """The properties that a recording may violate as predicted.  CatalogueError for what is none, or not broken."""
    from fencepost.properties.history.properties_of import properties_of

    if not names:
        return ()
    broken = properties_of(manifest.protocol).predicted(manifest)
    names = tuple(_history_property(manifest, "--expecting", name, "all") for name in names)
    for name in names:
        if name != "all" and name not in broken:
            raise CatalogueError(f"--expecting: {name_in_words(name)} is not among what this variant breaks by design")
    return tuple(broken) if "all" in names else names


def _require_protocol(manifest: "Manifest", directory: str, asked: str | None) -> None:
    """CatalogueError for histories of a protocol that is not known, or is not the one that was named."""
    from fencepost.properties.history import VOCABULARIES
    from fencepost.properties.history.properties_of import HISTORIES

    protocol, known = manifest.protocol, ", ".join(VOCABULARIES)
    if asked is not None and asked != protocol:
        raise CatalogueError(f"{directory}: these are histories of {protocol}, not of {asked}; leave out --protocol")
    if protocol not in PROTOCOLS:
        raise CatalogueError(
            f"{directory}: unknown protocol {protocol!r}; known: {known}; name your own with --protocol PACKAGE"
        )
    for found in (VOCABULARIES, HISTORIES):
        if protocol not in found:
            raise CatalogueError(f"{directory}: histories of {protocol} are not judged: {found.lacking(protocol)}")
    there = [variant.name for variant in protocols()[protocol].variants]
    if manifest.variant and manifest.variant not in there:
        meant = instead(manifest.variant, there, f"fencepost list {protocol}")
        raise CatalogueError(
            f"{directory}: {protocol} has no variant {manifest.variant!r}, as the manifest says; {meant}"
        )


def _required(
    manifest: "Manifest", names: tuple[str, ...], checks: tuple[str, ...], conformance: bool
) -> tuple[str, ...]:
    """The properties that have to be decided.  CatalogueError for what is none, or is not checked."""
    from fencepost.properties.history.properties_of import properties_of

    properties = properties_of(manifest.protocol)
    checked = [*(checks or properties.names), *([CONFORMANCE] if conformance else [])]
    names = tuple(_history_property(manifest, "--require", name, "all", CONFORMANCE) for name in names)
    for name in names:
        if name not in ("all", *checked):
            raise CatalogueError(f"--require: {name} is not checked: name it with --check as well, or leave that out")
    if "all" not in names:
        return tuple(dict.fromkeys(names))
    return tuple(name for name in checked if name in names or name not in properties.unpromised(manifest))


def _history_property(manifest: "Manifest", option: str, name: str, *further: str) -> str:
    """A property by its name in the code, given that or its name as it is printed.  CatalogueError if it is none."""
    from fencepost.properties.history.properties_of import properties_of

    known = (*properties_of(manifest.protocol).names, *further)
    if underscored(name) not in known:
        meant = instead(name, [name_in_words(each) for each in known], "a replay without that option")
        raise CatalogueError(f"{option}: {manifest.protocol} has no history property {name!r}; {meant}")
    return underscored(name)
