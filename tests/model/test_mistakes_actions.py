"""What an action can't do: read what it has assigned, know a ghost, cite a rule that there is not."""

from pathlib import Path

import pytest
from mistakes import message, protocol, rule

CASES = [
    (
        "an unknown rule of a guard",
        rule('require(s.on, rule="730.9O")  # <-'),
        "'730.9O' is no rule in the ledger",
        "the nearest are 730.9, 730.19, 730.8",
    ),
    (
        "an unknown rule with near ones",
        rule('require(s.on, rule="730.77")  # <-'),
        "'730.77' is no rule in the ledger",
        "the nearest are 730.7, 730.17, 730.9",
    ),
    (
        "an unknown rule of updates",
        rule("""
with rule("nothing"):  # <-
    s.level = 1
"""),
        "'nothing' is no rule in the ledger",
        "see model/rules.py",
    ),
    (
        "an unknown rule of a choice",
        rule('require(either("731.8", s.on, other=s.off))  # <-'),
        "'731.8' is no rule in the ledger",
        "the nearest are 730.8, 730.18, 730.9; "
        "rules of your own are given with add_rules('731', …) of fencepost.model.rules",
    ),
    (
        "an unknown rule of an action",
        protocol("""
@action(rule="unheard-of")  # <-
def go(s):
    s.level = 1
"""),
        "'unheard-of' is no rule in the ledger",
        "see model/rules.py",
    ),
    (
        "an unknown variable read",
        rule("require(s.levle == 1)  # <-"),
        "Example has no variable or helper 'levle'",
        "the nearest are level",
    ),
    (
        "an unknown variable with nothing near",
        rule("require(s.zzz == 1)  # <-"),
        "Example has no variable or helper 'zzz'",
        "it has cursor, debt, held, leader, level, log, off, on, seen, stage, told; another action "
        "is Class.action(s, ...)",
    ),
    (
        "an unknown variable assigned",
        rule("s.levle = 1  # <-"),
        "Example has no variable 'levle' to assign",
        "the nearest are level",
    ),
    (
        "a constant assigned",
        rule("s.size = 1  # <-"),
        "the constant size is assigned",
        "declare it as a variable, or say with @axiom what is known of it",
    ),
    (
        "an unknown variable in a helper",
        protocol("""
def bad(s):
    return s.crusor  # <-

@action
def go(s):
    require(s.bad() == 0)
"""),
        "Example has no variable or helper 'crusor'",
        "the nearest are cursor",
    ),
    (
        "a scalar read after assignment",
        rule("""
s.level = 1
s.debt = s.level  # <-
"""),
        "level is read after it was assigned in this action",
        "read it into a local name before assigning",
    ),
    (
        "an entry read after assignment",
        rule("""
s.cursor[b] = 1
s.level = s.cursor[b]  # <-
"""),
        "cursor is read after it was assigned in this action",
        "read it into a local name before assigning",
    ),
    (
        "a sequence read after append",
        rule("""
append(s.log, 1)
s.level = length(s.log)  # <-
"""),
        "log is read after it was assigned in this action",
        "read it into a local name before assigning",
    ),
    (
        "assigned twice",
        rule("""
s.level = 1
s.level = 2  # <-
"""),
        "level is assigned twice in one action",
        "assign it once, with when(condition, a, b)",
    ),
    (
        "a map assigned whole after an entry",
        rule("""
s.held[b] = True
s.held = each(lambda x: False)  # <-
"""),
        "held is assigned twice in one action",
        "assign it once, with when(condition, a, b)",
    ),
    (
        "appended twice",
        rule("""
append(s.log, 1)
append(s.log, 2)  # <-
"""),
        "log is appended to twice in one action",
        "one step appends one entry; let an entry hold both",
    ),
    (
        "a guard after an update",
        rule("""
s.level = 1
require(s.on)  # <-
"""),
        "require() stands after an assignment",
        "put all guards before the first update",
    ),
    (
        "a guard that reads a ghost",
        rule("require(~s.told)  # <-"),
        "a guard reads the ghost told",
        "ghosts record history for properties; no rule may depend on them",
    ),
    (
        "a variable computed from a ghost",
        rule("s.on = s.told  # <-"),
        "on depends on the ghost told",
        "only ghosts may be computed from ghosts",
    ),
    (
        "an entry computed from a ghost",
        rule("s.held[b] = s.told  # <-"),
        "held depends on the ghost told",
        "only ghosts may be computed from ghosts",
    ),
    (
        "an entry appended from a ghost",
        rule("append(s.log, when(s.told, 1, 0))  # <-"),
        "log depends on the ghost told",
        "only ghosts may be computed from ghosts",
    ),
    (
        "a bulk update from a ghost",
        rule("s.held = each(lambda x: s.told)  # <-"),
        "held depends on the ghost told",
        "only ghosts may be computed from ghosts",
    ),
    (
        "a quantifier's variable carried out",
        rule("""
found = []
require(forall(Broker, lambda x: s.held[(found.append(x), x)[1]]))
s.leader = found[0]  # <-
"""),
        "x is used outside the function that it is an argument of",
        "quantify where it is used",
    ),
    (
        "a value returned",
        protocol("""
@action  # <-
def go(s):
    return s.on
"""),
        "action go returns a value, which nothing uses",
        "write require(...) for a guard",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_actions_and_declarations(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The line is named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
