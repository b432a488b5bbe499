"""What a mapping can't say, and what it can't leave unsaid: one line each, at the method or what it calls."""

from pathlib import Path

import pytest
from mistakes import message, variant

CORE = '''
class Core(Protocol):
    size: Constant[Nat]
    level: Id
    on: Bool
    held: Set[Broker]
    log: Seq[Id, "length"]
    secret: Bool
    count: Nat
    noted: Ghost[Bool]

    @action
    def raise_it(s, b: Broker):
        require(s.secret)
        s.level = s.count
        s.noted = s.on


class ExampleProperties(Properties, of=Example):
    @refinement(of=Core%s)  # <-
    def core(s):
        """The core."""
        return %s
'''
CARRIED = """out = []
        def keep(b):
            out.append(b)
            return s.held[b]
        some = exists(Broker, keep)
        """
GIVEN = "secret=s.on, count=s.level, noted=s.told"


def mapping(returned: str, options: str = "") -> str:
    return variant(CORE % (options, returned))


CASES = [
    (
        "a variable that is missing",
        mapping("dict(secret=s.on, noted=s.told)"),
        "the mapping says nothing of Core.count, which is Nat",
        "add count=..., or leaves_out=('count',) if nothing kept depends on it",
    ),
    (
        "a variable of the same name and another type",
        variant(
            CORE.replace("count: Nat", "debt: Nat").replace("s.count", "s.debt")
            % ("", "dict(secret=s.on, noted=s.told)")
        ),
        "the mapping says nothing of Core.debt, which is Nat; Example.debt is Int",
        "add debt=..., or leaves_out=('debt',) if nothing kept depends on it",
    ),
    (
        "a variable that the core does not have",
        mapping(f"dict({GIVEN}, cuont=s.level)"),
        "Core has no variable 'cuont'",
        "it has level, on, held, log, secret, count, noted",
    ),
    (
        "a variable left out that the core does not have",
        mapping(f"dict({GIVEN})", ', leaves_out=("cuont",)'),
        "Core has no variable 'cuont'",
        "it has level, on, held, log, secret, count, noted",
    ),
    (
        "a variable mapped and left out",
        mapping(f"dict({GIVEN})", ', leaves_out=("noted",)'),
        "noted is mapped and left out",
        "do one of the two",
    ),
    (
        "a variable left out that a guard reads",
        mapping("dict(count=s.level, noted=s.told)", ', leaves_out=("secret",)'),
        "secret is left out, and a guard of Core.raise_it reads it",
        "map it",
    ),
    (
        "a variable left out that another is computed from",
        mapping("dict(secret=s.on, noted=s.told)", ', leaves_out=("count",)'),
        "count is left out, and Core.raise_it computes level from it",
        "map it, or leave out level as well",
    ),
    (
        "everything left out",
        variant(CORE % (', leaves_out=("level", "on", "held", "log", "secret", "count", "noted")', "{}")),
        "the mapping to Core leaves out all its variables",
        "map those that matter",
    ),
    (
        "a value of another type",
        mapping(f"dict({GIVEN}, level=s.on)"),
        "the value of level is Bool where Id is meant",
        "give it a value of that type",
    ),
    (
        "a number that may be negative",
        mapping(f"dict({GIVEN}, level=s.debt)"),
        "the value of level is Int where Id is meant",
        "give it a value of that type",
    ),
    (
        "a single value for a map",
        mapping(f"dict({GIVEN}, held=s.on)"),
        "the value of held is <Bool: on> where Map[Broker, Bool] is meant",
        "write each(lambda key: ...)",
    ),
    (
        "a map for a single value",
        mapping(f"dict({GIVEN}, on=s.held)"),
        "the value of on is a map from Broker to Bool where Bool is meant",
        "give it a value of that type",
    ),
    (
        "an entry of another type",
        mapping(f"dict({GIVEN}, held=each(lambda b: s.cursor[b]))"),
        "an entry of held is Id where Bool is meant",
        "give it a value of that type",
    ),
    (
        "a map of another type",
        mapping(f"dict({GIVEN}, held=s.cursor)"),
        "an entry of held is Id where Bool is meant",
        "give it a value of that type",
    ),
    (
        "a map with other keys",
        mapping(f"dict({GIVEN}, held=s.seen)"),
        "a map from Broker and Request to Bool is given 1 key",
        "give it Broker and Request",
    ),
    (
        "each with too many keys",
        mapping(f"dict({GIVEN}, held=each(lambda b, c: s.held[b]))"),
        "the function takes (b, c) and is given (Broker)",
        "let it take one argument per sort",
    ),
    (
        "each for a single value",
        mapping(f"dict({GIVEN}, on=each(lambda b: s.held[b]))"),
        "on is Bool, not a map",
        "give it a single value",
    ),
    (
        "a sequence that is made up",
        mapping(f"dict({GIVEN}, log=s.level)"),
        "the value of log is <Id: level> where Seq[Id] is meant",
        "name a sequence of the same type",
    ),
    (
        "no mapping",
        mapping("s.on"),
        "the mapping to Core is <Bool: on>",
        "return dict(variable=value, ...)",
    ),
    (
        "an action that there is not",
        mapping(f"dict({GIVEN})", ', actions=dict(sotp="raise_it")'),
        "refinement core names the action 'sotp', which Example does not have",
        "it has stop",
    ),
    (
        "an action of the core that there is not",
        mapping(f"dict({GIVEN})", ', actions=dict(stop=["raise"])'),
        "refinement core takes stop for 'raise', which Core does not have",
        "it has raise_it",
    ),
    (
        "a constant of the core that there is not",
        variant(CORE.replace("size: Constant[Nat]", "length: Constant[Nat]") % ("", f"dict({GIVEN})")),
        "Core has the constant length, Nat, and in Example there is none of that name",
        "declare it there as well: both protocols share their constants",
    ),
    (
        "a constant of another type",
        variant(CORE.replace("size: Constant[Nat]", "size: Constant[Bool]") % ("", f"dict({GIVEN})")),
        "Core has the constant size, Bool, and in Example there is Nat of that name",
        "declare it there as well: both protocols share their constants",
    ),
    (
        "a core that is a name",
        variant(CORE.replace("of=Core%s", "of='Core'%s") % ("", f"dict({GIVEN})")),
        "refinement of 'Core', which is no protocol",
        "name the core's class: refinement(of=Core)",
    ),
    (
        "a core that is its properties",
        variant(CORE.replace("of=Core%s", "of=Properties%s") % ("", f"dict({GIVEN})")),
        "refinement of <class 'fencepost.model.language.properties.Properties'>, which is no protocol",
        "name the core's class: refinement(of=Core)",
    ),
    (
        "a view of an element without a sort",
        variant(CORE.replace("def core(s)", "def core(s, b)") % ("", f"dict({GIVEN})")),
        "parameter b of core has no sort",
        "write b: Broker",
    ),
    (
        "a mapping without a sentence",
        variant(CORE.replace('        """The core."""\n', "") % ("", f"dict({GIVEN})")),
        "refinement core has no sentence",
        "say in a docstring what the mapping is",
    ),
    (
        "a rule that is none",
        mapping(f"dict({GIVEN})", ', rule="730.99"'),
        "'730.99' is no rule in the ledger",
        "the nearest are 730.9, 730.19, 730.8",
    ),
    (
        "a variable carried out of its function",
        variant(CORE.replace("return %s", CARRIED + "return %s") % ("", f"dict({GIVEN}, on=some & s.held[out[0]])")),
        "b is used outside the function that it is an argument of",
        "quantify where it is used",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refinements(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The line is named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"


def test_a_right_one_is_taken(tmp_path: Path) -> None:
    """What all the others are made of has no mistake but theirs."""
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        message(tmp_path, mapping(f"dict({GIVEN})"))
