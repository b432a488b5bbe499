"""Processes that end with the test run that has started them, also where that is killed and clears nothing up; they
have all cores, of which each worker of the tests has one."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

_GIVEN = os.environ.setdefault("FENCEPOST_TEST_CORES", ",".join(map(str, sorted(os.sched_getaffinity(0)))))
CORES = [int(core) for core in _GIVEN.split(",")]
"""Those of the whole run, which its workers inherit by the environment."""
ENDING = """
import ctypes, os, signal, sys
os.sched_setaffinity(0, map(int, sys.argv[2].split(",")))
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[3], sys.argv[3:])
"""
"""A program that takes another one's place, and no function between fork and exec, which is unsafe with threads."""


def started(command: Sequence[str], **named: Any) -> "subprocess.Popen[Any]":
    """As `subprocess.Popen`, to be called in the main thread: Linux ends the process when the thread ends that has
    started it."""
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", ENDING, str(os.getpid()), _GIVEN, *command], **named)
