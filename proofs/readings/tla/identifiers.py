"""This module has the name of each thing of a protocol in the module, and the sets of its values.

Names are those of the model. TLA+ has one space of names, in which nothing may be declared twice, not even by a
quantifier, so that a repeated name gets a ``_`` behind it. A bound with a variable's name gets the prefix ``max_``.
"""

import ast
import re
from collections.abc import Collection, Iterator

from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    Type,
)
from fencepost.proofs.readings.ground import BoundsError

RESERVED = frozenset(
    """
    ACTION ASSUME ASSUMPTION AXIOM BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE ENABLED
    EXCEPT EXTENDS HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED ONLY OTHER PICK PROOF
    PROPOSITION PROVE QED RECURSIVE SF_ STATE STRONG_FAIRNESS SUBSET SUFFICES TAKE TEMPORAL THEN THEOREM UNCHANGED UNION
    USE VARIABLE VARIABLES WEAK_FAIRNESS WF_ WITH WITNESS TRUE FALSE BOOLEAN STRING
    Nat Int Seq Len Append Head Tail SubSeq SelectSeq Permutations SortSeq Print PrintT Assert JavaTime TLCGet TLCSet
    Init Next Spec Fairness FairSpec vars TypeOK Symmetry None At Entry Holds Latest
    """.split()  # noqa: SIM905
)


OWN = frozenset("a b sequence place zero map key upto Test passing last condition".split())  # noqa: SIM905
"""The operators that a module may contain bind these names, so nothing else in the module has them."""


