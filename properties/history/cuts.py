"""Logs of which something is gone: what a history reveals of them, and what may be judged of the rest.

Retention, DeleteRecords and the log cleaner take records from the beginning of a log on. A history of such a log
reveals nothing of it below some offset, and every event from there on. The config of the manifest says so, under
`cuts`, for each log; the other logs are whole.

A property of such histories is unknown unless it says, by one of `Left`, why it is true of the rest wherever it is true
of all: it then finds a violation only where all of the logs would show one, and it judges fewer events.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec


class Cut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One log of which something is gone.

    `kinds`: the events that it holds. `column` and `values`: by what they are known, as partition 3 or transactional
    ids 0 and 1; no values if nothing of it is observed. `below`: the offset below which nothing is observed. `why`:
    what happened to it, as a clause.
    """

    kinds: tuple[str, ...]
    why: str
    column: str
    values: tuple[int, ...] = ()
    below: int = 0


class Left(Enum):
    """Why what is left of a log can be judged by itself."""

    PAIRS = (
        "it says of any two events that they agree, or of each two in their order; so it does of any two that are left"
    )
    NEIGHBOURS = "it compares an event with the one just before it, and the first one that is left is not judged"
    ONWARDS = "it compares an event that is left with what comes after it in its log, or with what no log shows"
    COVERED = "it judges only events of which the log shows that all that they need would lie in what is left"


def cuts_of(config: Mapping[str, Any]) -> tuple[Cut, ...]:
    """The logs that the config of a manifest says are cut. Raises `msgspec.ValidationError` for what is none."""
    return msgspec.convert(config.get("cuts", ()), tuple[Cut, ...])
