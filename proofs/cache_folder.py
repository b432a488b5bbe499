"""Where what can be computed again is kept between runs."""

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """In the user's cache, which XDG_CACHE_HOME may put elsewhere; of a user without a home, among temporary files."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen) / "fencepost"
    try:
        return Path.home() / ".cache" / "fencepost"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "fencepost"
