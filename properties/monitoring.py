"""The monitor of a driven run takes its events for a history, which has to fulfil the history properties of the
protocol.

The monitor judges the declarations of a protocol's ``histories.py`` without further code:

    monitor = HistoryMonitor("locks", {"mode": "lock", "clients": 2})
    monitor.watch(made, messages)   # a call with its result and events is noted down; nothing is judged yet
    monitor.found                   # Broken("lock.P1", "granted at step 7 (client 1): held since granted at step 3 …")

An `Agreeing` object that names no monitor has this one. The properties are evaluated over all events so far at once,
which takes some milliseconds, so ask when a program is over, not after each of its calls. Where a property is violated,
prefixes of the events are tried until the first event is found with which it is.

A protocol defines in a `RunContext` what the events of a run do not contain: what the result of a call reveals,
conditions on calls, the calls after which nothing is left to happen, and excuses.
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
    """A `Broken` is a promise that the observations break, whatever state the model is in.

    ``event`` is the one that reveals it. Where there is none, ``check`` is Python that the ``result`` of the call
    should fulfil and does not; with neither, ``result`` as a whole is wrong. ``call`` is the number of calls after
    which it is visible. ``excuse`` is the reason why it is no defect, where it is predicted. ``other`` is the event
    that explains it, if there is one: the two contradict each other. If it is broken ``at_rest``, it is only because
    nothing is left to happen.
    """

    rule: str
    text: str
    event: Event | None = None
    check: str = ""
    call: int = 0
    excuse: str = ""
    other: Event | None = None
    at_rest: bool = False

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


class Monitor(Protocol):
    """A `Monitor` checks the promises against one running system. ``predicted`` has those that were broken as the
    documents predict, in the order in which they broke; they are not counted against the implementation."""

    only: frozenset[str] | None
    """If this is given, only these promises are checked."""
    observed: frozenset[str] | None
    """These kinds of event are observed whenever they happen; all are, where it is not given."""

    @property
    def found(self) -> Broken | None:
        """This is the first promise that was broken without an excuse, by the events so far."""

    @property
    def predicted(self) -> Sequence[Broken]: ...

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """Record a call with its result and events; ``messages`` are in flight after it."""


Concerned = frozenset[Hashable]
"""A `Concerned` identifies those that may have caused a violation, in terms of the protocol, such as producer ids."""


class RunContext:
    """A `RunContext` has the facts about one driven run that are not among its events, and the excuses for violations.

    The base class has none, and a protocol with such facts derives from it. ``excusable`` has rules that are not
    counted against an implementation where `excuses` returns True, in addition to those that the variant is
    ``expecting`` to break. ``left_to_the_model`` has properties that are not judged here, and ``further`` some that are
    judged here alone, as no recording reveals enough for them. ``truncated`` is the call, counted from 1, in which a
    log first lost its end, so that offsets are used twice: what the events before it and those after it violate
    together is excused by that call.
    """

    excusable: frozenset[str] = frozenset()
    left_to_the_model: frozenset[str] = frozenset()
    further: tuple[HistoryProperty[Any], ...] = ()
    truncated: float = inf

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        self.config, self.expecting = config, expecting

    def events(self, made: Made) -> Sequence[Event]:
        """Return the events of a call, including those that its result reveals though they were not observed."""
        return made.events

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Record a call and its `events`; ``messages`` wait after it. Return the conditions on the call that are not
        fulfilled and that no history property has."""
        return ()

    def is_quiet(self, made: Made) -> bool:
        """Return whether nothing is left to happen after this call, which was recorded."""
        return False

    def concerned(self, name: str, events: Sequence[Event]) -> Concerned:
        """Return who caused the violation of a property, by an event and the one that explains it, if there is one."""
        return frozenset()

    def allows(self, name: str, events: Sequence[Event]) -> bool:
        """Return whether the driver knows something that no event reveals and that excuses these events."""
        return False

    def lacking(self, made: Made, event: Event, other: Event | None) -> str:
        """Return Python that the ``result`` of a call should fulfil, where its event violates a property because
        something is missing, so that a correct implementation may emit the event as well. ``other`` explains the
        violation. Return an empty text where the event itself is wrong."""
        return ""

    def excuses(self, call: int, concerned: Concerned) -> bool:
        """Return whether an excuse for a violation had happened by the call of this number (counted from 1); an excuse
        remains valid."""
        return False

    def why(self, call: int, concerned: Concerned) -> str:
        """Return, for an excused violation, the rule that allows it and what happened."""
        return ""


