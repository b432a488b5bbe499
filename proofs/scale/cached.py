"""This module caches results that take long to compute and depend on nothing but sources and bounds, under a hash of
these.

Each result is one file in the user's cache. Another source, bound, seed, or release of a solver gives another name, so
a cached value equals what would be computed. A value that cannot be read is computed again."""

import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fencepost.model
import fencepost.proofs
import fencepost.properties
from fencepost.proofs.cache_folder import cache_folder
from fencepost.proofs.dependencies import releases


@functools.cache
def sources() -> str:
    """Return a hash of all that an answer depends on: the sources of model, properties, proofs and reference
    implementation, the recordings, and the releases of the libraries that they call."""
    digest = hashlib.sha256(f"{sys.version} {releases()}".encode())
    folders = [Path(p.__file__ or "").parent for p in (fencepost.model, fencepost.properties, fencepost.proofs)]
    folders.append(folders[0].parent / "reference_impl")
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".parquet", ".json") and p.is_file()):
            digest.update(f"\0{folder.name}/{path.relative_to(folder)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(what: str, about: Iterable[object]) -> Path:
    key = hashlib.sha256("\0".join([sources(), *map(repr, about)]).encode()).hexdigest()[:24]
    return cache_folder() / f"{what}-{key}.json"


def cached(what: str, about: Iterable[object]) -> Any:
    """Return the cached value, or None if there is none, or it cannot be read."""
    try:
        return json.loads(_file(what, about).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def cache(what: str, about: Iterable[object], document: Any) -> None:
    """Store a value in the cache for later runs, unless the folder cannot be written."""
    path = _file(what, about)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(document), encoding="utf-8")
        draft.replace(path)
    except OSError:
        return
