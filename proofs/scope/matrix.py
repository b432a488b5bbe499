"""This module computes the matrix promise × danger × engine from what the engines stated and met; it is never written
by hand.

`matrix_of` computes it from the verdicts of a run of `verify`; a `Line` is one of its cells with its coordinates. For a
promise that an engine does not judge, all dangers are out, whatever that engine met for other promises. For a search,
dangers that were met only within bounds in which nothing breaks the promise are out as well."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fencepost.model.dangers import DANGERS
from fencepost.model.rules import RULES
from fencepost.proofs.results import Result
from fencepost.proofs.scope.cells import ENGINES, Cell, Engine
from fencepost.proofs.scope.live import counts_of, runs_of
from fencepost.proofs.scope.scopes import NOTHING_STATED, SEARCHING, scope_of_counts, unaccounted
from fencepost.properties.catalogue import ProtocolEntry, Variant
from fencepost.properties.conformance_spec import DRIVEN, driven

NOT_ASKED = {
    "induction": "open: no proof by induction decides it for this variant",
    "explore": "open: no search of this variant's states decides it",
    "progress": "open: no graph of this variant decides it",
    "agreement": "open: no implementation is driven against this variant",
    "live": "open: no kept run on real brokers counts it",
    "histories": "open: no property of simulated histories of this variant judges it",
    "recordings": "open: no property of recordings of this variant judges it",
}
"""This table has the reasons why all dangers of a promise are out for an engine that does not judge it."""

MODELLED: frozenset[Engine] = frozenset({"induction", "explore", "progress"})
"""The engines in this set judge a model alone, without an implementation."""


@dataclass(frozen=True)
class Asked:
    """An `Asked` is a promise as it is asked of a variant: the rule, the property, and the engines that judge it.
    ``excuses`` has, by danger, the condition under which agreement does not count a violation against an
    implementation. ``scopes`` has what each searching engine met within bounds in which the promise can be broken.
    ``unbroken`` has, for these engines, the features within whose bounds no mutation is known that breaks the
    promise."""

    promise: str
    property: str
    engines: tuple[Engine, ...]
    excuses: Mapping[str, str] = field(default_factory=dict)
    scopes: Mapping[Engine, Mapping[str, Cell]] = field(default_factory=dict)
    unbroken: Mapping[Engine, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """A `Line` is one cell: whether a danger is in where an engine judges a promise of a variant."""

    protocol: str
    promise: str
    danger: str
    engine: Engine
    status: str
    variant: str
    count: int | None
    why: str
    property: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Matrix:
    """A `Matrix` has the cells of one variant. ``scopes`` has what each engine that ran on the variant met, for any
    promise. ``said`` has, for each danger that the model leaves out, the reason, and ``tagged`` the dangers that the
    model has."""

    protocol: str
    variant: str
    asked: tuple[Asked, ...]
    scopes: Mapping[Engine, Mapping[str, Cell]]
    said: Mapping[str, str]
    tagged: tuple[str, ...]

    def cell(self, asked: Asked, engine: Engine, danger: str) -> Cell:
        """Return a cell with the reason if it is out, and with the other engines that have the danger in for this
        variant."""
        unasked = Cell("out", why=self._unasked(engine, danger))
        found = self.met(asked, engine)[danger] if engine in asked.engines else unasked
        if engine in ("agreement", "live") and found.status == "in" and danger in asked.excuses:
            return Cell("excused", found.count, asked.excuses[danger])
        have = self.having(asked, danger)
        if have and found.status == "out" and found.why.startswith("open: "):
            return Cell("out", found.count, f"{found.why}; met by {', '.join(have)} of this variant")
        return found

    def met(self, asked: Asked, engine: Engine) -> Mapping[str, Cell]:
        return asked.scopes.get(engine, self.scopes[engine])

    def having(self, asked: Asked, danger: str) -> list[Engine]:
        """Return the engines that judge a promise and met the danger for it."""
        return [e for e in asked.engines if self.met(asked, e)[danger].status != "out"]

    def _unasked(self, engine: Engine, danger: str) -> str:
        reason = self.said.get(danger, "")
        return reason if reason.startswith(("not of", "Kafka excludes")) else NOT_ASKED[engine]

    def why_open(self, asked: Asked, danger: str) -> str | None:
        """Return why no engine that judges a model has the danger in, or None if one has, or if the model or Kafka
        excludes it."""
        judges = [e for e in ENGINES if e in asked.engines and e in MODELLED]
        if MODELLED.intersection(self.having(asked, danger)):
            return None
        reason = self.said.get(danger, "excused")
        if not reason.startswith("excused"):
            return None if reason.startswith(("not of", "Kafka excludes")) else reason
        return self.met(asked, judges[0])[danger].why if judges else "open: no engine judges it"

    def lines(self, promise: str | None = None) -> Iterator[Line]:
        for asked in self.asked:
            if promise is None or promise in (asked.promise, asked.property):
                for danger in DANGERS:
                    for engine in ENGINES:
                        cell = self.cell(asked, engine, danger)
                        yield Line(
                            self.protocol, asked.promise, danger, engine, cell.words, self.variant, cell.count,
                            cell.why, asked.property,
                        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_dict(document: Mapping[str, Any]) -> "Matrix":
        asked = tuple(
            Asked(**(item | {"engines": tuple(item["engines"]), "scopes": _cells(item["scopes"])}))
            for item in document["asked"]
        )
        scopes = _cells(document["scopes"])
        return Matrix(
            document["protocol"], document["variant"], asked, scopes, document["said"], tuple(document["tagged"])
        )


def _cells(document: Mapping[Engine, Mapping[str, Any]]) -> dict[Engine, dict[str, Cell]]:
    return {e: {danger: Cell(**cell) for danger, cell in cells.items()} for e, cells in document.items()}


def matrix_of(entry: ProtocolEntry, variants: Iterable[Variant], results: Sequence[Result]) -> list[Matrix]:
    """Return the matrix of each of these variants, computed from the verdicts that have a scope."""
    return [_matrix(entry, v, [r for r in results if r.variant == v.name and r.within is not None]) for v in variants]


def _matrix(entry: ProtocolEntry, variant: Variant, results: Sequence[Result]) -> Matrix:
    scopes: dict[Engine, dict[str, Cell]] = {}
    judged: dict[Engine, set[str]] = {}
    own: dict[str, dict[Engine, Mapping[str, Cell]]] = {}
    unbroken: dict[str, dict[Engine, Sequence[str]]] = {}
    rules = _history_rules(entry.name)
    for r in results:
        assert r.within is not None
        if r.property.partition(" ")[0] in RULES:  # a claim of the documents rests on other verdicts
            continue
        engine = r.within.engine
        if engine in ("histories", "recordings"):
            if not r.evidence.get("judged"):
                continue
            judged.setdefault(engine, set()).add(rules.get(r.property, ""))
        elif r.verdict in ("holds", "violated"):  # an unproved or vacuous verdict has no danger in
            judged.setdefault(engine, set()).add(r.property)
        else:
            continue
        if engine in SEARCHING:
            own.setdefault(r.property, {})[engine] = r.within.cells
            if without := r.evidence.get("unbroken_within"):
                unbroken.setdefault(r.property, {})[engine] = without
        scopes[engine] = _together(scopes.get(engine), r.within.cells, of=engine)
    if live := runs_of(entry.name, variant.name):
        driven_live = f"none of the {sum(run.examples for run in live)} sequences on {live[0].brokers} met it"
        scopes["live"] = dict(scope_of_counts(variant.spec, "live", counts_of(live), driven_live).cells)
        judged["live"] = set()
    asked = []
    for name, item in variant.asked.items():
        if item.rule is not None and RULES[item.rule].kind == "promise" and item.role != "refinement":
            engines = tuple(e for e in ENGINES if _judges(e, name, item.rule, judged))
            excuses = _excuses(entry, variant, item.rule)
            asked.append(Asked(item.rule, name, engines, excuses, own.get(name, {}), unbroken.get(name, {})))
    reason = {name: str(item) for name, item in variant.spec.outside.items()}
    reason |= dict.fromkeys(unaccounted(variant.spec), NOTHING_STATED)
    return Matrix(entry.name, variant.name, tuple(asked), scopes, reason, variant.spec.dangers)


def _judges(engine: Engine, name: str, rule: str, judged: Mapping[Engine, set[str]]) -> bool:
    """Return whether the engine judges the property. Agreement and live runs compare with the model, and so judge every
    property asked of it."""
    if engine in ("agreement", "live"):
        return engine in judged
    return (rule if engine in ("histories", "recordings") else name) in judged.get(engine, ())


def _together(before: Mapping[str, Cell] | None, now: Mapping[str, Cell], *, of: Engine) -> dict[str, Cell]:
    """Merge the cells of two verdicts of one engine. Counts of recordings add up; other engines report the same for
    each verdict."""
    if before is None:
        return dict(now)
    if of == "recordings":
        return {name: _sum(before[name], cell) for name, cell in now.items()}
    return {name: before[name] if before[name].status != "out" else cell for name, cell in now.items()}


def _sum(a: Cell, b: Cell) -> Cell:
    count = (a.count or 0) + (b.count or 0)
    better = a if a.status != "out" else b
    return Cell(better.status, count, better.why)


def _history_rules(protocol: str) -> Mapping[str, str]:
    from fencepost.properties.history.properties_of import properties_of
    from fencepost.properties.history.vocabulary import VOCABULARIES

    return properties_of(protocol).rules if protocol in VOCABULARIES else {}


def _excuses(entry: ProtocolEntry, variant: Variant, rule: str) -> dict[str, str]:
    if entry.name not in DRIVEN or rule not in driven(entry.name).expecting.get(variant.name, ()):
        return {}
    return {"late-copy": f"that a late copy breaks {rule} in {variant.name} is predicted"}


@dataclass(frozen=True)
class Hole:
    """A `Hole` is a danger that no engine which judges a model met, although nothing excludes it. ``nowhere`` has the
    promises for which that is so in every variant examined. ``partly`` has the variants in which no engine met the
    danger while another variant has the danger in for the same promise. ``without_model`` has the engines that met the
    danger without a model that has it."""

    danger: str
    nowhere: tuple[str, ...]
    partly: tuple[str, ...]
    without_model: tuple[Engine, ...]
    whys: tuple[str, ...]


def holes(matrices: Sequence[Matrix], promise: str | None = None) -> list[Hole]:
    """Return the open cells, danger by danger."""
    found = (_hole(danger, matrices, promise) for danger in DANGERS)
    return [hole for hole in found if hole is not None]


def _hole(danger: str, matrices: Sequence[Matrix], promise: str | None) -> Hole | None:
    met: set[str] = set()
    open_in: list[tuple[str, str, str]] = []
    without_model: set[Engine] = set()
    for matrix in matrices:
        for asked in matrix.asked:
            if promise is not None and promise not in (asked.promise, asked.property):
                continue
            have = matrix.having(asked, danger)
            if MODELLED.intersection(have):
                met.add(asked.promise)
            elif why := matrix.why_open(asked, danger):
                open_in.append((asked.promise, f"{matrix.protocol}/{matrix.variant}", why))
                without_model.update(have)
    if not open_in:
        return None
    order = list(RULES)
    nowhere = sorted({p for p, _, _ in open_in} - met, key=order.index)
    partly = dict.fromkeys(place for p, place, _ in open_in if p in met)
    whys = dict.fromkeys(why for _, _, why in sorted(open_in, key=lambda pair: pair[0] in met))
    return Hole(danger, tuple(nowhere), tuple(partly), tuple(e for e in ENGINES if e in without_model), tuple(whys))
