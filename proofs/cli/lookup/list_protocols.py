"""The command ``list`` prints protocols, variants and bounds, actions and rules."""

from collections.abc import Iterable, Iterator

import click
from fencepost.proofs.cli.shared.options import PROTOCOL, complete_variant
from fencepost.proofs.cli.shared.output import console, errors, in_columns, wrapped
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import ProtocolEntry, Variant, find, protocols, whole_of
from fencepost.properties.nearest import quantity

HANGING = 7
"""Continuation lines are indented by this many more columns, so that they stand below the words of a guard."""


@click.command("list")
@click.argument("name", required=False, metavar="[PROTOCOL[/VARIANT]]", shell_complete=complete_variant, type=PROTOCOL)
@click.option(
    "--verbose", is_flag=True,
    help="Also each mutation of a rule, for --without; without a name, the rules of each source, and their verdicts.",
)  # fmt: skip
def list_protocols(name: str | None, verbose: bool) -> int:
    """List protocols, variants and bounds, actions and rules.

    Without a name: the protocols. With a protocol: its variants and bounds. With a variant: its actions, each guard
    and update with the rule that it encodes, and its properties. Example: fencepost list id-blocks/kraft
    """
    if name is None:
        _print(in_columns([(entry.name, entry.says) for entry in protocols().values()]))
        if verbose:
            _print(_counts())
        return 0
    entry, variant = find(name)
    _print(_variants(entry) if variant is None else _rules(variant))
    if verbose:
        from fencepost.model.language.derived.mutations import mutations

        of = [variant] if variant else [v for v in entry.variants if v.main]
        made = [(v.name, each) for v in of for each in mutations(v.properties.protocol.spec)]
        _print(in_columns([(each_of, each.rule, each.name) for each_of, each in made]))
    return 0


def _counts() -> Iterator[str]:
    from fencepost.model.rules import AREAS
    from fencepost.proofs.necessity.rule_removal import STORED, TESTS
    from fencepost.proofs.necessity.tables import FOLDER, is_of_these_models, saved_counts, table_of

    found = saved_counts()
    for area, (decided, others) in found.items():
        yield f"{AREAS[area]}: {quantity(len(decided) + len(others), 'rule')}, {len(decided)} with a verdict"
        if others:
            yield from wrapped(", ".join(others), "    no verdict yet: ", " " * 8)
    judged, open_ones = (sum(map(len, each)) for each in zip(*found.values(), strict=True))
    yield f"all: {quantity(judged + open_ones, 'rule')}, {judged} with a verdict, by the tables in {FOLDER}"
    for entry in protocols().values():
        table = table_of(entry.name)
        if table.exists() and not is_of_these_models(table.read_text(encoding="utf-8"), whole_of(entry)):
            errors.print(f"{table.name} is of other models than these: make it anew", markup=False)
    if not TESTS.is_dir():
        yield STORED


def _variants(entry: ProtocolEntry) -> Iterator[str]:
    bugs = [(one.name, f"{one.says}: in {one.broken}, mended in {one.fixed}") for one in entry.scenarios]
    variants = [(one.name, one.says + (f"  [{one.rule}]" if one.rule else "")) for one in entry.variants]
    yield from wrapped(entry.says)
    for heading, rows in (("", variants), ("known bugs", bugs), ("bounds", [*entry.reasons.items()])):
        if heading and rows:
            yield heading
        yield from in_columns(rows, " " * 4)


def _rules(variant: Variant) -> Iterator[str]:
    from fencepost.proofs.readings.naming import say_actions

    for line in say_actions(variant.properties.protocol, variant.spec):
        words = line.lstrip()
        indent = line[: len(line) - len(words)]
        yield from wrapped(words, indent, indent + " " * HANGING)
    for item in variant.asked.values():
        tag = f"  [{item.rule}]" if item.rule else ""
        says = f"{item.role} {name_in_words(item.name)}{tag}: {' '.join(item.doc.split())}"
        yield from wrapped(says, further=" " * HANGING)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, markup=False)
