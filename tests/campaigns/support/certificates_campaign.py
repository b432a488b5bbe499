"""Every step of every proof, certified: proved by cvc5 and checked by Ethos against its statement.

    python tests/script.py tests/campaigns/support/certificates_campaign.py [--readings] --checked DIR [--cores 1] \\
        FILE [PROTOCOL/VARIANT...]
    python tests/script.py tests/campaigns/support/certificates_campaign.py page FILE proofs/verdicts/certificates.md

Of all main variants that are proved, or of those that are named.  FILE (`proofs/verdicts/certificates.json`) has a row
a variant, in the form of `second_campaign.py`; DIR has what came of each statement, by its hash, so that a run that was
stopped goes on within a variant too, and a statement of several variants is checked once.  Exit code 1 if cvc5 has a
model against anything that Z3 has refuted, or Ethos refuses a proof.  With `--readings`, of the same variants: that the
readings agree (`fencepost prove --readings --second-opinion cvc5`), where a check that ran out of time refuses none;
FILE (`certified-readings.json`) goes into the page that is made next to it.
"""

import argparse
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fencepost.model.language.tree.terms import Term
from fencepost.proofs.engines import induction
from fencepost.proofs.engines.obligations import Kind, Obligation
from fencepost.proofs.engines.run_engines import run_readings
from fencepost.proofs.engines.second import certified_readings
from fencepost.proofs.engines.second.asking import UNITS, prove_by_cvc5, require_cvc5, z3_version
from fencepost.proofs.engines.second.ethos import HOW_TO_GET, Ethos, reference
from fencepost.proofs.engines.second.statements import asserted, needed_steps, statements
from fencepost.proofs.necessity.tables import digest
from fencepost.proofs.readings.solver.solving import Question
from fencepost.proofs.report import write_text
from fencepost.proofs.scope.certified import CHECKED_BY, STATED_BY, code, outdated, standing
from fencepost.properties.catalogue import Variant, bounds_of, find, protocols
from second_campaign import each_variant, proved

CHECKED = "FENCEPOST_CHECKED"
"""The variable by which the processes of a campaign have its directory of what is checked."""

HEAD = f"""# Steps whose proofs are certified

Made by `tests/campaigns/support/certificates_campaign.py page`. Of every main variant that is proved: the steps of its
induction are recomputed from the model, of the whole where it has parts; each is stated in SMT-LIB 2, proved by cvc5,
and the proof is checked by Ethos against that statement. *Certified* are the steps of which Ethos says *correct*. Then
the model language, the text that states a step, Ethos, and the rules of cvc5's proof format are trusted, and no solver.
`fencepost prove PROTOCOL/VARIANT --certificates DIR` makes such certificates, and `fencepost audit DIR` checks them.
To have Ethos: {HOW_TO_GET}.
"""
CERTIFIED_BY = (*CHECKED_BY, "proofs/engines/second/certified_readings.py")
"""What has questions on readings checked."""
READ_BY = ("proofs/readings", "proofs/engines/explore", "proofs/engines/run_engines.py", *CERTIFIED_BY)
"""What states them, too."""
LATE = "has not ended within"
"""Part of what Ethos's verdict says when the check ran out of time (`ethos.py`)."""
READINGS = "certified-readings.json"
OF_READINGS = f"""
## Readings

What the explorer's packed words and the columns of replay execute is what the Z3 terms state, in all states within the
bounds of the smoke profile: a question for each choice of an action's parameters, and for each property. *Certified*:
cvc5 has proved it within {certified_readings.UNITS:,} units, and Ethos finds the proof correct. Z3 prints the texts of
these questions, so that its terms are trusted, and its answers are not. Where Ethos has not ended, cvc5 has proved the
question, and the proof was not checked. Plain Python is run, in reachable states, and not proved.
"""


@cache
def ethos() -> Ethos:
    return Ethos.found()


@cache
def tools() -> str:
    return f"Z3 {z3_version()}, cvc5 {require_cvc5()} within {UNITS:,} units, {ethos().version()}"


