"""This module writes the table of verdicts, with every rule of a protocol, its text, and what is known about it, as
Markdown.

Mechanisms and rejected alternatives are judged by `necessity`. Promises and claims are judged by proof, exploration and
progress, property by property, each with the variants in which it holds and those that refute it, and with the releases
of Kafka of those variants. Interface rules are covered by the tests that are marked with them. This module gives no
verdict of its own, and a rule without one is marked as such.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.model.dangers import DANGERS
from fencepost.model.language.properties import Property
from fencepost.model.releases import NoRelease, each_of
from fencepost.model.rules import RULES, Rule
from fencepost.proofs.engines.explore import Exploration, explore
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.necessity import sets
from fencepost.proofs.necessity.killers import Killers
from fencepost.proofs.necessity.rule_removal import tests_of
from fencepost.proofs.necessity.search import Necessity
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Trace
from fencepost.proofs.scope.cells import Scope
from fencepost.proofs.scope.scopes import conditions, scope_of_proof, scope_of_search
from fencepost.properties.catalogue import CatalogueError, ProtocolEntry, Variant, features_of, progress_of
from fencepost.properties.nearest import quantity

HEAD = "| rule | kind | what it says | verdict |\n|---|---|---|---|\n"
NO_VERDICT = "no verdict yet"
ORDER = ("refuted", "violated", "not proved", "proved", "holds-bounded")
RUN = "run"
"""This stands in place of an engine for a run that breaks what is expected to break."""
WORST = ("violated", "not proved", "holds-bounded", "proved")


Remember = Callable[[Variant, str, Callable[[], Any]], Any]
"""A `Remember` returns a variant's verdict under a name, from an earlier run or from the given function."""


