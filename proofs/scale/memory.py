"""Memory of workers: what is freed stays with the process, and Python's collector pauses while events are made."""

import ctypes
import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Memory that a worker frees stays with it, for the next piece.
#
# The C library gives large arrays back to the system when they are freed, and the system fills with zeroes what it
# gives out: of the processor time of a worker that checks one piece of like size after another, that took a quarter
# and more.

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of malloc.h
RETAINED = 2**29
"""Bytes that may lie idle at the end of the heap."""
LARGE = 2**25
"""Bytes of an array from which on it is given back; the most that the C library takes."""


@functools.cache
def keep_freed_memory() -> None:
    """Let this process keep what it frees; without effect where the C library is not GNU's."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, RETAINED)
        mallopt(MMAP_THRESHOLD, LARGE)


# How often Python looks for garbage in cycles while histories are simulated: seldom, and not in what was there before.
#
# A history is a web of objects that point at each other, so the collector is needed; but at its usual pace it goes over
# the same living objects again and again, every module that was imported among them.

YOUNG = 50_000
"""So many objects more than were let go, before the collector looks at the new ones: some dozen histories."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Within: the collector waits for more objects, and leaves alone what there is at the beginning.  As before
    afterwards."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
