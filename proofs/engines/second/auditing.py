"""This module audits a directory of certificates: it believes nothing that the directory says of its statements, and
asks no solver.

The steps that the induction of a variant needs are recomputed from the model, and so is the text of each. A file that
differs from it is a problem, and so is a step that is missing. Ethos then checks each proof against its statement. What
is trusted is the model language, what makes a text of a step (`statements` and `readings.smtlib`), Ethos, and the rules
of cvc5's proof format. No solver is imported, and `readings.solver`, by which Z3 proves, takes no part.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, cast

from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.properties import Property
from fencepost.proofs.engines.obligations import Kind, Obligation
from fencepost.proofs.engines.second.ethos import Ethos
from fencepost.proofs.engines.second.index import (
    INDEX,
    PROOF,
    SCHEMA,
    STATEMENT,
    WRITTEN_BY,
    Row,
    about,
    hash_of,
    hash_of_index,
)
from fencepost.proofs.engines.second.statements import Statement, Step, needed_steps, statements, title_of
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import ProtocolEntry, Variant, find

Standing = Literal["certified", "agreed by cvc5", "proved by Z3 alone", "not proved", "refused"]
ORDER: tuple[Standing, ...] = ("certified", "agreed by cvc5", "proved by Z3 alone", "not proved", "refused")
"""A promise stands as the last, in this order, of the steps that its proof needs."""


class NoCertificates(InputError):
    """This error means that a directory has no index that can be read."""


@dataclass(frozen=True)
class AuditedStep:
    """An `AuditedStep` is a step as the index names it. ``uses`` has the properties that its statement assumes."""

    step: Step
    says: str
    uses: tuple[str, ...]
    standing: Standing
    why: str = ""


@dataclass(frozen=True)
class AuditedPromise:
    """An `AuditedPromise` has how a property stands, and how many steps and lemmas its proof needs."""

    property: str
    standing: Standing
    steps: int
    lemmas: int


@dataclass(frozen=True)
class AuditedVariant:
    """An `AuditedVariant` has its steps, and what was found to be wrong with its part of the directory."""

    name: str
    steps: tuple[AuditedStep, ...]
    promises: tuple[AuditedPromise, ...]
    problems: tuple[str, ...]

    @property
    def certified(self) -> int:
        return sum(step.standing == "certified" for step in self.steps)

    @property
    def rest(self) -> tuple[AuditedStep, ...]:
        return tuple(step for step in self.steps if step.standing != "certified")


def read_index(folder: Path) -> Row:
    """Return the index of a directory. Errors: NoCertificates."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        right = index["written_by"] == WRITTEN_BY and index["schema"] == SCHEMA
        rows = [*index["certificates"], *index["without"]]
        assert all(isinstance(row[key], str) for row in rows for key in ("protocol", "variant", "property", "kind"))
    except (OSError, ValueError, KeyError, TypeError, AssertionError, RecursionError):
        right = False
    if not right:
        made = f"fencepost prove PROTOCOL --certificates {folder}"
        raise NoCertificates(f"{str(folder)!r} has no {INDEX} of certificates of this version; {made} makes one")
    return dict(index)


def problems_of(folder: Path, index: Row) -> list[str]:
    """Return what is wrong with a directory as a whole: its index, or files that the index does not name."""
    found = [] if index.get("sha256") == hash_of_index(index) else [f"{INDEX} was edited, as it has another hash"]
    rows = index["certificates"]
    named = {INDEX, *(str(row.get("file")) for row in rows)}
    named |= {str(row["proof"].get("file")) for row in rows if isinstance(row.get("proof"), dict)}
    there = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_symlink() or not file.is_dir()}
    return [*found, *(f"{name} is not in the index" for name in sorted(there - named))]


