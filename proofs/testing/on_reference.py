"""This module runs each program on the reference implementation before it is printed, so that the program passes on a
correct one.

The assertion at the end of a failing program describes what was wrong in one run. If the reference, called in the same
way on the same configuration, fulfils the model and the promises but fails that assertion, the assertion is too weak:
for example, the event is right, and what is wrong is that something is missing before it. A weak assertion is replaced
by the first of the following ones in which the two runs differ: how often a kind of event comes before the event, or in
the call, or in all calls; what the call returns; the events of one kind, or the order of the kinds. A call that the
reference cannot make, because what it names is not pending there, is skipped. If nothing differs, a remark is
printed."""

import ast
import importlib
import traceback
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.proofs.testing.failures import Disagreed
from fencepost.proofs.testing.hanging import Hangs
from fencepost.proofs.testing.pasting import Ending, compared, paste, seen_line
from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import UNDER_WAY, Event, Factory, Made, columns_of, read

MOST_ROWS = 40
"""An assertion lists at most this many events one by one, for the sake of the reader."""
SAME = (
    "the program fails on the reference implementation too, which shows the same where it is called in the same way: "
    "no assertion was found that tells the two apart"
)
FURTHER = "its assertion is about a kind of event that was not looked at, or that the implementation has not shown yet"
FILE = "<program>"
LAST, WHOLE = Ending("True"), Ending("True", from_the_start=True)
"""These endings assert nothing; the programs have the events of the last call, or of all calls."""


@dataclass(frozen=True)
class Printed:
    """A `Printed` is a program as it is printed. ``remark`` is one sentence on why the reference does not pass the
    program, if so."""

    text: str
    remark: str = ""


@dataclass(frozen=True)
class Outcome:
    """An `Outcome` has the variables at the end of a program, or the line in which it failed, counted from 0, and
    why."""

    variables: Mapping[str, Any]
    error: BaseException | None = None
    line: int = -1


def printed(
    agreeing: Agreeing, name: str, config: Mapping[str, Any], made: Sequence[Made], disagreed: Disagreed,
    observed: frozenset[str],
) -> Printed:  # fmt: skip
    """Return the program, with an assertion that the reference fulfils if there is one. ``name`` is the
    implementation's, as ``module:factory``. Nothing is compared for the reference itself, or where real brokers are
    driven. ``observed`` has the kinds of event that the implementation emits."""
    reference = None if agreeing.between or name == agreeing.reference else _reached(agreeing.reference)
    evidence, conjuncts = disagreed.evidence, disagreed.conjuncts
    if reference is None:
        return Printed(paste(name, config, made, evidence, conjuncts, without=agreeing.unrepeated))
    passed_over: set[int] = set()
    kinds = observed | {read(event, "kind") for each in made for event in each.events}
    mappings = any(isinstance(event, Mapping) for each in made for event in each.events)
    columns = made[-1].call.columns

    def alike(system_config: Mapping[str, Any]) -> Any:
        return _AsMappings(reference(system_config), columns) if mappings else reference(system_config)

    def tried(ending: Ending | None) -> tuple[str, Outcome]:
        while True:
            text = paste(name, config, made, evidence, conjuncts, ending, passed_over)
            outcome = executed(text, alike)
            place = _place(text, outcome.line, len(made)) if isinstance(outcome.error, KeyError) else -1
            if place < 0 or place in passed_over or made[place].message is None:
                return text, outcome
            passed_over.add(place)

    text, outcome = tried(None)
    if outcome.error is None:
        return Printed(text)
    theirs = [tried(ending) for ending in (LAST, WHOLE)]
    if (failed := next((found.error for _, found in theirs if found.error is not None), None)) is not None:
        return Printed(text, f"the program cannot be run on the reference implementation: {failed!r}")
    there = Ended.of(*(found.variables for _, found in theirs))
    here = Ended(made[-1].events, made[-1].result, tuple(event for each in made for event in each.events))
    for ending in endings(made[-1], evidence.event, here, there.only(kinds), kinds):
        passing, outcome = tried(ending)
        if outcome.error is None:
            return Printed(passing)
    own = _reached(name)
    ours = [executed(each, own) for each, _ in theirs] if own is not None else []
    if ours and not any(found.error for found in ours):
        here = Ended.of(*(found.variables for found in ours))
        every = {read(event, "kind") for event in (*here.all, *there.all)}
        for ending in endings(made[-1], evidence.event, here, there, every):
            passing, outcome = tried(ending)
            fails = own is not None and isinstance(executed(passing, own).error, AssertionError)
            if outcome.error is None and fails:
                return Printed(passing, FURTHER)
    return Printed(text, SAME)


def executed(text: str, factory: Factory) -> Outcome:
    """Run the program on systems of this factory, within the time limit of a call."""
    own = "\n".join("" if line.endswith(" as factory") else line for line in text.splitlines())
    variables: dict[str, Any] = {"factory": factory}
    try:
        with UNDER_WAY.during("the program on the reference implementation"):
            exec(compile(own, FILE, "exec"), variables)
    except (Exception, SystemExit, Hangs) as error:  # an implementation may raise any error
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
        return Outcome(variables, error, (frames[0].lineno or 0) - 1 if frames else -1)
    return Outcome(variables)


def _place(text: str, line: int, calls: int) -> int:
    lines = text.splitlines()
    start = next(n for n, each in enumerate(lines) if each.startswith("system = factory(")) + 1
    before = [each for each in lines[start:line] if "system.drain_events()" not in each and each != "result = None"]
    return min(len(before), calls - 1) if line >= start and not lines[line].startswith("assert ") else -1


