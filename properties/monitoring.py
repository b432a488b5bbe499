"""The monitor of a driven run: its events are a history, and what must hold of histories must hold of it.

What a protocol declares in ``histories.py`` is judged by this, with nothing more to be written:

    monitor = HistoryMonitor("locks", {"mode": "lock", "clients": 2})
    monitor.watch(made, messages)   # a call with its result and events is noted down; nothing is judged yet
    monitor.found                   # Broken("lock.P1", "granted at step 7 (client 1): held since granted at step 3 …")

An `Agreeing` object that names no monitor has this one.  The properties are evaluated over all events so far at once,
which takes some milliseconds: ask when a program is over, not after each of its calls.  Where a property is violated,
prefixes of the events are tried until the first event is found with which it is.

What of a run is no event a protocol says in a `RunContext`: what the result of a call says, what should be true of it,
after which calls nothing is left to happen, and what is excused.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

import numpy as np
from fencepost.properties.driving import Event, Made, Message, reader_of
from fencepost.properties.history.checking import HistoryProperty, Rows
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table, properties_of


@dataclass(frozen=True)
class Broken:
    """A promise that what was seen breaks, whatever the model says.

    ``event``: the one that reveals it.  Where there is none, ``check`` is Python that the ``result`` of the call should
    fulfil and does not; with neither, ``result`` as a whole is what should not be.  ``call``: how many calls it takes
    to show.  ``excuse``: why it is no defect, where it is predicted.  ``other``: the event that explains it, if there
    is one: the two do not go together.
    """

    rule: str
    text: str
    event: Event | None = None
    check: str = ""
    call: int = 0
    excuse: str = ""
    other: Event | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


class Monitor(Protocol):
    """The promises against one system under way.  ``predicted``: those broken that the documents say can be, in the
    way they say, in the order in which they broke; nothing is held against the implementation for them."""

    only: frozenset[str] | None
    """Where it is given, nothing but these promises is looked at."""
    observed: frozenset[str] | None
    """The kinds of event that are observed whenever they happen; all, where it is not given."""

    @property
    def found(self) -> Broken | None:
        """The first promise broken that should not have been, by what has been noted so far."""

    @property
    def predicted(self) -> Sequence[Broken]: ...

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Take note of a call with its result and events; ``messages``: what is in flight after it."""


Concerned = frozenset[Hashable]
"""Whose doing a violation may be, in terms of the protocol: producer ids, say."""


