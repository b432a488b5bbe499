"""This module defines the requests of `fencepost record` to a protocol's recorder, and the recorder's reports.

The recorder of a protocol is ``command.py`` in its folder here, with ``record(request) -> Report``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """A `Request` has the log directories of all nodes and the file of what clients saw, at least one of the two, the
    place of the history, and the command's options. ``progress`` is called with each segment that was read, and its
    size. ``seen`` is a file of calls and answers that proxies and a connector saw, and
    ``worker_logs`` are the workers' own, of Connect."""

    log_dirs: tuple[Path, ...]
    clients: Path | None
    out: Path
    block_size: int
    topics: tuple[str, ...]
    quiet_end: bool
    kafka_version: str
    progress: Callable[[Path, int], None]
    incomplete: bool = False
    seen: Path | None = None
    worker_logs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Report:
    """A `Report` describes a recording in words and as JSON. Where the recorder knows what is decidable, the report
    also lists the history properties that can be decided, and those that cannot, with the reason."""

    says: str
    json: Mapping[str, Any]
    decidable: Sequence[str] | None = None
    undecidable: Mapping[str, str] = field(default_factory=dict)
    not_promised: Mapping[str, str] = field(default_factory=dict)
