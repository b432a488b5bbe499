"""``prove``: induction on one protocol or variant, a line a promise."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cli.options import JSON, PROTOCOL, chosen, complete_variant
from fencepost.proofs.cli.output import SIGNS, console, duration, read_from, spinner, verdict_sign
from fencepost.proofs.readings.words import leaning, name_in_words
from fencepost.proofs.report import write_json
from fencepost.properties.catalogue import Variant, bounds_of

if TYPE_CHECKING:  # Z3, for which `--help` need not wait
    from fencepost.proofs.engines.induction import Obligation, Proof
    from fencepost.proofs.results import Result


@click.command()
@click.argument("name", metavar="PROTOCOL[/VARIANT]", shell_complete=complete_variant, type=PROTOCOL)
@click.option("--rlimit", type=int, help="Z3's resource limit per obligation; more decides more, and takes longer.")
@click.option("--verbose", is_flag=True, help="Also read every obligation aloud, a line each.")
@JSON
def prove(name: str, rlimit: int | None, verbose: bool, json_file: Path | None) -> int:
    """Prove the promises by induction, without any bound.

    A line a promise, with the lemmas that its proof rests on, as few as each step of it needs.  What leans on a lemma
    that fails is not proved.  A step that breaks the attempt is told, and looked for among the states that the smoke
    profile explores.  Example: fencepost prove id-blocks/kraft
    """
    from fencepost.proofs.engines.induction import Obligation
    from fencepost.proofs.engines.induction import prove as induction
    from fencepost.proofs.engines.judged import run_induction
    from fencepost.proofs.readings.solver.solving import RLIMIT
    from fencepost.proofs.scope.scopes import scope_lines

    every = []
    asked = chosen(name)
    read = read_from(variant for _, variant in asked)
    for entry, variant in asked:
        console.print(f"{entry.name}/{variant.name}")

        def told(o: Obligation) -> None:
            if verbose:
                console.print(f"    {in_words(o)} … {_word(o)}")

        with spinner(f"proving {entry.name}/{variant.name}"):
            proof = induction(variant.spec, variant.kept, rlimit=rlimit or RLIMIT, progress=told)
            results = run_induction(entry, variant, rlimit=rlimit, proof=proof)
        for line in summary(results):
            console.print(line)
        for line in scope_lines(results):
            console.print(f"    {line}", markup=False)
        for line in _attempts(variant, proof):
            console.print(line, markup=False)
        every += results
    wrong = [r for r in every if not r.as_expected]
    console.print(f"{len(every)} properties, {len(wrong)} not proved")
    if json_file is not None:
        write_json(json_file, [r.as_dict() | {"sources": read} for r in every])
    return 1 if wrong else 0


def summary(results: Sequence["Result"]) -> Iterator[str]:
    """A line a promise and step property, one for all lemmas, and one for the question whether actions can happen."""
    lemmas = [r for r in results if r.evidence.get("role") == "lemma"]
    for r in results:
        if r not in lemmas and r.kind != "sometimes":
            yield f"    {name_in_words(r.property):<34} {verdict_sign(r.kind, r.verdict)}{leaning(r)}{_resting(r)}"
    if lemmas:
        counts = Counter(r.verdict for r in lemmas)
        failing = ", ".join(name_in_words(r.property) for r in lemmas if r.verdict in ("violated", "unknown"))
        words = (
            [f"{n} {SIGNS[verdict]}" for verdict, n in counts.items()] if set(counts) != {"holds"} else [SIGNS["holds"]]
        )
        having = sum("inherited" in r.evidence for r in lemmas)
        number = f"{len(lemmas)} lemmas" + (f", {having} inherited" if having else "")
        yield f"    {number:<34} {', '.join(words)}" + (f": {failing}" if failing else "")
    for r in results:
        if r.kind == "sometimes":
            yield f"    {name_in_words(r.property):<34} {verdict_sign(r.kind, r.verdict)}{leaning(r)}"


def _resting(result: "Result") -> str:
    if result.verdict != "holds":
        return ""
    names = [name_in_words(name) for name in result.evidence["rests_on"]]
    if part := result.evidence.get("inherited"):
        return f", inherited from {part['part']}, as {part['protocol']} is proved (model {part['model']})"
    return f", resting on {', '.join(names)}" if names else ", of itself"


def _attempts(variant: Variant, proof: "Proof") -> Iterator[str]:
    """Each obligation that was not met, as a run of one step, and whether exploration comes to it."""
    from fencepost.proofs.engines.attempts import reach, tell

    if not proof.failures:
        return
    found = reach(variant.spec, variant.kept, bounds_of(variant, "smoke"), proof.failures)
    reached = {id(failed): words for failed, words in found}
    for failed in proof.failures:
        yield ""
        yield from tell(variant.spec, variant.kept, failed)
        words = reached.get(id(failed))
        if words is not None:
            yield from words.words(failed)
        elif id(failed) in reached:
            yield "  whether a run comes to it is open: it lies outside of the bounds of the smoke profile"


def in_words(o: "Obligation") -> str:
    """An obligation as a sentence: ``allocate preserves disjoint blocks``."""
    subject = name_in_words(o.action)
    return {
        "initial": f"init satisfies {name_in_words(o.property)}",
        "preserved": f"{subject} preserves {name_in_words(o.property)}",
        "step": f"{subject} obeys {name_in_words(o.property)}",
        "antecedent": f"{name_in_words(o.property)} says something",
        "enabled": f"{subject} can happen",
        "dead": f"{subject} never happens",
        "inherited": f"{subject} has {name_in_words(o.property)}",
    }[o.kind]


def _word(o: "Obligation") -> str:
    if o.verdict == "holds":
        return f"ok {duration(o.seconds)}" if o.how == "solver" else f"ok {o.how}"
    return SIGNS[o.verdict]
