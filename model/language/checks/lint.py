"""This module finds Python's own control flow in the source of a rule before the rule is run.

Most control flow would also fail on a symbol, but not all of it. ``x is None`` and ``a or b`` between a constant and a
symbol pass silently, a loop over a Python list runs once and does not depend on the state, and a comparison that stands
where an assignment was meant has no effect. Functions that a rule names, nested or module-level, are checked with it.
"""

import ast
import builtins
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from fencepost.model.language.checks.errors import mistake, of_language
from fencepost.model.language.tracing.sources import Function, line_of, trees_of

_BANNED: dict[type[ast.AST], tuple[str, str]] = {
    ast.If: ("an `if` statement", "use require(...) for a guard, when(c, a, b) for a value"),
    ast.IfExp: ("`a if c else b`", "use when(c, a, b)"),
    ast.Match: ("a `match`", "use when(c, a, b)"),
    ast.BoolOp: ("`and` or `or`", "use & and |, with parentheses round comparisons"),
    ast.While: ("a `while` loop", "a rule is one step; use a bulk update or several actions"),
    ast.Assert: ("an `assert`", "use require(...), or state a lemma"),
    ast.Try: ("a `try`", "a rule has no exceptions; say what each case does"),
    ast.TryStar: ("a `try`", "a rule has no exceptions; say what each case does"),
    ast.Raise: ("a `raise`", "a rule has no exceptions; say what each case does"),
    ast.AugAssign: ("an assignment like `+=`", "write s.x = s.x + 1"),
    ast.NamedExpr: ("an assignment inside an expression", "give it a line of its own"),
    ast.Delete: ("a `del`", "assign the zero value: 0, False or None"),
    ast.Global: ("a `global`", "what a step remembers is a variable of the protocol"),
    ast.Nonlocal: ("a `nonlocal`", "what a step remembers is a variable of the protocol"),
    ast.Yield: ("a `yield`, so that the body never runs,", "assign, or return a value"),
    ast.YieldFrom: ("a `yield`, so that the body never runs,", "assign, or return a value"),
    ast.AsyncFunctionDef: ("an `async def`, so that the body never runs,", "write `def`"),
    ast.Await: ("an `await`", "a rule is one step; write two actions"),
}

_LOOKED_AT = (
    *_BANNED, ast.UnaryOp, ast.Compare, ast.For, ast.AsyncFor, ast.comprehension, ast.Call, ast.Expr
)  # fmt: skip

_BUILTINS = {
    "min": "use when(a < b, a, b)", "max": "use when(a < b, b, a)", "abs": "use when(a < b, b - a, a - b)",
    "any": "use exists(Sort, lambda x: ...), or |", "all": "use forall(Sort, lambda x: ...), or &",
    "sorted": "say with forall what comes before what", "len": "use length(sequence)",
    "bool": "leave it out", "int": "leave it out", "isinstance": "declare the type; the language checks it",
    "type": "declare the type; the language checks it", "hasattr": "declare the variable", "id": "compare with ==",
    "hash": "compare with ==", "filter": "use forall or exists", "map": "use each, forall or exists",
}  # fmt: skip

_EFFECTS = ("require", "limit", "append")

_passed: set[tuple[CodeType, tuple[CodeType, ...]]] = set()
"""These methods have passed the check, each with its helpers, since variants inherit most of their methods."""


def check_source(function: Callable[..., Any], helpers: Mapping[str, Callable[..., Any]] | None = None) -> None:
    """Raise ModelError at the first construct that Python would decide by itself, in this function or in one that it
    names. ``helpers`` has the methods that the function may call through its first parameter, with those of parts by
    path. Functions without source are left to the checks of the symbols."""
    known = helpers or {}
    called = tuple(known[name].__code__ for name in function.__code__.co_names if name in known)
    if (function.__code__, called) not in _passed:
        _check(function, known, set())
        _passed.add((function.__code__, called))


def _check(function: Callable[..., Any], helpers: Mapping[str, Callable[..., Any]], seen: set[CodeType]) -> None:
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    scope = _scope(function)
    for tree in trees_of(function):
        nodes = list(ast.walk(tree))
        for node in nodes:
            if not isinstance(node, _LOOKED_AT):
                continue
            found = _banned(node) or _decided(node, scope) or _thrown_away(node, scope, helpers)
            if found is not None:
                where = (
                    line_of(function)[0],
                    node.iter.lineno if isinstance(node, ast.comprehension) else getattr(node, "lineno", tree.lineno),
                )
                raise mistake(f"{found[0]} in a rule", found[1], where)
        for named in _named(function, nodes, scope):
            _check(named, helpers, seen)


