"""The command ``fencepost dangers`` prints, for each promise and each danger, which engines judged the promise in the
presence of that danger."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.model.dangers import DANGERS
from fencepost.model.rules import RULES
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import (
    FRESH,
    JSON,
    MASTER,
    PROFILE,
    PROTOCOL,
    SEED,
    OutputFile,
    complete_variant,
    on_spark,
)  # fmt: skip
from fencepost.proofs.cli.shared.output import console, duration, read_from
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import write_text
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant, find, protocols
from fencepost.properties.nearest import instead, underscored
from fencepost.properties.registry import called

if TYPE_CHECKING:  # these import NumPy and Z3, which `--help` need not wait for
    from fencepost.proofs.results import Result
    from fencepost.proofs.scope.cells import Engine
    from fencepost.proofs.scope.matrix import Asked, Hole, Matrix

WIDTH = 11
MOST_REASONS = 3
LEGEND = (
    "in: met, with how often where that is counted, and for how many of the promises that the engine judges if not for "
    "all; exc.: met, and excused under a condition; -: not of this protocol, or excluded by Kafka; blank: open"
)


@click.command()
@click.argument("name", required=False, metavar="[PROTOCOL[/VARIANT]]", shell_complete=complete_variant, type=PROTOCOL)
@click.option("--promise", metavar="P", help="Only this promise: a rule such as txn.P1, or a property.")
@PROFILE
@SEED
@JSON
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write what is open as Markdown.")
@click.option("--verbose", is_flag=True, help="Name the bounds in which nothing is known that breaks a promise.")
@FRESH
@MASTER
def dangers(
    name: str | None, promise: str | None, profile: Profile, seed: int, json_file: Path | None, table: Path | None,
    verbose: bool, fresh: bool, master: str | None,
) -> int:  # fmt: skip
    """Tell against which dangers each engine judges each promise.

    Computed from what the engines meet: all of them are run, or what the same sources gave before is read. A search has
    a danger in for a promise only where it met it within bounds in which some mutation breaks that promise. Below the
    matrix stands what is open: dangers that no engine met, and that nothing excludes. Example: fencepost dangers
    id-blocks/kraft --promise 730.P1
    """
    wanted = _wanted(name)
    promise = None if promise is None else underscored(promise)
    _require_promise(promise, wanted)
    read_from(variant for _, variants in wanted for variant in variants)
    matrices: list[Matrix] = []

    with reported(json_file, lambda: [line.as_dict() for matrix in matrices for line in matrix.lines(promise)]):
        for found in _matrices(wanted, profile, seed, fresh=fresh, master=master):
            matrices.append(found)
    for matrix in matrices:
        _print(matrix, promise, verbose=verbose)
    _print_open(matrices, promise)
    if table is not None:
        from fencepost.proofs.necessity.tables import digest_of
        from fencepost.proofs.scope.matrix import holes

        digest = digest_of([entry for entry, _ in wanted])
        write_text(table, as_table(holes(matrices, promise), len(matrices), digest))
    return 0


Wanted = tuple[ProtocolEntry, tuple[Variant, ...]]


def _wanted(name: str | None) -> list[Wanted]:
    if name is None:
        return [(e, tuple(v for v in e.variants if v.main)) for e in protocols().values() if e.verified]
    entry, variant = find(name)
    return [(entry, (variant,) if variant else tuple(v for v in entry.variants if v.main))]


def _require_promise(promise: str | None, wanted: Sequence[Wanted]) -> None:
    if promise is None:
        return
    asked = {
        word: None
        for _, variants in wanted
        for v in variants
        for n, p in v.asked.items()
        if p.rule is not None and RULES[p.rule].kind == "promise"
        for word in (p.rule, n)
    }
    if promise not in asked:
        listed = f"fencepost list {called(wanted[0][0].name)}"
        meant = instead(promise, [word.replace("_", " ") for word in asked], listed)
        raise CatalogueError(f"no promise {promise!r} is asked there; {meant}")


def _matrices(
    wanted: Sequence[Wanted], profile: Profile, seed: int, *, fresh: bool, master: str | None
) -> "Iterator[Matrix]":
    from fencepost.proofs.scale.cached import cache, cached
    from fencepost.proofs.scope.matrix import Matrix

    abouts = [_about(entry, variants, profile, seed) for entry, variants in wanted]
    known = [None if fresh else cached("dangers", about) for about in abouts]
    missing = [want for want, row in zip(wanted, known, strict=True) if row is None]
    if len(missing) < len(wanted):
        again = f"profile {profile}, seed {seed}; --fresh runs the engines again"
        before = f"{len(wanted) - len(missing)} of {len(wanted)} protocols as computed before from the same sources"
        console.print(f"{before}, {again}")
    computed = _computed(missing, profile, seed, master)
    for row, about in zip(known, abouts, strict=True):
        if row is not None:
            yield from map(Matrix.of_dict, row)
        else:
            made = next(computed)
            cache("dangers", about, [matrix.as_dict() for matrix in made])
            yield from made
    yield from next(computed, ())  # the generator prints the time at its end


def _about(entry: ProtocolEntry, variants: Sequence[Variant], profile: Profile, seed: int) -> tuple[object, ...]:
    """Return what the answer depends on besides the sources: the catalogue's entries, and how much is tried."""
    from fencepost.proofs.replays import HISTORIES
    from fencepost.proofs.scope.live import runs_of
    from fencepost.proofs.verify import EXAMPLES

    plain = tuple(repr(replace(v)) for v in variants)
    tried = entry.examples.get(profile, EXAMPLES[profile]), entry.histories.get(profile, HISTORIES[profile])
    live = [run for v in variants for run in runs_of(entry.name, v.name)]
    return (entry.name, plain, entry.implementations, entry.simulators, profile, seed, *tried, live)


