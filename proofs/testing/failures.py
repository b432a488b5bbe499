"""This module defines disagreements, decides which of them are the same difference, and shrinks the programs that lead
to them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.proofs.connection_errors import rest_errors
from fencepost.properties.conformance_spec import Agreeing, FalseConjunct
from fencepost.properties.driving import Made, Program, columns_of, event_text, read

# What a disagreement is: the first event that no state of the model explains, and the conditions that were in its
# way; or the first that breaks a promise.

_NUMBERS = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Evidence:
    """An `Evidence` is where a disagreement happened: in this call at this event, or at its end (None) because none of
    the kinds ``expected`` happened. ``unseen`` means that the implementation does not emit those kinds anyway, and by
    the model they cannot have happened. ``check`` is Python that the result of the call should have fulfilled.
    ``other`` is an earlier event that contradicts this one."""

    made: Made
    event: Any
    expected: tuple[str, ...]
    unseen: bool = False
    check: str = ""
    other: Any = None

    def __str__(self) -> str:
        if self.event is not None:
            return f"{event_text(self.event, self.made.call)} in {self.made.text}"
        if self.made.error is not None:
            return f"{self.made.text} raised {self.made.error!r}"
        if self.check:
            return f"{self.made.text} returned {self.made.result!r}"
        if self.unseen:
            return f"{self.made.text} returned {self.made.result!r}, and the model has no such step here"
        return f"{self.made.text} returned {self.made.result!r} without {' or '.join(self.expected)}"


class Disagreed(Exception):
    """This exception means that no state of the model fits."""

    def __init__(self, evidence: Evidence, conjuncts: tuple[FalseConjunct, ...], at_rest: bool = False) -> None:
        super().__init__(str(evidence))
        self.evidence, self.conjuncts, self.at_rest = evidence, conjuncts, at_rest

    @property
    def is_undecided(self) -> bool:
        """Return whether nothing is known of what the call did, as the system did not come to rest."""
        return isinstance(self.evidence.made.error, rest_errors())

    @property
    def promises(self) -> frozenset[str]:
        """Return the rule numbers of the promises that are broken."""
        return frozenset(c.rule for c in self.conjuncts if c.action == "promise")

    @property
    def reason(self) -> tuple[Any, ...]:
        """Return what is wrong without numbers, so that programs that fail for the same reason have the same result.
        The result is which promise is broken and how, or else the event that no state of the model explains, or the
        missing events."""
        evidence = self.evidence
        broken = tuple((c.rule, _NUMBERS.sub("", c.text)) for c in self.conjuncts if c.action == "promise")
        if broken or evidence.made.error is not None:
            return (*broken, type(evidence.made.error).__name__)
        return read(evidence.event, "kind") if evidence.event is not None else "", evidence.expected


@dataclass(frozen=True)
class Happened:
    """A `Happened` is a call as it was made, and its events, each with its kind and columns. ``bad`` is the index of
    the wrong event, -1 if the call itself is wrong, or None."""

    call: str
    events: tuple[tuple[str, Mapping[str, int]], ...]
    bad: int | None = None


def happened(made: Made, bad: "Evidence") -> Happened:
    """Return a call with its events. ``bad`` is where the program went wrong, in this call or in another."""
    place = None
    if made is bad.made:
        place = next((n for n, event in enumerate(made.events) if event is bad.event), -1)
    events = tuple((str(read(event, "kind")), columns_of(event, made.call.columns)) for event in made.events)
    return Happened(made.text, events, place)


@dataclass(frozen=True)
class Disagreement:
    """A `Disagreement` is the failure of an implementation, after shrinking. ``program`` is Python that fails by
    itself; ``first_bad`` describes where. ``conjuncts`` are those that are false in the nearest step that the model
    allows. ``promise`` names the promise that the program breaks, if it does, and ``consequence`` what happens when the
    program continues. ``again`` is in how many of how many tries the program failed again, where chance has a part in
    it. ``run`` has the calls of the program, with their events. ``remark`` is why the reference implementation does not
    pass the program, if so. ``left`` means that shorter programs were left untried."""

    first_bad: str
    conjuncts: tuple[FalseConjunct, ...]
    promise: str
    consequence: str
    calls: int
    program: str
    again: tuple[int, int] | None = None
    run: tuple[Happened, ...] = ()
    remark: str = ""
    left: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rule numbers of the false conditions."""
        return tuple(dict.fromkeys(c.rule for c in self.conjuncts if c.rule))

    def __str__(self) -> str:
        lines = [f"first bad event: {self.first_bad}"]
        if not self.promise or any(c.action != "promise" for c in self.conjuncts):
            lines += ["the nearest step of the model is barred by"]
            lines += [f"  {c}" for c in self.conjuncts] or ["  nothing: the model has no such step"]
        lines += [f"promise broken: {self.promise}"] if self.promise else []
        lines += [f"going on: {self.consequence}"] if self.consequence else []
        lines += [self.remark] if self.remark else []
        lines += ["the program is perhaps not the shortest: shrinking it further takes too long"] if self.left else []
        if self.again is not None and self.again[0] < self.again[1]:
            failed, tries = self.again
            how = f"not every time: run again, the program failed in {failed} of {tries} tries"
            lines.append(how if failed else f"not again: the program was run {tries} more times, and did not fail once")
        return "\n".join(lines)


