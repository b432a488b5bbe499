"""Python's own control flow in a rule, found in the source before the rule is run.

Most of it would also fail on a symbol, but not all: ``x is None`` and ``a or b`` between a constant and a symbol pass silently,
and a loop over a Python list runs once, whatever the state.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .errors import mistake

_BANNED: dict[type[ast.AST], tuple[str, str]] = {
    ast.If: ("an `if` statement", "use require(...) for a guard, when(c, a, b) for a value"),
    ast.IfExp: ("`a if c else b`", "use when(c, a, b)"),
    ast.BoolOp: ("`and` or `or`", "use & and |, with parentheses round comparisons"),
    ast.While: ("a `while` loop", "a rule is one step; use a bulk update or several actions"),
    ast.Assert: ("an `assert`", "use require(...), or state a lemma"),
    ast.Try: ("a `try`", "a rule has no exceptions; say what each case does"),
    ast.AugAssign: ("an assignment like `+=`", "write s.x = s.x + 1"),
}


def check_source(function: Callable[..., Any]) -> None:
    """Raises ModelError at the first construct that Python would decide by itself.  Functions without source are left to the symbols."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return
    file = inspect.getsourcefile(function) or "?"
    tree = ast.parse(textwrap.dedent("".join(lines)))
    for node in ast.walk(tree):
        found = _banned(node)
        if found is not None:
            raise mistake(f"{found[0]} in a rule", found[1], (file, first + getattr(node, "lineno", 1) - 1))


def _banned(node: ast.AST) -> tuple[str, str] | None:
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return "`not`", "use ~(...)"
        case ast.Compare(ops=ops) if len(ops) > 1:
            return "a chained comparison", "write (a < b) & (b < c)"
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return "`in`", "write s.set[item], or (x == A) | (x == B)"
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return "`is`", "write == or !="
        case ast.For(iter=over) if not _static(over):
            return "a loop over what is not written out here", "use forall, exists or each over a sort"
        case ast.comprehension(iter=over) if not _static(over):
            return "a comprehension over what is not written out here", "use forall, exists or each over a sort"
    return _BANNED.get(type(node))


def _static(over: ast.expr) -> bool:
    return isinstance(over, ast.Tuple | ast.List) or (
        isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"
    )
