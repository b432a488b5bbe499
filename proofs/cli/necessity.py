"""The command ``necessity`` finds what breaks without each rule, in one protocol or in all, and which sets of rules
suffice."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import (
    JSON,
    MASTER,
    PROFILE,
    PROTOCOL,
    OutputFile,
    complete_protocol,
    jobs_on,
    whole,
)
from fencepost.proofs.cli.shared.output import console, errors, folder_of_tests, line_of, read_from
from fencepost.proofs.cli.shared.pages import HTML, judged, write_pages
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import write_text
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant, protocols, whole_of
from fencepost.properties.nearest import instead
from fencepost.properties.registry import PROTOCOLS, called

if TYPE_CHECKING:  # these import NumPy and Z3, which `--help` need not wait for
    from fencepost.proofs.necessity.search import Necessity
    from fencepost.proofs.necessity.sets import SavedSets
    from fencepost.proofs.necessity.validity_cores import Standing


@click.command()
@click.argument("name", metavar="PROTOCOL", required=False, shell_complete=complete_protocol, type=PROTOCOL)
@click.option(
    "--all", "all_rules", is_flag=True, help="Every rule of every protocol; what is cached is not searched again."
)
@click.option("--rule", metavar="NUMBER", help="Only this rule, such as 730.7.")
@click.option(
    "--mutations", type=click.Choice(("rules", "timing", "sets")), default="rules", show_default=True,
    help="One rule at a time; mistakes of time and of order; or the sets of rules that suffice for each proof.",
)  # fmt: skip
@PROFILE
@JSON
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write all rules and their verdicts as Markdown.")
@click.option(
    "--kept", type=OutputFile(), metavar="FILE", help="Verdicts of earlier runs; written again with the new ones."
)
@HTML
@MASTER
def necessity(
    name: str | None, all_rules: bool, rule: str | None, mutations: str, profile: Profile, json_file: Path | None,
    table: Path | None, kept: Path | None, html_file: Path | None, master: str | None,
) -> int:  # fmt: skip
    """Find what breaks without each rule, or that nothing does.

    Every mechanism is taken out, shifted by one and read differently. Either a promise fails, in the fewest steps, or
    there is a proof that nothing does, and work still gets done. A stored verdict on the same models is not searched
    again, and is marked as such. Example: fencepost necessity id-blocks --rule 730.10

    With --mutations timing, other mistakes about the same rules are judged, which are an effect that comes later, a
    memory that is lost, a step that is taken again, and numbers compared by order that have to be equal.

    With --mutations sets, rules are taken out together. The result has the rules that the proof of each promise needs
    (must: in every set that suffices; may: in some), and those that make it fail. The nightly profile searches these
    sets, and stores them.

    With --all, there is one table of all protocols, with a row for each rule and the scope of each verdict. A rule
    without a verdict makes exit code 1. Example: fencepost necessity --all --table rules.md
    """
    sets, timing = mutations == "sets", mutations == "timing"
    if html_file is not None and (all_rules or sets):
        raise CatalogueError("--html shows the runs of verdicts one by one; leave out --all and --mutations sets")
    if all_rules:
        if name is not None or rule is not None or kept is not None or mutations != "rules":
            raise CatalogueError("--all is of every protocol and rule, and of what is kept beside the code; leave out "
                                 "the protocol, --rule, --kept and --mutations")  # fmt: skip
        return _of_all(profile, json_file, table, master)
    if name is None:
        raise CatalogueError("no protocol is named; name one, such as id-blocks, or say --all")
    entry = whole(name)
    if rule is not None and (table is not None or kept is not None):
        raise CatalogueError("a table is of all rules, and so is what is kept; leave out --rule")
    if timing and (table is not None or kept is not None):
        raise CatalogueError("--mutations timing is of mistakes that no table has; leave out --table and --kept")
    if sets and master is not None:
        raise CatalogueError("--mutations sets searches one variant after another in this process; leave out --master")
    if sets:
        return _of_sets(whole_of(entry), profile, rule, json_file, table)
    return _of_one(entry, profile, rule, timing, json_file, table, kept, html_file, master)


def _of_one(
    entry: ProtocolEntry, profile: Profile, rule: str | None, timing: bool, json_file: Path | None, table: Path | None,
    kept: Path | None, html_file: Path | None, master: str | None,
) -> int:  # fmt: skip
    from fencepost.proofs.necessity.search import number_of_verdicts, plan
    from fencepost.proofs.necessity.tables import SavedFacts, page

    every: list[Necessity] = []
    entries = whole_of(entry)
    read = read_from(variant for each in entries for variant in each.variants)
    number = sum(number_of_verdicts(e, rule, timing) for e in entries)
    earlier = None if kept is None else SavedFacts.read(kept)
    known: dict[str, SavedSets] = {}

    def rows() -> list[dict[str, Any]]:
        of_sets = ((n, known[n.variant].of_rule(n.rule) if n.variant in known else {}) for n in every)
        return [n.as_dict() | of_rule | {"sources": read} for n, of_rule in of_sets]

    def keep(*, is_whole: bool) -> None:
        """Write the verdicts, also after an interrupt, so that no verdict is lost."""
        if kept is not None and earlier is not None:
            earlier.write(kept, whole=is_whole)

    with reported(json_file, rows, further=lambda: keep(is_whole=False)):
        with (
            spinner(f"necessity of {', '.join(e.name for e in entries)}", number) as bar,
            jobs_on(master, number) as jobs,
        ):
            plans = [plan(each, profile, rule=rule, earlier=earlier, further=timing, jobs=jobs) for each in entries]
            for verdict in chain.from_iterable(plans):
                found = verdict()
                every.append(found)
                console.print(line_of(found), markup=False)
                if found.verdict == "survives-bounded" and not found.reason and not found.kept:
                    for why in found.evidence:
                        console.print(f"        {why}", style="dim", markup=False)
                bar.advance()
        if rule is not None and not every:
            raise CatalogueError(_nothing_to_judge(entry, rule))
        if html_file is not None:
            of_each = ((each, {variant.name for variant in each.variants}) for each in entries)
            write_pages(
                [s for each, names in of_each for s in judged(each, (n for n in every if n.variant in names))],
                html_file,
            )
        if table is not None:
            command = f"fencepost necessity {called(entry.name)} {_given()}"
            write_text(table, page(entry, entries, every, folder_of_tests(), earlier, command))
        if json_file is not None:
            known |= _known_sets(entries)
    keep(is_whole=True)
    return _is_open(every)


def _given() -> str:
    """Return the options of the command that is run, as they were given."""
    context = click.get_current_context()
    options = {each.name: each.opts[0] for each in context.command.params if isinstance(each, click.Option)}
    given = (name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    return " ".join(f"{options[name]} {context.params[name]}" for name in given if name in options)


def _is_open(every: "Iterable[Necessity]") -> int:
    return int(any(found.verdict in ("survives-bounded", "refuted") and not found.reason for found in every))


def _nothing_to_judge(entry: ProtocolEntry, rule: str) -> str:
    from fencepost.model.language.derived.mutations import mutations
    from fencepost.model.rules import RULES

    judged = {m.rule for v in entry.variants if v.main for m in mutations(v.properties.protocol.spec)}
    judged = {r for r in judged if RULES[r].kind == "mechanism"} | {v.rule for v in entry.variants if v.rule}
    where = f"fencepost list {called(entry.name)} --verbose"
    if rule not in RULES:
        meant = instead(rule, sorted(judged, key=list(RULES).index), where)
        return f"there is no rule {rule!r}; of those of {entry.name} that necessity judges: {meant}"
    return f"rule {rule} of kind {RULES[rule].kind} is not judged for {entry.name}; {where} names those that are"


def _of_all(profile: Profile, json_file: Path | None, table: Path | None, master: str | None) -> int:
    """Judge the rules of every protocol, and return exit code 1 if a mistake survives without a reason, or a rule has
    no verdict. Stored verdicts on the same models are not searched again."""
    from fencepost.proofs.necessity.ledger import Row, Verdicts, rows
    from fencepost.proofs.necessity.search import number_of_verdicts, plan
    from fencepost.proofs.necessity.tables import FOLDER, SavedFacts, digest_of, page_of_all

    wholes = [whole_of(entry) for name, entry in protocols().items() if name in PROTOCOLS]
    every: list[Necessity] = []
    sources = read_from(variant for entries in wholes for entry in entries for variant in entry.variants)
    made: list[Row] = []
    tests = folder_of_tests()
    number = sum(number_of_verdicts(entry) for entries in wholes for entry in entries)
    with (
        reported(json_file, lambda: [found.as_dict() | {"sources": sources} for found in every]),
        spinner("necessity of every rule", number) as bar,
        jobs_on(master, number) as jobs,
    ):
        kepts = [SavedFacts.read(FOLDER / f"{entries[0].name}.json") for entries in wholes]
        plans = [
            [verdict for entry in entries for verdict in plan(entry, profile, earlier=saved, jobs=jobs)]
            for entries, saved in zip(wholes, kepts, strict=True)
        ]
        for entries, saved, planned in zip(wholes, kepts, plans, strict=True):
            mine: list[Necessity] = []
            for verdict in planned:
                found = verdict()
                mine.append(found)
                every.append(found)
                if not found.kept:
                    console.print(line_of(found), markup=False)
                bar.advance()
            again = sum(found.kept for found in mine)
            console.print(
                f"{entries[0].name}: {len(mine)} verdicts, {again} of them cached by an earlier run on the same models"
            )
            made += rows(entries, mine, tests, Verdicts(saved.remember))
    text, without = page_of_all(made, {entries[0].name: digest_of(entries) for entries in wholes})
    if table is not None:
        write_text(table, text)
    if without:
        errors.print(f"without a verdict: {', '.join(without)}", markup=False)
    return int(bool(without)) or _is_open(every)


STANDINGS: "tuple[Standing, ...]" = ("must", "may", "not needed")
HEAD = "| variant | model | promise | must | may | not needed | cut sets |\n|---|---|---|---|---|---|---|\n"


def _of_sets(
    entries: Sequence[ProtocolEntry], profile: Profile, rule: str | None, json_file: Path | None, table: Path | None
) -> int:
    """Print the stored sets of every proved variant, checked against its model. The nightly profile searches missing or
    outdated ones first."""
    from fencepost.proofs.necessity.rule_removal import rules_of
    from fencepost.proofs.necessity.sets import asked, read

    variants = [
        (entry, variant) for entry in entries for variant in asked(entry)
        if rule is None or rule in rules_of(variant.properties.protocol.spec)
    ]  # fmt: skip
    if rule is not None and not variants:
        raise CatalogueError(f"no proof of {entries[0].name} has a step with rule {rule}; leave out --rule to see all")
    sources = read_from(variant for _, variant in variants)
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    wrong = 0
    with reported(json_file, lambda: rows):
        for entry, variant in variants:
            sets = _searched(entry, variant) if profile == "nightly" else read(variant)
            if sets is None:
                again = f"fencepost necessity {called(entry.name)} --mutations sets --profile nightly"
                console.print(f"{entry.name}/{variant.name}: not searched yet: {again}", markup=False)
                continue
            wrong += _print_sets(entry, variant, sets, rule)
            rules = dict.fromkeys(r for one in sets.promises.values() for r in one.cores.rules)
            about = {"protocol": entry.name, "variant": variant.name, "model": sets.model}
            rows += [{**about, "rule": r, **sets.of_rule(r), "sources": sources} for r in rules if rule in (None, r)]
            lines += _table_rows(entry, sets)
    if table is not None:
        write_text(table, HEAD + "".join(lines))
    return int(wrong > 0)


def _searched(entry: ProtocolEntry, variant: Variant) -> "SavedSets":
    from fencepost.proofs.necessity.sets import file_of, read, search, write

    try:
        sets = read(variant)
    except CatalogueError:
        sets = None
    if sets is None:
        with spinner(f"the sets of {entry.name}/{variant.name}"):
            sets = search(variant, lambda words: console.print(f"    {words}", markup=False))
        if (file := file_of(variant)) is not None:
            write(file, sets)
    return sets


def _known_sets(entries: Sequence[ProtocolEntry]) -> "dict[str, SavedSets]":
    from fencepost.proofs.necessity.sets import asked, read

    known: dict[str, SavedSets] = {}
    for variant in (v for entry in entries for v in asked(entry)):
        try:
            sets = read(variant)
        except CatalogueError as refused:
            errors.print(f"warning: {refused}", markup=False)
        else:
            known |= {} if sets is None else {variant.name: sets}
    return known


def _print_sets(entry: ProtocolEntry, variant: Variant, sets: "SavedSets", rule: str | None) -> int:
    """Print the sets of one variant, and how they differ from its model. Return the number of differences."""
    from fencepost.proofs.necessity.sets import faults
    from fencepost.proofs.necessity.validity_cores import promises_of

    console.print(f"{entry.name}/{variant.name}, model {sets.model}", markup=False)
    for line in _sets_in_words(sets, rule):
        console.print(line, markup=False)
    if hard := [name_in_words(name) for name in promises_of(variant) if name not in sets.promises]:
        console.print(f"    not searched, since the proof takes more than is allowed to each step: {', '.join(hard)}")
    wrong = 0
    with spinner(f"the sets of {entry.name}/{variant.name} against its model"):
        for fault in faults(variant, sets):
            wrong += 1
            errors.print(f"[red]does not hold any more:[/] {fault}")
    return wrong


UNDECIDED = 12
"""Sets that are named where the search has reached its bound; the file of the sets has all."""


def _sets_in_words(sets: "SavedSets", rule: str | None = None) -> Iterator[str]:
    states = ", ".join(f"{count:,}" for count in sets.states)
    bounds = (
        f"cut sets of {len(sets.states)} rules at most, all pairs, triples where no proof does without them; "
        f"explored to {states} states by number of rules"
    )
    for name, one in sets.promises.items():
        if rule is not None and one.cores.standing(rule) == "not needed":
            continue
        yield f"    {name_in_words(name)}"
        for standing in STANDINGS:
            if rules := one.cores.those(standing):
                yield f"        {standing:<12} {', '.join(rules)}"
        if one.cores.those("may"):
            for chosen in one.cores.sufficient:
                yield f"        suffices     {', '.join(chosen.rules)}"
        if one.cut_sets:
            yield f"        cut sets     {', '.join(_cuts(sets, name, rule))}"
        all_of = "all minimal sets" if one.cores.complete else "not all minimal sets"
        yield f"        bounds       {all_of}, {one.cores.tried} tried; {bounds}"
        if one.undecided:
            first = ", ".join(" with ".join(chosen) for chosen in one.undecided[:UNDECIDED])
            more = f", and {left:,} more" if (left := len(one.undecided) - UNDECIDED) > 0 else ""
            yield f"        undecided    {first}{more}"


def _cuts(sets: "SavedSets", promise: str, rule: str | None = None) -> Iterator[str]:
    one = sets.promises[promise]
    for cut, run in zip(one.cuts, one.cut_sets, strict=True):
        if rule is None or rule in cut:
            whole = "" if one.is_minimal(cut) else "; a part of it is undecided"
            yield f"{' with '.join(cut)} ({len(run.steps)} steps{whole})"


def _table_rows(entry: ProtocolEntry, sets: "SavedSets") -> Iterator[str]:
    for name, one in sets.promises.items():
        standing = " | ".join(", ".join(one.cores.those(s)) or "–" for s in STANDINGS)
        cuts = ", ".join(_cuts(sets, name)) or "–"
        yield f"| {entry.name}/{sets.variant} | {sets.model} | {name_in_words(name)} | {standing} | {cuts} |\n"
