"""This module stores a search on disk as it proceeds, so that an interrupted search can go on, and the visited states
need no memory.

    explore(spec, properties, bounds, checkpoint=Path("search"))      # the same once more goes on after the last level

Each level is a file, which is mapped into memory where it is read. An index holds what was found with each level, and
is replaced in one step when the file is complete. A search of another model, with other bounds or properties, or by
other code of this engine has its own folder in the directory.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.readings.ground import Node, below

INDEX = "search.json"


class Record(msgspec.Struct):
    """A `Record` holds what was known after a level. ``step`` maps the number of each broken step property to the row
    in the level before and the instance that break it. ``taken`` and ``cut`` count steps by instance up to this level,
    as do ``stuck`` and ``generated`` in total. ``candidates`` is the count of this level alone."""

    step: dict[int, tuple[int, int]]
    taken: list[int]
    cut: list[int]
    stuck: int
    generated: int
    candidates: int


class _Index(msgspec.Struct):
    """An `_Index` is the index of a folder. ``model`` and ``bounds`` are for readers who inspect the folder."""

    model: str
    bounds: dict[str, int]
    records: list[Record]


class Checkpoint:
    """A `Checkpoint` is the folder of one search, which belongs to this process until it is closed. ``records`` has a
    record for each stored level, without the first level, with which every search begins. Errors: InputError if another
    search uses the folder, or if its content is damaged."""

    def __init__(self, directory: Path, kernels: Kernels) -> None:
        self.words = kernels.packing.words
        self.folder = directory / _key(kernels)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.folder)
        spec = kernels.ground.spec
        self._index = _read(self.folder / INDEX) or _Index(spec.name, dict(kernels.ground.layout.bounds), [])

    @property
    def records(self) -> list[Record]:
        return self._index.records

    def close(self) -> None:
        self._lock.close()

    def levels(self) -> Iterator[tuple[Words, Record]]:
        """Yield what an earlier run has stored, level by level. Errors: InputError if a file is damaged."""
        for number, record in enumerate(self.records, 1):
            path = self._path(number)
            try:
                yield self._mapped(path), record
            except (OSError, ValueError) as error:
                raise InputError(f"{path}: not as a search has written it ({error}); remove {self.folder}") from None

    def level(self, number: int, level: Words) -> Words:
        """Write a level, and return it as it is mapped from its file."""
        path = self._path(number)
        draft = path.with_suffix(".draft")
        with draft.open("wb") as file:
            np.save(file, np.stack(level))
        draft.replace(path)
        return self._mapped(path)

    def known(self, record: Record) -> None:
        """Record that the newest level is complete, and what was found with it."""
        self.records.append(record)
        draft = self.folder / f"{INDEX}.draft"
        draft.write_bytes(msgspec.json.encode(self._index))
        draft.replace(self.folder / INDEX)

    def room(self, states: int) -> Words:
        """Return room on disk for a set of ``states`` states, which disappears with the process."""
        path = self.folder / f"run-{os.getpid()}-{states}.npy"
        made = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint64, shape=(self.words, states))
        path.unlink()
        return tuple(np.asarray(column) for column in made)

    def _path(self, number: int) -> Path:
        return self.folder / f"level-{number:05d}.npy"

    def _mapped(self, path: Path) -> Words:
        # A file of no states cannot be mapped. Pages are private, since read-only arrays are another type to the
        # compiled search.
        empty = path.stat().st_size <= 128
        found = np.load(path, mmap_mode=None if empty else "c")
        if found.dtype != np.uint64 or found.ndim != 2 or len(found) != self.words:
            raise ValueError(f"{found.ndim} dimensions of {found.dtype}")
        return tuple(np.asarray(column) for column in found)


def _key(kernels: Kernels) -> str:
    ground = kernels.ground
    alike = kernels.symmetry and kernels.symmetry.sorts
    views = [(name, view) for name, of_name in ground.refinements.items() for view in of_name]
    parts = [
        (
            name,
            view.hints,
            [(step.action, _shape([step.guard, *step.effects])) for step in view.steps],
            _shape(view.unchanged),
        )
        for name, view in views
    ]
    names = kernels.states, kernels.steps, list(ground.presences)
    text = repr((kernels.source, parts, alike, kernels.partial_order is not None, ground.initial, names, _code()))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _shape(roots: Sequence[Node]) -> list[object]:
    """Return conditions in a form that does not depend on the numbers of their nodes."""
    nodes = below(roots)
    place = {node.number: at for at, node in enumerate(nodes)}
    rows = [(node.op, node.data, node.truth, [place[a.number] for a in node.args]) for node in nodes]
    return [*rows, [place[root.number] for root in roots]]


@cache
def _code() -> str:
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py"))]
    return hashlib.sha256(b"\0".join([np.__version__.encode(), *texts])).hexdigest()


def _locked(folder: Path) -> IO[bytes]:
    lock = (folder / "lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise InputError(f"{folder}: another search is using it; wait for it, or name another directory") from None
    except OSError:  # a file system without locks
        pass
    return lock


def _read(path: Path) -> _Index | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Index)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{path}: not as a search has written it ({error}); remove {path.parent}") from None