class RunContext:
    """What of a driven run is no event of it, and what is excused; an object goes with one run.

    Here nothing is.  A protocol with more to say derives from it.  ``excusable``: rules that are not held against an
    implementation where `excuses` says so, in addition to those that the variant is ``expecting`` to break.
    ``left_to_the_model``: properties that are not judged here; ``further``: some that are judged here alone, as no
    recording reveals enough for them.  ``truncated``: the call, counted from 1, in which a log first lost its end, so
    that offsets are used twice: what the events before it and those after it violate together is excused by that call.
    """

    excusable: frozenset[str] = frozenset()
    left_to_the_model: frozenset[str] = frozenset()
    further: tuple[HistoryProperty[Any], ...] = ()
    truncated: float = inf

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        self.config, self.expecting = config, expecting

    def events(self, made: Made) -> Sequence[Event]:
        """The events of a call, with those that its result says though they were not observed."""
        return made.events

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Take note of a call and its `events`; ``messages`` wait after it.  What should be true of the call and is
        not, though no property of histories says so."""
        return ()

    def is_quiet(self, made: Made) -> bool:
        """Is nothing left to happen after this call, of which note was taken?"""
        return False

    def concerned(self, name: str, events: Sequence[Event]) -> Concerned:
        """Whose doing the violation of a property is: by an event, and the one that explains it, if there is one."""
        return frozenset()

    def allows(self, name: str, events: Sequence[Event]) -> bool:
        """Does what the driver knows, and no event reveals, make the violation of a property by these events none?"""
        return False

    def lacking(self, made: Made, event: Event, other: Event | None) -> str:
        """Python that the ``result`` of a call should fulfil, where what its event violates is that something is
        missing: an implementation that is right may show the event as well.  ``other`` explains the violation.  Empty
        where the event itself is wrong."""
        return ""

    def excuses(self, call: int, concerned: Concerned) -> bool:
        """Had happened, by the call of this number (counted from 1), what excuses a violation?  It is not taken
        back."""
        return False

    def why(self, call: int, concerned: Concerned) -> str:
        """Return where it is excused: the rule that lets it happen, and what happened."""
        return ""


class HistoryMonitor:
    """A `Monitor` that judges a run by the history properties of its protocol.

    ``observed``: the kinds of event that are observed whenever they happen (default: all); properties that need others
    are not asked.  ``only``: the rules that are looked at, if not all.
    """

    def __init__(
        self, protocol: str, config: Mapping[str, Any], expecting: frozenset[str] = frozenset(),
        context: Callable[[Mapping[str, Any], frozenset[str]], RunContext] = RunContext,
    ) -> None:  # fmt: skip
        self.config, self.context = config, context(config, expecting)
        self.expecting = self.context.expecting
        declared = properties_of(protocol)
        every = in_a_table(*declared.properties.values(), *self.context.further)
        self.history: HistoryProperties = replace(declared, properties=every)
        self.only: frozenset[str] | None = None
        self.observed: frozenset[str] | None = None
        self._values = reader_of({column.name: column.absent for column in self.history.vocabulary.columns})
        self._rows: list[tuple[int, ...]] = []
        self._events: list[Event] = []
        self._made: list[Made] = []
        self._ends: list[int] = []  # by call: how many events there are after it
        self._quiet: list[int] = []  # calls, counted from 1, after which nothing is left to happen
        self._reported: list[tuple[Broken, Concerned, float]] = []  # with how many events it takes
        self._judged: tuple[Any, ...] = ()
        self._answer: tuple[Broken | None, tuple[Broken, ...]] = (None, ())

    def watch(self, made: Made, messages: Sequence[Message] = ()) -> None:
        """Take note of a call with its result and events; ``messages``: what waits for the driver after it."""
        events, codes, before = self.context.events(made), self.history.vocabulary.codes, len(self._rows)
        self._made.append(made)
        for event in events:
            kind, *values = self._values(event)
            if kind in codes:
                self._rows.append((len(self._rows), 0, int(codes[kind]), *values))
                self._events.append(event)
        self._ends.append(len(self._rows))
        for broken, concerned in self.context.watch(made, events, messages):
            there = (n for n in range(before, len(self._rows)) if self._events[n] is broken.event)
            self._reported.append((replace(broken, call=len(self._ends)), concerned, next(there, inf) + 1))
        if self.context.is_quiet(made):
            self._quiet.append(len(self._ends))

    @property
    def found(self) -> Broken | None:
        """The first promise broken that should not have been, by what has been noted so far."""
        return self._answered()[0]

    @property
    def predicted(self) -> Sequence[Broken]:
        """What is excused of that which the variant is expected to break: each rule where it was broken first."""
        return self._answered()[1]

    def _answered(self) -> tuple[Broken | None, tuple[Broken, ...]]:
        """Return what is found, and what is predicted; looked for anew where something was noted since."""
        state = (len(self._ends), self.only, self.observed)
        if state != self._judged:
            found: list[Broken] = []
            predicted: dict[str, Broken] = {}
            for broken, is_excused, _ in sorted(self._broken(), key=lambda one: (one[0].call, one[2])):
                if not is_excused:
                    found.append(broken)
                elif broken.rule in self.expecting:
                    predicted.setdefault(broken.rule, broken)
            self._judged, self._answer = state, (next(iter(found), None), tuple(predicted.values()))
        return self._answer

    def _broken(self) -> Iterator[tuple[Broken, bool, float]]:
        """Yield what is violated, whether it is excused, and how many events it takes; of each property the first
        violation that is excused, and the first that is not."""
        prefixes = Prefixes(self.history, self.config, self._rows, frozenset(self._ends))
        names = [name for name in self._decidable() if self._is_asked(self.history.rules[name])]
        whole = {len(self._ends), *([int(self.context.truncated) - 1] if self.context.truncated < inf else [])} - {0}
        calls = sorted({*self._quiet, *whole} - {0})
        if len(calls) > 1:  # what violates a property, whatever comes after, does so at the end as well
            ends = [self._ends[call - 1] for call in whole]
            quiet = [name for name in names if self.history.properties[name].needs_quiet_end]
            names = [n for n in names if n in quiet or any(prefixes.are_any(n, end) for end in ends)]
        for call in calls:
            end, at_rest = self._ends[call - 1], call in self._quiet
            for name in [name for name in names if len(prefixes.rows(name, end, at_rest).at)]:
                for broken, is_excused, visible_at in self._violations(prefixes, name, call, end, at_rest):
                    yield broken, is_excused, visible_at
                    if not is_excused:
                        names.remove(name)
        for broken, concerned, visible_at in self._reported:
            if self._is_asked(broken.rule):
                is_excused = self._is_excused(broken.rule, broken.call, concerned)
                excuse = self.context.why(broken.call, concerned) if is_excused else ""
                yield replace(broken, excuse=excuse), is_excused, visible_at

    def _violations(
        self, prefixes: "Prefixes", name: str, call: int, end: int, at_rest: bool
    ) -> Iterator[tuple[Broken, bool, float]]:
        rule, rows = self.history.rules[name], prefixes.rows(name, end, at_rest)
        seen: set[bool] = set()
        for at, other in sorted(zip(rows.at.tolist(), rows.other.tolist(), strict=True)):
            events = [self._events[row] for row in (at, other) if row >= 0]
            if self.context.allows(name, events):
                continue
            concerned = self.context.concerned(name, events)
            if True in seen and self._is_excused(rule, bisect_left(self._ends, at + 1) + 1, concerned):
                continue  # it is not the first, and its excuse was there when it happened
            visible_at = prefixes.visible_at(name, at, end)
            event = self._events[visible_at - 1] if visible_at else None
            visible_in = bisect_left(self._ends, visible_at) + 1 if visible_at else call
            excused_in = call if call >= self.context.truncated else visible_in
            if excused_in > visible_in > bisect_left(self._ends, at + 1) + 1 and self._is_excused(
                rule, call, concerned
            ):
                continue  # which of the later rows reveals it can't be found where offsets are used twice
            is_excused = self._is_excused(rule, excused_in, concerned)
            if is_excused not in seen:
                seen.add(is_excused)
                text = prefixes.text(name, at, visible_at or end, at_rest=not visible_at)
                explains = self._events[other] if other >= 0 else None
                check = "" if event is None else self.context.lacking(self._made[visible_in - 1], event, explains)
                excuse = self.context.why(excused_in, concerned) if is_excused else ""
                if visible_at > at + 1:  # it was right until then, so it is what does not go with what reveals it
                    explains = self._events[at]
                broken = Broken(rule, text, None if check else event, check, visible_in, excuse, explains)
                yield broken, is_excused, visible_at or inf
            if not is_excused:
                return  # what comes later is of no interest

    def _decidable(self) -> Iterator[str]:
        """The properties that the kinds shown can answer, and that are promised."""
        visible_at = tuple(self.history.vocabulary.codes if self.observed is None else self.observed)
        manifest = Manifest(self.history.vocabulary.protocol, visible_at, (), config={**self.config, "quiet_end": True})
        without = self.history.undecidable(manifest).keys() | self.history.unpromised(manifest).keys()
        without |= self.context.left_to_the_model
        return (name for name in self.history.names if name not in without)

    def _is_asked(self, rule: str) -> bool:
        return self.only is None or rule in self.only

    def _is_excused(self, rule: str, call: int, concerned: Concerned) -> bool:
        return rule in self.expecting | self.context.excusable and self.context.excuses(call, concerned)


NO_ROWS = Rows(0, np.zeros(0, np.int64), np.zeros(0, np.int64))


class Prefixes:
    """The rows of one history, and what properties say of the first so many of them.

    `at_rest`: nothing is left to happen after them.  `whole`: numbers of rows after which nothing is cut short, as a
    call was over then.
    """

    def __init__(
        self, history: HistoryProperties, config: Mapping[str, Any], rows: Sequence[tuple[int, ...]],
        whole: frozenset[int],
    ) -> None:  # fmt: skip
        self.history, self.config, self.whole = history, config, whole
        self.columns = columns_of(history.vocabulary, [(0, rows)])
        self._view: tuple[int, Any] | None = None

    def view(self, end: int) -> Any:
        """Return what the kernels look at; the latest is stored, as many properties ask for it one after another."""
        if self._view is None or self._view[0] != end:
            columns = {name: values[:end] for name, values in self.columns.items()}
            self._view = end, self.history.view_of(columns, {**self.config, "quiet_end": end in self.whole})
        return self._view[1]

    def rows(self, name: str, end: int, at_rest: bool) -> Rows:
        """The rows that violate a property."""
        item = self.history.properties[name]
        if item.needs_quiet_end and not at_rest:
            return NO_ROWS
        return item.kernel(self.view(end))

    def are_any(self, name: str, end: int) -> bool:
        """Do rows violate a property before all is at rest?"""
        return bool(len(self.rows(name, end, at_rest=False).at))

    def visible_at(self, name: str, at: int, end: int) -> int:
        """Return how many rows it takes until this one violates the property; 0 if it does so only because all is at
        rest after the first `end`."""

        def is_violated(length: int) -> bool:
            return at in self.rows(name, length, at_rest=False).at

        if is_violated(at + 1):
            return at + 1
        if not is_violated(end):
            return 0
        return bisect_left(range(end), True, lo=at + 2, key=is_violated)

    def text(self, name: str, at: int, end: int, at_rest: bool) -> str:
        """A violation in words, as it is after so many rows."""
        rows = self.rows(name, end, at_rest)
        other = int(rows.other[rows.at.tolist().index(at)])
        return self.history.properties[name].describe(self.view(end), at, other)
