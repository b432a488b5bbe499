"""``fencepost verify``: the main job."""

import time
from pathlib import Path

import click
from fencepost.proofs.cli.shared.exits import code_of
from fencepost.proofs.cli.shared.interrupts import nothing_yet, when_interrupted
from fencepost.proofs.cli.shared.options import (
    JSON,
    MASTER,
    PROTOCOL,
    SECOND,
    OutputFile,
    complete_protocol,
    on_spark,
    whole,
)  # fmt: skip
from fencepost.proofs.cli.shared.output import SIGNS, console, duration, errors, killers_line, read_from, verdict_line
from fencepost.proofs.cli.shared.progress import Bar, spinner
from fencepost.proofs.report import cut_short, verify_document, write_json, write_junit
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import PROFILES, Profile, protocols

INTERRUPTED = "interrupted: this is what was found up to there"


def _begun(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """A file for JUnit: an interrupt leaves a report also before there is anything to tell."""
    if file is not None:
        nothing_yet(file, lambda: write_junit(file, [], [INTERRUPTED]))
    return file


@click.command()
@click.argument("names", nargs=-1, metavar="[PROTOCOL]...", shell_complete=complete_protocol, type=PROTOCOL)
@click.option(
    "--profile", type=click.Choice(PROFILES), default="smoke", show_default=True, help="How far each engine goes."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Of simulations and agreement; the same seed, the same report.",
)
@JSON
@click.option("--junit", type=OutputFile(), metavar="FILE", callback=_begun, help="Write a JUnit report to this file.")
@click.option(
    "--sarif", type=OutputFile(), metavar="FILE", help="Write what is not as expected, or not decided, as SARIF."
)
@SECOND
@click.option("--fresh", is_flag=True, help="Compute again what an earlier run has kept, of unchanged protocols too.")
@MASTER
def verify(
    names: tuple[str, ...], profile: Profile, seed: int, json_file: Path | None, junit: Path | None,
    sarif: Path | None, second: str | None, fresh: bool, master: str | None,
) -> int:  # fmt: skip
    """Hold every protocol against its properties, by every engine.

    A violation that the documents predict is as expected.  In GitHub's workflows what is not as expected is an
    annotation of its line too.

    With --second-opinion cvc5, every step of a proof is asked of that solver too: what it gives up on is left unchecked
    by it, and where it has a model of what Z3 has refuted the engines disagree.

    Verdicts of a protocol of which nothing has changed since, nor of the engines and what they call, are those that an
    earlier run kept in the user's cache: each such says when it was computed. Where the environment has CI all are
    computed.
    """
    from fencepost.proofs.replays import number_of_replays
    from fencepost.proofs.reviews import annotations, remarks, write_sarif
    from fencepost.proofs.scale.jobs import Jobs
    from fencepost.proofs.verify import number_of_jobs, plan
    from fencepost.proofs.verify import verify as run
    from fencepost.properties.history.properties_of import properties_of

    start = time.perf_counter()
    entries = [whole(name) for name in dict.fromkeys(names)] or [p for p in protocols().values() if p.verified]
    console.print(f"fencepost verify, profile {profile}, seed {seed}")
    judges = [properties_of(entry.name).module for entry in entries if entry.simulators]
    read = read_from((variant for entry in entries for variant in entry.variants), *judges)
    results: list[Result] = []
    problems: list[str] = []
    left_open: list[str] = []
    number = sum(map(number_of_jobs, entries))

    def report(*, interrupted: bool = False) -> None:
        if json_file is not None:
            document = verify_document(seed, profile, results, read)
            write_json(json_file, cut_short(document) if interrupted else document)
        if junit is not None:
            write_junit(junit, results, [*problems, *([INTERRUPTED] if interrupted else [])])

    with (
        when_interrupted(lambda: report(interrupted=True)),
        spinner("verify", number + sum(map(number_of_replays, entries))) as bar,
        Jobs(number, done=bar.advance, spark=on_spark(master)) as jobs,
    ):
        planned = [plan(jobs, entry, profile, seed, second=second is not None, fresh=fresh) for entry in entries]
        for entry, handed_in in zip(entries, planned, strict=True):
            printer = _Printer(bar)
            bar.show(f"verify {entry.name}")
            told = _Kept(printer, results)
            made = run(entry, profile, seed, told, handed_in)
            printer.flush()
            results[told.before :] = made.results
            problems += made.problems
            left_open += made.open
    _conclude(results, problems, left_open, time.perf_counter() - start)
    report()
    found = remarks(entries, results, problems)
    if sarif is not None:
        write_sarif(sarif, found)
    for line in annotations(found):
        print(line)
    return code_of((r.verdict for r in results), sum(not r.as_expected for r in results) + len(problems))


class _Kept:
    """Keeps the results of a protocol as they come, for the case that they are all that comes, and prints them."""

    def __init__(self, printer: "_Printer", results: list[Result]) -> None:
        self.printer, self.results, self.before = printer, results, len(results)

    def __call__(self, heading: str, result: Result) -> None:
        self.results.append(result)
        self.printer(heading, result)


class _Printer:
    """Prints a heading's verdicts when the next heading comes: a line a property, with all engines that judged it;
    lemmas as a count."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.heading = ""
        self.waiting: list[Result] = []

    def __call__(self, heading: str, result: Result) -> None:
        if heading != self.heading:
            self.flush()
            self.heading = heading
            if result.engine == "replay":  # jobs say themselves when they are done
                self.bar.advance()
        self.waiting.append(result)

    def flush(self) -> None:
        if not self.waiting:
            return
        from fencepost.proofs.scope.scopes import scope_lines

        console.print(f"\n{self.heading}", markup=False)
        if dates := [r.cached for r in self.waiting if r.cached]:
            words = "" if len(dates) == len(self.waiting) else f"{len(dates)} of {len(self.waiting)} verdicts "
            console.print(f"    {words}kept since {min(dates)}; nothing that they depend on has changed", style="dim")
        for line in scope_lines(self.waiting):
            console.print(f"    {line}", style="dim", markup=False)
        by_property: dict[str, list[Result]] = {}
        readings = [r for r in self.waiting if r.engine == "equal"]
        alike = {r.property for r in readings if r.as_expected}
        for result in (r for r in self.waiting if r.property not in alike):
            by_property.setdefault(result.property, []).append(result)
        lemmas = [
            rs
            for rs in by_property.values()
            if rs[0].evidence.get("role") == "lemma" and all(r.as_expected for r in rs)
        ]
        for results in by_property.values():
            if results not in lemmas:
                console.print(verdict_line(results))
        if lemmas:
            engines = dict.fromkeys(r.engine for rs in lemmas for r in rs)
            console.print(f"    {f'{len(lemmas)} lemmas':<34} {SIGNS['holds']:<17}  {', '.join(engines)}")
        if alike:
            same = [r.evidence["of"] for r in readings if r.property in alike]
            words = f"{same.count('action')} actions, {same.count('property')} properties"
            spent = duration(sum(r.seconds for r in readings))
            console.print(f"    {words:<34} {SIGNS['holds']:<17}  the same in both readings, equal {spent}")
        if killers := killers_line(self.waiting):
            console.print(killers, markup=False)
        self.waiting = []


def _conclude(results: list[Result], problems: list[str], left_open: list[str], seconds: float) -> None:
    wrong = [r for r in results if not r.as_expected]
    counted: dict[str, int] = {}
    for r in results:
        counted[r.engine] = counted.get(r.engine, 0) + 1
    console.print("\nLeft unchecked by these bounds")
    for sentence in left_open or ["nothing that was asked"]:
        console.print(f"    {sentence}")
    if any(r.verdict == "vacuous" and not r.as_expected for r in results):
        console.print("    vacuous: nothing is known that breaks it; `fencepost mutants` searches a mutation that does")
    for problem in problems:
        errors.print(f"[red]engines disagree:[/] {problem}")
    engines = ", ".join(f"{count} by {engine}" for engine, count in counted.items())
    kept = sum(r.cached is not None for r in results)
    predicted = sum(r.expected == "violated" and r.as_expected for r in results)
    console.print(
        f"\n{len(results)} verdicts in {seconds:.0f} s ({engines}{f'; {kept} kept by earlier runs' if kept else ''}); "
        f"{predicted} violations as predicted; {len(wrong)} not as expected"
    )
