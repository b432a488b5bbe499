"""``explore`` and ``necessity``: one engine each, on one protocol or variant."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.exits import code_of
from fencepost.proofs.cli.shared.interrupts import when_interrupted
from fencepost.proofs.cli.shared.options import (
    BOUND,
    JSON,
    MASTER,
    PROFILE,
    PROTOCOL,
    OutputFile,
    asked_property,
    chosen,
    complete_protocol,
    complete_variant,
    jobs_on,
    parse_bounds,
    whole,
)
from fencepost.proofs.cli.shared.output import (
    bound_in_words,
    console,
    duration,
    errors,
    folder_of_tests,
    line_of,
    read_from,
    verdict_sign,
)
from fencepost.proofs.cli.shared.pages import HTML, MERMAID, explored, judged, write_pages
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA, cut_short, write_json, write_text
from fencepost.properties.catalogue import (
    CatalogueError,
    Profile,
    ProtocolEntry,
    Variant,
    bounds_of,
    features_of,
    whole_of,
)
from fencepost.properties.nearest import instead

if TYPE_CHECKING:  # these import NumPy and Z3, which `--help` need not wait for
    from fencepost.proofs.engines.explore import Exploration, Progress
    from fencepost.proofs.necessity.search import Necessity
    from fencepost.proofs.results import Result

LONG = 1.0
"""Seconds from which on it is told how long compiling took."""


@click.command()
@click.argument("name", metavar="PROTOCOL[/VARIANT]", shell_complete=complete_variant, type=PROTOCOL)
@BOUND
@PROFILE
@JSON
@click.option(
    "--engine", type=click.Choice(("auto", "numpy", "numba")), default="auto", show_default=True,
    help="numba compiles for seconds, and is faster then; auto goes on with it where that pays.",
)  # fmt: skip
@click.option("--property", "only", multiple=True, metavar="P", help="Judge this property only; may be repeated.")
@click.option("--symmetry", is_flag=True, help="Keep one of the states that differ in the names of elements alone.")
@click.option(
    "--partial-order", is_flag=True,
    help="Leave out steps that differ in their order alone, which no property asked for sees.",
)  # fmt: skip
@click.option(
    "--checkpoint", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep states in files here, and go on where a search that was interrupted has been.",
)  # fmt: skip
@HTML
@MERMAID
def explore(
    name: str, changes: tuple[str, ...], profile: Profile, json_file: Path | None, engine: str, only: tuple[str, ...],
    symmetry: bool, partial_order: bool, checkpoint: Path | None, html_file: Path | None, mermaid_file: Path | None,
) -> int:  # fmt: skip
    """Visit every reachable state within bounds, breadth first.

    Counterexamples and witnesses are shortest ones; `fencepost show` prints them.  Without a variant, all main variants
    are explored, and the JSON is a list.  Example: fencepost explore id-blocks/kraft --bound ids=2

    With --partial-order verdicts and lengths of runs are the same from fewer states, the fewer the less is asked, so
    that --property pays; each state takes longer, and dangers count as met only by the steps that were taken.
    """
    from fencepost.proofs.engines.explore import Progress
    from fencepost.proofs.engines.run_engines import run_explore
    from fencepost.proofs.pages.stories import Story
    from fencepost.proofs.scope.scopes import scope_lines

    documents, stories, wrong = list[dict[str, Any]](), list[Story](), 0
    read = read_from(variant for _, variant in chosen(name))
    asked = {variant.name: _judged(entry, variant, only) for entry, variant in chosen(name)}
    for entry, variant, feature, bound in _explorations(name, profile, parse_bounds(changes)):
        label = f"{entry.name}/{variant.name} {feature}".rstrip()
        levels: list[Progress] = []

        def so_far(entry=entry, variant=variant, bound=bound, levels=levels) -> None:  # type: ignore[no-untyped-def]
            """The levels that were searched when an interrupt came, after what was explored before."""
            if json_file is not None:
                names = asked[variant.name]
                of_this = [_searched_so_far(entry, variant, names, bound, levels) | {"sources": read}] if levels else []
                found = [*documents, *of_this]
                write_json(json_file, cut_short(found[0] if len(found) == 1 else found))

        with when_interrupted(so_far, partial(any, (documents, levels))), spinner(label) as bar:

            def told(level: Progress, bar=bar, label=label, levels=levels) -> None:  # type: ignore[no-untyped-def]
                levels.append(level)
                bar.show(
                    f"{label}, depth {level.depth}, {level.frontier:,} new states",
                    done=level.distinct,
                    total=expected_states(level.distinct, [each.frontier for each in levels]),
                )
                if level.warning:
                    errors.print(f"depth {level.depth}: {level.warning}")

            results, made = run_explore(
                entry, variant, bound, only=asked[variant.name], told=told, engine=engine, checkpoint=checkpoint,
                symmetry=symmetry, partial_order=partial_order,
            )  # fmt: skip
        about = f" ({feature})" if feature else ""
        console.print(f"{entry.name}/{variant.name}{about} within {bound_in_words(bound)}")
        console.print(
            f"    {made.distinct:,} states{up_to(made)}, {made.generated:,} generated, depth {made.depth}, "
            + duration(made.seconds)
            + (f" after {duration(made.compile_seconds)} of compiling" if made.compile_seconds > LONG else "")
            + (f", {made.resumed:,} of them found before" if made.resumed else "")
            + (f", stopped: {made.stopped}" if made.stopped else "")
        )
        if (made.stopped or "").startswith("memory") and checkpoint is None:
            console.print("    with --checkpoint DIR states lie on disk, and it goes on")
        for line in scope_lines(results, "met"):
            console.print(f"    {line}", style="dim", markup=False)
        for r in results:
            steps = f" in {r.evidence['steps']} steps" if "steps" in r.evidence else ""
            console.print(f"    {name_in_words(r.property):<34} {verdict_sign(r.kind, r.verdict)}{steps}")
        for action, count in made.cut.items():
            if count:
                console.print(f"    {count:,} steps of {action} lead beyond the bounds and were not taken")
        # Bounds of one's own, or of one feature, may be too small for a witness; that says nothing of the protocol.
        few = bool(changes or variant.features)
        wrong += sum(not r.as_expected and not (few and r.kind == "sometimes") for r in results)
        documents.append(_document(entry, variant, bound, results, made) | {"sources": read})
        if html_file is not None or mermaid_file is not None:
            stories += explored(entry, variant, bound, made)
    write_pages(stories, html_file, mermaid_file)
    if json_file is not None:
        write_json(json_file, documents[0] if len(documents) == 1 else documents)
    return code_of((verdict for each in documents for verdict in each["verdicts"].values()), wrong)


def up_to(made: "Exploration") -> str:
    """Of a search that has not all states, of which ones it has one: what is alike, and whether steps were left out."""
    alike = made.kernels.symmetry
    names = "" if alike is None else f" up to the names of {' and '.join(sort.bound for sort in alike.sorts)}"
    return names + (" by partial order" if made.kernels.partial_order is not None else "")


def _judged(entry: ProtocolEntry, variant: Variant, only: Sequence[str]) -> list[str]:
    """The properties to judge, or those of them that were named; CatalogueError for progress, which is none of them."""
    if not only:
        return [n for n, p in variant.asked.items() if p.kind != "eventually"]
    found = [asked_property(entry, variant, name) for name in only]
    for item in found:
        if item.kind == "eventually":
            raise CatalogueError(
                f"{name_in_words(item.name)!r} says what happens in the end, which explore does not judge; "
                f"see fencepost show {entry.name}/{variant.name} {name_in_words(item.name)!r}"
            )
    return [item.name for item in found]


def _searched_so_far(
    entry: ProtocolEntry, variant: Variant, asked: Sequence[str], bound: dict[str, int], levels: "Sequence[Progress]"
) -> dict[str, Any]:
    """The JSON of a search that an interrupt has ended.  What it has not decided is unknown; its traces would take
    longer to be found than an interrupt may take."""
    last = levels[-1]
    return {
        "schema": SCHEMA, "protocol": entry.name, "variant": variant.name, "bound": bound,
        "distinct": last.distinct, "generated": last.generated, "depth": last.depth, "seconds": round(last.seconds, 4),
        "complete": False, "levels": [level.frontier for level in levels],
        "verdicts": {name: last.decided.get(name, "unknown") for name in asked}, "cut": {}, "traces": {},
    }  # fmt: skip


def expected_states(distinct: int, frontiers: Sequence[int]) -> int | None:
    """About how many states there are, from the numbers of new ones by depth: once these have fallen over three levels,
    they are taken to go on falling as they did, which is rather too slow.  None before."""
    last = frontiers[-4:]
    if len(last) < 4 or not all(later < earlier for earlier, later in pairwise(last)) or not last[-1]:
        return None
    ratio: float = (last[-1] / last[0]) ** (1 / 3)
    return distinct + round(last[-1] * ratio / (1 - ratio))


def _explorations(
    name: str, profile: Profile, changes: dict[str, int]
) -> Iterator[tuple[ProtocolEntry, Variant, str, dict[str, int]]]:
    """The explorations to make: every feature of the variants chosen, or the bounds that were asked for."""
    for entry, variant in chosen(name):
        wanted = {"": bounds_of(variant, profile, changes)} if changes else features_of(variant, profile)
        for feature, bound in wanted.items():
            yield entry, variant, feature, bound


def _document(
    entry: ProtocolEntry, variant: Variant, bound: dict[str, int], results: "list[Result]", made: "Exploration"
) -> dict[str, Any]:
    """The JSON of ``explore`` for one variant."""
    return {
        "schema": SCHEMA,
        "protocol": entry.name,
        "variant": variant.name,
        "bound": bound,
        "distinct": made.distinct,
        "generated": made.generated,
        "depth": made.depth,
        "seconds": round(made.seconds, 4),
        "compile_seconds": round(made.compile_seconds, 4),
        "complete": made.complete,
        **({"resumed": made.resumed} if made.resumed else {}),
        **({"symmetry": [sort.bound for sort in made.kernels.symmetry.sorts]} if made.kernels.symmetry else {}),
        **({"partial_order": True} if made.kernels.partial_order else {}),
        "levels": made.levels,
        "verdicts": {r.property: r.verdict for r in results},
        "cut": {a: n for a, n in made.cut.items() if n},
        "traces": {r.property: r.evidence["events"] for r in results if "events" in r.evidence},
        **({"scope": results[0].scope, "out": results[0].out, "excused": results[0].excused} if results else {}),
    }


@click.command()
@click.argument("name", metavar="PROTOCOL", required=False, shell_complete=complete_protocol, type=PROTOCOL)
@click.option(
    "--all", "all_rules", is_flag=True, help="Every rule of every protocol; what is cached is not searched again."
)
@click.option("--rule", metavar="NUMBER", help="Only this rule, such as 730.7.")
@PROFILE
@JSON
@click.option("--table", type=OutputFile(), metavar="FILE", help="Write all rules and their verdicts as Markdown.")
@click.option(
    "--kept", type=OutputFile(), metavar="FILE", help="Verdicts of earlier runs; written again with the new ones."
)
@click.option("--sets", is_flag=True, help="Which sets of rules suffice for each proof, and which cut each promise.")
@click.option("--further", is_flag=True, help="Mistakes of time and of order instead: late, forgotten, once more.")
@HTML
@MASTER
def necessity(
    name: str | None, all_rules: bool, rule: str | None, profile: Profile, json_file: Path | None, table: Path | None,
    kept: Path | None, sets: bool, further: bool, html_file: Path | None,
    master: str | None,
) -> int:  # fmt: skip
    """Find what breaks without each rule, or that nothing does.

    Every mechanism is taken out, shifted by one and read differently: either a promise fails, in the fewest steps, or
    there is a proof that nothing does, and work still gets done.  A verdict that was kept of the same models is not
    searched again, and says so.  Example: fencepost necessity id-blocks --rule 730.10

    With --further other mistakes about the same rules are judged: an effect that comes later, a memory that is lost, a
    step that is taken again, and numbers compared by order that have to be equal.

    With --sets rules are taken out together: what the proof of each promise needs (must: in every set that suffices;
    may: in some), and what makes it fail.  The nightly profile searches that, and keeps it.

    With --all there is one table of all protocols, a row a rule, each with the scope of its verdict; a rule without a
    verdict makes exit code 1.  Example: fencepost necessity --all --table rules.md
    """
    if html_file is not None and (all_rules or sets):
        raise CatalogueError("--html shows the runs of verdicts one by one; leave out --all and --sets")
    if all_rules:
        if name is not None or rule is not None or kept is not None or sets or further:
            raise CatalogueError("--all is of every protocol and rule, and of what is kept beside the code; leave out "
                                 "the protocol, --rule, --kept, --sets and --further")  # fmt: skip
        from fencepost.proofs.cli.every_rule import tell_all

        return tell_all(profile, json_file, table, master)
    if name is None:
        raise CatalogueError("no protocol is named; name one, such as id-blocks, or say --all")
    from fencepost.proofs.cli.rule_sets import known_sets, tell_sets
    from fencepost.proofs.necessity.search import Necessity, number_of_verdicts, plan
    from fencepost.proofs.necessity.tables import Kept, page

    entry = whole(name)
    if rule is not None and (table is not None or kept is not None):
        raise CatalogueError("a table is of all rules, and so is what is kept; leave out --rule")

    if further and (sets or table is not None or kept is not None):
        raise CatalogueError("--further judges other mistakes, which no table has; leave out --sets, --table, --kept")

    if sets and master is not None:
        raise CatalogueError("--sets searches one variant after another in this process; leave out --master")

    if sets:
        return tell_sets(whole_of(entry), profile, rule, json_file, table)

    every: list[Necessity] = []

    def told(found: Necessity) -> None:
        every.append(found)
        console.print(line_of(found), markup=False)
        if found.verdict == "survives-bounded" and not found.reason and not found.kept:
            for why in found.evidence:
                console.print(f"        {why}", style="dim", markup=False)
        bar.advance()

    entries = whole_of(entry)
    read = read_from(variant for each in entries for variant in each.variants)
    number = sum(number_of_verdicts(e, rule, further) for e in entries)
    earlier = None if kept is None else Kept.read(kept)

    def so_far() -> None:
        """What was judged when an interrupt came: a table is whole or is not written, but no verdict is lost."""
        if json_file is not None:
            write_json(json_file, cut_short([found.as_dict() | {"sources": read} for found in every]))
        if kept is not None and earlier is not None:
            earlier.write(kept, whole=False)

    label = f"necessity of {', '.join(e.name for e in entries)}"
    with when_interrupted(so_far):
        with spinner(label, number) as bar, jobs_on(master, number) as jobs:
            plans = [plan(each, profile, rule=rule, earlier=earlier, further=further, jobs=jobs) for each in entries]
            for verdict in chain.from_iterable(plans):
                told(verdict())
        if rule is not None and not every:
            raise CatalogueError(_nothing_to_judge(entry, rule))
        if html_file is not None:
            write_pages([one for each in entries for one in judged(each, _of(each, every))], html_file, None)
        if table is not None:
            write_text(table, page(entry, entries, every, folder_of_tests(), earlier))
        if json_file is not None:
            known = known_sets(entries)
            rows = [(n, known[n.variant].of_rule(n.rule) if n.variant in known else {}) for n in every]
            write_json(json_file, [n.as_dict() | of_sets | {"sources": read} for n, of_sets in rows])
        if kept is not None and earlier is not None:
            earlier.write(kept)
    open_ones = ("survives-bounded", "refuted")
    return 1 if any(found.verdict in open_ones and not found.reason for found in every) else 0


def _of(entry: ProtocolEntry, found: "Sequence[Necessity]") -> "Iterator[Necessity]":
    """The verdicts on variants of one of several protocols."""
    names = {variant.name for variant in entry.variants}
    return (one for one in found if one.variant in names)


def _nothing_to_judge(entry: ProtocolEntry, rule: str) -> str:
    """Why there is no verdict on a rule: it does not exist, or nothing can be taken out of it."""
    from fencepost.model.language.derived.mutations import mutations
    from fencepost.model.rules import RULES

    judged = {m.rule for v in entry.variants if v.main for m in mutations(v.properties.protocol.spec)}
    judged = {r for r in judged if RULES[r].kind == "mechanism"} | {v.rule for v in entry.variants if v.rule}
    where = f"fencepost list {entry.name} --mutations"
    if rule not in RULES:
        meant = instead(rule, sorted(judged, key=list(RULES).index), where)
        return f"there is no rule {rule!r}; of those of {entry.name} that necessity judges: {meant}"
    return f"rule {rule} of kind {RULES[rule].kind} is not judged for {entry.name}; {where} names those that are"
