"""This module explains how to install optional extras: by the packages that they consist of, because another project
has the name of this one on the package index."""

import re
from importlib.metadata import requires


def how_to_install(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    of_extra = re.compile(rf"""(.*?)\s*;.*\bextra\s*==\s*['"]{extra}['"]""")
    found = [match[1] for line in requires("fencepost") or () if (match := of_extra.fullmatch(line))]
    return f"pip install {' '.join(repr(each) for each in found)}"
