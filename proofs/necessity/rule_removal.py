"""This module takes a rule out of a protocol as a whole, and finds the tests that cover a rule."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fencepost.model.language.derived.mutations import Mutation, settle
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import (
    Term,
    boolean,
    conditional,
    constant,
    local,
    rewrite,
    state,
    subterms,
    term,
)
from fencepost.model.language.tree.types import EnumType, MapType
from fencepost.model.rules import RULES

# Taking a rule out of a protocol as a whole drops every guard that cites it, and weakens everything else that it
# states. Besides guards, a rule has updates marked with it, and terms written with ``either``. Without the rule, such
# an update may happen or not, and such a term may have any of its readings, anew at each step. The step gets a
# parameter, the *way*, that chooses. So a protocol without a rule has every step that it has with it, and more. What is
# proved without a rule holds with it, and what fails without two rules fails without three. An action that is a
# mechanism as a whole stays, since taking it out takes steps away. Initial values and ghost updates stay as well.

OUT = "taken out"
"""This is the name of mutations that take a rule out as a whole."""
AS_STATED, SKIPPED = "as said", "not updated"


def rules_of(spec: Spec) -> tuple[str, ...]:
    """Return the mechanisms that a protocol cites in guards, updates or alternatives, in the order of the rules."""
    cited = {g.rule for a in spec.actions.values() for g in a.guards}
    for action in spec.actions.values():
        cited |= {u.rule for u in action.updates if _skippable(spec, u)}
        cited |= {node.data[0] for root in _roots(action) for node in subterms(root) if node.op == "choice"}
    return tuple(number for number, rule in RULES.items() if number in cited and rule.kind == "mechanism")


def taken_out(spec: Spec, rule: str) -> Mutation:
    """Return the mutation that takes a rule out as a whole, which can be combined with others."""
    return Mutation(rule, OUT, spec, lambda made: loosen(made, [rule])[0])


def loosen(spec: Spec, rules: Collection[str]) -> tuple[Spec, Mapping[str, Mapping[str, tuple[Term, ...]]]]:
    """Return a protocol, not settled, without some rules. The second result has, by action and rule, what the rule
    demanded of a step, which is its guards and its way."""
    loose = {name: _Loose(spec, action, rules) for name, action in spec.actions.items()}
    actions = {name: made.action for name, made in loose.items()}
    return replace(spec, actions=actions), {name: made.demands for name, made in loose.items()}


def settled(spec: Spec, rules: Collection[str]) -> Spec:
    return settle(loosen(spec, rules)[0])


def _roots(action: Action) -> Iterator[Term]:
    yield from (g.condition for g in action.guards)
    for update in action.updates:
        yield from (*update.keys, update.value)


@dataclass(frozen=True)
class _Way:
    """A `_Way` is the parameter that chooses among the readings of one rule."""

    name: str
    kind: EnumType

    @property
    def local(self) -> Term:
        return local(self.name, self.kind)

    def is_(self, reading: str) -> Term:
        return boolean("eq", self.local, constant(self.kind.members.index(reading), self.kind))


class _Loose:
    def __init__(self, spec: Spec, action: Action, rules: Collection[str]) -> None:
        self.spec, self.rules = spec, rules
        self.ways = {rule: way for rule in rules if (way := _way(spec, action, rule)) is not None}
        opened = [replace(g, condition=self._open(g.condition)) for g in action.guards]
        self.demands = {rule: (*_guards(opened, rule), *self._stated(rule)) for rule in rules}
        used = tuple((way.name, way.kind) for way in self.ways.values())
        self.action = replace(
            action,
            parameters=(*action.parameters, *used),
            guards=tuple(g for g in opened if g.rule not in rules),
            limits=tuple(map(self._open, action.limits)),
            updates=tuple(map(self._update, action.updates)),
        )

    def _stated(self, rule: str) -> tuple[Term, ...]:
        return (self.ways[rule].is_(AS_STATED),) if rule in self.ways else ()

    def _open(self, root: Term) -> Term:
        def choose(node: Term) -> Term:
            if node.op != "choice" or node.data[0] not in self.ways:
                return node
            way, made = self.ways[node.data[0]], node.args[0]
            for name, other in zip(node.data[1], node.args[1:], strict=True):
                made = conditional(way.is_(name), other, made)
            return made

        return rewrite(root, choose)

    def _update(self, u: Update) -> Update:
        value, keys = self._open(u.value), tuple(map(self._open, u.keys))
        if u.rule in self.ways and _skippable(self.spec, u):
            value = conditional(self.ways[u.rule].is_(SKIPPED), self._before(u, keys), value)
        return replace(u, value=value, keys=keys)

    def _before(self, u: Update, keys: tuple[Term, ...]) -> Term:
        kind = self.spec.types[u.variable]
        now = state(u.variable, kind)
        if not isinstance(kind, MapType):
            return now
        places = keys or tuple(local(name, of) for name, of in u.bound)
        return term("select", (now, *places), None, kind.value)


def _guards(opened: list[Guard], rule: str) -> Iterator[Term]:
    """Yield the guards of a rule. Alternatives of other rules are replaced by what those rules state."""
    return (rewrite(g.condition, lambda n: n.args[0] if n.op == "choice" else n) for g in opened if g.rule == rule)


def _skippable(spec: Spec, u: Update) -> bool:
    """Return whether an update can be skipped. Updates of ghost variables and appends cannot."""
    return not u.appends and u.variable not in spec.ghosts


def _way(spec: Spec, action: Action, rule: str) -> _Way | None:
    """Return the way of a rule in an action, or None if the rule has only guards there."""
    nodes = [node for root in _roots(action) for node in subterms(root) if node.op == "choice"]
    names = [name for node in nodes if node.data[0] == rule for name in node.data[1]]
    skipped = [SKIPPED] if any(u.rule == rule and _skippable(spec, u) for u in action.updates) else []
    members = tuple(dict.fromkeys([AS_STATED, *names, *skipped]))
    named = f"way_{rule.replace('.', '_')}"
    return _Way(named, EnumType(f"Way of {rule}", members)) if len(members) > 1 else None


# The tests of a rule are marked ``@pytest.mark.rule("618.46", …)``, and are found without importing them. A marked test
# fails when the rule is broken: ``tests/reference_impl/test_rules_held.py`` runs the marked tests against defects of
# the reference implementation, and they must fail. A rule number in a docstring only describes the subject of a test.

TESTS = Path(__file__).resolve().parents[2] / "tests"
"""The tests are next to the package in a checkout. A wheel contains no tests."""
HELD = Path(__file__).parents[1] / "verdicts" / "held.json"
"""This ledger has the tests that cover each rule as they were when the package was built. `write_held` makes it anew,
and ``tests/reference_impl/test_rules_held.py`` compares it with the tests."""
STORED = "which tests hold which rules is stored with this release: an installed package has no tests to run"


def tests_of(rule: str, tests: Path = TESTS) -> list[str]:
    """Return the tests that cover a rule, in order, each as ``folder/test_file.py::test_name``."""
    return [name for name, rules in marked(tests).items() if rule in rules]


@cache
def held() -> dict[str, list[str]]:
    """Return, by rule, the tests in the ledger `HELD`."""
    found: dict[str, list[str]] = json.loads(HELD.read_text(encoding="utf-8"))
    return found


def write_held(tests: Path = TESTS) -> None:
    """Write the ledger `HELD` from the markers of the tests."""
    rules = {rule for cited in marked(tests).values() for rule in cited}
    rows = {rule: tests_of(rule, tests) for rule in RULES if rule in rules}
    HELD.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


@cache
def marked(tests: Path = TESTS) -> dict[str, tuple[str, ...]]:
    """Return every test that is marked with rules, and the rules. Errors: ValueError for an unreadable marker."""
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
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule"):
        return
    for argument in node.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)) or node.keywords:
            raise ValueError(f"{path}:{node.lineno}: {ast.unparse(node)}: give the numbers of rules, written out")
        yield argument.value
