"""Mistakes about parts: what a declaration can't say, and what a joint action can't do with a part."""

from pathlib import Path

import pytest
from mistakes import HEADER, message

LOCK = '''
class Lock(Protocol):
    size: Constant[Nat]
    holder: Option[Broker]
    level: Id
    rounds: Map[Broker, Id]
    log: Seq[Id, "length"]
    told: Ghost[Bool]

    def is_free(s):
        return s.holder == None

    def clear(s, b):
        s.rounds[b] = 0

    @action
    def take(s, b: Broker):
        require(s.is_free())
        s.holder = b

    @action
    def give(s, b: Broker, i: Id):
        require(s.holder == b)
        s.holder = None
        s.rounds[b] = i

    @fault(budget="losses")
    def lose(s):
        s.holder = None


class LockProperties(Properties, of=Lock):
    @lemma
    def some_level(s):
        """There is a level."""
        return 0 <= s.level


class Other(Protocol):
    on: Bool


'''


def whole(members: str, options: str = "") -> str:
    """A module in which a lock is a part of a protocol with these members."""
    body = "".join(f"    {line}\n" if line else "\n" for line in members.splitlines())
    declared = f"    lock: Part[Lock]{options}\n    on: Bool\n    seen: Ghost[Bool]\n\n"
    return f"{HEADER}{LOCK}class Whole(Protocol):\n{declared}{body}"


