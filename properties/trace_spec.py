"""What a protocol brings to have its histories held against its model: `proofs/traces` does the rest.

A history is laid out as lanes: each is the events of one instance of the model (for id blocks the whole history is one
lane, for transactions there is one for each transactional id), with the columns that the observations read.
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
"""What of a run's config the layout needs, by name."""


@dataclass(frozen=True)
class Laid:
    """The events of many lanes, sorted by (lane, step).

    ``rows``: each event's row in the piece; ``lane``: 0, 1, … of each; ``kind``: its code, or STRANGE.  ``values``: the
    columns of the observations, -1 where a parameter of a sort names none; members of sorts are numbered from 0.
    ``sizes``: how many of everything there are, by the name of the bound; ``constants``: of the model.  ``text``: what
    the numbers in a lane stand for, in words, where they are not those of the history.
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
    """A piece, laid out.  ``undecided``: why a history is not held against the model to its end, by its number."""

    parts: tuple[Laid, ...]
    undecided: Mapping[int, str]


@dataclass(frozen=True)
class Excuse:
    """A step of a model that lets a property of histories be broken.  ``rule``: what the variant lacks, or says
    otherwise; ``action``: the step; ``says``: what was seen."""

    rule: str
    action: str
    says: str

    def __str__(self) -> str:
        return f"{self.rule} {self.action}: {self.says}"


class Excusing(Protocol):
    """What steps of the model excuse in some histories that it follows."""

    def excuse(self, name: str, at: int, other: int) -> Excuse | None:
        """The step that excuses the violation of this property in row `at`, which row `other` explains (-1: none)."""


@dataclass(frozen=True)
class Recorded:
    """A row of a recording.  ``row``: of the piece; ``columns``: those of the observations, and what the interpreter
    needs; ``hidden``: it is none, but stands for what happened unseen before that row.  ``after``: it comes after so
    many rows of other sources, by their names."""

    row: int
    kind: str
    columns: Mapping[str, Any]
    hidden: bool = False
    after: tuple[tuple[str, int], ...] = ()

    def waiting(self, source: str, rows: int) -> "Recorded":
        """The same, after so many rows of that source as well."""
        return replace(self, after=(*self.after, (source, rows)))


@dataclass(frozen=True)
class Source:
    """Rows of which the order is known: a log, or clients that were watched together."""

    name: str
    rows: tuple[Recorded, ...]


@dataclass(frozen=True)
class Sources:
    """What was recorded of one instance of the model: between sources the order of rows is not known.  ``followed``:
    the model; a row has a column ``unlikely`` where a choice of its interpreter is to be tried last.  ``text``: what
    the model's numbers stand for."""

    followed: Followed
    sources: tuple[Source, ...]
    text: str


@dataclass(frozen=True)
class Recording:
    """How recordings are followed.  ``followable``: the variant of a manifest; raises `HistoryError`.  ``sources``: all
    columns of one history, the variant, and the config, to what is followed, one by one."""

    followable: Callable[[Manifest], str]
    sources: Callable[[Mapping[str, np.ndarray], str, Mapping[str, Any]], Iterable[Sources]]


LayOut = Callable[[Mapping[str, np.ndarray], str, Settings], LaidOut]


@dataclass(frozen=True)
class Conforming:
    """One protocol.  ``models`` and ``observations`` are by variant; ``columns``: the type of each column that these
    read.

    ``variant_of`` the manifest of a directory, and ``settings_of`` a variant and a config, raise `HistoryError`: why
    these histories cannot be held against a model.  ``lay_out`` takes all columns of a piece, the variant, and the
    settings.  ``between``: codes, none of the vocabulary's, of what it lays out between the events.  ``follow``: where
    columns are a matter of choice, and so cannot be laid out: how a history is followed instead, with the set of states
    in which the model may be (`proofs/traces/interpreted.py`).  ``recording``: how recordings of real systems are,
    which hide steps and the order between nodes (`proofs/traces/interleavings.py`).
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
"""Where a protocol may have a `EventMapping`, from which all of it is derived."""
CONFORMING: Found[Conforming] = Found(
    ("translator.conforming", "translator"),
    "CONFORMING",
    write="MAPPING = EventMapping(…) in events.py",
    derived=(MAPPED_IN, "MAPPING", _derived),
)
"""By protocol: those whose histories can be held against a model.  Importing one traces its models."""
