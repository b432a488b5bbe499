"""What a property can't do, and what it can't do without: a sentence, a value, a witness."""

from pathlib import Path

import pytest
from mistakes import message, properties, variant

CASES = [
    (
        "a property that assigns",
        properties('''
@lemma
def bad(s):
    """Bad."""
    s.level = 1  # <-
    return s.on
'''),
        "level is assigned outside an action",
        "properties and axioms only read",
    ),
    (
        "a property that assigns an entry",
        properties('''
@lemma
def bad(s):
    """Bad."""
    s.held[Stage.FREE] = True  # <-
    return s.on
'''),
        "a map from Broker to Bool can't be assigned by key here",
        "assign s.map[key] in an action",
    ),
    (
        "a property with require",
        properties('''
@lemma
def bad(s):
    """Bad."""
    require(s.on)  # <-
    return s.on
'''),
        "require() is used outside an action",
        "properties return a condition instead",
    ),
    (
        "a property with a limit",
        properties('''
@lemma
def bad(s):
    """Bad."""
    limit(s.on)  # <-
    return s.on
'''),
        "limit() is used outside an action",
        "properties return a condition instead",
    ),
    (
        "a property with append",
        properties('''
@lemma
def bad(s):
    """Bad."""
    append(s.log, 1)  # <-
    return s.on
'''),
        "append() is used outside an action",
        "properties return a condition instead",
    ),
    (
        "a property with a rule",
        properties('''
@lemma
def bad(s):
    """Bad."""
    with rule("730.8"):  # <-
        return s.on
'''),
        "rule() is used outside an action",
        "properties return a condition instead",
    ),
    (
        "a reason without words why nothing can break a promise",
        properties('''
@promise(rule="730.P1", no_mutant=" ")  # <-
def bad(s):
    """Bad."""
    return s.on
'''),
        "property bad has an empty no_mutant",
        "say why no mutation can break it, or leave it out",
    ),
    (
        "a property without a sentence",
        properties("""
@lemma  # <-
def bad(s):
    return s.on
"""),
        "property bad has no sentence",
        "say in a docstring what it means and where it does not hold",
    ),
    (
        "a property without a value",
        properties('''
@lemma  # <-
def bad(s):
    """Bad."""
'''),
        "property bad returns nothing",
        "end it with `return <condition>`",
    ),
    (
        "a property that is a number",
        properties('''
@lemma  # <-
def bad(s):
    """Bad."""
    return s.level
'''),
        "property bad returns <Id: level>",
        "return a condition",
    ),
    (
        "a property that is a pair",
        properties('''
@lemma  # <-
def bad(s):
    """Bad."""
    return s.on, s.off
'''),
        "property bad returns (<Bool: on>, <Bool: off>)",
        "return a condition",
    ),
    (
        "a property with a parameter",
        properties('''
@lemma  # <-
def bad(s, b: Broker):
    """Bad."""
    return s.held[b]
'''),
        "property bad takes parameters",
        "quantify inside: forall(Broker, lambda b: ...)",
    ),
    (
        "a promise without a witness",
        properties('''
@promise(rule="730.P2")  # <-
def bad(s):
    """Bad."""
    return s.on
'''),
        "ExampleProperties.bad has no witness",
        "add @witness(of='bad'): a reachable state in which it bites",
    ),
    (
        "a step without a witness",
        properties('''
@step(rule="730.7")  # <-
def bad(old, new):
    """Bad."""
    return old.level <= new.level
'''),
        "ExampleProperties.bad has no witness",
        "add @witness(of='bad'): a reachable state in which it bites",
    ),
    (
        "a witness of nothing",
        properties('''
@witness(of="quite")  # <-
def bad(s):
    """Bad."""
    return s.on
'''),
        "witness bad is of 'quite', which is no property here",
        "there are quiet, busy, bad",
    ),
    (
        "a promise of an unknown rule",
        properties('''
@promise(rule="730.P9")  # <-
def bad(s):
    """Bad."""
    return s.on
'''),
        "'730.P9' is no rule in the ledger",
        "the nearest are 730.9, 730.P3, 730.P2",
    ),
    (
        "progress without leads_to",
        properties('''
@progress(rule="730.P3")  # <-
def bad(s):
    """Bad."""
    return s.on
'''),
        "progress property bad returns no pair of conditions",
        "return leads_to(from, to)",
    ),
    (
        "a service without an action that is not there",
        properties('''
@service(rule="730.P3", ceasing=("no_such_action",))  # <-
def bad(s):
    """Bad."""
    return leads_to(s.on, s.off)
'''),
        "Example has no action 'no_such_action', which bad leaves out",
        "it has no actions",
    ),
    (
        "progress with a parameter without a sort",
        properties('''
@progress(rule="730.P3")  # <-
def bad(s, b):
    """Bad."""
    return leads_to(s.on, s.held[b])
'''),
        "parameter b of bad has no sort",
        "write b: Broker",
    ),
    (
        "an unknown variable in a property",
        properties('''
@lemma
def bad(s):
    """Bad."""
    return s.no  # <-
'''),
        "Example has no variable or helper 'no'",
        "it has cursor, debt, held, leader, level, log, off, on, seen, stage, told; another action "
        "is Class.action(s, ...)",
    ),
    (
        "an action among properties",
        properties("""
@action  # <-
def bad(s):
    s.on = True
"""),
        "bad does not belong in Properties",
        "actions, faults and axioms stand in a Protocol; promises, lemmas and witnesses in its Properties",
    ),
    (
        "a promise overridden by a helper",
        variant('''
class Base(Properties, of=Example):
    @lemma
    def quiet(s):
        """Quiet."""
        return s.on

class More(Base, of=Example):
    def quiet(s):  # <-
        return s.on
'''),
        "More.quiet takes the place of one that is decorated, and would be left out",
        "decorate it as well",
    ),
    (
        "a helper of properties named like a variable",
        properties("""
def level(s):  # <-
    return 1
"""),
        "level of ExampleProperties is a variable, and is given a value or a method of that name as well",
        "set what a variable starts with in init(), and name a method differently",
    ),
    (
        "a condition thrown away",
        properties('''
@lemma
def bad(s):
    """Bad."""
    implies(s.on, s.off)  # <-
    return s.on
'''),
        "the value of implies(...), thrown away, in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_properties(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The line is named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
