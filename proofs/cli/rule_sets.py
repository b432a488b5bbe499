"""``necessity --sets``: which sets of rules suffice for each proof, and which cut each promise."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fencepost.proofs.cli.shared.interrupts import when_interrupted
from fencepost.proofs.cli.shared.output import console, errors, read_from
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.necessity.rule_removal import rules_of
from fencepost.proofs.necessity.sets import KeptSets, asked, faults, file_of, read, search, write
from fencepost.proofs.necessity.validity_cores import Standing, promises_of
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import cut_short, write_json, write_text
from fencepost.properties.catalogue import CatalogueError, Profile, ProtocolEntry, Variant

STANDINGS: tuple[Standing, ...] = ("must", "may", "not needed")
HEAD = "| variant | model | promise | must | may | not needed | cut sets |\n|---|---|---|---|---|---|---|\n"


def tell_sets(
    entries: Sequence[ProtocolEntry], profile: Profile, rule: str | None, json_file: Path | None, table: Path | None
) -> int:
    """Prints the sets kept of every proved variant, held against its model; in the nightly profile, those that are
    missing or of another model are searched first."""
    variants = [(entry, variant) for entry in entries for variant in asked(entry) if _has(variant, rule)]
    if rule is not None and not variants:
        raise CatalogueError(f"no proof of {entries[0].name} has a step with rule {rule}; leave out --rule to see all")
    sources = read_from(variant for _, variant in variants)
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    wrong = 0

    def so_far() -> None:
        """Whole variants, as far as they were told when an interrupt came."""
        if json_file is not None:
            write_json(json_file, cut_short(rows))

    with when_interrupted(so_far):
        for entry, variant in variants:
            sets = _searched(entry, variant) if profile == "nightly" else read(variant)
            if sets is None:
                again = f"fencepost necessity {entry.name} --sets --profile nightly"
                console.print(f"{entry.name}/{variant.name}: not searched yet: {again}", markup=False)
                continue
            wrong += _tell(entry, variant, sets, rule)
            rules = dict.fromkeys(r for one in sets.promises.values() for r in one.cores.rules)
            about = {"protocol": entry.name, "variant": variant.name, "model": sets.model}
            rows += [{**about, "rule": r, **sets.of_rule(r), "sources": sources} for r in rules if rule in (None, r)]
            lines += _table_rows(entry, sets)
        if json_file is not None:
            write_json(json_file, rows)
        if table is not None:
            write_text(table, HEAD + "".join(lines))
    return 1 if wrong else 0


def _tell(entry: ProtocolEntry, variant: Variant, sets: KeptSets, rule: str | None) -> int:
    """Prints the sets of one variant, and how they differ from its model; returns in how many places they do."""
    console.print(f"{entry.name}/{variant.name}, model {sets.model}", markup=False)
    for line in in_words(sets, rule):
        console.print(line, markup=False)
    if hard := [name_in_words(name) for name in promises_of(variant) if name not in sets.promises]:
        console.print(f"    not searched, since the proof takes more than is allowed to each step: {', '.join(hard)}")
    wrong = 0
    with spinner(f"the sets of {entry.name}/{variant.name} against its model"):
        for fault in faults(variant, sets):
            wrong += 1
            errors.print(f"[red]does not hold any more:[/] {fault}")
    return wrong


def _has(variant: Variant, rule: str | None) -> bool:
    return rule is None or rule in rules_of(variant.properties.protocol.spec)


def known_sets(entries: Sequence[ProtocolEntry]) -> dict[str, KeptSets]:
    """The sets kept, by variant, for the rows of ``necessity --json``.  Of those of another model only that is said."""
    known: dict[str, KeptSets] = {}
    for variant in (v for entry in entries for v in asked(entry)):
        try:
            sets = read(variant)
        except CatalogueError as refused:
            errors.print(f"warning: {refused}", markup=False)
        else:
            known |= {} if sets is None else {variant.name: sets}
    return known


def _searched(entry: ProtocolEntry, variant: Variant) -> KeptSets:
    file = file_of(variant)
    try:
        sets = read(variant)
    except CatalogueError:
        sets = None
    if sets is None:
        with spinner(f"the sets of {entry.name}/{variant.name}"):
            sets = search(variant, lambda words: console.print(f"    {words}", markup=False))
        if file is not None:
            write(file, sets)
    return sets


def in_words(sets: KeptSets, rule: str | None = None) -> Iterator[str]:
    """A few lines a promise; of one ``rule``, only the promises that it matters to."""
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
        yield f"        bounds       {all_of}, {one.cores.tried} tried; {_bounds(sets)}"
        if one.undecided:
            left = ", ".join(" with ".join(chosen) for chosen in one.undecided)
            yield f"        undecided    {left}"


def _cuts(sets: KeptSets, promise: str, rule: str | None = None) -> Iterator[str]:
    one = sets.promises[promise]
    for cut, run in zip(one.cuts, one.cut_sets, strict=True):
        if rule is None or rule in cut:
            whole = "" if one.is_minimal(cut) else "; a part of it is undecided"
            yield f"{' with '.join(cut)} ({len(run.steps)} steps{whole})"


def _bounds(sets: KeptSets) -> str:
    states = ", ".join(f"{count:,}" for count in sets.states)
    return (
        f"cut sets of {len(sets.states)} rules at most, all pairs, triples where no proof does without them; "
        f"explored to {states} states by number of rules"
    )


def _table_rows(entry: ProtocolEntry, sets: KeptSets) -> Iterator[str]:
    for name, one in sets.promises.items():
        standing = " | ".join(", ".join(one.cores.those(s)) or "–" for s in STANDINGS)
        cuts = ", ".join(_cuts(sets, name)) or "–"
        yield f"| {entry.name}/{sets.variant} | {sets.model} | {name_in_words(name)} | {standing} | {cuts} |\n"