class Verdicts:
    """A `Verdicts` has the verdicts of proof, exploration and progress on a variant's properties, computed on demand.
    ``judged`` has, by variant and engine, the properties with a verdict. ``asked`` has the same, with the variant, for
    what was asked since it was last cleared."""

    def __init__(self, remember: Remember = lambda variant, name, ask: ask()) -> None:
        self.remember = remember
        self.judged: dict[tuple[str, str], dict[str, Property]] = {}
        self.asked: dict[tuple[str, str], tuple[Variant, dict[str, Property]]] = {}
        self.proofs: dict[str, Proof] = {}
        self.explored: dict[str, dict[str, Exploration]] = {}
        self.graphs: dict[str, dict[str, Exploration]] = {}
        self.waits: dict[str, dict[str, str]] = {}
        self.broken: dict[str, dict[str, Trace]] = {}

    def of(self, variant: Variant, item: Property) -> str:
        """Return ``proved``, ``holds-bounded``, ``not proved`` or ``violated``. Only a main variant is proved."""
        engine = "progress" if item.role == "progress" else "induction" if _is_proved(variant) else "explore"
        self.judged.setdefault((variant.name, engine), {})[item.name] = item
        self.asked.setdefault((variant.name, engine), (variant, {}))[1][item.name] = item
        return str(self.remember(variant, f"verdict {item.name}", lambda: self._of(variant, item)))

    def _of(self, variant: Variant, item: Property) -> str:
        if item.role == "progress":
            return self._progress(variant)[item.name]
        if _is_proved(variant):
            return "proved" if self.proof(variant).verdict(item.name) == "holds" else "not proved"
        broken = any(item.name in made.violated for made in self.explorations(variant).values())
        return "violated" if broken else "holds-bounded"

    def proof(self, variant: Variant) -> Proof:
        if variant.name not in self.proofs:
            self.proofs[variant.name] = prove(variant.spec, variant.promised)
        return self.proofs[variant.name]

    def explorations(self, variant: Variant) -> dict[str, Exploration]:
        """Return the explorations of every reachable state within bounds, one for each feature."""
        if variant.name not in self.explored:
            bounds = features_of(variant, "smoke").items()
            asked = {n: p for n, p in variant.asked.items() if p.role in ("promise", "step")}
            self.explored[variant.name] = {name: explore(variant.spec, asked, bound) for name, bound in bounds}
        return self.explored[variant.name]

    def graphs_of(self, variant: Variant) -> dict[str, Exploration]:
        """Return the graphs within the bounds in which progress is judged."""
        if variant.name not in self.graphs:
            asked = {n: p for n, p in variant.asked.items() if p.role == "progress"}
            bounds = progress_of(variant).items()
            self.graphs[variant.name] = {name: explore(variant.spec, asked, bound) for name, bound in bounds}
        return self.graphs[variant.name]

    def _progress(self, variant: Variant) -> dict[str, str]:
        if variant.name not in self.waits:
            found: dict[str, set[str]] = {n: set() for n, p in variant.asked.items() if p.role == "progress"}
            for graph in self.graphs_of(variant).values():
                for name, result in check_progress(graph).items():
                    found[name].add(result.verdict)
            self.waits[variant.name] = {
                name: "holds-bounded" if each == {"holds"} else "violated" for name, each in found.items()
            }
        return self.waits[variant.name]

    def steps(self, variant: Variant, item: Property) -> int | None:
        """Return the length of a shortest run that breaks what is expected to break, within the first bounds that allow
        it."""
        self.asked[variant.name, RUN] = variant, {}
        found: int | None = self.remember(variant, f"steps {item.name}", lambda: self._steps(variant, item))
        return found

    def _steps(self, variant: Variant, item: Property) -> int | None:
        trace = self._run(variant, item)
        return None if trace is None else len(trace)

    def dangers_of_run(self, variant: Variant, item: Property) -> list[str]:
        """Return the dangers of the steps of a run that breaks what is expected to break."""
        return list(self.remember(variant, f"dangers {item.name}", lambda: self._dangers(variant, item)))

    def _dangers(self, variant: Variant, item: Property) -> list[str]:
        trace = self._run(variant, item)
        met = [] if trace is None else [variant.spec.actions[event.action].dangers for event in trace.events]
        return list(dict.fromkeys(danger for dangers in met for danger in dangers))

    def _run(self, variant: Variant, item: Property) -> Trace | None:
        if item.role == "progress":
            for bound in variant.progress_bounds:
                trace = check_progress(explore(variant.spec, {item.name: item}, bound))[item.name].trace
                if trace is not None:
                    return trace
            return None
        if variant.name not in self.broken:
            found = self.broken[variant.name] = {}
            expected = {n for n, verdict in variant.expected.items() if verdict == "violated"}
            left = {n: p for n, p in variant.asked.items() if n in expected and p.role in ("promise", "step")}
            for bound in features_of(variant, "smoke").values():
                if left:
                    made = explore(variant.spec, left, bound, stop_when_violated="all")
                    found |= {name: made.traces[name] for name in made.violated}
                    left = {n: p for n, p in left.items() if n not in found}
        return self.broken[variant.name].get(item.name)


def _is_proved(variant: Variant) -> bool:
    return variant.main and variant.proof


@dataclass(frozen=True)
class Row:
    """A `Row` is what is known about one rule, in words. ``scope`` has the verdict's variants and dangers."""

    rule: Rule
    verdict: str
    scope: str


def rows(
    entries: Sequence[ProtocolEntry], judged: Sequence[Necessity], tests: Path | None, found: Verdicts,
    scoped: bool = True,
) -> list[Row]:  # fmt: skip
    """Return a row for each rule of the sources that a protocol is about. ``scoped`` includes the scopes."""
    areas = {RULES[n.rule].area for n in judged}
    made = []
    for rule in RULES.values():
        if rule.area in areas:
            found.asked.clear()
            verdict = _verdict(rule, entries, judged, found, tests)
            made.append(Row(rule, verdict, _scope_of_rule(rule, entries, judged, found) if scoped else ""))
    return made


def has_verdict(text: str) -> bool:
    return not text.startswith(NO_VERDICT)


