"""``fencepost agree``: any implementation against the model."""

from pathlib import Path

import click
from fencepost.proofs.cli.output import SIGNS, console, duration, spinner
from fencepost.proofs.cli.searches import JSON
from fencepost.proofs.report import write_json
from fencepost.proofs.words import name_in_words
from fencepost.properties.catalogue import CatalogueError, find


@click.command()
@click.argument("name", metavar="PROTOCOL[/VARIANT]")
@click.option(
    "--implementation",
    metavar="MODULE:FACTORY",
    help="What to hold against the model; default: the reference implementation.",
)
@click.option("--examples", type=click.IntRange(1), default=100, show_default=True, help="Clusters to drive.")
@click.option("--steps", type=click.IntRange(1), default=30, show_default=True, help="Steps of each.")
@click.option("--seed", type=int, default=1, show_default=True)
@JSON
def agree(name: str, implementation: str | None, examples: int, steps: int, seed: int, json_file: Path | None) -> int:
    """Drive an implementation through deliveries, losses, copies, crashes and time, and hold what it shows against
    the model.

    A failure prints the shortest program found; paste it, and it fails by itself.
    """
    from fencepost.proofs.agreement import agree as run

    entry, variant = find(name)
    chosen = [variant.name] if variant else [v for _, v in entry.implementations][:1]
    if not chosen:
        raise CatalogueError(f"{name} has no implementation to hold against the model; name one with --implementation")
    target = implementation or next((i for i, v in entry.implementations if v == chosen[0]), None)
    if target is None:
        raise CatalogueError(f"{name} has no reference implementation; name yours with --implementation module:factory")
    with spinner(f"agreement of {target}"):
        report = run(target, variant=chosen[0], seed=seed, max_examples=examples, steps=steps)
    console.print(
        f"{target} against {entry.name}/{chosen[0]}, seed {seed}: {SIGNS[report.verdict]} "
        f"after {report.examples} clusters, {duration(report.seconds)}"
    )
    if report.failure is not None:
        console.print(str(report.failure), markup=False)
        console.print(report.program, markup=False)
    for what, missing in report.never.items():
        if missing:
            console.print(f"    {name_in_words(what)} never reached: {', '.join(missing)}", markup=False)
    if json_file is not None:
        write_json(
            json_file,
            {
                "implementation": target, "variant": chosen[0], "seed": seed, "verdict": report.verdict,
                "examples": report.examples, "program": report.program, "never": report.never,
                "seconds": round(report.seconds, 3), "failure": str(report.failure) if report.failure else None,
            },
        )  # fmt: skip
    return 1 if report.verdict == "violated" else 0
