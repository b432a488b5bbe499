"""Rules got wrong, alone or together, within bounds in which `necessity` does not judge them: which property fails, in
how many steps, or that none does.

The rows are in `data/mistakes.txt`.  Those of task counts are mistakes known from the reviews of KIP-618 and from bug
reports, each in the form of the model in which it can be made.  A changed number of steps is a changed model, and has
to be argued for.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.language.derived.mutations import mutated
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.rules import RULES
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.properties.catalogue import Variant, bounds_of, features_of, protocols
from fencepost.properties.task_counts.variants import bounds
from fencepost.properties.task_counts.variants.catalogue import CORE

Bounds = Mapping[str, int]

ONE = dict(bounds.STALLED, workers=1, tasks=2)
FOUR = dict(ONE, sets=4, log=6, generations=6)
LEADERS = dict(bounds.STALLED, instances=1, tasks=2, elections=2, sets=3)
CONNECTORS = dict(workers=1, connectors=2, instances=1, tasks=1, sets=2, elections=1, failures=0, deletions=0)
SIZES: dict[str, Bounds | tuple[Bounds, ...]] = {
    "CORE": CORE,
    "TWO_LEADERS": dict(CORE, workers=2, elections=2),
    "COMES_BACK": dict(CORE, workers=2, elections=3),
    "FOUR_SETS": dict(CORE, generations=4),
    "ONE": ONE,
    "TWO": dict(bounds.STALLED, tasks=2),
    "THREE": dict(ONE, sets=3, log=6, generations=6),
    "FOUR": FOUR,
    "EIGHT": dict(FOUR, log=8, generations=8),
    "FAILING": dict(ONE, failures=1),
    "LEADERS": LEADERS,
    "AND_BACK": dict(LEADERS, elections=3),
    "SECOND_LEADER": dict(LEADERS, instances=2, log=5, generations=5),
    "GRAIN_ONE": dict(bounds.ONE_LEADER, log=4, generations=4),
    "LONG": dict(bounds.ONE_LEADER, log=8, generations=8),
    "EVERYTHING": dict(bounds.FULL, workers=1, tasks=2, failures=1, duplicates=0),
    "ONE_OF_TWO": CONNECTORS,
    "THREE_SETS": dict(CONNECTORS, tasks=2, sets=3),
    "FORMER_LEADERS": dict(CONNECTORS, workers=2, elections=2, sets=3),
    "ONE_CONNECTOR": dict(CONNECTORS, workers=2, elections=2, sets=3, connectors=1),
    "FATED": dict(clients=2, transactions=2, partitions=1, epochs=3, fail_overs=0, fences=0),
}
"""What has no name here is a constant of the variants' bounds of task counts."""
CHANGES: dict[str, dict[str, int]] = {
    "SNAPSHOT": dict(snapshots=1, fail_overs=1, restarts=0, copies=0), "ALONE": dict(connectors=1),
}  # fmt: skip
"""Of the bounds of each run of `verify`."""


def rows() -> Iterator[Any]:
    """A case for each variant of a line.  Of a rule of a protocol the first is of every run, the others of some nights:
    they are the same rule in other variants, by other mistakes, or within other bounds."""
    there = set[tuple[str, str]]()
    lines = Path(__file__).with_name("data").joinpath("mistakes.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            protocol, mistakes, asked, within, found = line.split(" | ")
            rule = asked if mistakes == "-" else mistakes.split()[0]
            for one in found.split(", "):
                variant, outcome, *night = one.split(" ", 2)
                marks = [pytest.mark.nightly] if night else []
                if not night and (protocol, rule) in there:
                    marks = [pytest.mark.nightly(nights=12)]
                elif not night:
                    there.add((protocol, rule))
                yield pytest.param(
                    f"{protocol}/{variant}", mistakes, asked, within, outcome, id=f"{variant}-{mistakes}-{asked}",
                    marks=marks,
                )  # fmt: skip


ROWS = list(rows())


def bounds_named(variant: Variant, name: str) -> tuple[Bounds, ...]:
    smoke = features_of(variant, "smoke")
    if name in ("smoke", "nightly"):
        return (bounds_of(variant, name),)
    if name in smoke:
        return (smoke[name],)
    if name in CHANGES:
        return (smoke[""] | CHANGES[name],)
    found = SIZES[name] if name in SIZES else getattr(bounds, name)
    return found if isinstance(found, tuple) else (found,)


def outcomes(spec: Spec, asked: Sequence[Property], bound: Bounds) -> set[str]:
    """The fewest steps to a violation of each, or that it waits, or holds."""
    made = explore(spec, {item.name: item for item in asked}, bound, stop_when_violated=len(asked) == 1)
    waiting = {name for name, result in check_progress(made).items() if result.verdict == "violated"}
    assert made.complete or made.violated
    return {
        "waits" if n in waiting else str(made.traces.steps(n)) if n in made.violated else made.verdicts.get(n, "holds")
        for n in (item.name for item in asked)
    }


@pytest.mark.parametrize(("name", "mistakes", "asked", "within", "outcome"), ROWS)
def test_what_a_mistake_breaks(name: str, mistakes: str, asked: str, within: str, outcome: str) -> None:
    protocol, _, of = name.partition("/")
    variant = protocols()[protocol].variant(of)
    pairs = [(rule, mistake) for rule, _, mistake in (each.partition(" ") for each in mistakes.split(" + ")) if mistake]
    spec = mutated(variant.properties.protocol.spec, pairs) if pairs else variant.spec
    names = [n for n, p in variant.promised.items() if p.role == "promise"] if "promises" in asked else []
    every = [variant.properties.properties[n] for n in (*names, *asked.split()) if n != "promises"]
    assert every
    for size in within.split(", "):
        found = [outcomes(spec, every, bound) for bound in bounds_named(variant, size)]
        assert {outcome} in found and (len(found) == 1 or outcome == "waits"), (size, found)


def test_every_mechanism_of_who_may_run_is_here() -> None:
    """But for those that the cores of task counts alone have."""
    mechanisms = {f"618.{n}" for n in (2, 6, 7, 12, 14, 15, 16, 18, 19, 24, 42, 43, 44)}
    assert {RULES[rule].kind for rule in mechanisms} == {"mechanism"}
    assert mechanisms <= {row.values[1].split()[0] for row in ROWS if row.values[0].startswith("task-counts/")}
