"""This module decides where results that can be computed again are stored between runs, and whether they are used.

If ``FENCEPOST_FRESH`` is set in the environment, verdicts are neither read from the cache nor stored there. If ``CI``
is set, as continuous integration services do, verdicts are stored but not read."""

import os
import tempfile
import time
from pathlib import Path

NO_CACHE, NOTHING_TAKEN = "FENCEPOST_FRESH", "CI"


def cache_folder() -> Path:
    """Return the cache folder: below XDG_CACHE_HOME or ~/.cache, or among temporary files for a user without a home."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "fencepost"
    try:
        return Path.home() / ".cache" / "fencepost"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "fencepost"


def keeps_verdicts() -> bool:
    """Return whether this run stores its verdicts for later runs."""
    return not os.environ.get(NO_CACHE)


def takes_verdicts() -> bool:
    """Return whether this run may use the verdicts of earlier runs."""
    return keeps_verdicts() and not os.environ.get(NOTHING_TAKEN)


def now() -> str:
    """Return the current time (UTC) in the format of the stored results."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
