"""What a symbol refuses: every operation that Python would decide on its own, or that not every reading has.

Each refusal is a `ModelError` with the line of the rule and what to write instead, where Python would raise a bare TypeError, or worse,
go on with a value that has nothing to do with the state.
"""

from collections.abc import Callable
from typing import NoReturn

from .errors import mistake

_REFUSED: dict[str, tuple[str, str]] = {
    "__bool__": ("a truth value", "use &, |, ~, implies(a, b) or when(c, a, b); not `and`, `or`, `not`, `if`, or a < b < c"),
    "__iter__": ("iteration", "use forall, exists or each over a sort instead of a loop"),
    "__len__": ("len()", "use length(sequence)"),
    "__contains__": ("`in`", "write s.set[item], not `item in s.set`"),
    "__index__": ("an index or int()", "a Python list can't be indexed by it; use a Map"),
    "__int__": ("int()", "a number needs no conversion; a Bool becomes one with when(c, 1, 0)"),
    "__float__": ("float()", "all numbers are integers"),
    "__hash__": ("a dict key or set member", "use a Map or a Set of the protocol"),
    "__format__": ("an f-string", "write the symbol itself; reports find the words"),
    "__round__": ("round()", "all numbers are integers"),
    "__abs__": ("abs()", "use when(a < b, b - a, a - b)"),
    "__neg__": ("unary -", "write 0 - x; of natural numbers that is 0"),
    "__pos__": ("unary +", "leave it out"),
    "__call__": ("a call", "a variable is read without (); an entry of a map with s.map[key]"),
    "__and__": ("&", "call it first"),
    "__or__": ("|", "call it first"),
    "__invert__": ("~", "call it first"),
    "__eq__": ("==", "call it first"),
    "__ne__": ("!=", "call it first"),
    "__lt__": ("<", "call it first"),
    "__le__": ("<=", "call it first"),
    "__gt__": (">", "call it first"),
    "__ge__": (">=", "call it first"),
    "__add__": ("+", "call it first"),
    "__sub__": ("-", "call it first"),
    "__getitem__": ("[...]", "call it first"),
    "__setitem__": ("[...] =", "assign s.map[key] in an action"),
    "__delitem__": ("del", "assign the zero value: 0, False or None"),
    "__xor__": ("^", "use !="),
    "__mul__": ("*", "add: the language has + and - only, so that proofs stay decidable"),
    "__truediv__": ("/", "the language has + and - only, so that proofs stay decidable"),
    "__floordiv__": ("//", "the language has + and - only, so that proofs stay decidable"),
    "__mod__": ("%", "the language has + and - only, so that proofs stay decidable"),
    "__pow__": ("**", "the language has + and - only, so that proofs stay decidable"),
    "__lshift__": ("<<", "the language has + and - only, so that proofs stay decidable"),
    "__rshift__": (">>", "the language has + and - only, so that proofs stay decidable"),
    "__divmod__": ("divmod()", "the language has + and - only, so that proofs stay decidable"),
}
_REFLECTED = ("add", "sub", "and", "or", "xor", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "divmod")


class Refusals:
    """Base of what stands for a value while a rule is read; a subclass overrides what it does have."""

    __slots__ = ()

    def refuse(self, operation: str, instead: str) -> NoReturn:
        raise mistake(f"Python would decide {operation} of {self!r} while the rule is read, before any state is known", instead)


def _refusing(operation: str, instead: str) -> Callable[..., NoReturn]:
    def method(self: Refusals, *_: object) -> NoReturn:
        self.refuse(operation, instead)

    return method


for _name, (_operation, _instead) in _REFUSED.items():
    setattr(Refusals, _name, _refusing(_operation, _instead))
for _stem in _REFLECTED:
    setattr(Refusals, f"__r{_stem}__", _refusing(*_REFUSED[f"__{_stem}__"]))


class Helper(Refusals):
    """A method of a protocol as ``s`` has it: to be called, and nothing else."""

    __slots__ = ("body", "name", "s")

    def __init__(self, name: str, body: Callable[..., object], s: object) -> None:
        self.name, self.body, self.s = name, body, s

    def __call__(self, *arguments: object) -> object:
        return self.body(self.s, *arguments)

    def __repr__(self) -> str:
        return f"the helper {self.name}, which is not called"

    def refuse(self, operation: str, instead: str) -> NoReturn:
        raise mistake(f"{self.name} is a helper method and takes no {operation}", f"call it: s.{self.name}(...)")
