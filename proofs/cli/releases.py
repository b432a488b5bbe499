"""The command ``fencepost releases`` prints which promises each release of Kafka fulfils."""

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.model.language.checks.errors import InputError
from fencepost.model.releases import NAMES
from fencepost.model.rules import RULES
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import JSON, OutputFile
from fencepost.proofs.cli.shared.output import console
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.report import write_text
from fencepost.properties.catalogue import Variant, protocols
from fencepost.properties.nearest import instead

if TYPE_CHECKING:  # these import Z3, which `--help` need not wait for
    from fencepost.proofs.necessity.tables import SavedFacts
    from fencepost.proofs.scope.releases import Cell, Releases

WIDTH = 11


@click.command()
@click.option("--release", metavar="NAME", help="Only this release, such as 4.4.0: what breaks each promise there.")
@click.option("--promise", metavar="P", help="Only this promise, such as txn.P3, release by release.")
@click.option("--verbose", is_flag=True, help="Every run and property, and settings that are not the default.")
@JSON
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write all of it as Markdown.")
@click.option("--kept", type=OutputFile(), metavar="FILE", help="Keep there what no protocol's table of verdicts has.")
def releases(
    release: str | None, promise: str | None, verbose: bool, json_file: Path | None, table: Path | None,
    kept: Path | None,
) -> int:  # fmt: skip
    """Tell what each release of Kafka keeps, with its defaults.

    The answer is computed from the verdicts on the variants that are of that release. Stored verdicts of earlier runs
    on the same models are read instead of being computed again. Example: fencepost releases --release 4.4.0
    """
    if release is not None and release not in NAMES:
        raise InputError(f"there is no release {release!r} here; {instead(release, NAMES, 'fencepost releases')}")
    promises = [number for number, rule in RULES.items() if rule.kind == "promise"]
    if promise is not None and promise not in promises:
        raise InputError(f"there is no promise {promise!r}; {instead(promise, promises, 'fencepost list --verbose')}")
    from fencepost.proofs.necessity.tables import all_saved, write_facts
    from fencepost.proofs.scope.certified import outdated, standing
    from fencepost.proofs.scope.releases import Releases

    known = all_saved()
    found = _Remembering(known)
    sure, old = standing(protocols().values())
    made = Releases(protocols().values(), found, certified=sure)
    if promise is not None and promise not in made.asked:
        raise InputError(f"{promise} is asked of no variant that is of a release; fencepost list names the variants")
    cells: list[Cell] = []
    others: list[Cell] = []

    def keep(*, is_whole: bool) -> None:
        if kept is not None:
            write_facts(kept, known, whole=is_whole)

    wanted = [promise] if promise else list(made.asked)
    whole = verbose or any(each is not None for each in (json_file, table, kept, release, promise))
    with (
        reported(json_file, lambda: [c.as_dict() for c in (*cells, *others)], further=lambda: keep(is_whole=False)),
        spinner("releases") as bar,
    ):
        found.done = bar.advance
        cells.extend(made.cell(p, r) for p in wanted for r in NAMES if release in (None, r))
        others.extend(c for c in made.changed(wanted if whole else ()) if release in (None, c.release))
    console.print(found.words, markup=False)
    _print(made, cells, others, release, promise, verbose)
    if old:
        console.print(outdated(old), markup=False)
    if table is not None:
        from fencepost.proofs.scope.releases_page import page

        write_text(table, page(made, known.models, outdated(old)))
    keep(is_whole=True)
    return 0


class _Remembering:
    """A `_Remembering` looks verdicts up, or has them computed, each once."""

    def __init__(self, facts: "SavedFacts") -> None:
        self.facts = facts
        self.found: dict[tuple[int, str], Any] = {}
        self.new = 0
        self.done: Callable[[], None] = lambda: None

    def __call__(self, variant: Variant, name: str, ask: Callable[[], Any]) -> Any:
        def computed() -> Any:
            self.new += 1
            return ask()

        key = (id(variant), name)
        if key not in self.found:
            self.found[key] = self.facts.remember(variant, name, computed)
            self.done()
        return self.found[key]

    @property
    def words(self) -> str:
        also = f", {self.new} computed now" if self.new else ""
        return f"{len(self.found) - self.new} verdicts kept from earlier runs on the same models{also}"


def _print(
    made: "Releases", cells: "Sequence[Cell]", others: "Sequence[Cell]", release: str | None, promise: str | None,
    verbose: bool,
) -> None:  # fmt: skip
    from fencepost.proofs.scope.releases_page import LEGEND, long, setting_in_words, short, spans

    most = None if verbose else 1
    if release is None and promise is None:
        console.print(f"{'':<8}" + "".join(f"{name:>{WIDTH}}" for name in NAMES), markup=False)
        for wanted in made.asked:
            row = [cell for cell in cells if cell.promise == wanted]
            console.print(f"{wanted:<8}" + "".join(f"{short(cell):>{WIDTH}}" for cell in row), markup=False)
        console.print(LEGEND, style="dim", markup=False)
    if release is not None or promise is not None or verbose:
        for cell in cells:
            name = cell.promise if promise is None else cell.release
            name = name if release is not None or promise is not None else f"{cell.promise} in {cell.release}"
            console.print(f"{name:<8} {long(cell, most)}", markup=False)
    if others:
        console.print("with settings that are not the default", markup=False)
    for setting, group in groupby(others, setting_in_words):
        words = [
            f"{wanted} {word}" + (f" in {where}" if release is None else "")
            for wanted, mine in groupby(group, lambda cell: cell.promise)
            for where, word in spans(list(mine))
        ]
        console.print(f"    {setting}: {', '.join(words)}", markup=False)
