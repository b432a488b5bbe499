"""Output of the commands: lines that read aloud, on standard output; progress on a terminal, silence elsewhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fencepost.proofs.provenance import other_copies, said, sources
from fencepost.proofs.readings.words import leaning, name_in_words
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import Variant
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

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
"""Killers that are printed by name."""


def verdict_sign(kind: str, verdict: str) -> str:
    """The word for a verdict: a witness is reached or not, everything else holds or is violated."""
    if kind == "sometimes":
        return {"holds": "[green]reached[/]", "violated": "[red]not reached[/]"}.get(verdict, SIGNS[verdict])
    return SIGNS[verdict]


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def bound_in_words(bound: Mapping[str, int] | None) -> str:
    """``brokers 2, ids 3``; faults that are switched off go unmentioned."""
    if bound is None:
        return "unbounded"
    return ", ".join(f"{name} {size}" for name, size in bound.items() if size) or "no faults"


def verdict_line(results: Sequence[Result]) -> str:
    """The verdicts of all engines on one property: ``no id twice   holds   induction 8 ms, explore, bounded to depth
    10``."""
    first = results[0]
    engines = ", ".join(_engine(r) for r in results)
    worst = next(
        (r for r in results if not r.as_expected), next((r for r in results if r.verdict == "violated"), first)
    )
    word = "not promised" if "not_promised" in worst.evidence else worst.verdict
    sign = verdict_sign(worst.kind, word) + leaning(worst)
    sign += " as predicted" if worst.as_expected and worst.verdict == "violated" else ""
    wrong = "" if worst.as_expected else f"  [bold red]expected: {worst.expected}[/]"
    padding = " " * max(0, 21 - len(Text.from_markup(sign)))
    return f"    {name_in_words(first.property):<34} {sign}{padding} {engines}{wrong}"


def killers_line(results: Sequence[Result]) -> str:
    """Which mutations would have broken what holds: ``killers: 7 of 7 promises (txn.12 'append: guard 1 dropped' in 9
    steps, …)``; nothing where none is asked for."""
    judged = [r for r in results if "killer" in r.evidence or r.verdict == "vacuous"]
    names = dict.fromkeys(r.property for r in judged)
    if not names:
        return ""
    left = {r.property for r in judged if r.verdict == "vacuous"}
    steps: dict[str, int] = {}
    for killer in (r.evidence["killer"] for r in judged if "steps" in r.evidence.get("killer", ())):
        steps.setdefault(f"{killer['rule']} '{killer['mutation']}'", len(killer["steps"]))
    plants = dict.fromkeys(r.evidence["killer"]["plant"] for r in judged if "plant" in r.evidence.get("killer", ()))
    told = [*(f"{mutation} in {count} steps" for mutation, count in steps.items()), *(f"planted: {p}" for p in plants)]
    more = [f"{len(told) - FEW} more"] if len(told) > FEW else []
    which = f" ({', '.join(told[:FEW] + more)})" if told else ""
    return f"    killers: {len(names) - len(left)} of {len(names)} promises{which}"


def _engine(result: Result) -> str:
    """How one engine came to its verdict: time for a proof, steps for a counterexample, depth for a bounded check."""
    if "reason" in result.evidence:
        return f"{result.engine}: {result.evidence['reason']}"
    steps = result.evidence.get("steps")
    if result.verdict == "violated" and steps is not None:
        return f"{result.engine} in {steps} steps"
    if result.engine == "bounded" and result.bound is not None:
        return f"bounded to depth {result.bound['depth']}"
    if result.engine == "explore":
        states = result.evidence["distinct"]
        return f"explore {states:,} states" + (f", first after {steps} steps" if steps is not None else "")
    took = f"{result.engine} {duration(result.seconds)}"
    if result.evidence.get("followed") is not None:
        return f"{took}, {result.evidence['followed']:.1%} followed to their end"
    return took


def read_from(variants: Iterable[Variant], *further: str) -> dict[str, str]:
    """Says which files are judged, and warns of another copy of them here; the files with their hashes, for JSON.
    ``further``: modules that judge too."""
    read = sources(variants, *further)
    console.print(said(read), markup=False)
    for sentence in other_copies(read, Path.cwd()):
        errors.print(f"warning: {sentence}", markup=False)
    return {str(source.file): source.hash for source in read}


class TimeLeft(ProgressColumn):
    """The work that is left, where it is known how much there is to do: ``12 of 61, about 40 s left``.  The first
    steps, in which everything is loaded, say little of the others."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        seconds = task.time_remaining if task.completed >= max(2, task.total / 20) else None
        left = f", about {time_in_words(seconds)} left" if seconds else ""
        return Text(f"{min(task.completed, task.total):,.0f} of {task.total:,.0f}{left}")


def time_in_words(seconds: float) -> str:
    """``40 s``, ``3 min``, ``2 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


FIGURES = 62
"""Columns of a terminal that bar, time and estimate take."""


class Bar:
    """Work under way, on a terminal: its label, how much is done, of how much if that is known, and about how long
    the rest takes.  May be called from other threads."""

    def __init__(self, progress: Progress, label: str, total: float | None) -> None:
        self._progress = progress
        self._task = progress.add_task(self._fitting(label), total=total)

    def show(self, label: str | None = None, *, done: float | None = None, total: float | None = None) -> None:
        """Another label, or figures; what is not given stays as it is."""
        fitting = None if label is None else self._fitting(label)
        self._progress.update(self._task, description=fitting, completed=done, total=total)

    def _fitting(self, label: str) -> str:
        """As much of the label as leaves room for the figures; its end says most."""
        room = max(20, self._progress.console.width - FIGURES)
        return label if len(label) <= room else f"…{label[1 - room :]}"

    def advance(self, steps: float = 1) -> None:
        """So much more is done."""
        self._progress.advance(self._task, steps)


@contextmanager
def spinner(label: str, total: float | None = None) -> Iterator[Bar]:
    """A bar on a terminal, below what is printed meanwhile; nothing elsewhere.  ``total``: the number of steps that
    there are to do."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
        TimeLeft(),
    )
    # Where both streams are the terminal they must share one display, or line and verdicts overwrite each other.
    terminal = console if console.is_terminal else errors
    with Progress(
        *columns, console=terminal, transient=True, disable=not terminal.is_terminal, speed_estimate_period=600
    ) as progress:
        yield Bar(progress, label, total)