def audit(
    folder: Path, index: Row, ethos: Ethos, cores: int, report: Callable[[], object] = lambda: None
) -> Iterator[AuditedVariant]:
    """Yield each variant of a directory. ``report`` is called after each step."""

    def of(row: Row) -> tuple[str, str]:
        return row["protocol"], row["variant"]

    without = {(*of(row), row["kind"], str(row.get("action")), row["property"]): row for row in index["without"]}
    for (protocol, name), rows in groupby(sorted(index["certificates"], key=of), of):
        entry, variant = find(f"{protocol}/{name}")
        if variant is None:
            raise NoCertificates(f"{INDEX} names {protocol!r}, which is no variant of a protocol; make it anew")
        open_ones = {key[2:]: row for key, row in without.items() if key[:2] == (protocol, name)}
        yield _variant(folder, entry, variant, list(rows), open_ones, ethos, cores, report)


def _variant(
    folder: Path, entry: ProtocolEntry, variant: Variant, rows: Sequence[Row], unproved: Mapping[Step, Row],
    ethos: Ethos, cores: int, report: Callable[[], object],
) -> AuditedVariant:  # fmt: skip
    title, needed = title_of(entry, variant), needed_steps(variant.spec, variant.promised)
    problems, by_step = [], dict[Step, Row]()
    for row in rows:
        step = (row["kind"], str(row.get("action")), row["property"])
        if step in by_step or step not in needed:
            which = "is there twice" if step in by_step else "is no step of its induction"
            problems.append(f"{title}: {_named(step)} {which}")
        by_step[step] = row
    order = [step for step in by_step if step in needed]
    threads, audited = ThreadPoolExecutor(cores), list[AuditedStep]()
    try:
        checks = [
            threads.submit(_step, folder, title, step, by_step[step], stated, ethos)
            for step, stated in zip(order, _restated(variant, title, order, by_step), strict=True)
        ]
        for check in checks:
            audited.append(check.result())
            report()
    finally:  # also of an interrupt, which waits for no check
        threads.shutdown(wait=False, cancel_futures=True)
    for missing in sorted(needed - by_step.keys()):
        item = variant.promised.get(missing[2])
        standing, why = _missing(unproved.get(missing), inherits=item is not None and item.source is not None)
        audited.append(AuditedStep(missing, _named(missing), (), standing, why))
    problems += [f"{title}: {step.says}: {step.why}" for step in audited if step.standing == "refused"]
    return AuditedVariant(title, tuple(audited), tuple(_promises(variant, audited)), tuple(problems))


def _restated(
    variant: Variant, title: str, order: Sequence[Step], by_step: Mapping[Step, Row]
) -> Iterator[Statement | None]:
    """Yield the statement of each step as the model has it, with the lemmas that the index names, or None if these are
    none of the invariant."""
    always = {item for kind, _, item in order if kind == "preserved"}
    claims = [_claim(step, by_step[step], always, variant.promised) for step in order]
    made = statements(variant.spec, variant.promised, [claim for claim in claims if claim], title)
    yield from (next(made) if claim else None for claim in claims)


def _claim(step: Step, row: Row, always: set[str], properties: Mapping[str, Property]) -> Obligation | None:
    (kind, action, name), uses, how = step, row.get("uses"), row.get("how")
    if how == "stated" and (kind != "step" or properties[name].by_stated_steps(action) is None):
        return None
    if not isinstance(uses, list) or any(str(each) not in always for each in uses):
        return None
    if how not in ("solver", "stated") and (how != "unchanged" or kind != "preserved" or uses):
        return None
    return Obligation(cast(Kind, kind), action, name, "holds", 0.0, cast(Any, how), tuple(uses))


