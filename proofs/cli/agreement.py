"""``fencepost agree``: any implementation against the model."""

from pathlib import Path

import click
from fencepost.model.rules import RULES
from fencepost.proofs.cli.options import JSON, SEED, import_from_here
from fencepost.proofs.cli.output import SIGNS, console, duration, spinner
from fencepost.proofs.report import write_json
from fencepost.proofs.words import name_in_words
from fencepost.properties.agreement import DRIVEN, Agreeing, driven
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
@click.option(
    "--expecting",
    multiple=True,
    metavar="RULE",
    help="A promise whose violation is no failure where the documents predict it; may be repeated; `none` for none; "
    "default: those that the variant is known to break.",
)
@click.option("--promises-only", is_flag=True, help="Follow no model: faster, and sees less.")
@SEED
@JSON
def agree(
    name: str, implementation: str | None, examples: int, steps: int, expecting: tuple[str, ...], promises_only: bool,
    seed: int, json_file: Path | None,
) -> int:  # fmt: skip
    """Drive an implementation, and hold it against the model.

    It goes through deliveries, losses, copies, crashes and time, and what it shows must be what the model allows.  A
    failure prints the shortest program found; paste it, and it fails by itself.  Modules are also looked for in the
    working directory.  Example: fencepost agree id-blocks/kraft --implementation mycluster:factory
    """
    from fencepost.proofs.agreement import agree as run

    agreeing, variant = _driven(name)
    import_from_here()
    target = implementation or agreeing.implementations[variant]
    excused = _excused(expecting)
    with spinner(f"agreement of {target}"):
        report = run(
            target, protocol=agreeing.protocol, variant=variant, seed=seed, max_examples=examples, steps=steps,
            expecting=excused, promises_only=promises_only,
        )  # fmt: skip
    against = "" if report.model != "none" else " (its promises only; model: none)"
    console.print(
        f"{target} against {agreeing.protocol}/{variant}{against}, seed {seed}: {SIGNS[report.verdict]} "
        f"after {report.examples} clusters, {duration(report.seconds)}"
    )
    if report.failure is not None:
        console.print(str(report.failure), markup=False)
        console.print(report.program, markup=False)
    for broken in report.predicted.values():
        console.print(f"as predicted of {variant}: {broken.promise}", markup=False)
        console.print(broken.program, markup=False)
    for what, missing in report.never.items():
        if missing:
            console.print(f"    {name_in_words(what)} never reached: {', '.join(missing)}", markup=False)
    if json_file is not None:
        write_json(
            json_file,
            {
                "implementation": target, "protocol": report.protocol, "variant": variant, "model": report.model,
                "seed": seed, "verdict": report.verdict, "examples": report.examples, "program": report.program,
                "predicted": {rule: broken.program for rule, broken in report.predicted.items()},
                "never": report.never, "seconds": round(report.seconds, 3),
                "failure": str(report.failure) if report.failure else None,
            },
        )  # fmt: skip
    return 1 if report.verdict == "violated" else 0


def _excused(expecting: tuple[str, ...]) -> frozenset[str] | None:
    """Rule numbers; None where the variant decides.  CatalogueError for what is no rule."""
    if unknown := [rule for rule in expecting if rule not in RULES and rule != "none"]:
        raise CatalogueError(f"--expecting: there is no rule {', '.join(unknown)}; name promises (txn.P5) or none")
    return frozenset(expecting) - {"none"} if expecting else None


def _driven(name: str) -> tuple[Agreeing, str]:
    """The protocol and the variant of it that are driven; CatalogueError for what does not exist or can't be."""
    protocol, _, variant = name.partition("/")
    if protocol not in DRIVEN:
        entry, _variant = find(name)
        raise CatalogueError(f"no implementation of {entry.name} can be driven; these can: {', '.join(DRIVEN)}")
    agreeing = driven(protocol)
    if not variant:
        return agreeing, agreeing.variants[0]
    if variant not in agreeing.variants:
        there = ", ".join(f"{protocol}/{known}" for known in agreeing.variants)
        raise CatalogueError(f"no implementation of {name} can be driven; name one of {there}")
    return agreeing, variant
