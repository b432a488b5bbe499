"""Prints the corners into the page that ships with the reference implementation.

python tests/script.py tests/live/kafka/corners/corners_page.py reference_impl/kafka/KAFKA.md
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from corner import CORNERS, CORRECTED, SETTINGS, Corner
from corners_all import FILES
from fencepost.proofs.scope import reproduced
from fencepost.proofs.scope.findings import CORNERS as PROGRAM
from fencepost.reference_impl.live.clusters.kafka import kafka_version

FIRST, LAST = "<!-- corners -->", "<!-- end of corners -->"


def corners_text() -> str:
    """The list, by file; each corner with what was said, answered, and follows."""
    corrected = sum(each.verdict == CORRECTED for each in CORNERS.values())
    older = [each for each in CORNERS.values() if SETTINGS[each.on].release]
    versions = ", ".join(sorted({kafka_version(SETTINGS[each.on].release) for each in older}))
    parts = [
        f"{len(CORNERS)} corners, {len(CORNERS) - len(older)} asked of Apache Kafka {kafka_version()} and {len(older)} "
        f"of {versions}: {len(CORNERS) - corrected} confirmed, {corrected} corrected."
    ]
    for file in FILES:
        parts.append(f"### {_heading(file.__doc__ or '')}")
        parts += [_entry(each) for each in CORNERS.values() if each.program.__module__ == file.__name__]
    parts += ["### Other releases", *_releases()]
    return "\n\n".join(parts)


def replaced(page: str) -> str:
    """The page with its list as it is now. Raises ValueError if the page has no place for it."""
    before, first, rest = page.partition(FIRST)
    _, last, after = rest.partition(LAST)
    if not (first and last):
        raise ValueError(f"the page has no {FIRST} … {LAST}: put both lines where the list is to go")
    return f"{before}{FIRST}\n\n{corners_text()}\n\n{LAST}{after}"


def _releases() -> Iterator[str]:
    """What `reproduce.py` wrote down: how many corners each release answers as is written here, and the others."""
    rows = [row for row in reproduced.rows() if row.program.startswith(PROGRAM)]
    for release in sorted({row.release for row in rows}, reverse=True):
        by = {
            outcome: {row.program.partition("[")[2].rstrip("]"): row.says for row in rows
                      if (row.release, row.outcome) == (release, outcome)}
            for outcome in ("seen", "not seen", "not run")
        }  # fmt: skip
        head = (
            f"Kafka {release} answers {len(by['seen'])} of {len(by['seen']) + len(by['not seen'])} as is written here"
        )
        cannot = f"; {len(by['not run'])} cannot be asked of it." if by["not run"] else "."
        others = [
            _item("- ", f"**{name}**: {_other_answer(name, says)}") for name, says in sorted(by["not seen"].items())
        ]
        yield "\n".join([textwrap.fill(head + cannot, 120, break_on_hyphens=False), *others])


def _other_answer(name: str, says: str) -> str:
    """The first step that was answered otherwise."""
    return says.splitlines()[0].removeprefix(f"{name}, ").replace("|", "/")


def _heading(docstring: str) -> str:
    words = docstring.strip().splitlines()[0].removeprefix("Corners of ").rstrip(".")
    return words[0].upper() + words[1:]


def _entry(each: Corner) -> str:
    head = f"**{each.id}** ({each.on}; {', '.join(each.rules)}): *{each.verdict}*. {each.says}"
    follows = [f"Follows: {each.follows}"] if each.follows else []
    return "\n".join([_item("- ", head), *(_item("  - ", text) for text in (f"Kafka: {each.answered}", *follows))])


def _item(bullet: str, text: str) -> str:
    indent = " " * len(bullet)
    return textwrap.fill(text, 120, initial_indent=bullet, subsequent_indent=indent, break_on_hyphens=False)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(replaced(file.read_text()))
