"""Declarations that say nothing, or would drop a rule without a word."""

from pathlib import Path

import pytest
from mistakes import message, protocol, variant

CASES = [
    (
        "a parameter without a sort",
        protocol("""
@action  # <-
def go(s, b):
    s.held[b] = True
"""),
        "parameter b of go has no sort",
        "write b: Broker",
    ),
    (
        "a parameter with a Python type",
        protocol("""
@action  # <-
def go(s, n: int):
    s.level = n
"""),
        "parameter n: <class 'int'> is not a type of the language",
        "use Bool, Nat, Int, a Sort, an Enumeration, Option[...], Map[...], Set[...] or Seq[...]",
    ),
    (
        "a parameter that is a map",
        protocol("""
@action  # <-
def go(s, n: Map[Broker, Id]):
    s.level = 1
"""),
        "Map[Broker, Id] stands where a single value is needed",
        "give a map several keys: Map[A, B, Value]",
    ),
    (
        "a parameter with a default",
        protocol("""
@action  # <-
def go(s, n: Id = 1):
    s.level = n
"""),
        "parameter n of go has a default or a star",
        "write n: Broker",
    ),
    (
        "a starred parameter",
        protocol("""
@action  # <-
def go(s, *n: Id):
    s.level = 1
"""),
        "parameter n of go has a default or a star",
        "write n: Broker",
    ),
    (
        "an unknown fairness",
        protocol("""
@action(fair="very")  # <-
def go(s):
    s.level = 1
"""),
        "fairness 'very' is unknown",
        'use fair="weak", fair="strong" or leave it out',
    ),
    (
        "an action without its decorator",
        protocol("""
def go(s, b: Broker):  # <-
    s.held[b] = True
"""),
        "go takes sorts like an action and is none",
        "decorate it with @action or @fault; a helper's parameters have no sorts",
    ),
    (
        "another action called through s",
        protocol("""
@action
def stop(s):
    s.on = False

@action
def go(s):
    s.stop()  # <-
"""),
        "Example has no variable or helper 'stop'",
        "it has cursor, debt, held, leader, level, log, off, on, seen, stage, told; another action "
        "is Class.action(s, ...)",
    ),
    (
        "a guard in init",
        protocol("""
def init(s):  # <-
    require(s.size > 1)
    s.level = 1
"""),
        "init() has a guard or a limit",
        "initial values are assigned; describe constants with @axiom",
    ),
    (
        "a limit in init",
        protocol("""
def init(s):  # <-
    limit(s.size > 1)
    s.level = 1
"""),
        "init() has a guard or a limit",
        "initial values are assigned; describe constants with @axiom",
    ),
    (
        "an axiom about the state",
        protocol("""
@axiom  # <-
def bad(s):
    return s.level < s.size
"""),
        "axiom bad reads the variable level",
        "an axiom speaks of constants; state what holds of variables as a lemma",
    ),
    (
        "an axiom without a value",
        protocol("""
@axiom  # <-
def bad(s):
    pass
"""),
        "axiom bad returns nothing",
        "end it with `return <condition>`",
    ),
    (
        "an axiom that assigns",
        protocol("""
@axiom
def bad(s):
    s.level = 1  # <-
    return s.size > 0
"""),
        "level is assigned outside an action",
        "properties and axioms only read",
    ),
    (
        "a promise in a protocol",
        protocol('''
@promise(rule="730.P1")  # <-
def bad(s):
    """Bad."""
    return s.on
'''),
        "bad does not belong in Protocol",
        "actions, faults and axioms stand in a Protocol; promises, lemmas and witnesses in its Properties",
    ),
    (
        "an annotation that is no type",
        protocol("count: int  # <-"),
        "variable count: <class 'int'> is not a type of the language",
        "use Bool, Nat, Int, a Sort, an Enumeration, Option[...], Map[...], Set[...] or Seq[...]",
    ),
    (
        "a list of a type",
        protocol("count: list[Id]  # <-"),
        "variable count: list[mistaken.Id] is not a type of the language",
        "use Bool, Nat, Int, a Sort, an Enumeration, Option[...], Map[...], Set[...] or Seq[...]",
    ),
    (
        "a map of maps",
        protocol("count: Map[Broker, Map[Broker, Id]]  # <-"),
        "Map[Broker, Id] stands where a single value is needed",
        "give a map several keys: Map[A, B, Value]",
    ),
    (
        "a map without a value",
        protocol("count: Map[Broker]  # <-"),
        "Map[...] got 1 arguments",
        "write Map[Broker, Id]: keys, then the value",
    ),
    (
        "a map in an Option",
        protocol("count: Option[Set[Broker]]  # <-"),
        "Map[Broker, Bool] stands where a single value is needed",
        "give a map several keys: Map[A, B, Value]",
    ),
    (
        "a number for a key's sort",
        protocol("count: Map[3, Id]  # <-"),
        "3 is not a type of the language",
        "use Bool, Nat, Int, a Sort, an Enumeration, Option[...], Map[...], Set[...] or Seq[...]",
    ),
    (
        "a sequence without its bound",
        protocol("count: Seq[Id]  # <-"),
        "Seq[...] got 1 arguments",
        'write Seq[Entry, "bound"]',
    ),
    (
        "a value at the declaration",
        protocol("count: Nat = 5  # <-"),
        "count of Example is a variable, and is given a value or a method of that name as well",
        "set what a variable starts with in init(), and name a method differently",
    ),
    (
        "a variable declared again",
        variant("""
class Again(Example):
    level: Bool  # <-
"""),
        "variable level is declared again in Again",
        "leave one declaration",
    ),
    (
        "a helper named like a variable",
        variant("""
class Named(Example):
    def level(s):  # <-
        return 1
"""),
        "level of Named is a variable, and is given a value or a method of that name as well",
        "set what a variable starts with in init(), and name a method differently",
    ),
    (
        "taking out what is not there",
        variant("""
class Without(Example):
    cleer = None  # <-
"""),
        "Without takes out cleer, which it does not have",
        "the nearest are clear",
    ),
    (
        "an action overridden by a helper",
        variant("""
class Override(Example):
    def stop(s):  # <-
        s.off = False
"""),
        "Override.stop takes the place of one that is decorated, and would be left out",
        "decorate it as well",
    ),
    (
        "an enumeration in small letters",
        variant("""
class Colour(Enumeration):  # <-
    Red = 0
"""),
        "member Red = 0 of Colour",
        "use capital letters, and 0 for its place",
    ),
    (
        "an enumeration with a gap",
        variant("""
class Colour(Enumeration):  # <-
    RED = 0
    BLUE = 2
"""),
        "member BLUE = 2 of Colour",
        "use capital letters, and 1 for its place",
    ),
    (
        "an enumeration extended",
        variant("""
class More(Stage):  # <-
    LOST = 0
"""),
        "More extends an enumeration",
        "write a new Enumeration with all its members",
    ),
]


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_declarations(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """The line is named, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
