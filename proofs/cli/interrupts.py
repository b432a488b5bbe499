"""Ctrl-C, wherever it finds us: as a KeyboardInterrupt that comes out.

In the middle of Z3's Python binding it would come out as an error of ctypes; in a destructor, or a callback of the
garbage collector, it would be lost, and the run would go on.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_AFTER = 0.002  # seconds; calls of the binding are far shorter


@contextmanager
def interruptible() -> Iterator[None]:
    """Within, an interrupt waits until Z3's binding is left, and one that was lost comes again.  Only the main thread
    gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, hook = signal.signal(signal.SIGINT, _interrupt), sys.unraisablehook
    sys.unraisablehook = lambda lost: _again() if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = hook


def _interrupt(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("z3."):
            _again()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _again() -> None:
    threading.Timer(AGAIN_AFTER, signal.raise_signal, [signal.SIGINT]).start()
