"""This module reports how far long work has come, and about how long the rest takes. Progress is a bar on a terminal,
and a line a minute or nothing elsewhere."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.proofs.cli.shared.output import console, errors
from fencepost.proofs.cli.shared.quiet import is_quiet
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

EACH_S = 60.0


class TimeLeft(ProgressColumn):
    """A `TimeLeft` column displays the remaining work where its total is known: ``12 of 61, about 40 s left``. The
    first steps load everything, so their time is a bad estimate of the rest."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        seconds = task.time_remaining if task.completed >= max(2, task.total / 20) else None
        left = f", about {time_in_words(seconds)} left" if seconds else ""
        return Text(f"{min(task.completed, task.total):,.0f} of {task.total:,.0f}{left}")


def time_in_words(seconds: float) -> str:
    """Return a time as ``40 s``, ``3 min`` or ``2 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


FIGURES = 62
"""The bar, the time and the estimate take this many columns of a terminal."""


class Bar:
    """A `Bar` displays the progress of work on a terminal, with the remaining time, and is thread-safe."""

    def __init__(self, progress: Progress, label: str, total: float | None) -> None:
        self._progress = progress
        self.found = False
        self._task = progress.add_task(self._fitting(label), total=total)

    def show(self, label: str | None = None, *, done: float | None = None, total: float | None = None) -> None:
        """Set another label, or other figures. Arguments that are None change nothing."""
        fitting = None if label is None else self._fitting(label)
        self._progress.update(self._task, description=fitting, completed=done, total=total)

    def _fitting(self, label: str) -> str:
        room = max(20, self._progress.console.width - FIGURES)
        return label if len(label) <= room else f"…{label[1 - room :]}"

    def advance(self, steps: float = 1) -> None:
        self._progress.advance(self._task, steps)


@contextmanager
def spinner(label: str, total: float | None = None) -> Iterator[Bar]:
    """Display a bar on a terminal, and nothing elsewhere, or with ``--quiet``. ``total`` is the number of steps."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
        TimeLeft(),
    )
    hidden = is_quiet()
    # Where both streams are the terminal they must share one display, or line and verdicts overwrite each other.
    terminal = console if console.is_terminal else errors
    with Progress(
        *columns,
        console=terminal,
        transient=True,
        disable=hidden or not terminal.is_terminal,
        speed_estimate_period=600,
    ) as progress:
        yield Bar(progress, label, total)


class Minutes:
    """A `Minutes` counts steps, and prints each minute how many are done and about how long the rest takes, until
    something is ``found``, which ends the search."""

    def __init__(self, what: str, total: int, each_s: float = EACH_S) -> None:
        self.what, self.total, self.each_s = what, total, each_s
        self.done, self.found, self.began = 0, False, time.monotonic()
        self.over = threading.Event()

    def advance(self) -> None:
        self.done += 1

    def line(self) -> str:
        """Return how far the work has come, and about how long the rest takes."""
        if self.found or self.done >= self.total:
            return f"{self.done:,} {self.what}; what was found is being looked at"
        if self.done < 2:
            return f"{self.done:,} of {self.total:,} {self.what}"
        left = (time.monotonic() - self.began) / (self.done - 1) * (self.total - self.done + 1)
        return f"{self.done:,} of {self.total:,} {self.what}, about {time_in_words(left)} left"

    def say(self) -> None:
        while not self.over.wait(self.each_s):
            errors.print(self.line(), markup=False, highlight=False)


@contextmanager
def each_minute(label: str, what: str, total: int) -> Iterator[Bar | Minutes]:
    """Display a bar on a terminal, and print a line a minute elsewhere."""
    if errors.is_terminal or is_quiet():
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
