"""Arguments that do not fit: of when, either, forall, exists, each, latest, at and append."""

from pathlib import Path

import pytest
from mistakes import guard, message, rule

CASES = [
    (
        "branches of two types",
        guard("when(s.on, s.level, s.off)"),
        "a branch of when is Bool where Nat is meant",
        "give it a value of that type",
    ),
    (
        "branches of a map",
        guard("when(s.on, s.cursor, s.cursor)"),
        "when is asked of a whole map or sequence",
        "compare entries: forall(Sort, lambda x: s.m[x] == ...)",
    ),
    (
        "branches without a type",
        guard("when(s.on, None, None)"),
        "when is asked of None and None, neither of which depends on the state",
        "compute it in Python",
    ),
    ("when over a number", guard("when(s.level, s.on, s.off)"), "Id is no operand of when", "give it a condition"),
    (
        "forall without a sort",
        guard("forall(lambda x: s.held[x])"),
        "forall got no sorts or no function",
        "write forall(Broker, lambda b: ...)",
    ),
    (
        "forall without a function",
        guard("forall(Broker)"),
        "forall got no sorts or no function",
        "write forall(Broker, lambda b: ...)",
    ),
    (
        "forall over a condition",
        guard("forall(Broker, s.on)"),
        "forall got no sorts or no function",
        "write forall(Broker, lambda b: ...)",
    ),
    (
        "forall with too many arguments",
        guard("forall(Broker, lambda x, y: s.held[x])"),
        "the function takes (x, y) and is given (Broker)",
        "let it take one argument per sort",
    ),
    (
        "forall with too few arguments",
        guard("forall(Broker, Request, lambda x: s.held[x])"),
        "the function takes (x) and is given (Broker, Request)",
        "let it take one argument per sort",
    ),
    (
        "forall over a map",
        guard("forall(Map[Broker, Id], lambda x: s.on)"),
        "Map[Broker, Id] stands where a single value is needed",
        "give a map several keys: Map[A, B, Value]",
    ),
    (
        "forall of no condition",
        guard("forall(Broker, lambda x: s.level)"),
        "Id is no operand of forall",
        "give it a condition",
    ),
    (
        "a default argument in a lambda",
        guard("forall(Broker, lambda x, n=s.level: s.held[x])"),
        "the function takes (x, n) and is given (Broker)",
        "let it take one argument per sort",
    ),
    (
        "each with the wrong number of arguments",
        rule("s.seen = each(lambda x: False)  # <-"),
        "the function takes (x) and is given (Broker, Request)",
        "let it take one argument per sort",
    ),
    ("each without a function", rule("s.held = each(False)  # <-"), "False is no function", "write lambda x: ..."),
    (
        "each itself",
        rule("s.held = each  # <-"),
        "the function each is assigned to held, a map",
        "use s.map[key] = … or s.map = each(lambda key: …)",
    ),
    (
        "latest with the wrong number of arguments",
        guard("latest(s.log, lambda: s.on) == 0"),
        "the function takes () and is given (Id)",
        "let it take one argument per sort",
    ),
    (
        "latest of a number",
        guard("latest(s.level, lambda x: x == 0) == 0"),
        "<Id: level> is no sequence",
        'declare the variable as Seq[entry, "bound"]',
    ),
    (
        "latest without a function",
        guard("latest(s.log, s.on) == 0"),
        "<Bool: on> is no function",
        "write lambda x: ...",
    ),
    (
        "latest of no condition",
        guard("latest(s.log, lambda x: x) == 0"),
        "Id is no operand of latest",
        "give it a condition",
    ),
    (
        "the length of a map",
        guard("length(s.held) == 0"),
        "<a map from Broker to Bool: held> is no sequence",
        'declare the variable as Seq[entry, "bound"]',
    ),
    (
        "a position of another type",
        guard("at(s.log, b) == 0"),
        "a position is Broker where Nat is meant",
        "give it a value of that type",
    ),
    (
        "an entry of another type",
        rule("append(s.log, b)  # <-"),
        "the entry appended is Broker where Id is meant",
        "give it a value of that type",
    ),
    (
        "append to a map",
        rule("append(s.held, b)  # <-"),
        "<a map from Broker to Bool: held> is no sequence",
        'declare the variable as Seq[entry, "bound"]',
    ),
    (
        "either without an alternative",
        guard('either("730.8", s.on)'),
        "either() needs a symbol and at least one named alternative",
        "either(rule, value, name=other)",
    ),
    (
        "either without a symbol",
        guard('either("730.8", True, other=False)'),
        "either() needs a symbol and at least one named alternative",
        "either(rule, value, name=other)",
    ),
    (
        "either between maps",
        guard('either("730.8", s.cursor, other=s.cursor)'),
        "either() chooses between single values",
        "use it on the value of one entry",
    ),
    (
        "either between types",
        guard('either("730.8", s.on, other=s.level)'),
        "an alternative is Id where Bool is meant",
        "give it a value of that type",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_arguments_that_do_not_fit(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The argument is named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
