"""Python's own control flow in a rule: found in the source, wherever the rule hides it."""

from pathlib import Path

import pytest
from mistakes import guard, message, properties, protocol, rule


def marked(text: str) -> str:
    """The mistake is in a function of the module, not in the rule that names it."""
    return text.replace("return value is None", "return value is None  # <-")


CASES = [
    ("and", guard("s.on and s.off"), "`and` or `or` in a rule", "use & and |, with parentheses round comparisons"),
    (
        "or between a symbol and a constant",
        guard("False or s.on"),
        "`and` or `or` in a rule",
        "use & and |, with parentheses round comparisons",
    ),
    ("not", guard("not s.on"), "`not` in a rule", "use ~(...)"),
    ("in", guard("b in s.held"), "`in` in a rule", "write s.set[item], or (x == A) | (x == B)"),
    ("not in", guard("b not in s.held"), "`in` in a rule", "write s.set[item], or (x == A) | (x == B)"),
    ("is None", guard("s.leader is None"), "`is` in a rule", "write == or !="),
    ("is not None", guard("s.leader is not None"), "`is` in a rule", "write == or !="),
    ("a conditional expression", guard("s.on if s.off else s.on"), "`a if c else b` in a rule", "use when(c, a, b)"),
    ("a chained comparison", guard("0 < s.level < 3"), "a chained comparison in a rule", "write (a < b) & (b < c)"),
    (
        "an assignment expression",
        guard("(n := s.level) > 0"),
        "an assignment inside an expression in a rule",
        "give it a line of its own",
    ),
    ("any()", guard("any([s.on, s.off])"), "Python's `any()` in a rule", "use exists(Sort, lambda x: ...), or |"),
    ("all()", guard("all([s.on, s.off])"), "Python's `all()` in a rule", "use forall(Sort, lambda x: ...), or &"),
    ("min()", guard("min(s.level, 3) == 3"), "Python's `min()` in a rule", "use when(a < b, a, b)"),
    ("max()", guard("max(s.level, 3) == 3"), "Python's `max()` in a rule", "use when(a < b, b, a)"),
    ("abs()", guard("abs(s.level - 3) == 3"), "Python's `abs()` in a rule", "use when(a < b, b - a, a - b)"),
    (
        "sorted()",
        guard("sorted([s.level, 1]) == [1, 1]"),
        "Python's `sorted()` in a rule",
        "say with forall what comes before what",
    ),
    ("len()", guard("len(s.log) == 1"), "Python's `len()` in a rule", "use length(sequence)"),
    ("int()", guard("int(s.level) == 1"), "Python's `int()` in a rule", "leave it out"),
    ("bool()", guard("bool(s.on)"), "Python's `bool()` in a rule", "leave it out"),
    (
        "isinstance()",
        guard("isinstance(s.level, int)"),
        "Python's `isinstance()` in a rule",
        "declare the type; the language checks it",
    ),
    (
        "| beside >=",
        guard("s.level >= s.size | s.on"),
        "`&` or `|` beside a comparison, to which it binds first, in a rule",
        "put parentheses round the comparison: (a >= b) | c",
    ),
    (
        "& beside == between conditions",
        guard("s.on & s.off == s.told"),
        "`&` or `|` beside a comparison, to which it binds first, in a rule",
        "put parentheses round the comparison: (a >= b) | c",
    ),
    (
        "a comprehension over a sequence",
        guard("all_of([x == 0 for x in s.log])"),
        "a comprehension over what is not written out here in a rule",
        "use forall, exists or each over a sort",
    ),
    (
        "a comprehension over a sort",
        guard("[s.held[x] for x in Broker] == []"),
        "a comprehension over what is not written out here in a rule",
        "use forall, exists or each over a sort",
    ),
    (
        "if",
        rule("""
if s.on:  # <-
    s.level = 1
"""),
        "an `if` statement in a rule",
        "use require(...) for a guard, when(c, a, b) for a value",
    ),
    (
        "while",
        rule("""
while s.on:  # <-
    s.level = 1
"""),
        "a `while` loop in a rule",
        "a rule is one step; use a bulk update or several actions",
    ),
    (
        "for over a sequence",
        rule("""
for x in s.log:  # <-
    s.level = x
"""),
        "a loop over what is not written out here in a rule",
        "use forall, exists or each over a sort",
    ),
    (
        "match",
        rule("""
match s.stage:  # <-
    case Stage.FREE:
        s.level = 1
"""),
        "a `match` in a rule",
        "use when(c, a, b)",
    ),
    ("assert", rule("assert s.on  # <-"), "an `assert` in a rule", "use require(...), or state a lemma"),
    (
        "try",
        rule("""
try:  # <-
    s.level = 1
except ModelError:
    pass
"""),
        "a `try` in a rule",
        "a rule has no exceptions; say what each case does",
    ),
    (
        "raise",
        rule("raise ValueError(s.level)  # <-"),
        "a `raise` in a rule",
        "a rule has no exceptions; say what each case does",
    ),
    ("augmented assignment", rule("s.level += 1  # <-"), "an assignment like `+=` in a rule", "write s.x = s.x + 1"),
    (
        "augmented assignment of an entry",
        rule("s.cursor[b] += 1  # <-"),
        "an assignment like `+=` in a rule",
        "write s.x = s.x + 1",
    ),
    ("del", rule("del s.cursor[b]  # <-"), "a `del` in a rule", "assign the zero value: 0, False or None"),
    (
        "global",
        rule("global leader  # <-"),
        "a `global` in a rule",
        "what a step remembers is a variable of the protocol",
    ),
    (
        "nonlocal",
        rule("""
last = s.level
def remember(x):
    nonlocal last  # <-
    last = x
    return s.held[x]
require(forall(Broker, remember))
"""),
        "a `nonlocal` in a rule",
        "what a step remembers is a variable of the protocol",
    ),
    (
        "yield",
        rule("yield s.on  # <-"),
        "a `yield`, so that the body never runs, in a rule",
        "assign, or return a value",
    ),
    (
        "async def",
        protocol("""
@action  # the body would never run
async def go(s):  # <-
    s.level = 1
"""),
        "an `async def`, so that the body never runs, in a rule",
        "write `def`",
    ),
    (
        "a comparison for an assignment",
        rule("s.level == 1  # <-"),
        "a value that nothing uses in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
    (
        "a condition without require",
        rule("s.on & s.off  # <-"),
        "a value that nothing uses in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
    (
        "a word without require",
        rule("implies(s.on, s.off)  # <-"),
        "the value of implies(...), thrown away, in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
    (
        "a rule without with",
        rule("""
rule("730.8")  # <-
s.level = 1
"""),
        "the value of rule(...), thrown away, in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
    (
        "a helper's condition without require",
        rule("s.free()  # <-"),
        "the value of free(...), thrown away, in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
    (
        "in a property",
        properties('''
@lemma
def bad(s):
    """Bad."""
    return s.on and s.off  # <-
'''),
        "`and` or `or` in a rule",
        "use & and |, with parentheses round comparisons",
    ),
    (
        "in a step property",
        properties('''
@step(rule="730.7")
def bad(old, new):
    """Bad."""
    return old.level <= new.level if new.on else old.on  # <-
'''),
        "`a if c else b` in a rule",
        "use when(c, a, b)",
    ),
    (
        "in a helper of properties",
        properties("""
def bad(s):
    return not s.on  # <-
"""),
        "`not` in a rule",
        "use ~(...)",
    ),
    (
        "in a helper",
        protocol("""
def bad(s):
    return s.leader is None  # <-
"""),
        "`is` in a rule",
        "write == or !=",
    ),
    (
        "in init",
        protocol("""
def init(s):
    if True:  # <-
        s.level = 1
"""),
        "an `if` statement in a rule",
        "use require(...) for a guard, when(c, a, b) for a value",
    ),
    (
        "in an axiom",
        protocol("""
@axiom
def bad(s):
    return 1 <= s.size <= 3  # <-
"""),
        "a chained comparison in a rule",
        "write (a < b) & (b < c)",
    ),
    (
        "in a lambda",
        rule("require(forall(Broker, lambda x: s.held[x] or s.on))  # <-"),
        "`and` or `or` in a rule",
        "use & and |, with parentheses round comparisons",
    ),
    (
        "in a nested function",
        rule("""
def held(x):
    return x is None  # <-
require(forall(Broker, held))
"""),
        "`is` in a rule",
        "write == or !=",
    ),
    ("in a function of the module", marked(rule("require(~known(s.leader))")), "`is` in a rule", "write == or !="),
    (
        "in a function of the module, handed on",
        marked(rule("require(exists(Broker, known))")),
        "`is` in a rule",
        "write == or !=",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_python_in_a_rule(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The line is named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
