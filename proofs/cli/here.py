"""Modules of the working directory, which are imported only where one of them was named."""

import os
import sys


def import_from_here() -> None:
    """They can be imported from here on, after everything that is installed."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
