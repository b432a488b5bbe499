"""This module has two solvers, cvc5 and Z3 once more, read an SMT-LIB text as it stands, and has cvc5 print proofs.

Effort is limited by each solver's own count of resources, which does not depend on the machine. A limit of time covers
what cvc5 does without counting. An answer states which limit has ended it.
"""

import re
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Literal

import z3
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.optional_packages import how_to_install
from fencepost.proofs.readings.solver.solving import RLIMIT

SolverResult = Literal["unsat", "sat", "unknown"]

UNITS = 200_000
"""Each attempt at a text may use this many of cvc5's resources."""
LAST_RESORT_MS = 60_000
"""Each attempt may take this many milliseconds, far more than its resources do, so that these decide."""
ATTEMPTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("by matching", {}),
    ("by enumeration", {"enum-inst": "true", "miniscope-quant": "agg"}),
    ("by enumeration and models", {"mbqi-enum": "true"}),
)
"""These are the ways in which cvc5 finds instances of universal statements, tried one after another until one decides.
Matching has no pattern for a number that is compared and is not an argument of anything, and enumeration needs none.
Finite model finding (`finite-model-find`) is excluded, since with `fmf-bound` cvc5 1.4.2 found models for texts that it
refutes itself in other ways."""


PROOF_ATTEMPTS: tuple[tuple[str, dict[str, str]], ...] = (
    ("by matching", {}),
    ("by enumeration and models", {"mbqi-enum": "true"}),
    ("by enumeration", {"enum-inst": "true"}),
    ("by enumeration within scopes", {"enum-inst": "true", "miniscope-quant": "agg"}),
    ("by enumeration of any terms", {"enum-inst": "true", "enum-inst-rd": "false"}),
)
"""A proof is looked for in this order. Of the steps that need enumeration, a proof by models is complete in all that
were tried, and one that narrows the scope of quantifiers is often not. The last one does not begin with the terms to
which a function is applied already. The order of terms decides what enumeration finds, so that each finds some more."""
PRINTED = {
    "produce-proofs": "true", "proof-format-mode": "cpc", "proof-granularity": "dsl-rewrite",
    "proof-print-reference": "true",
}  # fmt: skip
ON_TRUST = ":rule trust"
"""The rule of CPC with which cvc5 marks a step of which it prints no proof. A checker calls such a proof incomplete."""
VALUE = re.compile(r"@[^\s()]*\$_\d")
"""A value that cvc5 has made of a sort for a model. No checker knows what it is, but another attempt does without."""


class NoSecondSolver(InputError):
    """This error means that cvc5 is not installed."""


@dataclass(frozen=True)
class Answer:
    """An `Answer` is a solver's result for a text. ``why`` is how the result was found, or what ended the attempt."""

    result: SolverResult
    seconds: float
    why: str = ""


def require_cvc5() -> str:
    """Return the version of cvc5. Errors: NoSecondSolver, with what to install, if there is none."""
    try:
        if find_spec("cvc5") is None:
            raise PackageNotFoundError
        return version("cvc5")
    except PackageNotFoundError:
        raise NoSecondSolver(f"a second opinion needs cvc5: {how_to_install('second')}") from None


def ask_cvc5(text: str, units: int = UNITS) -> Answer:
    """Have cvc5 check the text in one way after another. ``units`` limits each attempt."""
    start, ended = time.perf_counter(), ""
    for how, options in ATTEMPTS:
        result, ended, _ = _attempt(text, units, options)
        if result != "unknown":
            return Answer(result, time.perf_counter() - start, how)
    return Answer("unknown", time.perf_counter() - start, ended)


def prove_by_cvc5(text: str, units: int = UNITS) -> tuple[Answer, str]:
    """Have cvc5 refute the text, and return its answer with its proof in the format CPC, a command a line. The proof is
    empty if no attempt came to one that a checker can read, without steps on trust, and the answer says why."""
    start, last, refuted = time.perf_counter(), "", False
    for how, options in PROOF_ATTEMPTS:
        result, ended, solver = _attempt(text, units, options | PRINTED)
        if result == "sat":
            return Answer(result, time.perf_counter() - start, how), ""
        if result == "unsat":
            refuted, proof = True, _printed(solver)
            if ON_TRUST not in proof and VALUE.search(proof) is None:
                return Answer(result, time.perf_counter() - start, how), proof
            ended = "its proof has a step on trust" if ON_TRUST in proof else "its proof has a value of its own"
        last = ended
    return Answer("unsat" if refuted else "unknown", time.perf_counter() - start, last), ""


def _printed(solver: Any) -> str:
    import cvc5

    [proof] = solver.getProof()
    text = solver.proofToString(proof, cvc5.ProofFormat.CPC)
    lines = (text.decode() if isinstance(text, bytes) else str(text)).strip().splitlines()
    assert (lines[0], lines[-1]) == ("(", ")"), "another layout than that of cvc5 1.4"
    return "\n".join(lines[1:-1]) + "\n"


def _attempt(text: str, units: int, options: dict[str, str]) -> tuple[SolverResult, str, Any]:
    import cvc5

    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    limits = {"rlimit-per": str(units), "tlimit-per": str(LAST_RESORT_MS), "seed": "0", "incremental": "false"}
    for name, value in (limits | options).items():
        solver.setOption(name, value)
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "statement")
    result: Any = None
    while not (command := parser.nextCommand()).isNull():
        if command.getCommandName() == "set-info":  # cvc5 would abort where the expected status differs
            continue
        if command.getCommandName() == "check-sat":
            result = solver.checkSat()
        elif (answered := str(command.invoke(solver, symbols))).startswith("(error"):
            raise ValueError(f"cvc5 cannot read the text: {answered}")
    assert result is not None, "a text without (check-sat)"
    if result.isUnsat():
        return "unsat", "", solver
    if result.isSat():
        return "sat", "", solver
    return "unknown", _ended(result.getUnknownExplanation(), units), solver


def _ended(why: Any, units: int) -> str:
    known = {"RESOURCEOUT": f"it has used up {units:,} units", "TIMEOUT": f"{LAST_RESORT_MS // 1000} s have gone by"}
    return known.get(why.name, "it has no more instances to try")


class Z3Again:
    """A `Z3Again` has Z3 check a text alone, in a context of its own. A context takes long to make, so one serves all
    texts of a variant, with a new solver for each."""

    def __init__(self, rlimit: int = RLIMIT) -> None:
        self.context, self.rlimit = z3.Context(), rlimit

    def ask(self, text: str) -> Answer:
        start = time.perf_counter()
        solver = z3.SimpleSolver(ctx=self.context)
        solver.set("rlimit", self.rlimit)
        solver.set("random_seed", 0)
        solver.set("ctrl_c", False)
        solver.from_string(text)
        answer = solver.check()
        result: SolverResult = "unsat" if answer == z3.unsat else "sat" if answer == z3.sat else "unknown"
        return Answer(result, time.perf_counter() - start, solver.reason_unknown() if result == "unknown" else "")


def z3_version() -> str:
    return str(z3.get_version_string())
