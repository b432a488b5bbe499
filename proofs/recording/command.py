"""This module defines what `fencepost record` needs of a protocol's recorder, and the recording that it makes.

The recorder of a protocol is ``recorder.py`` in its folder here, with ``RECORDER``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.properties.history import Manifest, write_histories
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.nearest import in_words, quantity

OPTIONS = MappingProxyType({
    "log_dirs": "LOG_DIR", "clients": "--clients FILE", "seen": "--seen FILE", "worker_logs": "--worker-logs",
    "topics": "--topic",
})  # fmt: skip
NO_USE = MappingProxyType(dict.fromkeys(OPTIONS, "no recording of this protocol uses it"))


@dataclass(frozen=True)
class Recorded:
    """A `Recorded` has the counts of a recording, by kind of event, and what can be decided from it.

    `nodes` are those whose logs were read, and `notes` the oddities of the input that were tolerated, one line each.
    """

    manifest: Manifest
    counts: dict[str, int]
    notes: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    bytes_read: int = 0

    @classmethod
    def write(
        cls,
        out: Path,
        columns: Mapping[str, np.ndarray],
        vocabulary: Vocabulary,
        *,
        about: str,
        notes: Sequence[str] = (),
        described: Mapping[str, Any],
        **further: Any,
    ) -> Self:
        """Write a directory with a single history. `about` and the notes go into its manifest, as does what is
        `described`; `further` are fields of this class. Raise `HistoryError` if histories are there already."""
        text = " ".join([about, *(note + "." for note in notes)])
        manifest = write_histories(out, [columns], vocabulary, source="recorded", notes=text, **described)
        kinds = np.bincount(columns["kind"], minlength=max(vocabulary.kinds) + 1)
        counts = {kind.name: int(kinds[kind]) for kind in vocabulary.kinds if kinds[kind]}
        return cls(manifest, counts, tuple(notes), **further)

    @property
    def undecidable(self) -> dict[str, str]:
        """Return the properties that the recording cannot answer although they are promised, each with the reason."""
        return properties_of(self.manifest.protocol).undecidable(self.manifest)

    @property
    def not_promised(self) -> dict[str, str]:
        return properties_of(self.manifest.protocol).unpromised(self.manifest)

    @property
    def decidable(self) -> list[str]:
        without = self.undecidable | self.not_promised
        return [name for name in properties_of(self.manifest.protocol).names if name not in without]

    @property
    def report(self) -> dict[str, Any]:
        """Return the recording as JSON has it."""
        names = ("decidable", "undecidable", "not_promised", "notes")
        return {"events": self.counts, **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        lines = [", ".join(f"{count:,} {in_words(name)}" for name, count in self.counts.items()) or "no events"]
        if self.nodes:
            nodes = ", ".join(map(str, self.nodes))
            events = quantity(sum(self.counts.values()), "event")
            lines[:0] = [f"{events} of {quantity(self.bytes_read, 'byte')} of nodes {nodes}"]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True)
class Recorder:
    """A `Recorder` makes the history of one protocol by a function, whose parameters are named as the command's options
    are. `needs` has what each option is needed for, and `excludes` why an option is none of this protocol's."""

    record: Callable[..., Recorded]
    needs: Mapping[str, str] = field(default_factory=dict)
    excludes: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, options: Mapping[str, Any]) -> Recorded:
        """Record. Raise `InputError` for an option that is missing, or that the function does not have."""
        taken = inspect.signature(self.record).parameters
        for name, option in OPTIONS.items():
            if options[name] and name not in taken:
                raise InputError(f"{option}: {(NO_USE | self.excludes)[name]}; leave the option out")
            if name in self.needs and not options[name]:
                raise InputError(f"{option} is needed: {self.needs[name]}")
        return self.record(**{name: value for name, value in options.items() if name in taken})
