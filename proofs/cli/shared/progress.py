"""How far long work has come, and about how long the rest takes: a bar on a terminal, and silence or a line a minute
elsewhere."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.proofs.cli.shared.output import console, errors
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

EACH_S = 60.0


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
        """Return as much of the label as leaves room for the figures; its end says most."""
        room = max(20, self._progress.console.width - FIGURES)
        return label if len(label) <= room else f"…{label[1 - room :]}"

    def advance(self, steps: float = 1) -> None:
        """Note that so much more is done."""
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


class Minutes:
    """Counts steps; says how many are done each minute, and about how long the rest takes."""

    def __init__(self, what: str, total: int, each_s: float = EACH_S) -> None:
        self.what, self.total, self.each_s = what, total, each_s
        self.done, self.began = 0, time.monotonic()
        self.over = threading.Event()

    def advance(self) -> None:
        """One more is begun."""
        self.done += 1

    def line(self) -> str:
        """How far it has come, and about how long the rest takes."""
        if self.done >= self.total:
            return f"{self.done:,} {self.what}; what was found is being looked at"
        if self.done < 2:
            return f"{self.done:,} of {self.total:,} {self.what}"
        left = (time.monotonic() - self.began) / (self.done - 1) * (self.total - self.done + 1)
        return f"{self.done:,} of {self.total:,} {self.what}, about {time_in_words(left)} left"

    def say(self) -> None:
        """Says so each minute, until it is over."""
        while not self.over.wait(self.each_s):
            errors.print(self.line(), markup=False, highlight=False)


@contextmanager
def each_minute(label: str, what: str, total: int) -> Iterator[Bar | Minutes]:
    """A bar on a terminal, and a line a minute elsewhere."""
    if errors.is_terminal:
        with spinner(label, total) as bar:
            yield bar
        return
    minutes = Minutes(what, total)
    thread = threading.Thread(target=minutes.say, daemon=True)
    thread.start()
    try:
        yield minutes
    finally:
        minutes.over.set()
        thread.join()
