"""This module reads which proofs are certified: of which variants cvc5 has a proof of every step, that Ethos calls
correct.

`proofs/verdicts/certificates.json` has a row for each variant of which that was asked. A row counts while it is of the
variant's present model, and of the present code that states steps as texts and has them checked. The code by which Z3
proves is no part of that: the proof of a text stays one however its step was proved before.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from fencepost.proofs.necessity.tables import FOLDER, digest
from fencepost.properties.catalogue import ProtocolEntry

PACKAGE = Path(__file__).resolve().parents[2]
CERTIFICATES = FOLDER / "certificates.json"
STATED_BY = ("proofs/engines/obligations.py", "proofs/readings/smtlib", "proofs/engines/second/statements.py")
CHECKED_BY = ("proofs/engines/second/asking.py", "proofs/engines/second/ethos.py")
DIGITS = 12


@cache
def code(*parts: str) -> str:
    """Return a hash of files and folders of the package."""
    places = [PACKAGE / part for part in parts]
    files = {file for place in places for file in (place, *place.rglob("*.py")) if file.is_file()}
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(f"{file.relative_to(PACKAGE)}\n{file.read_text(encoding='utf-8')}".encode())
    return found.hexdigest()[:DIGITS]


def standing(entries: Iterable[ProtocolEntry], file: Path = CERTIFICATES) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the variants (protocol/variant) of which every step is certified, and those of which the file has a row of
    another model or other code, which says nothing any more."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    variants = {f"{entry.name}/{variant.name}": variant for entry in entries for variant in entry.variants}
    here = [row for row in rows if row["variant"] in variants]
    now = code(*STATED_BY, *CHECKED_BY)
    old = [r["variant"] for r in here if (r["models"], r["code"]) != (digest(variants[r["variant"]]), now)]
    whole = {r["variant"] for r in here if r["steps"] and r["certified"] == r["steps"]}
    return frozenset(whole.difference(old)), tuple(old)


def outdated(old: tuple[str, ...]) -> str:
    """Return a line on the rows that are of other models or other code, or ""."""
    if not old:
        return ""
    return f"out of date, and not counted as certified: {', '.join(old)}; certificates.json is of other models or code"
