"""This module stores tables of verdicts next to the code that makes them, each with the hash of its models.

`fencepost necessity PROTOCOL --kept proofs/verdicts/PROTOCOL.json --table proofs/verdicts/PROTOCOL.md` makes a table,
and judges again only what has changed. A verdict is stored under the hash of its variant, and of the fuller one that
was asked in its place. The hash covers what the models mean, not words or engines, so that after a change of an engine
``--kept`` has to be left out.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.mutations import Mutation
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term
from fencepost.model.rules import RULES
from fencepost.proofs.necessity.killers import file_of
from fencepost.proofs.necessity.ledger import NO_VERDICT, Row, Verdicts, counts, has_verdict, ledger
from fencepost.proofs.necessity.saved_runs import read_runs
from fencepost.proofs.necessity.search import Necessity
from fencepost.proofs.report import write_text
from fencepost.properties.catalogue import Profile, ProtocolEntry, Variant
from fencepost.properties.registry import PROTOCOLS, called

FOLDER = Path(__file__).parents[1] / "verdicts"
HASH = re.compile(r"models ([0-9a-f]{16})")


class _Meaning:
    """A `_Meaning` has the meaning of protocols and properties as text, without words and lines, each term once."""

    def __init__(self) -> None:
        self.numbers: dict[Term, int] = {}
        self.text: list[str] = []

    def term(self, node: Term) -> int:
        if node not in self.numbers:
            parts = [self.term(arg) for arg in node.args]
            self.numbers[node] = len(self.numbers)
            self.text.append(f"{node.op} {parts} {node.data!r} {node.type}")
        return self.numbers[node]

    def update(self, u: Update) -> str:
        return f"{u.variable} {[self.term(k) for k in u.keys]} {u.bound!r} {u.appends} {self.term(u.value)} {u.rule}"

    def spec(self, spec: Spec) -> None:
        self.text += [f"{n}: {kind!r}" for n, kind in (*spec.types.items(), *spec.constants.items())]
        self.text += [f"axiom {self.term(axiom)}" for axiom in spec.axioms]
        self.text += [f"init {self.update(u)}" for u in spec.initial]
        for a in spec.actions.values():
            self.text.append(f"{a.name} {a.parameters!r} {a.fair} {a.budget} {a.rule} {a.dead is None}")
            self.text += [f"require {self.term(g.condition)} {g.rule}" for g in a.guards]
            self.text += [f"limit {self.term(t)}" for t in a.limits]
            self.text += [self.update(u) for u in a.updates]

    def properties(self, items: Iterable[Property]) -> None:
        for p in items:
            terms = [self.term(t) for t in p.terms]
            self.text.append(f"{p.name} {p.role} {p.rule} {p.parameters!r} {terms} {p.serves} {p.ceasing}")


def digest(variant: Variant) -> str:
    """Return a hash of what a verdict on the variant depends on."""
    meaning = _Meaning()
    meaning.spec(variant.properties.protocol.spec)
    meaning.properties(variant.properties.properties.values())
    if variant.for_mutants is not None:
        meaning.properties(variant.for_mutants.properties.values())
    parts = (variant.rule, variant.reading, variant.leaves_out, variant.proof, variant.judged, variant.full)
    tables: tuple[Mapping[Any, Any], ...] = (variant.expected, variant.bounds, variant.features)
    meaning.text += [repr(parts), repr([_plain(t) for t in tables]), repr([_plain(b) for b in variant.progress_bounds])]
    return _hash("\n".join(meaning.text))


def _plain(table: Mapping[Any, Any]) -> list[Any]:
    return [(k, _plain(v) if isinstance(v, Mapping) else v) for k, v in sorted(table.items())]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_of(entries: Sequence[ProtocolEntry]) -> str:
    """Return a hash of the models of a protocol and its parts, with their dangers, and of the stored runs."""
    every = [variant for entry in entries for variant in entry.variants]
    parts = [(v, _dangers(v.properties.protocol.spec), _runs(v)) for v in every]
    return _hash("\n".join(f"{v.name} {digest(v)} {had} {runs}" for v, had, runs in parts))


def _dangers(spec: Spec) -> str:
    steps = [(a.name, a.dangers) for a in spec.actions.values() if a.dangers]
    left_out = [
        (name, standing.why if standing.standing == "excused" else "")
        for name, standing in sorted(spec.outside.items())
    ]
    return repr((steps, [(p.name, p.danger) for p in spec.presences.values()], left_out))


def _runs(variant: Variant) -> str:
    file = file_of(variant)
    return repr([] if file is None else read_runs(file))


@dataclass
class SavedFacts:
    """A `SavedFacts` has verdicts of earlier runs, each under what it depends on. ``used`` has those that were asked
    for in this run, and are written again. ``digests`` has those of the variants that were asked about, by identity."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: dict[str, dict[str, Any]] = field(default_factory=dict)
    digests: dict[int, tuple[Variant, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> "SavedFacts":
        """Return the verdicts in a file, or none without a file. Errors: InputError for a file of another kind."""
        if not file.exists():
            return cls()
        try:
            return cls({row.pop("key"): row for row in json.loads(file.read_text(encoding="utf-8"))})
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            why = f"{type(error).__name__}: {error}"
            raise InputError(f"{file}: these are no verdicts of earlier runs ({why}); name another file") from None

    def write(self, file: Path, whole: bool = True) -> None:
        """Write the verdicts, and, unless ``whole``, also those that this run did not ask for."""
        rows = self.used if whole else self.rows | self.used
        lines = [json.dumps({"key": key, **row}) for key, row in rows.items()]
        write_text(file, "[\n" + ",\n".join(lines) + "\n]\n")

    def key(self, entry: ProtocolEntry, variant: Variant, mutant: Mutation | None, profile: Profile) -> str:
        full = "" if variant.full is None else digest(entry.variant(variant.full))
        named = () if mutant is None else (mutant.rule, mutant.name)
        return _hash(repr((variant.name, digest(variant), full, named, profile, entry.survivors.get((*named, "")[:2]))))

    def models(self) -> str:
        """Return a hash of the models of all variants that were asked about."""
        return _hash("\n".join(sorted(f"{variant.name} {hashed}" for variant, hashed in self.digests.values())))

    def has(self, key: str) -> bool:
        return key in self.rows

    def find(self, key: str, spec: Spec) -> Necessity:
        row = self.rows[key]
        self.used[key] = row
        return Necessity(**{**row, "spec": spec, "kept": True})

    def add(self, key: str, found: Necessity) -> None:
        """Store a verdict. For a run only its steps are stored, since `fencepost show … --without` prints the rest."""
        steps = [str(event) for event in found.trace.events] if found.trace is not None else found.evidence
        row = found.as_dict() | {"evidence": steps, "seconds": round(found.seconds, 1), "reason": found.reason}
        self.used[key] = {name: value for name, value in row.items() if name != "kept"}

    def remember(self, variant: Variant, name: str, ask: Callable[[], Any]) -> Any:
        """Return a fact about a variant, as found earlier on the same model and dangers, or from ``ask``."""
        spec = variant.properties.protocol.spec
        if id(variant) not in self.digests:
            self.digests[id(variant)] = variant, digest(variant)
        known = self.digests[id(variant)][1]
        key = _hash(repr((variant.name, known, _dangers(spec), name)))
        row = self.rows.get(key, self.used.get(key))
        self.used[key] = row if row is not None else {"fact": ask()}
        return self.used[key]["fact"]


def page(
    entry: ProtocolEntry, entries: Sequence[ProtocolEntry], judged: Sequence[Necessity], tests: Path | None,
    saved: SavedFacts | None = None, command: str = "",
) -> str:  # fmt: skip
    """Return a protocol's table, made by the command (default: the one whose table is stored). ``saved`` has what was
    found before."""
    name = entry.name
    stored = f"fencepost necessity {name} --kept proofs/verdicts/{name}.json --table proofs/verdicts/{name}.md"
    return f"""# Verdicts: {name}

{entry.says} Made by `{command or stored}` of the models {digest_of(entries)}.

*Necessary*: without it a promise of another number fails, in the fewest steps. *Liveness*: without it something waits
for ever, or work never begins. *Redundant*: without it every promise is proved, and work still gets done within the
bounds of progress. *Shown*: what the documents predict of the alternative, or of the boundary, happens. A promise is
*proved* without bounds, *holds-bounded* in every reachable state within bounds, or *refuted* in the variant named, with
the releases of Kafka that it is of; it is broken, besides, in so many mistakes, and texts that did not ship so. Each
line is one property. No verdict goes beyond the dangers that its variant stands against: they are in the second table;
a search has one in for a promise only where it met it within bounds in which some mutation breaks that promise.
`fencepost dangers {called(name)}` says of the others why they are out.

{ledger(entries, judged, tests, Verdicts((saved or SavedFacts()).remember))}"""


def page_of_all(rows: Iterable[Row], models: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return one table of all protocols, and the rules without a verdict. The row of a rule that several protocols are
    about has the verdict of each. ``models`` has the hash of each protocol's models."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.rule.number, []).append(row)
    without = [number for number in RULES if not any(has_verdict(row.verdict) for row in found.get(number, ()))]
    lines = "".join(f"| {number} | {rule.kind} | {rule.says} | {_cells(found.get(number, ()))} |\n"
                    for number, rule in RULES.items())  # fmt: skip
    text = f"""# Every rule: its verdict, and the scope of that

Made by `fencepost necessity --all --table FILE` of the models {", ".join(map(" ".join, models.items()))}. What each
verdict means is said where a protocol has its own table. *Scope*: the variants that the verdict is of; where an engine
has judged one as it is, the dangers that it met, a search within bounds in which the promise can be broken; where a
rule was taken out of one, or it breaks by itself, the dangers that its model has. What a model leaves out, and why,
`fencepost dangers` says of each.

| rule | kind | what it says | verdict | scope |
|---|---|---|---|---|
{lines}"""
    return text, without


def _cells(rows: Sequence[Row]) -> str:
    rows_of = [row for row in rows if has_verdict(row.verdict)] or rows[:1]
    if not rows_of:
        return f"{NO_VERDICT} | "
    return " | ".join(
        "; ".join(dict.fromkeys(texts)) for texts in zip(*((r.verdict, r.scope) for r in rows_of), strict=True)
    )


RELEASES = FOLDER / "releases.json"


def all_saved() -> SavedFacts:
    """Return what is stored next to the code, for all protocols and for the table of releases."""
    saved = SavedFacts()
    for file in (*(FOLDER / f"{protocol}.json" for protocol in PROTOCOLS), RELEASES):
        saved.rows |= SavedFacts.read(file).rows
    return saved


def write_facts(file: Path, saved: SavedFacts, whole: bool = True) -> None:
    """Write the facts of this run that no protocol's own file has. ``whole`` is as in `SavedFacts.write`."""
    theirs = {key for protocol in PROTOCOLS for key in SavedFacts.read(FOLDER / f"{protocol}.json").rows}
    rows, used = ({key: row for key, row in of.items() if key not in theirs} for of in (saved.rows, saved.used))
    SavedFacts(rows=rows, used=used).write(file, whole)


def table_of(protocol: str) -> Path:
    return FOLDER / f"{protocol}.md"


def is_of_these_models(text: str, entries: Sequence[ProtocolEntry]) -> bool:
    found = HASH.search(text)
    return found is not None and found[1] == digest_of(entries)


def saved_counts() -> dict[str, tuple[list[str], list[str]]]:
    """Return, by area, the rules on which the stored tables have a verdict, and those on which none has."""
    return counts({p.name: p.read_text(encoding="utf-8") for p in sorted(FOLDER.glob("*.md"))})
