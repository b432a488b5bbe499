"""What a protocol costs: every source file under exactly one role, and lines by role and protocol.

    python tests/support/cost.py

A protocol is its rules, claims, events, interface, histories and prose (*content*); what is written for it besides is
*plumbing*, and should be derived by what serves all protocols (*general*).  A file of two roles counts as plumbing.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from fencepost.properties import registry

ROOT = Path(__file__).parents[2]
FOLDERS = ("model", "properties", "reference_impl", "proofs")
PROTOCOLS = tuple(registry.folder(protocol) for protocol in registry.PROTOCOLS)
"""By the name of their folders."""

ROLES: tuple[tuple[str, str, str], ...] = (
    ("model", "content", "model/{p}/*"),
    ("claims", "content", "properties/{p}/claims*"),
    ("variants", "content", "properties/{p}/variants*"),
    ("events", "content", "properties/{p}/events*"),
    ("interface", "content", "properties/{p}/interface.py"),
    ("scenarios", "content", "properties/{p}/scenarios*"),
    ("history properties", "content", "properties/{p}/histories*"),
    ("translator", "plumbing", "properties/{p}/translator*"),
    ("words", "content", "properties/{p}/__init__.py"),
    ("system", "content", "reference_impl/systems/{p}*"),
    ("behaviour", "content", "reference_impl/kafka/{p}/*"),
    ("defects", "content", "reference_impl/defects/{p}*"),
    ("live clients", "content", "reference_impl/live/{p}/*"),
    ("live cluster", "content", "reference_impl/live/connect/{p}.py"),
    ("recordings", "content", "proofs/recording/{p}/*"),
)
"""(role, kind, files): the first that fits."""
SHARED = ("reference_impl/kafka/", "reference_impl/connect/", "proofs/doctor/")
"""What several protocols are about: content of none of them alone."""


@dataclass(frozen=True)
class Cost:
    """Of one file.  ``protocol``: its folder's name, or empty where it serves all."""

    path: str
    protocol: str
    role: str
    kind: str
    lines: int


def cost_of(path: str, lines: int = 0) -> Cost:
    """The one role of a source file, by its path from the root.  ValueError for one in a protocol's folder that has
    none."""
    for protocol in PROTOCOLS:
        for role, kind, files in ROLES:
            if fnmatchcase(path, files.format(p=protocol)):
                return Cost(path, protocol, role, kind, lines)
        if f"/{protocol}/" in path:
            raise ValueError(f"{path} has no role; add one to ROLES")
    if path.startswith(SHARED):
        return Cost(path, "", "behaviour", "content", lines)
    return Cost(path, "", "general", "general", lines)


def costs(root: Path = ROOT) -> Iterator[Cost]:
    """Every source file of the four folders."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            yield cost_of(path.relative_to(root).as_posix(), len(path.read_text(encoding="utf-8").splitlines()))


def plumbing(found: Iterable[Cost]) -> dict[str, int]:
    """Lines of plumbing by protocol."""
    total = dict.fromkeys(PROTOCOLS, 0)
    for cost in found:
        if cost.kind == "plumbing":
            total[cost.protocol] += cost.lines
    return total


def centre(root: Path = ROOT) -> dict[str, list[str]]:
    """Source files outside the protocols' folders that import a protocol or name it in a string, with which they
    name."""
    stems = {
        p: re.compile(rf"""\bfencepost\.[\w.]*\b{p}\b|import .*\b{p}\b|["'/]({p}|{p.replace("_", "-")})["'/:]""")
        for p in PROTOCOLS
    }
    named: dict[str, list[str]] = {}
    for cost in costs(root):
        text = (root / cost.path).read_text(encoding="utf-8")
        if cost.kind == "general" and (found := [p for p, stem in stems.items() if stem.search(text)]):
            named[cost.path] = found
    return named


def main() -> None:
    found = list(costs())
    rows = list(dict.fromkeys((c.role, c.kind) for c in found))
    print("| role | kind |", " | ".join(PROTOCOLS), "|")
    print("|---|---|" + "---|" * len(PROTOCOLS))
    for role, kind in sorted(rows, key=lambda row: row[1]):
        if kind != "general":
            files = [[c for c in found if (c.role, c.protocol) == (role, p)] for p in PROTOCOLS]
            print(f"| {role} | {kind} |", " | ".join(f"{len(f)}f {sum(c.lines for c in f)}" for f in files), "|")
    print("plumbing:", plumbing(found))
    for folder in FOLDERS:
        lines = sum(c.lines for c in found if c.path.startswith(f"{folder}/") and c.kind == "general")
        print(f"general in {folder}: {lines}")
    tests = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in (ROOT / "tests").rglob("*.py"))
    print("source:", sum(c.lines for c in found), "tests:", tests)
    named = centre()
    print(len(named), "files outside a protocol's folders name one:")
    for path, protocols in named.items():
        print(f"  {path}: {', '.join(protocols)}")


if __name__ == "__main__":
    main()
