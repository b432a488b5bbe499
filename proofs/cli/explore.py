"""The command ``explore`` visits every reachable state of one protocol or variant within bounds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.configured import Configured
from fencepost.proofs.cli.shared.exits import code_of
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import (
    BOUND,
    JSON,
    PROFILE,
    PROTOCOL,
    REDUCE,
    asked_property,
    chosen,
    complete_variant,
    parse_bounds,
)
from fencepost.proofs.cli.shared.output import bound_in_words, console, duration, errors, read_from, verdict_sign
from fencepost.proofs.cli.shared.pages import HTML, explored, write_pages
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant, bounds_of, features_of
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import called

if TYPE_CHECKING:  # these import NumPy and Z3, which `--help` need not wait for
    from fencepost.proofs.engines.explore import Exploration, Progress
    from fencepost.proofs.results import Result

LONG = 1.0
"""Compile times of more than this many seconds are reported."""


@click.command(cls=Configured)
@click.argument("name", metavar="PROTOCOL[/VARIANT]", shell_complete=complete_variant, type=PROTOCOL)
@BOUND
@PROFILE
@JSON
@click.option("--check", "only", multiple=True, metavar="P", help="Judge this property only; may be repeated.")
@REDUCE
@click.option(
    "--checkpoint", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep states in files here, and go on where a search that was interrupted has been.",
)  # fmt: skip
@HTML
def explore(
    name: str, changes: tuple[str, ...], profile: Profile, json_file: Path | None, only: tuple[str, ...],
    reduced: tuple[str, ...], checkpoint: Path | None, html_file: Path | None,
) -> int:  # fmt: skip
    """Visit every reachable state within bounds, breadth first.

    Counterexamples and witnesses are shortest ones, and `fencepost show` prints them. Without a variant, all main
    variants are explored, and the JSON is a list. Example: fencepost explore id-blocks/kraft --bound ids=2

    With --reduce symmetry, one state stands for all that differ only in the names of elements. With --reduce order,
    steps are left out that differ only in their order, which no requested property observes. Verdicts and lengths of
    runs are the same from fewer states, and fewer properties leave fewer states, so that --check pays. Each state takes
    longer, and dangers count as met only by the steps that were taken.
    """
    from fencepost.proofs.pages.stories import Story

    documents, stories, wrong = list[dict[str, Any]](), list[Story](), 0
    read = read_from(variant for _, variant in chosen(name))
    asked = {variant.name: _judged(entry, variant, only) for entry, variant in chosen(name)}
    under_way: list[dict[str, Any]] = []  # the JSON of the running search, if any

    def document() -> Any:
        found = [*documents, *under_way]
        return found[0] if len(found) == 1 else found

    with reported(json_file, document, lambda: documents or under_way):
        for entry, variant, feature, bound in _explorations(name, profile, parse_bounds(changes)):
            label = f"{entry.name}/{variant.name}" + (f" ({feature})" if feature else "")
            search = _Search(entry, variant, bound, asked[variant.name], read, under_way)
            results, made = search.made(label, checkpoint, reduced)
            _print(label, bound, results, made, checkpoint)
            # Bounds of the user, or of one feature, may be too small for a witness without a defect of the protocol.
            few = bool(changes or variant.features)
            wrong += sum(not r.as_expected and not (few and r.kind == "sometimes") for r in results)
            documents.append(_document(entry, variant, bound, results, made) | {"sources": read})
            under_way.clear()
            if html_file is not None:
                stories += explored(entry, variant, bound, made)
        write_pages(stories, html_file)
    return code_of((verdict for each in documents for verdict in each["verdicts"].values()), wrong)


@dataclass
class _Search:
    """A `_Search` is one exploration. While it runs, ``under_way`` holds exactly one entry, its JSON so far."""

    entry: ProtocolEntry
    variant: Variant
    bound: dict[str, int]
    asked: Sequence[str]
    read: dict[str, str]
    under_way: list[dict[str, Any]]
    frontiers: list[int] = field(default_factory=list)

    def made(self, label: str, checkpoint: Path | None, reduced: Sequence[str]) -> "tuple[list[Result], Exploration]":
        from fencepost.proofs.engines.run_engines import run_explore

        with spinner(label) as bar:

            def progress(level: "Progress") -> None:
                self.frontiers.append(level.frontier)
                self.under_way[:] = [self._so_far(level)]
                bar.show(
                    f"{label}, depth {level.depth}, {level.frontier:,} new states",
                    done=level.distinct, total=expected_states(level.distinct, self.frontiers),
                )  # fmt: skip
                if level.warning:
                    errors.print(f"depth {level.depth}: {level.warning}")

            return run_explore(
                self.entry, self.variant, self.bound, only=self.asked, report=progress, checkpoint=checkpoint,
                symmetry="symmetry" in reduced, partial_order="order" in reduced,
            )  # fmt: skip

    def _so_far(self, last: "Progress") -> dict[str, Any]:
        """Return the JSON of an interrupted search, without traces, since they would take too long to find."""
        return {
            "schema": SCHEMA, "protocol": self.entry.name, "variant": self.variant.name, "bound": self.bound,
            "distinct": last.distinct, "generated": last.generated, "depth": last.depth,
            "seconds": round(last.seconds, 4), "complete": False, "levels": [*self.frontiers],
            "verdicts": {name: last.decided.get(name, "unknown") for name in self.asked}, "cut": {}, "traces": {},
            "sources": self.read,
        }  # fmt: skip


def _print(
    title: str, bound: dict[str, int], results: "Sequence[Result]", made: "Exploration", checkpoint: Path | None
) -> None:
    from fencepost.proofs.scope.scopes import scope_lines

    console.print(f"{title} within {bound_in_words(bound)}")
    console.print(
        f"    {quantity(made.distinct, 'state')}{up_to(made)}, {made.generated:,} generated, depth {made.depth}, "
        + duration(made.seconds)
        + (f" after {duration(made.compile_seconds)} of compiling" if made.compile_seconds > LONG else "")
        + (f", {made.resumed:,} of them found before" if made.resumed else "")
        + (f", stopped: {made.stopped}" if made.stopped else "")
    )
    if (made.stopped or "").startswith("memory") and checkpoint is None:
        console.print("    with --checkpoint DIR states lie on disk, and it goes on")
    for line in scope_lines(results, "met"):
        console.print(f"    {line}", style="dim", markup=False)
    for r in results:
        steps = f" in {quantity(r.evidence['steps'], 'step')}" if "steps" in r.evidence else ""
        console.print(f"    {name_in_words(r.property):<34} {verdict_sign(r.kind, r.verdict)}{steps}")
    for action, count in made.cut.items():
        if count:
            console.print(f"    {quantity(count, 'step')} of {action} lead beyond the bounds and were not taken")


def up_to(made: "Exploration") -> str:
    """Return a phrase about the reductions of a search: the symmetric sorts, and whether steps were left out."""
    alike = made.kernels.symmetry
    names = "" if alike is None else f" up to the names of {' and '.join(sort.bound for sort in alike.sorts)}"
    return names + (" by partial order" if made.kernels.partial_order is not None else "")


def _judged(entry: ProtocolEntry, variant: Variant, only: Sequence[str]) -> list[str]:
    """Return the properties to judge. Errors: CatalogueError for a progress property, which explore cannot judge."""
    if not only:
        return [n for n, p in variant.asked.items() if p.kind != "eventually"]
    found = [asked_property(entry, variant, name) for name in only]
    for item in found:
        if item.kind == "eventually":
            raise CatalogueError(
                f"{name_in_words(item.name)!r} says what happens in the end, which explore does not judge; "
                f"see fencepost show {called(entry.name)}/{variant.name} {name_in_words(item.name)!r}"
            )
    return [item.name for item in found]


def expected_states(distinct: int, frontiers: Sequence[int]) -> int | None:
    """Return an estimate of the total number of states, from the numbers of new states by depth. Once these numbers
    have fallen over three levels, they are assumed to go on falling at the same rate, which overestimates the total.
    Before the third fall, the estimate is None."""
    last = frontiers[-4:]
    if len(last) < 4 or not all(later < earlier for earlier, later in pairwise(last)) or not last[-1]:
        return None
    ratio: float = (last[-1] / last[0]) ** (1 / 3)
    return distinct + round(last[-1] * ratio / (1 - ratio))


def _explorations(
    name: str, profile: Profile, changes: dict[str, int]
) -> Iterator[tuple[ProtocolEntry, Variant, str, dict[str, int]]]:
    for entry, variant in chosen(name):
        wanted = {"": bounds_of(variant, profile, changes)} if changes else features_of(variant, profile)
        for feature, bound in wanted.items():
            yield entry, variant, feature, bound


def _document(
    entry: ProtocolEntry, variant: Variant, bound: dict[str, int], results: "list[Result]", made: "Exploration"
) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "protocol": entry.name, "variant": variant.name, "bound": bound,
        "distinct": made.distinct, "generated": made.generated, "depth": made.depth,
        "seconds": round(made.seconds, 4), "compile_seconds": round(made.compile_seconds, 4), "complete": made.complete,
        **({"resumed": made.resumed} if made.resumed else {}),
        **({"symmetry": [sort.bound for sort in made.kernels.symmetry.sorts]} if made.kernels.symmetry else {}),
        **({"partial_order": True} if made.kernels.partial_order else {}),
        "levels": made.levels,
        "verdicts": {r.property: r.verdict for r in results},
        "cut": {a: n for a, n in made.cut.items() if n},
        "traces": {r.property: r.evidence["events"] for r in results if "events" in r.evidence},
        **({"scope": results[0].scope, "out": results[0].out, "excused": results[0].excused} if results else {}),
    }  # fmt: skip
