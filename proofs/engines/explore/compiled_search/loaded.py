"""This module compiles what was emitted for numba, and stores it in the user's cache."""

from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs import jit_cache
from fencepost.proofs.optional_packages import how_to_install

_HEAD = '''"""Made by fencepost for one protocol and its bounds, or for states of so many words; safe to delete."""
import numba
import numpy as np

U = np.uint64


'''


class NotInstalled(InputError):
    """This error means that numba was asked for and is not installed."""


def was_compiled(source: str, function: str) -> bool:
    return jit_cache.is_cached(_HEAD + source, function)


def load(source: str) -> Any:
    """Return the compiled module of a source. Errors: NotInstalled without numba."""
    if not jit_cache.is_possible():
        raise NotInstalled(
            f"engine='numba' needs numba, which is not installed: {how_to_install('fast')}, or use engine='numpy'"
        )
    return jit_cache.load(_HEAD + source)
