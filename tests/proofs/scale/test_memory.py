"""What a worker frees it keeps: the system is asked for memory once, and not for every piece."""

import resource
import subprocess
import sys

import pytest

PIECES = """
import resource, sys
import numpy as np
from fencepost.proofs.scale.malloc import keep_freed_memory

def check_piece():
    several = [np.zeros(250_000) + 1 for _ in range(20)]
    return sum(len(array) for array in several)

if sys.argv[1] == "keep":
    keep_freed_memory()
check_piece(), check_piece()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    check_piece()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages_asked_for(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PIECES, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is of GNU's C library")
def test_freed_memory_is_kept() -> None:
    """Ten pieces of 40 MB: a tenth of the pages that they are given where nothing is kept, at most."""
    kept, given_back = pages_asked_for("keep"), pages_asked_for("give back")
    assert given_back * resource.getpagesize() > 40_000_000
    assert kept * 10 < given_back
