"""This module follows a cluster: it reads what is new, again and again, and reports what that breaks.

    with stopping() as stop:
        followed = follow(source, on_broken=print, stop=stop.is_set, checkpoint=Path("doctor.npz"))

What a partition breaks by itself is reported when its batch is read. What it breaks together with the transaction log
is reported when both were read: first every partition to its end, then the transaction log to its end (`settle`).
A partition that is away for now holds up only what is to be found in it. What is `unmarked` takes a second look at the
transaction log, and is found by `examine` alone.

With a checkpoint, the next run goes on where this one was. It is written after what was found until then is reported,
and replaces the one before at once, so that after a crash a finding may be reported again, and none is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor.checks import Checks
from fencepost.proofs.doctor.source import Source
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import Segment
from fencepost.proofs.recording.transactions.transaction_log import TOPIC as TRANSACTION_LOG

WAIT_MS = 250  # for news
PLACES_S = 10.0  # from one look for new partitions to the next
SAVE_S = 5.0  # from one checkpoint to the next
FULL = 1 << 23
"""An answer with fewer bytes had room for every partition that was asked for."""


@dataclass
class Followed:
    """A `Followed` counts what was read: `batches`, `transactions` that were prepared, and how often all was `settled`.
    `without` is why nothing was compared with the transaction log, if so."""

    batches: int = 0
    transactions: int = 0
    broken: int = 0
    settled: int = 0
    without: str = ""


def follow(
    source: Source, *, on_broken: Callable[[Broken], object], stop: Callable[[], bool], topics: Collection[str] = (),
    since_ms: int = -1, checkpoint: Path | None = None, on_news: Callable[[Followed], object] | None = None,
) -> Followed:  # fmt: skip
    """Follow these topics, or all of users, until `stop` returns true; `since_ms` is where to begin without a
    checkpoint. `on_news` is called after each round. Raise `InputError` for a file that is no checkpoint, or one of
    another cluster."""
    checks = _loaded(checkpoint)
    rounds = _Rounds(source, checks, topics, since_ms)
    counts = rounds.counts
    saved = time.monotonic()

    def report(found: Sequence[Broken]) -> None:
        for each in found:
            counts.broken += 1
            on_broken(each)

    while not stop():
        news = 0
        for place, segment in rounds.read():
            report(checks.feed(place, segment))
            news += len(segment.headers)
            if stop():
                break
        else:
            if rounds.all_read():
                report(checks.settle(unread=rounds.unread))
                counts.settled += 1
        counts.batches, counts.transactions = counts.batches + news, checks.transactions
        if on_news is not None:
            on_news(counts)
        if checkpoint is not None and time.monotonic() - saved > SAVE_S:
            _save(checks, checkpoint)
            saved = time.monotonic()
    if checkpoint is not None:
        _save(checks, checkpoint)
    return counts


class _Rounds:
    """A `_Rounds` reads what is new of all partitions, round by round, and knows when all of it was read."""

    def __init__(self, source: Source, checks: Checks, topics: Collection[str], since_ms: int) -> None:
        self.source, self.checks, self.counts = source, checks, Followed()
        self._topics, self._since_ms = topics, since_ms
        self._places: set[Place] = set()
        self._floor: dict[Place, int] = {}  # where to begin with a partition that had nothing new enough
        self._ends: dict[Place, int] = {}  # of what is due: the high watermark when it was first asked for
        self._logs: set[Place] = set()
        self._topic_ids: dict[str, str] = {}
        self._due: set[Place] = set()  # to be read to the end before the transaction log is, or in it
        self._in_log = False
        self._looked = self._settled = -PLACES_S
        self._look()
        every = self._places | self._logs
        self._claimed = {place: begun for place in every if (begun := checks.next_offset(place)) > 0}

    @property
    def unread(self) -> Set[Place]:
        """Return the partitions that cannot be read for now, or are no more."""
        return (self.source.away.keys() - self._logs) | (self.checks.partitions - self._places)

    def read(self) -> Iterator[tuple[Place, Segment]]:
        """Yield what is new."""
        if time.monotonic() - self._looked > PLACES_S:
            self._look()
        places, source = sorted(self._places) + sorted(self._logs), self.source
        for place in places:
            if place not in self._floor:
                yield from self._to_the_end(place)
        starts = {place: self._begin(place) for place in places}
        silent, size = set(places), 0
        for place, segment in source.poll(starts, WAIT_MS):
            yield place, segment
            silent.discard(place)
            size += len(segment.content)
        for place in [*self._claimed.keys() & source.high.keys()]:
            if (begun := self._claimed.pop(place)) > (end := source.high[place]):
                what = f"the checkpoint has {place} to offset {begun}, but it ends at {end}"
                raise InputError(f"{source.name}: {what}: it is of another cluster or topic; begin anew without it")
        for place in [*self._due]:
            if place in source.away or place not in source.high:
                continue
            end = self._ends.setdefault(place, source.high[place])
            if self._begin(place) >= end or (place in silent and size < FULL):
                self._due.discard(place)
        if any(place in source.away or source.high.get(place, start) < start for place, start in starts.items()):
            self._looked = -PLACES_S  # it may be another topic of that name before it is read again

    def _begin(self, place: Place) -> int:
        return max(self._floor[place], self.checks.next_offset(place))

    def _to_the_end(self, place: Place) -> Iterator[tuple[Place, Segment]]:
        start, since_ms = self.checks.next_offset(place), -1
        if place not in self._floor:
            since_ms = self._since_ms if start < 0 and place not in self._logs else -1
            self._floor[place] = self.source.ends(place)[2] if since_ms >= 0 else 0
        else:
            start = max(start, self._floor[place])
        for segment in self.source.segments(place, since_ms, start):
            yield place, segment

    def all_read(self) -> bool:
        """Return whether, since it last returned true, all partitions were read to their ends, and then the transaction
        log."""
        if not self._in_log and not self._due - self.unread:
            self._in_log, self._due = True, set(self._logs)
            self._ends.clear()
            return False
        if not self._in_log or self._due or time.monotonic() - self._settled < self.source.lag_s:
            return False
        self._in_log, self._due, self._settled = False, set(self._places), time.monotonic()
        self._ends.clear()
        return True

    def _look(self) -> None:
        """Look for partitions."""
        self._looked = time.monotonic()
        places = set(self.source.places(self._topics))
        self._forget_former({place.topic for place in places})
        if new := places - self._places:
            self._due |= new if not self._in_log else places  # what is old there is read before anything is compared
            self._in_log = False
        self._places = places
        try:
            logs = set(self.source.places((TRANSACTION_LOG,)))
            self.counts.without = "" if logs else "no partition of the transaction log may be read"
        except InputError as error:
            logs, self.counts.without = set(), str(error)
        self._due |= logs - self._logs if self._in_log else set()
        self._logs = logs
        self._due &= places | logs
        numbers = {place.partition for place in logs}
        self.checks.complete = numbers == set(range(len(numbers)))

    def _forget_former(self, topics: Set[str]) -> None:
        """Forget what was read of topics that have been deleted and made anew since."""
        ids = self.source.topic_ids(topics)
        for topic, topic_id in ids.items():
            if self._topic_ids.get(topic, topic_id) != topic_id:
                for place in [each for each in self._floor if each.topic == topic]:
                    self.checks.forget(place)
                    self._floor[place] = 0
                    self._ends.pop(place, None)
        self._topic_ids |= ids


def _loaded(checkpoint: Path | None) -> Checks:
    if checkpoint is None or not checkpoint.exists():
        return Checks()
    try:
        return Checks.load(checkpoint.read_bytes())
    except OSError as error:
        raise InputError(f"{checkpoint}: cannot be read: {error.strerror}") from None
    except InputError as error:
        raise InputError(f"{checkpoint}: {error}") from None


def _save(checks: Checks, checkpoint: Path) -> None:
    unfinished = checkpoint.with_name(f"{checkpoint.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(checks.save())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(checkpoint)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(f"{checkpoint}: the checkpoint cannot be written: {error.strerror}") from None


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Let the first Ctrl-C or SIGTERM within the context set an event, and a second one do what it did before."""
    event = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        event.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, note)
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
