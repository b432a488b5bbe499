"""This module writes a directory of certificates, with each step of a proof as a file that any solver reads, and an
index of both solvers' answers.

The directory is written next to its place and renamed, so that it is either complete or absent. Only an earlier
directory of certificates is replaced, or an empty one.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fencepost.proofs.engines.induction import Obligation, Proof
from fencepost.proofs.engines.second.asking import UNITS, Answer, Z3Again, require_cvc5, z3_version
from fencepost.proofs.engines.second.opinions import Opinion, title_of
from fencepost.proofs.engines.second.statements import Statement, is_stated, statements
from fencepost.proofs.readings.words import say_obligation
from fencepost.properties.catalogue import ProtocolEntry, Variant

INDEX = "index.json"
WRITTEN_BY = "fencepost prove --certificates"
NOT_ASKED = "not asked; --second-opinion cvc5 asks it"


@dataclass
class Certificates:
    """A `Certificates` has the files of a directory by name, and the rows of its index."""

    texts: dict[str, str] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    without: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, entry: ProtocolEntry, variant: Variant, proof: Proof, asked: Iterable[Opinion], again: Z3Again | None
    ) -> None:
        """Add the obligations of one proof. ``asked`` has cvc5's answers, if it was asked. ``again`` has Z3 read each
        text, instead of its answer in the proof."""
        opinions = {opinion.statement.name: opinion for opinion in asked}
        made = [o.statement for o in opinions.values()]
        every = made or statements(variant.spec, variant.promised, proof.obligations, title_of(entry, variant))
        for stated in every:
            file = f"{entry.name}/{variant.name}/{stated.name}.smt2"
            self.texts[file] = stated.text
            z3_says = again.ask(stated.text) if again else Answer("unsat", stated.obligation.seconds)
            opinion = opinions.get(stated.name)
            self.rows.append(_row(file, entry, variant, stated, z3_says, opinion.answer if opinion else None))
        for o in proof.obligations:
            if not is_stated(o):
                about = {"protocol": entry.name, "variant": variant.name, "property": o.property, "kind": o.kind}
                self.without.append({**about, "says": say_obligation(o), "verdict": o.verdict, "why": _why(o, proof)})

    def index(self, sources: Mapping[str, str]) -> dict[str, Any]:
        return {
            "schema": 1,
            "written_by": WRITTEN_BY,
            "version": version("fencepost"),
            "sources": dict(sources),
            "certificates": self.rows,
            "without": self.without,
        }


def _row(
    file: str, entry: ProtocolEntry, variant: Variant, stated: Statement, of_z3: Answer, of_cvc5: Answer | None
) -> dict[str, Any]:
    o = stated.obligation
    row = {
        "file": file,
        "says": stated.says,
        "protocol": entry.name,
        "variant": variant.name,
        "property": o.property,
        "kind": o.kind,
        "action": o.action,
        "rules": list(stated.rules),
        "uses": list(o.uses),
        "z3": {"answer": of_z3.result, "version": z3_version(), "seconds": round(of_z3.seconds, 4), "why": of_z3.why},
    }
    if of_cvc5 is None:
        return {**row, "cvc5": {"answer": None, "why": NOT_ASKED}}
    answered = {"answer": of_cvc5.result, "version": require_cvc5(), "seconds": round(of_cvc5.seconds, 4)}
    return {**row, "cvc5": {**answered, "why": of_cvc5.why, "units": UNITS}}


def _why(o: Obligation, proof: Proof) -> str:
    if o.kind == "inherited":
        of = proof.inherited[o.property]
        return f"proved of the part {o.action}, which is {of.fact.protocol} (model {of.fact.model})"
    if o.verdict != "holds":
        return "it is not proved"
    return "it asks for a state that is there, which is no step of a proof"


def refusal(folder: Path) -> str | None:
    """Return why a directory cannot be written to, in words, or None if it can."""
    place = folder.resolve()
    if not place.parent.is_dir():
        return f"there is no directory {str(folder.parent)!r} for {folder.name!r}; make it first"
    if not os.access(place.parent, os.W_OK):
        return f"nothing can be written to the directory {str(place.parent)!r}; name another"
    if not place.exists():
        return None
    if not place.is_dir():
        return f"{str(folder)!r} is a file; name a directory"
    there = {str(file.relative_to(place)) for file in place.rglob("*") if file.is_symlink() or not file.is_dir()}
    foreign = sorted(there - _ours(place))
    if foreign:
        return f"{str(folder)!r} holds {foreign[0]!r}, which is no certificate of ours; name an empty directory"
    return None


def _ours(place: Path) -> set[str]:
    """Return the index and the files that it names, or nothing where there is no index of certificates."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        index = json.loads((place / INDEX).read_text(encoding="utf-8"))
        if index["written_by"] == WRITTEN_BY:
            return {INDEX, *(row["file"] for row in index["certificates"])}
    return set()


def write(folder: Path, made: Certificates, sources: Mapping[str, str]) -> None:
    """Write a directory, completely or not at all, in place of one that `refusal` accepts."""
    place = folder.resolve()
    draft, old = (place.with_name(f".{place.name}.{os.getpid()}{end}") for end in ("", ".old"))
    try:
        draft.mkdir()
        for name, text in made.texts.items():
            file = draft / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        index = json.dumps(made.index(sources), indent=1, ensure_ascii=False)
        (draft / INDEX).write_text(index + "\n", encoding="utf-8")
        if place.exists():
            place.rename(old)
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        if old.exists() and not place.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
