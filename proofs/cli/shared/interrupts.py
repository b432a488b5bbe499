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
from dataclasses import dataclass
from multiprocessing import util
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

AGAIN_AFTER = 0.002  # seconds; calls of the binding are far shorter
PATIENCE = 1.2  # seconds in which the command ends by itself, else it is ended
SHOW_CURSOR = "\x1b[?25h"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, eq=False)
class _Writer:
    write: Callable[[], object]
    ready: Callable[[], object]


_writers: list[_Writer] = []
"""What writes the reports of the commands under way, as far as they have come; what knows most comes last."""
_begun: list[Callable[[], object]] = []
"""What says in each report that was asked for that nothing was found yet."""
_writing = threading.Lock()
_ending = threading.Event()
"""Set by the first interrupt: one that comes after it would break off what is being written, and is passed over."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Within, an interrupt waits until Z3's binding is left, and one that was lost comes again.  Only the main thread
    gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _ending.clear()
    _begun.clear()
    handlers, hook = {each: signal.signal(each, interrupt) for each in SIGNALS}, sys.unraisablehook
    sys.unraisablehook = lambda lost: _again() if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        with _watched():
            yield
    except (KeyboardInterrupt, click.Abort):
        write_so_far()
        raise
    finally:
        _begun.clear()
        for each, handler in handlers.items():
            signal.signal(each, handler)
        sys.unraisablehook = hook


@contextmanager
def when_interrupted(write: Callable[[], object], ready: Callable[[], object] = lambda: True) -> Iterator[None]:
    """Has what was found so far written if an interrupt ends what is done within, once there is something, which
    ``ready`` says.  Of several, one within another, the innermost that is ready is asked.

    ``write`` may be called in another thread, while a library is at work in this one: it must not ask Z3 anything."""
    writer = _Writer(write, ready)
    _writers.append(writer)
    try:
        yield
    except KeyboardInterrupt:
        write_so_far()
        raise
    finally:
        if writer in _writers:
            _writers.remove(writer)


@contextmanager
def reported(
    file: Path | None, document: Callable[[], Any], ready: Callable[[], object] = lambda: True,
    further: Callable[[], object] = lambda: None,
) -> Iterator[None]:  # fmt: skip
    """Writes a command's report to its file, if there is one, when what is done within is over; cut short where an
    interrupt ends it and there is something, which ``ready`` says.  ``further``: what an interrupt has to write or
    print besides."""
    from fencepost.proofs.report import cut_short, write_json

    def so_far() -> None:
        if file is not None:
            write_json(file, cut_short(document()))
        further()

    with when_interrupted(so_far, ready):
        yield
    if file is not None:
        write_json(file, document())


def has_report() -> bool:
    """Would an interrupt leave a report with more in it than that it was interrupted?"""
    return any(writer.ready() for writer in _writers)


def nothing_yet(file: Path, write: Callable[[], object]) -> None:
    """Has a report say that nothing was found, if an interrupt comes before anything else is written to its file."""
    before = _state(file)
    _begun.append(lambda: write() if _state(file) == before else None)


def _state(file: Path) -> tuple[int, ...]:
    """What changes when a report is written; nothing where there is none."""
    with suppress(OSError):
        known = file.stat()
        return known.st_ino, known.st_mtime_ns, known.st_size
    return ()


def write_so_far() -> None:
    """Writes the reports of what is under way, once."""
    with _writing:
        while _writers:
            with suppress(Exception):  # what is half done may not make a report; who asked for it still can
                if (writer := _writers.pop()).ready():
                    writer.write()
                    _writers.clear()
                    _begun.clear()
        while _begun:
            with suppress(Exception):  # the disk is full, and no line is left to say it in
                _begun.pop()()


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


def interrupt(_: int, frame: FrameType | None) -> None:
    """The handler of both signals."""
    if _ending.is_set():
        return
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("z3."):
            _again()
            return
        frame = frame.f_back
    _ending.set()
    raise KeyboardInterrupt


def _again() -> None:
    def once_more() -> None:
        _ending.clear()
        signal.raise_signal(signal.SIGINT)

    threading.Timer(AGAIN_AFTER, once_more).start()
