"""Implementations that hang: a call that does not return is named, and nothing is judged."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from fencepost.properties.driving import UNDER_WAY

LOOKED_AT = 0.2
"""Seconds between two looks at the call that is under way."""


class Hangs(BaseException):
    """A call has not returned in the time that it was given.  No Exception, so that neither the implementation nor
    Hypothesis takes it for one of its own."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Within, a call of an implementation that takes longer ends in `Hangs`.  Only the main thread can be interrupted:
    in any other, and where no limit is given, nothing is limited."""
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
