"""Histories: what happened in one run of a protocol, simulated or recorded, one row per event.

`VOCABULARIES` holds the kinds of events and the columns of every protocol that has histories.
`write_histories` makes a directory of them, `HistoryDirectory` reads one back or refuses it in one line.
"""

from fencepost.properties.history.manifest import HistoryFile, Manifest
from fencepost.properties.history.reader import HistoryDirectory, Piece, read_piece
from fencepost.properties.history.vocabulary import ABSENT, VOCABULARIES, HistoryError, Vocabulary
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
