"""The history properties of each protocol, behind one interface: what a replay needs to know of a protocol.

They are found by the registry in ``properties/<protocol>/history/properties.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.properties.history.checking import Finding
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.signs import Sign
from fencepost.properties.history.vocabulary import VOCABULARIES, Vocabulary
from fencepost.properties.registry import Found

_PROPERTIES: Found[Any] = Found("history.properties", "PROPERTIES", own="histories")
SIGNS: Found[tuple[Sign, ...]] = Found("history.signs", "SIGNS")
"""By which events one sees that a danger was there."""


@dataclass(frozen=True)
class HistoryProperties:
    """The history properties of one protocol: the module that they are in, their names, the columns they read, and how
    they are checked.

    `rules`: the rule of each property. `undecidable` says which of them some histories cannot answer, `unpromised`
    which their mode does not know, and `predicted` which their mode is known to break: each with the reason. `check`
    takes the columns of a piece, the names of properties, and the config of the histories' manifest.
    """

    module: str
    vocabulary: Vocabulary
    names: tuple[str, ...]
    rules: Mapping[str, str]
    columns: tuple[str, ...]
    undecidable: Callable[[Manifest], dict[str, str]]
    unpromised: Callable[[Manifest], dict[str, str]]
    predicted: Callable[[Manifest], dict[str, str]]
    check: Callable[[Columns, Sequence[str], Mapping[str, Any]], tuple[dict[str, Finding], dict[str, int]]]


def properties_of(protocol: str) -> HistoryProperties:
    """The history properties of `protocol`, which is one of `VOCABULARIES`."""
    module = _PROPERTIES.module(protocol)
    return HistoryProperties(
        module.__name__,
        VOCABULARIES[protocol],
        tuple(module.PROPERTIES),
        {name: told.rule for name, told in module.PROPERTIES.items()},
        module.COLUMNS,
        module.undecidable,
        module.unpromised,
        getattr(module, "predicted", _nothing),
        module.check,
    )


def _nothing(_: Manifest) -> dict[str, str]:
    """A protocol that keeps its promises in every mode."""
    return {}
