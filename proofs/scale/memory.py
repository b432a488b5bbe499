"""This module tunes the memory of workers: freed memory stays with the process, and Python's collector pauses while
events are generated."""

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
"""The C library retains this many bytes of freed memory at the end of the heap."""
LARGE = 2**25
"""Arrays of at least this many bytes are given back when freed. The C library allows no larger threshold."""


@functools.cache
def keep_freed_memory() -> None:
    """Let this process retain what it frees. The call has no effect where the C library is not GNU's."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, RETAINED)
        mallopt(MMAP_THRESHOLD, LARGE)


# How often Python looks for garbage in cycles while histories are simulated: seldom, and not in what was there before.
#
# A history is a web of objects that point at each other, so the collector is needed; but at its usual pace it goes over
# the same living objects again and again, every module that was imported among them.

YOUNG = 50_000
"""The collector examines new objects after this many more were created than freed: some dozen histories."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Make the collector run less often within this context, and ignore the objects that exist at its beginning."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
