"""This module has blocks, which are texts of several lines in which a word's operand is aligned behind the word.

In TLA+ the members of a list of conjuncts are aligned, so that a block must never be moved line by line.
"""

from collections.abc import Iterable
from textwrap import wrap

Block = list[str]
WIDTH = 100
"""A line that can be broken has at most this many columns."""
LIKE = {"…": "...", "–": "-", "—": "-", "→": "->", "×": "x", "“": '"', "”": '"', "’": "'", "≤": "<=", "≥": ">="}


def hang(word: str, block: Iterable[str]) -> Block:
    """Return the block behind a word, with its further lines aligned under its first."""
    first, *rest = block
    return [word + first, *(" " * len(word) + line for line in rest)]


def indented(block: Iterable[str], by: int = 4) -> Block:
    return [" " * by + line for line in block]


def closed(block: Iterable[str], end: str) -> Block:
    *before, last = block
    return [*before, last + end]


def in_parentheses(block: Iterable[str]) -> Block:
    return closed(hang("(", block), ")")


def remark(text: str, by: int = 0, word: str = r"\* ") -> Block:
    """Return lines of comment in ASCII, each behind the word, or nothing for an empty text."""
    plain = "".join(LIKE.get(sign, sign) for sign in " ".join(text.split()))
    plain = plain.encode("ascii", "replace").decode()
    return indented(hang_all(word, wrap(plain, WIDTH - 3 - by, break_on_hyphens=False)), by)


def hang_all(word: str, lines: Iterable[str]) -> Block:
    return [word + line for line in lines]


def noted(block: Block, note: str, word: str = r"\* ") -> Block:
    """Return a block with a short comment behind its last line, or above it where that has no room."""
    if not note:
        return block
    if len(block[-1]) + len(note) + 5 <= WIDTH:
        return closed(block, f"  {word}{note}")
    return [f"{word}{note}", *block]
