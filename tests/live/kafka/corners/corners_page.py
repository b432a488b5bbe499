"""Prints the corners into the page that ships with the reference implementation.

python tests/script.py tests/live/kafka/corners/corners_page.py reference_impl/transactions/KAFKA.md
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from cluster import kafka_version
from corner import CORNERS, CORRECTED, SETTINGS, Corner
from corners_all import FILES

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
    return "\n\n".join(parts)


def replaced(page: str) -> str:
    """The page with its list as it is now. Raises ValueError if the page has no place for it."""
    before, first, rest = page.partition(FIRST)
    _, last, after = rest.partition(LAST)
    if not (first and last):
        raise ValueError(f"the page has no {FIRST} … {LAST}: put both lines where the list is to go")
    return f"{before}{FIRST}\n\n{corners_text()}\n\n{LAST}{after}"


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
