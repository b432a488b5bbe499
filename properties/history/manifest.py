"""This module reads and writes manifest.json: what a directory of histories has, what made it and how, and what it can
be compared with.

A reader trusts only what the manifest lists. Attempts next to it are leftovers of retried or killed work, and a
directory without one is unfinished: the manifest is written last, by one atomic rename.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from fencepost.properties.history.cuts import cuts_of
from fencepost.properties.history.location import Location
from fencepost.properties.history.vocabulary import SCHEMA_VERSION, HistoryError

MANIFEST = "manifest.json"
NUMBERS = ("max_id", "max_epoch")
"""`NUMBERS` lists entries of the config on which the judgement of a history depends."""
ATTEMPT = ".attempt-"
"""`ATTEMPT` is part of the name of a file that a worker is writing; the file gets its final name once it counts."""


class HistoryFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `HistoryFile` is one Parquet file: its name within the directory, and what it must contain to be whole."""

    name: str
    rows: int
    histories: int
    row_groups: int


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `Manifest` is the contents of a directory of histories.

    `observable` names the event kinds of which *every* occurrence is recorded; a property that needs another kind is
    unknown on these histories, never satisfied. `ordered` is whether steps are the real order across nodes: a recording
    merged from several clocks has only each node's own order. `faults` counts what was injected, by name. `cut` has the
    histories too large for one row group, by number, each with the number of row groups that it is in; these have
    nothing else. A history counts in the file in which it begins. Histories of a `model` are its runs: `broken` is in
    how many of them each of its promises broke.
    """

    protocol: str
    observable: tuple[str, ...]
    files: tuple[HistoryFile, ...]
    source: Literal["simulated", "recorded", "model"] = "simulated"
    ordered: bool = True
    variant: str = ""
    seed: int | None = None
    config: Mapping[str, Any] = {}
    faults: Mapping[str, int] = {}
    broken: Mapping[str, int] = {}
    notes: str = ""
    schema_version: int = SCHEMA_VERSION
    cut: Mapping[int, int] = {}

    @property
    def totals(self) -> HistoryFile:
        return total("totals", self.files)

    def write(self, directory: Location) -> None:
        """Put the manifest in place; until then the directory does not count as histories."""
        contents = {**msgspec.structs.asdict(self), "totals": self.totals}
        if not self.cut:
            del contents["cut"]
        directory.replace_text(MANIFEST, msgspec.json.format(msgspec.json.encode(contents), indent=1).decode() + "\n")

    @classmethod
    def read(cls, directory: Location) -> "Manifest":
        """Return the manifest of `directory`. Raises `HistoryError` if it is missing, unreadable or
        contradicts itself."""
        where = directory / MANIFEST
        if why := directory.refusal(MANIFEST):
            raise HistoryError(f"{where}: {why}")
        try:
            text = directory.read_text(MANIFEST)
            if text is None:
                raise HistoryError(f"{where}: not found; a directory of histories needs one (unfinished?)")
            document = decoded(text)
            if isinstance(datasets := document.get("datasets"), list):
                there = ", ".join(map(_name, datasets))
                raise HistoryError(f"{where}: these are histories in several vocabularies; name one of {there} in it")
            version = document["schema_version"]
            if version == SCHEMA_VERSION:
                totals = msgspec.convert(document.pop("totals"), HistoryFile)
                manifest = msgspec.convert(document, cls, str_keys=True)
        except HistoryError:
            raise
        except KeyError as missing:
            raise HistoryError(f"{where}: not a manifest of histories: it has no {missing}") from None
        except RecursionError:
            raise HistoryError(f"{where}: not a manifest of histories: it is nested too deeply") from None
        except ValueError as error:
            raise HistoryError(f"{where}: not a manifest of histories: {error}") from None
        if version != SCHEMA_VERSION:
            raise HistoryError(
                f"{where}: schema version {version!r} is unknown; this fencepost reads version {SCHEMA_VERSION}"
            )
        if manifest.totals != totals:
            raise HistoryError(f"{where}: files add up to {described(manifest.totals)}, totals say {described(totals)}")
        for contradiction in manifest._contradictions():
            raise HistoryError(f"{where}: {contradiction}")
        return manifest

    def require_whole(self) -> None:
        """Raise `HistoryError` where something of a log is gone, because a run is followed from its beginning on."""
        if gone := [cut.why for cut in cuts_of(self.config)]:
            raise HistoryError(f"a run is followed from its beginning on, but {'; '.join(gone)}")

    def _contradictions(self) -> Iterator[str]:
        names = [file.name for file in self.files]
        for file in self.files:
            if file.name in ("", ".", "..") or "/" in file.name or "\0" in file.name:
                yield f"{file.name!r} is no name of a file within the directory, which alone is read"
            if names.count(file.name) > 1:
                yield f"{file.name} is listed twice"
            if min(file.rows, file.histories, file.row_groups) < 0:
                yield f"{file.name} cannot have {described(file)}: no count is negative"
            if file.rows < file.histories:
                yield f"{file.name} cannot have {described(file)}: every history has an event"
        for history, parts in self.cut.items():
            if parts < 2:
                yield f"history {history} is not cut if it lies in {parts} row groups"
        for fault, count in self.faults.items():
            if count < 0:
                yield f"{count} faults {fault!r}: no count is negative"
        for promise, count in self.broken.items():
            if not 0 <= count <= self.totals.histories:
                yield f"the promise {promise!r} broke in {count} of {self.totals.histories} histories"
        for name in NUMBERS:
            if type(number := self.config.get(name, 0)) is not int:
                yield f"the config's {name} is {number!r}, which is no whole number"
        try:
            cuts_of(self.config)
        except msgspec.ValidationError as error:
            yield f"the config's cuts are none of logs: {error}"
        mode = self.config.get("mode", self.variant)
        if self.variant and mode != self.variant and self.source == "simulated":  # recorded ones may be mixed
            yield f"the variant is {self.variant!r}, and the config says mode {mode!r}: it is of another variant"


def decoded(text: str) -> dict[str, Any]:
    """Return the entries of a manifest. Raises ValueError, or RecursionError, for text that is no manifest."""
    return msgspec.json.decode(text, type=dict[str, Any])


def _name(dataset: Any) -> str:
    return str(dataset.get("name", "?")) if isinstance(dataset, dict) else "?"


def total(name: str, files: Sequence[HistoryFile]) -> HistoryFile:
    """Return the sums over `files`, as one entry called `name`."""
    return HistoryFile(
        name, sum(f.rows for f in files), sum(f.histories for f in files), sum(f.row_groups for f in files)
    )


def described(entry: HistoryFile) -> str:
    """Return the entry in words, as `3 rows, 1 histories, 1 row groups`."""
    return f"{entry.rows} rows, {entry.histories} histories, {entry.row_groups} row groups"