def _step(folder: Path, title: str, step: Step, row: Row, stated: Statement | None, ethos: Ethos) -> AuditedStep:
    if stated is None:
        what = "what the index says that it uses is no invariant, or no step that is stated"
        return AuditedStep(step, _named(step), (), "refused", what)
    o = stated.obligation
    uses = (o.property,) if o.how == "unchanged" else o.uses

    def found(standing: Standing, why: str = "") -> AuditedStep:
        return AuditedStep(step, stated.says, uses, standing, why)

    place, (protocol, _, name) = f"{title}/{stated.name}", title.partition("/")
    proof = row.get("proof")
    if not (proof is None or isinstance(proof, dict)) or {**row, **about(protocol, name, stated)} != row:
        return found("refused", "the index says something else of it than the model")
    files = {f"{place}/{STATEMENT}": row.get("sha256")}
    if row.get("file") != f"{place}/{STATEMENT}" or (proof and proof.get("file") != f"{place}/{PROOF}"):
        return found("refused", "the index names other files than its own")
    if proof:
        files[proof["file"]] = proof.get("sha256")
    texts = {}
    for file, expected in files.items():
        try:
            texts[file] = (folder / file).read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            return found("refused", f"{file} cannot be read: {error}")
        if hash_of(texts[file]) != expected:
            return found("refused", f"{file} has another hash than the index says")
    if texts[row["file"]] != stated.text:
        return found("refused", f"{row['file']} is not what the model states")
    if not proof:
        return found(*_without_proof(row))
    verdict = ethos.check(folder / row["file"], folder / proof["file"])
    return found("certified") if verdict.says == "correct" else found("refused", f"{verdict.says}: {verdict.why}")


def _missing(row: Row | None, *, inherits: bool) -> tuple[Standing, str]:
    """Return how a step without a statement stands. Only what a part has may hold without one."""
    if row is None or (row.get("verdict") == "holds" and not inherits):
        return "refused", "is missing"
    return ("proved by Z3 alone" if row.get("verdict") == "holds" else "not proved"), str(row.get("why"))


def _without_proof(row: Row) -> tuple[Standing, str]:
    z3, cvc5 = (row[name] if isinstance(row.get(name), dict) else {} for name in ("z3", "cvc5"))
    if z3.get("answer") != "unsat" or cvc5.get("answer") == "sat":
        return "refused", f"Z3 says {z3.get('answer')}, cvc5 {cvc5.get('answer')}"
    if cvc5.get("answer") == "unsat":
        return "agreed by cvc5", f"cvc5 prints no proof: {cvc5.get('why')}"
    return "proved by Z3 alone", f"cvc5: {cvc5.get('why')}"


def _named(step: Step) -> str:
    return " ".join(name_in_words(part) for part in step if part)


def _promises(variant: Variant, audited: Iterable[AuditedStep]) -> Iterator[AuditedPromise]:
    """Yield how each promise stands. Its proof needs its own steps, and those of every property that they assume."""
    by_property: dict[str, list[AuditedStep]] = {}
    for step in audited:
        by_property.setdefault(step.step[2], []).append(step)
    for name, item in variant.promised.items():
        if item.kind not in ("always", "step") or item.role == "lemma":
            continue
        needed, new = {name}, {name}
        while new:
            new = {used for one in new for step in by_property.get(one, ()) for used in step.uses} - needed
            needed |= new
        its = [step for one in needed for step in by_property.get(one, ())]
        worst: Standing = ORDER[max((ORDER.index(step.standing) for step in its), default=ORDER.index("not proved"))]
        yield AuditedPromise(name, worst, len(its), len(needed) - 1)


def as_document(folder: Path, checker: str, variants: Sequence[AuditedVariant], problems: Sequence[str]) -> Any:
    """Return what ``audit --json`` writes."""
    return {
        "schema": 1,
        "directory": str(folder),
        "checker": checker,
        "variants": [
            {
                "name": v.name,
                "steps": len(v.steps),
                "certified": v.certified,
                "promises": [
                    {"property": p.property, "standing": p.standing, "steps": p.steps, "lemmas": p.lemmas}
                    for p in v.promises
                ],
                "rest": [{"says": step.says, "standing": step.standing, "why": step.why} for step in v.rest],
            }
            for v in variants
        ],
        "problems": [*problems],
    }
