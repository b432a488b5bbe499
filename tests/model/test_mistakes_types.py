"""Values of one type where another is meant: keys, values, operands."""

from pathlib import Path

import pytest
from mistakes import guard, message, rule

CASES = [
    ("a number for a condition", guard("s.level"), "Id is no operand of require", "give it a condition"),
    (
        "a number under &",
        guard("s.on & s.level"),
        "Id is no operand of &",
        "put parentheses round the comparison: (a >= b) & c",
    ),
    ("a number under ~", guard("~s.level"), "Id is no operand of ~", "put parentheses round the comparison: ~(a >= b)"),
    (
        "a plain truth value",
        guard("1 == 1"),
        "require(True) does not depend on the state",
        "compare variables or parameters, or leave it out",
    ),
    (
        "an int where a map is meant",
        rule("s.cursor = 1  # <-"),
        "1 is assigned to cursor, a map",
        "use s.map[key] = … or s.map = each(lambda key: …)",
    ),
    (
        "a map where a scalar is meant",
        rule("s.level = s.cursor  # <-"),
        "the value of level is a map from Broker to Id where Id is meant",
        "give it a value of that type",
    ),
    (
        "a map copied",
        rule("s.held = s.held  # <-"),
        "<a map from Broker to Bool: held> is assigned to held, a map",
        "use s.map[key] = … or s.map = each(lambda key: …)",
    ),
    (
        "a bulk update of a scalar",
        rule("s.level = each(lambda x: 0)  # <-"),
        "level is Id, not a map",
        "assign a single value",
    ),
    (
        "a sequence assigned whole",
        rule("s.log = s.log  # <-"),
        "log, a sequence, is assigned as a whole",
        "grow it with append(s.sequence, entry)",
    ),
    (
        "a key of the wrong sort",
        guard("s.held[r]"),
        "key 1 is Request where Broker is meant",
        "give it a value of that type",
    ),
    (
        "a number for a key",
        guard("s.held[0]"),
        "key 1 is 0 where Broker is meant",
        "use a parameter or a quantifier's variable",
    ),
    (
        "too few keys",
        guard("s.seen[b]"),
        "a map from Broker and Request to Bool is given 1 key",
        "give it Broker and Request",
    ),
    ("too many keys", guard("s.held[b, r]"), "a map from Broker to Bool is given 2 keys", "give it Broker"),
    ("keys of a scalar", guard("s.level[b] == 0"), "Id has no keys", "drop the [...]"),
    (
        "keys of a sequence",
        guard("s.log[1] == 0"),
        "a sequence of Id has no keys",
        "read a sequence with at(sequence, position)",
    ),
    (
        "entry of a scalar assigned",
        rule("s.level[b] = 1  # <-"),
        "Id can't be assigned by key here",
        "assign s.map[key] in an action",
    ),
    (
        "the value of an entry",
        rule("s.held[b] = 1  # <-"),
        "the value assigned is 1 where Bool is meant",
        "use True, False or a condition",
    ),
    (
        "a negative constant for a Nat",
        rule("s.level = -1  # <-"),
        "the value of level is -1 where Id is meant",
        "natural numbers start at 0; declare the variable as Int",
    ),
    (
        "an Int for a Nat",
        rule("s.level = s.debt  # <-"),
        "the value of level is Int where Id is meant",
        "give it a value of that type",
    ),
    (
        "a Nat equal to a negative",
        guard("s.level == -1"),
        "a side of == is -1 where Nat is meant",
        "natural numbers start at 0; declare the variable as Int",
    ),
    (
        "arithmetic on Bool",
        guard("s.on + 1 == 2"),
        "Bool is no operand of + or -",
        "only numbers are added, subtracted and ordered",
    ),
    (
        "arithmetic on a truth value",
        guard("s.level + True == 2"),
        "True is no operand of + or -",
        "only numbers are added, subtracted and ordered",
    ),
    (
        "arithmetic on Option",
        guard("s.leader + 1 == 2"),
        "Option[Broker] is no operand of + or -",
        "only numbers are added, subtracted and ordered",
    ),
    (
        "an order on a sort",
        guard("s.leader < b"),
        "Option[Broker] is no operand of <, <=, > or >=",
        "only numbers are added, subtracted and ordered",
    ),
    (
        "an order on Bool",
        guard("s.on <= s.off"),
        "Bool is no operand of <, <=, > or >=",
        "only numbers are added, subtracted and ordered",
    ),
    (
        "comparing maps",
        guard("s.cursor == s.held"),
        "== is asked of a whole map or sequence",
        "compare entries: forall(Sort, lambda x: s.m[x] == ...)",
    ),
    (
        "comparing a map and a number",
        guard("s.cursor == 0"),
        "== is asked of a whole map or sequence",
        "compare entries: forall(Sort, lambda x: s.m[x] == ...)",
    ),
    (
        "comparing sorts",
        guard("b == r"),
        "a side of == is Request where Broker is meant",
        "give it a value of that type",
    ),
    (
        "comparing a sort with a number",
        guard("b == 0"),
        "a side of == is 0 where Broker is meant",
        "use a parameter or a quantifier's variable",
    ),
    (
        "comparing an Option with another sort",
        guard("s.leader == r"),
        "a side of == is Request where Option[Broker] is meant",
        "give it a value of that type",
    ),
    (
        "None where there is no Option",
        guard("s.level == None"),
        "a side of == is None where Nat is meant",
        "declare the variable as Option[Nat]",
    ),
    (
        "an enumeration and an int",
        guard("s.stage == 1"),
        "a side of == is 1 where Stage (FREE, SENT) is meant",
        "name a member, such as Stage.FREE",
    ),
    (
        "an enumeration assigned an int",
        rule("s.stage = 1  # <-"),
        "the value of stage is 1 where Stage (FREE, SENT) is meant",
        "name a member, such as Stage.FREE",
    ),
    (
        "an enumeration and its class",
        guard("s.stage == Stage"),
        "a side of == is <class 'mistaken.Stage'> where Stage (FREE, SENT) is meant",
        "name a member, such as Stage.FREE",
    ),
    (
        "ordering an enumeration",
        guard("s.stage < Stage.SENT"),
        "Stage (FREE, SENT) is no operand of <, <=, > or >=",
        "only numbers are added, subtracted and ordered",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_types_that_do_not_fit(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """Both types are named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
