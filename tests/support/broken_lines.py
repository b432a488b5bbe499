"""Which lines of a module say that a promise is broken: of each there must be a run in which it does."""

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any


def lines(module: ModuleType) -> set[int]:
    """The lines at which a `Broken` is made."""
    tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
    return {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "Broken"}


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


@contextmanager
def reached(module: ModuleType) -> Iterator[set[int]]:
    """The lines of the module at which one is made meanwhile."""
    found: set[int] = set()
    made = vars(module)["Broken"]

    def broken(*arguments: Any, **named: Any) -> Any:
        found.add(sys._getframe(1).f_lineno)
        return made(*arguments, **named)

    vars(module)["Broken"] = broken
    try:
        yield found
    finally:
        vars(module)["Broken"] = made
