"""The registry: every protocol that fencepost knows, one line each.

What a protocol brings is found by convention in its package, and imported when it is asked for:

    variants/catalogue.py    ENTRIES      its entries in the catalogue: its own, then those of its parts
    driving/agreement.py     ID_BLOCKS    how implementations of it are driven (the folder's name in capitals)
    history/events.py        ID_BLOCKS    the vocabulary of its histories
    history/properties.py    the module   what must hold of them
    history/signs.py         SIGNS        by which events a danger shows
    history/planted.py       BED          histories with planted violations, for its history properties
    offline/conforming.py    CONFORMING   how its histories are held against the model

and in a folder of the same name under `fencepost.proofs.recording`, `command.py`, which makes histories of real logs.
A protocol may lack any of them but the first, and cannot be driven, replayed or recorded then.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Generic, TypeVar

PROTOCOLS: dict[str, str] = {
    "id-blocks": "fencepost.properties.id_blocks",
    "transactions": "fencepost.properties.transactions",
    "task-counts": "fencepost.properties.task_counts",
}
"""Package by public name, in the order in which they are listed.  The first is meant where no protocol is named."""

T = TypeVar("T")


def default() -> str:
    """The protocol that is meant where none is named."""
    return next(iter(PROTOCOLS))


def folder(protocol: str) -> str:
    """The name of a protocol's folders."""
    return PROTOCOLS[protocol].rpartition(".")[2]


class Found(Mapping[str, T], Generic[T]):
    """What protocols bring in a module of their package, by protocol: those that have the module.

    ``name`` of the object in it; the folder's name in capitals where none is given.
    """

    def __init__(self, where: str, name: str | None = None) -> None:
        self.where, self.name = where, name

    def module_name(self, protocol: str) -> str:
        """Where it is.  KeyError for a protocol that does not have it."""
        if protocol not in self:
            raise KeyError(protocol)
        return f"{PROTOCOLS[protocol]}.{self.where}"

    def module(self, protocol: str) -> ModuleType:
        return import_module(self.module_name(protocol))

    def __getitem__(self, protocol: str) -> T:
        found: Any = getattr(self.module(protocol), self.name or folder(protocol).upper())
        return found  # type: ignore[no-any-return]

    def __contains__(self, protocol: object) -> bool:
        return protocol in PROTOCOLS and _there(f"{PROTOCOLS[str(protocol)]}.{self.where}")

    def __iter__(self) -> Iterator[str]:
        return (protocol for protocol in PROTOCOLS if protocol in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def _there(module: str) -> bool:
    """Is there a module of that name?  It is not imported, the packages that it is in are."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
