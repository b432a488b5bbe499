"""How far long work has come, a line a minute on the error stream, where there is no terminal to show a bar."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.proofs.cli.output import Bar, errors, spinner, time_in_words

EACH_S = 60.0


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
def told_each_minute(label: str, what: str, total: int) -> Iterator[Bar | Minutes]:
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