def once(checked: Path, answer: Callable[[], dict[str, Any]], *asked: str) -> dict[str, Any]:
    """What an answer is, from the directory of what is checked if it is there."""
    key = hashlib.sha256("\0".join(asked).encode()).hexdigest()
    kept = checked / key[:2] / f"{key[2:]}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    found = json.dumps(answer())
    if LATE not in found:  # which says how busy the machine was
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, found + "\n")
    return dict(json.loads(found))


def of_statement(text: str, checked: Path) -> dict[str, Any]:
    """What Ethos says of cvc5's proof of a statement."""

    def answer() -> dict[str, Any]:
        answer, proof = prove_by_cvc5(text)
        found = {"cvc5": answer.result, "how": answer.why, "ethos": "", "why": ""}
        if proof:
            with tempfile.TemporaryDirectory() as folder:
                statement, printed = Path(folder) / "statement.smt2", Path(folder) / "proof.cpc"
                statement.write_text(text, encoding="utf-8")
                printed.write_text(f"{reference(statement.name)}\n{proof}", encoding="utf-8")
                verdict = ethos().check(statement, printed)
            found |= {"ethos": verdict.says, "why": verdict.why, "bytes": len(proof)}
        return found

    return once(checked, answer, asserted(text), code(*CHECKED_BY), tools())


OF_QUESTION = certified_readings.of_statement


def of_question(text: str, ethos: Ethos | None) -> tuple[certified_readings.Standing, str]:
    """How a question on readings stands, and why it is not certified."""
    asked = text, code(*CERTIFIED_BY), tools(), str(certified_readings.UNITS)
    found = once(Path(os.environ[CHECKED]), lambda: {"answer": OF_QUESTION(text, ethos)}, *asked)
    standing, why = found["answer"]
    # A check that ran out of time has not judged the proof.
    return ("undecided" if LATE in why else standing), why


POSSIBLE = induction._possible


def only_of_dead_actions(
    question: Question, kind: Kind, name: str, term: Term, always: Mapping[str, Term]
) -> Obligation:
    """What is possible is in no certificate, and Z3 5.4.0 ends with a segmentation fault where it looks for a small
    state of end-to-end/abstract-over-core-v2. That nothing enables a dead action is a step of the proof."""
    if question.action is not None and question.action.dead is not None and kind == "enabled":
        return POSSIBLE(question, kind, name, term, always)
    return Obligation(kind, question.action.name if question.action else "", name, "unknown", 0.0)


def of_variant(which: str) -> dict[str, Any]:
    """What is certified of the proof of one variant."""
    began = sum(os.times()[:4])
    _, variant = find(which)
    with patch.object(induction, "_possible", only_of_dead_actions):
        proof = induction.prove(variant.spec, variant.promised, again=True, counterexamples=False)
    rest, refused, stated = [], [], set()
    for each in statements(variant.spec, variant.promised, proof.obligations, which):
        o = each.obligation
        stated.add((o.kind, o.action, o.property))
        found = of_statement(each.text, Path(os.environ[CHECKED]))
        if found["ethos"] != "correct":
            why = found["why"] or (f"cvc5 says {found['cvc5']}" + (f", {found['how']}" if found["how"] else ""))
            rest.append({"step": each.says, "cvc5": found["cvc5"], "why": why})
        if found["ethos"] == "refused" or found["cvc5"] == "sat":
            refused.append(each.says)
    needed = needed_steps(variant.spec, variant.promised)
    parts = {name: item.source.part for name, item in variant.promised.items() if item.source is not None}
    for step in sorted(needed - stated):
        of = f"proved of the part {parts[step[2]]}, by Z3, and not inductive in the whole"
        why = of if step[2] in parts else "Z3 has not proved it"
        rest.append({"step": " ".join(filter(None, step)), "cvc5": "", "why": why})
    assert stated <= needed, "a step that no induction needs"
    return {
        "variant": which, "models": digest(variant), "code": code(*STATED_BY, *CHECKED_BY), "tools": tools(),
        "steps": len(needed), "certified": len(needed) - len(rest), "rest": rest, "refused": refused,
        "seconds": round(sum(os.times()[:4]) - began),
    }  # fmt: skip


