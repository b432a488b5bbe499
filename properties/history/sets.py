"""This module has histories of one system in several vocabularies: a directory with one directory of histories for
each.

    DIR/manifest.json                 the set: which datasets there are, of which run
    DIR/PROTOCOL/manifest.json …      a directory of histories as any other, of the protocol that was simulated
    DIR/ANOTHER/manifest.json …       the same runs, in the vocabulary of another

A dataset can be read, moved and judged by itself. History 7 of each is the same run, reported by what each protocol
observes of it: steps are counted in each by itself, `time_us` is one clock. A run need not have an event of every
protocol, so that a dataset may lack some histories; only the one of the protocol that was simulated has them all.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from fencepost.properties.history.location import Location
from fencepost.properties.history.manifest import MANIFEST, HistoryFile, Manifest, decoded, described
from fencepost.properties.history.vocabulary import SCHEMA_VERSION, HistoryError

DATASETS = "datasets"
"""`DATASETS` is the entry that manifests of sets have, and other manifests do not."""


class HistorySet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `HistorySet` is the manifest of a set. `protocol` is the one that was simulated, `datasets` are what each
    dataset must add up to, under the name of its directory, which is that of its protocol. `faults` counts what was
    injected, by name, `histories` the runs."""

    protocol: str
    datasets: tuple[HistoryFile, ...]
    histories: int
    variant: str = ""
    seed: int | None = None
    config: Mapping[str, Any] = {}
    faults: Mapping[str, int] = {}
    notes: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def rows(self) -> int:
        return sum(dataset.rows for dataset in self.datasets)

    def write(self, directory: Location) -> None:
        """Put the manifest in place; until then the directory is no set."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=1).decode()
        directory.replace_text(MANIFEST, f"{text}\n")

    @classmethod
    def read(cls, directory: Location) -> "HistorySet | None":
        """Return the set in `directory`; None if it has none, but perhaps histories in one vocabulary. Raises
        `HistoryError` if the set contradicts itself, or differs from its datasets."""
        where = directory / MANIFEST
        if directory.refusal(MANIFEST):
            return None
        try:
            document = decoded(directory.read_text(MANIFEST) or "{}")
        except (ValueError, RecursionError):  # it is no manifest at all, which is reported where it is read as one
            return None
        if DATASETS not in document:
            return None
        try:
            found = msgspec.convert(document, cls)
        except ValueError as error:
            raise HistoryError(f"{where}: not a manifest of a set of histories: {error}") from None
        for contradiction in found._contradictions(directory):
            raise HistoryError(f"{where}: {contradiction}")
        return found

    def _contradictions(self, directory: Location) -> Iterator[str]:
        if self.schema_version != SCHEMA_VERSION:
            yield f"schema version {self.schema_version} is unknown; this fencepost reads version {SCHEMA_VERSION}"
        names = [dataset.name for dataset in self.datasets]
        if self.protocol not in names:
            yield f"there is no dataset of {self.protocol}, which was simulated; there are {', '.join(names) or 'none'}"
        for dataset in self.datasets:
            if dataset.name in ("", ".", "..") or "/" in dataset.name or "\0" in dataset.name:
                yield f"{dataset.name!r} is no name of a directory within the directory, which alone is read"
            if names.count(dataset.name) > 1:
                yield f"{dataset.name} is listed twice"
            if why := directory.folder_refusal(dataset.name):
                yield f"{dataset.name}: {why}"
            manifest = Manifest.read(directory.within(dataset.name))
            if manifest.protocol != dataset.name:
                yield f"{dataset.name} holds histories of {manifest.protocol}"
            if _sums(manifest.totals) != _sums(dataset):
                yield f"{dataset.name} holds {described(manifest.totals)}, the set says {described(dataset)}"
            if manifest.seed != self.seed:
                yield f"{dataset.name} was made with seed {manifest.seed}, the set with {self.seed}: of another run"
            complete = dataset.histories == self.histories
            if dataset.histories > self.histories or (dataset.name == self.protocol and not complete):
                yield f"{dataset.name} has {dataset.histories} histories, the set {self.histories}"


def datasets_in(directory: Location) -> dict[str, Location]:
    """Return the datasets of a set by protocol; nothing where a directory is no set. Raises `HistoryError`."""
    found = HistorySet.read(directory)
    return {} if found is None else {each.name: directory.within(each.name) for each in found.datasets}


def _sums(entry: HistoryFile) -> tuple[int, int, int]:
    return entry.rows, entry.histories, entry.row_groups
