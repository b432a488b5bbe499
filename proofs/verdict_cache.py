"""Verdicts of earlier runs, stored in the user's cache under a hash of all that they depend on.

    key = key_of(entry, variant.name, profile, fresh=False)
    judged = hand_in(jobs, key, judge, entry, variant, profile)

What is taken from there says since when; what cannot be read is made again.  Of each question one answer is stored,
that of the latest run.
"""

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
    """``question``: what is asked, as the name of a file; ``depends``: the hash of all that the answer depends on, None
    where that is not known and nothing is stored; ``fresh``: is it to be made again in any case?"""

    question: str
    depends: str | None
    fresh: bool

    @property
    def file(self) -> Path:
        return cache_folder() / "verdicts" / f"{self.question}.pickle"


@dataclass(frozen=True)
class Earlier(Generic[T]):
    """An answer; ``when`` it was made, where that was an earlier run."""

    answer: T
    when: str | None


def key_of(entry: ProtocolEntry, what: str, *further: object, fresh: bool) -> Key:
    """``what``: the part that is asked of a protocol; ``further``: profile, seed and the like.  A protocol that is not
    the one of that name in the catalogue, as it stands there, is nothing of which an answer is known."""
    words = "-".join(map(str, (entry.name, what, *further)))
    question = "".join(c if c.isalnum() or c in "-_." else "_" for c in words)
    known = protocols().get(entry.name) is entry and keeps_verdicts()
    depends = hash_of(entry, what, *further) if known else None
    return Key(question, depends, fresh or not takes_verdicts())


def hand_in(
    jobs: Jobs, key: Key, make: Callable[..., T], *arguments: Any, travels: bool = True
) -> Callable[[], Earlier[T]]:
    """`stored_or_made` as a job.  For jobs that are done elsewhere this process looks up, and keeps, what is asked for:
    the cache is the user's, and no worker's."""
    if not jobs.elsewhere:
        return jobs.hand_in(stored_or_made, key, make, *arguments, travels=travels, name=key.question)
    found: Earlier[T] | None = _stored(key)
    if found is not None:
        return jobs.hand_in(lambda: found, travels=False)
    made = jobs.hand_in(make, *arguments, travels=travels, name=key.question)
    return functools.cache(lambda: _keep(key, made()))


def stored_or_made(key: Key, make: Callable[..., T], *arguments: Any) -> Earlier[T]:
    """The answer of an earlier run, if it depends on nothing that has changed; else a new one, which is stored."""
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
    """Whole, or not at all; where no folder can be written nothing is stored."""
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
