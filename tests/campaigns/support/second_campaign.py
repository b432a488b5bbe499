"""cvc5's opinion of every step of every proof: what it agrees on, and what it gives up on.

    python tests/script.py tests/campaigns/support/second_campaign.py FILE [--cores 1] [PROTOCOL/VARIANT...]
    python tests/script.py tests/campaigns/support/second_campaign.py page FILE proofs/verdicts/second-opinion.md

Of all main variants that are proved, or of those that are named; of the others, in which a rule is got wrong, no proof
is whole.  FILE (`proofs/verdicts/second-opinion.json`) keeps what is done, a row a variant: a run that was stopped goes
on where it was, and what was asked of the same model by the same code, of the same solvers, is not asked again.  Exit
code 1 if cvc5 has a model against anything that Z3 has refuted.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from checked_out import ROOT, commit
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.second.asking import UNITS, require_cvc5, z3_version
from fencepost.proofs.engines.second.opinions import disagreements, opinions
from fencepost.proofs.necessity.tables import digest
from fencepost.proofs.report import write_json, write_text
from fencepost.proofs.scale.jobs import Jobs
from fencepost.properties.catalogue import Variant, find, protocols
from whole_batches import hash_of

ASKED_BY = ("proofs/engines", "proofs/readings/solver", "proofs/readings/smtlib")
"""What makes the steps of a proof, and writes them for other solvers."""

HEAD = """# cvc5's opinion of the steps that Z3 has proved

Made by `tests/campaigns/support/second_campaign.py page`. Of every main variant that is proved: each step of its proof
that goes to a solver is written as SMT-LIB 2, and asked of cvc5 as well. *Gives up*: neither an answer nor a
counterexample within its bound.
"""


def proved() -> list[str]:
    """Every main variant that is proved, as protocol/variant."""
    return [f"{name}/{v.name}" for name, entry in protocols().items() for v in entry.variants if v.main and v.proof]


def solvers() -> str:
    return f"Z3 {z3_version()}, cvc5 {require_cvc5()} within {UNITS:,} units"


@cache
def code() -> str:
    """A hash of what a row depends on beside the model and the solvers."""
    return hash_of(path for folder in ASKED_BY for path in (ROOT / folder).rglob("*.py"))


def of_variant(which: str) -> dict[str, Any]:
    """What cvc5 says of the proof of one variant."""
    began = time.process_time()
    entry, variant = find(which)
    proof = prove(variant.spec, variant.promised)
    asked = opinions(entry, variant, proof)
    return {
        "variant": which, "models": digest(variant), "code": code(), "solvers": solvers(),
        "steps": len(asked), "agrees": sum(o.verdict == "holds" for o in asked),
        "gives_up": [{"step": o.statement.says, "why": o.answer.why} for o in asked if o.verdict == "unknown"],
        "disagrees": disagreements(which, asked), "seconds": round(time.process_time() - began),
    }  # fmt: skip


def is_of(row: Mapping[str, Any], variant: Variant) -> bool:
    """Whether it was asked of this model, by this code, and of these solvers."""
    return (row["models"], row["code"], row["solvers"]) == (digest(variant), code(), solvers())


def said(row: Mapping[str, Any]) -> str:
    """What came of a variant, in words."""
    against = f", and has models against {len(row['disagrees'])}" if row["disagrees"] else ""
    return f"agrees on {row['agrees']} of {row['steps']}{against}, {row['seconds']} s"


def ask(place: Path, names: Sequence[str], cores: int) -> int:
    """Asks what was not asked yet. Exit code 1 if the solvers disagree about anything."""
    return int(any(row["disagrees"] for row in each_variant(place, names, cores, of_variant, is_of, said)))


def each_variant(
    place: Path, names: Sequence[str], cores: int, of: Callable[[str], dict[str, Any]],
    current: Callable[[Mapping[str, Any], Variant], bool], says: Callable[[Mapping[str, Any]], str],
) -> list[dict[str, Any]]:  # fmt: skip
    """What ``of`` comes to for each variant, a row each, of which those that are still ``current`` are not made again.
    A row is kept as soon as it is there."""
    every = proved()
    if unknown := [which for which in names if which not in every]:
        print(f"no main variant with a proof: {', '.join(unknown)}; see `fencepost list`", file=sys.stderr)
        raise SystemExit(2)
    kept = {row["variant"]: row for row in (json.loads(place.read_text()) if place.exists() else ())}
    kept = {which: row for which, row in kept.items() if which in every and current(row, find(which)[1])}
    left = [which for which in names if which not in kept]
    with Jobs(len(left), cores) as jobs:
        for number, (which, answer) in enumerate([(which, jobs.hand_in(of, which)) for which in left], 1):
            kept[which] = row = {**answer(), "commit": commit(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
            write_json(place, [kept[name] for name in every if name in kept])
            print(f"{number} of {len(left)}: {which}: {says(row)}", flush=True)
    return list(kept.values())


def page(rows: list[dict[str, Any]]) -> str:
    """What is kept, as Markdown."""
    there = {row["variant"] for row in rows}
    missing = [which for which in proved() if which not in there]
    steps, agreed = sum(r["steps"] for r in rows), sum(r["agrees"] for r in rows)
    against = [line for row in rows for line in row["disagrees"]]
    made = " and ".join(dict.fromkeys(f"{r['solvers']}, at commit {r['commit']}, on {r['date']}" for r in rows))
    lines = [
        HEAD, f"cvc5 agrees on {agreed:,} of {steps:,} steps in {len(rows)} variants, gives up on",
        f"{sum(len(r['gives_up']) for r in rows):,}, and has a model against {len(against) or 'none'}. By {made}.",
        f"Not asked yet: {len(missing)} of {len(proved())} variants.", "",
        *[f"- {line}" for line in against],
        "| variant | steps | agrees | gives up on | seconds, with Z3's |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for r in rows:
        given_up = "; ".join(one["step"] for one in r["gives_up"]) or "nothing"
        lines.append(f"| {r['variant']} | {r['steps']:,} | {r['agrees']:,} | {given_up} | {r['seconds']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+")
    parser.add_argument("--cores", type=int, default=1)
    given = parser.parse_args()
    if given.words[0] == "page":
        write_text(Path(given.words[2]), page(json.loads(Path(given.words[1]).read_text(encoding="utf-8"))))
        return 0
    return ask(Path(given.words[0]), given.words[1:] or proved(), given.cores)


if __name__ == "__main__":
    raise SystemExit(main())
