"""Loaded: what was emitted for numba, compiled and kept in the user's cache."""

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cache_folder import cache_folder
from fencepost.proofs.extras import how_to_install

_HEAD = '''"""Made by fencepost for one protocol and its bounds, or for states of so many words; safe to delete."""
import numba
import numpy as np

U = np.uint64


'''


class NotInstalled(InputError):
    """numba is asked for and not there."""


def is_there() -> bool:
    """Whether numba is."""
    return importlib.util.find_spec("numba") is not None


def was_compiled(source: str, function: str) -> bool:
    """Whether a function's code is in the cache."""
    try:
        return next((cache_folder() / "__pycache__").glob(f"{_name_of(source)}.{function}-*.nbi"), None) is not None
    except OSError:
        return False


def load(source: str) -> Any:
    """The module, kept under a hash of its source, since numba caches by file."""
    if not is_there():
        raise NotInstalled(
            f"engine='numba' needs numba, which is not installed: {how_to_install('fast')}, or use engine='numpy'"
        )
    name = _name_of(source)
    for place in (cache_folder, _fresh_folder):
        try:
            folder = place()
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}.py"
            if not path.exists():
                # Another process may be writing the same file: put it in place in one step.
                draft = folder / f"{name}.{os.getpid()}"
                draft.write_text(_HEAD + source)
                draft.replace(path)
        except OSError:
            continue
        return _import(name, path)
    raise OSError("no folder can be written for the compiled explorer; set XDG_CACHE_HOME to one that can")


def _name_of(source: str) -> str:
    return f"fencepost_{hashlib.sha256((_HEAD + source).encode()).hexdigest()[:24]}"


def _fresh_folder() -> Path:
    """Where the cache can't be written: compiled anew each time."""
    return Path(tempfile.mkdtemp(prefix="fencepost-"))


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # numba looks its cached functions' module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