class HistoryMonitor:
    """A `HistoryMonitor` is a `Monitor` that judges a run by the history properties of its protocol.

    ``observed`` has the kinds of event that are observed whenever they happen (default: all), and properties that need
    others are not evaluated. ``only`` has the rules that are checked, if not all.
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
        self._ends: list[int] = []  # the number of events after each call
        self._quiet: list[int] = []  # calls, counted from 1, after which nothing is left to happen
        self._reported: list[tuple[Broken, Concerned, float]] = []  # with the events after which each is visible
        self._judged: tuple[Any, ...] = ()
        self._answer: tuple[Broken | None, tuple[Broken, ...]] = (None, ())

    def watch(self, made: Made, messages: Sequence[Message] = ()) -> None:
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
        return self._answered()[0]

    @property
    def predicted(self) -> Sequence[Broken]:
        """These are the excused violations of rules that the variant is expected to break, each where it was broken
        first."""
        return self._answered()[1]

    def _answered(self) -> tuple[Broken | None, tuple[Broken, ...]]:
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
        """Yield each violation, whether it is excused, and the number of events after which it is visible; of each
        property only the first violation that is excused and the first that is not."""
        prefixes = Prefixes(self.history, self.config, self._rows, frozenset(self._ends))
        names = [name for name in self._decidable() if self._is_asked(self.history.rules[name])]
        whole = {len(self._ends), *([int(self.context.truncated) - 1] if self.context.truncated < inf else [])} - {0}
        calls = sorted({*self._quiet, *whole} - {0})
        if len(calls) > 1:  # a violation that no later event can undo is there at the end as well
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
                continue  # this is not the first violation, and its excuse was there when it happened
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
                if visible_at > at + 1:  # the row was right until the other one came
                    explains = self._events[at]
                reveals = None if check else event
                broken = Broken(rule, text, reveals, check, visible_in, excuse, explains, at_rest=not visible_at)
                yield broken, is_excused, visible_at or inf
            if not is_excused:
                return  # what comes later is of no interest

    def asks_of_the_whole(self, rule: str) -> bool:
        """Return whether a violation of this rule counts, which is there when all the calls have been made."""
        return self._is_asked(rule) and not self._is_excused(rule, len(self._ends), frozenset())

    @property
    def is_at_rest(self) -> bool:
        return bool(self._quiet) and self._quiet[-1] == len(self._ends)

    def _decidable(self) -> Iterator[str]:
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
    """A `Prefixes` evaluates properties on the first rows of one history.

    `at_rest` means that nothing is left to happen after these rows. `whole` has the numbers of rows after which nothing
    is cut short, as a call was over then.
    """

    def __init__(
        self, history: HistoryProperties, config: Mapping[str, Any], rows: Sequence[tuple[int, ...]],
        whole: frozenset[int],
    ) -> None:  # fmt: skip
        self.history, self.config, self.whole = history, config, whole
        self.columns = columns_of(history.vocabulary, [(0, rows)])
        self._view: tuple[int, Any] | None = None

    def view(self, end: int) -> Any:
        """Return the view of the first rows that the kernels read; the latest is cached, as many properties ask for it
        one after another."""
        if self._view is None or self._view[0] != end:
            columns = {name: values[:end] for name, values in self.columns.items()}
            self._view = end, self.history.view_of(columns, {**self.config, "quiet_end": end in self.whole})
        return self._view[1]

    def rows(self, name: str, end: int, at_rest: bool) -> Rows:
        item = self.history.properties[name]
        if item.needs_quiet_end and not at_rest:
            return NO_ROWS
        return item.kernel(self.view(end))

    def are_any(self, name: str, end: int) -> bool:
        return bool(len(self.rows(name, end, at_rest=False).at))

    def visible_at(self, name: str, at: int, end: int) -> int:
        """Return the number of rows after which this row violates the property, or 0 if it does so only because all is
        at rest after the first `end`."""

        def is_violated(length: int) -> bool:
            return at in self.rows(name, length, at_rest=False).at

        if is_violated(at + 1):
            return at + 1
        if not is_violated(end):
            return 0
        return bisect_left(range(end), True, lo=at + 2, key=is_violated)

    def text(self, name: str, at: int, end: int, at_rest: bool) -> str:
        """Return a violation in words, as it is after this number of rows."""
        rows = self.rows(name, end, at_rest)
        other = int(rows.other[rows.at.tolist().index(at)])
        return self.history.properties[name].describe(self.view(end), at, other)
