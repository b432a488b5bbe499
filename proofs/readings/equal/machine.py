"""This module runs the explorer's emitted functions once on symbols instead of columns. The source is the same, but
what it calls differs.

A column is one bit vector of the column's own width, for one state, so that wrapping, masks and shared bits behave as
they do in NumPy. What the functions would count or write is recorded instead, as conditions and words of that state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3
from fencepost.proofs.engines.explore.kernels import Kernels


@dataclass
class Asked:
    """An `Asked` has the conditions that one run asked for last."""

    where: "Column | None" = None
    row: "Column | None" = None


@dataclass(frozen=True)
class Kind:
    """A `Kind` is a column type of NumPy, ``bits`` wide. A truth value has one bit."""

    name: str
    bits: int
    signed: bool
    context: Any = field(repr=False, compare=False)
    asked: Asked = field(repr=False, compare=False)

    def __call__(self, value: int) -> "Column":
        return Column(self, z3.BitVecVal(value, self.bits, self.context))


class Column:
    """A `Column` is one value of a column, with only the operations that emitted source uses."""

    size = 1

    def __init__(self, kind: Kind, bits: Any) -> None:
        self.kind, self.bits = kind, bits

    def _made(self, bits: Any) -> "Column":
        return Column(self.kind, bits)

    def _other(self, other: "Column") -> Any:
        assert other.kind == self.kind, f"{self.kind.name} meets {other.kind.name}, which NumPy would widen"
        return other.bits

    def __add__(self, other: "Column") -> "Column":
        return self._made(self.bits + self._other(other))

    def __sub__(self, other: "Column") -> "Column":
        return self._made(self.bits - self._other(other))

    def __mul__(self, other: "Column") -> "Column":
        return self._made(self.bits * self._other(other))

    def __floordiv__(self, other: "Column") -> "Column":
        by = self._other(other)
        return self._made(self.bits / by if self.kind.signed else z3.UDiv(self.bits, by))

    def __and__(self, other: "Column") -> "Column":
        return self._made(self.bits & self._other(other))

    def __or__(self, other: "Column") -> "Column":
        return self._made(self.bits | self._other(other))

    def __xor__(self, other: "Column") -> "Column":
        return self._made(self.bits ^ self._other(other))

    def __invert__(self) -> "Column":
        return self._made(~self.bits)

    def __lshift__(self, other: "Column") -> "Column":
        return self._made(self.bits << self._other(other))

    def __rshift__(self, other: "Column") -> "Column":
        by = self._other(other)
        return self._made(self.bits >> by if self.kind.signed else z3.LShR(self.bits, by))

    def _truth(self, condition: Any) -> "Column":
        one = Kind("B", 1, False, self.kind.context, self.kind.asked)
        return Column(one, z3.If(condition, one(1).bits, one(0).bits))

    def __eq__(self, other: object) -> "Column":  # type: ignore[override]
        assert isinstance(other, Column)
        return self._truth(self.bits == self._other(other))

    __hash__ = object.__hash__

    def __le__(self, other: "Column") -> "Column":
        by = self._other(other)
        return self._truth(self.bits <= by if self.kind.signed else z3.ULE(self.bits, by))

    def astype(self, kind: Kind) -> "Column":
        more = kind.bits - self.kind.bits
        if more <= 0:
            return Column(kind, z3.Extract(kind.bits - 1, 0, self.bits) if more else self.bits)
        return Column(kind, z3.SignExt(more, self.bits) if self.kind.signed else z3.ZeroExt(more, self.bits))

    def view(self, kind: Kind) -> "Column":
        """Return a byte as a truth value, or the other way round. The byte must be 0 or 1."""
        return self.astype(kind)

    def is_true(self) -> Any:
        return self.bits == z3.BitVecVal(1, 1, self.kind.context)

    # These methods stand for row operations. A single state has one row.

    def nonzero(self) -> tuple["Column"]:
        self.kind.asked.where = self
        return (self,)

    def take(self, where: "Column", out: "Written | None" = None, mode: str = "") -> "Column":
        if out is not None:
            out.bits = self.bits
        return self

    def argmax(self) -> int:
        return 0

    def __getitem__(self, row: int) -> "Column":
        self.kind.asked.row = self
        return self

    def __setitem__(self, rows: slice, value: bool) -> None:
        self.bits = self.kind(int(value)).bits


class Written:
    """A `Written` is a word of a successor that is being written."""

    bits: Any = None

    def __iand__(self, other: Column) -> "Written":
        self.bits = self.bits & other.bits
        return self

    def __ior__(self, other: Column) -> "Written":
        self.bits = self.bits | other.bits
        return self


@dataclass
class Taken:
    """A `Taken` is what is executed of one instance, with where it is taken, and the words that are then written.
    ``broken`` has, by the number of a step property, where the instance is taken and breaks it."""

    where: Any
    words: list[Any]
    broken: dict[int, Any] = field(default_factory=dict)


class _NumPy:
    def __init__(self, kinds: dict[str, Kind]) -> None:
        self._kinds = kinds

    def maximum(self, a: Column, b: Column) -> Column:
        return self.where(a <= b, b, a)

    def where(self, test: Column, then: Column, other: Column) -> Column:
        return Column(then.kind, z3.If(test.is_true(), then.bits, other.bits))

    def negative(self, a: Column) -> Column:
        return Column(a.kind, -a.bits)

    def full(self, size: int, value: "bool | Column") -> Column:
        return value if isinstance(value, Column) else self._kinds["B"](int(value))

    def ones(self, size: int, kind: Kind) -> Column:
        return kind(1)

    def count_nonzero(self, a: Column) -> int:
        return 0


class _Tally:
    """A `_Tally` stands for the counts and lists that ``expand`` fills."""

    judge, stuck = None, 0

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.instances: dict[int, Taken] = {}
        self.cut = _Counts(lambda number: None)
        self.taken = _Counts(self._begin)
        self.broken = self
        self.begun: Taken | None = None

    def _begin(self, number: int) -> None:
        assert self._asked.where is not None
        self.begun = self.instances[number] = Taken(self._asked.where.is_true(), [])

    def append(self, found: tuple[int, int, int]) -> None:
        assert self._asked.row is not None
        self.instances[found[1]].broken[found[0]] = self._asked.row.is_true()


class _Counts:
    """A `_Counts` stands for a list of counts, and notes that something is counted, not how often."""

    def __init__(self, on_count: Callable[[int], None]) -> None:
        self._on_count = on_count

    def __getitem__(self, number: int) -> int:
        return 0

    def __setitem__(self, number: int, count: int) -> None:
        if count > 0:
            self._on_count(number)


class _Out:
    def __init__(self, tally: _Tally) -> None:
        self._tally = tally

    def __getitem__(self, rows: slice) -> Written:
        assert self._tally.begun is not None
        self._tally.begun.words.append(Written())
        return self._tally.begun.words[-1]  # type: ignore[no-any-return]


def execute(kernels: Kernels, words: Sequence[Any], context: Any) -> tuple[dict[int, Taken], dict[int, Any]]:
    """Return what ``expand`` and ``check`` do in a state of packed words, for each instance by number, and where each
    condition on states is found. An instance or condition that the source leaves out is in neither."""
    asked = Asked()
    sizes = (("U8", 8, False), ("I16", 16, True), ("I32", 32, True), ("I64", 64, True), ("U64", 64, False))
    kinds = {n: Kind(n, bits, signed, context, asked) for n, bits, signed in (*sizes, ("B", 1, False))}
    tally, found = _Tally(asked), dict[int, Any]()

    def take_row(number: int, row: int) -> None:
        found[number] = z3.BoolVal(True, context) if asked.row is None else asked.row.is_true()
        asked.row = None

    space: dict[str, Any] = {**kinds, "np": _NumPy(kinds)}
    exec(compile(kernels.source, "<emitted, on symbols>", "exec"), space)
    columns = tuple(Column(kinds["U64"], bits) for bits in words)
    space["expand"](columns, tuple(_Out(tally) for _ in words), None, tally)
    asked.row = None
    space["check"](columns, take_row)
    for taken in tally.instances.values():
        taken.words = [word.bits for word in taken.words]
    return tally.instances, found
