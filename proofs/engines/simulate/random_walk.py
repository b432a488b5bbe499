"""This module has `wander`, a random search through a model, plain or aimed.

    found = wander(variant, {"workers": 2, "tasks": 2, "log": 4}, seed=1, steps=20_000)
    found.promise, found.trace          # what broke, and a run from the initial state; None if nothing was found

The search proves nothing. Random walks are for models that are too large for exhaustive search, and to see what random
testing of an implementation can be expected to find.

Walks with targets are Hypothesis's, which chooses steps by what came near. All others are drawn here, since on a small
model, where the steps of a state are known once it was visited, Hypothesis takes nearly all of the time.
"""

import random
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from fencepost.proofs.engines.simulate.distance import distance
from fencepost.proofs.engines.simulate.machine import Over, Session, machine
from fencepost.proofs.engines.simulate.shortening import shorten
from fencepost.proofs.engines.simulate.walks import FINE, Starts, Walker, Weights, starts
from fencepost.proofs.pages.stories import lane_of
from fencepost.proofs.results import Trace
from fencepost.proofs.testing.fault_counts import by_seed_alone
from fencepost.properties.catalogue import Variant
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

Aim = Literal["starts", "near", "weights", "targets"]
AIMS: tuple[Aim, ...] = get_args(Aim)
EXAMPLES = 100
"""A round has this many examples. Weights are learned between rounds, and targets followed in their second half."""
RUNS = 160
"""This many runs are taken from the explorer."""
LENGTH = {False: 40, True: 12}
"""An example has this many random steps, without and with runs to set out from."""


@dataclass(frozen=True)
class Wandering:
    """A `Wandering` is the result of a simulation. ``steps`` counts the steps until the promise broke, or all.
    ``explored`` counts the states that the explorer visited for the starts, and ``actions`` how often each action was
    taken. ``raw`` is the length of the run before it was shortened. ``shortest`` is true if no run is shorter."""

    seed: int
    aims: tuple[Aim, ...]
    bounds: dict[str, int]
    promise: str | None
    trace: Trace | None
    steps: int
    examples: int
    explored: int
    actions: Mapping[str, int]
    seconds: float
    raw: int = 0
    shortest: bool = False


def wander(
    variant: Variant, bounds: Mapping[str, int], *, seed: int, steps: int, aims: Collection[Aim] = AIMS,
    length: int | None = None, sources: Starts | None = None,
    started: Callable[[Callable[[], Wandering]], object] = lambda _: None,
) -> Wandering:  # fmt: skip
    """Walk at random, ``length`` steps in each walk in addition to the run that it sets out from, until a promise
    breaks or ``steps`` are made.

    ``aims`` guide the walks, and an empty one makes them plain. Examples set out from runs of the correct model, to
    ``starts`` of all depths, or also to states ``near`` to breaking a promise or reaching a witness. ``weights`` prefer
    actions that are seldom possible, and ``targets`` are distances that Hypothesis minimises. ``sources`` has the runs
    to set out from, which otherwise the explorer finds in the correct variant. ``started`` gets, before the first step,
    a function that makes a report of the walks so far. The same arguments give the same report, except for ``seconds``.
    """
    begun = time.perf_counter()
    promises = {n: p for n, p in variant.asked.items() if p.role in ("promise", "step")}
    walker = Walker(variant.spec, promises, bounds)
    session = Session(walker, steps)

    def report(promise: str | None, trace: Trace | None) -> Wandering:
        return Wandering(
            seed, tuple(a for a in AIMS if a in aims), dict(bounds), promise, trace, session.taken, session.examples,
            sources.explored if sources else 0,
            {name: session.actions[name] for name in variant.spec.actions}, time.perf_counter() - begun,
        )  # fmt: skip

    started(lambda: report(session.broken[1] if session.broken else None, None))
    wanted = promises | {n: p for n, p in variant.asked.items() if p.role == "witness"}
    if "starts" in aims or "near" in aims:
        sound = replace(variant, reading=None).spec
        sources = sources or starts(sound, wanted if "near" in aims else {}, bounds, RUNS, seed)
        session.runs = sources.runs
    if "weights" in aims:
        session.weights = Weights(list(variant.spec.actions))
    if "targets" in aims:
        session.distances = {n: distance(walker.plain, p) for n, p in wanted.items()}
    with suppress(Over):
        for which in range(1, len(session.runs)):  # a run of the correct model may break this variant
            session.begin(which)
    _search(session, seed, length or LENGTH[len(session.runs) > 1])
    walk, promise = session.broken or (None, None)
    if walk is None or promise is None:
        return report(None, None)
    made = shorten(walker, walk.events, promise, lambda event: lane_of(variant.spec.actions[event.action], event))
    return replace(report(promise, made.walk.trace), raw=len(walk.events), shortest=made.shortest)


def _search(session: Session, seed: int, length: int) -> None:
    """Take walks until the session is over, in rounds."""
    if not session.walker.steps(session.walker.walk()):
        return
    drawn, number = random.Random(seed), seed * 100_003
    while not session.over:
        if session.distances:
            _with_targets(session, number, length)
        else:
            with suppress(Over):
                for _ in range(EXAMPLES):
                    _walk(session, drawn, length)
        if session.weights is not None:
            session.weights.learn()
        number += 1


def _walk(session: Session, drawn: random.Random, length: int) -> None:
    walk = session.set_out(drawn.randrange(FINE))
    for _ in range(length):
        steps = session.walker.steps(walk)
        if not steps:
            return
        session.step(walk, steps, drawn.randrange(FINE))


def _with_targets(session: Session, number: int, length: int) -> None:
    chosen: dict[str, Any] = dict(
        max_examples=EXAMPLES, stateful_step_count=length, deadline=None, database=None, verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.target), print_blob=False,
        derandomize=False, report_multiple_bugs=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with by_seed_alone(), suppress(Over):
                run_state_machine_as_test(seeded(number)(machine(session)), settings=settings(**chosen))
        except Flaky:
            if not session.over:  # else the session itself cut the example short
                raise
