"""This module prints the commands' output on standard output, in lines that read aloud."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.proofs.provenance import described, other_copies, sources
from fencepost.proofs.readings.words import leaning, name_in_words
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import Variant
from fencepost.properties.nearest import quantity
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:  # this imports Z3, which `--help` need not wait for
    from fencepost.proofs.necessity.search import Necessity

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

SIGNS = {
    "holds": "[green]holds[/]",
    "violated": "[red]violated[/]",
    "differs": "[red]differs from the model[/]",
    "unknown": "[yellow]unknown[/]",
    "vacuous": "[yellow]vacuous[/]",
    "not proved": "[red]not proved[/]",
    "not promised": "[blue]not promised[/]",
}


FEW = 2
"""This many killers are printed by name."""
PIPED = 120
"""Lines have this many columns where no terminal gives a width."""
NARROWEST = 24
"""The text next to names has at least this many columns, however narrow the terminal."""


def in_columns(rows: Sequence[Sequence[str]], indent: str = "") -> Iterator[str]:
    """Yield rows of names, in columns as wide as the longest, with a text at the end that is wrapped next to them."""
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    for *names, text in rows:
        head = indent + "".join(f"{name:<{width}}  " for name, width in zip(names, widths, strict=True))
        yield from wrapped(text, head, " " * len(head))


def wrapped(text: str, head: str = "", further: str = "") -> list[str]:
    """Return the lines of a text, the first after ``head``, the others after ``further``, as wide as the terminal."""
    width = max(console.width if console.is_terminal else PIPED, len(further) + NARROWEST)
    return textwrap.wrap(
        text, width, initial_indent=head, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    ) or [head.rstrip()]


def verdict_sign(kind: str, verdict: str) -> str:
    if kind == "sometimes":
        return {"holds": "[green]reached[/]", "violated": "[red]not reached[/]"}.get(verdict, SIGNS[verdict])
    return SIGNS[verdict]


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def bound_in_words(bound: Mapping[str, int] | None) -> str:
    """Return bounds as ``brokers 2, ids 3``, without faults that are switched off."""
    if bound is None:
        return "unbounded"
    return ", ".join(f"{name} {size}" for name, size in bound.items() if size) or "no faults"


def verdict_line(results: Sequence[Result]) -> str:
    """Return a line with the verdicts of all engines on one property: ``no id twice holds induction 8 ms, explore``."""
    sign, worst = sign_of(results), worst_of(results)
    wrong = "" if worst.as_expected else f"  [bold red]expected: {worst.expected}[/]"
    padding = " " * max(0, 21 - len(Text.from_markup(sign)))
    engines = ", ".join(map(engine_in_words, results))
    return f"    {name_in_words(results[0].property):<34} {sign}{padding} {engines}{wrong}"


def worst_of(results: Sequence[Result]) -> Result:
    """Return the verdict on one property that counts: the first unexpected one, else the first violation, else the
    first."""
    unexpected = (r for r in results if not r.as_expected)
    violated = (r for r in results if r.verdict == "violated")
    return next(r for each in (unexpected, violated, results) for r in each)


def sign_of(results: Sequence[Result]) -> str:
    """Return the combined verdict of all engines on one property, as it is printed, with its colour."""
    worst = worst_of(results)
    word = "not promised" if "not_promised" in worst.evidence else worst.verdict
    predicted = " as predicted" if worst.as_expected and worst.verdict == "violated" else ""
    return verdict_sign(worst.kind, word) + leaning(worst) + predicted


def killers_line(results: Sequence[Result]) -> str:
    """Return a line about the mutations that would have broken properties that hold: ``killers: 7 of 7 promises (txn.12
    'append: guard 1 dropped' in 9 steps, …)``. The line is empty where none is asked for."""
    judged = [r for r in results if "killer" in r.evidence or r.verdict == "vacuous"]
    names = dict.fromkeys(r.property for r in judged)
    spared = dict.fromkeys(name_in_words(r.property) for r in results if "no_mutant" in r.evidence)
    true = f"true by construction: {', '.join(spared)}" if spared else ""
    if not names:
        return f"    killers: none asked for; {true}" if spared else ""
    left = {r.property for r in judged if r.verdict == "vacuous"}
    steps: dict[str, int] = {}
    for killer in (r.evidence["killer"] for r in judged if "steps" in r.evidence.get("killer", ())):
        steps.setdefault(f"{killer['rule']} '{killer['mutation']}'", len(killer["steps"]))
    seeded = dict.fromkeys(r.evidence["killer"]["plant"] for r in judged if "plant" in r.evidence.get("killer", ()))
    reported = [
        *(f"{mutation} in {quantity(count, 'step')}" for mutation, count in steps.items()),
        *(f"seeded: {p}" for p in seeded),
    ]
    more = [f"{len(reported) - FEW} more"] if len(reported) > FEW else []
    which = f" ({', '.join(reported[:FEW] + more)})" if reported else ""
    return f"    killers: {len(names) - len(left)} of {len(names)} promises{which}" + (f"; {true}" if spared else "")


def engine_in_words(result: Result) -> str:
    """Return how one engine reached its verdict, with the time of a proof or the steps of a counterexample."""
    if "reason" in result.evidence:
        return f"{result.engine}: {result.evidence['reason']}"
    steps = result.evidence.get("steps")
    if result.verdict == "violated" and steps is not None:
        return f"{result.engine} in {quantity(steps, 'step')}"
    if result.engine == "explore":
        states = result.evidence["distinct"]
        first = f", first after {quantity(steps, 'step')}" if steps is not None else ""
        return f"explore {quantity(states, 'state')}{first}"
    took = f"{result.engine} {duration(result.seconds)}"
    if result.evidence.get("followed") is not None:
        return f"{took}, {result.evidence['followed']:.1%} followed to their end"
    return took


def line_of(found: "Necessity") -> str:
    """Return a line with the verdict on one mistake about a rule."""
    steps = f" in {quantity(found.steps, 'step')}" if found.steps is not None else ""
    what = f": {name_in_words(found.promise)} fails{steps}" if found.promise else ""
    again = " (kept from an earlier run on the same models)" if found.kept else ""
    return f"{found.rule:<7} {found.variant:<12} {found.mutation:<45} {found.verdict}{what}{again}"


def folder_of_tests() -> Path | None:
    """Return the folder of tests in the current directory, or print that what is stored stands in for it."""
    from fencepost.proofs.necessity.rule_removal import STORED

    if (tests := Path("tests")).is_dir():
        return tests
    errors.print(STORED, markup=False)
    return None


def read_from(variants: Iterable[Variant], *further: str) -> dict[str, str]:
    """Print which files are judged, and warn of another copy of them in the working directory. Return the files with
    their hashes, for JSON. ``further`` names modules that judge too."""
    read = sources(variants, *further)
    console.print(described(read), markup=False)
    for sentence in other_copies(read, Path.cwd()):
        errors.print(f"warning: {sentence}", markup=False)
    return {str(source.file): source.hash for source in read}
