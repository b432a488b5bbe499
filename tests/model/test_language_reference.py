"""The reference of the language: every public word, with its form, its meaning and a line of a real model."""

from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.model import language
from fencepost.proofs.authoring.language_reference import REMARKS, _tree, page, word, words

ROOT = Path(__file__).parents[2]
UNWRITTEN = {"Action", "ModelError", "Property", "Spec", "Int"}
"""No model here writes these; all but the last are made by the language."""


def test_every_public_word_is_there() -> None:
    """With a sentence that ends, and an example in which it stands, at the place that is named."""
    assert {*language.__all__} < words().keys()
    for name, each in words().items():
        assert each.sentence.endswith(".") and len(each.sentence) > 20, name
        assert each.form and "annotation" not in each.form and "fencepost" not in each.form, name
        assert bool(each.example) == (name not in UNWRITTEN), name
        if each.example:
            file = ROOT / each.example.file.replace("fencepost_examples/", "tests/")
            line = file.read_text(encoding="utf-8").splitlines()[each.example.line - 1]
            assert each.example.text.splitlines()[0] in REMARKS.sub("", line) and name in each.example.text


def test_the_stored_page_is_of_these_docstrings() -> None:
    """`fencepost language --table model/language/LANGUAGE.md` writes it anew."""
    stored = Path(language.__file__).with_name("LANGUAGE.md").read_text(encoding="utf-8")
    assert stored == page()
    assert stored.count("\n## ") == len(words())


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "Map",
            [
                "Map[Broker, Id]: keys, then the value",
                "_examples/lock/model.py:47",
                "held: Map[Client, Token]",
            ],
        ),
        (
            "promise",
            [
                "promise(*, rule, no_mutant=None, broken='')",
                "fencepost_examples/lock/claims.py",
                '@promise(rule="lock.P',
            ],
        ),
        ("Sort", ["class Name(Sort, bound=…)", 'class Client(Sort, bound="clients"):']),
        ("Do", ["Do(action, parameters, when=None)", "fencepost_examples/lock/events.py", "Do("]),
    ],
)
def test_a_word(name: str, lines: list[str]) -> None:
    """Its form, what it means, and where it stands in a model."""
    ran = fencepost("language", name)
    assert ran.code == 0 and all(line in ran.out for line in [*lines, word(name).says.splitlines()[0]]), ran.out


def test_no_more_is_read_than_is_printed() -> None:
    """For one word the files up to the one with its example are parsed, and for the list of all words none."""
    for asked, most in ((("language",), 0), (("language", "leads_to"), 1)):
        words.cache_clear(), _tree.cache_clear()
        assert fencepost(*asked).code == 0
        assert _tree.cache_info().currsize <= most


def test_all_words_and_one_that_is_none(tmp_path: Path) -> None:
    """A sentence each; the nearest where there is none; the page on request."""
    ran = fencepost("language", "--table", tmp_path / "page.md")
    assert [line.split()[0] for line in ran.out.splitlines() if not line.startswith(" ")] == [*words()]
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page()
    ran = fencepost("language", "sevice")
    assert (ran.code, "the language has no 'sevice'; did you mean service" in ran.err) == (2, True)
