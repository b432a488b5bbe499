"""Blocks: text of several lines, in which what belongs to a word hangs from it.

In TLA+ the members of a list of conjuncts stand under one another, so that a block must never be moved line by line.
"""

from collections.abc import Iterable
from textwrap import wrap

Block = list[str]
WIDTH = 100
"""Columns that a line has, where it can be broken."""
LIKE = {"…": "...", "–": "-", "—": "-", "→": "->", "×": "x", "“": '"', "”": '"', "’": "'", "≤": "<=", "≥": ">="}


def hang(word: str, block: Iterable[str]) -> Block:
    """The block behind a word, its further lines under its first."""
    first, *rest = block
    return [word + first, *(" " * len(word) + line for line in rest)]


def indented(block: Iterable[str], by: int = 4) -> Block:
    """The block, each line further to the right."""
    return [" " * by + line for line in block]


def closed(block: Iterable[str], end: str) -> Block:
    """The block with something behind its last line."""
    *before, last = block
    return [*before, last + end]


def in_parentheses(block: Iterable[str]) -> Block:
    """The block as one operand."""
    return closed(hang("(", block), ")")


def remark(text: str, by: int = 0, word: str = r"\* ") -> Block:
    """Lines of comment, each behind the word; nothing for an empty text.  ASCII only, since not every checker reads
    more."""
    plain = "".join(LIKE.get(sign, sign) for sign in " ".join(text.split()))
    plain = plain.encode("ascii", "replace").decode()
    return indented(hang_all(word, wrap(plain, WIDTH - 3 - by, break_on_hyphens=False)), by)


def hang_all(word: str, lines: Iterable[str]) -> Block:
    """Every line behind the word."""
    return [word + line for line in lines]


def noted(block: Block, note: str, word: str = r"\* ") -> Block:
    """A block with a short comment behind its last line; where that has no room, above it."""
    if not note:
        return block
    if len(block[-1]) + len(note) + 5 <= WIDTH:
        return closed(block, f"  {word}{note}")
    return [f"{word}{note}", *block]
