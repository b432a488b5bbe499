"""The command ``fencepost verify`` runs every engine on every protocol."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cases import cases_of
from fencepost.proofs.cli.shared.configured import Configured
from fencepost.proofs.cli.shared.exits import code_of
from fencepost.proofs.cli.shared.gate import Gate, gated
from fencepost.proofs.cli.shared.interrupts import when_interrupted
from fencepost.proofs.cli.shared.options import (
    FRESH,
    JSON,
    MASTER,
    PROTOCOL,
    SECOND,
    OutputFile,
    complete_protocol,
    on_spark,
    whole,
)  # fmt: skip
from fencepost.proofs.cli.shared.output import console, errors, read_from
from fencepost.proofs.cli.shared.progress import Bar, spinner
from fencepost.proofs.cli.shared.verdicts import LEGEND, block, next_commands, summary, table_of
from fencepost.proofs.report import cut_short, verify_document, write_json, write_text
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import PROFILES, Profile, ProtocolEntry, protocols
from fencepost.properties.nearest import quantity
from rich.text import Text

if TYPE_CHECKING:  # this imports Z3, which `--help` need not wait for
    from fencepost.proofs.tally import Tally


@click.command(cls=Configured)
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
@gated
@click.option(
    "--html", "html_file", type=OutputFile(), metavar="FILE",
    help="Write all verdicts as one page to look at, which needs no network.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Print every verdict, and what was left unchecked.")
@SECOND
@FRESH
@MASTER
def verify(
    names: tuple[str, ...], profile: Profile, seed: int, json_file: Path | None, gate: Gate,
    html_file: Path | None, verbose: bool, second: str | None, fresh: bool, master: str | None,
) -> int:  # fmt: skip
    """Hold every protocol against its properties, by every engine.

    The command prints a table with a line for each protocol. Each line has the number of promises that are proved
    without bounds, that hold in every state within bounds, and that are refuted as the documents predict, the histories
    and implementations that were judged, and the number of dangers that no engine met. Whatever is not as expected is
    printed in full below the table. --verbose prints every verdict, and --html writes a page on which each rule,
    promise and variant has its verdicts, with the runs that break a promise.

    A violation that the documents predict is as expected. In GitHub's workflows, whatever is not as expected is also an
    annotation of its line.

    With --second-opinion cvc5, that solver also checks every step of a proof. A step that it gives up on is left
    unchecked by it, and where it has a model of what Z3 has refuted, the engines disagree.

    If nothing has changed in a protocol, in the engines and in what they call, the verdicts of an earlier run are read
    from the user's cache. The table counts them, and each of them has the time when it was computed. Where the
    environment has CI, all verdicts are computed.

    Example: fencepost verify id-blocks source-commits --html verdicts.html
    """
    from fencepost.proofs.replays import number_of_replays
    from fencepost.proofs.scale.jobs import Jobs
    from fencepost.proofs.tally import tally
    from fencepost.proofs.verify import number_of_jobs, plan
    from fencepost.proofs.verify import verify as run
    from fencepost.properties.history.properties_of import properties_of

    start = time.perf_counter()
    entries = [whole(name) for name in dict.fromkeys(names)] or [p for p in protocols().values() if p.verified]
    which = ", ".join(names) or quantity(len(entries), "protocol")
    variants = sum(len(entry.variants) for entry in entries)
    which += f", {quantity(variants, 'variant')}"
    console.print(f"fencepost verify, profile {profile}, seed {seed}: {which}", markup=False)
    judges = [properties_of(entry.name).module for entry in entries if entry.simulators]
    read = read_from((variant for entry in entries for variant in entry.variants), *judges)
    judged: list[tuple[ProtocolEntry, list[Result]]] = []
    results: list[Result] = []
    tallies: list[Tally] = []
    unexpected: list[Text] = []
    problems: list[str] = []
    left_open: list[str] = []
    number = sum(map(number_of_jobs, entries))

    def report(*, interrupted: bool = False) -> None:
        if json_file is not None:
            document = verify_document(seed, profile, results, read)
            write_json(json_file, cut_short(document) if interrupted else document)
        gate.write(cases_of(entries, results, problems), interrupted=interrupted)

    def so_far() -> None:
        report(interrupted=True)
        if tallies:
            _print_table(tallies, unexpected)

    with (
        when_interrupted(so_far),
        spinner("verify", number + sum(map(number_of_replays, entries))) as bar,
        Jobs(number, done=bar.advance, spark=on_spark(master)) as jobs,
    ):
        planned = [plan(jobs, entry, profile, seed, second=second is not None, fresh=fresh) for entry in entries]
        for entry, handed_in in zip(entries, planned, strict=True):
            bar.show(f"verify {entry.name}")
            gathering = _Verdicts(bar, results, unexpected, verbose=verbose)
            made = run(entry, profile, seed, gathering, handed_in)
            gathering.flush()
            results[gathering.before :] = made.results
            judged.append((entry, made.results))
            tallies.append(tally(entry, made.results))
            problems += made.problems
            left_open += made.open
    _print_table(tallies, unexpected)
    _conclude(results, problems, left_open, verbose=verbose)
    seconds = time.perf_counter() - start
    console.print(f"\n{summary(results, seconds)}")
    report()
    if html_file is not None:
        from fencepost.proofs.cli.shared.verdict_pages import gathered
        from fencepost.proofs.pages.verdict_page import verdict_page

        with spinner("page", len(judged)) as bar:
            found_out = gathered(judged, tallies, problems, left_open, profile, seed, seconds, bar.advance)
        write_text(html_file, verdict_page(found_out))
    commands = next_commands(results, problems, names, profile, seed, page=html_file is not None)
    for place, command in enumerate(commands):
        console.print(f"{'Next:' if place == 0 else '':<5} {command}", markup=False)
    return code_of((r.verdict for r in results), sum(not r.as_expected for r in results) + len(problems))


class _Verdicts:
    """A `_Verdicts` gathers the verdicts of a protocol under their headings as they arrive, and prints them or sets
    aside unexpected ones. Verdicts count even if an interrupt comes before the protocol is complete."""

    def __init__(self, bar: Bar, results: list[Result], unexpected: list[Text], *, verbose: bool) -> None:
        self.bar, self.results, self.unexpected, self.verbose = bar, results, unexpected, verbose
        self.before = len(results)
        self.heading = ""
        self.waiting: list[Result] = []

    def __call__(self, heading: str, result: Result) -> None:
        self.results.append(result)
        if heading != self.heading:
            self.flush()
            self.heading = heading
            if result.engine == "replay":  # jobs report their progress themselves
                self.bar.advance()
        self.waiting.append(result)

    def flush(self) -> None:
        """Print or set aside the verdicts of the heading that is over."""
        if self.waiting and self.verbose:
            for line in block(self.heading, self.waiting):
                console.print(line)
        elif self.waiting:
            self.unexpected += block(self.heading, self.waiting, unexpected_only=True)
        self.waiting = []


def _print_table(tallies: Sequence["Tally"], unexpected: Sequence[Text]) -> None:
    console.print()
    console.print(table_of(tallies), crop=False)
    console.print(LEGEND, style="dim")
    for line in unexpected:
        console.print(line)


def _conclude(results: Sequence[Result], problems: Sequence[str], left_open: Sequence[str], *, verbose: bool) -> None:
    if verbose:
        console.print("\nLeft unchecked by these bounds")
        for sentence in left_open or ["nothing that was asked"]:
            console.print(f"    {sentence}", markup=False)
    elif left_open:
        console.print(f"\nLeft unchecked by these bounds: {len(left_open)} things, which --verbose names")
    else:
        console.print("\nLeft unchecked by these bounds: nothing that was asked")
    if any(r.verdict == "vacuous" and not r.as_expected for r in results):
        console.print("vacuous: nothing is known that breaks it; `fencepost mutants` searches a mutation that does")
    for problem in problems:
        errors.print(f"[red]engines disagree:[/] {problem}")
