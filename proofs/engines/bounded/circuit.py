"""Boolean circuits with shared gates, handed to Z3's SAT core as clauses.

A literal is an int, and its negation the negative; 1 is true.  Gates that are constant, repeated or contradictory
never come into being, so the first steps of an unrolling, where most is known, cost next to nothing.
"""

from collections.abc import Iterable

import z3

TRUE, FALSE = 1, -1


class Circuit:
    """Builds gates in Python and passes new clauses to Z3 in bulk, which is far faster than an expression at a time."""

    def __init__(self, rlimit: int) -> None:
        self.context = z3.Context()
        self.solver = z3.SolverFor("QF_FD", ctx=self.context)
        self.solver.set("rlimit", rlimit)
        self.solver.set("random_seed", 0)
        self.size = 1
        self._gates: dict[tuple[int, ...], int] = {}
        self._clauses: list[str] = ["1"]

    def fresh(self) -> int:
        self.size += 1
        return self.size

    def clause(self, *literals: int) -> None:
        """At least one of these is true."""
        if TRUE not in literals:
            self._clauses.append(" ".join(map(str, (x for x in literals if x != FALSE))))

    def both(self, literals: Iterable[int]) -> int:
        """Conjunction."""
        parts = set(literals)
        parts.discard(TRUE)
        if FALSE in parts or any(-x in parts for x in parts):
            return FALSE
        if len(parts) < 2:
            return parts.pop() if parts else TRUE
        key = tuple(sorted(parts))
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = self.fresh()
            for x in key:
                self.clause(-gate, x)
            self.clause(gate, *(-x for x in key))
        return gate

    def either(self, literals: Iterable[int]) -> int:
        """Disjunction."""
        return -self.both([-x for x in literals])

    def at_most_one(self, literals: list[int]) -> None:
        """No two of these few are true."""
        for place, x in enumerate(literals):
            for y in literals[:place]:
                self.clause(-x, -y)

    def one_of(self, literals: list[int]) -> None:
        """Exactly one of these many is true; the chain keeps the number of clauses linear."""
        self.clause(*literals)
        seen = FALSE
        for x in literals:
            self.clause(-x, -seen)
            seen = self.either((seen, x))

    def check(self, *assumed: int) -> z3.CheckSatResult:
        """Are all clauses satisfiable together with these literals?"""
        if FALSE in assumed:
            return z3.unsat
        if self._clauses:
            lines = (f"{clause} 0\n" for clause in self._clauses)
            self.solver.from_string(f"p cnf {self.size} {len(self._clauses)}\n{''.join(lines)}")
            self._clauses.clear()
        result = self.solver.check(*(self.expression(x) for x in assumed if x != TRUE))
        # Z3 takes an interrupt for itself; left at that, it would only read as one more question not decided.
        if result == z3.unknown and "interrupted" in self.solver.reason_unknown():
            raise KeyboardInterrupt
        return result

    def model(self) -> "Model":
        """The assignment that the last check found."""
        return Model(self, self.solver.model())

    def expression(self, literal: int) -> z3.BoolRef:
        # Z3 numbers the variables of a clause file by symbols, not by names.
        symbol = z3.Z3_mk_int_symbol(self.context.ref(), abs(literal))
        variable = z3.Z3_mk_const(self.context.ref(), symbol, z3.BoolSort(self.context).ast)
        expression = z3.BoolRef(variable, self.context)
        return expression if literal > 0 else z3.Not(expression)


class Model:
    """Literals under one satisfying assignment."""

    def __init__(self, circuit: Circuit, model: z3.ModelRef) -> None:
        self._circuit, self._model = circuit, model

    def __getitem__(self, literal: int) -> bool:
        if abs(literal) == TRUE:
            return literal == TRUE
        return bool(z3.is_true(self._model.eval(self._circuit.expression(literal), model_completion=True)))
