"""Shrinking: from a program that fails to one from which no call can be taken away, on the smallest cluster that will
do."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fencepost.properties.id_blocks.programs import Program

Fails = Callable[[Program], Program | None]
"""The calls that were really made up to the failure; None if the program does not fail."""

MOST_RUNS = 3_000


def shrink(program: Program, fails: Fails) -> Program:
    """A program that fails too, with no single call and no part of its configuration larger than it needs to be."""
    runs = 0

    def better(candidate: Program) -> Program | None:
        nonlocal runs
        runs += 1
        return fails(candidate) if runs <= MOST_RUNS else None

    while True:
        before = program
        program = _fewer_calls(program, better)
        for simpler in (_smaller_clusters, _simpler_calls):
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


def _smaller_clusters(program: Program) -> Iterator[Program]:
    config = program.config

    def changed(**values: Any) -> Program:
        return replace(program, config={**config, **values})

    named = max((c.broker for c in program.calls), default=0) + 1
    for brokers in range(max(1, named), config["brokers"]):
        yield changed(brokers=brokers)
    for controllers in range(1, config["controllers"]):
        yield changed(controllers=controllers)
    if config["prefetch"]:
        yield changed(prefetch=0.0)
    for size in range(2 if config["mode"] == "bridge" else 1, config["block_size"]):
        yield changed(block_size=size)
    if config["max_id"] != 1_000_001:
        yield changed(max_id=1_000_001)  # odd and large: the end of the ids plays no part


def _simpler_calls(program: Program) -> Iterator[Program]:
    for i, call in enumerate(program.calls):
        options = []
        if call.keep:
            options.append(replace(call, keep=False))
        if call.name not in ("deliver", "drop") and call.broker > 0:
            options.append(replace(call, broker=call.broker - 1))
        for option in options:
            yield replace(program, calls=(*program.calls[:i], option, *program.calls[i + 1 :]))
    broker = max((c.broker for c in program.calls), default=0)
    if broker > 0 and not any(c.broker == broker - 1 for c in program.calls):
        # Nothing happens on the broker below: let it have the name, so that the cluster can be smaller.
        moved = tuple(replace(c, broker=broker - 1) if c.broker == broker else c for c in program.calls)
        yield replace(program, calls=moved)
