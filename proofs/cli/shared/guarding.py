"""This module runs a command's work in a process of its own, and takes the verdict from the parent process alone.

Commands run code that others wrote, such as implementations, simulators, models and client libraries. Such code may end
its process through ``os._exit(0)``, a crash of a library or a lack of memory, and the command would then have an exit
code without a verdict. So the process that was started only forks a child and waits. The child sends the exit code
through a pipe when the command is complete. A child that ends without doing so is reported with exit code 2.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from fencepost.proofs.cli.shared.exits import INTERRUPTED, REFUSED, say
from fencepost.proofs.cli.shared.interrupts import SIGNALS, interrupt

PATIENCE_S = 4.0
"""A command ends within two seconds of an interrupt. A command that takes longer is stuck outside Python, and is
killed."""
PR_SET_PDEATHSIG = 1


def guarded(work: Callable[[], int]) -> int:
    """Run the work in a child process, and return its exit code. Call this function before any thread is started. The
    function returns in both processes."""
    if not hasattr(os, "fork"):
        return work()
    parent, (reading, writing) = os.getpid(), os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _end_with(parent)
        for each in SIGNALS:  # the child gets a signal twice, from the terminal and from the parent
            signal.signal(each, interrupt)
        code = work()
        os.write(writing, bytes([code]))
        return code
    os.close(writing)
    return _awaited(child, reading)


def _end_with(parent: int) -> None:
    """Have this process killed when its parent is, since the parent can no longer stop it then."""
    with suppress(OSError, AttributeError):  # the system is not Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(INTERRUPTED)


def _awaited(child: int, reading: int) -> int:
    interrupted = False

    def pass_on(number: int, _: FrameType | None) -> None:
        nonlocal interrupted
        if not interrupted:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        interrupted = True
        _signalled(child, number)

    for each in SIGNALS:
        signal.signal(each, pass_on)
    signal.signal(signal.SIGALRM, lambda *_: _signalled(child, signal.SIGKILL))
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.set_blocking(reading, False)  # a process that the child left behind may hold the pipe open
    with suppress(BlockingIOError):
        if byte := os.read(reading, 1):
            return byte[0]
    code = os.waitstatus_to_exitcode(status)
    if interrupted or code == INTERRUPTED:
        return INTERRUPTED
    say(_ended(code))
    return REFUSED


def _signalled(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _ended(code: int) -> str:
    if code >= 0:
        return (
            f"something that was run ended the process with exit code {code} before there was a verdict; "
            "look for os._exit in what was driven, simulated or imported"
        )
    name = signal.Signals(-code).name
    if name == "SIGKILL":
        return (
            "the process was killed before there was a verdict, most often because memory ran out; use smaller bounds"
        )
    return f"the process was ended by {name} before there was a verdict, most often in a library that is not Python"
