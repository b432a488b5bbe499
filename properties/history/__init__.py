"""A history is what happened in one run of a protocol, simulated or recorded, one row per event.

`VOCABULARIES` has the kinds of events and the columns of every protocol that has histories. `write_histories` makes a
directory of them, `HistoryDirectory` reads one back or refuses it in one line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fencepost.properties.history.vocabulary import ABSENT, VOCABULARIES, HistoryError, Vocabulary

if TYPE_CHECKING:
    from fencepost.properties.history.manifest import HistoryFile, Manifest
    from fencepost.properties.history.reader import HistoryDirectory, Piece, read_piece
    from fencepost.properties.history.writer import HistoryWriter, write_histories

__all__ = [
    "ABSENT",
    "VOCABULARIES",
    "HistoryDirectory",
    "HistoryError",
    "HistoryFile",
    "HistoryWriter",
    "Manifest",
    "Piece",
    "Vocabulary",
    "read_piece",
    "write_histories",
]

_FILES = {
    "manifest": ("HistoryFile", "Manifest"),
    "reader": ("HistoryDirectory", "Piece", "read_piece"),
    "writer": ("HistoryWriter", "write_histories"),
}


def __getattr__(name: str) -> Any:
    """Import what reads and writes files when it is first used. A program that drives systems needs the vocabulary
    alone, and Arrow takes longer to import than a small system to be judged."""
    for module, names in _FILES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
