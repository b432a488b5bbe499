"""``show`` and ``list``: counterexamples step by step in words, and what there is."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cli.shared.options import (
    BOUND,
    PROFILE,
    PROTOCOL,
    asked_property,
    complete_variant,
    parse_bounds,
    the_one,
)
from fencepost.proofs.cli.shared.output import bound_in_words, console, errors, in_columns, read_from, wrapped
from fencepost.proofs.cli.shared.pages import HTML, ITF, MERMAID, story_of, write_pages
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import write_json
from fencepost.properties.catalogue import (
    Profile,
    ProtocolEntry,
    Variant,
    bounds_of,
    changed,
    find,
    protocols,
    whole_of,
)

if TYPE_CHECKING:  # NumPy and Z3 take their time, which `list` need not wait for
    from fencepost.model.language.properties import Property
    from fencepost.model.language.protocol import Spec
    from fencepost.proofs.engines.explore import Exploration
    from fencepost.proofs.engines.explore.fewest_switches import Calmest
    from fencepost.proofs.results import Trace


HANGING = 7
"""Columns by which a line that goes on is indented further, so that it stands below the words of a guard."""


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT", shell_complete=complete_variant, type=PROTOCOL)
@click.argument("prop", metavar="PROPERTY")
@click.option(
    "--without", metavar="RULE MUTATION", nargs=2,
    help="Get this rule wrong first; `fencepost list PROTOCOL --mutations` has the names.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Every change on a line of its own, old and new value.")
@click.option(
    "--fewest-changes", "calm", is_flag=True,
    help="Of all shortest runs, one in which it is least often another process's turn.",
)  # fmt: skip
@BOUND
@PROFILE
@HTML
@MERMAID
@ITF
def show(
    name: str,
    prop: str,
    without: tuple[str, str] | None,
    everything: bool,
    calm: bool,
    changes: tuple[str, ...],
    profile: Profile,
    html_file: Path | None,
    mermaid_file: Path | None,
    itf_file: Path | None,
) -> int:
    """Tell a shortest counterexample or witness, step by step.

    Each step is an action of the model with its parameters, and what it changed.  A progress property that fails ends
    in a state or a cycle that goes on for ever.  Exit code 0 if the verdict is what the documents say; with --without,
    if there was something to show.  Example: fencepost show id-blocks/kraft-answer-first "disjoint blocks"
    """
    entry, variant = the_one(name)
    asked = asked_property(entry, variant, prop)
    spec = variant.spec
    if without is not None:
        from fencepost.proofs.mutant_by_name import without_rule

        spec = without_rule(entry, variant, without)
    read_from([variant])
    bound, trace, made = _shortest(variant, spec, asked, parse_bounds(changes), profile)
    ordered = _calmest(asked, spec, made) if calm and made is not None and trace is not None else None
    trace = trace if ordered is None else ordered.trace
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

        for line in say_trace(spec, trace, ghosts=True) if everything else brief(spec, trace):
            console.print(line, markup=False)
        for line in _why(asked, spec, bound, trace):
            console.print(line, markup=False)
        if ordered is not None:
            which = "" if ordered.of_all else ", of those that end with this step"
            fewest = f"no shortest run has fewer, of {ordered.runs:,}{which}"
            console.print(f"\nIt is another process's turn {ordered.changes} times: {fewest}.")
        elif calm:
            why = "as endless runs are" if trace.loop is not None else "since too many are as short"
            console.print(f"\nIt is the run that was found, {why}.")
        if trace.loop is None:
            console.print(f"\nIt is {'reached' if witness else 'broken'} after {len(trace)} steps, and not in fewer.")
    runs = [] if trace is None else [trace]
    write_pages([story_of(entry, variant, spec, asked, bound, t, without=wrong) for t in runs], html_file, mermaid_file)
    if itf_file is not None and trace is not None:
        from fencepost.proofs.traces.itf import to_itf

        write_json(itf_file, to_itf(spec, bound, trace))
    if without is not None:
        return 0 if trace is not None else 1
    verdict = "holds" if (trace is not None) == witness else "violated"
    return 0 if verdict == variant.expected.get(asked.name, "holds") else 1


def _shortest(
    variant: Variant, spec: "Spec", asked: "Property", changes: Mapping[str, int], profile: Profile
) -> tuple[dict[str, int], "Trace | None", "Exploration | None"]:
    """A shortest run that breaks the property, or reaches it, the bounds within which it was looked for, and the search
    that found it; of progress no search ends with it."""
    from fencepost.proofs.engines.explore import explore
    from fencepost.proofs.engines.progress import check_progress

    if asked.kind != "eventually":
        bound = bounds_of(variant, profile, changes)
        made = explore(spec, {asked.name: asked}, bound, stop_when_violated=True)
        return bound, made.traces.get(asked.name), made
    for some in variant.progress_bounds:
        bound = changed(variant, some, changes)
        trace = check_progress(explore(spec, {asked.name: asked}, bound))[asked.name].trace
        if trace is not None:
            break
    return bound, trace, None


def _calmest(asked: "Property", spec: "Spec", made: "Exploration") -> "Calmest | None":
    """Of all shortest runs that a search found, one with the fewest changes of process."""
    from fencepost.proofs.engines.explore.fewest_switches import calmest
    from fencepost.proofs.pages.stories import lane_of

    return calmest(made, asked, lambda event: lane_of(spec.actions[event.action], event))


def _why(asked: "Property", spec: "Spec", bound: Mapping[str, int], trace: "Trace") -> Iterator[str]:
    """Of a refinement, which step of the core was the nearest."""
    from fencepost.model.language.derived.refinements import Refinement

    if isinstance(asked, Refinement):
        from fencepost.proofs.engines.refinements import explain

        yield from explain(asked, spec, bound, trace)


def brief(spec: "Spec", trace: "Trace") -> Iterator[str]:
    """A step a line, its sentence when it is first seen, and a line of what it changed; of the variables that only
    properties read, what the last step did to them, since that is what was looked for."""
    from fencepost.proofs.readings.words import differences, first_sentence

    told: set[str] = set()
    for i, event in enumerate(trace.events):
        doc = "" if event.action in told else first_sentence(spec.actions[event.action].doc)
        told.add(event.action)
        yield f"{i + 1:3}  {event}" + (f"   {doc}" if doc else "")
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


@click.command("list")
@click.argument("name", required=False, metavar="[PROTOCOL[/VARIANT]]", shell_complete=complete_variant, type=PROTOCOL)
@click.option("--mutations", "with_mutations", is_flag=True, help="Also every way to get a rule wrong, for --without.")
@click.option(
    "--rules", "with_rules", is_flag=True, help="How many rules of each source have a verdict; which have none."
)
def list_protocols(name: str | None, with_mutations: bool, with_rules: bool) -> int:
    """List protocols, variants and bounds, actions and rules.

    Without a name: the protocols. With a protocol: its variants and bounds. With a variant: its actions, each guard
    and update with the rule that it encodes, and its properties. With --rules: the rules of each source, counted by
    the tables of verdicts. Example: fencepost list id-blocks/kraft
    """
    if with_rules:
        _list_counts()
        return 0
    if name is None:
        _print(in_columns([(entry.name, entry.says) for entry in protocols().values()]))
        return 0
    entry, variant = find(name)
    if variant is None:
        _list_variants(entry)
    else:
        _list_rules(variant)
    if with_mutations:
        _list_mutations([variant] if variant else [v for v in entry.variants if v.main])
    return 0


def _list_counts() -> None:
    from fencepost.model.rules import AREAS
    from fencepost.proofs.necessity.rule_tests import NOT_INSTALLED, TESTS
    from fencepost.proofs.necessity.tables import FOLDER, is_of_these_models, kept_counts, table_of

    total = [0, 0]
    for area, (decided, others) in kept_counts().items():
        total = [total[0] + len(decided) + len(others), total[1] + len(decided)]
        console.print(f"{AREAS[area]}: {len(decided) + len(others)} rules, {len(decided)} with a verdict", markup=False)
        if others:
            _print(wrapped(", ".join(others), "    no verdict yet: ", " " * 8))
    console.print(f"all: {total[0]} rules, {total[1]} with a verdict, by the tables in {FOLDER}", markup=False)
    for entry in protocols().values():
        table = table_of(entry.name)
        if table.exists() and not is_of_these_models(table.read_text(encoding="utf-8"), whole_of(entry)):
            errors.print(f"{table.name} is of other models than these: make it anew", markup=False)
    if not TESTS.is_dir():
        console.print(NOT_INSTALLED, markup=False)


def _list_variants(entry: ProtocolEntry) -> None:
    bugs = [(one.name, f"{one.says}: in {one.broken}, mended in {one.fixed}") for one in entry.scenarios]
    variants = [(one.name, one.says + (f"  [{one.rule}]" if one.rule else "")) for one in entry.variants]
    _print(wrapped(entry.says))
    for heading, rows in (("", variants), ("known bugs", bugs), ("bounds", [*entry.reasons.items()])):
        if heading and rows:
            console.print(heading)
        _print(in_columns(rows, " " * 4))


def _list_rules(variant: Variant) -> None:
    from fencepost.proofs.readings.naming import say_actions

    for line in say_actions(variant.properties.protocol, variant.spec):
        words = line.lstrip()
        indent = line[: len(line) - len(words)]
        _print(wrapped(words, indent, indent + " " * HANGING))
    for item in variant.asked.values():
        tag = f"  [{item.rule}]" if item.rule else ""
        says = f"{item.role} {name_in_words(item.name)}{tag}: {' '.join(item.doc.split())}"
        _print(wrapped(says, further=" " * HANGING))


def _list_mutations(variants: list[Variant]) -> None:
    from fencepost.model.language.derived.mutations import mutations

    made = [(variant.name, each) for variant in variants for each in mutations(variant.properties.protocol.spec)]
    _print(in_columns([(name, each.rule, each.name) for name, each in made]))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, markup=False)
