"""This module stores generated code that numba compiles in the user's cache, under a hash of the source, because numba
caches by file."""

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from fencepost.proofs.cache_folder import cache_folder


def is_possible() -> bool:
    return importlib.util.find_spec("numba") is not None


def is_cached(source: str, function: str) -> bool:
    """Return whether this function of the source was compiled on this machine before."""
    try:
        return next((cache_folder() / "__pycache__").glob(f"{_name_of(source)}.{function}-*.nbi"), None) is not None
    except OSError:
        return False


def load(source: str) -> Any:
    """Return the module with this source. The functions of the module are compiled at their first call, or taken from
    the cache."""
    name = _name_of(source)
    for place in (cache_folder, _fresh_folder):
        try:
            folder = place()
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}.py"
            if not path.exists():
                # Another process may be writing the same file: put it in place in one step.
                draft = folder / f"{name}.{os.getpid()}"
                draft.write_text(source)
                draft.replace(path)
        except OSError:
            continue
        return _import(name, path)
    raise OSError("no folder can be written for compiled code; set XDG_CACHE_HOME to one that can")


def _name_of(source: str) -> str:
    return f"fencepost_{hashlib.sha256(source.encode()).hexdigest()[:24]}"


def _fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fencepost-"))


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # numba looks its cached functions' module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
