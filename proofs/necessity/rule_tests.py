"""Which tests hold which rules: those marked ``@pytest.mark.rule("618.46", …)``, found without importing them.

A test that is marked fails when the rule is broken: ``tests/reference_impl/test_rules_held.py`` runs the marked tests
against defects of the reference implementation, and they must fail.  A number in a docstring only says what a test is
about.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
"""Beside the package in a checkout; a wheel carries no tests."""
NOT_INSTALLED = "which tests hold which rules is left out: an installed package has no tests; see a checkout"


def tests_of(rule: str, tests: Path = TESTS) -> list[str]:
    """The tests that hold a rule, in order, each as ``folder/test_file.py::test_name``."""
    return [name for name, rules in marked(tests).items() if rule in rules]


@cache
def marked(tests: Path = TESTS) -> dict[str, tuple[str, ...]]:
    """Every test that is marked with rules, and the rules.  Raises ValueError for a marker that cannot be read."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.rule" in text:
            for function in _functions(ast.parse(text)):
                if rules := tuple(rule for node in function.decorator_list for rule in _rules(node, path)):
                    found[f"{path.relative_to(tests).as_posix()}::{function.name}"] = rules
    return found


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))


def _rules(node: ast.expr, path: Path) -> Iterator[str]:
    """The arguments of ``pytest.mark.rule(…)``, which have to be written out."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule"):
        return
    for argument in node.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)) or node.keywords:
            raise ValueError(f"{path}:{node.lineno}: {ast.unparse(node)}: give the numbers of rules, written out")
        yield argument.value
