"""Shrinking: from a program that fails to one from which no call can be taken away, on the smallest cluster that will
do."""

from collections.abc import Callable, Iterator

from fencepost.properties.agreement import Agreeing
from fencepost.properties.driving import Program

Fails = Callable[[Program], Program | None]
"""The calls that were really made up to the failure; None if the program does not fail."""


def shrink(agreeing: Agreeing, program: Program, fails: Fails) -> Program:
    """A program that fails too, with no single call and no part of its configuration larger than it needs to be, as far
    as the protocol's number of ``replays`` goes."""
    runs = 0

    def better(candidate: Program) -> Program | None:
        nonlocal runs
        runs += 1
        return fails(candidate) if runs <= agreeing.replays else None

    while True:
        before = program
        program = _fewer_calls(program, better)
        for simpler in (agreeing.call.smaller, agreeing.call.simpler):
            program = _first_that_fails(program, simpler, better)
        if program == before:
            return program


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
