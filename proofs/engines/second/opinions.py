"""This module turns cvc5's answers on the steps of a proof that Z3 has found into one Result for each property.

The verdict *holds* means that cvc5 also refutes every one of the property's texts. The verdict *unknown* means that it
gave up on some, which is reported and is not a failure. The verdict *violated* means that it finds a model of what Z3
has refuted, so that one of the two is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.proofs.engines.induction import Proof
from fencepost.proofs.engines.run_engines import result
from fencepost.proofs.engines.second.asking import LAST_RESORT_MS, UNITS, Answer, ask_cvc5, require_cvc5
from fencepost.proofs.engines.second.statements import Statement, is_stated, statements, title_of
from fencepost.proofs.results import Result, Verdict, worst
from fencepost.properties.catalogue import ProtocolEntry, Variant

ENGINE = "second-opinion"
DEAD = "dead_actions_never_happen"
"""The result of this name is about the obligations on actions alone."""
VERDICTS: dict[str, Verdict] = {"unsat": "holds", "sat": "violated"}


@dataclass(frozen=True)
class Opinion:
    """An `Opinion` is cvc5's answer on one obligation."""

    statement: Statement
    answer: Answer

    @property
    def verdict(self) -> Verdict:
        return VERDICTS.get(self.answer.result, "unknown")


def number_of_statements(proof: Proof) -> int:
    return sum(map(is_stated, proof.obligations))


def opinions(
    entry: ProtocolEntry,
    variant: Variant,
    proof: Proof,
    *,
    units: int = UNITS,
    report: Callable[[Opinion], None] | None = None,
) -> list[Opinion]:
    """Have cvc5 check every obligation that Z3 has proved. Errors: NoSecondSolver if it is not installed."""
    require_cvc5()
    found = []
    for stated in statements(variant.spec, variant.promised, proof.obligations, title_of(entry, variant)):
        found.append(Opinion(stated, ask_cvc5(stated.text, units)))
        if report is not None:
            report(found[-1])
    return found


def run_second(
    entry: ProtocolEntry, variant: Variant, proof: Proof, asked: Sequence[Opinion], *, units: int = UNITS
) -> list[Result]:
    """Return a Result for each property that is proved and not inherited, and for any on which the solvers disagree."""
    by_property: dict[str, list[Opinion]] = {}
    for opinion in asked:
        by_property.setdefault(opinion.statement.obligation.property, []).append(opinion)
    found = []
    for name, mine in by_property.items():
        verdict = worst(o.verdict for o in mine)
        if name and proof.verdict(name) != "holds" and verdict != "violated":
            continue
        kind = variant.promised[name].kind if name else "always"
        evidence = _evidence(mine, verdict, units)
        spent = sum(o.answer.seconds for o in mine)
        row = result(entry, variant, name or DEAD, kind, ENGINE, verdict, spent, None, evidence)
        # cvc5 is expected not to refute the proof, but it may give up.
        found.append(replace(row, expected="unknown" if verdict == "unknown" else "holds"))
    return found


def _evidence(mine: Sequence[Opinion], verdict: Verdict, units: int) -> dict[str, Any]:
    evidence: dict[str, Any] = {
        "solver": f"cvc5 {require_cvc5()}",
        "units": units,
        "last_resort_ms": LAST_RESORT_MS,
        "obligations": len(mine),
        "agrees": sum(o.verdict == "holds" for o in mine),
    }
    for answer, key in (("unknown", "gives_up"), ("violated", "disagrees")):
        if those := [o for o in mine if o.verdict == answer]:
            evidence[key] = [{"says": o.statement.says, "why": o.answer.why} for o in those]
    if verdict != "holds":
        does, key = {"unknown": ("gives up on", "gives_up"), "violated": ("has a model against", "disagrees")}[verdict]
        named = ": " + ", ".join(each["says"] for each in evidence[key]) if verdict == "violated" else ""
        evidence["reason"] = f"cvc5 {does} {len(evidence[key])} of {len(mine)}{named}"
    return evidence


def disagreements(title: str, asked: Sequence[Opinion]) -> list[str]:
    """Return a sentence for each obligation that Z3 has proved and for which cvc5 has a countermodel."""
    return [
        f"{title}: {o.statement.says}: Z3 says unsat, cvc5 says sat ({o.statement.name})"
        for o in asked
        if o.verdict == "violated"
    ]


def left_undecided(title: str, asked: Sequence[Opinion]) -> list[str]:
    """Return a sentence about what cvc5 gave up on, or nothing if it decided everything."""
    those = [o for o in asked if o.verdict == "unknown"]
    names = ", ".join(o.statement.says for o in those)
    return [f"{title}: cvc5 gives up on {len(those)} of {len(asked)} obligations: {names}"] if those else []
