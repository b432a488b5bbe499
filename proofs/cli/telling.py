"""``show`` and ``list``: counterexamples step by step in words, and what there is."""

import click
from fencepost.proofs.cli.output import bound_in_words, console
from fencepost.proofs.cli.searches import BOUND, PROFILE, chosen, parse_bounds
from fencepost.proofs.words import name_in_words
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant, bounds_of, find, protocols


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT")
@click.argument("prop", metavar="PROPERTY")
@click.option("--without", metavar="RULE MUTATION", nargs=2, help="Get this rule wrong first, as `necessity` names it.")
@BOUND
@PROFILE
def show(name: str, prop: str, without: tuple[str, str] | None, changes: tuple[str, ...], profile: Profile) -> int:
    """Tell the shortest run that breaks a promise, or that reaches a witness, step by step."""
    from fencepost.model.language.mutations import mutation
    from fencepost.proofs.explore import explore
    from fencepost.proofs.progress import check_progress
    from fencepost.proofs.words import say_trace

    [(entry, variant), *more] = chosen(name)
    if more:
        raise CatalogueError(
            f"{name} has several variants; name one: {', '.join(f'{entry.name}/{v.name}' for v in entry.variants)}"
        )
    wanted = prop.replace(" ", "_")
    if wanted not in variant.properties.properties:
        raise CatalogueError(f"{name} has no property {prop!r}; it has {', '.join(variant.properties.properties)}")
    asked = variant.properties.properties[wanted]
    spec = variant.spec if without is None else mutation(variant.properties.protocol.spec, *without).apply()
    if asked.kind == "eventually":
        bound = {**variant.progress_bounds[-1], **parse_bounds(changes)}
        trace = check_progress(explore(spec, {wanted: asked}, bound))[wanted].trace
    else:
        bound = bounds_of(variant, profile, parse_bounds(changes))
        trace = explore(spec, {wanted: asked}, bound, stop_when_violated=True).traces.get(wanted)
    console.print(f"{entry.name}/{variant.name}, {name_in_words(wanted)}: {' '.join(asked.doc.split())}")
    console.print(f"within {bound_in_words(bound)}")
    if trace is None:
        found = "is not reached" if asked.kind == "sometimes" else "holds: there is no run that breaks it"
        console.print(f"It {found} within these bounds.")
        return 1 if asked.kind == "sometimes" else 0
    for line in say_trace(spec, trace):
        console.print(line)
    return 0 if asked.kind == "sometimes" else 1


@click.command("list")
@click.argument("name", required=False, metavar="[PROTOCOL[/VARIANT]]")
@click.option("--mutations", "with_mutations", is_flag=True, help="Also every way to get one rule wrong.")
def list_protocols(name: str | None, with_mutations: bool) -> int:
    """What there is: protocols; a protocol's variants and properties; a variant's actions as a table of rules."""
    if name is None:
        for entry in protocols().values():
            console.print(f"{entry.name:<20} {entry.says}")
        return 0
    entry, variant = find(name)
    if variant is None:
        _list_variants(entry)
    else:
        _list_rules(variant)
    if with_mutations:
        _list_mutations([variant] if variant else [v for v in entry.variants if v.main])
    return 0


def _list_variants(entry: ProtocolEntry) -> None:
    console.print(entry.says)
    for variant in entry.variants:
        tag = f"  [{variant.rule}]" if variant.rule else ""
        console.print(f"    {variant.name:<36} {variant.says}{tag}", markup=False)
    console.print("bounds")
    for bound, reason in entry.reasons.items():
        console.print(f"    {bound:<14} {reason}")


def _list_rules(variant: Variant) -> None:
    from fencepost.proofs.words import say_action

    for action in variant.spec.actions.values():
        for line in say_action(action):
            console.print(line, markup=False)
    for item in variant.asked.values():
        tag = f"  [{item.rule}]" if item.rule else ""
        console.print(f"{item.role} {name_in_words(item.name)}{tag}: {' '.join(item.doc.split())}", markup=False)


def _list_mutations(variants: list[Variant]) -> None:
    from fencepost.model.language.mutations import mutations

    for variant in variants:
        for mutant in mutations(variant.properties.protocol.spec):
            console.print(f"{variant.name:<12} {mutant.rule:<7} {mutant.name}", markup=False)