def _reached(reference: str) -> Factory | None:
    module, _, name = reference.partition(":")
    try:
        factory: Factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):  # a user's own protocol need not have one
        return None
    return factory


class _AsMappings:
    def __init__(self, system: Any, columns: Sequence[str]) -> None:
        self._system, self._columns = system, columns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def drain_events(self) -> list[dict[str, Any]]:
        names = ("kind", *self._columns)
        return [{n: read(event, n) for n in names} for event in self._system.drain_events()]


@dataclass(frozen=True)
class Ended:
    """An `Ended` is the end of a program: the events and the result of its last call, and the events of ``all``
    calls."""

    events: tuple[Event, ...]
    result: Any
    all: tuple[Event, ...]

    @staticmethod
    def of(last: Mapping[str, Any], whole: Mapping[str, Any]) -> "Ended":
        return Ended(tuple(last["events"]), last["result"], tuple(whole["events"]))

    def only(self, kinds: Collection[str]) -> "Ended":
        events, every = (tuple(e for e in each if read(e, "kind") in kinds) for each in (self.events, self.all))
        return Ended(events, self.result, every)


def endings(made: Made, event: Event | None, ours: Ended, theirs: Ended, kinds: Collection[str]) -> Iterator[Ending]:
    """Yield assertions that fail where a program ends as ``ours`` and hold where it ends as ``theirs``, the simplest
    first. ``event`` is the wrong one; ``kinds`` are those that are observed."""
    both = ((ours.events, theirs.events, False), (ours.all, theirs.all, True))
    if event is not None:
        for here, there, from_the_start in both:
            yield from _before(made, event, here, there, from_the_start)
    for here, there, from_the_start in both:
        yield from _counted(here, there, from_the_start)
    if (result := _plain(ours.result)) is not _NO_TEXT and ours.result != theirs.result:
        yield Ending(f"result != {result!r}")
    for here, there, from_the_start in both:
        yield from _in_full(made, here, there, from_the_start, kinds)


def _before(
    made: Made, event: Event, ours: Sequence[Event], theirs: Sequence[Event], from_the_start: bool
) -> Iterator[Ending]:
    names, values = compared(made, event)

    def first(events: Sequence[Event]) -> int | None:
        return next((n for n, e in enumerate(events) if tuple(read(e, name) for name in names) == values), None)

    here, there = first(ours), first(theirs)
    if here is None or there is None:
        return
    variables = (f"kinds = [{_kind(ours)} for e in events]", seen_line("seen", event, names))
    until = f"kinds[:seen.index({values!r})]"
    for condition in _otherwise(_kinds(ours[:here]), _kinds(theirs[:there]), until):
        yield Ending(f"{values!r} not in seen or {condition}", variables, from_the_start)


def _counted(ours: Sequence[Event], theirs: Sequence[Event], from_the_start: bool) -> Iterator[Ending]:
    variables = (f"kinds = [{_kind(ours)} for e in events]",)
    for condition in _otherwise(_kinds(ours), _kinds(theirs), "kinds"):
        yield Ending(condition, variables, from_the_start)


def _otherwise(ours: Sequence[str], theirs: Sequence[str], where: str) -> Iterator[str]:
    """Yield conditions that hold only for the second sequence, starting with the missing kind that comes last in it."""
    counted, less = Counter(ours), Counter(theirs) - Counter(ours)
    for kind in dict.fromkeys(kind for kind in reversed(theirs) if kind in less):
        yield f"{where}.count({kind!r}) > {counted[kind]}" if counted[kind] else f"{kind!r} in {where}"
    for kind in Counter(ours) - Counter(theirs):
        yield f"{where}.count({kind!r}) < {counted[kind]}" if counted[kind] > 1 else f"{kind!r} not in {where}"


def _in_full(
    made: Made, ours: Sequence[Event], theirs: Sequence[Event], from_the_start: bool, kinds: Collection[str]
) -> Iterator[Ending]:  # fmt: skip
    """Yield assertions on the events of one kind, the rarest kind first, and on the order of the kinds."""
    for kind, number in sorted(Counter(_kinds(ours)).items(), key=lambda each: (each[1], each[0])):
        of_kind = [event for event in ours if read(event, "kind") == kind]
        names = list(dict.fromkeys(name for event in of_kind for name in columns_of(event, made.call.columns)))
        if names and number <= MOST_ROWS:
            rows = [tuple(read(event, name) for name in ("kind", *names)) for event in of_kind]
            line = seen_line("seen", of_kind[0], ["kind", *names], f"events if {_kind(ours)} == {kind!r}")
            yield Ending(f"seen != {rows!r}", (line,), from_the_start)
    if ours and len(ours) <= MOST_ROWS and _kinds(ours) != _kinds(theirs):
        text = f"kinds = [{_kind(ours)} for e in events if {_kind(ours)} in {sorted(kinds)!r}]"
        yield Ending(f"kinds != {_kinds(ours)!r}", (text,), from_the_start)


def _kinds(events: Sequence[Event]) -> list[str]:
    return [read(event, "kind") for event in events]


def _kind(events: Sequence[Event]) -> str:
    return "e['kind']" if any(isinstance(event, Mapping) for event in events) else "e.kind"


_NO_TEXT = object()


def _plain(result: Any) -> Any:
    """Return a result as a program can write it: a named tuple would have to be imported, and becomes a plain one."""
    plain = tuple(result) if isinstance(result, tuple) else result
    try:
        return plain if ast.literal_eval(repr(plain)) == plain else _NO_TEXT
    except (ValueError, SyntaxError):
        return _NO_TEXT
