"""This module collects the members of a protocol or its properties, and refuses mistakes that drop one silently."""

import difflib
import inspect
from typing import Any

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.tracing.sources import attribute_line, line_of


def members(cls: type, root: type, marked: type | tuple[type, ...]) -> dict[str, Any]:
    """Return the class members of the whole hierarchy, base first in order of definition, with overridden ones in their
    first place. ``marked`` is the type that decorators make of a method. ``name = None`` takes a marked method out."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base in (object, root):
            continue
        for name, member in vars(base).items():
            if not name.startswith("__"):
                _refuse_slips(base, root, (name, member), found, marked)
                found[name] = member
    return {n: m for n, m in found.items() if m is not None}


def _refuse_slips(base: type, root: type, item: tuple[str, Any], found: dict[str, Any], marked: Any) -> None:
    name, member = item
    before = found.get(name)
    if member is None and name not in found:
        near = difflib.get_close_matches(name, found, n=3, cutoff=0.5)
        there = f"the nearest are {', '.join(near)}" if near else f"there are {', '.join(found)}"
        raise mistake(f"{base.__name__} takes out {name}, which it does not have", there, attribute_line(base, name))
    if inspect.isfunction(member) and isinstance(before, marked):
        raise mistake(
            f"{base.__name__}.{name} takes the place of one that is decorated, and would be left out",
            "decorate it as well",
            line_of(member),
        )
    body = getattr(member, "body", None)
    if inspect.isfunction(body) and not isinstance(member, marked):
        instead = "actions, faults and axioms stand in a Protocol; promises, lemmas and witnesses in its Properties"
        raise mistake(f"{name} does not belong in {root.__name__}", instead, line_of(body))


def check_names(cls: type, found: dict[str, Any], variables: set[str]) -> None:
    """Raise ModelError for a variable with a value at its declaration, or a helper with the name of a variable."""
    for name in variables & found.keys():
        raise mistake(
            f"{name} of {cls.__name__} is a variable, and is given a value or a method of that name as well",
            "set what a variable starts with in init(), and name a method differently",
            line_of(found[name]) if inspect.isfunction(found[name]) else attribute_line(cls, name),
        )
