"""This module computes whether each release of Kafka fulfils each promise, from verdicts on its variants.

A variant counts for a cell if it is of that release with these settings (`Variant.of`). A run that breaks one of the
promise's properties there breaks the promise, whatever faults and settings it needs. Otherwise each property has the
strongest verdict of these variants, and the cell the weakest of its properties. A verdict that holds for a variant does
not count for a release that does more (`Kafka.lacks`)."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from fencepost.model.language.properties import Property
from fencepost.model.releases import NAMES, SETTINGS, Kafka, defaults, each_of
from fencepost.model.rules import RULES
from fencepost.proofs.necessity.ledger import Remember, Verdicts
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scope.findings import FINDINGS, Finding, Means
from fencepost.properties.catalogue import ProtocolEntry, Variant

Word = Literal["proved", "holds-bounded", "broken", "not judged"]
Evidence = Means
STRENGTH = ("proved", "holds-bounded")
EVIDENCE: tuple[Evidence, ...] = ("live", "classes", "client", "reference", "model")
"""The strongest evidence comes first: seen on live brokers of that release, on its classes, of a client, or not on that
release."""
Changed = tuple[tuple[str, str], ...]
"""A `Changed` has settings by name."""
ROLES = ("promise", "step", "progress")
BUG = re.compile(r"\b(?:KAFKA|KIP)-\d+")
FEW = 3


@dataclass(frozen=True)
class Break:
    """A `Break` is a run of ``variant`` (protocol/variant) that breaks ``property``, in the fewest ``steps``. ``seen``
    has the releases on which a finding with this variant was seen, and how; ``bugs`` has the numbers of Kafka's
    issues."""

    variant: str
    property: str
    steps: int | None
    dangers: tuple[str, ...]
    bugs: tuple[str, ...]
    seen: tuple[str, ...]
    evidence: Evidence


@dataclass(frozen=True)
class Held:
    """A `Held` has the strongest verdict on a property (protocol/property), and the variant that has it. ``lacks``
    describes what the release does and the variant does not, where no other variant judges the property. ``certified``
    says whether every step of that variant's proof is certified."""

    property: str
    verdict: str
    variant: str
    lacks: str
    certified: bool = False


@dataclass(frozen=True)
class Cell:
    """A `Cell` is the verdict on a promise in a release. ``settings`` has the settings that differ from the usual ones.
    ``unasked`` has properties of the promise that are asked only of variants of other releases or settings. ``why`` is
    the reason if the promise is not judged."""

    promise: str
    release: str
    settings: Mapping[str, str]
    verdict: Word
    steps: int | None
    evidence: Evidence | None
    breaks: tuple[Break, ...]
    held: tuple[Held, ...]
    unasked: tuple[str, ...]
    why: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def certified(self) -> bool:
        """Return whether the promise is proved, by proofs of which every step is certified."""
        return self.verdict == "proved" and all(one.certified for one in self.held)


@dataclass(frozen=True)
class Asked:
    """An `Asked` is a property of a promise that is asked of a variant."""

    entry: ProtocolEntry
    variant: Variant
    item: Property

    @property
    def promise(self) -> str:
        assert self.item.rule is not None
        return self.item.rule

    @property
    def name(self) -> str:
        return f"{self.entry.name}/{self.variant.name}"

    @property
    def what(self) -> str:
        return f"{self.entry.name}/{self.item.name}"

    @property
    def breaks(self) -> bool:
        return self.variant.expected.get(self.item.name) == "violated"

    def of(self, release: str, settings: Mapping[str, str]) -> Kafka | None:
        return next((kafka for kafka in each_of(self.variant.of) if kafka.has(release, settings)), None)


