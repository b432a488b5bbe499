"""The registry: every protocol that fencepost knows, one line each, and those of one's own.

What a protocol brings is found by convention in its package, and imported when it is asked for:

    variants.py      variants/catalogue.py     ENTRIES      its entries in the catalogue, and those of its parts
    events.py        events/kinds.py           ID_BLOCKS    the vocabulary of its histories (its folder, in capitals)
    events.py        events/kinds.py           SIGNS        by which events a danger shows
    interface.py                               SYSTEM …     what implementations offer, from which driving is derived
    scenarios.py     scenarios/agreement.py    ID_BLOCKS    how implementations are driven, where that is not derived
    scenarios.py     scenarios/known.py        KNOWN_BUGS   its known bugs as scenarios
    histories.py     histories/properties.py   HISTORY      what must hold of its events, of runs that are driven too
    histories.py     histories/properties.py   BED          histories with seeded violations, for its properties
    translator.py    translator/conforming.py  CONFORMING   how its histories are held against the model
    translator.py    translator/emitted.py     EMITTED      which rows of a history the steps of its models show

The second column is for a file that would be too long, and so is a folder.  ENTRIES may stand in claims.py.  In a
folder of the same name under `fencepost.proofs.recording`, `command.py` makes histories of real logs.  A protocol may
lack any of these but the first: part of it is derived then (`Found.derived`), and for the rest it cannot be driven,
replayed or recorded.

A protocol of one's own is a package anywhere.  Its public name is the last part of the package's, with - for _.  It is
known where it was installed with an entry point (``[project.entry-points."fencepost.protocols"]`` of its
pyproject.toml), where `OWN` names it, or once `add` was called, as the command line does with a name that has a point.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from traceback import walk_tb
from types import ModuleType
from typing import Any, Generic, TypeVar

PROTOCOLS: dict[str, str] = {
    "id-blocks": "fencepost.properties.id_blocks",
    "transactions": "fencepost.properties.transactions",
    "task-counts": "fencepost.properties.task_counts",
    "group-fencing": "fencepost.properties.group_fencing",
    "source-commits": "fencepost.properties.source_commits",
    "source-offsets": "fencepost.properties.source_offsets",
    "end-to-end": "fencepost.properties.end_to_end",
}
"""Package by public name, in the order in which they are listed.  The first is meant where no protocol is named."""

OWN = "FENCEPOST_PROTOCOLS"
"""The environment variable with packages of protocols of one's own, separated by commas.  Processes that do a part of
the work inherit it."""

T = TypeVar("T")


def refused(why: str) -> Exception:
    """The error for a protocol of one's own that lacks something: what, where, and what to write."""
    from fencepost.model.language.checks.errors import (
        InputError,  # with all of the language, which names need not wait for
    )

    return InputError(why)


def default() -> str:
    """The protocol that is meant where none is named."""
    return next(iter(PROTOCOLS))


def folder(protocol: str) -> str:
    """The name of a protocol's folders."""
    return PROTOCOLS[protocol].rpartition(".")[2]


def add(package: str) -> str:
    """Take a package with a protocol of one's own into the registry, here and in processes begun from here; its public
    name.  Raises `InputError` where there is no such package, or another one has that name."""
    name = package.rpartition(".")[2].replace("_", "-")
    if PROTOCOLS.get(name, package) != package:
        raise refused(f"{package} and {PROTOCOLS[name]} are both {name}; give the folder another name")
    if name not in PROTOCOLS:
        PROTOCOLS[name] = package
        try:
            require(name)
        except Exception:
            del PROTOCOLS[name]
            raise
        os.environ[OWN] = ",".join(filter(None, (os.environ.get(OWN, ""), package)))
    return name


def require(protocol: str) -> None:
    """Raises `InputError` if the package of a protocol is not there, or has no entries for the catalogue."""
    package = PROTOCOLS[protocol]
    if not all(part.isidentifier() for part in package.split(".")) or not _there(package):
        named = f", as {OWN} says" if package in os.environ.get(OWN, "").split(",") else ""
        raise refused(f"there is no package {package}, here or installed{named}; name it as in an import statement")
    if not hasattr(imported(package), "__path__"):
        raise refused(f"{package} is a file; a protocol is a folder, with claims.py in it")
    if not any(_there(f"{package}.{module}") for module in ("claims", "variants", "variants.catalogue")):
        raise refused(f"{package} has no claims.py; write one with ENTRIES = (ProtocolEntry({protocol!r}, …),)")


