"""Memory that a worker frees stays with it, for the next piece.

The C library gives large arrays back to the system when they are freed, and the system fills with zeroes what it gives
out: of the processor time of a worker that checks one piece of like size after another, that took a quarter and more.
"""

import ctypes
import functools

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of malloc.h
KEPT = 2**29
"""Bytes that may lie idle at the end of the heap."""
LARGE = 2**25
"""Bytes of an array from which on it is given back; the most that the C library takes."""


@functools.cache
def keep_freed_memory() -> None:
    """Let this process keep what it frees; without effect where the C library is not GNU's."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, KEPT)
        mallopt(MMAP_THRESHOLD, LARGE)
