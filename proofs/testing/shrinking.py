"""Shrinking: from a program that fails to one from which no call can be taken away, on the smallest cluster that will
do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Program

MOST_CALLS = 40_000
"""Calls that shrinking a program may take, in all its runs: the reference makes some thousands a second."""

Fails = Callable[[Program], Program | None]
"""The calls that were really made up to the failure; None if the program does not fail."""


@dataclass(frozen=True)
class Shrunk:
    """A program, and whether shorter ones were left untried."""

    program: Program
    left: bool


def shrink(agreeing: Agreeing, program: Program, fails: Fails) -> Shrunk:
    """A program that fails too, with no single call and no part of its configuration larger than it needs to be, as far
    as the protocol's number of ``replays`` and the number of calls goes; both are counted, so that the same failure is
    shrunk to the same program."""
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
