"""This module writes a term of the language in TLA+, on one line or, where that is too long, broken into several.

An expression to which the language gives a value everywhere has one here. A map is read outside of its keys with
``Entry``, and a sequence outside of its length with ``At``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
)
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.tla.blocks import Block, hang, in_parentheses, indented
from fencepost.proofs.readings.tla.identifiers import Identifiers

OPEN, IMPLIES, JUNCTION, NEGATION, COMPARISON, SUM, ATOM = range(7)
"""These are the precedence levels of expressions. An expression within one of a higher level is put in parentheses."""
SIGNS = {"eq": "=", "lt": "<", "le": "<=", "add": "+", "sub": "-", "monus": "\\ominus"}
NEGATED = {"eq": "#", "lt": ">=", "le": ">"}

Scope = Mapping[str, str]
"""A `Scope` maps each local of the language to its identifier."""
Bound = Iterable[tuple[str, ScalarType]]

DEFINITIONS = {
    "\\ominus": [r"a \ominus b == IF b < a THEN a - b ELSE 0  \* natural numbers stop at 0"],
    "At": [
        r"At(sequence, place, zero) ==  \* zero outside of the sequence",
        r"    IF place \in 1..Len(sequence) THEN sequence[place] ELSE zero",
    ],
    "Entry": [
        r"Entry(map, key, zero) ==  \* zero outside of the map",
        r"    IF key \in DOMAIN map THEN map[key] ELSE zero",
    ],
    "Latest": [
        r"Latest(sequence, upto, Test(_)) ==  \* the highest place, up to that one, that passes; 0 if none does",
        r"    LET passing == {place \in 1..Len(sequence) : place <= upto /\ Test(sequence[place])}",
        r"    IN  IF passing = {} THEN 0 ELSE CHOOSE last \in passing : \A place \in passing : place <= last",
    ],
    "Holds": [
        r"Holds(condition) == condition = TRUE",
        r"\* As a condition of a step, a disjunction or \E is to TLC one way to take the step for each part of",
        r"\* it that holds; within Holds it is one condition, and the step is counted once.",
    ],
}  # fmt: skip
"""These operators are written into a module that uses them."""


@dataclass
class Expressions:
    """An `Expressions` writes terms. ``fold`` returns a name for a term, if it has one, in a scope. ``grouped``
    combines conjuncts that are named together. ``used`` collects the operators of `DEFINITIONS` that were needed."""

    names: Identifiers
    fold: Callable[[Term, Scope], str | None] = lambda _node, _scope: None
    grouped: Callable[[Sequence[Term]], Sequence[Term]] = lambda parts: parts
    used: set[str] = field(default_factory=set)

    def bind(self, bound: Bound, scope: Scope) -> dict[str, str]:
        """Return the scope with further locals, which have their names of the model if these are free."""
        inner = dict(scope)
        for name, _ in bound:
            inner[name] = self.names.free(name.split(".", maxsplit=1)[0], inner.values())
        return inner

    def block(self, node: Term, scope: Scope, room: int, need: int = OPEN) -> Block:
        """Return a term on one line if there is room, else on several."""
        line = self.text(node, scope, need)
        if len(line) <= room or self.fold(node, scope) is not None:
            return [line]
        broken = self._broken(node, scope, room)
        return in_parentheses(broken) if broken and self._level(node, scope) < need else broken or [line]

    def value(self, node: Term, scope: Scope, room: int) -> Block:
        """Return a term for the right side of a ``=``, in parentheses where parsing demands it."""
        named = self.fold(node, scope) is not None
        return self.block(node, scope, room, OPEN if named or self._level(node, scope) == OPEN else SUM)

    def text(self, node: Term, scope: Scope, need: int = OPEN) -> str:
        """Return a term on one line, in parentheses if its level is lower than needed."""
        named = self.fold(node, scope)
        if named is not None:
            return named
        found = self._text(node, scope)
        return f"({found})" if self._level(node, scope) < need else found

    def inside(self, node: Term, kind: ScalarType) -> bool:
        """Return whether the value is always in the set of that type."""
        match kind:
            case OptionType(of):
                return self.inside(node, of)
            case NumberType(_, upto, _):
                found = self._reach(node)
                return found == "" or (found is not None and upto is not None and found == self.names.limit(upto))
        return True

    def _reach(self, node: Term) -> str | None:
        """Return the largest value of a number, or of an Option's content, as a text, which is empty for 0 or none."""
        match node.op:
            case "const":
                return None if node.data else ""
            case "constant":
                return self.names.bound(node.data)
            case "length" | "latest":
                kind = node.args[0].type
                assert isinstance(kind, SeqType)
                return self.names.limit(kind.bound)
            case "some" | "monus":
                return self._reach(node.args[0])
            case "ite":
                then, other = self._reach(node.args[1]), self._reach(node.args[2])
                return then if other in ("", then) else other if then == "" else None
            case "local" | "state" | "select" | "at":
                kind = node.type.of if isinstance(node.type, OptionType) else node.type
                return None if not isinstance(kind, NumberType) or kind.upto is None else self.names.limit(kind.upto)
        return None

    def _level(self, node: Term, scope: Scope) -> int:
        match node.op:
            case "forall" | "exists" | "ite":
                return OPEN
            case "or":
                return IMPLIES if self._implies(node) else JUNCTION
            case "and":
                return JUNCTION
            case "not":
                return COMPARISON if self._turned(node, scope) else NEGATION
            case "eq" | "lt" | "le":
                return COMPARISON
            case "add" | "sub" | "monus":
                return SUM
            case "some" | "choice":
                return self._level(node.args[0], scope)
            case "const" if isinstance(node.type, NumberType) and node.data < 0:
                return SUM
        return ATOM

    def _turned(self, node: Term, scope: Scope) -> bool:
        return node.args[0].op in NEGATED and self.fold(node.args[0], scope) is None

    def _members(self, node: Term, scope: Scope) -> Sequence[Term]:
        """Return the members of a conjunction or disjunction, including those of a disjunction that begins it."""
        if node.op == "and":
            return self.grouped(node.args)
        first, *others = node.args
        if first.op != "or" or self._implies(first) or self.fold(first, scope) is not None:
            return node.args
        return [*self._members(first, scope), *others]

    def _implies(self, node: Term) -> bool:
        return len(node.args) == 2 and node.args[0].op == "not"

    def _text(self, node: Term, scope: Scope) -> str:
        a = node.args
        match node.op:
            case "const":
                return self._const(node)
            case "local":
                return scope[node.data]
            case "constant":
                return self.names.bound(node.data)
            case "state":
                return self.names.variable(node.data[0]) + ("'" if node.data[1] else "")
            case "select":
                return self._select(node, scope)
            case "length":
                return f"Len({self.text(a[0], scope)})"
            case "at":
                self.used.add("At")
                zero = self.names.zero(node.type)  # type: ignore[arg-type]
                return f"At({self.text(a[0], scope)}, {self.text(a[1], scope)}, {zero})"
            case "latest":
                self.used.add("Latest")
                inner = self.bind([node.data], scope)
                test = f"LAMBDA {inner[node.data[0]]} : {self.text(a[2], inner)}"
                return f"Latest({self.text(a[0], scope)}, {self.text(a[1], scope)}, {test})"
            case "some":
                return self.text(a[0], scope)
            case "not" if self._turned(node, scope):
                return self._infix(NEGATED[a[0].op], a[0].args, scope, SUM)
            case "not":
                return f"~{self.text(a[0], scope, ATOM)}"
            case "or" if self._implies(node):
                return f"{self.text(a[0].args[0], scope, JUNCTION)} => {self.text(a[1], scope, JUNCTION)}"
            case "and" | "or":
                sign = r" /\ " if node.op == "and" else r" \/ "
                return sign.join(self.text(x, scope, NEGATION) for x in self._members(node, scope))
            case "ite":
                test, then, other = (self.text(x, scope) for x in a)
                return f"IF {test} THEN {then} ELSE {other}"
            case "forall" | "exists":
                head, inner = self._head(node, scope)
                return f"{head} {self.text(a[0], inner)}"
            case "eq" | "lt" | "le":
                return self._infix(SIGNS[node.op], a, scope, SUM)
            case "add" | "sub" | "monus":
                self.used.update([r"\ominus"] if node.op == "monus" else [])
                chain = SUM if a[0].op == node.op == "add" else ATOM
                return f"{self.text(a[0], scope, chain)} {SIGNS[node.op]} {self.text(a[1], scope, ATOM)}"
        raise BoundsError(f"TLA+ has no {node.op!r}; settle the protocol first")

    def _infix(self, sign: str, sides: tuple[Term, ...], scope: Scope, need: int) -> str:
        return f"{self.text(sides[0], scope, need)} {sign} {self.text(sides[1], scope, need)}"

    def _const(self, node: Term) -> str:
        match node.type:
            case BoolType():
                return "TRUE" if node.data else "FALSE"
            case EnumType(_, members):
                return f'"{members[node.data]}"'
            case OptionType() if node.data is None:
                return self.names.zero(node.type)
            case AtomsType() if not node.data:
                return self.names.first_of(node.type)
            case NumberType():
                return str(node.data)
        raise BoundsError(f"TLA+ has no name for {node!r} of {node.type}")

    def _select(self, node: Term, scope: Scope) -> str:
        kind, keys = node.args[0].type, node.args[1:]
        assert isinstance(kind, MapType)
        text = ", ".join(self.text(k, scope) for k in keys)
        if all(self.inside(k, of) for k, of in zip(keys, kind.keys, strict=True)):
            return f"{self.text(node.args[0], scope)}[{text}]"
        self.used.add("Entry")
        key = text if len(keys) == 1 else f"<<{text}>>"
        return f"Entry({self.text(node.args[0], scope)}, {key}, {self.names.zero(kind.value)})"

    def _head(self, node: Term, scope: Scope) -> tuple[str, dict[str, str]]:
        inner = self.bind(node.data, scope)
        text = self.names.bindings((inner[name], kind) for name, kind in node.data)
        sign = r"\A" if node.op == "forall" else r"\E"
        return f"{sign} {text} :", inner

    def _broken(self, node: Term, scope: Scope, room: int) -> Block:
        a = node.args
        match node.op:
            case "or" if self._implies(node):
                before = self.block(a[0].args[0], scope, room - 2, ATOM)
                return [*before, *hang("=> ", self.block(a[1], scope, room - 3))]
            case "and" | "or":
                word = r"/\ " if node.op == "and" else r"\/ "
                members = self._members(node, scope)
                return [line for x in members for line in hang(word, self.block(x, scope, room - 3, OPEN))]
            case "forall" | "exists":
                head, inner = self._head(node, scope)
                return [head, *indented(self.block(a[0], inner, room - 3), 3)]
            case "ite":
                words = zip(("IF ", "THEN ", "ELSE "), a, strict=True)
                return [line for word, x in words for line in hang(word, self.block(x, scope, room - 5))]
            case "not" if not self._turned(node, scope):
                return hang("~", self.block(a[0], scope, room - 1, ATOM))
            case "eq":
                before = self.block(a[0], scope, room - 2, SUM)
                return [*before, *indented(hang("= ", self.block(a[1], scope, room - 4, SUM)), 2)]
            case "some":
                return self.block(a[0], scope, room)
        return []
