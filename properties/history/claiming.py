"""Claiming a directory: one run at a time writes histories into it, those that stand there are never written over, and
what a run left that did not come to its end goes away.

A claim is a lock of the operating system on the directory itself: it ends with the process that has it, however that
ends. What other machines reach (`hdfs:`, `s3:`, `gs:`) has no such locks: there only histories that stand are stored.
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
"""Directories that this process has claimed: what it does in one of them may claim it again."""


def require_free(place: Location) -> None:
    """Raises `HistoryError` if histories stand there, or pieces of some that a manifest would not list."""
    if place.read_text(MANIFEST) is not None:
        raise HistoryError(f"{place}: holds histories already; remove it, or name another directory")
    for name in place.names():
        if name.endswith(".parquet") and not _UNFINISHED.fullmatch(name):
            raise HistoryError(f"{place / name}: stands there without a manifest; remove it, or name another directory")


@contextmanager
def claimed(place: Location) -> Iterator[None]:
    """Within, the directory is there, and is this process's alone. If no manifest is written in the end, what was
    written goes away, and so does the directory, if it was made for this.

    Raises `HistoryError` if histories stand there, or another run is writing some."""
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
    """Takes away what attempts have left; without a manifest, all pieces too, which were written under the claim."""
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
