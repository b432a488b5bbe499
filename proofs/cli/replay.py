"""The command ``replay`` checks histories against their properties and the model. In a set, it checks the histories of
each vocabulary."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cases import Case, Outcome
from fencepost.proofs.cli.generate import settings
from fencepost.proofs.cli.shared.configured import Configured
from fencepost.proofs.cli.shared.exits import HOLDS, NOT_SO, REFUSED
from fencepost.proofs.cli.shared.gate import Gate, gated
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import CORES, JSON, MASTER, PROTOCOL, OutputFile
from fencepost.proofs.cli.shared.output import console, errors, read_from
from fencepost.proofs.cli.shared.pages import HTML, write_pages
from fencepost.proofs.provenance import judging
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA
from fencepost.properties.catalogue import CatalogueError, protocols
from fencepost.properties.history.manifest import MANIFEST
from fencepost.properties.nearest import instead, underscored
from fencepost.properties.registry import PROTOCOLS, called
from rich.markup import escape

if TYPE_CHECKING:
    from fencepost.proofs.scale.replay import ReplayReport
    from fencepost.properties.history import Manifest
    from fencepost.properties.history.location import Location

CONFORMANCE = "conformance"


@dataclass(frozen=True)
class Asked:
    """An `Asked` holds what is asked of histories, in the words of the command line."""

    checks: tuple[str, ...]
    required: tuple[str, ...]
    conformance: bool
    expecting: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """A `Dataset` has histories in one vocabulary, which ``name`` names if there are several, and what is asked of
    them."""

    name: str
    place: "Location"
    manifest: "Manifest"
    checks: tuple[str, ...]
    wanted: tuple[str, ...]
    expecting: tuple[str, ...]
    conformance: bool


@click.command(cls=Configured)
@click.argument("directory")
@click.option(
    "--protocol",
    "packages",
    type=PROTOCOL,
    multiple=True,
    metavar="PACKAGE",
    help="Of histories of a protocol of your own: the package it is in; repeatable.",
)
@click.option("--check", "checks", multiple=True, metavar="PROPERTY", help="Only this property; may be repeated.")
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="PROPERTY",
    help="Fail if this property, or conformance, is not decided; repeatable; `all`: all that the mode promises.",
)
@click.option(
    "--no-conformance", "conformance", is_flag=True, flag_value=False, default=True, help="Leave the model out."
)
@click.option(
    "--expecting",
    multiple=True,
    metavar="PROPERTY",
    help="In a recording, violations of this property may be as predicted of its variant, as in simulated histories; "
    "repeatable; `all`: of each that the variant breaks by design.",
)
@click.option(
    "--violations",
    "rows_file",
    type=OutputFile(),
    metavar="FILE",
    help="Write the rows that violate something to FILE, as Parquet.",
)
@HTML
@click.option(
    "--rekey",
    "limit",
    type=click.IntRange(1),
    metavar="EVENTS",
    help="Have Spark judge a history of more events than this in pieces, grouped by the keys of the properties.  "
    "[default: as many as half of this machine's memory is taken to hold, on each core]",
)
@click.option("--verbose", is_flag=True, help="A line for each property, also for what holds or is not decided.")
@MASTER
@CORES
@JSON
@gated
def replay(
    directory: str, packages: tuple[str, ...], checks: tuple[str, ...], required: tuple[str, ...], conformance: bool,
    expecting: tuple[str, ...], rows_file: Path | None, html_file: Path | None, limit: int | None, verbose: bool,
    master: str | None, cores: int | None, json_file: Path | None, gate: Gate,
) -> int:  # fmt: skip
    """Hold histories against their properties and the model.

    DIRECTORY is what `fencepost generate` or `fencepost record` wrote, or a file of your own system's events in JSON
    lines, one event of --protocol PACKAGE a line: {"time_us": 0, "kind": "granted", "client": 0}. A property is
    `unknown`, with the reason, if a recording lacks the evidence or has nothing to judge, and `not promised` if the
    history's mode does not have it. A history that the model cannot follow to its end is `undecided`. A violation is
    `as predicted`, and no failure, where its variant breaks the property by design and the model, following the same
    history, takes the step that allows it. The exit code is 1 if something is violated, or if what --require names is
    not decided, and 2 if nothing at all was decided.

    Histories of one system in several vocabularies are judged in each by its own protocol's properties and model, or,
    with --check, in those that have such a property.

    The option --violations writes a row for each violation, with what is violated, in words, the step of the event that
    explains it, and the event with all its columns. Predicted violations are left out. The option --html writes a page
    with the first violation of each property and the relevant events of its history.

    A history that is larger than a worker's memory is re-keyed by Spark (--master). The events of such a history are
    grouped by what the properties compare, such as a producer id or a transaction, and judged in pieces. The report
    states this, and which property is unknown because too many events would have to be in one place. The model does not
    follow such a history.

    For each violated property, the report has what it demands, the first violation with its events, and the command
    that draws it. Properties that hold or are not decided are summed up, unless --verbose asks for a line for each.

    The report is the same in processes here and on Spark, timings aside. Example: fencepost replay made --require all
    """
    from fencepost.properties.history.location import Location
    from fencepost.properties.history.sets import datasets_in

    asked = Asked(checks, required, conformance, expecting)
    place = Location.of(click.get_current_context().with_resource(_as_directory(directory, packages)))
    there = datasets_in(place)
    titles = {name: f"{directory}/{name}" if name else directory for name in there or ("",)}
    chosen = datasets_of(there or {"": place}, directory, packages, asked)
    documents: dict[str, Callable[[], dict[str, Any]]] = {}  # functions that report on each dataset so far

    def document() -> dict[str, Any]:
        found = {name: made() for name, made in documents.items()}
        return {"schema": SCHEMA, "datasets": found} if there else found[""]

    each = (("--protocol", [PROTOCOLS[name] for name in packages]), ("--expecting", expecting))
    command = ["fencepost", "replay", directory, *(w for option, values in each for v in values for w in (option, v))]
    codes, rows, stories, cases = [], list[Any](), list[Any](), list[Case]()
    with reported(json_file, document, lambda: documents, lambda: gate.write(cases, interrupted=True)):
        for dataset in chosen:
            if there:
                console.print(f"{dataset.name}:", markup=False)
            where = settings(master, cores, dataset.manifest.totals.rows)
            report = judged(dataset, where, cores, documents, limit)
            codes.append(_report(dataset, report, command, verbose))
            cases += cases_of(dataset, report, titles[dataset.name], command)
            if rows_file is not None:
                rows.append(violating(dataset, report, where, cores, limit))
            if html_file is not None:
                stories += _stories(dataset, report)
        write_pages(stories, html_file)
        if rows_file is not None:
            from fencepost.proofs.scale.violating import write_rows

            write_rows(rows_file, rows)
    gate.write(cases)
    return NOT_SO if NOT_SO in codes else max(codes)


@contextmanager
def _as_directory(place: str, packages: tuple[str, ...]) -> "Iterator[str | Path]":
    """Return the directory of histories, which is made of a file of events for the time of the context."""
    from fencepost.properties.history import VOCABULARIES

    if not Path(place).is_file():
        yield place
        return
    if len(packages) != 1:
        raise CatalogueError(f"{place} is a file: name the one protocol whose events are its lines, --protocol PACKAGE")
    if packages[0] not in VOCABULARIES:
        raise CatalogueError(f"{place}: events of {packages[0]} are not known: {VOCABULARIES.lacking(packages[0])}")
    from fencepost.proofs.recording.event_lines import history_of

    with history_of(Path(place), VOCABULARIES[packages[0]]) as directory:
        yield directory


def judged(
    dataset: Dataset, spark: Any, cores: int | None, documents: dict[str, Callable[[], dict[str, Any]]],
    limit: int | None = None,
) -> "ReplayReport":  # fmt: skip
    """Return the report on a dataset. While the report is made, ``documents`` maps the dataset's name to a function
    that makes a document of the results so far. ``limit`` is the number of events from which on a history is re-keyed,
    by default as many as a worker can hold."""
    from fencepost.proofs.scale.replay import replay as run
    from fencepost.proofs.traces import conformance_of, predicted_of

    manifest = dataset.manifest
    entry = protocols()[manifest.protocol]
    variants = [v for v in entry.variants if v.name == manifest.variant] or entry.variants
    read = read_from(variants, *judging(entry.name))

    def document(report: "ReplayReport") -> dict[str, Any]:
        further = {"sources": read, "required": list(dataset.wanted), "unmet": report.unmet(dataset.wanted)}
        return {"schema": SCHEMA, **report.as_dict(), **further}

    def started(so_far: "Callable[[], ReplayReport]") -> None:
        documents[dataset.name] = lambda: document(so_far())

    report = run(
        dataset.place, spark=spark, cores=cores, checks=dataset.checks or None,
        further={CONFORMANCE: conformance_of(manifest)} if dataset.conformance else {},
        excuses=predicted_of(manifest, _expected(manifest, dataset.expecting)),
        rekey=limit, started=started,
    )  # fmt: skip
    documents[dataset.name] = lambda: document(report)
    return report


def cases_of(dataset: Dataset, report: "ReplayReport", title: str, command: Sequence[str]) -> list[Case]:
    """Return a case for each property of a dataset, in the directory ``title``. What is required and not decided has
    failed. ``command`` holds the words of a replay of the same histories."""
    from fencepost.proofs.cli.shared.replay_lines import Lines
    from fencepost.properties.history.properties_of import properties_of

    properties = properties_of(dataset.manifest.protocol).properties
    unmet = report.unmet(dataset.wanted)
    undecided = report.unmet([*report.judged, *report.unknown])
    firsts = Lines(report, dataset.place, dataset.manifest, command).first_of_each()
    made = []
    for name in dict.fromkeys([*report.judged, *report.violations, *report.unknown, *report.not_promised, *unmet]):
        outcome: Outcome = "passed"
        message, details = f"holds ({report.judged.get(name, 0):,} judged)", ""
        if name in report.violations:
            outcome, message = "failed", f"is violated {report.violations[name]['count']:,} times"
            details = "\n".join(firsts[name])
        elif name in unmet:
            outcome, message = "failed", f"is required, and not decided: {unmet[name]}"
        elif name in report.not_promised:
            outcome, message = "not asked", report.not_promised[name]
        elif name in undecided:
            outcome, message = "undecided", undecided[name]
        elif name in report.predicted:
            message = f"is violated {sum(report.predicted[name].values()):,} times as predicted"
        rule = properties[name].rule if name in properties else name
        about = properties[name].meaning if name in properties else "Every event is a step of the model."
        file = f"{title}/{MANIFEST}" if "://" not in title else ""
        made.append(Case(title, name, f"{title}.replay", outcome, message, details, 1.0, rule, about, file))
    return made


def _stories(dataset: Dataset, report: "ReplayReport") -> list[Any]:
    from fencepost.proofs.pages.histories import is_readable, page_of_violation
    from fencepost.proofs.traces import conformance_of
    from fencepost.properties.history import HistoryDirectory

    opened = HistoryDirectory.open(dataset.place)
    kernels: dict[str, Any] = (
        {CONFORMANCE: conformance_of(dataset.manifest)} if CONFORMANCE in report.violations else {}
    )
    readable = {
        name: found["first"] for name, found in report.violations.items() if is_readable(opened, found["first"])
    }
    if left := [name_in_words(name) for name in report.violations if name not in readable]:
        errors.print(f"no page of {', '.join(left)}: the history is cut; --violations has its rows", markup=False)
    return [page_of_violation(opened, first, kernels.get(name)) for name, first in readable.items()]


def violating(dataset: Dataset, report: "ReplayReport", spark: Any, cores: int | None, limit: int | None = None) -> Any:
    """Return the rows that violate what the report lists as violated."""
    from fencepost.proofs.scale.violating import violating_rows
    from fencepost.proofs.traces import conformance_of, predicted_of

    manifest = dataset.manifest
    return violating_rows(
        dataset.place, [name for name in report.violations if name != CONFORMANCE], spark=spark, cores=cores,
        limit=limit,
        further={CONFORMANCE: conformance_of(manifest)} if CONFORMANCE in report.violations else {},
        excuses=predicted_of(manifest, _expected(manifest, dataset.expecting)),
    )  # fmt: skip


def _report(dataset: Dataset, report: "ReplayReport", command: Sequence[str], verbose: bool) -> int:
    from fencepost.proofs.cli.shared.replay_lines import Lines

    for line in Lines(report, dataset.place, dataset.manifest, command, verbose).all():
        console.print(line)
    unmet = report.unmet(dataset.wanted)
    for name, reason in unmet.items():
        errors.print(f"[red]required, and not decided:[/] {name_in_words(name)}: {escape(reason)}")
    if not report.decided:
        errors.print("[red]nothing was decided:[/] every property is unknown or not promised, which is no success")
    if not report.holds or unmet:
        return NOT_SO
    return HOLDS if report.decided else REFUSED


def datasets_of(
    places: Mapping[str, "Location"], directory: str, packages: tuple[str, ...], asked: Asked
) -> list[Dataset]:
    """Return the datasets to judge, with what is asked of each. Errors: CatalogueError for a request that fits none."""
    from fencepost.properties.history import Manifest

    manifests = {name: Manifest.read(place) for name, place in places.items()}
    titles = {name: f"{directory}/{name}" if name else directory for name in places}
    if strange := [package for package in packages if package not in {m.protocol for m in manifests.values()}]:
        of = ", ".join(m.protocol for m in manifests.values())
        raise CatalogueError(f"{directory}: these are histories of {of}, not of {strange[0]}; leave out --protocol")
    for name, manifest in manifests.items():
        _require_known(manifest, titles[name])
    if "" in places:
        return [_dataset("", places[""], manifests[""], asked)]
    options = (
        ("--check", asked.checks, ()), ("--require", asked.required, ("all", CONFORMANCE)),
        ("--expecting", asked.expecting, ("all",)),
    )  # fmt: skip
    for option, names, further in options:
        for name in names:
            if not any(_has(manifest, name, *further) for manifest in manifests.values()):
                _history_property(manifests[next(iter(places))], option, name, *further)
    chosen = []
    for name, manifest in manifests.items():
        mine = Asked(
            tuple(each for each in asked.checks if _has(manifest, each)),
            tuple(each for each in asked.required if _has(manifest, each, "all", *_further(manifest))),
            asked.conformance,
            tuple(each for each in asked.expecting if _has(manifest, each, "all")),
        )
        if mine.checks or not asked.checks:
            chosen.append(_dataset(name, places[name], manifest, mine))
    for name in asked.required:
        if underscored(name) not in ("all", *(each for dataset in chosen for each in dataset.wanted)):
            raise CatalogueError(f"--require: {name} is not checked in any of these; name it with --check as well")
    return chosen


def _dataset(name: str, place: "Location", manifest: "Manifest", asked: Asked) -> Dataset:
    checks = tuple(_history_property(manifest, "--check", each) for each in asked.checks)
    conformance = asked.conformance and _follows(manifest)
    wanted = _required(manifest, asked.required, checks, conformance)
    return Dataset(name, place, manifest, checks, wanted, asked.expecting, conformance)


def _expected(manifest: "Manifest", names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the properties that a recording may violate as predicted. Errors: CatalogueError for any other."""
    from fencepost.properties.history.properties_of import properties_of

    if not names:
        return ()
    broken = properties_of(manifest.protocol).predicted(manifest)
    names = tuple(_history_property(manifest, "--expecting", name, "all") for name in names)
    for name in names:
        if name != "all" and name not in broken:
            raise CatalogueError(f"--expecting: {name_in_words(name)} is not among what this variant breaks by design")
    return tuple(broken) if "all" in names else names


