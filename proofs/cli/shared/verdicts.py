"""This module formats what ``fencepost verify`` prints: the verdicts under a heading, the table of protocols, and the
commands to run next."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fencepost.model.dangers import DANGERS
from fencepost.proofs.cli.shared.output import SIGNS, console, duration, killers_line, verdict_line
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Result
from fencepost.properties.catalogue import Profile, Variant, bounds_of, find
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import called
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:  # this imports Z3, which `--help` need not wait for
    from fencepost.proofs.tally import Tally

WIDE = 120
"""The table has at most this many columns, so that it also reads well where it is piped."""
MOST = 3
"""At most this many commands are suggested."""
LEGEND = (
    "proved, held, refuted: pairs of a variant and a promise, each counted once. open dangers: of "
    f"{len(DANGERS)}, those that no\nproof and no search of some variant met, though nothing excludes them "
    "(fencepost dangers). of the cache: verdicts that\nan earlier run computed; seconds of work: of the engines, "
    "whenever they did it"
)


def block(heading: str, results: Sequence[Result], *, unexpected_only: bool = False) -> Iterator[Text]:
    """Yield the verdicts under a heading, with a line for each property and all engines that judged it, and lemmas as a
    count. With ``unexpected_only``, only properties with an unexpected verdict have lines, and there is no output
    without any."""
    from fencepost.proofs.scope.scopes import scope_lines

    if unexpected_only and all(r.as_expected for r in results):
        return
    yield Text(f"\n{heading}")
    if dates := [r.cached for r in results if r.cached]:
        words = "" if len(dates) == len(results) else f"{len(dates)} of {len(results)} verdicts "
        yield Text(f"    {words}kept since {min(dates)}; nothing that they depend on has changed", style="dim")
    by_property: dict[str, list[Result]] = {}
    readings = [r for r in results if r.engine == "equal"]
    alike = {r.property for r in readings if r.as_expected}
    for result in (r for r in results if r.property not in alike):
        by_property.setdefault(result.property, []).append(result)
    if unexpected_only:
        yield from (_line(mine) for mine in by_property.values() if not all(r.as_expected for r in mine))
        return
    yield from (Text(f"    {line}", style="dim") for line in scope_lines(results))
    lemmas = [
        mine
        for mine in by_property.values()
        if mine[0].evidence.get("role") == "lemma" and all(r.as_expected for r in mine)
    ]
    yield from (_line(mine) for mine in by_property.values() if mine not in lemmas)
    if lemmas:
        engines = dict.fromkeys(r.engine for mine in lemmas for r in mine)
        number = quantity(len(lemmas), "lemma")
        yield Text.from_markup(f"    {number:<34} {SIGNS['holds']:<17}  {', '.join(engines)}")
    if alike:
        same = [r.evidence["of"] for r in readings if r.property in alike and r.evidence["reading"] == "packed words"]
        words = f"{quantity(same.count('action'), 'action')}, {quantity(same.count('property'), 'property')}"
        took = duration(sum(r.seconds for r in readings))
        yield Text.from_markup(f"    {words:<34} {SIGNS['holds']:<17}  the same in each reading, equal {took}")
    if killers := killers_line(results):
        yield Text(killers)


def _line(results: Sequence[Result]) -> Text:
    return Text.from_markup(verdict_line(results))


def table_of(tallies: Sequence["Tally"]) -> Table:
    """Return a table with a line for each protocol, and a total where there are several."""
    from fencepost.proofs.tally import total

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("\nprotocol", no_wrap=True)
    for heading in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for one in tallies:
        table.add_row(one.name, *cells(one), style="red" if one.unexpected else None)
    if len(tallies) > 1:
        table.add_row("total", *cells(total(tallies)), style="bold")
    # The table gets its full width even in a pipe, which Rich assumes to have 80 columns.
    table.width = Measurement.get(console, console.options.update_width(WIDE), table).maximum
    return table


COLUMNS = (
    "\nvariants", "\nproved", "held in\nbounds", "refuted as\npredicted", "not as\nexpected", "sets of\nhistories",
    "systems\ndriven", "open\ndangers", "of the\ncache", "seconds\nof work",
)  # fmt: skip


def cells(one: "Tally") -> Iterator[str]:
    """Yield the cells of a protocol's line after its name."""
    judged = (one.variants, one.proved, one.held, one.refuted, one.unexpected)
    counts = (*judged, one.histories, one.driven, len(one.open))
    yield from (f"{number:,}" for number in counts)
    yield "all" if one.cached == one.verdicts else f"{one.cached:,}"
    yield f"{one.seconds:,.0f}"


