"""The command ``audit`` checks a directory of certificates that ``prove --certificates`` wrote, without a solver."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.configured import Configured
from fencepost.proofs.cli.shared.exits import HOLDS, NOT_SO, NOTHING_JUDGED, REFUSED, say
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import CORES, JSON
from fencepost.proofs.cli.shared.output import console, errors
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.nearest import quantity

if TYPE_CHECKING:  # which imports the models, for which `--help` need not wait
    from fencepost.proofs.engines.second.auditing import AuditedVariant

MOST = 5
"""This many steps that are not certified, and problems, are printed of each variant without --verbose."""
COLOURS = {"certified": "green", "refused": "red", "not proved": "red"}


@click.command(cls=Configured)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--verbose", is_flag=True, help="Name every step that is not certified, and every problem.")
@CORES
@JSON
def audit(folder: Path, verbose: bool, cores: int | None, json_file: Path | None) -> int:
    """Check certificates of proofs, without a solver.

    DIR was written by prove --certificates. The steps that each proof needs, and their statements, are recomputed from
    the model and compared with DIR. Then Ethos, a proof checker, reads cvc5's proof of each step. A promise is
    certified if Ethos calls all proofs of its steps correct, and those of the lemmas that they use. Steps without a
    proof are what Z3 has proved alone, or cvc5 agrees on, by the word of DIR.

    A file that was edited, a step that is missing, a proof of another statement, and a proof that Ethos refuses or
    calls incomplete are problems, and the exit code is 1. Ethos is found on PATH or by FENCEPOST_ETHOS, and cvc5's
    rules of proof by FENCEPOST_CPC. Example: fencepost audit DIR
    """
    from fencepost.proofs.engines.second.auditing import as_document, audit, problems_of, read_index
    from fencepost.proofs.engines.second.ethos import Ethos
    from fencepost.proofs.scale.jobs import cores_here

    index, ethos, done = read_index(folder), Ethos.found(), list["AuditedVariant"]()
    checker = ethos.version()
    whole = problems_of(folder, index)

    def problems() -> list[str]:
        return [*whole, *(problem for variant in done for problem in variant.problems)]

    def document() -> Any:
        return as_document(folder, checker, done, problems())

    with reported(json_file, document), spinner(f"checking {folder}", len(index["certificates"])) as bar:
        for variant in audit(folder, index, ethos, cores or cores_here(), bar.advance):
            done.append(variant)
            _print(variant, verbose)
    for problem in problems()[: None if verbose else MOST]:
        errors.print(f"[red]refused:[/] {problem}", soft_wrap=True)
    if not verbose and (more := len(problems()) - MOST) > 0:
        errors.print(f"and {quantity(more, 'more problem')}; --verbose names all")
    counts = Counter(promise.standing for variant in done for promise in variant.promises)
    words = ", ".join(f"{number} {standing}" for standing, number in counts.items()) or "none there"
    console.print(f"promises: {words}; by {checker}", markup=False)
    if problems() or counts["not proved"]:
        return NOT_SO
    if not counts["certified"]:
        say(NOTHING_JUDGED)
        return REFUSED
    return HOLDS


def _print(variant: "AuditedVariant", verbose: bool) -> None:
    console.print(f"{variant.name}: {variant.certified} of {len(variant.steps)} steps certified")
    for promise in variant.promises:
        colour = COLOURS.get(promise.standing, "yellow")
        rests = f"{quantity(promise.steps, 'step')}, {quantity(promise.lemmas, 'other property')}"
        name = name_in_words(promise.property)
        console.print(f"    {name:<34} [{colour}]{promise.standing}[/]{'':<{20 - len(promise.standing)}} {rests}")
    rest = [step for step in variant.rest if step.standing != "refused"]
    for step in rest[: None if verbose else MOST]:
        console.print(f"        {step.standing}: {step.says}: {step.why}", markup=False)
    if not verbose and len(rest) > MOST:
        console.print(f"        and {len(rest) - MOST} more; --verbose names all")
