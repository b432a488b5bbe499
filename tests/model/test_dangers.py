"""Dangers: what a model says that it has and leaves out, and how the list is kept closed."""

import pytest
from fencepost.model.dangers import DANGERS
from fencepost.model.language import (
    ModelError,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    excused,
    exists,
    fault,
    not_of_this,
    open_hole,
)


class Part(Sort, bound="parts"):
    """A part."""


class Small(Protocol):
    """A set of parts."""

    held: Set[Part]
    outside = (not_of_this("it has no log", "late-copy", "cleaning"), excused("once", "duplicate"))

    @action(danger="duplicate")
    def take(s, p: Part):
        s.held[p] = True

    @danger("several-partitions")
    def two(s):
        """Two are held."""
        return exists(Part, Part, lambda p, q: (p != q) & s.held[p] & s.held[q])


class Cleaned(Small):
    """A small protocol with a fault that its base leaves out."""

    @fault(budget="cleanings", danger="cleaning")
    def clean(s, p: Part):
        s.held[p] = False


def test_what_a_model_has_is_read_from_its_actions_and_conditions() -> None:
    assert Small.spec.dangers == ("duplicate", "several-partitions")
    assert Cleaned.spec.dangers == ("duplicate", "several-partitions", "cleaning")


def test_a_tag_outweighs_what_a_base_left_out_and_a_condition_stays() -> None:
    assert {name: str(item) for name, item in Small.spec.outside.items()} == {
        "late-copy": "not of this protocol: it has no log",
        "cleaning": "not of this protocol: it has no log",
        "duplicate": "excused: once",
    }
    assert set(Cleaned.spec.outside) == {"late-copy", "duplicate"}


def test_an_unknown_danger_is_refused_with_the_nearest() -> None:
    with pytest.raises(ModelError, match="'late-copi' is no danger of the list; the nearest are late-copy"):
        action(danger="late-copi")
    with pytest.raises(ModelError, match="is no danger of the list"):
        open_hole("some day", "thunder")


def test_every_danger_has_words_and_a_source() -> None:
    for item in DANGERS.values():
        assert item.says.endswith(".") and item.source, item.name
