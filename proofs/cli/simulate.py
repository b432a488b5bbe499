"""The command ``simulate`` takes random walks through a model, aimed or plain."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cli.shared.interrupts import reported
from fencepost.proofs.cli.shared.options import (
    BOUND,
    JSON,
    PROFILE,
    PROTOCOL,
    SEED,
    complete_variant,
    parse_bounds,
    the_one,
)
from fencepost.proofs.cli.shared.output import bound_in_words, console, duration, read_from
from fencepost.proofs.cli.shared.pages import HTML, story_of, write_pages
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.cli.show import brief
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA
from fencepost.properties.catalogue import Profile, bounds_of
from fencepost.properties.nearest import quantity

if TYPE_CHECKING:
    from fencepost.proofs.engines.simulate import Wandering
    from fencepost.proofs.schemas import Simulated


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT", shell_complete=complete_variant, type=PROTOCOL)
@click.option(
    "--steps", type=click.IntRange(1, 10**9), default=10_000, show_default=True, help="To take, in all walks."
)
@click.option(
    "--aim", "aims", multiple=True, type=click.Choice(("plain", "starts", "near", "weights", "targets")),
    default=("near",), show_default=True, help="Search heuristic; may be repeated.  plain: uniformly random.",
)  # fmt: skip
@SEED
@BOUND
@PROFILE
@HTML
@JSON
def simulate(
    name: str, steps: int, aims: tuple[str, ...], seed: int, changes: tuple[str, ...], profile: Profile,
    html_file: Path | None, json_file: Path | None,
) -> int:  # fmt: skip
    """Walk at random through a model until a promise breaks.

    The command proves nothing. Random walks are for models too large to be searched, and to see what random testing can
    be expected to find. Aimed walks set out from runs of the correct protocol. The exit code is 0 if what breaks, or
    that nothing does, is what the documents predict. A predicted violation that these walks miss is reported, and is no
    failure.

    Example: fencepost simulate kip618-yardstick/fence-new-count
    """
    from fencepost.proofs.engines.simulate import AIMS
    from fencepost.proofs.engines.simulate import wander as walk

    entry, variant = the_one(name)
    bound = bounds_of(variant, profile, parse_bounds(changes))
    read = read_from([variant])
    console.print(f"{entry.name}/{variant.name} within {bound_in_words(bound)}, seed {seed}", markup=False)
    under_way: list[Callable[[], Wandering]] = []  # functions that report on the walks so far

    def document() -> "Simulated":
        found = under_way[-1]()
        return {
            "schema": SCHEMA, "variant": f"{entry.name}/{variant.name}", "seed": seed, "aims": found.aims,
            "bounds": found.bounds, "promise": found.promise, "steps": found.steps, "examples": found.examples,
            "actions": dict(found.actions),
            "run": [str(event) for event in found.trace.events] if found.trace else None, "found_in": found.raw,
            "shortest": found.shortest, "sources": read,
        }  # fmt: skip

    with reported(json_file, document, lambda: under_way), spinner(f"{entry.name}/{variant.name}"):
        found = walk(
            variant, bound, seed=seed, steps=steps, aims=[a for a in AIMS if a in aims], started=under_way.append
        )
        under_way.append(lambda: found)
    about = f"{quantity(found.steps, 'step')} in {quantity(found.examples, 'walk')}, {duration(found.seconds)}"
    about += f"; {quantity(found.explored, 'state')} explored to set out from" if found.explored else ""
    if found.promise is None or found.trace is None:
        missed = any(verdict == "violated" for verdict in variant.expected.values())
        console.print(
            f"No violation found{', though this variant has one, which explore finds' if missed else ''}.  {about}"
        )
    else:
        for line in brief(variant.spec, found.trace):
            console.print(line, markup=False)
        length = quantity(len(found.trace), "step") + (", and not in fewer" if found.shortest else "")
        console.print(f"\n{name_in_words(found.promise)} broke in {length}; a walk found it in {found.raw}.  {about}")
    stories = []
    if found.promise is not None and found.trace is not None:
        asked, how = variant.asked[found.promise], "A run found by random walks, and made shorter."
        how = how + "  No run within these bounds is shorter." if found.shortest else how
        stories = [story_of(entry, variant, variant.spec, asked, bound, found.trace, about=how)]
    write_pages(stories, html_file)
    return 0 if found.promise is None or variant.expected.get(found.promise) == "violated" else 1