def step(body: str, decorator: str = "@action") -> str:
    """One action of a broker and a number with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return whole(f"\n{decorator}\ndef go(s, b: Broker, i: Id):\n{lines}")


def stated(members: str) -> str:
    """Properties of a protocol that has a lock as its part."""
    return whole("\n") + f"\nclass WholeProperties(Properties, of=Whole):\n{members}"


CASES = [
    (
        "a part that is no protocol",
        whole("").replace("Part[Lock]", "Part[Broker]  # <-"),
        "lock is Part[Broker]",
        "name a protocol: Part[Kraft]",
    ),
    (
        "a part of two protocols",
        whole("").replace("Part[Lock]", "Part[Lock, Other]  # <-"),
        "Part[...] got 2 arguments",
        "write Part[Kraft]",
    ),
    (
        "a part with a value of its own",
        whole("", " = 1  # <-"),
        "lock is a part, and 1 is assigned to its name or a method has it",
        "say no more of a part than part(joint=..., sorts=...)",
    ),
    (
        "a part that is a variable as well",
        whole("") + "\n\nclass More(Whole):\n    on: Part[Other]  # <-\n",
        "the part on is declared again in More",
        "leave one declaration",
    ),
    (
        "a part that a variant declares again",
        whole("") + "\n\nclass More(Whole):\n    lock: Part[Other]  # <-\n",
        "the part lock is declared again in More",
        "leave one declaration",
    ),
    (
        "a joint action that the part does not have",
        whole("", ' = part(joint=["tkae"])  # <-'),
        "lock has no action 'tkae' to be taken in joint steps",
        "it has take, give, lose",
    ),
    (
        "one name where a list is meant",
        whole("", ' = part(joint="take")  # <-'),
        "joint='take' is one name",
        "write joint=['take']",
    ),
    (
        "a joint action that no step takes",
        whole("", ' = part(joint=["take"])  # <-'),
        "lock.take is for joint steps only, and is in none",
        "call s.lock.take(...) in an action, or leave it out of joint= to let it happen alone",
    ),
    (
        "a sort that the part does not have",
        whole("", " = part(sorts={Request: Broker})  # <-"),
        "lock has no Request to be another",
        "it has Broker, Id",
    ),
    (
        "a number that is to be a sort",
        whole("", " = part(sorts={Id: Broker})  # <-"),
        "the part's Id is to be Broker",
        "make a sort a sort or a number, and a number a number",
    ),
    (
        "two sorts of one name",
        HEADER + LOCK.replace("class Lock(", "class Far(Protocol):\n    lit: Set[Broker]\n\n\nclass Lock(", 1)
        + 'class Broker(Sort, bound="servers"):\n    """Another."""\n\n\n'
        + "class Near(Protocol):\n    held: Set[Broker]\n\n\n"
        + "class Both(Protocol):\n    far: Part[Far]\n    near: Part[Near]  # <-\n",
        "near has a sort Broker, which is another than the Broker declared elsewhere, with the bounds brokers and "
        "servers",
        "say that they are one: part(sorts={Broker: the other Broker}), or rename one",
    ),
    (
        "two sorts of one name and one bound",
        HEADER + LOCK.replace("class Lock(", "class Far(Protocol):\n    lit: Set[Broker]\n\n\nclass Lock(", 1)
        + 'class Broker(Sort, bound="brokers"):\n    """Another."""\n\n\n'
        + "class Near(Protocol):\n    held: Set[Broker]\n\n\n"
        + "class Both(Protocol):\n    far: Part[Far]\n    near: Part[Near]  # <-\n",
        "near has a sort Broker, which is another than the Broker declared elsewhere",
        "say that they are one: part(sorts={Broker: the other Broker}), or rename one",
    ),
    (
        "a part that is assigned",
        step("s.lock = None  # <-"),
        "the part lock is assigned",
        "take one of its actions: s.lock.action(...)",
    ),
    (
        "a variable of a part that is assigned",
        step("s.lock.level = i  # <-"),
        "lock.level is assigned outside its part",
        "take an action of the part: s.lock.action(...)",
    ),
    (
        "an entry of a part's map that is assigned",
        step("s.lock.rounds[b] = i  # <-"),
        "lock.rounds is assigned outside its part",
        "take an action of the part: s.lock.action(...)",
    ),
    (
        "an entry that is appended to a part's sequence",
        step("append(s.lock.log, i)  # <-"),
        "lock.log is assigned outside its part",
        "take an action of the part: s.lock.action(...)",
    ),
    (
        "a variable that the part does not have",
        step("require(s.lock.levl == i)  # <-\ns.on = True"),
        "Lock has no variable or helper 'levl'",
        "the nearest are level",
    ),
    (
        "a part that is used as a value",
        step("require(s.lock == b)  # <-\ns.on = True"),
        "the part lock is used as a value",
        "read a variable of it: s.lock.variable",
    ),
    (
        "an action that is not called",
        step("require(s.lock.take & s.on)  # <-\ns.on = True"),
        "the helper lock.take is used without being called",
        "write s.lock.take(...)",
    ),
    (
        "a helper with effects",
        step("s.lock.clear(b)  # <-"),
        "a helper of the part lock that changes or requires something is called from outside",
        "take an action of the part: s.lock.action(...)",
    ),
    (
        "a condition of a part that is not required",
        step("s.lock.is_free()  # <-\ns.on = True"),
        "the value of lock.is_free(...), thrown away, in a rule",
        "write require(...) for a guard, s.x = ... for an update, `with rule(...):` for a rule",
    ),
    (
        "two steps of one part",
        step("s.lock.take(b)\ns.lock.give(b, i)  # <-"),
        "lock takes two steps in one action",
        "a joint step takes one action of each part",
    ),
    (
        "an argument too few",
        step("s.lock.give(b)  # <-"),
        "lock.give is given 1 arguments",
        "it takes (b: Broker, i: Id)",
    ),
    (
        "an argument of another type",
        step("s.lock.give(i, i)  # <-"),
        "b of lock.give is Id where Broker is meant",
        "give it a value of that type",
    ),
    (
        "a ghost as an argument",
        step("s.lock.give(b, when(s.seen, i, 0))  # <-"),
        "lock.give is given the ghost seen",
        "no rule may depend on ghosts, which are for properties",
    ),
    (
        "a guard that reads a part's ghost",
        step("require(s.lock.told)  # <-\ns.on = True"),
        "a guard reads the ghost lock.told",
        "ghosts record history for properties; no rule may depend on them",
    ),
    (
        "a guard after a part's step",
        step("s.lock.take(b)\nrequire(s.on)  # <-"),
        "require() stands after an assignment",
        "put all guards before the first update",
    ),
    (
        "a variable that is read after a part's step changed it",
        step("s.lock.take(b)\ns.on = s.lock.is_free()  # <-"),
        "lock.holder is read after it was assigned in this action",
        "read it into a local name before assigning",
    ),
    (
        "a step within a quantifier",
        step("s.on = forall(Broker, lambda c: s.lock.take(c))  # <-"),
        "lock.take is taken within a quantifier",
        "an action takes it once",
    ),
    (
        "a fault that costs nothing",
        whole("\n@action  # <-\ndef go(s):\n    s.lock.lose()\n"),
        "action go takes the fault lock.lose, which would cost no budget",
        "make it a @fault with a budget",
    ),
    (
        "a step of a part in init()",
        whole("\ndef init(s):  # <-\n    s.lock.lose()\n"),
        "init() takes an action of a part",
        "a part starts as its own init() says",
    ),
    (
        "a step of a part in a property",
        stated('    @lemma\n    def taken(s):\n        """A step."""\n        return s.lock.lose()  # <-\n'),
        "lock.lose is taken outside an action",
        "properties, axioms and helpers of a part only read",
    ),
    (
        "properties of a part that there is not",
        stated("    lokc: Part[LockProperties]  # <-\n"),
        "Whole has no part 'lokc'",
        "its parts are lock",
    ),
    (
        "a protocol where its properties are meant",
        stated("    lock: Part[Lock]  # <-\n"),
        "lock is Part[Lock]",
        "name the properties of the part's protocol: Part[KraftProperties]",
    ),
    (
        "properties of another protocol",
        HEADER + LOCK + "class OtherProperties(Properties, of=Other):\n    pass\n\n\n"
        + whole("")[len(HEADER + LOCK):]
        + "\n\nclass WholeProperties(Properties, of=Whole):\n    lock: Part[OtherProperties]  # <-\n",
        "lock has properties of Other, and the part is Lock",
        "name properties of the part's own class",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what", "instead"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_mistake_is_refused_where_it_stands(tmp_path: Path, text: str, what: str, instead: str) -> None:
    """With the line, what is wrong, and what to write instead."""
    assert message(tmp_path, text) == f"{what}; {instead}"
