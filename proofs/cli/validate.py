"""The command ``validate`` checks a trace that another tool wrote against a model."""

from pathlib import Path

import click
from fencepost.proofs.cli.shared.options import BOUND, PROFILE, PROTOCOL, complete_variant, parse_bounds, the_one
from fencepost.proofs.cli.shared.output import bound_in_words, console, read_from
from fencepost.proofs.cli.shared.pages import HTML, story_of, write_pages
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import Profile, bounds_of
from fencepost.properties.nearest import quantity


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT", shell_complete=complete_variant, type=PROTOCOL)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@BOUND
@PROFILE
@HTML
def validate(name: str, file: Path, changes: tuple[str, ...], profile: Profile, html_file: Path | None) -> int:
    """Hold an ITF trace against a model and its promises.

    FILE is in the format that Apalache, Quint and `fencepost show --itf` write. The exit code is 0 if the trace is a
    run that breaks no promise. The exit code is 1 if the trace breaks a promise or stops being a run, in which case the
    first state that does not follow is printed, with what is false there, or the nearest step. Progress promises are
    not judged. The `loop` of an endless trace is not followed, which is reported.

    Example: fencepost validate kip618-yardstick/yardstick run.itf.json
    """
    from fencepost.model.language.tree.types import bound_of
    from fencepost.proofs.pages.stories import standing_of
    from fencepost.proofs.readings.plain import Plain
    from fencepost.proofs.traces.itf import ItfError, Misfit, document_of, follow, read_itf
    from fencepost.properties.catalogue import CatalogueError

    entry, variant = the_one(name)
    read_from([variant])
    bounds = bounds_of(variant, profile, parse_bounds(changes))
    try:
        document = document_of(file.read_text(encoding="utf-8-sig"))
        given = read_itf(variant.spec, document)
    except (ItfError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{file}: {error}") from None
    found = follow(variant.spec, bounds, given)
    console.print(f"{entry.name}/{variant.name} within {bound_in_words(bounds)}")
    if "loop" in document:
        console.print(f"not followed: that it goes on for ever, as its `loop` {document['loop']!r} says", markup=False)
    if isinstance(found, Misfit):
        console.print(f"state {found.place} of {file.name} does not follow: {found.why[0]}", markup=False)
        for line in found.why[1:]:
            console.print(f"    {line}", markup=False)
        return 1
    steps = quantity(len(found), "step")
    plain = Plain(variant.spec, {n: bound_of(bounds, n) for n in variant.spec.constants}, bounds)
    promises = [p for p in variant.asked.values() if p.role == "promise" and p.kind in ("always", "step")]
    held = [(p, standing_of(plain, p, found)) for p in promises]
    broken = [p for p, standing in held if standing is not None and standing.broken_at is not None]
    open_ones = [name_in_words(p.name) for p, standing in held if standing is None]
    none = f" none of {len(promises) - len(open_ones)} promises" if not broken else ""
    console.print(f"a run of the model of {steps}; it breaks{none}")
    if open_ones:
        console.print(f"    not judged: {', '.join(open_ones)}")
    for one in broken:
        console.print(f"    {name_in_words(one.name)} [{one.rule}]: {' '.join(one.doc.split())}", markup=False)
    about = f"A run of {file.name}."
    chosen = broken or promises[:1]
    write_pages(
        [story_of(entry, variant, variant.spec, one, bounds, found, verdict="" if broken else "holds throughout",
                  about=about) for one in chosen],
        html_file,
    )  # fmt: skip
    return int(bool(broken or open_ones))
