"""This module starts processes that end with the process that started them, also where that is killed and clears
nothing up, has folders that are removed then, and contexts that end whatever they have entered."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CORES = "FENCEPOST_CORES"
"""The environment variable with the cores that a started process may use; without it, those of this process."""
ENDING = """
import ctypes, os, signal, sys
os.sched_setaffinity(0, map(int, sys.argv[2].split(",")))
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[3], sys.argv[3:])
"""
"""A program that takes another one's place, and no function between fork and exec, which is unsafe with threads."""
OWNER = "owner"
"""The file in a temporary folder that its process has locked, which Linux unlocks when the process ends."""


def cores() -> list[int]:
    """Return the cores that a started process may use."""
    given = os.environ.get(CORES)
    return [int(core) for core in given.split(",")] if given else sorted(os.sched_getaffinity(0))


def started(command: Sequence[str], **named: Any) -> "subprocess.Popen[Any]":
    """As `subprocess.Popen`, to be called in the main thread: Linux ends the process when the thread ends that has
    started it."""
    given = [str(os.getpid()), ",".join(map(str, cores()))]
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", ENDING, *given, *command], **named)


@contextmanager
def temporary(prefix: str) -> Iterator[Path]:
    """As `tempfile.TemporaryDirectory`; where the process is killed, the folder is removed by the next one that makes a
    folder with this prefix."""
    for owner in Path(tempfile.gettempdir()).glob(f"{prefix}*/{OWNER}"):
        with suppress(OSError), owner.open() as file:  # its process lives, or it is another user's
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(owner.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        folder = Path(name)
        with (folder / "new").open("w") as file:  # it has no owner before that is locked
            fcntl.flock(file, fcntl.LOCK_EX)
            (folder / "new").rename(folder / OWNER)
            yield folder


class Entering:
    """An `Entering` context enters others in `_start`, and ends them with itself, or where `_start` fails."""

    _stack: ExitStack

    def _start(self, stack: ExitStack) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