def _scope_of_rule(
    rule: Rule, entries: Sequence[ProtocolEntry], judged: Sequence[Necessity], found: Verdicts
) -> str:  # fmt: skip
    """Return the variants of a verdict in words. Variants that an engine has judged unchanged have the dangers that it
    met. Variants from which a rule was taken out, or that break by themselves, have the dangers of the model."""
    if rule.kind == "interface":
        return "the reference implementation, by tests; no model"
    words: dict[str, list[str]] = {}
    for (name, engine), (variant, items) in found.asked.items():
        if engine == RUN:
            words.setdefault(_has(variant), []).append(name)
        for names, scope in against(variant, engine, items, found):
            which = f"{name} ({names})" if names else name
            words.setdefault(f"by {engine} against {_met(scope, conditions)}", []).append(which)
    for entry in entries:
        for variant in entry.variants:
            mine = [n for n in judged if n.rule == rule.number and n.variant == variant.name]
            if rule.kind != "promise" and mine and (variant.name not in words.get(_has(variant), [])):
                words.setdefault(_has(variant), []).append(variant.name)
    return "; ".join(f"{', '.join(names)} {what}" for what, names in words.items())


def _has(variant: Variant) -> str:
    return f"(whose model has {', '.join(sorted(variant.properties.protocol.spec.dangers)) or 'no danger of the list'})"


def ledger(
    entries: Sequence[ProtocolEntry],
    judged: Sequence[Necessity],
    tests: Path | None = None,
    found: Verdicts | None = None,
) -> str:
    """Return the table of a protocol and its parts, and the dangers that its variants stand against. ``tests`` is the
    folder in which marked tests are looked for, if there is one."""
    found = found or Verdicts()
    of_rules = rows(entries, judged, tests, found, scoped=False)
    table = HEAD + "".join(
        f"| {row.rule.number} | {row.rule.kind} | {row.rule.says} | {row.verdict} |\n"
        for row in of_rules
        if row.verdict != NO_VERDICT
    )
    left = [row.rule.number for row in of_rules if row.verdict == NO_VERDICT]
    if left:
        # Several protocols share a source, and each judges only some of its rules.
        table += f"\nOf these rules of the same sources this protocol has {NO_VERDICT}: {', '.join(left)}.\n"
    return f"{table}\n{_scopes(entries, found)}"


def _verdict(
    rule: Rule, entries: Sequence[ProtocolEntry], judged: Sequence[Necessity], found: Verdicts, tests: Path | None
) -> str:
    words = list(_promised(rule.number, entries, found)) if rule.kind == "promise" else []
    words += [w for entry in entries for w in _claimed(rule.number, entry, found)]
    mine = [n for n in judged if n.rule == rule.number]
    if rule.kind != "promise":
        words += _sentences([n for n in mine if n.verdict == "shown"] if words else mine)
        words += _sets(rule.number, entries)
    held = _held(rule.number, tests)
    if rule.kind == "interface":
        return held or NO_VERDICT
    if not words:
        return f"{NO_VERDICT}; {held}" if held else NO_VERDICT
    return "; ".join(dict.fromkeys(words))


def _sentences(found: Sequence[Necessity]) -> Iterable[str]:
    """Yield the strongest verdict first, with the shortest run that breaks a promise and the variants that have one."""
    for verdict in ("necessary", "shown"):
        runs = [n for n in found if n.verdict == verdict and n.steps is not None]
        if runs:
            short = min(runs, key=lambda n: n.steps or 0)
            what = f"{name_in_words(short.promise or '')} fails in {quantity(short.steps or 0, 'step')}"
            others = dict.fromkeys(n.variant for n in runs if n.variant != short.variant)
            also = f"; also in {', '.join(others)}" if others else ""
            yield f"**{verdict}**: {what} ({short.variant}: {short.mutation}){also}"
    for verdict in ("liveness", "redundant", "survives-bounded", "refuted"):
        by_variant: dict[str, list[str]] = {}
        for n in found:
            if n.verdict == verdict:
                by_variant.setdefault(n.variant, []).append(n.mutation)
        if by_variant:
            yield f"{verdict} in " + "; in ".join(f"{v}: {', '.join(names)}" for v, names in by_variant.items())