class Found(Mapping[str, T], Generic[T]):
    """What protocols bring in a module of their package, by protocol: those that have it.

    ``where``: modules in which it may stand; in the first that defines it it is found.  ``name`` of the object; the
    folder's name in capitals where none is given.  ``write``: what a package lacks that does not have it, and where.
    ``derived``: of a protocol without it that has another object, in one of these modules and of that name, by a
    function of the protocol.
    """

    def __init__(
        self, where: tuple[str, ...], name: str | None = None, *, write: str = "{name}",
        derived: tuple[tuple[str, ...], str, Callable[[str], T]] | None = None,
    ) -> None:  # fmt: skip
        self.where, self.name, self.write, self.derived = where, name, write, derived

    def _named(self, protocol: str) -> str:
        return self.name or folder(protocol).upper()

    def _found(self, protocol: str) -> tuple[str, bool]:
        """The module that has it, or from which it is derived, and whether it is derived; empty where there is none."""
        if protocol in PROTOCOLS:
            package = PROTOCOLS[protocol]
            for each in self.where:
                if _defines(f"{package}.{each}", self._named(protocol)):
                    return f"{package}.{each}", False
            for each in self.derived[0] if self.derived else ():
                if self.derived and _defines(f"{package}.{each}", self.derived[1]):
                    return f"{package}.{each}", True
        return "", False

    def module_name(self, protocol: str) -> str:
        """Where it is, or what it is derived from.  KeyError for a protocol that does not have it."""
        module, _ = self._found(protocol)
        if not module:
            raise KeyError(protocol)
        return module

    def module(self, protocol: str) -> ModuleType:
        return imported(self.module_name(protocol))

    def __getitem__(self, protocol: str) -> T:
        if self.derived is not None and self._found(protocol)[1]:
            return self.derived[2](protocol)
        found: Any = getattr(self.module(protocol), self._named(protocol))
        return found  # type: ignore[no-any-return]

    def lacking(self, protocol: str) -> str:
        """What to write where a protocol does not have it."""
        writing = self.write.format(name=self._named(protocol), protocol=protocol)
        return f"{PROTOCOLS[protocol]} lacks a part; write {writing}"

    def __contains__(self, protocol: object) -> bool:
        return bool(self._found(str(protocol))[0])

    def __iter__(self) -> Iterator[str]:
        return (protocol for protocol in PROTOCOLS if protocol in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _defines(module: str, name: str) -> bool:
    """Does a module have an object of that name, as its text says?  It is not imported, the packages that it is in
    are."""
    if not _there(module):
        return False
    # Asked of the loader, since on a worker of a Spark cluster the package is in an archive.
    text = find_spec(module).loader.get_source(module) or ""  # type: ignore[union-attr]
    found = rf"^(class {name}\b|def {name}\b|{name}\b( *:.*)? *=|.*\bimport\b.*\b{name}\b|    {name},$)"
    return re.search(found, text, re.MULTILINE) is not None


def imported(module: str) -> ModuleType:
    """A module of a protocol.  Raises `InputError` where one of one's own cannot be imported."""
    with _importing(module):
        return import_module(module)


@contextmanager
def _importing(module: str) -> Iterator[None]:
    """Whatever a user's module raises is a mistake in it: where, and what."""
    try:
        yield
    except Exception as error:
        if module.startswith("fencepost.") or isinstance(error, type(refused(""))):
            raise
        raise refused(f"{place(error) or module}: {type(error).__name__}: {error}") from error


def place(error: Exception) -> str:
    """File and line in a package of one's own: of text that is no Python, or what was run last there; empty where the
    error was raised elsewhere."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    run = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    while run and run[-1][0].startswith("<frozen importlib"):  # a module that is not there: who asked for it
        run.pop()
    mine = [
        f"{path}{os.sep}"
        for package in own().values()
        if package in sys.modules
        for path in sys.modules[package].__path__
    ]
    return "{}:{}".format(*run[-1]) if run and run[-1][0].startswith(tuple(mine)) else ""


def own() -> dict[str, str]:
    """The protocols that are of a user's own, with their packages."""
    return {name: package for name, package in PROTOCOLS.items() if not package.startswith("fencepost.")}


def has(protocol: str, module: str) -> bool:
    """Does the package of a protocol have this module, which is not imported?"""
    return _there(f"{PROTOCOLS[protocol]}.{module}")


@cache
def _there(module: str) -> bool:
    """Is there a module of that name?  It is not imported, the packages that it is in are."""
    with _importing(module):
        try:
            return find_spec(module) is not None
        except ModuleNotFoundError as error:
            if f"{module}.".startswith(f"{error.name}."):
                return False
            raise


def _known() -> Iterator[str]:
    """Packages of one's own that are installed, or named by the environment."""
    yield from (point.value for point in entry_points(group="fencepost.protocols"))
    yield from filter(None, (package.strip() for package in os.environ.get(OWN, "").split(",")))


for _package in _known():
    PROTOCOLS.setdefault(_package.rpartition(".")[2].replace("_", "-"), _package)
