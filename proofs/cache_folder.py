"""Where what can be computed again is stored between runs, and whether it is.

With ``FENCEPOST_FRESH`` in the environment no verdict is taken from there, and none stored; with ``CI``, as services
for continuous integration set it, none is taken.
"""

import os
import tempfile
import time
from pathlib import Path

NO_CACHE, NOTHING_TAKEN = "FENCEPOST_FRESH", "CI"


def cache_folder() -> Path:
    """In the user's cache, which XDG_CACHE_HOME may put elsewhere; of a user without a home, among temporary files."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "fencepost"
    try:
        return Path.home() / ".cache" / "fencepost"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "fencepost"


def keeps_verdicts() -> bool:
    """Return whether verdicts are stored for later runs."""
    return not os.environ.get(NO_CACHE)


def takes_verdicts() -> bool:
    """Return whether verdicts of earlier runs are taken."""
    return keeps_verdicts() and not os.environ.get(NOTHING_TAKEN)


def now() -> str:
    """The time, as what is stored says it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
