"""This module asks one induction question at a time, which is whether an action leads from states of the invariant to
states of a property.

A `Question` owns a Z3 context and a solver that already has the protocol and the invariant. Each part of the invariant
has a switch, so that an answer names the parts it needed and Houdini can ask again without some. Effort is limited by
Z3's resource count, which does not depend on the machine.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import z3
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.proofs.readings.solver.states import SymbolicState, UpdatedState, initial_state
from fencepost.proofs.readings.solver.terms import Reading, Value, View
from fencepost.proofs.results import Verdict

RLIMIT = 2_000_000
"""The limit is two to ten seconds of one core. Of what was measured, opening a producer in end-to-end/sources-resume
needs most: 489,845 under z3-solver 5.4.0 and 1,148,911 under 5.4.1, by the steps of the core that its refinement
states. Without these 5.4.0 needs 1,913,835, and 5.4.1 does not decide it."""
SPARING = 10_000
"""Each attempt to do without a part of the invariant that a proof used has this limit. The limit leaves 1,349 parts in
the steps of six proofs of this project, and ten times as much leaves 1,344."""
SOON = 200_000
"""The first search for a possible state or step has this limit. With it source-commits/shipped-mended and
read-committed take 8.5 s together. With 10,000, which tries small models first for what is not possible, they take 20.4
s."""


@dataclass(frozen=True)
class Answer:
    """An `Answer` is a verdict. ``uses`` has the invariant's parts that a proof needed, or that exclude the case."""

    verdict: Verdict
    uses: frozenset[Term] = frozenset()


def own_name(spec: Spec, parameter: str) -> str:
    """Return a parameter's name in the formulas, which must differ from those of variables and constants."""
    return f"{parameter}!chosen" if parameter in spec.types or parameter in spec.constants else parameter