def summary(results: Sequence[Result], seconds: float) -> str:
    """Return the line of conclusion: ``381 verdicts in 122 s (109 by induction, …); 50 violations as predicted; 0 not
    as expected``."""
    counted: dict[str, int] = {}
    for r in results:
        counted[r.engine] = counted.get(r.engine, 0) + 1
    engines = ", ".join(f"{count} by {engine}" for engine, count in counted.items())
    dates = [r.cached for r in results if r.cached is not None]
    cached = f"; {len(dates)} kept by earlier runs, since {min(dates)}" if dates else ""
    predicted = sum(r.expected == "violated" and r.as_expected for r in results)
    wrong = sum(not r.as_expected for r in results)
    return (
        f"{len(results)} verdicts in {seconds:.0f} s ({engines}{cached}); "
        f"{quantity(predicted, 'violation')} as predicted; {wrong} not as expected"
    )


def next_commands(
    results: Sequence[Result], problems: Sequence[str], names: Iterable[str], profile: Profile, seed: int, *, page: bool
) -> list[str]:
    """Return at most `MOST` commands that a user would run next, about unexpected verdicts if there are any.
    ``problems`` has the disagreements of engines, ``names`` the protocols that were named, and ``page`` whether the
    page of verdicts was written."""
    wrong = [command_about(r, profile, seed) for r in results if not r.as_expected]
    for place, _, prop in (problem.partition(":")[0].partition(" ") for problem in problems):
        wrong.append(f'fencepost show {place} "{name_in_words(prop)}"{_profile(profile)}')
    if wrong:
        return list(dict.fromkeys(wrong))[:MOST]
    again = " ".join(["fencepost verify", *map(called, names)]) + _profile(profile) + (f" --seed {seed}" * (seed != 1))
    broken = next((r for r in results if r.verdict == "violated" and r.engine == "explore"), None)
    return [
        "fencepost releases",
        f"{again} --verbose" if page else f"{again} --html verdicts.html",
        "fencepost list" if broken is None else command_about(broken, profile, seed),
    ]


def command_about(result: Result, profile: Profile, seed: int) -> str:
    """Return the command that prints more about one verdict, such as the run that breaks a promise."""
    protocol = called(result.protocol)
    place = f"{protocol}/{result.variant}"
    if result.verdict == "vacuous" and result.engine != "replay":
        return f"fencepost mutants {place}"
    if result.engine in ("induction", "second-opinion"):
        solver = " --second-opinion cvc5" if result.engine == "second-opinion" else ""
        return f"fencepost prove {place}{solver}"
    if result.engine == "agreement":
        return f"fencepost agree {place} --implementation {result.evidence['implementation']} --seed {seed}"
    if result.engine in ("explore", "progress"):
        changes = "" if result.engine == "progress" else _within(result, profile)
        return f'fencepost show {place} "{name_in_words(result.property)}"{_profile(profile)}{changes}'
    return f"fencepost verify {protocol} --verbose{_profile(profile)} --seed {seed}"


def _within(result: Result, profile: Profile) -> str:
    _, variant = find(f"{result.protocol}/{result.variant}")
    return "" if variant is None or result.bound is None else differing(variant, profile, result.bound)


def differing(variant: Variant, profile: Profile, bound: Mapping[str, int]) -> str:
    """Return options for the bounds that differ from the variant's own: `` --bound copies=1``."""
    usual = bounds_of(variant, profile)
    return "".join(f" --bound {n}={bound[n]}" for n in usual if n in bound and bound[n] != usual[n])


def _profile(profile: Profile) -> str:
    return "" if profile == "smoke" else f" --profile {profile}"
