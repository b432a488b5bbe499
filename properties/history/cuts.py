"""This module describes logs of which something is gone: what a history reveals of them, and what may be judged of the
rest.

Retention, DeleteRecords and the log cleaner remove records from the beginning of a log on. A history of such a log
reveals nothing of it below some offset, and every event from there on. The config of the manifest describes each such
log under `cuts`; the other logs are whole.

A property of such histories is unknown unless it declares, by one of `Left`, why it is true of the rest wherever it is
true of all. It then finds a violation only where the complete logs would have one, and it judges fewer events.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec


class Cut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `Cut` is one log of which something is gone. `kinds` are the events that it has. `column` and `values` identify
    it, as partition 3 or transactional ids 0 and 1; there are no values if nothing of it is observed. `below` is the
    offset below which nothing is observed. `why` is what happened to it, as a clause."""

    kinds: tuple[str, ...]
    why: str
    column: str
    values: tuple[int, ...] = ()
    below: int = 0


class Left(Enum):
    """A `Left` is why what is left of a log can be judged by itself."""

    PAIRS = (
        "it says of any two events that they agree, or of each two in their order; so it does of any two that are left"
    )
    NEIGHBOURS = "it compares an event with the one just before it, and the first one that is left is not judged"
    ONWARDS = "it compares an event that is left with what comes after it in its log, or with what no log shows"
    COVERED = "it judges only events of which the log shows that all that they need would lie in what is left"


def cuts_of(config: Mapping[str, Any]) -> tuple[Cut, ...]:
    """Return the logs that the config of a manifest declares cut. Raises `msgspec.ValidationError` for an invalid
    entry."""
    return msgspec.convert(config.get("cuts", ()), tuple[Cut, ...])
