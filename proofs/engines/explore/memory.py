"""This module decides how much memory a search may hold, and whether its next level will still fit."""

import os

SHARE = 0.8


def default_limit() -> int:
    return int(SHARE * available())


def available() -> int:
    """Return how many bytes of memory can be had without swapping, as far as the system reports."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 << 30


def predict(held: int, sizes: list[int], candidates: int, word_bytes: int, merging: int) -> int:
    """Return the bytes held at the peak of the next level, if it grows as the last one did.

    ``candidates`` counts the successors of the last level after each chunk was made unique. The peak is in the merge of
    all runs and takes twice their size, of which ``merging`` states are in memory so far.
    """
    if len(sizes) < 2 or sizes[-1] == 0:
        return held
    growth = sizes[-1] / sizes[-2]
    expanded = candidates * growth
    new = sizes[-1] * growth
    return int(held + word_bytes * (expanded + 2 * new + merging))
