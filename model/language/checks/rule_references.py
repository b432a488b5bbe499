"""This module checks the rule numbers and dangers that a protocol cites, so that no wrong one reaches a report."""

import difflib

from fencepost.model.dangers import DANGERS
from fencepost.model.language.checks.errors import mistake
from fencepost.model.rules import AREAS, RULES


def check_rule(number: str, where: tuple[str, int] | None = None) -> None:
    if number not in RULES:
        near = difflib.get_close_matches(number, RULES, n=3, cutoff=0.5)
        known = f"the nearest are {', '.join(near)}" if near else "see model/rules.py"
        area, point, _ = number.partition(".")
        own = f"; rules of your own are given with add_rules({area!r}, …) of fencepost.model.rules"
        raise mistake(f"{number!r} is no rule in the ledger", known + own * bool(point and area not in AREAS), where)


def check_dangers(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the given name or names as a tuple. Raise ModelError for a name that is not in the list of dangers."""
    found = (names,) if isinstance(names, str) else names
    for name in found:
        if name not in DANGERS:
            near = difflib.get_close_matches(name, DANGERS, n=3, cutoff=0.5)
            raise mistake(
                f"{name!r} is no danger of the list",
                f"the nearest are {', '.join(near)}" if near else "see model/dangers.py",
            )
    return found