def _promised(rule: str, entries: Sequence[ProtocolEntry], found: Verdicts) -> Iterable[str]:
    """Yield, for each property, the variants that break it, and those in which it is proved or holds within bounds."""
    by_property: dict[str, dict[str, list[str]]] = {}
    others: dict[str, Counter[str]] = {}
    for entry in entries:
        for variant in entry.variants:
            for name, item in variant.asked.items():
                if item.rule != rule or item.role not in ("promise", "step", "progress"):
                    continue
                verdicts = by_property.setdefault(name, {})
                if variant.expected.get(name) == "violated":
                    if _is_named(variant):
                        of = "; ".join(map(str, each_of(variant.of)))
                        prefix = f"{of}; " if of else ""
                        steps = found.steps(variant, item)
                        verdicts.setdefault("refuted", []).append(f"{variant.name} ({prefix}{steps} steps)")
                    else:
                        others.setdefault(name, Counter())[_kind_of(variant)] += 1
                elif variant.main and (item.role != "progress" or variant.progress_bounds):
                    verdicts.setdefault(found.of(variant, item), []).append(variant.name)
    for name, verdicts in by_property.items():
        parts = [f"**{v}** in {', '.join(verdicts[v])}" for v in ORDER if v in verdicts]
        parts += [f"broken in {_counted(others[name])}"] if name in others else []
        yield f"*{name_in_words(name)}*: {', '.join(parts)}"


def _is_named(variant: Variant) -> bool:
    """Return whether the table names the variant. The user's own variants are named unless they misread a rule."""
    if variant.of is not None:
        return any(each_of(variant.of))
    return variant.reading is None and not (variant.rule is not None and RULES[variant.rule].kind == "rejected")


def _kind_of(variant: Variant) -> str:
    return variant.of.kind if isinstance(variant.of, NoRelease) else "mistake"


def _counted(kinds: Mapping[str, int]) -> str:
    return " and ".join(f"{number} {kind}{'s' * (number > 1)}" for kind, number in kinds.items())


def _claimed(rule: str, entry: ProtocolEntry, found: Verdicts) -> Iterable[str]:
    for claim in entry.claims:
        if claim.rule == rule:
            variant = entry.variant(claim.variant)
            worst = min((found.of(variant, variant.asked[name]) for name in claim.properties), key=WORST.index)
            yield f"**{worst}** in {variant.name}: {', '.join(map(name_in_words, claim.properties))}"


def _sets(rule: str, entries: Sequence[ProtocolEntry]) -> Iterable[str]:
    """Yield, from the stored sets, whether proofs need the rule, and with which other rules it forms a cut."""
    uses: dict[str, list[str]] = {"must": [], "may": []}
    for entry in entries:
        for variant in sets.asked(entry):
            try:
                saved = sets.read(variant)
            except CatalogueError:  # the stored sets belong to another model
                continue
            known = saved.of_rule(rule) if saved is not None else {"must": [], "may": [], "cut_sets": []}
            for need, where in uses.items():
                if known[need]:
                    where.append(f"{', '.join(map(name_in_words, known[need]))} ({variant.name})")
            for cut in known["cut_sets"]:
                if len(cut["rules"]) > 1:
                    what = f"{name_in_words(cut['promise'])} fails in {quantity(cut['steps'], 'step')}"
                    yield f"without {' and '.join(cut['rules'])} together {what} ({variant.name})"
    if uses["must"]:
        yield f"every proof needs it: {'; '.join(uses['must'])}"
    if uses["may"]:
        yield f"some proofs use it: {'; '.join(uses['may'])}"


def _held(number: str, tests: Path | None) -> str:
    if tests is None:
        return ""
    files = dict.fromkeys(name.split("::")[0].rsplit("/")[-1] for name in tests_of(number, tests))
    return f"held by {', '.join(files)}" if files else ""