class Question:
    """A `Question` is a solver that has the axioms, and the states ``before`` and ``after`` of one moment with what is
    known of them.

    For ``initial``, the state after is an initial one, and there is none before. For ``state``, both are the same state
    of the invariant. For ``step``, they are a state of the invariant, and the state after one action with parameters
    ``names``.
    """

    reads: ClassVar[type[Reading]] = Reading

    def __init__(self, spec: Spec, rlimit: int) -> None:
        self.spec, self.rlimit = spec, rlimit
        self.reading = self.reads(spec)
        self.action: Action | None = None
        self.before = SymbolicState(self.reading)
        self.after: View = self.before
        self.names: dict[str, Value] = {}
        self.switches: dict[Term, Any] = {}
        self.solver = z3.SimpleSolver(ctx=self.reading.context)
        self.solver.set("rlimit", rlimit)
        self.solver.set("random_seed", 0)
        self.solver.set("ctrl_c", False)  # else Z3 swallows interrupts
        for name, kind in spec.constants.items():
            self._know(f"the type of the constant {name}", self.reading.within(self.reading.constants[name], kind))
        self._know("axioms", [self.reading.truth(axiom, self.before) for axiom in spec.axioms])

    @classmethod
    def initial(cls, spec: Spec, rlimit: int) -> Self:
        question = cls(spec, rlimit)
        question.after = initial_state(question.reading)
        return question

    @classmethod
    def state(cls, spec: Spec, invariant: Iterable[Term], rlimit: int) -> Self:
        question = cls(spec, rlimit)
        question._assume(invariant)
        return question

    @classmethod
    def step(cls, spec: Spec, action: Action, invariant: Iterable[Term], rlimit: int) -> Self:
        question = cls(spec, rlimit)
        question.action, reading = action, question.reading
        question.names = {name: reading.variable(own_name(spec, name), kind) for name, kind in action.parameters}
        question.after = UpdatedState(reading, question.before, action.updates, question.names)
        question._assume(invariant)
        for name, kind in action.parameters:
            question._know(f"the type of the parameter {name}", reading.within(question.names[name], kind))
        for guard in action.guards:
            rule = f" [{guard.rule}]" if guard.rule else ""
            truth = reading.truth(guard.condition, question.before, None, question.names)
            question._know(f"a guard of {action.name}{rule}", [truth])
        return question

    def _know(self, what: str, formulas: list[Any]) -> None:
        """Add what is known regardless of assumptions. ``what`` is a description. The formulas are not stored here,
        because formulas that live on would change the numbers that Z3 gives to later ones, and so which proof it finds.
        """
        self.solver.add(formulas)

    def _assume(self, invariant: Iterable[Term]) -> None:
        self._know("the types of the variables", self.before.within(list(self.spec.types)))
        for number, part in enumerate(invariant):
            self.switches[part] = z3.Bool(f"assume!{number}", self.reading.context)
            self.solver.add(z3.Implies(self.switches[part], self.reading.truth(part, self.before)))

    def demand(self, switch: Term, conditions: Iterable[Term]) -> None:
        """Add further conditions of the step, with a switch like the parts of the invariant."""
        self.switches[switch] = z3.Bool(f"demand!{len(self.switches)}", self.reading.context)
        for condition in conditions:
            truth = self.reading.truth(condition, self.before, None, self.names)
            self.solver.add(z3.Implies(self.switches[switch], truth))

    def check(self, assuming: Iterable[Term], limit: int | None = None) -> Any:
        """Check the assumed parts. ``limit`` is Z3's resources, if that is less than usual."""
        switches = [self.switches[part] for part in assuming if part in self.switches]
        if limit is None:
            return self.solver.check(*switches)
        self.solver.set("rlimit", limit)
        result = self.solver.check(*switches)
        self.solver.set("rlimit", self.rlimit)
        return result

    def suppose(self, *formulas: Any) -> None:
        """Add formulas that `forget` removes."""
        self.solver.push()
        self.solver.add(*formulas)

    def forget(self) -> None:
        self.solver.pop(self.solver.num_scopes())

    def claim(self, term: Term) -> Any:
        """Return the formula that ``term`` holds after the step, or, if it has primed variables, of the step, whose
        parameters it may name."""
        two_states = any(node.op == "state" and node.data[1] for node in subterms(term))
        if not two_states:
            return self.reading.truth(term, self.after)
        return self.reading.truth(term, self.before, self.after, self.names)

    def proves(self, term: Term, assuming: Iterable[Term]) -> Answer:
        """Return whether ``term`` holds after, or with primed variables of, every such step. A refuted case stays."""
        self.suppose(z3.Not(self.claim(term)))
        result = self.check(assuming)
        if result == z3.unknown and (instances := list(self._instances(term))):
            self.solver.add([z3.Not(instance) for instance in instances])  # of which each follows from the above
            result = self.check(assuming)
        if result != z3.unsat:
            return Answer("violated" if result == z3.sat else "unknown")
        return Answer("holds", self._core())

    def _instances(self, term: Term) -> Iterator[Any]:
        """Yield, of a claim that there is a choice of parameters, such as those of a core's step, the case that they
        are the step's own parameters of the same names, which some releases of Z3 do not try within the limit."""
        own = dict(self.action.parameters) if self.action is not None else {}
        for node in term.args if term.op == "or" else (term,):
            chosen = {name: name.partition(".")[0] for name, _ in node.data} if node.op == "exists" else {}
            if chosen and all(own.get(chosen[name]) == kind for name, kind in node.data):
                values = {name: self.names[parameter] for name, parameter in chosen.items()}
                yield self.reading.truth(node.args[0], self.before, self.after, values)

    def minimal(self, answer: Answer, keep: Term, limit: int) -> frozenset[Term]:
        """Return those of the parts used by the last proof of which none can be left out. ``keep`` is always retained,
        as is a part that Z3 cannot do without within ``limit`` of its resources."""
        needed = [part for part in self.switches if part in answer.uses]
        for part in reversed(needed):
            if part is not keep and part in needed:
                rest = [other for other in needed if other is not part]
                if self.check(rest, limit) == z3.unsat:
                    core = self._core()
                    needed = [other for other in rest if other in core]
        return frozenset(needed)

    def possible(self, term: Term, assuming: Iterable[Term], limit: int | None = None) -> Answer:
        """Return whether some such step satisfies ``term``, with `holds` if there is one and `violated` if there is
        none. ``limit`` is Z3's resources, if that is less than usual."""
        self.suppose(self.reading.truth(term, self.before, self.after))
        result = self.check(assuming, limit)
        if result == z3.unsat:
            return Answer("violated", self._core())
        return Answer("holds" if result == z3.sat else "unknown")

    def _core(self) -> frozenset[Term]:
        core = {switch.get_id() for switch in self.solver.unsat_core()}
        return frozenset(part for part, switch in self.switches.items() if switch.get_id() in core)
