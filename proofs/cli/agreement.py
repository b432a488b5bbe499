"""``fencepost agree``: any implementation against the model."""

from pathlib import Path

import click
from fencepost.proofs.cli.options import JSON, SEED, import_from_here
from fencepost.proofs.cli.output import SIGNS, console, duration, spinner
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
@SEED
@JSON
def agree(name: str, implementation: str | None, examples: int, steps: int, seed: int, json_file: Path | None) -> int:
    """Drive an implementation, and hold it against the model.

    It goes through deliveries, losses, copies, crashes and time, and what it shows must be what the model allows.  A
    failure prints the shortest program found; paste it, and it fails by itself.  Modules are also looked for in the
    working directory.  Example: fencepost agree id-blocks/kraft --implementation mycluster:factory
    """
    from fencepost.proofs.agreement import agree as run

    entry, variant = find(name)
    reference = {v: i for i, v in entry.implementations}
    if not reference:
        raise CatalogueError(f"no implementation of {entry.name} can be driven; this can: id-blocks")
    driven = variant.name if variant else next(iter(reference))
    if driven not in reference:
        there = ", ".join(f"{entry.name}/{v}" for v in reference)
        raise CatalogueError(f"no implementation of {name} can be driven; name one of {there}")
    import_from_here()
    target = implementation or reference[driven]
    with spinner(f"agreement of {target}"):
        report = run(target, variant=driven, seed=seed, max_examples=examples, steps=steps)
    console.print(
        f"{target} against {entry.name}/{driven}, seed {seed}: {SIGNS[report.verdict]} "
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
                "implementation": target, "variant": driven, "seed": seed, "verdict": report.verdict,
                "examples": report.examples, "program": report.program, "never": report.never,
                "seconds": round(report.seconds, 3), "failure": str(report.failure) if report.failure else None,
            },
        )  # fmt: skip
    return 1 if report.verdict == "violated" else 0
