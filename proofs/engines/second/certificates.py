"""This module writes a directory of certificates: for each step of a proof a directory with its statement, which any
solver reads, and cvc5's proof of it, which Ethos checks; and an index with words, hashes, and both solvers' answers.

The directory is written next to its place and renamed, so that it is either complete or absent. Only an earlier
directory of certificates is replaced, or an empty one. What an earlier one has for a statement is taken over.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.obligations import VACUITY, Obligation
from fencepost.proofs.engines.second.agreeing import Comparison
from fencepost.proofs.engines.second.asking import (
    UNITS,
    NoSecondSolver,
    Z3Again,
    prove_by_cvc5,
    require_cvc5,
    z3_version,
)
from fencepost.proofs.engines.second.ethos import reference
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
from fencepost.proofs.engines.second.opinions import Opinion
from fencepost.proofs.engines.second.statements import Statement, asserted, is_stated, statements, title_of
from fencepost.proofs.readings.words import say_obligation
from fencepost.properties.catalogue import ProtocolEntry, Variant

NOT_ASKED = "not asked, as cvc5 is not installed"


@dataclass
class Certificates:
    """A `Certificates` has the files of a directory by name, and the rows of its index. ``earlier`` has rows and proofs
    of an earlier directory, and ``stated`` those of this one, by what their statements assert."""

    texts: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    without: list[Row] = field(default_factory=list)
    earlier: dict[str, tuple[Row, str]] = field(default_factory=dict)
    stated: dict[str, tuple[Row, str]] = field(default_factory=dict)
    taken_over: int = 0
    differing: list[str] = field(default_factory=list)

    @classmethod
    def after(cls, folder: Path) -> "Certificates":
        """Return certificates without any, which may take over those of an earlier directory. It is read by hash, so
        that a file that was changed since is made anew."""
        made, rows = cls(), []
        with suppress(OSError, ValueError, KeyError, TypeError):
            rows = json.loads((folder / INDEX).read_text(encoding="utf-8"))["certificates"]
        for row in rows:
            with suppress(OSError, ValueError, KeyError, TypeError):
                text = (folder / row["file"]).read_text(encoding="utf-8")
                proof = (folder / row["proof"]["file"]).read_text(encoding="utf-8") if row["proof"] else ""
                if hash_of(text) == row["sha256"] and (not row["proof"] or hash_of(proof) == row["proof"]["sha256"]):
                    made.earlier[asserted(text)] = row, proof
        return made

    @property
    def disagreements(self) -> list[str]:
        """Return a sentence for each statement that Z3 has proved, and a solver that read it has a model against, or
        that is not what Z3 was asked."""
        return self.differing + [
            f"{row['protocol']}/{row['variant']}: {row['says']}: as a text, {name} says sat"
            for row in self.rows
            for name in ("z3", "cvc5")
            if row[name]["answer"] == "sat"
        ]

    @property
    def proofs(self) -> int:
        return sum(row["proof"] is not None for row in self.rows)

    def add(
        self, entry: ProtocolEntry, variant: Variant, proof: Proof, asked: Iterable[Opinion], again: Z3Again,
        report: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        """Add the obligations of one proof. ``asked`` has cvc5's opinions, if they were asked for. ``again`` has Z3
        read each text, instead of its answer in the proof. ``report`` is called after each step."""
        opinions = {opinion.statement.name: opinion for opinion in asked}
        whole = proof
        if proof.inherited:  # certificates are of the whole alone
            whole = prove(variant.spec, variant.promised, rlimit=again.rlimit, counterexamples=False, again=True)
        title, comparison = title_of(entry, variant), Comparison(variant.spec, variant.promised)
        for stated in statements(variant.spec, variant.promised, whole.obligations, title):
            if (words := comparison.difference(stated)) is not None:
                self.differing.append(f"{title}: {words}")
            place = f"{entry.name}/{variant.name}/{stated.name}"
            of_z3, of_cvc5, printed = self._answers(stated, opinions.get(stated.name), again)
            proved = None
            self.texts[f"{place}/{STATEMENT}"] = stated.text
            if printed:
                self.texts[f"{place}/{PROOF}"] = printed
                proved = {"file": f"{place}/{PROOF}", "sha256": hash_of(printed)}
            row = {"file": f"{place}/{STATEMENT}", "sha256": hash_of(stated.text), "proof": proved}
            row |= about(entry.name, variant.name, stated) | {"z3": of_z3, "cvc5": of_cvc5}
            self.rows.append(row)
            self.stated[asserted(stated.text)] = row, printed
            report()
        for o in whole.obligations:
            if not is_stated(o):
                of = {"protocol": entry.name, "variant": variant.name, "property": o.property, "kind": o.kind}
                verdict = "holds" if o.property in proof.inherited else o.verdict
                of |= {"action": o.action, "says": say_obligation(o), "verdict": verdict, "why": _why(o, proof)}
                self.without.append(of)

    def _answers(self, stated: Statement, opinion: Opinion | None, again: Z3Again) -> tuple[Row, Row, str]:
        """Return the rows of both solvers, and the proof with its first line, or "" where there is none."""
        asserts = asserted(stated.text)
        earlier, printed = self.stated.get(asserts) or self.earlier.get(asserts, ({}, ""))
        of_z3, of_cvc5 = earlier.get("z3"), earlier.get("cvc5")
        self.taken_over += asserts in self.earlier
        if of_z3 is None or of_z3["version"] != z3_version():
            answer = again.ask(stated.text)
            of_z3 = {"answer": answer.result, "version": z3_version(), "seconds": round(answer.seconds, 4)}
            of_z3["why"] = answer.why
        try:
            cvc5 = require_cvc5()
        except NoSecondSolver:
            return of_z3, of_cvc5 or {"answer": None, "why": NOT_ASKED}, printed
        if of_cvc5 is None or of_cvc5.get("version") != cvc5:
            answer, proof = prove_by_cvc5(stated.text)
            if answer.result == "unknown" and opinion is not None:  # whose attempts are others
                answer = opinion.answer
            of_cvc5 = {"answer": answer.result, "version": cvc5, "seconds": round(answer.seconds, 4)}
            of_cvc5 |= {"why": answer.why, "units": UNITS}
            printed = f"{reference(STATEMENT)}\n{proof}" if proof else ""
        return of_z3, of_cvc5, printed

    def index(self, sources: Mapping[str, str]) -> Row:
        index = {
            "schema": SCHEMA,
            "written_by": WRITTEN_BY,
            "version": version("fencepost"),
            "sources": dict(sources),
            "certificates": self.rows,
            "without": self.without,
        }
        return index | {"sha256": hash_of_index(index)}


def _why(o: Obligation, proof: Proof) -> str:
    if o.property in proof.inherited and o.kind not in VACUITY:
        of = proof.inherited[o.property]
        return f"not inductive in the whole; proved of the part {of.part}, {of.fact.protocol} (model {of.fact.model})"
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
            proofs = (row["proof"]["file"] for row in index["certificates"] if row.get("proof"))
            return {INDEX, *(row["file"] for row in index["certificates"]), *proofs}
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
