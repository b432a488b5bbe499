"""This module has Z3 compare the text of a step, which was made without it, with what it was asked of that step.

The text is read by Z3, and each assertion is compared with the formula that Z3's own reading of the same terms makes.
They are equal but for the names of quantified variables; where two readings differ in form, Z3 has to prove that the
one holds where the other does.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import z3
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.obligations import Obligation, invariant
from fencepost.proofs.engines.second.statements import Statement, goal, used
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.readings.solver.terms import Reading

TURNED = {z3.Z3_OP_GT: z3.Z3_OP_LT, z3.Z3_OP_GE: z3.Z3_OP_LE}
COMPARISONS = (z3.Z3_OP_EQ, z3.Z3_OP_LT, z3.Z3_OP_LE, *TURNED)


class Renamed(Reading):
    """A `Renamed` reading uses the names of the texts."""

    def named(self, name: str) -> str:
        return name if "!" in name else f"{name}$"


class Recorded(Question):
    """A `Recorded` question records what it asserts."""

    reads = Renamed

    def __init__(self, spec: Spec, rlimit: int) -> None:
        self.known: list[Any] = []
        super().__init__(spec, rlimit)

    def _know(self, what: str, formulas: list[Any]) -> None:
        self.known += formulas
        super()._know(what, formulas)


class Comparison:
    """A `Comparison` compares the statements of one proof of a settled protocol with what Z3 was asked."""

    def __init__(self, spec: Spec, properties: Mapping[str, Property]) -> None:
        self.spec, self.properties = spec, properties
        self.made: dict[tuple[bool, str], Recorded] = {}  # making a context of Z3 takes longer than most texts
        self.compared: dict[tuple[int, int], Any] = {}  # with the formulas, without which numbers would be used again

    def difference(self, stated: Statement) -> str | None:
        """Return which assertion of a statement is another than Z3 was asked, in words, or None if none is."""
        of = stated.obligation
        moment = (of.kind == "follows", of.action)
        if moment not in self.made:
            self.made, self.compared = {moment: _question(self.spec, of)}, {}
        question, always = self.made[moment], invariant(self.properties)
        asked = [*question.known, *(question.reading.truth(always[name], question.before) for name in used(of))]
        asked.append(z3.Not(question.claim(goal(of, self.properties)), question.reading.context))
        read = list(z3.parse_smt2_string(stated.text, ctx=question.reading.context))
        if len(read) != len(asked):
            return f"{stated.name} asserts {len(read)} formulas, and Z3 was asked {len(asked)}"
        for number, (a, b) in enumerate(zip(read, asked, strict=True), 1):
            pair = (a.get_id(), b.get_id())
            if pair not in self.compared and not alike(a, b) and not _equivalent(a, b):
                return f"assertion {number} of {stated.name} is not what Z3 was asked"
            self.compared[pair] = a, b
        return None


def _question(spec: Spec, of: Obligation) -> Recorded:
    """Return the question of the moment that an obligation is about, before anything of the invariant is asserted."""
    if of.action in spec.actions:
        return Recorded.step(spec, spec.actions[of.action], (), RLIMIT)
    return Recorded.state(spec, (), RLIMIT) if of.kind == "follows" else Recorded.initial(spec, RLIMIT)


def alike(a: Any, b: Any) -> bool:
    """Return whether two formulas of one context are equal but for the names of quantified variables."""
    seen: set[tuple[int, int]] = set()
    waiting: list[tuple[Any, Any]] = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        pair = (a.get_id(), b.get_id())
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        if z3.is_quantifier(a):
            if not z3.is_quantifier(b) or a.is_forall() != b.is_forall() or _bound(a) != _bound(b):
                return False
            waiting.append((a.body(), b.body()))
            continue
        if not (z3.is_app(a) and z3.is_app(b)):
            return False  # variables are numbers here, and equal ones are one object
        (of_a, args_a), (of_b, args_b) = _applied(a), _applied(b)
        if of_a != of_b or len(args_a) != len(args_b):
            return False
        waiting.extend(zip(args_a, args_b, strict=True))
    return True


def _applied(of: Any) -> tuple[Any, list[Any]]:
    """Return what a formula applies to what. Python turns a comparison whose right side is a numeral."""
    made, args = of.decl(), of.children()
    kind = made.kind()
    if kind in TURNED or (kind == z3.Z3_OP_EQ and z3.is_int_value(args[0])):
        args.reverse()
    return (TURNED.get(kind, kind), args) if made.kind() in COMPARISONS else (made.get_id(), args)


def _bound(of: Any) -> list[int]:
    return [of.var_sort(n).get_id() for n in range(of.num_vars())]


def _equivalent(a: Any, b: Any) -> bool:
    solver = z3.SimpleSolver(ctx=a.ctx)
    solver.set("rlimit", RLIMIT)
    solver.set("ctrl_c", False)
    solver.add(a != b)
    return bool(solver.check() == z3.unsat)


def differences(spec: Spec, properties: Mapping[str, Property], stated: Iterable[Statement]) -> list[str]:
    """Return a sentence for each statement that is not what Z3 was asked."""
    comparison = Comparison(spec, properties)
    return [words for words in map(comparison.difference, stated) if words is not None]
