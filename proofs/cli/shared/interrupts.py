"""This module turns Ctrl-C and SIGTERM, wherever they arrive, into a KeyboardInterrupt that is raised within two
seconds.

In the middle of Z3's Python binding, an interrupt would surface as an error of ctypes. In a destructor, or a callback
of the garbage collector, it would be lost, and the run would go on. While a library computes without returning to
Python, it would not be raised at all, so that a separate thread writes what was found so far and ends the process.
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
PATIENCE = 1.2  # seconds that a command has to end by itself
SHOW_CURSOR = "\x1b[?25h"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, eq=False)
class _Writer:
    write: Callable[[], object]
    ready: Callable[[], object]


_writers: list[_Writer] = []
"""These writers write the partial reports of the commands under way. The writer that knows most comes last."""
_begun: list[Callable[[], object]] = []
"""These functions write, to each report that was asked for, that nothing was found yet."""
_writing = threading.Lock()
_ending = threading.Event()
"""The first interrupt sets this event. Later ones are ignored, since they would break off what is being written."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Delay interrupts within the context until Z3's binding has returned, and raise lost interrupts again."""
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
    """Write what was found so far if an interrupt ends the work within the context, provided that ``ready`` returns
    true. Of several nested contexts, the innermost that is ready writes. ``write`` may be called in another thread
    while a library works in this one, so it must not call Z3."""
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
    """Write a command's report to its file, if there is one, when the work within the context is done. After an
    interrupt, the report is marked as cut short, and is written if ``ready`` returns true. ``further`` writes or prints
    what else is due after an interrupt."""
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
    """Return whether an interrupt would leave a report with more in it than the interrupt itself."""
    return any(writer.ready() for writer in _writers)


def nothing_yet(file: Path, write: Callable[[], object]) -> None:
    """Have an empty report written if an interrupt comes before anything else is written to the file."""
    before = _state(file)
    _begun.append(lambda: write() if _state(file) == before else None)


def _state(file: Path) -> tuple[int, ...]:
    with suppress(OSError):
        known = file.stat()
        return known.st_ino, known.st_mtime_ns, known.st_size
    return ()


def write_so_far() -> None:
    """Write the reports of the work under way, once."""
    with _writing:
        while _writers:
            with suppress(Exception):  # a partial result may not make a report, but an outer writer still can
                if (writer := _writers.pop()).ready():
                    writer.write()
                    _writers.clear()
                    _begun.clear()
        while _begun:
            with suppress(Exception):  # the disk may be full, and nothing more can be printed
                _begun.pop()()


def leave(code: int) -> NoReturn:
    """End this process and its child processes, without waiting for their work."""
    for process in multiprocessing.active_children():
        process.kill()
    with suppress(Exception):
        util._run_finalizers(0)  # type: ignore[attr-defined]
        # This releases semaphores, of which Python's resource tracker would complain.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.write(SHOW_CURSOR if stream.isatty() else "")  # the progress display has hidden the cursor
            stream.flush()
    os._exit(code)


@contextmanager
def _watched() -> Iterator[None]:
    """Run a thread within the context that gets each signal at once, and ends the process if the work does not end."""
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
        os.close(writing)  # this ends the thread
        watcher.join()


def _watch(reading: int, over: threading.Event) -> None:
    try:
        while heard := os.read(reading, 1):
            if heard[0] in SIGNALS and not over.wait(PATIENCE):
                write_so_far()
                # What the main thread prints if it is interrupted just now, as click's line break, comes too late.
                stream, sys.stderr = sys.stderr, open(os.devnull, "w")  # noqa: SIM115
                with suppress(OSError, ValueError):
                    stream.write("\nfencepost: interrupted\n" + (SHOW_CURSOR if stream.isatty() else ""))
                    stream.flush()
                leave(130)
    finally:
        os.close(reading)


def interrupt(_: int, frame: FrameType | None) -> None:
    """Handle both signals."""
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
