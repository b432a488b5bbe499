"""This module handles implementations that hang: it names the call that does not return, and nothing is judged."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from fencepost.properties.driving import UNDER_WAY

LOOKED_AT = 0.2
"""The call that is under way is checked at intervals of this many seconds."""


class Hangs(BaseException):
    """This exception means that a call has not returned in time. `Hangs` is no Exception, so that neither the
    implementation nor Hypothesis handles it as one of its own."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise `Hangs` in a call of an implementation that takes longer, within this context. Only the main thread can be
    interrupted: in any other, and where no limit is given, nothing is limited."""
    main = threading.main_thread()
    if seconds is None or threading.current_thread() is not main:
        yield
        return
    over = threading.Event()

    def hangs(_: int, __: FrameType | None) -> None:
        if _late(seconds):
            raise Hangs(UNDER_WAY.text)

    def watch() -> None:
        while not over.wait(LOOKED_AT):
            if _late(seconds):
                signal.pthread_kill(main.ident or 0, signal.SIGVTALRM)

    before = signal.signal(signal.SIGVTALRM, hangs)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        signal.signal(signal.SIGVTALRM, before)


def _late(seconds: float) -> bool:
    since = UNDER_WAY.since
    return since is not None and UNDER_WAY.elapsed(since) > seconds