class Releases:
    """A `Releases` computes the cells of some protocols. ``remember`` looks up the verdicts of a variant, or has them
    computed. ``certified`` names the variants (protocol/variant) of which every step is certified."""

    def __init__(
        self,
        entries: Iterable[ProtocolEntry],
        remember: Remember = lambda variant, name, ask: ask(),
        findings: Sequence[Finding] = FINDINGS,
        certified: Collection[str] = (),
    ) -> None:
        self.entries = tuple(entries)
        self.certified = certified
        self.findings = findings
        self._cells: dict[tuple[str, str, Changed], Cell] = {}
        self._found = {entry.name: Verdicts(remember) for entry in self.entries}

    @cached_property
    def asked(self) -> dict[str, list[Asked]]:
        """Return, by promise and in the order of the rules, what is asked of the variants that belong to some
        release."""
        found: dict[str, list[Asked]] = {number: [] for number, rule in RULES.items() if rule.kind == "promise"}
        for entry in self.entries:
            for variant in entry.variants:
                if any(each_of(variant.of)):
                    for item in variant.asked.values():
                        waits = item.role == "progress" and not variant.progress_bounds
                        if item.rule in found and item.role in ROLES and not waits:
                            found[item.rule].append(Asked(entry, variant, item))
        return {promise: asked for promise, asked in found.items() if asked}

    def usual(self, promise: str, release: str) -> Mapping[str, str]:
        """Return the settings of a release, with the feature that the promise is about switched on."""
        return defaults(release, RULES[promise].area)

    def cell(self, promise: str, release: str, changed: Mapping[str, str] | None = None) -> Cell:
        """Return the cell of a promise in a release. ``changed`` has the settings that differ from the usual ones."""
        key = (promise, release, tuple((changed or {}).items()))
        if key not in self._cells:
            self._cells[key] = self._cell(promise, release, changed or {})
        return self._cells[key]

    def _cell(self, promise: str, release: str, changed: Mapping[str, str]) -> Cell:
        settings = {**self.usual(promise, release), **changed}
        mine = [(each, kafka) for each in self.asked[promise] if (kafka := each.of(release, settings))]
        breaks = [self._break(each, release) for each, _ in mine if each.breaks]
        held: dict[str, list[Held]] = {}
        for each, kafka in mine:
            if not each.breaks:
                verdict = self._found[each.entry.name].of(each.variant, each.item)
                if verdict == "violated":  # not as expected, and so it is a break all the same
                    breaks.append(self._break(each, release))
                sure = verdict == "proved" and each.name in self.certified
                held.setdefault(each.what, []).append(Held(each.what, verdict, each.name, kafka.lacks, sure))
        best = tuple(min(found, key=lambda one: (*_rank(one), not one.certified)) for found in held.values())
        there = {each.what for each, _ in mine}
        unasked = tuple(dict.fromkeys(e.what for e in self.asked[promise] if e.what not in there))
        breaks.sort(key=lambda one: (one.steps or 0, EVIDENCE.index(one.evidence)))
        verdict, why = self._word(promise, breaks, best)
        return Cell(
            promise, release, changed, verdict, breaks[0].steps if breaks else None,
            min((one.evidence for one in breaks), key=EVIDENCE.index, default=None), tuple(breaks), best, unasked, why,
        )  # fmt: skip

    def _word(self, promise: str, breaks: Sequence[Break], best: Sequence[Held]) -> tuple[Word, str]:
        if breaks:
            return "broken", ""
        if not best:
            return "not judged", f"no variant is of it; {self._elsewhere(promise)}"
        lacking = [one for one in best if one.lacks]
        if lacking:
            alone = ", ".join(dict.fromkeys(one.variant for one in lacking))
            further = "; ".join(dict.fromkeys(one.lacks for one in lacking))
            what = ", ".join(in_words(one.property) for one in lacking[:FEW])
            return "not judged", f"{what} are judged in {alone} alone, and Kafka also does this: {further}"
        weakest = max(best, key=_rank)
        if weakest.verdict not in STRENGTH:
            return "not judged", f"{in_words(weakest.property)} leans on what is not inductive in {weakest.variant}"
        return ("proved", "") if weakest.verdict == "proved" else ("holds-bounded", "")

    def _elsewhere(self, promise: str) -> str:
        where = dict.fromkeys(str(kafka) for each in self.asked[promise] for kafka in each_of(each.variant.of))
        names = list(where)[:FEW]
        return f"it is asked of {'; '.join(names)}" + (f"; and {len(where) - FEW} more" if len(where) > FEW else "")

    def _break(self, each: Asked, release: str) -> Break:
        found = self._found[each.entry.name]
        mine = [f for f in self.findings if each.name in f.variants and each.promise in f.breaks]
        here = [f for f in mine if any(column_of(exact) == release for exact in f.seen)]
        evidence: Evidence = min((f.means for f in here), key=EVIDENCE.index, default="model")
        seen = tuple(dict.fromkeys(f"{f.means} on {exact}" for f in mine for exact in f.seen))
        texts = [s.name for s in each.entry.scenarios if s.broken == each.variant.name]
        texts += [each.variant.says, *(f.status for f in mine)]
        bugs = tuple(dict.fromkeys(number for text in texts for number in BUG.findall(text)))
        return Break(
            each.name, each.item.name, found.steps(each.variant, each.item),
            tuple(found.dangers_of_run(each.variant, each.item)), bugs, seen, evidence,
        )  # fmt: skip

    def by_default(self) -> Iterator[Cell]:
        """Yield the cell of every promise in every release with the usual settings."""
        for promise in self.asked:
            for release in NAMES:
                yield self.cell(promise, release)

    @cached_property
    def otherwise(self) -> dict[Changed, dict[str, tuple[str, ...]]]:
        """Return the unusual settings that some variant needs, in the order of their declaration. Each combination of
        settings has the promises that such a variant is asked for, with the releases in which it needs the settings."""
        found: dict[Changed, dict[str, set[str]]] = {}
        names = list(SETTINGS)
        for promise, asked in self.asked.items():
            for kafka in (kafka for each in asked for kafka in each_of(each.variant.of)):
                for release in kafka.releases:
                    needs = kafka.needs(release, self.usual(promise, release))
                    if needs and all(value and SETTINGS[name].knows(release, value) for name, value in needs.items()):
                        key = tuple(sorted(needs.items(), key=lambda pair: names.index(pair[0])))
                        found.setdefault(key, {}).setdefault(promise, set()).add(release)
        order = sorted(found, key=lambda key: (len(key), [names.index(name) for name, _ in key], key))
        return {
            key: {p: tuple(r for r in NAMES if r in found[key][p]) for p in self.asked if p in found[key]}
            for key in order
        }

    def changed(self, wanted: Collection[str]) -> Iterator[Cell]:
        """Yield the cells of the wanted promises for which unusual settings matter, in every release that has these
        settings."""
        for key, promises in self.otherwise.items():
            for promise, releases in promises.items():
                for release in releases if promise in wanted else ():
                    yield self.cell(promise, release, dict(key))


def _rank(held: Held) -> tuple[bool, int]:
    return (bool(held.lacks), STRENGTH.index(held.verdict) if held.verdict in STRENGTH else len(STRENGTH))


def in_words(property: str) -> str:
    """Return the name of a property in words: ``transactions/no zombie write``."""
    protocol, _, name = property.partition("/")
    return f"{protocol}/{name_in_words(name)}"


def column_of(exact: str) -> str | None:
    """Return the column of an exact release such as 4.3.1: its own, or that of the last earlier release of the same
    line."""
    line = tuple(map(int, exact.split(".")))
    fitting: Callable[[str], tuple[int, ...]] = lambda name: tuple(map(int, name.split(".")))  # noqa: E731
    same = [name for name in NAMES[:-1] if fitting(name)[:2] == line[:2] and fitting(name) <= line]
    return max(same, key=fitting, default=None)
