"""Requests of `fencepost record` to a protocol's recorder, and its reports.

A protocol that has one has ``command.py`` in its folder here, with ``record(request) -> Report``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """The log directories of all nodes, or none, and the file of what clients saw, or none, but not neither; where the
    history goes; and the command's options.  ``progress`` is called with each segment that was read, and its size."""

    log_dirs: tuple[Path, ...]
    clients: Path | None
    out: Path
    block_size: int
    topics: tuple[str, ...]
    quiet_end: bool
    kafka_version: str
    progress: Callable[[Path, int], None]
    incomplete: bool = False


@dataclass(frozen=True)
class Report:
    """The report of a recording, in words and as JSON; and, where the recorder says so, which history properties can be
    decided of it and which cannot, with the reason."""

    says: str
    json: Mapping[str, Any]
    decidable: Sequence[str] | None = None
    undecidable: Mapping[str, str] = field(default_factory=dict)
    not_promised: Mapping[str, str] = field(default_factory=dict)
