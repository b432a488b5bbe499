"""This module certifies that readings agree: cvc5 refutes each question on its own, and Ethos checks the proof.

The texts of the questions are printed by Z3, which also solves them first. So what is trusted is that a text is the
question: Z3's terms and how it prints them, the symbols on which the emitted functions are run, and the model language;
no solver's answer is.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fencepost.proofs.engines.second.asking import prove_by_cvc5, require_cvc5
from fencepost.proofs.engines.second.ethos import HOW_TO_GET, Ethos, NoChecker, reference
from fencepost.proofs.readings.equal.obligations import Part, Readings

Standing = Literal["certified", "agreed", "refused", "contradicted", "undecided"]
UNITS = 20_000_000
"""A question may use this many of cvc5's resources. They are of bit vectors, and take more of them than steps do."""
INDEXED = re.compile(r"\(\(_ (extract|zero_extend|sign_extend) ([\d ]+)\) ")
"""Ethos has such an operator's numbers as its first arguments, and reads no other form of it."""


@dataclass(frozen=True)
class Again:
    """An `Again` is what came of the parts of one result. A part is *agreed* if cvc5 refutes it and prints no proof, or
    there is no Ethos; *contradicted* if cvc5 has a state in which the readings differ. ``rest`` has the parts that are
    not certified, in words, each with its standing and why."""

    solver: str
    parts: int
    seconds: float
    rest: tuple[tuple[str, Standing, str], ...]

    @property
    def contradicts(self) -> bool:
        return any(standing == "contradicted" for _, standing, _ in self.rest)

    def as_dict(self) -> dict[str, Any]:
        rest = [{"part": part, "standing": standing, "why": why} for part, standing, why in self.rest]
        return {"solver": self.solver, "parts": self.parts, "certified": self.parts - len(rest), "rest": rest}


def checker() -> Ethos | None:
    """Return Ethos where it is found, with its rules."""
    try:
        return Ethos.found()
    except NoChecker:
        return None


def again(
    readings: Readings, parts: Iterable[Part], ethos: Ethos | None, report: Callable[[], object] = lambda: None
) -> Again:
    """Have each part certified. ``report`` is called after each of them. Errors: NoSecondSolver."""
    began, asked, rest = time.perf_counter(), 0, list[tuple[str, Standing, str]]()
    solver = f"cvc5 {require_cvc5()}"
    for part in parts:
        standing, why = of_statement(readings.statement(part), ethos)
        asked += 1
        if standing != "certified":
            rest.append((part.says, standing, why))
        report()
    return Again(solver, asked, time.perf_counter() - began, tuple(rest))


def of_statement(text: str, ethos: Ethos | None) -> tuple[Standing, str]:
    """Return how a question stands, and why it is not certified."""
    answer, proof = prove_by_cvc5(text, UNITS)
    if answer.result != "unsat":
        return ("contradicted" if answer.result == "sat" else "undecided"), f"cvc5: {answer.why or answer.result}"
    if not proof or ethos is None:
        return "agreed", answer.why if not proof else f"no Ethos; {HOW_TO_GET}"
    with tempfile.TemporaryDirectory() as folder:
        statement, printed = Path(folder) / "statement.smt2", Path(folder) / "proof.cpc"
        statement.write_text(INDEXED.sub(r"(\1 \2 ", text), encoding="utf-8")
        printed.write_text(f"{reference(statement.name)}\n{proof}", encoding="utf-8")
        verdict = ethos.check(statement, printed)
    return ("certified" if verdict.says == "correct" else "refused"), verdict.why
