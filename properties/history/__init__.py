"""Histories: what happened in one run of a protocol, simulated or recorded, one row per event.

`SCHEMA` and `KINDS` are the words of producer id blocks; `VOCABULARIES` holds those of every protocol.
`write_histories` makes a directory of them, `HistoryDirectory` reads one back or refuses it in one line.
"""

from fencepost.properties.history.manifest import HistoryFile, Manifest
from fencepost.properties.history.protocols import VOCABULARIES
from fencepost.properties.history.reader import HistoryDirectory, Piece, read_piece
from fencepost.properties.history.vocabulary import ABSENT, HistoryError, Vocabulary
from fencepost.properties.history.writer import HistoryWriter, write_histories
from fencepost.properties.id_blocks.history.events import ID_BLOCKS, Kind
from fencepost.properties.transactions.history.events import TRANSACTIONS

SCHEMA = ID_BLOCKS.schema
KINDS = ID_BLOCKS.codes

__all__ = [
    "ABSENT",
    "ID_BLOCKS",
    "KINDS",
    "SCHEMA",
    "TRANSACTIONS",
    "VOCABULARIES",
    "HistoryDirectory",
    "HistoryError",
    "HistoryFile",
    "HistoryWriter",
    "Kind",
    "Manifest",
    "Piece",
    "Vocabulary",
    "read_piece",
    "write_histories",
]
