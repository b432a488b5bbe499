"""Bounded model checking: is there a violation within so many steps of the initial state, and what is the shortest?

At each depth Z3 looks for a path to any property not decided so far, so that the first one found is a shortest one.
What is true of all paths so far is given to Z3 at the next depth: lemmas given along with promises make it faster, not
slower.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import z3
from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.derived.symmetric_sorts import interchangeable
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import Bounds, bound_of, has_bound
from fencepost.proofs.engines.bounded.cases import CaseReading
from fencepost.proofs.engines.bounded.circuit import FALSE, TRUE, Circuit
from fencepost.proofs.engines.bounded.unrolling import Unrolling
from fencepost.proofs.results import Trace, Verdict

RLIMIT = 200_000_000
"""Z3's resource limit for each question; sixteen steps of the largest protocol here need a tenth of it."""


@dataclass(frozen=True)
class Finding:
    """``violated`` comes with the shortest ``trace`` to the violation, and ``holds`` of a witness with the shortest
    to it.  Of other properties ``holds`` means: on every path of up to ``depth`` steps within the bounds.  A witness
    not found is unknown, as is what Z3 could not decide; ``depth`` is then how far it came.  ``complete``: within the
    bounds no path is longer."""

    property: str
    verdict: Verdict
    depth: int
    trace: Trace | None = None
    complete: bool = False


@dataclass(frozen=True)
class BoundedCheck:
    findings: dict[str, Finding]
    bounds: dict[str, int]
    seconds: float


def check(
    spec: Spec,
    properties: Mapping[str, Property],
    bounds: Bounds,
    depth: int,
    *,
    rlimit: int = RLIMIT,
    progress: Callable[[int, float], None] | None = None,
) -> BoundedCheck:
    """Every always, step and sometimes property of a settled protocol, to that depth.  ``bounds`` also give the
    constants their values and the faults their budgets; ``progress`` is called with each depth done and the seconds
    so far."""
    start = time.perf_counter()
    search = _Search(spec, properties, bounds, rlimit)
    while search.look() and search.unrolling.depth < depth:
        if progress is not None:
            progress(search.unrolling.depth, time.perf_counter() - start)
        search.unrolling.unroll()
    return BoundedCheck(search.findings(), dict(bounds), time.perf_counter() - start)


class _Search:
    def __init__(self, spec: Spec, properties: Mapping[str, Property], bounds: Bounds, rlimit: int) -> None:
        _check_bounds(spec, bounds)
        self.circuit = Circuit(rlimit)
        self.reading = CaseReading(spec, bounds, self.circuit)
        _check_axioms(self.reading)
        self.open = {name: p for name, p in properties.items() if p.kind in ("always", "step", "sometimes")}
        self.found: dict[str, Finding] = {}
        asked = [term for p in self.open.values() for term in p.terms]
        self.unrolling = Unrolling(self.reading, interchangeable(spec, asked))
        self.complete = False

    def look(self) -> bool:
        """Decides what can be decided at this depth; False if there is nothing left to look for deeper down."""
        goals = {name: literal for name, p in self.open.items() if (literal := self._goal(p)) != FALSE}
        result = z3.unsat
        while goals and (result := self.circuit.check(self.circuit.either(goals.values()))) == z3.sat:
            model = self.circuit.model()
            trace = self.unrolling.trace(model)
            for name in [name for name, literal in goals.items() if model[literal]]:
                del goals[name]
                item = self.open.pop(name)
                verdict: Verdict = "holds" if item.kind == "sometimes" else "violated"
                self.found[name] = Finding(name, verdict, len(trace), trace)
        for name, literal in goals.items():
            if result == z3.unknown:
                self.found[name] = Finding(name, "unknown", self.unrolling.depth - 1)
                del self.open[name]
            else:
                self.circuit.clause(-literal)
        self.complete = self.circuit.check() == z3.unsat
        return bool(self.open) and not self.complete

    def _goal(self, item: Property) -> int:
        """The literal that the path to this depth decides the property: it ends in a witness or in a violation."""
        states, truth = self.unrolling.states, self.reading.truth
        if item.kind == "step" and len(states) > 1:
            return -truth(item.term, states[-2], states[-1])
        if item.kind == "step":
            return FALSE if item.initially is None else -truth(item.initially, states[0])
        return truth(item.term, states[-1]) if item.kind == "sometimes" else -truth(item.term, states[-1])

    def findings(self) -> dict[str, Finding]:
        depth = self.unrolling.depth
        for name, item in self.open.items():
            verdict: Verdict = "unknown" if item.kind == "sometimes" else "holds"
            self.found[name] = Finding(name, verdict, depth, None, self.complete)
        return self.found


def _check_bounds(spec: Spec, bounds: Bounds) -> None:
    needed = [*spec.constants, *(a.budget for a in spec.actions.values() if a.budget is not None)]
    if missing := [name for name in dict.fromkeys(needed) if not has_bound(bounds, name)]:
        raise ModelError(
            f"{spec.name}: the bounds lack {', '.join(missing)}; give constants a value and faults a budget"
        )


def _check_axioms(reading: CaseReading) -> None:
    for axiom in reading.spec.axioms:
        if reading.truth(axiom, {}) != TRUE:
            chosen = {name: bound_of(reading.bounds, name) for name in reading.spec.constants}
            raise ModelError(
                f"{reading.spec.name}: the axiom {axiom!r} does not hold for {chosen}; choose other constants"
            )