def _computed(wanted: Sequence[Wanted], profile: Profile, seed: int, master: str | None) -> "Iterator[list[Matrix]]":
    """Run every engine on these variants, as `verify` does, and yield the matrices of one protocol after another."""
    if not wanted:
        return
    from fencepost.proofs.replays import number_of_replays
    from fencepost.proofs.scale.jobs import Jobs
    from fencepost.proofs.scope.matrix import matrix_of
    from fencepost.proofs.verify import number_of_jobs, plan
    from fencepost.proofs.verify import verify as run

    start = time.perf_counter()
    entries = [narrowed(entry, variants) for entry, variants in wanted]
    number = sum(map(number_of_jobs, entries))
    seen: set[str] = set()
    with (
        spinner("dangers", number + sum(map(number_of_replays, entries))) as bar,
        Jobs(number, done=bar.advance, spark=on_spark(master)) as jobs,
    ):

        def report(heading: str, result: "Result") -> None:
            if result.engine == "replay" and heading not in seen:
                seen.add(heading)
                bar.advance()

        planned = [plan(jobs, entry, profile, seed) for entry in entries]
        for entry, handed_in in zip(entries, planned, strict=True):
            yield list(matrix_of(entry, entry.variants, run(entry, profile, seed, report, handed_in).results))
    console.print(f"every engine was run, profile {profile}, seed {seed}: {duration(time.perf_counter() - start)}")


def narrowed(entry: ProtocolEntry, variants: Sequence[Variant]) -> ProtocolEntry:
    """Return the protocol restricted to these variants."""
    names = {v.name for v in variants}
    return replace(
        entry,
        variants=tuple(variants),
        implementations=tuple(i for i in entry.implementations if i[1] in names),
        simulators=tuple(s for s in entry.simulators if s[0] in names),
        claims=(),
        scenarios=(),
    )


def _print(matrix: "Matrix", promise: str | None, *, verbose: bool) -> None:
    from fencepost.proofs.scope.cells import ENGINES

    asked = [a for a in matrix.asked if promise is None or promise in (a.promise, a.property)]
    if not asked:
        return
    console.print(f"\n[bold]{matrix.protocol}/{matrix.variant}[/]")
    by_engines: dict[tuple[str, ...], list[str]] = {}
    for a in asked:
        by_engines.setdefault(a.engines, []).append(f"{a.promise} {name_in_words(a.property)}")
    for engines, names in by_engines.items():
        console.print(f"    {', '.join(names)}: {', '.join(engines) or 'judged by no engine'}", markup=False)
    console.print(" " * 32 + "".join(f"{engine:>{WIDTH}}" for engine in ENGINES))
    area, nowhere = "", []
    for danger, item in DANGERS.items():
        cells = [_cell(matrix, asked, engine, danger) for engine in ENGINES]
        if set(cells) == {"-"}:
            nowhere.append(danger)
            continue
        if item.area != area:
            area = item.area
            console.print(f"    {area}", style="dim")
        console.print(f"      {danger:<26}" + "".join(f"{cell:>{WIDTH}}" for cell in cells), markup=False)
    if nowhere:
        console.print(f"    not of this protocol, or excluded by Kafka: {', '.join(nowhere)}", markup=False)
    for line in (*_under_conditions(matrix, asked), *_not_for_all(matrix, asked)):
        console.print(f"    {line}", markup=False)
    if verbose:
        for line in _unbroken(asked):
            console.print(f"    {line}", markup=False)


def _cell(matrix: "Matrix", asked: "Sequence[Asked]", engine: "Engine", danger: str) -> str:
    """Return the cell for all promises that the engine judges: for how many of them it met the danger."""
    judged = [matrix.cell(a, engine, danger) for a in asked if engine in a.engines]
    met = [cell for cell in judged if cell.status == "in"]
    if met and len(met) < len(judged):
        return f"{len(met)} of {len(judged)}"
    if met:
        counts = [cell.count for cell in met if cell.count is not None]
        return f"{max(counts):,}" if counts else "in"
    if any(cell.status == "excused" for cell in judged):
        return "exc."
    cells = judged or [matrix.cell(a, engine, danger) for a in asked]
    return "" if any(cell.why.startswith("open") for cell in cells) else "-"


