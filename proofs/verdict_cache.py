"""This module stores verdicts in the user's cache under a hash of all that they depend on.

    key = key_of(entry, variant.name, profile, fresh=False)
    judged = hand_in(jobs, key, judge, entry, variant, profile)

A cached verdict carries the time at which it was made. An entry that cannot be read is computed again. Only the latest
answer to each question is stored."""

import functools
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from fencepost.proofs.cache_folder import cache_folder, keeps_verdicts, now, takes_verdicts
from fencepost.proofs.dependencies import hash_of
from fencepost.proofs.scale.jobs import Jobs
from fencepost.properties.catalogue import ProtocolEntry, protocols

T = TypeVar("T")


@dataclass(frozen=True)
class Key:
    """A `Key` identifies a stored answer. ``question`` is the name of the answer's file. ``depends`` is the hash of all
    that the answer depends on, or None if that is unknown and nothing is stored. ``fresh`` is true if the answer must
    be computed in any case."""

    question: str
    depends: str | None
    fresh: bool

    @property
    def file(self) -> Path:
        return cache_folder() / "verdicts" / f"{self.question}.pickle"


@dataclass(frozen=True)
class Earlier(Generic[T]):
    """An `Earlier` is an answer with the time ``when`` an earlier run made it, or None if it is new."""

    answer: T
    when: str | None


def key_of(entry: ProtocolEntry, what: str, *further: object, fresh: bool) -> Key:
    """Return the key for the question ``what`` about a protocol; ``further`` has the profile, seed and the like.
    Nothing is stored for a protocol that is not the very entry of that name in the catalogue."""
    words = "-".join(map(str, (entry.name, what, *further)))
    question = "".join(c if c.isalnum() or c in "-_." else "_" for c in words)
    known = protocols().get(entry.name) is entry and keeps_verdicts()
    depends = hash_of(entry, what, *further) if known else None
    return Key(question, depends, fresh or not takes_verdicts())


def hand_in(
    jobs: Jobs, key: Key, make: Callable[..., T], *arguments: Any, travels: bool = True
) -> Callable[[], Earlier[T]]:
    """Submit `stored_or_made` as a job. If jobs run elsewhere, this process reads and writes the user's cache for
    them."""
    if not jobs.elsewhere:
        return jobs.hand_in(stored_or_made, key, make, *arguments, travels=travels, name=key.question)
    found: Earlier[T] | None = _stored(key)
    if found is not None:
        return jobs.hand_in(lambda: found, travels=False)
    made = jobs.hand_in(make, *arguments, travels=travels, name=key.question)
    return functools.cache(lambda: _keep(key, made()))


def stored_or_made(key: Key, make: Callable[..., T], *arguments: Any) -> Earlier[T]:
    """Return the stored answer if nothing that it depends on has changed, else compute and store a new one."""
    found: Earlier[T] | None = _stored(key)
    return _keep(key, make(*arguments)) if found is None else found


def _stored(key: Key) -> "Earlier[Any] | None":
    return None if key.depends is None or key.fresh else _read(key)


def _keep(key: Key, answer: T) -> Earlier[T]:
    if key.depends is not None:
        _write(key, answer)
    return Earlier(answer, None)


def _read(key: Key) -> "Earlier[Any] | None":
    try:
        with key.file.open("rb") as file:
            # The hash comes first: what another version has written is not read any further.
            if pickle.load(file) != key.depends:
                return None
            return Earlier(*pickle.load(file))
    except Exception:  # whatever is wrong with a file that can be made again
        return None


def _write(key: Key, answer: Any) -> None:
    """Write an answer completely or not at all. If the folder cannot be written, nothing is stored."""
    draft = key.file.with_suffix(f".{os.getpid()}")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            pickle.dump(key.depends, file)
            pickle.dump((answer, now()), file)
        draft.replace(key.file)
    except (OSError, pickle.PicklingError, TypeError, AttributeError):
        with suppress(OSError):
            draft.unlink(missing_ok=True)
