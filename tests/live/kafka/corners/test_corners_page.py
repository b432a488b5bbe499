"""The page that ships with the reference implementation says what the corners say, no more and no less."""

from __future__ import annotations

import re
from importlib.resources import files

from corner import CONFIRMED, CORNERS, CORRECTED
from corners_page import replaced
from fencepost.model.rules import RULES

PAGE = files("fencepost.reference_impl.kafka").joinpath("KAFKA.md").read_text()


def test_the_page_lists_every_corner_as_it_is() -> None:
    """Printed again, the page does not change; the head of `corners_page.py` says how to print it."""
    assert replaced(PAGE) == PAGE


def test_what_was_corrected_says_what_follows() -> None:
    """A deduction that Kafka contradicts has a consequence written down, or the reason why there is none."""
    assert {each.verdict for each in CORNERS.values()} == {CONFIRMED, CORRECTED}
    assert [each.id for each in CORNERS.values() if each.verdict == CORRECTED and not each.follows] == []


def test_corners_name_rules_of_the_ledger() -> None:
    """Each corner belongs to at least one rule that the ledger knows."""
    assert [each.id for each in CORNERS.values() if not each.rules] == []
    assert {rule for each in CORNERS.values() for rule in each.rules} <= set(RULES)


def test_the_defects_refer_to_programs_that_exist() -> None:
    """Every corner that the page's text names by id is in the list."""
    text = PAGE.partition("## Defects of Kafka")[2].partition("## Deductions")[0]
    named = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", text))
    assert named and named <= set(CORNERS)
