"""The command ``show`` prints a shortest counterexample or witness, step by step in words."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cli.shared.options import (
    BOUND,
    PROFILE,
    PROTOCOL,
    OutputFile,
    asked_property,
    complete_variant,
    parse_bounds,
    the_one,
)
from fencepost.proofs.cli.shared.output import bound_in_words, console, read_from
from fencepost.proofs.cli.shared.pages import HTML, story_of, write_pages
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import write_json
from fencepost.properties.catalogue import Profile, Variant, bounds_of, changed
from fencepost.properties.nearest import quantity

if TYPE_CHECKING:  # NumPy and Z3 take their time, which `list` need not wait for
    from fencepost.model.language.properties import Property
    from fencepost.model.language.protocol import Spec
    from fencepost.proofs.results import Trace


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT", shell_complete=complete_variant, type=PROTOCOL)
@click.argument("prop", metavar="PROPERTY")
@click.option(
    "--without", metavar="RULE MUTATION", nargs=2,
    help="Get this rule wrong first; `fencepost list PROTOCOL --verbose` has the names.",
)  # fmt: skip
@click.option("--verbose", is_flag=True, help="Every change on a line of its own, old and new value.")
@BOUND
@PROFILE
@HTML
@click.option(
    "--itf", "itf_file", type=OutputFile(), metavar="FILE",
    help="Write the run as an ITF trace, which Apalache and Quint read.",
)  # fmt: skip
def show(
    name: str, prop: str, without: tuple[str, str] | None, verbose: bool, changes: tuple[str, ...], profile: Profile,
    html_file: Path | None, itf_file: Path | None,
) -> int:  # fmt: skip
    """Tell a shortest counterexample or witness, step by step.

    Each step is an action of the model with its parameters, and what it changed.  A progress property that fails ends
    in a state or a cycle that goes on for ever.  Exit code 0 if the verdict is what the documents say; with --without,
    if there was something to show.  Example: fencepost show id-blocks/kraft-answer-first "disjoint blocks"
    """
    entry, variant = the_one(name)
    asked = asked_property(entry, variant, prop)
    spec = variant.spec
    if without is not None:
        from fencepost.proofs.variants import without_rule

        spec = without_rule(entry, variant, without)
    read_from([variant])
    bound, trace = _shortest(variant, spec, asked, parse_bounds(changes), profile)
    wrong = " ".join(without or ())
    got_wrong = f" without {wrong}" if wrong else ""
    console.print(f"{entry.name}/{variant.name}{got_wrong}", markup=False)
    console.print(f"{name_in_words(asked.name)}: {' '.join(asked.doc.split())}", markup=False)
    console.print(f"within {bound_in_words(bound)}\n")
    witness = asked.kind == "sometimes"
    if trace is None:
        console.print(f"It {'is not reached' if witness else 'holds: no run breaks it'} within these bounds.")
    else:
        from fencepost.proofs.readings.words import say_trace

        for line in say_trace(spec, trace, ghosts=True) if verbose else brief(spec, trace):
            console.print(line, markup=False)
        fewest = f" after {quantity(len(trace), 'step')}, and not in fewer" if trace.loop is None else ""
        sentence, *why = _why(asked, spec, bound, trace) or [""]
        found = "reached" if witness else "broken"
        console.print(f"\nIt is {found}{fewest}{': ' * bool(sentence)}{sentence}.", markup=False)
        for line in why:
            console.print(line, markup=False)
    runs = [] if trace is None else [trace]
    write_pages([story_of(entry, variant, spec, asked, bound, t, without=wrong) for t in runs], html_file)
    if itf_file is not None and trace is not None:
        from fencepost.proofs.traces.itf import to_itf

        write_json(itf_file, to_itf(spec, bound, trace))
    if without is not None:
        return 0 if trace is not None else 1
    verdict = "holds" if (trace is not None) == witness else "violated"
    return 0 if verdict == variant.expected.get(asked.name, "holds") else 1


def _shortest(
    variant: Variant, spec: "Spec", asked: "Property", changes: Mapping[str, int], profile: Profile
) -> tuple[dict[str, int], "Trace | None"]:
    from fencepost.proofs.engines.explore import explore
    from fencepost.proofs.engines.progress import check_progress

    if asked.kind != "eventually":
        bound = bounds_of(variant, profile, changes)
        return bound, explore(spec, {asked.name: asked}, bound, stop_when_violated=True).traces.get(asked.name)
    for some in variant.progress_bounds:
        bound = changed(variant, some, changes)
        trace = check_progress(explore(spec, {asked.name: asked}, bound))[asked.name].trace
        if trace is not None:
            break
    return bound, trace


def _why(asked: "Property", spec: "Spec", bound: Mapping[str, int], trace: "Trace") -> list[str]:
    """Return what is wrong at the end of a run, in a sentence, and the lines that explain it; nothing for a witness."""
    from fencepost.model.language.derived.refinements import Refinement

    if isinstance(asked, Refinement):
        from fencepost.proofs.engines.refinements import explain

        return ["", *explain(asked, spec, bound, trace)]
    from fencepost.model.language.tree.types import bound_of
    from fencepost.proofs.readings.failing import failing
    from fencepost.proofs.readings.plain import Plain

    plain = Plain(spec, {name: bound_of(bound, name) for name in spec.constants}, bound)
    found = failing(plain, asked, trace, len(trace))
    return [] if found is None else [found.sentence, str(found)]


def brief(spec: "Spec", trace: "Trace") -> Iterator[str]:
    """Yield a line for each step, with its sentence at the first occurrence, and a line of what it changed. Changes of
    variables that only properties read are included for the last step alone, since that step decides the property."""
    from fencepost.proofs.readings.words import differences, first_sentence, parameters_in_words

    described: set[str] = set()
    for i, event in enumerate(trace.events):
        doc = "" if event.action in described else first_sentence(spec.actions[event.action].doc)
        described.add(event.action)
        given = parameters_in_words(spec.actions[event.action], event)
        yield f"{i + 1:3}  {event.action}({given})" + (f"   {doc}" if doc else "")
        ghosts = i + 1 == len(trace) and trace.loop is None
        new = []
        for line in differences(spec, trace.states[i], trace.states[i + 1]):
            place, _, values = line.partition(": ")
            if ghosts or place.split("[")[0] not in spec.ghosts:
                new.append(f"{place} = {values.split(' -> ')[-1]}")
        if new:
            yield f"       {', '.join(new)}"
    if trace.loop is not None:
        again = f"From here again as after step {trace.loop}" if trace.loop < len(trace) else "And so it stays"
        yield f"     {again}, for ever."