def _require_known(manifest: "Manifest", directory: str) -> None:
    from fencepost.properties.history import VOCABULARIES
    from fencepost.properties.history.properties_of import HISTORIES

    protocol, known = manifest.protocol, ", ".join(VOCABULARIES)
    if protocol not in PROTOCOLS:
        raise CatalogueError(
            f"{directory}: unknown protocol {protocol!r}; known: {known}; name your own with --protocol PACKAGE"
        )
    for found in (VOCABULARIES, HISTORIES):
        if protocol not in found:
            raise CatalogueError(f"{directory}: histories of {protocol} are not judged: {found.lacking(protocol)}")
    there = protocols()[protocol].simulated
    if manifest.variant and manifest.variant not in there:
        meant = instead(manifest.variant, there, f"fencepost list {called(protocol)}")
        raise CatalogueError(
            f"{directory}: {protocol} has no variant {manifest.variant!r}, as the manifest says; {meant}"
        )


def _further(manifest: "Manifest") -> tuple[str, ...]:
    return (CONFORMANCE,) if _follows(manifest) else ()


def _follows(manifest: "Manifest") -> bool:
    """Return whether there is a model to check these histories against, or a variant that lacks one."""
    from fencepost.properties.trace_spec import CONFORMING

    return manifest.protocol in CONFORMING or bool(protocols()[manifest.protocol].variants)


def _required(
    manifest: "Manifest", names: tuple[str, ...], checks: tuple[str, ...], conformance: bool
) -> tuple[str, ...]:
    """Return the properties that have to be decided. Errors: CatalogueError for one that is not checked."""
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


def _has(manifest: "Manifest", name: str, *further: str) -> bool:
    from fencepost.properties.history.properties_of import properties_of

    return underscored(name) in (*properties_of(manifest.protocol).names, *further)


def _history_property(manifest: "Manifest", option: str, name: str, *further: str) -> str:
    """Return a property's name in the code, given that or the printed one. Errors: CatalogueError if there is none."""
    from fencepost.properties.history.properties_of import properties_of

    known = (*properties_of(manifest.protocol).names, *further)
    if underscored(name) not in known:
        meant = instead(name, [name_in_words(each) for each in known], "a replay without that option")
        raise CatalogueError(f"{option}: {manifest.protocol} has no history property {name!r}; {meant}")
    return underscored(name)