def of_readings(which: str) -> dict[str, Any]:
    """What is certified of the readings of one variant."""
    began = sum(os.times()[:4])
    entry, variant = find(which)
    asks = partial(certified_readings.again, ethos=ethos())
    with patch.object(certified_readings, "of_statement", of_question):
        results, _ = run_readings(entry, variant, bounds_of(variant, "smoke"), 1, lambda: None, asks)
    asked = [r.evidence["second"] for r in results if "second" in r.evidence]
    parts, rest = sum(each["parts"] for each in asked), [one for each in asked for one in each["rest"]]
    return {
        "variant": which, "models": digest(variant), "code": code(*READ_BY), "tools": tools(),
        "steps": parts, "certified": parts - len(rest),
        "rest": [{"step": one["part"], "cvc5": one["standing"], "why": one["why"]} for one in rest],
        "refused": [one["part"] for one in rest if one["standing"] in ("refused", "contradicted")]
        + [r.property for r in results if r.verdict == "violated"],
        "seconds": round(sum(os.times()[:4]) - began),
    }  # fmt: skip


def is_of_readings(row: Mapping[str, Any], variant: Variant) -> bool:
    return (row["models"], row["code"], row["tools"]) == (digest(variant), code(*READ_BY), tools())


def is_of(row: Mapping[str, Any], variant: Variant) -> bool:
    """Whether it was asked of this model, by this code, and of these tools."""
    return (row["models"], row["code"], row["tools"]) == (digest(variant), code(*STATED_BY, *CHECKED_BY), tools())


def said(row: Mapping[str, Any]) -> str:
    refused = f", {len(row['refused'])} refused" if row["refused"] else ""
    return f"{row['certified']} of {row['steps']} certified{refused}, {row['seconds']} s"


def page(rows: list[dict[str, Any]], of_readings: list[dict[str, Any]]) -> str:
    """What is kept, as Markdown."""
    refused = sum(len(row["refused"]) for row in rows) or "none"
    old = outdated(standing(protocols().values())[1])
    lines = [
        HEAD, *counted("steps", rows), f"Ethos refuses the proofs of {refused} of them. Made by",
        " and ".join(dict.fromkeys(row["tools"] for row in rows)) + ".",
        *([f"{old[0].upper()}{old[1:]}."] if old else []), "", *table("steps", rows),
    ]  # fmt: skip
    others = [row["variant"] for row in of_readings
              if (row["models"], row["code"]) != (digest(find(row["variant"])[1]), code(*READ_BY))]  # fmt: skip
    lines += [
        OF_READINGS, *counted("questions", of_readings),
        *([f"Out of date, by other models or code: {', '.join(others)}."] if others else []), "",
        *table("questions", of_readings),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def counted(what: str, rows: list[dict[str, Any]]) -> list[str]:
    every, certified = sum(row["steps"] for row in rows), sum(row["certified"] for row in rows)
    share = f" ({100 * certified / every:.2f} %)" if every else ""
    there = {row["variant"] for row in rows}
    missing = [which for which in proved() if which not in there]
    return [
        f"{certified:,} of {every:,} {what}{share} in {len(rows)} variants are certified.",
        f"Not done yet: {len(missing)} of {len(proved())} variants{': ' if missing else ''}{', '.join(missing)}.",
    ]


def table(steps: str, rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"| variant | {steps} | certified | the rest | seconds of one core | commit, date |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        rest = "; ".join(f"{one['step']}: {one['why']}" for one in r["rest"]) or "none"
        made = f"{r['commit']}, {r['date']}"
        lines.append(f"| {r['variant']} | {r['steps']:,} | {r['certified']:,} | {rest} | {r['seconds']} | {made} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+")
    parser.add_argument("--checked", type=Path, help="where what came of each statement is kept")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--readings", action="store_true", help="of readings, instead of steps")
    given = parser.parse_args()
    place = Path(given.words[0])
    if given.words[0] == "page":
        place = Path(given.words[1])
        files = [json.loads(file.read_text(encoding="utf-8")) for file in (place, place.with_name(READINGS))]
        write_text(Path(given.words[2]), page(*files))
        return 0
    if given.checked is None:
        parser.error("--checked DIR is missing")
    os.environ[CHECKED] = str(given.checked.resolve())
    asks, knows = (of_readings, is_of_readings) if given.readings else (of_variant, is_of)
    rows = each_variant(place, given.words[1:] or proved(), given.cores, asks, knows, said)
    return int(any(row["refused"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
