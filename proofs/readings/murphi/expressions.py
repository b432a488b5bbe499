"""Expressions: a term of the language in Murphi, on one line or broken into several.

Murphi stops at an index beyond its array, and the language has the zero value there: where an index may lie beyond, the
expression asks first.
"""

from collections.abc import Callable, Iterator, Sequence

from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import (
    BoolType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
)
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.murphi.names import Names
from fencepost.proofs.readings.tla.blocks import Block, closed, hang, indented
from fencepost.proofs.readings.tla.expressions import ATOM, JUNCTION, NEGATION, SUM, Expressions, Scope

SIGNS = {"eq": "=", "lt": "<", "le": "<=", "add": "+", "sub": "-"}
NEGATED = {"eq": "!=", "lt": ">=", "le": ">"}


class MurphiExpressions(Expressions):
    """Writes terms as Murphi.  ``latest`` gives the call of a function that looks for the latest entry,
    ``operator`` the name of one that subtracts, or that reads a sequence."""

    names: Names
    latest: Callable[[Term, Scope], str]
    operator: Callable[[str], str]

    def may_be_negative(self, node: Term) -> bool:
        """Can a number be below 0?  Only a difference is, or what was made of one."""
        match node.op:
            case "const":
                return isinstance(node.data, int) and node.data < 0
            case "sub":
                return True
            case "add" | "some":
                return any(map(self.may_be_negative, node.args))
            case "ite":
                return any(map(self.may_be_negative, node.args[1:]))
            case "local":
                return isinstance(node.type, NumberType) and node.type.signed and node.type.upto is None
        return False

    def within(self, node: Term, kind: ScalarType, scope: Scope) -> list[Block]:
        """The conditions that a value is one of a type, as far as they do not follow from the types; the term's text
        stands in each."""
        if self.inside(node, kind):
            return []
        below = f" <= {self.names.highest(kind)}"
        found = [closed(self.block(node, scope, 88 - len(below), SUM), below)]
        if self.may_be_negative(node):
            found.insert(0, hang("0 <= ", self.block(node, scope, 84, SUM)))
        return found

    def _level(self, node: Term, scope: Scope) -> int:
        if node.op in ("forall", "exists", "ite", "monus"):
            return ATOM  # closed by an `end`, or in parentheses
        return super()._level(node, scope)

    def _text(self, node: Term, scope: Scope) -> str:
        a = node.args
        match node.op:
            case "state":
                if node.data[1]:
                    raise BoundsError(f"Murphi has no {node!r}, the value after a step")
                return self.names.variable(node.data[0])
            case "length":
                return self.names.lengths[a[0].data[0]]
            case "at":
                return f"{self.operator(a[0].data[0])}({self.text(a[1], scope)})"
            case "latest":
                return self.latest(node, scope)
            case "not" if self._turned(node, scope):
                return self._infix(NEGATED[a[0].op], a[0].args, scope, SUM)
            case "not":
                return f"!{self.text(a[0], scope, ATOM)}"
            case "or" if self._implies(node):
                return f"{self.text(a[0].args[0], scope, NEGATION)} -> {self.text(a[1], scope, NEGATION)}"
            case "and" | "or":
                sign = " & " if node.op == "and" else " | "
                return sign.join(self.text(x, scope, NEGATION) for x in self._members(node, scope))
            case "ite":
                test, then, other = (self.text(x, scope) for x in a)
                return f"({test} ? {then} : {other})"
            case "monus":
                return f"{self.operator('minus')}({self.text(a[0], scope)}, {self.text(a[1], scope)})"
            case "forall" | "exists":
                head, inner = self._head(node, scope)
                return f"{head} {self.text(a[0], inner)}{' end' * len(node.data)}"
            case "eq" | "lt" | "le":
                return self._infix(SIGNS[node.op], a, scope, SUM)
            case "add" | "sub":
                chain = SUM if a[0].op == node.op == "add" else ATOM
                return f"{self.text(a[0], scope, chain)} {SIGNS[node.op]} {self.text(a[1], scope, ATOM)}"
        return super()._text(node, scope)

    def _const(self, node: Term) -> str:
        match node.type:
            case BoolType():
                return "true" if node.data else "false"
            case EnumType():
                return self.names.member(node.type, node.data)
            case OptionType() if node.data is None:
                return self.names.zero(node.type)
        return str(node.data)

    def _asked(self, conditions: Iterator[str] | Sequence[str], then: str, zero: str) -> str:
        said = " & ".join(conditions)
        return f"({said} ? {then} : {zero})" if said else then

    def _select(self, node: Term, scope: Scope) -> str:
        kind, keys = node.args[0].type, node.args[1:]
        assert isinstance(kind, MapType)
        said = "".join(f"[{self.text(key, scope)}]" for key in keys)
        asked = [line for k, of in zip(keys, kind.keys, strict=True) for line in self._inside(k, of, scope)]
        return self._asked(asked, self.text(node.args[0], scope) + said, self.names.zero(kind.value))

    def _inside(self, key: Term, kind: ScalarType, scope: Scope) -> Iterator[str]:
        if not self.inside(key, kind):
            if self.may_be_negative(key):
                yield f"0 <= {self.text(key, scope, SUM)}"
            yield f"{self.text(key, scope, SUM)} <= {self.names.highest(kind)}"

    def _head(self, node: Term, scope: Scope) -> tuple[str, dict[str, str]]:
        inner = self.bind(node.data, scope)
        return " ".join(f"{node.op} {inner[name]}: {self.names.set_of(kind)} do" for name, kind in node.data), inner

    def _broken(self, node: Term, scope: Scope, room: int) -> Block:
        a = node.args
        match node.op:
            case "or" if self._implies(node):
                before = self.block(a[0].args[0], scope, room - 2, NEGATION)
                return [*before, *hang("-> ", self.block(a[1], scope, room - 3, NEGATION))]
            case "and" | "or":
                first, *others = self._members(node, scope)
                word = "& " if node.op == "and" else "| "
                further = [line for x in others for line in hang(word, self.block(x, scope, room - 2, NEGATION))]
                return [*self.block(first, scope, room, NEGATION), *further]
            case "forall" | "exists":
                head, inner = self._head(node, scope)
                return [head, *closed(indented(self.block(a[0], inner, room - 2), 2), " end" * len(node.data))]
            case "ite":
                test, then, other = (self.block(x, scope, room - 4, JUNCTION) for x in a)
                return [*hang("(", test), *hang(" ? ", then), *closed(hang(" : ", other), ")")]
            case "not" if not self._turned(node, scope):
                return hang("!", self.block(a[0], scope, room - 1, ATOM))
            case "eq":
                before = self.block(a[0], scope, room - 2, SUM)
                return [*before, *indented(hang("= ", self.block(a[1], scope, room - 4, SUM)), 2)]
            case "some":
                return self.block(a[0], scope, room)
        return []
