"""What the commands print: lines that read aloud, on standard output; progress on a terminal, silence elsewhere."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fencepost.proofs.results import Result

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

SIGNS = {"holds": "[green]holds[/]", "violated": "[red]violated[/]", "unknown": "[yellow]unknown[/]"}


def name_in_words(name: str) -> str:
    return name.replace("_", " ")


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def bound_in_words(bound: Mapping[str, int] | None) -> str:
    """``brokers 2, ids 3``; faults that are switched off go unmentioned."""
    if bound is None:
        return "unbounded"
    return ", ".join(f"{name} {size}" for name, size in bound.items() if size) or "no faults"


def verdict_line(result: Result) -> str:
    """One verdict: name, verdict, engine; marked if it is not what the documents say."""
    steps = result.evidence.get("steps")
    shown = f" in {steps} steps" if steps is not None and result.verdict == "violated" else ""
    expected = "" if result.as_expected else f"  [bold red]expected: {result.expected}[/]"
    predicted = " as predicted" if result.as_expected and result.expected == "violated" else ""
    name = name_in_words(result.property)
    return f"    {name:<34} {SIGNS[result.verdict]}{shown}{predicted}  ({result.engine}, {duration(result.seconds)}){expected}"


@contextmanager
def spinner(label: str) -> Iterator[Progress]:
    """A line that turns on a terminal; nothing elsewhere."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        progress.add_task(label, total=None)
        yield progress
