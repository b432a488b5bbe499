"""This module defines what a protocol provides so that `proofs/traces` can compare its histories with its model.

A history is laid out as lanes: each lane is the events of one instance of the model (for id blocks the whole history is
one lane, for transactions there is one for each transactional id), with the columns that the observations read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from fencepost.model.language.observations import Observation
from fencepost.properties.conformance_spec import Followed
from fencepost.properties.history import Manifest, Vocabulary
from fencepost.properties.registry import Found

STRANGE = -1  # a kind that the protocol does not have

Settings = tuple[tuple[str, int], ...]
"""`Settings` are the parts of a run's config that the layout needs, by name."""


@dataclass(frozen=True)
class Laid:
    """A `Laid` has the events of many lanes, sorted by (lane, step).

    ``rows`` has each event's row in the piece, ``lane`` its lane (0, 1, …), and ``kind`` its code, or STRANGE.
    ``values`` has the columns of the observations, -1 where a parameter of a sort names none; members of sorts are
    numbered from 0. ``sizes`` gives the number of members by the name of the bound, and ``constants`` are those of the
    model. ``text`` returns in words what the numbers in a lane stand for, where they are not those of the history.
    """

    rows: np.ndarray
    lane: np.ndarray
    kind: np.ndarray
    values: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    constants: Mapping[str, int]
    text: Callable[[int], str] = lambda lane: ""


@dataclass(frozen=True)
class LaidOut:
    """A `LaidOut` is a piece that is laid out. ``undecided`` gives, by a history's number, the reason why it is not
    compared with the model to its end."""

    parts: tuple[Laid, ...]
    undecided: Mapping[int, str]


@dataclass(frozen=True)
class Excuse:
    """An `Excuse` is a step of a model that allows a history property to be broken. ``rule`` is the one that the
    variant lacks or reads differently, ``action`` the step, and ``says`` what was observed."""

    rule: str
    action: str
    says: str

    def __str__(self) -> str:
        return f"{self.rule} {self.action}: {self.says}"


class Excusing(Protocol):
    """An `Excusing` finds the steps of the model that excuse violations in some histories that it follows."""

    def excuse(self, name: str, at: int, other: int) -> Excuse | None:
        """Return the step that excuses the violation of this property in row `at`, which row `other` explains (-1:
        none)."""


@dataclass(frozen=True)
class Recorded:
    """A `Recorded` is a row of a recording. ``row`` is that of the piece, and ``columns`` has those of the observations
    and what the interpreter needs. ``hidden`` means that it is no row but stands for what happened unobserved before
    that row. ``after`` gives the numbers of rows of other sources that it comes after, by their names."""

    row: int
    kind: str
    columns: Mapping[str, Any]
    hidden: bool = False
    after: tuple[tuple[str, int], ...] = ()

    def waiting(self, source: str, rows: int) -> "Recorded":
        """Return the same row, which comes after this number of rows of that source as well."""
        return replace(self, after=(*self.after, (source, rows)))


@dataclass(frozen=True)
class Source:
    """A `Source` has rows whose order is known: those of a log, or of clients that were observed together."""

    name: str
    rows: tuple[Recorded, ...]


@dataclass(frozen=True)
class Sources:
    """A `Sources` has what was recorded of one instance of the model, where the order of rows between sources is not
    known. ``followed`` is the model; a row has a column ``unlikely`` where a choice of its interpreter is to be tried
    last. ``text`` names what the model's numbers stand for."""

    followed: Followed
    sources: tuple[Source, ...]
    text: str


@dataclass(frozen=True)
class Recording:
    """A `Recording` defines how recordings are followed. ``followable`` returns the variant of a manifest, and raises
    `HistoryError` if there is none. ``sources`` returns, from all columns of one history, the variant and the config,
    the sources that are followed one by one."""

    followable: Callable[[Manifest], str]
    sources: Callable[[Mapping[str, np.ndarray], str, Mapping[str, Any]], Iterable[Sources]]


LayOut = Callable[[Mapping[str, np.ndarray], str, Settings], LaidOut]


@dataclass(frozen=True)
class Conforming:
    """A `Conforming` is the mapping of one protocol's histories to its models; ``models`` and ``observations`` are by
    variant, and ``columns`` has the type of each column that these read.

    ``variant_of`` takes the manifest of a directory, and ``settings_of`` a variant and a config. Both raise
    `HistoryError` with the reason if these histories cannot be compared with a model. ``lay_out`` takes all columns of
    a piece, the variant, and the settings. ``between`` has the codes, none of the vocabulary's, of rows that it lays
    out between the events. ``follow`` returns the model with which a history is followed where columns are chosen and
    so cannot be laid out, with the set of states in which the model may be (`proofs/traces/interpreted.py`).
    ``recording`` describes recordings of real systems, which hide steps and the order between nodes
    (`proofs/traces/interleavings.py`).
    """

    vocabulary: Vocabulary
    models: Mapping[str, type]
    columns: Mapping[str, Any]
    observations: Mapping[str, tuple[Observation, ...]]
    variant_of: Callable[[Manifest], str]
    settings_of: Callable[[str, Mapping[str, Any]], Settings]
    lay_out: LayOut
    between: Mapping[str, int] = field(default_factory=dict)
    follow: Callable[[str, Settings], Followed] | None = None
    excusing: Callable[[Mapping[str, np.ndarray], str, Mapping[str, Any]], Excusing] | None = None
    recording: Recording | None = None


def _derived(protocol: str) -> Conforming:
    from fencepost.properties.event_mapping import mapping_of  # which makes objects of this module

    mapping = mapping_of(protocol)
    assert mapping is not None, "it is derived from one"
    return mapping.conforming


MAPPED_IN = ("translator.conforming", "translator", "events")
"""A protocol may have an `EventMapping` in these modules, from which its `Conforming` is derived."""
CONFORMING: Found[Conforming] = Found(
    ("translator.conforming", "translator"),
    "CONFORMING",
    write="MAPPING = EventMapping(…) in events.py",
    derived=(MAPPED_IN, "MAPPING", _derived),
)
"""Histories of these protocols can be compared with a model; importing one traces its models."""
