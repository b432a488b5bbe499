"""This module gathers what a run of ``verify --html`` found, for the page of verdicts."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from fencepost.model.rules import AREAS, RULES
from fencepost.proofs.cli.shared.output import engine_in_words, sign_of, worst_of
from fencepost.proofs.cli.shared.pages import story_of
from fencepost.proofs.cli.shared.verdicts import COLUMNS, LEGEND, cells, command_about, differing, summary
from fencepost.proofs.necessity.rule_removal import marked
from fencepost.proofs.necessity.saved_runs import DoesNotFit, KeptRun, replay_of
from fencepost.proofs.necessity.tables import FOLDER, is_of_these_models, table_of
from fencepost.proofs.pages.stories import Story, one_line
from fencepost.proofs.pages.verdict_page import (
    Cited,
    Item,
    ProtocolView,
    RuleView,
    Run,
    VariantView,
    Verdicts,
    Without,
)
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Result
from fencepost.proofs.scope.scopes import USERS_RELY_ON, scope_lines
from fencepost.proofs.tally import Tally, standing, total
from fencepost.properties.catalogue import Profile, ProtocolEntry, Variant, protocols, whole_of
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import called
from rich.text import Text

DRAWN = ("explore", "progress")
"""The evidence of these engines is a run. A run of the first engine is preferred for the drawing."""
STANDINGS = ("proved", "held", "refuted", "not as expected", "not decided")
JUDGEMENTS = ("necessary", "shown", "refuted", "liveness", "survives-bounded", "redundant")


@dataclass
class _Page:
    """A `_Page` gathers the page of verdicts. ``items`` has items with variant and rule, ``taken`` anchor counts."""

    profile: Profile
    seed: int
    stories: list[Story] = field(default_factory=list)
    items: list[tuple[str, str, Item]] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)

    def anchor(self, *words: str) -> str:
        name = re.sub(r"[^\w.]+", "-", "-".join(words)).strip("-")
        self.taken[name] += 1
        return name if self.taken[name] == 1 else f"{name}-{self.taken[name]}"


def gathered(
    judged: Sequence[tuple[ProtocolEntry, Sequence[Result]]], tallies: Sequence[Tally], problems: Sequence[str],
    left_open: Sequence[str], profile: Profile, seed: int, seconds: float, done: Callable[[], None],
) -> Verdicts:  # fmt: skip
    """Return the page of a run of ``verify``. ``done`` is called after each protocol."""
    page = _Page(profile, seed)
    views = []
    for (entry, results), one in zip(judged, tallies, strict=True):
        views.append(_protocol(page, entry, results, one))
        done()
    results = [r for _, mine in judged for r in mine]
    bad = (Cited(item.anchor, f"{place}: {item.name}", item.verdict, item.tone) for place, _, item in page.items
           if item.tone == "bad")  # fmt: skip
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = f"fencepost {version('fencepost')}, profile {profile}, seed {seed}, {when}."
    columns = ("protocol", *(" ".join(heading.split()).replace("- ", "") for heading in COLUMNS))
    return Verdicts(
        conclusion=summary(results, seconds),
        about=about,
        columns=columns,
        protocols=tuple(views),
        total=tuple(cells(total(tallies))) if len(views) > 1 else (),
        legend=" ".join(LEGEND.split()),
        rules=_rules(page, [entry for entry, _ in judged]),
        unexpected=tuple(bad),
        problems=tuple(problems),
        open=tuple(left_open),
        stories=tuple(page.stories),
    )


def _protocol(page: _Page, entry: ProtocolEntry, results: Sequence[Result], one: Tally) -> ProtocolView:
    anchor = page.anchor(entry.name)
    by_variant: dict[tuple[str, str], list[Result]] = {(entry.name, v.name): [] for v in entry.variants}
    for r in results:
        by_variant.setdefault((r.protocol, r.variant), []).append(r)
    variants = (_variant(page, anchor, entry, *place, mine) for place, mine in by_variant.items())
    return ProtocolView(anchor, entry.name, one_line(entry.says), tuple(cells(one)), tuple(variants))


def _variant(
    page: _Page, above: str, entry: ProtocolEntry, protocol: str, name: str, results: Sequence[Result]
) -> VariantView:
    """Return the view of one variant. A variant of another protocol, replayed with this one, has only verdicts."""
    variant = next((v for v in entry.variants if (protocol, v.name) == (entry.name, name)), None)
    anchor = page.anchor(above, *([] if protocol == entry.name else [protocol]), name)
    place = f"{protocol}/{name}"
    by_property: dict[tuple[str, str], list[Result]] = {}
    for r in results:
        what = r.evidence.get("histories", r.evidence.get("implementation", ""))
        by_property.setdefault((r.property, what), []).append(r)
    items, lemmas, standings = [], [], Counter[str]()
    rule = variant.rule or "" if variant is not None else ""
    for (prop, what), mine in by_property.items():
        role = mine[0].evidence.get("role", "")
        if role == "lemma" and all(r.as_expected for r in mine):
            lemmas.append(name_in_words(prop))
            continue
        if role in USERS_RELY_ON:
            standings[standing(mine)] += 1
        item = _item(page, anchor, entry, variant, prop, what, mine)
        items.append(item)
        page.items.append((place, rule, item))
    stands = ", ".join(f"{standings[word]} {word}" for word in STANDINGS if standings[word])
    says = one_line(variant.says) if variant is not None else f"histories of {entry.name}"
    return VariantView(
        anchor, place if protocol != entry.name else name, says, rule, stands, tuple(scope_lines(results)),
        tuple(items), tuple(lemmas),
    )  # fmt: skip


def _item(
    page: _Page, above: str, entry: ProtocolEntry, variant: Variant | None, prop: str, what: str, mine: Sequence[Result]
) -> Item:
    worst = worst_of(mine)
    tone = "bad" if not worst.as_expected else {"violated": "predicted", "holds": "good"}.get(worst.verdict, "open")
    asked = variant.asked.get(prop) if variant is not None else None
    claimed = prop.partition(" ")[0] if worst.is_claim else ""
    rule = claimed or _rule_of(mine[0], asked.rule if asked is not None else None)
    since = min((r.cached for r in mine if r.cached), default="")
    further = [f"Kept by an earlier run, since {since}."] if since else []
    further += dict.fromkeys(words for r in mine if (words := _killed(r.evidence.get("killer"))))
    if not worst.as_expected:
        further.insert(0, f"It is not as expected, which is: {worst.expected}.")
    return Item(
        page.anchor(above, prop, what), name_in_words(prop) + (f" ({what})" if what else ""),
        "claim" if claimed else mine[0].evidence.get("role") or mine[0].kind, rule,
        one_line(asked.doc) if asked is not None else "", Text.from_markup(sign_of(mine)).plain, tone,
        tuple(map(engine_in_words, mine)), tuple(further), _run(page, entry, variant, mine),
    )  # fmt: skip


def _rule_of(result: Result, asked: str | None) -> str:
    from fencepost.properties.history.properties_of import properties_of
    from fencepost.properties.history.vocabulary import VOCABULARIES

    if result.engine == "replay" and result.protocol in VOCABULARIES:
        return properties_of(result.protocol).rules.get(result.property, "")
    return result.evidence.get("rule") or asked or ""


def _killed(killer: Mapping[str, Any] | None) -> str:
    if killer is None:
        return ""
    if "plant" in killer:
        return f"It finds a seeded violation: {killer['plant']}."
    mutation = f"{killer['rule']} '{killer['mutation']}'"
    if "steps" in killer:
        return f"The mutation {mutation} breaks it in {quantity(len(killer['steps']), 'step')}."
    return f"The proof refuses the mutation {mutation}: {killer.get('refused', '')}."


def _run(page: _Page, entry: ProtocolEntry, variant: Variant | None, mine: Sequence[Result]) -> Run | None:
    broken = [r for r in mine if r.verdict == "violated" and r.kind != "sometimes"]
    ordered = sorted(broken, key=lambda r: DRAWN.index(r.engine) if r.engine in DRAWN else len(DRAWN))
    if not ordered:
        return None
    first = ordered[0]
    command = command_about(first, page.profile, page.seed)
    story = None if variant is None else _drawn(entry, variant, first)
    if story is not None:
        page.stories.append(story)
        return Run(first.engine, tuple(first.evidence["events"]), command, len(page.stories) - 1)
    words = first.evidence.get("words") or [
        first.evidence[key] for key in ("first", "program") if key in first.evidence
    ]
    return Run(first.engine, tuple(words), command, None)


def _drawn(entry: ProtocolEntry, variant: Variant, found: Result) -> Story | None:
    """Return the run as a story, without states, after taking its steps again, which have to break the property."""
    asked, events = variant.asked.get(found.property), found.evidence.get("events")
    if asked is None or events is None or found.bound is None:
        return None
    run = KeptRun(found.property, (), "", tuple(events), found.evidence.get("loop"))
    try:
        trace = replay_of(run, variant.spec, asked, found.bound)
    except DoesNotFit:  # a refinement's step, for example, is reported in words
        return None
    story = story_of(entry, variant, variant.spec, asked, found.bound, trace)
    return replace(story, left_out=(), states=((),) * (len(story.steps) + 1))


def _rules(page: _Page, entries: Sequence[ProtocolEntry]) -> dict[str, list[RuleView]]:
    cited: dict[str, list[Cited]] = {}
    for place, rule, item in page.items:
        about = Cited(item.anchor, f"{place}: {item.name}", item.verdict, item.tone)
        for number in dict.fromkeys(n for n in (item.rule, rule) if n):
            cited.setdefault(number, []).append(about)
    without = _without(entries)
    tests: dict[str, list[str]] = {}
    for name, numbers in marked().items():
        for number in numbers:
            tests.setdefault(number, []).append(name)
    areas = {RULES[number].area for number in (*cited, *without) if number in RULES}
    found: dict[str, list[RuleView]] = {}
    for number, known in RULES.items():
        if known.area in areas:
            found.setdefault(AREAS[known.area], []).append(RuleView(
                page.anchor("rule", number), number, known.kind, known.says, tuple(cited.get(number, ())),
                without.get(number, {}), tuple(tests.get(number, ())),
            ))  # fmt: skip
    return found


def _without(entries: Iterable[ProtocolEntry]) -> dict[str, dict[str, list[Without]]]:
    """Return, by rule and by file of verdicts, what breaks where the rule is got wrong, as an earlier run found it."""
    named = {entry.name for entry in entries}
    found: dict[str, dict[str, list[Without]]] = {}
    for owner in protocols().values():
        file = FOLDER / f"{owner.name}.json"
        if not named.intersection((owner.name, *owner.parts)) or not file.exists() or not table_of(owner.name).exists():
            continue
        places = {v.name: (entry, v) for entry in whole_of(owner) for v in entry.variants if entry.name in named}
        same = is_of_these_models(table_of(owner.name).read_text(encoding="utf-8"), whole_of(owner))
        date = datetime.fromtimestamp(file.stat().st_mtime, UTC).strftime("%Y-%m-%d")
        source = f"not computed in this run: from proofs/verdicts/{file.name}, a file of {date}, of "
        source += "these models" if same else "other models than these"
        rows = [row for row in json.loads(file.read_text(encoding="utf-8")) if row.get("variant") in places]
        for row in sorted((r for r in rows if "mutation" in r), key=lambda r: JUDGEMENTS.index(r["verdict"])):
            rows_of = found.setdefault(row["rule"], {}).setdefault(source, [])
            rows_of.append(_without_rule(*places[row["variant"]], row))
    return found


def _without_rule(entry: ProtocolEntry, variant: Variant, row: Mapping[str, Any]) -> Without:
    where = f"{entry.name}/{variant.name}: {row['mutation']}"
    if row["promise"] is None:
        return Without(f"{row['verdict']} ({where})", "")
    steps = f" in {quantity(row['steps'], 'step')}" if row["steps"] is not None else ""
    words = f"{row['verdict']}: {name_in_words(row['promise'])} fails{steps} ({where})"
    if row["promise"] not in variant.asked or row["verdict"] == "shown":
        return Without(words, "")
    show = f'fencepost show {called(entry.name)}/{variant.name} "{name_in_words(row["promise"])}"'
    changes = "" if row["engine"] == "progress" else differing(variant, "smoke", row["bound"])
    return Without(words, f'{show} --without {row["rule"]} "{row["mutation"]}"{changes}')
