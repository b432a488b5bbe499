"""Ctrl-C and SIGTERM, wherever they find us: as a KeyboardInterrupt that comes out, within two seconds.

In the middle of Z3's Python binding it would come out as an error of ctypes; in a destructor, or a callback of the
garbage collector, it would be lost, and the run would go on; and while a library computes without coming back to
Python, it would not come out at all.  Then a thread of its own writes what was found so far, and ends the process.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import util
from types import FrameType
from typing import NoReturn

AGAIN_AFTER = 0.002  # seconds; calls of the binding are far shorter
PATIENCE = 1.2  # seconds in which the command ends by itself, else it is ended
SHOW_CURSOR = "\x1b[?25h"
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_writers: list[Callable[[], object]] = []
"""What writes the reports of the commands under way, as far as they have come."""
_writing = threading.Lock()


@contextmanager
def interruptible() -> Iterator[None]:
    """Within, an interrupt waits until Z3's binding is left, and one that was lost comes again.  Only the main thread
    gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers, hook = {each: signal.signal(each, _interrupt) for each in SIGNALS}, sys.unraisablehook
    sys.unraisablehook = lambda lost: _again() if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        with _watched():
            yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        sys.unraisablehook = hook


@contextmanager
def when_interrupted(write: Callable[[], object]) -> Iterator[None]:
    """Has what was found so far written if an interrupt ends what is done within."""
    _writers.append(write)
    try:
        yield
    except KeyboardInterrupt:
        write_so_far()
        raise
    finally:
        if write in _writers:
            _writers.remove(write)


def write_so_far() -> None:
    """Writes the reports of what is under way, each once."""
    with _writing:
        while _writers:
            with suppress(Exception):  # what is half done may not make a report; the others still do
                _writers.pop()()


def leave(code: int) -> NoReturn:
    """Ends this process and those that it began, without waiting for what they are doing."""
    for process in multiprocessing.active_children():
        process.kill()
    with suppress(Exception):
        util._run_finalizers(0)  # type: ignore[attr-defined]
        # Semaphores are given back by it, else a process of Python's own complains of them.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.write(SHOW_CURSOR if stream.isatty() else "")  # which progress has hidden
            stream.flush()
    os._exit(code)


@contextmanager
def _watched() -> Iterator[None]:
    """Within, a thread hears of each signal when it arrives, which is before Python hears of it, and ends the process
    if what is done within is not over soon."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(reading, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        os.close(writing)  # at which the thread ends
        watcher.join()


def _watch(reading: int, over: threading.Event) -> None:
    try:
        while heard := os.read(reading, 1):
            if heard[0] in SIGNALS and not over.wait(PATIENCE):
                write_so_far()
                with suppress(OSError, ValueError):
                    sys.stderr.write("\nfencepost: interrupted\n")
                leave(130)
    finally:
        os.close(reading)


def _interrupt(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("z3."):
            _again()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _again() -> None:
    threading.Timer(AGAIN_AFTER, signal.raise_signal, [signal.SIGINT]).start()
