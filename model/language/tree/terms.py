"""Terms are the hash-consed tree into which a protocol is traced, with the few functions that traverse it.

Equal terms are one object, so identity is equality, and every engine computes shared subterms once. Every term is
total: it has a value in every state, as ``MEANING`` defines. The operations have these arguments and ``data``:

======================== =================================================================
const                    data = value: bool, int, member number of an enumeration, or None
local                    data = name: an action's parameter or a quantifier's variable
constant                 data = name: a fixed number of the protocol, such as the block size
state                    data = (name, primed): a state variable before, or (primed) after, a step
select                   map, key, …
length, at               sequence; sequence, position (1, 2, …; zero value outside)
latest                   sequence, upto, body; data = local: highest position <= upto whose entry satisfies body, or 0
add, sub, monus          numbers; sub is Int subtraction, monus is Nat subtraction and stops at 0
eq, lt, le               comparison
and, or, not, ite        Booleans; if-then-else of any scalar type
some                     lifts a value into its Option
forall, exists           body; data = ((name, type), …)
choice                   default, alternative, …; data = (rule, names): the rule's value first, then the alternatives
======================== =================================================================
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from fencepost.model.language.tree.types import (
    BOOL,
    INT,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    Type,
)

MEANING = {
    "reading a variable after assigning it in the same action": "refused when the class is made",
    "several entries of one map assigned in one action": "allowed; where keys coincide the later assignment wins",
    "Nat subtraction below zero": "0",
    "reading a map at a key outside its bound": "the zero value",
    "assigning a key or a value outside its range": "the step is beyond the bound: cut, and counted",
    "reading a sequence outside 1 … length": "the zero value",
    "appending to a full sequence": "the step is beyond the bound: cut, and counted",
    "integer width": "unbounded in every reading but NumPy columns, which check for overflow",
}


class Term:
    """A `Term` is one node. It is compared with ``is``, and only the functions of this module build one."""

    __slots__ = ("args", "data", "op", "type")

    def __init__(self, op: str, args: tuple["Term", ...], data: Any, kind: Type) -> None:
        self.op, self.args, self.data, self.type = op, args, data, kind

    def __repr__(self) -> str:
        if self.op in ("state", "local", "constant", "const"):
            if self.op == "state":
                return f"{self.data[0]}'" if self.data[1] else str(self.data[0])
            name = str(self.data)
            return name.split(".", maxsplit=1)[0] if self.op == "local" else name
        inside = [repr(a) for a in self.args]
        if self.data is not None:
            inside.insert(0, str(self.data))
        return f"{self.op}({', '.join(inside)})"


_TABLE: dict[Any, Term] = {}


def term(op: str, args: tuple[Term, ...], data: Any, kind: Type) -> Term:
    # True == 1 in Python, so the type takes part in the key.
    key = (op, tuple(map(id, args)), data, type(data), kind)
    found = _TABLE.get(key)
    if found is None:
        found = _TABLE.setdefault(key, Term(op, args, data, kind))  # in one go, as threads may ask for it at once
    return found


def constant(value: Any, kind: Type) -> Term:
    return term("const", (), value, kind)


TRUE = constant(True, BOOL)
FALSE = constant(False, BOOL)


def zero(kind: ScalarType) -> Term:
    """Return the zero value of a scalar type. That of a sort is its first element, in exploration and proofs alike."""
    return constant(None if isinstance(kind, OptionType) else False if kind == BOOL else 0, kind)


def local(name: str, kind: ScalarType) -> Term:
    return term("local", (), name, kind)


def state(name: str, kind: Type, primed: bool = False) -> Term:
    return term("state", (), (name, primed), kind)


def boolean(op: str, *args: Term) -> Term:
    return term(op, args, None, BOOL)


def both(*args: Term) -> Term:
    """Return the flattened conjunction of any number of terms, or TRUE for none."""
    flat: list[Term] = []
    for a in args:
        flat.extend(a.args if a.op == "and" else () if a is TRUE else (a,))
    return TRUE if not flat else flat[0] if len(flat) == 1 else boolean("and", *flat)


def negation(a: Term) -> Term:
    return a.args[0] if a.op == "not" else boolean("not", a)


def conditional(test: Term, then: Term, other: Term) -> Term:
    return term("ite", (test, then, other), None, then.type)


def with_args(node: Term, args: tuple[Term, ...]) -> Term:
    return (
        node if all(a is b for a, b in zip(args, node.args, strict=True)) else term(node.op, args, node.data, node.type)
    )


def rewrite(root: Term, change: Callable[[Term], Term]) -> Term:
    """Return the tree with ``change`` applied bottom up to every node."""
    done: dict[Term, Term] = {}

    def visit(node: Term) -> Term:
        if node not in done:
            done[node] = change(with_args(node, tuple(visit(a) for a in node.args)))
        return done[node]

    return visit(root)


def substitute(root: Term, values: dict[str, Term]) -> Term:
    """Return the term with locals replaced by name. Quantifiers name variables by depth, so that none is captured."""
    return rewrite(root, lambda n: values.get(n.data, n) if n.op == "local" else n)


def subterms(root: Term) -> Iterator[Term]:
    """Yield every distinct node below and including root, arguments first."""
    seen: set[int] = set()

    def visit(node: Term) -> Iterator[Term]:
        if id(node) not in seen:
            seen.add(id(node))
            for a in node.args:
                yield from visit(a)
            yield node

    return visit(root)


def variables(root: Term) -> set[str]:
    return {node.data[0] for node in subterms(root) if node.op == "state"}


@functools.cache
def free_locals(root: Term) -> frozenset[str]:
    """Return the names of the locals that no quantifier within the term binds."""
    if root.op == "local":
        return frozenset([root.data])
    below = [free_locals(a) for a in root.args]
    if root.op in ("forall", "exists"):
        return below[0] - {name for name, _ in root.data}
    if root.op == "latest":
        return below[0] | below[1] | (below[2] - {root.data[0]})
    return frozenset().union(*below)


def conjuncts(root: Term) -> tuple[Term, ...]:
    return root.args if root.op == "and" else (root,)


def result_type(a: Type, b: Type) -> NumberType:
    """Return the type of a sum, which is signed if either side is. A name common to both is preserved, for wording."""
    assert isinstance(a, NumberType) and isinstance(b, NumberType)
    if a.signed or b.signed:
        return INT
    return a if a == b or b.upto is None else b


def describe_type(kind: Type) -> str:
    match kind:
        case MapType(keys, value):
            return f"a map from {' and '.join(map(str, keys))} to {value}"
        case SeqType(entry, _):
            return f"a sequence of {entry}"
        case EnumType(name, members):
            return f"{name} ({', '.join(members)})"
    return str(kind)
