"""Rule numbers cited in a protocol are checked against the ledger, so that a wrong one can't reach a report."""

import difflib

from ..rules import RULES
from .errors import mistake


def check_rule(number: str, where: tuple[str, int] | None = None) -> None:
    if number not in RULES:
        near = difflib.get_close_matches(number, RULES, n=3, cutoff=0.5)
        raise mistake(
            f"{number!r} is no rule in the ledger",
            f"the nearest are {', '.join(near)}" if near else "see model/rules.py",
            where,
        )