class Identifiers:
    """An `Identifiers` has the names in use, and the sets of a protocol's types. ``sorts``, ``numbers`` and
    ``enumerations`` fill up as types are requested, and ``constants`` as bounds are read. ``firsts`` has the sorts of
    which a first element is named. ``reserved`` and ``own`` have names that the language or the operators use."""

    reserved, own = RESERVED, OWN

    def __init__(self, spec: Spec, bounds: Bounds, properties: Collection[str] = ()) -> None:
        self.bounds = bounds
        self._names: dict[tuple[str, str], str] = {}
        self._taken = {*self.reserved}
        self.sorts: dict[AtomsType, str] = {}
        self.numbers: dict[tuple[str, str], str] = {}
        self.enumerations: dict[EnumType, str] = {}
        self.constants: dict[str, str] = {}
        self.kinds = spec.constants
        self.firsts: dict[AtomsType, str] = {}
        self.options = False
        for name in spec.types:
            self.named("variable", name)
        for name in spec.actions:
            self.action(name)
        for name in properties:
            self.property(name)
        for name in spec.presences:
            self.presence(name)
        for name, kind in spec.constants.items():
            self.bound(name)
            if isinstance(kind, AtomsType):
                self.set_of(kind)

    def named(self, role: str, key: str, *wanted: str) -> str:
        """Return the identifier of one thing of the model. ``wanted`` has preferred names, if not its key."""
        if (role, key) not in self._names:
            names = [re.sub(r"\W", "_", name) for name in wanted or (key,)]
            known = [name for name in names if not self.taken(name) and name not in self.own]
            found = known[0] if known else self.free(names[-1], self.own)
            self._names[role, key] = found
            self._taken.add(found)
        return self._names[role, key]

    def taken(self, name: str) -> bool:
        return name in self._taken

    def free(self, name: str, also: Collection[str] = ()) -> str:
        """Return an identifier like this name that is neither in use in the module nor in ``also``."""
        found = re.sub(r"\W", "_", name)
        while self.taken(found) or found in also:
            found += "_"
        return found

    def variable(self, name: str) -> str:
        return self.named("variable", name)

    def action(self, name: str) -> str:
        return self.named("action", name)

    def property(self, name: str) -> str:
        return self.named("property", name)

    def presence(self, name: str) -> str:
        """Return the identifier of a condition in which a danger is present, whose name a property may share."""
        return self.named("presence", name, name, f"present_{name}")

    def bound(self, name: str) -> str:
        """Return the constant that holds a bound. One of a part is that of the whole, unless they differ in sort."""
        *path, last = name.split(".")
        for depth in range(len(path), -1, -1):
            key = ".".join([*path[:depth], last])
            if key in self.bounds:
                kinds = [self.kinds[one] for one in (name, key) if one in self.kinds]
                own = name if len(set(kinds)) > 1 else key
                self.constants[own] = self.named("bound", own, own, f"max_{own}")
                return self.constants[own]
        have = ", ".join(f"{k}={v}" for k, v in self.bounds.items()) or "none"
        raise BoundsError(f"the bound {name!r} is needed, and the bounds given are: {have}; add it")

    def limit(self, upto: str) -> str:
        """Return a bound expression in TLA+."""

        def rendered(node: ast.expr) -> str:
            match node:
                case ast.Constant(value=int(number)):
                    return str(number)
                case ast.Name() | ast.Attribute():
                    return self.bound(ast.unparse(node))
                case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(op)]
                    before = f"({rendered(left)})" if sign == "*" and isinstance(left, ast.BinOp) else rendered(left)
                    after = f"({rendered(right)})" if isinstance(right, ast.BinOp) else rendered(right)
                    return f"{before} {sign} {after}"
            raise BoundsError(f"{upto!r} is not a sum or product of bound names and numbers")

        return rendered(ast.parse(upto, mode="eval").body)

    def set_of(self, kind: ScalarType) -> str:
        """Return the set of a type's values."""
        match kind:
            case BoolType():
                return "BOOLEAN"
            case AtomsType():
                if kind not in self.sorts:
                    self.sorts[kind] = self.named("type", kind.name)
                return self.sorts[kind]
            case EnumType():
                if kind not in self.enumerations:
                    self.enumerations[kind] = self.named("type", f"{kind.name} {kind.members}", kind.name)
                return self.enumerations[kind]
            case OptionType(of):
                if isinstance(of, OptionType):
                    raise BoundsError(f"{kind} has two kinds of none, which TLA+ would not tell apart here")
                self.options = True
                return f"{self.set_of(of)} \\cup {{None}}"
            case NumberType(name, upto, _):
                if upto is None:
                    raise BoundsError(
                        f'{name} has no largest value; give it a type like `class Epoch(Nat, upto="epochs")`'
                    )
                key = (name, self.limit(upto))
                if key not in self.numbers:
                    self.numbers[key] = self.named("type", f"{name} {key[1]}", name)
                return self.numbers[key]
        raise AssertionError(kind)

    def values_of(self, kind: Type) -> str:
        """Return the set of the values of a variable."""
        match kind:
            case MapType(keys, value):
                domain = " \\X ".join(self._operand(k) for k in keys)
                return f"[{domain} -> {self.set_of(value)}]"
            case SeqType(entry, _):
                return f"Seq({self.set_of(entry)})"
        return self.set_of(kind)

    def _operand(self, kind: ScalarType) -> str:
        return f"({self.set_of(kind)})" if isinstance(kind, OptionType) else self.set_of(kind)

    def bindings(self, variables: Iterator[tuple[str, ScalarType]]) -> str:
        """Return ``w \\in Worker, i \\in Task``, for names that are identifiers already."""
        return ", ".join(f"{name} \\in {self._operand(kind)}" for name, kind in variables)

    def first_of(self, kind: AtomsType) -> str:
        """Return the zero value of a sort, which is its first element."""
        self.set_of(kind)
        if kind not in self.firsts:
            self.firsts[kind] = self.named("first", f"First{kind.name}")
        return self.firsts[kind]

    def zero(self, kind: ScalarType) -> str:
        match kind:
            case BoolType():
                return "FALSE"
            case EnumType(_, members):
                return f'"{members[0]}"'
            case AtomsType():
                return self.first_of(kind)
            case OptionType():
                self.set_of(kind)
                return "None"
        return "0"
