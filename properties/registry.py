"""The registry has every protocol that fencepost knows, one line each, and those of users.

The objects of a protocol are found by convention in its package, and imported on request:

    variants.py      variants/catalogue.py     ENTRIES      its entries in the catalogue, and those of its parts
    events.py        events/kinds.py           ID_BLOCKS    the vocabulary of its histories (its folder, in capitals)
    events.py        events/kinds.py           SIGNS        the events that reveal a danger
    interface.py                               SYSTEM …     what implementations offer, from which driving is derived
    scenarios.py     scenarios/agreement.py    ID_BLOCKS    how implementations are driven, where that is not derived
    scenarios.py     scenarios/known.py        KNOWN_BUGS   its known bugs as scenarios
    histories.py     histories/properties.py   HISTORY      what must hold of its events, of runs that are driven too
    histories.py     histories/properties.py   SEEDED_HISTORY  an example with seeded violations
    translator.py    translator/conforming.py  CONFORMING   how its histories are held against the model
    translator.py    translator/emitted.py     EMITTED      the rows of a history that steps of its models emit

The second column is for a file that would be too long, and so is a folder. ENTRIES may stand in claims.py. In a folder
of the same name under `fencepost.proofs.recording`, `recorder.py` makes histories of real logs. A protocol may lack any
of these but the first: some are derived then (`Found.derived`), and without the others it cannot be driven, replayed or
recorded.

A user's own protocol is a package anywhere. Its public name is the last part of the package's, with - for _. It is
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
from pathlib import Path
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
    "two-phase": "fencepost.properties.two_phase",
}
"""Each protocol's package is given by its public name, in the order in which they are listed. The first is the default
where no protocol is named."""

BUILT_IN = frozenset(PROTOCOLS)
OWN = "FENCEPOST_PROTOCOLS"
"""This environment variable has the packages of users' own protocols, separated by commas, and worker processes inherit
it."""

T = TypeVar("T")


def refused(why: str) -> Exception:
    """Return the error for a user's protocol that lacks something: what is missing, where, and what to write."""
    from fencepost.model.language.checks.errors import (
        InputError,  # this imports all of the language, which names need not wait for
    )

    return InputError(why)


def default() -> str:
    return next(iter(PROTOCOLS))


def folder(protocol: str) -> str:
    return PROTOCOLS[protocol].rpartition(".")[2]


def add(package: str) -> str:
    """Add a user's package with a protocol to the registry, here and in processes started from here, and return its
    public name. Raise `InputError` where there is no such package, or another one has that name."""
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
    """Raise `InputError` unless the package of a protocol exists and has entries for the catalogue."""
    package = PROTOCOLS[protocol]
    if not all(part.isidentifier() for part in package.split(".")) or not _there(package):
        named = f", as {OWN} says" if package in os.environ.get(OWN, "").split(",") else ""
        raise refused(f"there is no package {package}, here or installed{named}; name it as in an import statement")
    if not hasattr(imported(package), "__path__"):
        raise refused(f"{package} is a file; a protocol is a folder, with claims.py in it")
    if not any(_there(f"{package}.{module}") for module in ("claims", "variants", "variants.catalogue")):
        raise refused(f"{package} has no claims.py; write one with ENTRIES = (ProtocolEntry({protocol!r}, …),)")


class Found(Mapping[str, T], Generic[T]):
    """A `Found` maps each protocol that has it to an object in a module of its package.

    ``where`` has the modules in which the object may stand, and the first that defines it counts. ``name`` is that of
    the object, by default the folder's name in capitals. ``write`` is what a package without the object has to add, and
    where. ``derived`` computes the object of a protocol that lacks it but has another object, in one of these modules
    and of that name, by a function of the protocol.
    """

    def __init__(
        self, where: tuple[str, ...], name: str | None = None, *, write: str = "{name}",
        derived: tuple[tuple[str, ...], str, Callable[[str], T]] | None = None,
    ) -> None:  # fmt: skip
        self.where, self.name, self.write, self.derived = where, name, write, derived

    def _named(self, protocol: str) -> str:
        return self.name or folder(protocol).upper()

    def _found(self, protocol: str) -> tuple[str, bool]:
        """Return the module that has the object or from which it is derived (empty where there is none), and whether it
        is derived."""
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
        """Return the module that has the object, or from which it is derived. Raise KeyError for a protocol without
        one."""
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
        """Return what to write where a protocol does not have the object."""
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
    """Return whether a module's text defines an object of that name. The module is not imported, but the packages
    around it are."""
    if not _there(module):
        return False
    # Asked of the loader, since on a worker of a Spark cluster the package is in an archive.
    spec: Any = find_spec(module)
    if hasattr(spec.loader, "get_source"):
        text = spec.loader.get_source(module) or ""
    else:  # pytest's, of a plugin's package
        text = Path(spec.origin).read_text(encoding="utf-8")
    found = rf"^(class {name}\b|def {name}\b|{name}\b( *:.*)? *=|.*\bimport\b.*\b{name}\b|    {name},$)"
    return re.search(found, text, re.MULTILINE) is not None


def imported(module: str) -> ModuleType:
    """Return a module of a protocol. Raise `InputError` where a user's own cannot be imported."""
    with _importing(module):
        return import_module(module)


@contextmanager
def _importing(module: str) -> Iterator[None]:
    """Turn any exception of a user's module into an error with its place and text."""
    try:
        yield
    except Exception as error:
        if module.startswith("fencepost.") or isinstance(error, type(refused(""))):
            raise
        raise refused(f"{place(error) or module}: {type(error).__name__}: {error}") from error


def place(error: Exception) -> str:
    """Return the file and line of an error in a user's package, for text that is no Python or the line that was run
    last there; empty where the error was raised elsewhere."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    run = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    while run and run[-1][0].startswith("<frozen importlib"):  # for a missing module, the frame that imported it
        run.pop()
    mine = [
        f"{path}{os.sep}"
        for package in own().values()
        if package in sys.modules
        for path in sys.modules[package].__path__
    ]
    return "{}:{}".format(*run[-1]) if run and run[-1][0].startswith(tuple(mine)) else ""


def called(name: str) -> str:
    """Return a name such as ``lock/fenced`` as a command takes it, which is by its package for a user's own
    protocol."""
    protocol, slash, variant = name.partition("/")
    return own().get(protocol, protocol) + slash + variant


def own() -> dict[str, str]:
    return {name: package for name, package in PROTOCOLS.items() if name not in BUILT_IN}


def has(protocol: str, module: str) -> bool:
    """Return whether the package of a protocol has this module, without importing it."""
    return _there(f"{PROTOCOLS[protocol]}.{module}")


@cache
def _there(module: str) -> bool:
    """Return whether there is a module of that name. The module is not imported, but the packages around it are."""
    with _importing(module):
        try:
            return find_spec(module) is not None
        except ModuleNotFoundError as error:
            if f"{module}.".startswith(f"{error.name}."):
                return False
            raise


def _known() -> Iterator[str]:
    yield from (point.value for point in entry_points(group="fencepost.protocols"))
    yield from filter(None, (package.strip() for package in os.environ.get(OWN, "").split(",")))


for _package in _known():
    PROTOCOLS.setdefault(_package.rpartition(".")[2].replace("_", "-"), _package)
