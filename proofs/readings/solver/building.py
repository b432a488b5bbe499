"""Z3's formulas, made by its C interface: z3py looks at the sorts of all arguments again for every node, and at whether
an error came of each look, which takes several times as long as making the node.

Each function makes the very node that z3py's operator of that meaning makes, in as many calls that make one, so that
Z3 numbers them alike and finds the same proofs.  Arguments are of the right sorts, as terms are typed; where Z3 makes
nothing, its own error is raised.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import z3
from z3 import z3core


def _plain(checked: Callable[..., Any]) -> Callable[..., Any]:
    """The library's function within z3py's of that name, which asks for an error after each call."""
    (within,) = checked.__defaults__ or (None,)
    return cast(Callable[..., Any], within.f) if hasattr(within, "f") else checked


_AND, _OR, _NOT = _plain(z3core.Z3_mk_and), _plain(z3core.Z3_mk_or), _plain(z3core.Z3_mk_not)
_IMPLIES, _EQ, _ITE = _plain(z3core.Z3_mk_implies), _plain(z3core.Z3_mk_eq), _plain(z3core.Z3_mk_ite)
_LT, _LE = _plain(z3core.Z3_mk_lt), _plain(z3core.Z3_mk_le)
_GT, _GE = _plain(z3core.Z3_mk_gt), _plain(z3core.Z3_mk_ge)
_APP, _KEEP = _plain(z3core.Z3_mk_app), _plain(z3core.Z3_inc_ref)


def both(parts: Sequence[Any]) -> Any:
    """Conjunction of one part or more."""
    context = parts[0].ctx
    return _made(z3.BoolRef, _AND(context.ctx, len(parts), _array(parts)), context)


def either(parts: Sequence[Any]) -> Any:
    """Disjunction of one part or more."""
    context = parts[0].ctx
    return _made(z3.BoolRef, _OR(context.ctx, len(parts), _array(parts)), context)


def negation(a: Any) -> Any:
    return _made(z3.BoolRef, _NOT(a.ctx.ctx, a.ast), a.ctx)


def implication(a: Any, b: Any) -> Any:
    return _made(z3.BoolRef, _IMPLIES(a.ctx.ctx, a.ast, b.ast), a.ctx)


def equal(a: Any, b: Any) -> Any:
    return _compared(_EQ, _EQ, a, b)


def conditional(test: Any, then: Any, other: Any) -> Any:
    made = _ITE(test.ctx.ctx, test.ast, then.ast, other.ast)
    return _made(kind_of(then), made, test.ctx)


def less(a: Any, b: Any) -> Any:
    return _compared(_LT, _GT, a, b) if isinstance(a, z3.ArithRef) else a < b


def at_most(a: Any, b: Any) -> Any:
    return _compared(_LE, _GE, a, b) if isinstance(a, z3.ArithRef) else a <= b


def applied(function: z3.FuncDeclRef, kind: type[Any], arguments: Sequence[Any]) -> Any:
    """A function of some arguments.  ``kind``: of its values, as `kind_of` says of one of them."""
    context = function.ctx
    made = _APP(context.ctx, function.ast, len(arguments), _array(arguments))
    return _made(kind, made, context)


def same(a: Any, b: Any) -> bool:
    """Are they one node?"""
    return bool(a.ast.value == b.ast.value)


def number_of(a: Any) -> int:
    """Where the node is: of another than any node's that is still there."""
    return cast(int, a.ast.value)


def _compared(make: Callable[..., Any], reflected: Callable[..., Any], a: Any, b: Any) -> Any:
    """Of an expression and one of a more special class, as a literal is, Python asks the second for its operator."""
    if type(a) is not type(b) and isinstance(b, type(a)):
        make, a, b = reflected, b, a
    return _made(z3.BoolRef, make(a.ctx.ctx, a.ast, b.ast), a.ctx)


def kind_of(like: Any) -> type[Any]:
    """What z3py calls an expression of this one's sort that is no literal and no quantifier."""
    for kind in (z3.BoolRef, z3.ArithRef):
        if isinstance(like, kind):
            return kind
    return type(like)


def _array(parts: Sequence[Any]) -> Any:
    return (z3.Ast * len(parts))(*[part.ast for part in parts])


def _made(kind: type[Any], node: Any, context: Any) -> Any:
    """The node as z3py's own class, which gives it back to Z3 in the end."""
    if not node:
        code = z3core.Z3_get_error_code(context.ctx)
        raise z3.Z3Exception(z3core.Z3_get_error_msg(context.ctx, code))
    made: Any = object.__new__(kind)
    made.ast, made.ctx = node, context
    _KEEP(context.ctx, node)
    return made
