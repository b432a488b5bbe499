"""This module claims a directory, so that one run at a time writes histories into it.

Existing histories are never overwritten, and files of a run that did not finish are removed. A claim is a lock of the
operating system on the directory itself: it ends with the process that has it, however that ends. Remote stores
(`hdfs:`, `s3:`, `gs:`) have no such locks: there only finished histories are protected.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fencepost.properties.history.location import Location
from fencepost.properties.history.manifest import ATTEMPT, MANIFEST
from fencepost.properties.history.vocabulary import HistoryError

_UNFINISHED = re.compile(rf"part-\d+{re.escape(ATTEMPT)}[0-9a-z]+\.parquet|{re.escape(MANIFEST)}\.[0-9a-f]{{32}}")
_ours: set[str] = set()
"""`_ours` has the directories that this process has claimed, which it may claim again while it works in them."""


def require_free(place: Location) -> None:
    """Raise `HistoryError` if histories are there, or pieces of some that a manifest would not list."""
    if place.read_text(MANIFEST) is not None:
        raise HistoryError(f"{place}: holds histories already; remove it, or name another directory")
    for name in place.names():
        if name.endswith(".parquet") and not _UNFINISHED.fullmatch(name):
            raise HistoryError(f"{place / name}: stands there without a manifest; remove it, or name another directory")


@contextmanager
def claimed(place: Location) -> Iterator[None]:
    """Make the directory and claim it for this process alone. If no manifest is written in the end, what was written is
    removed, and so is the directory, if it was made for this. Raises `HistoryError` if histories are there, or another
    run is writing some."""
    if place.uri in _ours:
        yield
        return
    require_free(place)
    made = place.make()
    with _locked(place):
        _ours.add(place.uri)
        try:
            require_free(place)  # again: another may have finished since
            clear(place)
            yield
        finally:
            _ours.discard(place.uri)
            clear(place)
            if made and not place.finished:
                place.remove_empty()


def clear(place: Location) -> None:
    """Remove what attempts have left; without a manifest, all pieces too, which were written under the claim."""
    for name in place.names():
        if _UNFINISHED.fullmatch(name) or (re.fullmatch(r"part-\d+\.parquet", name) and not place.finished):
            with suppress(OSError):
                place.remove(name)


@contextmanager
def _locked(place: Location) -> Iterator[None]:
    if not place.is_local:
        yield
        return
    folder = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HistoryError(
                f"{place}: another run is writing histories into it; wait for it, or name another directory"
            ) from None
        except OSError:  # a file system without locks: two runs would be noticed by what they leave
            pass
        yield
    finally:
        os.close(folder)