def _scope(function: Callable[..., Any]) -> dict[str, Any]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    names: dict[str, Any] = dict(function.__globals__)
    for name, cell in cells.items():
        try:
            names[name] = cell.cell_contents
        except ValueError:  # a name of the enclosing function that is bound later
            names.pop(name, None)
    return {name: value for name, value in names.items() if name not in function.__code__.co_varnames}


def _named(
    function: Callable[..., Any], nodes: Iterable[ast.AST], scope: Mapping[str, Any]
) -> Iterator[Callable[..., Any]]:
    """Yield the functions of the same package that this function names, except those of the language itself."""
    package = function.__module__.split(".", maxsplit=1)[0]
    for node in nodes:
        value = None
        match node:
            case ast.Name(id=name):
                value = scope.get(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if inspect.ismodule(scope.get(module)):
                value = getattr(scope[module], name, None)
        if (
            inspect.isfunction(value)
            and value.__module__.split(".", maxsplit=1)[0] == package
            and not _of_language(value)
        ):
            yield value


def _of_language(value: Any) -> bool:
    return inspect.isfunction(value) and of_language(value.__code__.co_filename)


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
        case ast.Compare(left=left, comparators=[right]) if _bare(left, node) or _bare(right, node):
            return (
                "`&` or `|` beside a comparison, to which it binds first,",
                "put parentheses round the comparison: (a >= b) | c",
            )
        case ast.For(iter=over) | ast.AsyncFor(iter=over) if not _static(over):
            return "a loop over what is not written out here", "use forall, exists or each over a sort"
        case ast.comprehension(iter=over) if not _static(over):
            return "a comprehension over what is not written out here", "use forall, exists or each over a sort"
    return _BANNED.get(type(node))


def _bare(operand: ast.expr, comparison: ast.Compare) -> bool:
    """Return whether this is a ``&`` or ``|`` without parentheses, starting or ending where the comparison does."""
    if not (isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.BitAnd | ast.BitOr)):
        return False
    ends = [(n.end_lineno, n.end_col_offset) for n in (operand, comparison)]
    starts = [(n.lineno, n.col_offset) for n in (operand, comparison)]
    return starts[0] == starts[1] if operand is comparison.left else ends[0] == ends[1]


def _decided(node: ast.AST, scope: Mapping[str, Any]) -> tuple[str, str] | None:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS and scope.get(
            name, getattr(builtins, name)
        ) is getattr(builtins, name):
            return f"Python's `{name}()`", _BUILTINS[name]
    return None


def _thrown_away(node: ast.AST, scope: Mapping[str, Any], helpers: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what to report of a statement that is only a value, such as ``s.x == 1``, and what to write instead."""
    advice = "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule"
    match node:
        case ast.Expr(value=ast.Constant()):
            return None
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            lost = name not in _EFFECTS and _of_language(
                inspect.unwrap(scope[name]) if callable(scope.get(name)) else None
            )
            return (f"the value of {name}(...), thrown away,", advice) if lost else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr=name))) if name in helpers:
            lost = any(_gives_value(tree) for tree in trees_of(helpers[name]))
            return (f"the value of {name}(...), thrown away,", advice) if lost else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute()) as called)):
            name = ast.unparse(called).partition(".")[2]  # of a part: s.ids.held(b, i)
            lost = name in helpers and any(_gives_value(tree) for tree in trees_of(helpers[name]))
            return (f"the value of {name}(...), thrown away,", advice) if lost else None
        case ast.Expr(value=value) if not isinstance(value, ast.Call | ast.Yield | ast.YieldFrom | ast.Await):
            return "a value that nothing uses", advice
    return None


def _gives_value(tree: ast.AST) -> bool:
    inner = (n for n in ast.iter_child_nodes(tree) if not isinstance(n, Function))
    return (isinstance(tree, ast.Return) and tree.value is not None) or any(map(_gives_value, inner))


def _static(over: ast.expr) -> bool:
    return isinstance(over, ast.Tuple | ast.List) or (
        isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"
    )
