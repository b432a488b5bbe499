"""The command ``export`` writes protocols in TLA+, which TLC then checks without our engines."""

from pathlib import Path
from typing import Any

import click
from fencepost.proofs.cli.shared.options import BOUND, PROFILE, PROTOCOL, chosen, complete_variant, parse_bounds
from fencepost.proofs.cli.shared.output import bound_in_words, console, read_from
from fencepost.properties.catalogue import CatalogueError, Profile, bounds_of
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import called


class OutputFolder(click.Path):
    """An `OutputFolder` is an option for a directory to write to. An impossible one is refused early."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False, writable=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        folder = Path(str(super().convert(value, param, ctx)))
        if not folder.exists() and not folder.parent.is_dir():
            self.fail(f"there is no directory {str(folder.parent)!r} for {folder.name!r}; make it first", param, ctx)
        return folder


@click.command()
@click.argument("name", metavar="PROTOCOL[/VARIANT]", shell_complete=complete_variant, type=PROTOCOL)
@click.argument("folder", metavar="DIR", type=OutputFolder())
@click.option(
    "--reduce", "reduced", type=click.Choice(("symmetry",)), help="States that differ in the names of elements are one."
)
@BOUND
@PROFILE
def export(name: str, folder: Path, reduced: str | None, changes: tuple[str, ...], profile: Profile) -> int:
    """Write a protocol as TLA+, for TLC.

    Each variant becomes a module with its configuration; without a variant, all main ones do.  TLC then finds as many
    states and steps as `fencepost explore` with the same bounds, and breaks the same properties in as many steps.
    Liveness stands in a module of its own, with the fairness that it rests on.  What is not exported is printed, and
    stands in the module.
    Example: fencepost export kip618-yardstick DIR --bound tasks=2 --bound log=2
    """
    from fencepost.proofs.readings import tla

    variants = chosen(name)
    if not variants:
        there = f"fencepost list {called(name)} has what there is"
        raise CatalogueError(f"{name} has no variant that could be exported; {there}")
    asked = parse_bounds(changes)
    bounds = [bounds_of(variant, profile, asked) for _, variant in variants]
    read_from(variant for _, variant in variants)
    texts: dict[str, str] = {}
    lines: list[str] = []
    for (entry, variant), bound in zip(variants, bounds, strict=True):
        made = tla.of_variant(entry, variant, bound, symmetry=reduced == "symmetry")
        texts |= tla.files([made])
        lines += [
            f"{entry.name}/{variant.name} within {bound_in_words(bound)}",
            f"    {folder / made.stem}.tla: {quantity(made.actions, 'action')}, {len(made.invariants)} invariants, "
            f"{quantity(len(made.steps), 'property')} of steps",
        ]
        if made.progress:
            progress = f"{quantity(len(made.progress), 'property')} of progress"
            lines.append(f"    {folder / made.stem}Liveness.tla: {progress}")
        lines += [f"    not exported: {sentence}" for sentence in made.left_out]
        lines.append(f"    java -cp tla2tools.jar tlc2.TLC -deadlock -workers 1 -config {made.stem}.cfg {made.stem}")
    tla.write(folder, texts)
    for line in lines:
        console.print(line, markup=False)
    return 0
