"""This module explains how to install optional extras: from the checkout, because another project has this name on the
package index."""

from pathlib import Path


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, and the folder in which to run it."""
    checkout = Path(__file__).resolve().parents[1]
    where = str(checkout) if (checkout / "pyproject.toml").is_file() else "a checkout of fencepost"
    return f"pip install -e '.[{extra}]' in {where}"
