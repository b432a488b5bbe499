"""What verdicts on a protocol depend on, as one hash: two trees with the same hash have the same verdicts.

Counted are the text of every file that the protocol's own and the engines' name, in an import or as the place of an
implementation, from these on; data next to the properties; recordings; and the releases of what they call.  That is
more than the traced tree: words, reasons of bounds and dangers stand in verdicts too, and implementations are traced by
no one.  So a comment counts as well: what is computed again for nothing costs a minute, what is not is a wrong verdict.
"""

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
    """The folder in which the parts of the package are."""
    return Path(fencepost.properties.__file__ or "").resolve().parent.parent


def hash_of(entry: ProtocolEntry, *further: object) -> str | None:
    """Return the hash of all that verdicts on a protocol depend on, and of what is stated further, by its repr; None of
    a protocol that is not of this package, since nothing is known of what it calls."""
    folders = folders_of(entry)
    if folders is None:
        return None
    key = f"{sys.version}\0{releases()}\0{further!r}\0{hash_of_files(frozenset(folders))}"
    return hashlib.sha256(key.encode()).hexdigest()


@cache
def hash_of_files(folders: frozenset[Path]) -> str:
    """Return the hash of the text of all files that count: of a process that is judging, as they were when it first
    asked."""
    digest = hashlib.sha256()
    for path in sorted(files(folders)):
        digest.update(f"\0{path.relative_to(root())}\0{_digest(path)}".encode())
    return digest.hexdigest()


def folders_of(entry: ProtocolEntry) -> set[Path] | None:
    """Where the properties of a protocol are, of its parts, and of those in whose words its simulators write histories;
    None where one of them is not of this package."""
    named = {name for _, simulator, config in entry.verified_simulators for name in vocabularies_of(simulator, config)}
    found = {_folder(one) for one in (entry, *(protocols()[name] for name in sorted({*entry.parts, *named})))}
    return None if None in found else {folder for folder in found if folder is not None}


def files(folders: Iterable[Path]) -> set[Path]:
    """The files that count, for protocols whose properties are in these folders."""
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
    """Return where the properties of a protocol are: a folder, or a file."""
    modules = {variant.properties.__module__ for variant in entry.variants}
    if not all(name.startswith("fencepost.properties.") for name in modules):
        return None
    place = root() / "properties" / sorted(modules)[0].split(".")[2]
    return place if place.is_dir() else place.with_suffix(".py")


def _sources(place: Path) -> list[Path]:
    return list(place.rglob("*.py")) if place.is_dir() else [place]


@cache
def _named(path: Path) -> frozenset[Path]:
    """The files of the package that a file names."""
    names = _names(path.read_text(encoding="utf-8")) if path.suffix == ".py" else ()
    return frozenset(file for name in names for file in _files_of(name.split(".")))


def _names(text: str) -> Iterator[str]:
    for found in _NAMED.finditer(text):
        yield found[1][1:]
    for found in _FROM.finditer(text):
        yield from (f"{found[1][1:]}.{name}" for name in re.findall(r"\w+", found[2]))


def _files_of(parts: list[str]) -> Iterator[Path]:
    """The module of this name, or of as much of it as names one, and the packages around it."""
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
    """Make the matrix of what the engines call, as far as it is installed."""
    return " ".join(f"{name} {_release(name)}" for name in RELEASES)


def _release(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