def _under_conditions(matrix: "Matrix", asked: "Sequence[Asked]") -> "Iterator[str]":
    from fencepost.proofs.scope.cells import ENGINES
    from fencepost.proofs.scope.scopes import conditions

    by_condition: dict[str, dict[str, str]] = {}
    for danger in DANGERS:
        for cell in (matrix.cell(a, e, danger) for a in asked for e in ENGINES):
            if cell.status == "excused":
                by_condition.setdefault(cell.why, {})[danger] = cell.why
    if by_condition:
        yield f"exc.: {'; '.join(map(conditions, by_condition.values()))}"


def _not_for_all(matrix: "Matrix", asked: "Sequence[Asked]") -> "Iterator[str]":
    """Yield, for each search that met a danger for only some promises, the promises with the same list of dangers."""
    from fencepost.proofs.scope.scopes import SEARCHING

    for engine in SEARCHING:
        judged = [a for a in asked if engine in a.engines]
        lists = {a.property: {d for d in DANGERS if matrix.cell(a, engine, d).status != "out"} for a in judged}
        every = {danger for mine in lists.values() for danger in mine}
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, mine in lists.items():
            groups.setdefault(tuple(d for d in DANGERS if d in every - mine), []).append(name_in_words(name))
        if len(groups) > 1:
            for without, names in groups.items():
                yield f"{engine} of {', '.join(names)}: {'without ' + ', '.join(without) if without else 'all of it'}"


def _unbroken(asked: "Sequence[Asked]") -> "Iterator[str]":
    from fencepost.proofs.scope.scopes import in_words

    for a in asked:
        for engine, features in a.unbroken.items():
            yield f"{engine} of {name_in_words(a.property)}: could not be broken within {in_words(features)}"


def _print_open(matrices: "Sequence[Matrix]", promise: str | None) -> None:
    from fencepost.proofs.scope.matrix import holes

    console.print(f"\n{LEGEND}", style="dim")
    found = holes(matrices, promise)
    what = "dangers that no engine met on a model, and that neither protocol nor Kafka excludes"
    console.print(f"\n[bold]Open[/]: {what}")
    for hole in found:
        console.print(f"    {hole.danger}: {_where(hole)}: {_reason(hole)}", markup=False)
    if not found:
        console.print("    nothing")


def _where(hole: "Hole") -> str:
    parts = []
    if hole.nowhere:
        parts.append(f"{_listed(hole.nowhere, 8)} in no variant")
    if hole.partly:
        parts.append(f"met in other variants, not in {_by_protocol(hole.partly)}")
    if hole.without_model:
        parts.append(f"met by {', '.join(hole.without_model)} alone")
    return "; ".join(parts)


def _by_protocol(variants: Sequence[str]) -> str:
    """Return ``core-v2`` where one variant of a protocol is meant, and ``3 of transactions`` where several are."""
    protocol_of = {variant: variant.partition("/")[0] for variant in variants}
    counts = Counter(protocol_of.values())
    alone = [variant.partition("/")[2] for variant in variants if counts[protocol_of[variant]] == 1]
    return ", ".join([*alone, *(f"{count} of {name}" for name, count in counts.items() if count > 1)])


def _reason(hole: "Hole") -> str:
    first = hole.whys[0].removeprefix("open: ")
    return first + (f" (and {len(hole.whys) - 1} more, see --json)" if len(hole.whys) > 1 else "")


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


HEAD = """# Open dangers

Made by `fencepost dangers --table proofs/verdicts/dangers.md`, from what the engines met, of the models {digest}.

A danger stands here for the promises and variants that no proof and no search judged with it, though neither the
protocol nor Kafka excludes it; {variants} variants were looked at. *In no variant*: nothing that is proved or holds of
these promises says anything of that danger. *Not in*: other variants have it in for the same promises. Every cell, with
its reason: `fencepost dangers [PROTOCOL] --json FILE`.

| danger | in no variant, of promise | not in | met without a model by | why |
|---|---|---|---|---|
"""


def as_table(found: "Iterable[Hole]", variants: int, digest: str) -> str:
    """Return the open dangers as a page of Markdown. ``digest`` identifies the models."""
    rows = []
    for hole in found:
        why = "; ".join(w.removeprefix("open: ") for w in hole.whys[:MOST_REASONS])
        why += f"; and {len(hole.whys) - MOST_REASONS} more" if len(hole.whys) > MOST_REASONS else ""
        cells = (hole.danger, ", ".join(hole.nowhere), _by_protocol(hole.partly), ", ".join(hole.without_model), why)
        rows.append("| " + " | ".join(cell or "–" for cell in cells) + " |\n")
    return HEAD.format(variants=variants, digest=digest) + "".join(rows)
