"""How many of a thing there are, in words."""

import pytest
from fencepost.properties.nearest import quantity, times


@pytest.mark.parametrize(
    ("noun", "several"),
    [("lemma", "2 lemmas"), ("property", "2 properties"), ("history", "2 histories"), ("day", "2 days")],
)
def test_one_and_several(noun: str, several: str) -> None:
    assert (quantity(1, noun), quantity(2, noun), quantity(0, noun)) == (f"1 {noun}", several, f"0 {several[2:]}")


def test_thousands_and_once() -> None:
    assert (quantity(1466, "event"), times(1), times(2000)) == ("1,466 events", "once", "2,000 times")
