"""This module computes one hash of all that verdicts on a protocol depend on: equal hashes mean equal verdicts.

The hash covers the text of every file that the protocol's files and the engines name, directly or indirectly, in an
import or as the location of an implementation. The hash also covers the data files next to the properties, the
recordings, and the releases of the libraries that the engines call. Comments count as well: an unnecessary computation
costs a minute, but a stale verdict is wrong."""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fencepost.properties
from fencepost.proofs.scale.generate import vocabularies_of
from fencepost.properties.catalogue import ProtocolEntry, protocols

RELEASES = ("numpy", "numba", "z3-solver", "cvc5", "hypothesis", "pyarrow", "kafka-python", "networkx")
ENGINES = "proofs/verify.py"
DATA = (".json", ".parquet")
_NAMED = re.compile(r"\bfencepost((?:\.\w+)+)")
_FROM = re.compile(r"^[ \t]*from\s+fencepost((?:\.\w+)+)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def root() -> Path:
    """Return the folder of the installed package."""
    return Path(fencepost.properties.__file__ or "").resolve().parent.parent


def hash_of(entry: ProtocolEntry, *further: object) -> str | None:
    """Return the hash of all that verdicts on a protocol depend on, and of the repr of ``further``. The hash is None
    for a protocol outside this package, because its dependencies are unknown."""
    folders = folders_of(entry)
    if folders is None:
        return None
    key = f"{sys.version}\0{releases()}\0{further!r}\0{hash_of_files(frozenset(folders))}"
    return hashlib.sha256(key.encode()).hexdigest()


@cache
def hash_of_files(folders: frozenset[Path]) -> str:
    """Return the hash of the text of all files that count, as they were at the first call in this process."""
    digest = hashlib.sha256()
    for path in sorted(files(folders)):
        digest.update(f"\0{path.relative_to(root())}\0{_digest(path)}".encode())
    return digest.hexdigest()


def folders_of(entry: ProtocolEntry) -> set[Path] | None:
    """Return the places of the properties of a protocol, of its parts, and of the vocabularies that its simulators
    write. The set of folders is None if one of these protocols is outside this package."""
    named = {name for _, simulator, config in entry.verified_simulators for name in vocabularies_of(simulator, config)}
    found = {_folder(one) for one in (entry, *(protocols()[name] for name in sorted({*entry.parts, *named})))}
    return None if None in found else {folder for folder in found if folder is not None}


def files(folders: Iterable[Path]) -> set[Path]:
    """Return the files that the hash covers for protocols whose properties are in these folders."""
    chosen = set(folders)
    data = [p for folder in (*chosen, root() / "properties" / "recorded") for p in folder.rglob("*")]
    found = {path for path in data if path.suffix in DATA}
    waiting = [root() / ENGINES, *(path for folder in chosen for path in _sources(folder))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _named(path)
    return found


def _folder(entry: ProtocolEntry) -> Path | None:
    modules = {variant.properties.__module__ for variant in entry.variants}
    if not all(name.startswith("fencepost.properties.") for name in modules):
        return None
    place = root() / "properties" / sorted(modules)[0].split(".")[2]
    return place if place.is_dir() else place.with_suffix(".py")


def _sources(place: Path) -> list[Path]:
    return list(place.rglob("*.py")) if place.is_dir() else [place]


@cache
def _named(path: Path) -> frozenset[Path]:
    names = _names(path.read_text(encoding="utf-8")) if path.suffix == ".py" else ()
    return frozenset(file for name in names for file in _files_of(name.split(".")))


def _names(text: str) -> Iterator[str]:
    for found in _NAMED.finditer(text):
        yield found[1][1:]
    for found in _FROM.finditer(text):
        yield from (f"{found[1][1:]}.{name}" for name in re.findall(r"\w+", found[2]))


def _files_of(parts: list[str]) -> Iterator[Path]:
    """Yield the file of the longest prefix of this dotted name that is a module, and the packages that contain it."""
    place = root()
    for part in parts:
        module = (place / part).with_suffix(".py")
        if module.is_file():
            yield module
        place /= part
        if not place.is_dir():
            return
        if (place / "__init__.py").is_file():
            yield place / "__init__.py"


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def releases() -> str:
    """Return the releases of Python libraries that the engines call, as far as they are installed."""
    return " ".join(f"{name} {_release(name)}" for name in RELEASES)


def _release(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
