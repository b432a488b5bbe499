"""This module finds the lines and syntax trees of a protocol's methods, for the checks before tracing."""

import ast
import functools
import inspect
import linecache
from collections.abc import Callable
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def line_of(function: Callable[..., Any]) -> tuple[str, int]:
    """Return the file and line at which a function starts, decorators included."""
    code = inspect.unwrap(function).__code__
    return code.co_filename, code.co_firstlineno


def trees_of(function: Callable[..., Any]) -> tuple[Function, ...]:
    """Return the function's syntax tree. There are several for lambdas that share a line, and none where there is no
    source, as at a prompt."""
    file, line = line_of(function)
    return _functions(_text(file)).get((function.__name__, line), ())


def attribute_line(cls: type, name: str) -> tuple[str, int]:
    """Return the file and line at which a class declares or assigns ``name``, or those of the class itself."""
    try:
        file, first = inspect.getsourcefile(cls) or "?", inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return "?", 0
    for node in ast.walk(_parsed(_text(file))):
        if isinstance(node, ast.ClassDef) and node.lineno >= first and node.name == cls.__name__:
            for statement in node.body:
                targets = getattr(statement, "targets", [getattr(statement, "target", None)])
                if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    return file, statement.lineno
            break
    return file, first


def _text(file: str) -> str:
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@functools.lru_cache(maxsize=64)
def _functions(text: str) -> dict[tuple[str, int], tuple[Function, ...]]:
    found: dict[tuple[str, int], tuple[Function, ...]] = {}
    for node in ast.walk(_parsed(text)):
        if isinstance(node, Function):
            decorators = [] if isinstance(node, ast.Lambda) else [d.lineno for d in node.decorator_list]
            key = ("<lambda>" if isinstance(node, ast.Lambda) else node.name, min([node.lineno, *decorators]))
            found[key] = (*found.get(key, ()), node)
    return found