# Differences from the model that break no promise, of systems that are driven through an adapter.
#
# A deviation of such a system from the model that harms no client, as far as can be seen, is reported as a difference,
# and the search continues: the rest of the program is checked against the promises, and the next program against
# the model again. Two differences are one where the same call reveals the same event against the same conditions.

Signature = tuple[str, str, int, tuple[tuple[str, str], ...]]
"""A `Signature` has a call, a kind of event or an empty string, its error, and the step and rule of each condition."""

AFTER = "it had differed from the model before, which is told by itself"


def signature(disagreed: Disagreed) -> Signature:
    """Return what identifies a difference between model and implementation, whatever values are in it."""
    evidence = disagreed.evidence
    event, made = evidence.event, evidence.made
    call = made.needs or made.call.table_name  # which call a recording comes after makes no difference
    kind, error = ("", 0) if event is None else (read(event, "kind"), int(read(event, "error", 0)))
    return call, kind, error, tuple(sorted({(c.action, c.rule) for c in disagreed.conjuncts}))


# Shrinking: from a program that fails to one from which no call can be taken away, on the smallest cluster that will
# do.

MOST_CALLS = 40_000
"""Shrinking a program may take this many calls in all its runs; the reference makes some thousands a second."""

Fails = Callable[[Program], Program | None]
"""A `Fails` returns the calls that were really made up to the failure, or None if the program does not fail."""


@dataclass(frozen=True)
class Shrunk:
    """A `Shrunk` is a program, and whether shorter ones were left untried."""

    program: Program
    left: bool


def shrink(agreeing: Agreeing, program: Program, fails: Fails) -> Shrunk:
    """Return a smaller program that fails too, with no single call and no part of its configuration larger than
    necessary. The protocol's number of ``replays`` and the number of calls limit the search. Replays and calls are
    counted, not timed, so that the same failure is shrunk to the same program."""
    runs = calls = 0

    def is_over() -> bool:
        return runs > agreeing.replays or calls > MOST_CALLS

    def better(candidate: Program) -> Program | None:
        nonlocal runs, calls
        runs, calls = runs + 1, calls + len(candidate.calls)
        return None if is_over() else fails(candidate)

    while True:
        before = program
        program = _fewer_calls(program, better)
        for simpler in (agreeing.call.smaller, agreeing.call.simpler):
            program = _first_that_fails(program, simpler, better)
        if program == before or is_over():
            return Shrunk(program, is_over())


def _fewer_calls(program: Program, fails: Fails) -> Program:
    length = max(1, len(program.calls) // 2)
    while True:
        start = len(program.calls) - length
        while start >= 0:
            found = fails(program.without(start, start + length))
            if found is not None:
                program = found
                start = min(start, len(program.calls)) - length
            else:
                start -= length
        if length == 1:
            return program
        length //= 2


def _first_that_fails(program: Program, simpler: Callable[[Program], Iterator[Program]], fails: Fails) -> Program:
    found = True
    while found:
        found = False
        for candidate in simpler(program):
            result = fails(candidate)
            if result is not None and len(result.calls) <= len(program.calls):
                program, found = result, True
                break
    return program
