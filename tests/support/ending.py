"""Processes that end with the test run that has started them, also where that is killed and clears nothing up."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

ENDING = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""
"""A program that takes another one's place, and no function between fork and exec, which is unsafe with threads."""


def started(command: Sequence[str], **named: Any) -> "subprocess.Popen[Any]":
    """As `subprocess.Popen`, to be called in the main thread: Linux ends the process when the thread ends that has
    started it."""
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", ENDING, str(os.getpid()), *command], **named)
