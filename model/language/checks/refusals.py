"""A symbol refuses every operation that Python would decide on its own, and every one that not all engines can
interpret.

Each refusal is a `ModelError` with the line of the rule and what to write instead. Without it Python would raise a bare
TypeError, or go on with a value that is unrelated to the state.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

from fencepost.model.language.checks.errors import mistake

_DECIDED = {
    "__bool__": (
        "the truth value",
        "use &, |, ~, implies(a, b) or when(c, a, b); not `and`, `or`, `not`, `if`, or a < b < c",
    ),
    "__iter__": ("the items", "use forall, exists or each over a sort instead of a loop"),
    "__len__": ("the length", "use length(sequence)"),
    "__contains__": ("the members", "write s.set[item], not `item in s.set`"),
    "__index__": ("the number", "a Python list or range can't depend on the state; use a Map"),
    "__int__": ("the number", "leave int() out; a Bool becomes a number with when(c, 1, 0)"),
    "__float__": ("the number", "leave float() out: all numbers are integers"),
    "__round__": ("the number", "leave round() out: all numbers are integers"),
    "__hash__": ("the hash", "a symbol is no key of a dict and no member of a set; use a Map or a Set of the protocol"),
    "__format__": ("the text", "leave the f-string out; reports find the words"),
}
"""These operations need a value while tracing; each entry has what Python would take and what to write instead."""

_ONLY = "numbers have + and - only, so that proofs stay decidable"
_MISSING = {
    "__call__": ("()", "a variable is read without (), an entry of a map with s.map[key]"),
    "__abs__": ("abs()", "use when(a < b, b - a, a - b)"),
    "__neg__": ("unary -", "write 0 - x; of natural numbers that is 0"),
    "__pos__": ("unary +", "leave it out"),
    "__xor__": ("^", "use !="),
    "__mul__": ("*", _ONLY), "__truediv__": ("/", _ONLY), "__floordiv__": ("//", _ONLY), "__mod__": ("%", _ONLY),
    "__divmod__": ("divmod()", _ONLY), "__pow__": ("**", _ONLY),
    "__lshift__": ("<<", _ONLY), "__rshift__": (">>", _ONLY),
}  # fmt: skip
"""These operations exist in no engine. A `Helper` lacks further ones that a symbol does have."""

_OF_SYMBOLS = (
    "eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "and", "or", "invert", "getitem", "setitem", "delitem",
    "radd", "rsub", "rand", "ror", "rxor", "rmul", "rtruediv", "rfloordiv", "rmod", "rdivmod", "rpow",
    "rlshift", "rrshift",
)  # fmt: skip


F = TypeVar("F", bound=Callable[..., Any])


def written(arguments: str) -> Callable[[F], F]:
    """Have a decorator of the language refuse what it is not given as in ``@promise(rule="…")``, such as the method
    itself where its brackets are left out."""

    def wrap(decorator: F) -> F:
        name, takes = decorator.__name__, inspect.signature(decorator)

        @wraps(decorator)
        def checked(*given: Any, **named: Any) -> Any:
            instead = f"write @{name}{arguments} above the method"
            if arguments and given and inspect.isfunction(given[0]):
                raise mistake(f"@{name} above {given[0].__name__} has no brackets", instead)
            try:
                takes.bind(*given, **named)
            except TypeError as error:
                raise mistake(f"@{name} has another form: {error}", instead) from None
            return decorator(*given, **named)

        return checked  # type: ignore[return-value]

    return wrap


class Refusals:
    """`Refusals` is the base of values while a rule is read. A subclass overrides the operations that it supports."""

    __slots__ = ()

    def refuse(self, what: str, instead: str) -> NoReturn:
        raise mistake(what, instead)


def _refusing(what: str, instead: str) -> Callable[..., NoReturn]:
    def method(self: Refusals, *_: object) -> NoReturn:
        self.refuse(what.format(self), instead)

    return method


for _name, (_taken, _instead) in _DECIDED.items():
    _what = f"Python would take {_taken} of {{!r}} while the rule is read, before any state is known"
    setattr(Refusals, _name, _refusing(_what, _instead))
for _name, (_operator, _instead) in _MISSING.items():
    setattr(Refusals, _name, _refusing(f"{{!r}} has no {_operator}", _instead))
for _stem in _OF_SYMBOLS:
    _operator, _instead = _MISSING.get(f"__{_stem.removeprefix('r')}__", (_stem, "use what the language has"))
    setattr(Refusals, f"__{_stem}__", _refusing(f"{{!r}} has no {_operator}", _instead))


class Helper(Refusals):
    """A `Helper` is a method of a protocol as ``s`` offers it; it can only be called."""

    __slots__ = ("body", "name", "s")

    def __init__(self, name: str, body: Callable[..., object], s: object) -> None:
        self.name, self.body, self.s = name, body, s

    def __call__(self, *arguments: object) -> object:
        return self.body(self.s, *arguments)

    def __repr__(self) -> str:
        return f"<helper {self.name}>"

    def refuse(self, what: str, instead: str) -> NoReturn:
        raise mistake(f"the helper {self.name} is used without being called", f"write s.{self.name}(...)")
