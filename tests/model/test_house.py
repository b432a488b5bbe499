"""The house does not grow: what was reached in size and shape is held, and may only shrink."""

import pytest
from house import PRIVATE, circles, outside_the_law, private_words, sizes

LIMITS = {
    "model": (143, 21774),
    "properties": (166, 45354),
    "reference_impl": (159, 37299),
    "proofs": (318, 49791),
    "tests": (563, 84044),
}
"""Files and lines of each top folder."""
LAZY_CIRCLES = (5, 5, 4)
"""The sizes of the largest circles of imports, lazy and type-only ones counted."""
WORDS: dict[str, int] = {
    "told": 524,
    "kept": 181,
    "fated": 64,
    "tell": 57,
    "beside": 43,
    "newcomers": 30,
    "shows": 25,
    "nobody": 18,
    "shown": 16,
    "said": 12,
    "telling": 7,
    "tells": 5,
    "somebody": 5,
}
"""How often a private word stands in the four folders; a word that is not here must not stand there at all."""


@pytest.mark.parametrize("folder", LIMITS)
def test_sizes_only_shrink(folder: str) -> None:
    """Who needs more lines deletes others, or says in the commit why none could go, and raises the limit."""
    (files, lines), (most_files, most_lines) = sizes()[folder], LIMITS[folder]
    assert files <= most_files, f"{folder} has {files} files: merge what is one thing"
    assert lines <= most_lines, f"{folder} has {lines} lines: delete what is superfluous"


def test_protocols_have_the_files_of_the_law() -> None:
    """As the small protocol of the tests has them: what fits in none of them is frame, or does not belong."""
    assert outside_the_law() == []


def test_no_circle_when_modules_load() -> None:
    assert circles(load=True) == []


def test_lazy_circles_only_shrink() -> None:
    """Move what both ends need below both, or have the lower one given what it looks up."""
    assert all(size <= most for size, most in zip(circles(load=False), (*LAZY_CIRCLES, *(4,) * 99), strict=False))


def test_private_words_only_disappear() -> None:
    """A newcomer cannot know them: the field has words for all of them (reported, cached, emitted, in addition …)."""
    found = private_words()
    assert {word: found[word] for word in PRIVATE if found[word] > WORDS.get(word, 0)} == {}