def _scopes(entries: Sequence[ProtocolEntry], found: Verdicts) -> str:
    """Return the scopes of the verdicts as a table, with a row for each variant and engine, and for a search one for
    each set of promises with the same scope. The conditions of dangers stand below the table."""
    numbers: dict[str, int] = {}

    def numbered(excused: Mapping[str, str]) -> str:
        return ", ".join(f"{name} [{numbers.setdefault(why, len(numbers) + 1)}]" for name, why in excused.items())

    rows = "".join(
        f"| {entry.name}/{variant.name} | {engine}{f': {names}' if names else ''} | {_met(scope, numbered)} |\n"
        for entry in entries
        for variant in entry.variants
        for engine in ("induction", "explore", "progress")
        for names, scope in against(variant, engine, found.judged.get((variant.name, engine), {}), found)
    )
    below = "".join(f"{number}. Where {why}.\n" for why, number in numbers.items())
    return f"| variant | verdicts by | stands against |\n|---|---|---|\n{rows}" + (f"\n{below}" if below else "")


Against = tuple[tuple[str, ...], Mapping[str, str]]
"""An `Against` has the dangers that are in, and those that are in only under a condition, each with that condition."""


def against(
    variant: Variant, engine: str, items: Mapping[str, Property], found: Verdicts
) -> Iterable[tuple[str, Against]]:
    """Yield the dangers that an engine's verdicts on these properties stand against, each with the names of these
    properties, or without names if the dangers are the same for all. For a search, these are the dangers met within
    bounds in which a stored run breaks the promise."""
    if not items:
        return []
    met = found.remember(variant, f"met by {engine}", lambda: _met_by(variant, engine, found))
    if engine == "induction":
        return [("", _union([met[""]]))]
    killers = Killers(variant, "smoke")
    scopes: dict[str, list[str]] = {}
    every: dict[str, Against] = {}
    for name, item in items.items():
        broken = killers.broken_within(item, list(met))
        scope = _union([met[feature] for feature in broken])
        scopes.setdefault(repr(scope), []).append(name_in_words(name))
        every[repr(scope)] = scope
    return [(", ".join(names) if len(scopes) > 1 else "", every[key]) for key, names in scopes.items()]


def _met_by(variant: Variant, engine: str, found: Verdicts) -> dict[str, Any]:
    if engine == "induction":
        return {"": _plain(scope_of_proof(variant.spec, variant.promised, found.proof(variant)))}
    searched = found.explorations(variant) if engine == "explore" else found.graphs_of(variant)
    return {feature: _plain(scope_of_search(variant.spec, [made])) for feature, made in searched.items()}


def _plain(scope: Scope) -> dict[str, Any]:
    return {"in": list(scope.those("in")), "excused": {name: scope.cells[name].why for name in scope.those("excused")}}


def _union(scopes: Sequence[Mapping[str, Any]]) -> Against:
    met = {name for each in scopes for name in each["in"]}
    excused = {name: why for each in scopes for name, why in each["excused"].items() if name not in met}
    return tuple(n for n in DANGERS if n in met), {n: excused[n] for n in DANGERS if n in excused}


def _met(scope: Against, prefix: Callable[[Mapping[str, str]], str]) -> str:
    met, excused = scope
    words = ", ".join(met) or "no danger of the list"
    return words + (f"; only under a condition: {prefix(excused)}" if excused else "")


def counts(tables: Mapping[str, str]) -> dict[str, tuple[list[str], list[str]]]:
    """Return, by area of rules, those with a verdict in the stored tables, and those without."""
    decided = set()
    for text in tables.values():
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if cells[0] in RULES and has_verdict(cells[-1]):
                decided.add(cells[0])
    found: dict[str, tuple[list[str], list[str]]] = {}
    for number, rule in RULES.items():
        found.setdefault(rule.area, ([], []))[number not in decided].append(number)
    return found
