"""What no source check finds: operations that only a symbol can refuse, while the rule is read."""

from pathlib import Path

import pytest
from mistakes import guard, message, rule

CASES = [
    (
        "a truth value behind Python's back",
        guard("operator.not_(s.on)"),
        "Python would take the truth value of <Bool: on> while the rule is read, before any state is known",
        "use &, |, ~, implies(a, b) or when(c, a, b); not `and`, `or`, `not`, `if`, or a < b < c",
    ),
    (
        "membership behind Python's back",
        guard("operator.contains(s.held, b)"),
        "Python would take the members of <a map from Broker to Bool: held> while the rule is "
        "read, before any state is known",
        "write s.set[item], not `item in s.set`",
    ),
    (
        "a dict key",
        guard("{s.level: s.on}"),
        "Python would take the hash of <Id: level> while the rule is read, before any state is known",
        "a symbol is no key of a dict and no member of a set; use a Map or a Set of the protocol",
    ),
    (
        "a set member",
        guard("{s.level}"),
        "Python would take the hash of <Id: level> while the rule is read, before any state is known",
        "a symbol is no key of a dict and no member of a set; use a Map or a Set of the protocol",
    ),
    (
        "a list index",
        guard("[s.on, s.off][s.level]"),
        "Python would take the number of <Id: level> while the rule is read, before any state is known",
        "a Python list or range can't depend on the state; use a Map",
    ),
    (
        "iteration",
        guard("dict.fromkeys(s.log)"),
        "Python would take the items of <a sequence of Id: log> while the rule is read, before any state is known",
        "use forall, exists or each over a sort instead of a loop",
    ),
    (
        "unpacking",
        guard("[*s.log]"),
        "Python would take the items of <a sequence of Id: log> while the rule is read, before any state is known",
        "use forall, exists or each over a sort instead of a loop",
    ),
    (
        "range()",
        guard("range(s.level)"),
        "Python would take the number of <Id: level> while the rule is read, before any state is known",
        "a Python list or range can't depend on the state; use a Map",
    ),
    (
        "float()",
        guard("float(s.level)"),
        "Python would take the number of <Id: level> while the rule is read, before any state is known",
        "leave float() out: all numbers are integers",
    ),
    (
        "an f-string",
        guard('f"{s.level}"'),
        "Python would take the text of <Id: level> while the rule is read, before any state is known",
        "leave the f-string out; reports find the words",
    ),
    (
        "round()",
        guard("round(s.level)"),
        "Python would take the number of <Id: level> while the rule is read, before any state is known",
        "leave round() out: all numbers are integers",
    ),
    ("unary -", guard("-s.level == 0"), "<Id: level> has no unary -", "write 0 - x; of natural numbers that is 0"),
    ("unary +", guard("+s.level == 0"), "<Id: level> has no unary +", "leave it out"),
    (
        "*",
        guard("s.level * 2 == 4"),
        "<Id: level> has no *",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    (
        "* from the right",
        guard("2 * s.level == 4"),
        "<Id: level> has no *",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    (
        "//",
        guard("s.level // 2 == 4"),
        "<Id: level> has no //",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    (
        "%",
        guard("s.level % 2 == 0"),
        "<Id: level> has no %",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    (
        "/",
        guard("s.level / 2 == 0"),
        "<Id: level> has no /",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    (
        "**",
        guard("s.level ** 2 == 4"),
        "<Id: level> has no **",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    (
        "<<",
        guard("s.level << 2 == 4"),
        "<Id: level> has no <<",
        "numbers have + and - only, so that proofs stay decidable",
    ),
    ("^", guard("s.on ^ s.off"), "<Bool: on> has no ^", "use !="),
    (
        "a call",
        guard("s.on()"),
        "<Bool: on> has no ()",
        "a variable is read without (), an entry of a map with s.map[key]",
    ),
    (
        "an attribute",
        guard("s.log.count == 0"),
        "<a sequence of Id: log> has no attribute 'count'",
        "a value has operators only; an entry of a map is s.map[key]",
    ),
    (
        "a sequence's own method",
        rule("s.log.append(1)  # <-"),
        "<a sequence of Id: log> has no attribute 'append'",
        "a value has operators only; an entry of a map is s.map[key]",
    ),
    (
        "a helper that is not called",
        guard("s.free"),
        "the helper free is used without being called",
        "write s.free(...)",
    ),
    (
        "a helper that is compared",
        guard("s.free == s.on"),
        "the helper free is used without being called",
        "write s.free(...)",
    ),
    (
        "a helper in an operation",
        guard("s.on & s.free"),
        "the helper free is used without being called",
        "write s.free(...)",
    ),
    (
        "a helper assigned",
        rule("s.on = s.free  # <-"),
        "the helper free is used without being called",
        "write s.free(...)",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_a_symbol_refuses(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The operation is refused at its line, with what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
