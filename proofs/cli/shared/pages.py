"""This module implements ``--html``, which draws runs as a page for a browser."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cli.shared.options import OutputFile
from fencepost.proofs.cli.shared.output import bound_in_words, errors
from fencepost.proofs.report import write_text
from fencepost.properties.catalogue import ProtocolEntry, Variant
from fencepost.properties.nearest import quantity

if TYPE_CHECKING:
    from fencepost.model.language.properties import Property
    from fencepost.model.language.protocol import Spec
    from fencepost.proofs.engines.explore import Exploration
    from fencepost.proofs.engines.induction_counterexamples import Reached
    from fencepost.proofs.engines.obligations import Obligation
    from fencepost.proofs.necessity.search import Necessity
    from fencepost.proofs.pages.stories import Story
    from fencepost.proofs.results import Trace

HTML = click.option(
    "--html", "html_file", type=OutputFile(), metavar="FILE",
    help="Write the runs as one page to look at, which needs no network.",
)  # fmt: skip


def story_of(
    entry: ProtocolEntry, variant: Variant, spec: "Spec", asked: "Property", bounds: Mapping[str, int],
    trace: "Trace", *, without: str = "", verdict: str = "", about: str = "",
) -> "Story":  # fmt: skip
    """Return the story of a run that breaks a property, or reaches it. ``without`` names the rule that was got wrong,
    and how. ``verdict`` and ``about`` replace the words for a shortest run."""
    from fencepost.proofs.pages.stories import Asked, narrate
    from fencepost.proofs.readings.words import name_in_words

    witness, endless, length = asked.kind == "sometimes", asked.kind == "eventually", len(trace)
    found = f"{'reached' if witness else 'broken'} after {quantity(length, 'step')}"
    verdict = verdict or ("broken by a run that never ends" if endless else found)
    about = about or f"A {'run' if endless else 'shortest run'} within {bound_in_words(dict(bounds))}."
    title = f"{entry.name}/{variant.name}" + (f" without {without}" if without else "")
    left_out = tuple(f"{name_in_words(name)}: {outside}" for name, outside in sorted(spec.outside.items()))
    promises = {n: p for n, p in variant.promised.items() if p.role == "promise"}
    good = witness or verdict.startswith("holds")
    subject = Asked(title, variant.says, asked, verdict, good, (about,), left_out)
    return narrate(subject, spec, promises, dict(bounds), trace)


def explored(entry: ProtocolEntry, variant: Variant, bounds: Mapping[str, int], made: "Exploration") -> "list[Story]":
    """Return the runs that break a property in an exploration, followed by those that reach one."""
    asked = [variant.asked[name] for name in made.traces]
    ordered = sorted(asked, key=lambda one: one.kind == "sometimes")
    spec = made.kernels.ground.spec  # this spec lacks ghosts that no property reads
    return [story_of(entry, variant, spec, one, bounds, made.traces[one.name]) for one in ordered]


def attempted(
    entry: ProtocolEntry, variant: Variant, reached: "Sequence[tuple[Obligation, Reached | None]]"
) -> "Iterator[Story]":
    """Yield the steps that broke a proof, each as a run of one step, where exploration has bounds for them."""
    from fencepost.proofs.results import Trace

    for failed, words in reached:
        example = failed.counterexample
        if words is None or example is None or example.before is None or example.event is None:
            continue
        trace = Trace((example.before, example.after), (example.event,))
        found = "reached" if words.steps is not None else "not reached within the bounds explored"
        verdict = f"not preserved by {failed.action}, from a state that is {found}"
        about = " ".join(line.strip() for line in words.words(failed))
        asked = variant.promised[failed.property]
        yield story_of(entry, variant, variant.spec, asked, words.bound, trace, verdict=verdict, about=about)


def judged(entry: ProtocolEntry, found: "Iterable[Necessity]") -> "Iterator[Story]":
    """Yield the run of each necessity verdict that has one, in which a promise breaks without a rule."""
    for one in found:
        variant = entry.variant(one.variant)
        if one.trace is not None and one.promise is not None and one.bound is not None:
            asked, wrong = variant.asked[one.promise], f"{one.rule} ({one.mutation})"
            yield story_of(entry, variant, one.spec, asked, one.bound, one.trace, without=wrong)


def write_pages(stories: Sequence["Story"], html_file: Path | None) -> None:
    """Write the page, if one was asked for. Where there are no runs, print that nothing is written."""
    if html_file is None:
        return
    if not stories:
        errors.print(f"there is no run to be seen, so {str(html_file)!r} is not written", markup=False)
        return
    from fencepost.proofs.pages.page import page

    write_text(html_file, page(stories))
