"""This module renders the table of releases as Markdown: cells, settings with their sources, and what each cell rests
on."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from fencepost.model.releases import NAMES, SETTINGS, TRUNK, NoRelease, each_of
from fencepost.model.rules import AREAS, RULES
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scope.releases import FEW, STRENGTH, Break, Cell, Held, Releases, in_words

COMMAND = "fencepost releases --kept proofs/verdicts/releases.json --table proofs/verdicts/releases.md"


def short(cell: Cell) -> str:
    """Return ``certified``, ``proved``, ``holds``, ``11 live`` or ``–``, with ``*`` where only a part of the promise is
    asked in that release."""
    if cell.verdict == "broken":
        return f"{cell.steps} {cell.evidence}"
    word = "certified" if cell.certified else {"proved": "proved", "holds-bounded": "holds"}.get(cell.verdict, "–")
    return word + "*" * (bool(cell.unasked) and word != "–")


def spans(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Yield each range of releases that have the same short text, in words, with that text."""
    for word, group in groupby(cells, short):
        yield _between([cell.release for cell in group]), word


def _between(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


LEGEND = (
    "proved: without bounds; certified: and Ethos has checked every step; holds: in every state within bounds; *: not "
    "all\nof the promise is asked there; –: not judged\n"
    "11 live: broken, the shortest run has 11 steps, and a break was seen on live brokers of that release; classes: on "
    "its\nclasses; client: of a client; model: in its model, and not seen on it. Other settings and reasons: --verbose"
)


def setting_in_words(cell: Cell) -> str:
    return ", ".join(f"{name} = {value}" for name, value in cell.settings.items())


def long(cell: Cell, most: int | None = FEW) -> str:
    """Return the full text of a cell. ``most`` limits how many of the runs that break the promise, and of its
    properties, are listed."""
    if cell.verdict == "broken":
        return _broken(cell, most)
    if cell.verdict == "not judged":
        return f"not judged: {cell.why}"
    word = "certified" if cell.certified else "proved" if cell.verdict == "proved" else "holds within bounds"
    held = _some([f"{in_words(one.property)} ({_verdict(one)}, {one.variant})" for one in cell.held], most)
    left = f"; not asked there: {_some(list(map(in_words, cell.unasked)), most)}" if cell.unasked else ""
    return f"{word}: {held}{left}"


def _verdict(held: Held) -> str:
    return "certified" if held.certified else held.verdict


def _broken(cell: Cell, most: int | None) -> str:
    by_variant: dict[str, list[Break]] = {}
    for one in cell.breaks:
        by_variant.setdefault(one.variant, []).append(one)
    runs = _some([_run(mine) for mine in by_variant.values()], most)
    broken = {f"{one.variant.partition('/')[0]}/{one.property}" for one in cell.breaks}
    held = [one for one in cell.held if one.property not in broken and one.verdict in STRENGTH and not one.lacks]
    rest = f"; these hold: {_some([in_words(one.property) for one in held], most)}" if held else ""
    return f"broken in {cell.steps} steps: {runs}{rest}"


def _run(runs: Sequence[Break]) -> str:
    first = runs[0]
    what = ", ".join(f"{name_in_words(one.property)} in {one.steps}" for one in runs)
    notes = [
        *first.bugs,
        f"seen {', '.join(first.seen)}" if first.seen else "not seen yet",
        *([f"by {', '.join(first.dangers)}"] if first.dangers else []),
    ]
    return f"{first.variant} ({what}; {'; '.join(notes)})"


def _some(words: Sequence[str], most: int | None) -> str:
    if most is None or len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"


def _alike(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    for text, group in groupby(cells, lambda cell: long(cell, None)):
        yield _between([cell.release for cell in group]), text


def page(releases: Releases, models: Callable[[], str], outdated: str = "") -> str:
    """Return the whole page. ``models`` returns a hash of the models that were asked, and ``outdated`` says what of the
    certificates is out of date."""
    outdated = f"{outdated}. " if outdated else ""
    cells = {(cell.promise, cell.release): cell for cell in releases.by_default()}
    other = list(releases.changed(releases.asked))
    head = f"| promise | {' | '.join(NAMES)} |\n|---|{'---|' * len(NAMES)}\n"
    rows = "".join(
        f"| {promise} | {' | '.join(short(cells[promise, r]) for r in NAMES)} |\n" for promise in releases.asked
    )
    return f"""# What each release of Kafka keeps

Made by `{COMMAND}` of the models {models()}.

A column is a release with its defaults, and with the protocol switched on that a promise is about: those of KIP-618
with exactly.once.source.support enabled, which is disabled by default. A name without a third number stands for its
bug-fix releases, unless one of them has a column; trunk is {TRUNK}.

A variant counts for a cell if it is of that release with these settings. *n live*: a run of some variant breaks the
promise, the shortest in n steps, and such a break was seen on live brokers of that release (*classes*: on Kafka's own
classes, *client*: of a client, *model*: in a model of that release, and not seen on it). A run may need a fault that is
rare: see below. *proved*: each property of the promise is proved, without bounds, of some variant; *holds*:
or in every state within bounds. *certified*: proved, and Ethos has checked cvc5's proof of every step of these variants
([which](certificates.md)). {outdated}*: other properties of the promise are asked of other releases or settings alone.
–: not judged, and below why. No verdict goes beyond the dangers that its variant stands against: see the protocols' own
tables.

{head}{rows}
## Settings that are not the default

Each set of them that some variant needs, for the promises that such a variant is asked for. Other promises are as by
default, or were not asked. Empty: the release does not have it, or has it by default.

{_table_of_others(releases, other)}
## Settings

| setting | what it is | by default | source |
|---|---|---|---|
{_settings()}
## Promise by promise

{"".join(_section(promise, [cells[promise, r] for r in NAMES]) for promise in releases.asked)}
## Seen, and in no model

Findings that break a promise and that no variant has; no cell above rests on them.

{_unmodelled(releases)}
## Which variant is of which release

{_of_variants(releases)}"""


def _table_of_others(releases: Releases, cells: Sequence[Cell]) -> str:
    lines = [f"| setting | promise | {' | '.join(NAMES)} |\n|---|---|{'---|' * len(NAMES)}\n"]
    for (setting, promise), group in groupby(cells, lambda cell: (setting_in_words(cell), cell.promise)):
        words = {cell.release: short(cell) for cell in group}
        lines.append(f"| {setting} | {promise} | {' | '.join(words.get(r, '') for r in NAMES)} |\n")
    return "".join(lines)


def _settings() -> str:
    lines = []
    for setting in SETTINGS.values():
        later = "".join(f"; from {since} on {value}" for since, value in setting.later.items())
        on = "".join(f"; {value} for {AREAS[area]}" for area, value in setting.switched_on.items())
        lines.append(f"| {setting.name} | {setting.says} | {setting.default}{later}{on} | {setting.source} |\n")
    return "".join(lines)


def _section(promise: str, cells: Sequence[Cell]) -> str:
    lines = "".join(f"- **{names}**: {text}\n" for names, text in _alike(cells))
    return f"### {promise}\n\n{RULES[promise].says}\n\n{lines}\n"


def _unmodelled(releases: Releases) -> str:
    lines = [
        f"- {', '.join(broken)}: {each.name} ({each.means} on {', '.join(each.seen)}; {each.status})\n"
        for each in releases.findings
        if not each.variants and (broken := [n for n in each.breaks if RULES[n].kind == "promise"])
    ]
    return "".join(lines) or "None.\n"


def _of_variants(releases: Releases) -> str:
    lines = ["| variant | is of | what the release also does |\n|---|---|---|\n"]
    counts: dict[str, int] = {}
    for entry in releases.entries:
        for variant in entry.variants:
            for kafka in each_of(variant.of):
                lines.append(f"| {entry.name}/{variant.name} | {kafka} | {kafka.lacks} |\n")
            if isinstance(variant.of, NoRelease):
                counts[str(variant.of)] = counts.get(str(variant.of), 0) + 1
    others = ", ".join(f"{number} are {what}" for what, number in counts.items())
    return f"{''.join(lines)}\nOf no release: {others}.\n"
